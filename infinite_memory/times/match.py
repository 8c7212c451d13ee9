"""What was found at a place among the tokens, and how to look at them."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from attrs import frozen

from infinite_memory.times.calendar import Calendar
from infinite_memory.times.recurring import Time
from infinite_memory.times.tokenizer import Token

__all__ = ["Doubt", "Found", "Source"]


class Doubt(IntEnum):
    """How much words need around them to be a time within a sentence."""

    NONE = 0
    PREPOSITION = 1
    COMPANY = 2


@frozen
class Found:
    """A time, and the place of the first token after its words."""

    time: Time
    end: int
    doubt: Doubt = Doubt.NONE


@frozen
class Source:
    """The tokens of a text and the calendar to read them by."""

    tokens: Sequence[Token]
    calendar: Calendar

    def at(self, place: int) -> Token | None:
        """Return the token at `place`, None after the last and before the first."""
        return self.tokens[place] if 0 <= place < len(self.tokens) else None

    def word(self, place: int) -> str:
        """Return the English word at `place`, in lower case; empty if there is none."""
        token = self.at(place)
        return token.value if token is not None and token.kind in ("word", "mid") else ""

    def han(self, place: int) -> str:
        """Return the Chinese word of time at `place`; empty if there is none."""
        token = self.at(place)
        return token.value if token is not None and token.kind == "han" else ""

    def sign(self, place: int) -> str:
        """Return the sign or unknown word at `place`; empty if there is none."""
        token = self.at(place)
        return token.value if token is not None and token.kind in ("other", "possessive") else ""
