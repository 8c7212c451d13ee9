"""The built-in judge: it compares numbers alone, and needs no model beyond the embedder."""

from __future__ import annotations

import math
from collections.abc import Sequence

from infinite_memory.core.values.dream.pair import Judgement, Pair
from infinite_memory.core.values.memory import Kind
from infinite_memory.features.background.dreamer.pairs.nearness import add_evidence

# The least evidence of memories that belong together, in standard deviations; the precision is
# measured by `benchmarks.dreaming`. Two memories that also share a conversation or a near memory
# need less.
_LEAST = 2.75
_LEAST_SUPPORTED = 2.0
# Greetings and thanks are alike in every conversation.
_LEAST_OF_MESSAGES_APART = 4.5
# Words alone: one word in common is chance, and a Chinese word of two characters counts three.
_FEWEST_WORDS = 1
_FEWEST_WORDS_ALONE = 3
# The weight is 0.4 at the least evidence, and comes near to 1 as the evidence grows.
_WEIGHT_LEFT = 0.6
_WEIGHT_WIDTH = 3.0


class LocalJudge:
    """Judges a pair by its evidence, the same each time. Its reasons are numbers only.

    Memories belong together if they stand out from what is usual around each of them, in meaning or
    in words, and have words in common. Messages of two conversations need much more evidence than
    other memories: people greet, thank and praise each other in the same words every day.
    """

    @property
    def name(self) -> str:
        """The name of the judge, "local"."""
        return "local"

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        """Return a judgement of each pair, in the same order."""
        return [_judge(pair) for pair in pairs]


def _judge(pair: Pair) -> Judgement:
    evidence = add_evidence(pair.meaning, pair.words)
    is_linked = evidence >= _least_of(pair) and pair.shared_words >= _fewest_words_of(pair)
    return Judgement(weight=_weight_of(evidence) if is_linked else 0.0, reason=_reason_of(pair))


def _least_of(pair: Pair) -> float:
    if _are_apart(pair):
        return _LEAST_OF_MESSAGES_APART
    is_supported = pair.shared_neighbors > 0 or _same_conversation(pair)
    return _LEAST_SUPPORTED if is_supported else _LEAST


def _fewest_words_of(pair: Pair) -> int:
    is_by_words = pair.meaning is None or _are_apart(pair)
    return _FEWEST_WORDS_ALONE if is_by_words else _FEWEST_WORDS


def _same_conversation(pair: Pair) -> bool:
    conversation = pair.first.conversation_id
    return conversation is not None and conversation == pair.second.conversation_id


def _are_apart(pair: Pair) -> bool:
    """Return whether both are messages, and not of the same conversation."""
    are_messages = pair.first.kind is Kind.MESSAGE and pair.second.kind is Kind.MESSAGE
    return are_messages and not _same_conversation(pair)


def _weight_of(evidence: float) -> float:
    beyond = max(0.0, evidence - _LEAST_SUPPORTED)
    return round(1 - _WEIGHT_LEFT * math.exp(-beyond / _WEIGHT_WIDTH), 3)


def _reason_of(pair: Pair) -> str:
    parts = []
    if pair.meaning is not None and pair.cosine is not None:
        parts.append(f"similar {pair.cosine:.2f}")
    parts.append(f"{pair.shared_words} {'word' if pair.shared_words == 1 else 'words'} in common")
    if pair.shared_neighbors:
        memories = "memory" if pair.shared_neighbors == 1 else "memories"
        parts.append(f"both near {pair.shared_neighbors} other {memories}")
    return ", ".join(parts)
