"""The built-in segmenter: Chinese words by a dictionary, further words by the analyzer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from infinite_memory.search.text.analyzer import cut_chinese, find_dictionary_words, fold
from infinite_memory.search.text.question_terms import split_terms
from infinite_memory.search.text.word_lists import chinese_stop_words, simplify

_HAN_RUN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")


class WordSegmenter:
    """Divides a text into words without stop words; see `protocols.Segmenter`.

    A run of Chinese characters becomes all words of its dictionary (rjieba) that are in it, also
    inside and across longer words, so that two texts share a word however they are cut. Characters
    between them, such as a name, are added as they are cut, and in pairs: 猫粮 is no word of the
    dictionary. Every other word becomes its index terms: its stem, and the parts of a compound.
    """

    def segment(self, text: str) -> list[str]:
        """Return the words of `text`, those in Chinese first."""
        segments = [
            word
            for run in _HAN_RUN.findall(simplify(fold(text)))
            for word in _segment_chinese(run)
            if word not in chinese_stop_words()
        ]
        rest = _HAN_RUN.sub(" ", text)
        return segments + split_terms(rest)[0]


def _segment_chinese(run: str) -> Iterator[str]:
    """Yield the words of a run of simplified Chinese characters."""
    dictionary_words = find_dictionary_words(run)
    yield from dictionary_words
    cut_words = cut_chinese(run)
    words = frozenset([*dictionary_words, *cut_words])
    unknown = ""
    for word in [*cut_words, ""]:
        if word and word not in dictionary_words and word not in chinese_stop_words():
            yield word
            unknown += word
            continue
        pairs = map("".join, pairwise(unknown))
        yield from (pair for pair in pairs if pair not in words)
        unknown = ""
