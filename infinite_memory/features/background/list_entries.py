"""Entries of a list, such as "Ran 5.2 km" every day: none of them stands for the others."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from attrs import frozen

from infinite_memory.search.text.analyzer import words

LEAST_OTHERS = 3
"""A text is an entry of a list where so many others have its form."""

_NUMBER = re.compile(r"\d[\d.,:]*")
_MAX_CHARS = 200


@frozen
class Form:
    """How a text reads: its first word, and all of them, where all numbers are one word."""

    first: str
    words: frozenset[str]

    @classmethod
    def of(cls, text: str) -> Form:
        """Return the form of a text; one without words has the form of no other."""
        found = words(_NUMBER.sub("0", text[:_MAX_CHARS]))
        return cls(found[0] if found else "", frozenset(found))

    def is_like(self, other: Form) -> bool:
        """Return whether both begin with the same word, and half of the shorter is in the other."""
        fewer, more = sorted((self.words, other.words), key=len)
        return bool(fewer) and self.first == other.first and 2 * len(fewer & more) >= len(fewer)


def find_entries(texts: Sequence[str]) -> set[int]:
    """Return the positions of the texts that are entries of a list."""
    forms = [Form.of(text) for text in texts]
    alike: defaultdict[str, list[int]] = defaultdict(list)
    for position, form in enumerate(forms):
        alike[form.first].append(position)
    return {
        position
        for near in alike.values()
        for position in near
        if sum(forms[position].is_like(forms[other]) for other in near) > LEAST_OTHERS
    }
