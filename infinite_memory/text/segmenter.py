"""The built-in segmenter: Chinese words by a dictionary, further words by the analyzer."""

from __future__ import annotations

import re

from infinite_memory.text.analyzer import cut_chinese_for_search, fold
from infinite_memory.text.question_terms import split_terms
from infinite_memory.text.word_lists import chinese_stop_words, simplify

__all__ = ["WordSegmenter"]

_HAN_RUN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")


class WordSegmenter:
    """Divides a text into words without stop words; see `protocols.Segmenter`.

    A run of Chinese characters becomes the words of its dictionary (rjieba), and the shorter words
    in them. Every other word becomes its index terms: its stem, and the parts of a compound.
    """

    def segment(self, text: str) -> list[str]:
        """Return the words of `text`, those in Chinese first."""
        segments = [
            word
            for run in _HAN_RUN.findall(simplify(fold(text)))
            for word in cut_chinese_for_search(run)
            if word not in chinese_stop_words()
        ]
        rest = _HAN_RUN.sub(" ", text)
        return segments + split_terms(rest)[0]
