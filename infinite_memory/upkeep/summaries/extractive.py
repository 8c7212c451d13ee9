"""The built-in summariser: it quotes the sentences that say most, on this machine alone.

Sentences are ranked by their centrality in the graph of similar sentences (LexRank, Erkan and
Radev, 2004), with a bonus for cue words, numbers and names (Edmundson, 1969; Kupiec, Pedersen and
Chen, 1995), and chosen one after the other so that none repeats another (maximal marginal
relevance, Carbonell and Goldstein, 1998). Equal sources give equal summaries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from infinite_memory.model.memory import Memory
from infinite_memory.model.timestamps import in_zone
from infinite_memory.text.highlights import cut_sentences
from infinite_memory.upkeep.summaries.sentences import Sentence, weigh, weighted_terms

__all__ = ["NAME", "ExtractiveSummariser"]

NAME = "extractive"

_MAX_SENTENCE_CHARS = 300
# The similarities of more sentences than this are not computed: the heaviest are compared.
_MOST_SENTENCES = 600
_DAMPING = 0.85
_ITERATIONS = 30
# Maximal marginal relevance: the share of relevance, against the similarity to what is chosen.
_RELEVANCE = 0.7
_CUT = "…"


@frozen(kw_only=True)
class ExtractiveSummariser:
    """Quotes the sentences that say most; see `Summariser`. Days are those of `zone`."""

    zone: str | None = None
    name: str = NAME

    def summarise(self, sources: Sequence[Memory], *, max_chars: int) -> str:
        """Return the chosen sentences in their order, each day and each speaker named once."""
        sentences = list(_cut(sources))
        if not sentences:
            return ""
        weights = np.array([weigh(sentence) for sentence in sentences])
        kept = np.sort(np.argsort(-weights, kind="stable")[:_MOST_SENTENCES])
        sentences, weights = [sentences[i] for i in kept], weights[kept]
        similarities = _similarities(sentences)
        relevance = _centrality(similarities) * weights
        chosen: list[int] = []
        for candidate in _by_marginal_relevance(relevance, similarities):
            longer = sorted([*chosen, candidate])
            if len(self._write([sentences[i] for i in longer], sources)) <= max_chars:
                chosen = longer
        if not chosen:
            best = sentences[int(np.argmax(relevance))]
            return f"{best.text[: max(0, max_chars - 1)].rstrip()}{_CUT}"
        return self._write([sentences[i] for i in chosen], sources)

    def _write(self, sentences: Sequence[Sentence], sources: Sequence[Memory]) -> str:
        lines: list[str] = []
        day = ""
        source = -1
        for sentence in sentences:
            memory = sources[sentence.source]
            if sentence.source == source:
                lines[-1] += f" {sentence.text}"
                continue
            source = sentence.source
            today = in_zone(memory.happened_at, self.zone).date().isoformat()
            if today != day:
                day = today
                lines.append(today)
            speaker = f"{memory.speaker}: " if memory.speaker else ""
            lines.append(f"{speaker}{sentence.text}")
        return "\n".join(lines)


def _cut(sources: Sequence[Memory]) -> Iterator[Sentence]:
    """Yield the sentences of the sources, in order."""
    for number, memory in enumerate(sources):
        text = memory.text
        for start, end in cut_sentences(text, (0, len(text)), max_chars=_MAX_SENTENCE_CHARS):
            yield Sentence(source=number, text=" ".join(text[start:end].split()))


def _similarities(sentences: Sequence[Sentence]) -> NDArray[np.float64]:
    """Return the cosines of the sentences, by the weights of their terms; shape (n, n)."""
    vectors = weighted_terms(sentences)
    similarities: NDArray[np.float64] = vectors @ vectors.T
    return similarities


def _centrality(similarities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the stationary probabilities of a walk over similar sentences, times their number."""
    count = len(similarities)
    totals = similarities.sum(axis=1, keepdims=True)
    steps = np.divide(
        similarities, totals, out=np.full_like(similarities, 1 / count), where=totals > 0
    )
    ranks = np.full(count, 1 / count)
    for _ in range(_ITERATIONS):
        ranks = (1 - _DAMPING) / count + _DAMPING * (ranks @ steps)
    return ranks * count


def _by_marginal_relevance(
    relevance: NDArray[np.float64], similarities: NDArray[np.float64]
) -> Iterator[int]:
    """Yield the sentences, most relevant first, those later that repeat an earlier one."""
    scaled = relevance / relevance.max()
    repeated = np.zeros(len(scaled))
    is_left = np.ones(len(scaled), dtype=bool)
    for _ in range(len(scaled)):
        scores = np.where(is_left, _RELEVANCE * scaled - (1 - _RELEVANCE) * repeated, -np.inf)
        best = int(np.argmax(scores))
        is_left[best] = False
        repeated = np.maximum(repeated, similarities[best])
        yield best
