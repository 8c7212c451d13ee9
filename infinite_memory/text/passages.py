"""Cuts a long text into overlapping passages, on sentence boundaries where it can.

Sentences end at English or Chinese final punctuation and at line breaks. A sentence longer than
the window is cut between words, and a word longer than the window between tokens.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

__all__ = ["SENTENCE_END", "cut_passages"]

Spans = NDArray[np.int32]

# The look-behind and the possessive repeats keep the search linear on long runs of punctuation.
SENTENCE_END = re.compile(r"""(?<![.!?…])[.!?…]++["'”’)\]]*+(?=\s)|[。！？；]++["'”’」』）]*+|\n""")
"""Matches what ends a sentence."""


def cut_passages(text: str, tokens: Spans, *, window: int, overlap: int) -> Spans:
    """Return half-open character ranges of passages of at most `window` tokens, in order.

    `tokens` are the character ranges of the tokens of `text`, shape (n, 2), in order. A text that
    fits is one passage. Otherwise every character but white space lies in a passage; each passage
    begins after the one before begins, and repeats at most `overlap` tokens of its end, fewer where
    that lets it begin with a sentence. Only a single character of more than `window` tokens makes a
    passage that does not fit.
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
    """The places where a text may be cut, as token numbers, from the best kind to the last resort.

    A cut at i separates token i from token i - 1. All arrays are sorted, so that a passage costs a
    few binary searches.
    """

    def __init__(self, text: str, tokens: Spans) -> None:
        self._text = text
        self._starts = np.append(tokens[:, 0], len(text))
        reach = np.maximum.accumulate(tokens[:, 1])
        # Several tokens can share one character, which is not to be divided.
        possible = np.flatnonzero(self._starts[1:-1] >= reach[:-1]) + 1
        apart = self._starts[possible] > reach[possible - 1]
        ends = [match.end() for match in SENTENCE_END.finditer(text)]
        sentences = np.searchsorted(self._starts[:-1], ends)
        self._sentences = np.intersect1d(sentences, possible)
        self._kinds = (self._sentences, possible[apart], possible)

    def end(self, first: int, window: int) -> int:
        """Return where the passage that begins at `first` ends: best kind, then as late as it can.

        A cut that would leave the passage less than half full is passed over for a worse kind.
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
        """Return where the passage after the one from `first` to `last` begins."""
        earliest = max(last - overlap, first + 1)
        *better, possible = self._kinds
        for cuts in better:
            begin = int(np.searchsorted(cuts, earliest))
            if begin < len(cuts) and cuts[begin] <= last:
                return int(cuts[begin])
        # The end of the passage before is among these, so there is always one.
        return int(possible[np.searchsorted(possible, earliest)])

    def characters(self, first: int, last: int) -> tuple[int, int]:
        """Return the range of characters from token `first` up to token `last`, trimmed.

        What lies between two tokens, such as a character the tokenizer drops, goes with the first.
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
