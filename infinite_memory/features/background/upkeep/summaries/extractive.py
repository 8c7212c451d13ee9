"""The built-in summariser: it quotes the sentences that say most, on this machine alone.

Sentences are chosen one after the other by what they add for their length: the weights of their
terms that no chosen sentence has (coverage of concepts under a budget: Gillick and Favre, 2009;
Lin and Bilmes, 2011). What decisions, numbers, dates and names say counts more (cue phrases and
location: Edmundson, 1969; Kupiec, Pedersen and Chen, 1995). Equal sources give equal summaries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.timestamps import in_zone
from infinite_memory.features.background.upkeep.summaries.sentences import (
    Sentence,
    resolve_dates,
    term_values,
    weigh,
)
from infinite_memory.search.text.analyzer import terms
from infinite_memory.search.text.highlights import cut_sentences

NAME = "extractive"

_MAX_SENTENCE_CHARS = 300
# Of more sentences than this the heaviest are compared.
_MOST_SENTENCES = 600
# A term that a chosen sentence has still counts a little.
_KNOWN_SHARE = 0.1
# What is told first counts more, up to twice as much as what is told last.
_LOCATION = 1.0
# Every sentence costs some characters besides its own, such as the name of its speaker.
_COST_CHARS = 20
_CUT = "…"


@frozen(kw_only=True)
class ExtractiveSummariser:
    """Quotes the sentences that say most; see `Summariser`. Days are in `zone`."""

    zone: str | None = None
    name: str = NAME

    def summarise(self, sources: Sequence[Memory], *, max_chars: int) -> str:
        """Return the chosen sentences in their order, by day and speaker."""
        sentences = list(self._cut(sources))
        if not sentences:
            return ""
        names = frozenset(terms(" ".join({memory.speaker or "" for memory in sources})))
        weights = np.array([weigh(sentence, names) for sentence in sentences])
        if not weights.any():
            return ""
        weights *= 1 + _LOCATION * np.linspace(1, 0, len(weights))
        kept = np.sort(np.argsort(-weights, kind="stable")[:_MOST_SENTENCES])
        sentences, weights = [sentences[i] for i in kept], weights[kept]
        chosen: list[int] = []
        for candidate in _by_coverage(sentences, weights, names):
            longer = sorted([*chosen, candidate])
            if len(self._write([sentences[i] for i in longer], sources)) <= max_chars:
                chosen = longer
        if not chosen:
            best = sentences[int(np.argmax(weights))]
            return f"{best.text[: max(0, max_chars - 1)].rstrip()}{_CUT}"
        return self._write([sentences[i] for i in chosen], sources)

    def _cut(self, sources: Sequence[Memory]) -> Iterator[Sentence]:
        """Yield the sentences of the sources, in order."""
        for number, memory in enumerate(sources):
            text = memory.text
            for start, end in cut_sentences(text, (0, len(text)), max_chars=_MAX_SENTENCE_CHARS):
                sentence = " ".join(text[start:end].split())
                quote = resolve_dates(sentence, memory.happened_at, self.zone)
                yield Sentence(source=number, text=sentence, quote=quote)

    def _write(self, sentences: Sequence[Sentence], sources: Sequence[Memory]) -> str:
        lines: list[str] = []
        day = ""
        source = -1
        for sentence in sentences:
            memory = sources[sentence.source]
            if sentence.source == source:
                lines[-1] += f" {sentence.quote}"
                continue
            source = sentence.source
            today = in_zone(memory.happened_at, self.zone).date().isoformat()
            if today != day:
                day = today
                lines.append(today)
            speaker = f"{memory.speaker}: " if memory.speaker else ""
            lines.append(f"{speaker}{sentence.quote}")
        return "\n".join(lines)


def _by_coverage(
    sentences: Sequence[Sentence], weights: NDArray[np.float64], names: frozenset[str]
) -> Iterator[int]:
    """Yield the sentences, first those that add most for their length to those before them."""
    values = term_values(sentences, names)
    costs = np.array([len(sentence.quote) + _COST_CHARS for sentence in sentences])
    is_left = weights > 0
    while is_left.any():
        gains = np.where(is_left, weights * values.sum(axis=1) / costs, -np.inf)
        best = int(np.argmax(gains))
        yield best
        is_left[best] = False
        values[:, values[best] > 0] *= _KNOWN_SHARE
