"""What anybody gets without this library: BM25 and cosine, joined by their ranks."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from math import log1p

import numpy as np

from infinite_memory.core.protocols import Embedder

_K1, _B = 1.2, 0.75
_K = 60
_WORD = re.compile(r"\w+")
_CHINESE = re.compile("[\u4e00-\u9fff]+")


class PlainFusion:
    """Ranks the texts of one group by reciprocal rank fusion (k = 60) of BM25 and cosine.

    The words are compared as they are written, but for letter case: no stems, no stop words, and
    of Chinese every character and pair. A text has one vector, of as much as the model reads.
    """

    def __init__(self, texts: Mapping[str, str], model: Embedder) -> None:
        """Index `texts`, by id."""
        self._ids = list(texts)
        self._model = model
        self._vectors = model.embed(list(texts.values()))
        counts = [Counter(_terms(text)) for text in texts.values()]
        lengths = np.array([sum(count.values()) for count in counts], np.float64)
        self._saturation = _K1 * (1 - _B + _B * lengths / max(lengths.mean(), 1.0))
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for place, count in enumerate(counts):
            for term, number in count.items():
                self._postings[term].append((place, number))

    def rank(self, question: str, *, limit: int = 10) -> list[str]:
        """Return the ids of the best texts."""
        total = np.zeros(len(self._ids))
        words, near = self._bm25(question), self._vectors @ self._model.embed_query(question)
        for scores, matches in ((words, words > 0), (near, np.ones(len(near), bool))):
            order = np.argsort(-scores, kind="stable")
            order = order[matches[order]]
            total[order] += 1 / (_K + 1 + np.arange(len(order)))
        return [self._ids[place] for place in np.argsort(-total, kind="stable")[:limit]]

    def _bm25(self, question: str) -> np.ndarray:
        scores = np.zeros(len(self._ids))
        for term in _terms(question):
            postings = self._postings.get(term, ())
            weight = log1p((len(self._ids) - len(postings) + 0.5) / (len(postings) + 0.5))
            for place, number in postings:
                gain = number * (_K1 + 1) / (number + self._saturation[place])
                scores[place] += weight * gain
        return scores


def _terms(text: str) -> Sequence[str]:
    lowered = text.casefold()
    found = _WORD.findall(_CHINESE.sub(" ", lowered))
    for run in _CHINESE.findall(lowered):
        found += [*run, *(run[i : i + 2] for i in range(len(run) - 1))]
    return found
