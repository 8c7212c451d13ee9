"""The sentences of a text, to choose and widen an excerpt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from infinite_memory.text.passages import SENTENCE_END

__all__ = ["Range", "cut_sentences", "widen_range"]

Range = tuple[int, int]
"""A half-open range of characters."""

# A shorter sentence is joined with the next: a heading, a greeting, the end of "e.g.".
_MIN_CHARS = 40


def cut_sentences(text: str, within: Range, *, max_chars: int) -> list[Range]:
    """Return the sentences of `text` within a range, in order, without white space around them.

    A sentence longer than `max_chars` is cut between words, or within a word that is longer itself.
    A short sentence is joined with the next. Only white space is left out.
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


def widen_range(parts: Sequence[Range], chosen: int, *, max_chars: int) -> Range:
    """Return the range of the chosen part and of its neighbours, as many as fit in `max_chars`.

    The part after the range is tried before the part in front of it.
    """
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
    for sentence_end in SENTENCE_END.finditer(text, start, end):
        yield from _cut(text, start, sentence_end.end(), max_chars)
        start = sentence_end.end()
    yield from _cut(text, start, end, max_chars)


def _cut(text: str, start: int, end: int, max_chars: int) -> Iterator[Range]:
    """Yield trimmed pieces of at most `max_chars`, none for white space."""
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
        limit = start + max_chars
        space = text.rfind(" ", start + max_chars // 2, limit + 1)
        cut = limit if space < 0 else space
        while text[cut - 1].isspace():
            cut -= 1
        yield start, cut
        start = cut
