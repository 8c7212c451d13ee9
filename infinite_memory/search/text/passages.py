"""Overlapping passages of a long text, cut at the ends of sentences if possible.

Sentences end at English or Chinese final punctuation and at line breaks. A sentence longer than
the window is cut between words, and a word longer than the window between tokens.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

Spans = NDArray[np.int32]

# The look-behind and the possessive repeats keep the search linear in a long run of punctuation.
SENTENCE_END = re.compile(r"""(?<![.!?…])[.!?…]++["'”’)\]]*+(?=\s)|[。！？；]++["'”’」』）]*+|\n""")
"""Matches the end of a sentence."""


def cut_passages(text: str, tokens: Spans, *, window: int, overlap: int) -> Spans:
    """Return half-open character ranges of passages of at most `window` tokens, in order.

    `tokens` are the character ranges of the tokens of `text`, shape (n, 2), in order. A text that
    fits is a single passage. Otherwise the passages hold every character but white space. A passage
    begins after the start of the previous passage and repeats at most `overlap` tokens of its end,
    fewer if it then begins with a sentence. Only a single character of more than `window` tokens
    makes a longer passage.
    """
    if len(tokens) <= window:
        return np.array([[0, len(text)]], dtype=np.int32)
    cuts = _Cuts(text, tokens)
    spans, first = [], 0
    while len(tokens) - first > window:
        last = cuts.end(first, window)
        spans.append(cuts.characters(first, last))
        if last == len(tokens):
            return np.array(spans, dtype=np.int32)
        first = cuts.start(first, last, overlap)
    spans.append(cuts.characters(first, len(tokens)))
    return np.array(spans, dtype=np.int32)


class _Cuts:
    """The possible cuts of a text as token numbers: first the best kind, then the last resort.

    A cut at i separates token i from token i - 1. All arrays are sorted: a passage takes a few
    binary searches.
    """

    def __init__(self, text: str, tokens: Spans) -> None:
        self._text = text
        self._starts = np.append(tokens[:, 0], len(text))
        reach = np.maximum.accumulate(tokens[:, 1])
        # Several tokens may share a character, which must not be divided.
        possible = np.flatnonzero(self._starts[1:-1] >= reach[:-1]) + 1
        apart = self._starts[possible] > reach[possible - 1]
        ends = [match.end() for match in SENTENCE_END.finditer(text)]
        sentences = np.searchsorted(self._starts[:-1], ends)
        self._sentences = np.intersect1d(sentences, possible)
        self._kinds = (self._sentences, possible[apart], possible)

    def end(self, first: int, window: int) -> int:
        """Return the end of the passage that begins at `first`: the latest cut of the best kind.

        A cut that leaves the passage less than half full gives way to a cut of a worse kind.
        """
        limit = first + window
        for cuts in self._kinds:
            last = _last_within(cuts, first + window // 2 + 1, limit)
            if last is not None:
                return last
        possible = self._kinds[-1]
        last = _last_within(possible, first + 1, limit)
        if last is not None:
            return last
        following = int(np.searchsorted(possible, limit + 1))
        return int(possible[following]) if following < len(possible) else len(self._starts) - 1

    def start(self, first: int, last: int, overlap: int) -> int:
        """Return the start of the passage after the passage from `first` to `last`."""
        earliest = max(last - overlap, first + 1)
        *better, possible = self._kinds
        for cuts in better:
            begin = int(np.searchsorted(cuts, earliest))
            if begin < len(cuts) and cuts[begin] <= last:
                return int(cuts[begin])
        # There is always a cut: the end of the previous passage is possible.
        return int(possible[np.searchsorted(possible, earliest)])

    def characters(self, first: int, last: int) -> tuple[int, int]:
        """Return the range of characters from token `first` up to token `last`, trimmed.

        A character between two tokens, which the tokenizer has dropped, goes with the first.
        """
        begin = int(self._starts[first]) if first else 0
        end = int(self._starts[last])
        while end > begin and self._text[end - 1].isspace():
            end -= 1
        return begin, end


def _last_within(cuts: NDArray[np.int64], low: int, high: int) -> int | None:
    """Return the last of the sorted `cuts` within [low, high], None where there is none."""
    position = int(np.searchsorted(cuts, high, side="right"))
    if position and cuts[position - 1] >= low:
        return int(cuts[position - 1])
    return None
