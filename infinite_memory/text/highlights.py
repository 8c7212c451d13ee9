"""Cuts a stretch of text into sentences to choose from, and widens the one that was chosen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from infinite_memory.text.passages import SENTENCE_END

__all__ = ["Range", "sentences", "widened"]

Range = tuple[int, int]
"""A half-open range of characters."""

# What is shorter goes with the sentence after it: a heading, a greeting, the end of "e.g.".
_MIN_CHARS = 40


def sentences(text: str, within: Range, *, max_chars: int) -> list[Range]:
    """Return the sentences of `text` within a range, in order, without white space around them.

    None is longer than `max_chars`: a longer one is cut between words, or within one that is longer
    itself. Short ones are joined with the next. Every character but white space is in one of them.
    """
    joined: list[Range] = []
    for start, end in _pieces(text, within, max_chars):
        if joined and joined[-1][1] - joined[-1][0] < _MIN_CHARS:
            first = joined[-1][0]
            if end - first <= max_chars:
                joined[-1] = (first, end)
                continue
        joined.append((start, end))
    return joined


def widened(parts: Sequence[Range], chosen: int, *, max_chars: int) -> Range:
    """Return the range of the chosen part with as many after and before it as fit, in turns."""
    first = last = chosen
    while True:
        if last + 1 < len(parts) and parts[last + 1][1] - parts[first][0] <= max_chars:
            last += 1
        elif first and parts[last][1] - parts[first - 1][0] <= max_chars:
            first -= 1
        else:
            return parts[first][0], parts[last][1]


def _pieces(text: str, within: Range, max_chars: int) -> Iterator[Range]:
    start, end = within
    for found in SENTENCE_END.finditer(text, start, end):
        yield from _cut(text, start, found.end(), max_chars)
        start = found.end()
    yield from _cut(text, start, end, max_chars)


def _cut(text: str, start: int, end: int, max_chars: int) -> Iterator[Range]:
    """Yield pieces of at most `max_chars`, trimmed, nothing for white space."""
    while True:
        while start < end and text[start].isspace():
            start += 1
        while end > start and text[end - 1].isspace():
            end -= 1
        if start == end:
            return
        if end - start <= max_chars:
            yield start, end
            return
        most = start + max_chars
        space = text.rfind(" ", start + max_chars // 2, most + 1)
        last = most if space < 0 else space
        while text[last - 1].isspace():
            last -= 1
        yield start, last
        start = last
