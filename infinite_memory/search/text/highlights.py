"""The sentences of a text, to choose and widen an excerpt."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from infinite_memory.search.text.passages import SENTENCE_END

Range = tuple[int, int]
"""A half-open range of characters."""

_QUESTION_MARKS = "?\uff1f\u061f"
_CLOSING = " \t\n\"'”’」』）)]*_!.…"
# A shorter sentence is joined with the next: a heading, a greeting, the end of "e.g.".
_MIN_CHARS = 40
# The scripts without spaces between words, and Korean, whose characters are syllables.
_DENSE = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff]")
_SAMPLE_CHARS = 1000
# A longer stem may differ from the word in its last letter: "happi", "happy".
_STEM_CHARS = 4


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


def asks(text: str) -> bool:
    """Return whether more than half of `text` is sentences that end with a question mark.

    Who tells something and asks at the end for help with it tells more than he asks.
    """
    if not any(mark in text for mark in _QUESTION_MARKS):
        return False
    ends = [match.end() for match in SENTENCE_END.finditer(text)]
    sentences = [text[a:b].strip() for a, b in pairwise([0, *ends, len(text)])]
    asked = sum(len(s) for s in sentences if s.rstrip(_CLOSING).endswith(tuple(_QUESTION_MARKS)))
    return 2 * asked > sum(map(len, sentences))


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


def is_dense_script(text: str) -> bool:
    """Return whether the text is mostly in a script such as Chinese, where a character is a word.

    Only its beginning is looked at.
    """
    sample = text[:_SAMPLE_CHARS]
    return not sample.isascii() and 3 * len(_DENSE.findall(sample)) > len(sample)


def densest_range(text: str, index_terms: Sequence[str], *, span: int) -> Range | None:
    """Return a range of `text` around the place where most of the terms stand together.

    The place is at most `span` characters long, and the range has as many again on both sides. A
    term counts the more, the rarer it is in the text. None if no term occurs. A term is looked for
    by its beginning, since it is a stem.
    """
    lowered = text.lower()
    if len(lowered) != len(text):
        lowered = text
    places: list[tuple[int, str]] = []
    weights: dict[str, float] = {}
    for term in index_terms:
        start = term[:-1] if len(term) > _STEM_CHARS else term
        positions = [match.start() for match in re.finditer(re.escape(start), lowered)]
        places += [(position, term) for position in positions]
        weights[term] = 1 / (1 + len(positions))
    if not places:
        return None
    places.sort()
    begin = _heaviest_window(places, weights, span)
    return max(0, begin - span), min(len(text), begin + 2 * span)


def _heaviest_window(
    places: Sequence[tuple[int, str]], weights: dict[str, float], span: int
) -> int:
    """Return where the window of `span` characters begins whose different terms weigh most."""
    held: Counter[str] = Counter()
    best, best_weight, first, weight = places[0][0], 0.0, 0, 0.0
    for position, term in places:
        held[term] += 1
        if held[term] == 1:
            weight += weights[term]
        while position - places[first][0] > span:
            left = places[first][1]
            held[left] -= 1
            if not held[left]:
                weight -= weights[left]
            first += 1
        # A sum of differences is not exact.
        if weight > best_weight + 1e-9:
            best, best_weight = places[first][0], weight
    return best


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
