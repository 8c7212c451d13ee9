"""Typing errors: whether two words are likely to be spellings of the same word."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from infinite_memory.search.text.keys import split_name

_TWO_EDITS_FROM = 9
_ONE_EDIT_FROM = 5
"""In shorter words another letter is another word: team-a and team-b, cat and car."""


def differs_by_typo(first: str, second: str, *, two_edits_from: int) -> bool:
    """Return whether two words differ by an edit that a typist may have made.

    An edit replaces, inserts or removes a letter, or exchanges two neighbours. Both words must have
    at least five letters; from `two_edits_from` letters on, two edits are allowed. Words with other
    digits name other things. To double other letters (appolo, apollo) is a single error.
    """
    shorter = min(len(first), len(second))
    edits = 2 if shorter >= two_edits_from else 1
    if shorter < _ONE_EDIT_FROM or abs(len(first) - len(second)) > 2 or first == second:
        return False
    # An edit changes at most two members of the set, which is quick to count.
    if len({*first} ^ {*second}) > 2 * edits or not has_same_digits(first, second):
        return False
    if _single_letters(first) == _single_letters(second):
        return True
    return _distance(first, second) <= edits


def find_near_names(name: str, known: Iterable[str]) -> list[str]:
    """Return the names in `known` of which `name` is likely to be a misspelling.

    The two have the same letters with other signs between them, or the same parts except one with a
    typing error: one edit, or two in a part of nine letters or more.
    """
    parts = split_name(name)
    return [other for other in known if _is_near(parts, split_name(other))]


def _is_near(parts: list[str], others: list[str]) -> bool:
    if "".join(parts) == "".join(others):
        return True
    differing = [pair for pair in zip(parts, others, strict=False) if pair[0] != pair[1]]
    return (
        len(parts) == len(others)
        and len(differing) == 1
        and differs_by_typo(*differing[0], two_edits_from=_TWO_EDITS_FROM)
    )


def has_same_digits(first: str, second: str) -> bool:
    """Return whether two words have the same digits in the same order."""
    return [*filter(str.isdigit, first)] == [*filter(str.isdigit, second)]


def _single_letters(word: str) -> str:
    return "".join(letter for letter, _ in groupby(word))


def _distance(first: str, second: str) -> int:
    """Return the least number of edits, no letter edited twice (optimal alignment)."""
    before_last: list[int] = []
    last = list(range(len(second) + 1))
    for i, letter in enumerate(first, 1):
        row = [i]
        for j, other in enumerate(second, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == second[j - 2] and first[i - 2] == other:
                cost = min(cost, before_last[j - 2] + 1)
            row.append(cost)
        before_last, last = last, row
    return last[-1]
