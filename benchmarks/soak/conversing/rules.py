"""The rules of short-term memory, stated a second time: from the page that explains them.

Nothing here uses the code of the product but its segmenter, which says where a word ends.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from attrs import define, field

from infinite_memory.search.text.segmenter import WordSegmenter

_ROLES = {"user": 2.7, "assistant": 2.0}
_RECENT = timedelta(minutes=20)
_APART = timedelta(minutes=10)
_SEGMENTER = WordSegmenter()
# Stored weights have four decimals, and at most 72 of them are added up.
_CLOSE = 0.02


@define
class Remembered:
    """A current short-term memory: its keywords as they are stored, and what it has gained."""

    id: str
    at: datetime
    keywords: Mapping[str, float]
    activation: float = 0.0

    def vitality(self, now: datetime) -> float:
        """Return the activation less the penalty of its age."""
        milliseconds = max(0.0, (now - self.at).total_seconds() * 1000)
        return self.activation - 15 * (1 - math.exp(-2e-9 * milliseconds))


@define
class Ledger:
    """What the short-term memory of a conversation must be, by all that was told and searched."""

    keep: int
    memories: dict[str, Remembered] = field(factory=dict)
    counts: Counter[str] = field(factory=Counter)

    def add(self, memory: Remembered) -> None:
        """Note a memory that was stored."""
        self.memories[memory.id] = memory
        self.counts.update(memory.keywords.keys())

    def remove(self, memory_id: str) -> None:
        """Note that a memory was archived."""
        self.counts.subtract(self.memories.pop(memory_id).keywords.keys())

    def weigh(self, messages: Sequence[Mapping[str, str]]) -> dict[str, float]:
        """Return the keywords of messages: 5 · tf · idf · role, from 0.8 on, the greatest 72."""
        weights: Counter[str] = Counter()
        for message in messages:
            words = _SEGMENTER.segment(message["content"])
            for word, times in Counter(words).items():
                tf = max(times / len(words), 1 / 30)
                idf = math.log((len(self.memories) + 1000) / (self.counts[word] + 1))
                weights[word] += 5 * tf * idf * _ROLES[message["role"]]
        kept = [(word, weight) for word, weight in weights.items() if weight >= 0.8]
        return dict(sorted(kept, key=lambda pair: -pair[1])[:72])

    def expect_faded(self, now: datetime) -> set[str]:
        """Return the ids that a cleanup must archive: all but `keep`, of those that have faded."""
        lively = sorted(self.memories.values(), key=lambda m: (m.vitality(now), m.at))
        year = timedelta(days=365)
        faded = [m.id for m in lively if m.at < now - year or m.vitality(now) < -5]
        return set(faded[: max(0, len(self.memories) - self.keep)])

    def check_search(
        self, messages: Sequence[Mapping[str, str]], recall: Mapping[str, Any], now: datetime
    ) -> Iterator[str]:
        """Yield what is wrong with what came up; then note the gains."""
        tiers = [recall[name] for name in ("top", "next", "flashbacks")]
        sizes = [len(tier) for tier in tiers]
        hits = [hit for tier in tiers for hit in tier]
        if foreign := [hit["id"] for hit in hits if hit["id"] not in self.memories]:
            yield f"{foreign} are of another conversation, or have faded"
            return
        if any(size > most for size, most in zip(sizes, (2, 1, 2), strict=True)):
            yield f"the tiers have {sizes} memories, and not up to 2, 1 and 2"
        if recall["searched"] != len(self.memories):
            yield f"{recall['searched']} of {len(self.memories)} memories were searched"
        keywords = self.weigh(messages)
        chosen = [self.memories[hit["id"]] for hit in hits]
        yield from self._check_times(chosen, now)
        relevant = chosen[: sizes[0] + sizes[1]]
        yield from self._check_relevance(relevant, hits, keywords, now)
        yield from self._check_complete(relevant, chosen, keywords, now)
        for tier, gain in zip(tiers, (5, 2, 0), strict=True):
            for hit in tier:
                self.memories[hit["id"]].activation += gain

    def _check_times(self, chosen: Sequence[Remembered], now: datetime) -> Iterator[str]:
        for number, memory in enumerate(chosen):
            if now - memory.at < _RECENT:
                yield f"{memory.id} is only {now - memory.at} old"
            if any(abs(memory.at - other.at) < _APART for other in chosen[:number]):
                yield f"{memory.id} is within ten minutes of another that came up"

    def _check_relevance(
        self,
        relevant: Sequence[Remembered],
        hits: Sequence[Mapping[str, Any]],
        keywords: Mapping[str, float],
        now: datetime,
    ) -> Iterator[str]:
        """Yield what is wrong with the numbers of the first two tiers."""
        for memory, hit in zip(relevant, hits, strict=False):
            relevance = _relevance(memory, keywords, now)
            if abs(relevance - hit["relevance"]) > _CLOSE:
                yield f"{memory.id} has the relevance {relevance}, and not {hit['relevance']}"
            if relevance < 5 - _CLOSE:
                yield f"{memory.id} came up with a relevance of {relevance}"
            if hit["activation"] != memory.activation:
                yield f"{memory.id} has gained {memory.activation}, and not {hit['activation']}"
            shared = hit.get("shared", ())  # left out where it is empty
            if set(shared) != keywords.keys() & memory.keywords.keys():
                yield f"{memory.id} shares {sorted(shared)}"

    def _check_complete(
        self,
        relevant: Sequence[Remembered],
        chosen: Sequence[Remembered],
        keywords: Mapping[str, float],
        now: datetime,
    ) -> Iterator[str]:
        """Yield memories that were passed over for no reason."""
        scores = {memory.id: _relevance(memory, keywords, now) for memory in relevant}
        for memory in self.memories.values():
            if memory in relevant or now - memory.at < _RECENT:
                continue
            if len(chosen) < len(relevant) + 2 and _is_apart(memory, chosen):
                yield f"{memory.id} could have been a flashback"
            relevance = _relevance(memory, keywords, now)
            before = [m for m in relevant if scores[m.id] >= relevance - _CLOSE]
            has_room = len(before) < 3 and relevance >= 5 + _CLOSE
            if has_room and _is_apart(memory, before):
                yield f"{memory.id} of relevance {relevance} was passed over"


def _relevance(memory: Remembered, keywords: Mapping[str, float], now: datetime) -> float:
    shared = keywords.keys() & memory.keywords.keys()
    return sum(keywords[word] + memory.keywords[word] for word in shared) + memory.vitality(now)


def _is_apart(memory: Remembered, chosen: Sequence[Remembered]) -> bool:
    return all(abs(memory.at - other.at) >= _APART for other in chosen)
