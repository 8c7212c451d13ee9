"""What a search of the memories of a conversation can be narrowed to, and ordered by."""

from __future__ import annotations

from enum import StrEnum


class Term(StrEnum):
    """The term of a memory of a conversation, or both."""

    SHORT_TERM = "short_term"
    LONG_TERM = "long_term"
    BOTH = "both"


class Order(StrEnum):
    """What hits are ordered by: relevance, activation ("score") or time."""

    RELEVANCE = "relevance"
    SCORE = "score"
    TIME = "time"
