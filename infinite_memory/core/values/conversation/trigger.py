"""Triggers: when a long-term memory comes up, and what its condition is checked against."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

from attrs import frozen

from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.conversation.message import ChatMessage
from infinite_memory.core.values.memory import JsonValue


class Language(StrEnum):
    """The language of a condition: rules as data, or an expression in JavaScript."""

    RULES = "rules"
    JAVASCRIPT = "javascript"


@frozen(kw_only=True)
class Trigger(PlainData):
    """When a long-term memory comes up.

    `condition` is a JSON object in the language RULES, and the source of an expression in
    JAVASCRIPT. After it came up, the memory rests for `cooldown_minutes`, None for no rest; it
    comes up at most `most_firings` times, None for any number.
    """

    language: Language
    condition: JsonValue
    cooldown_minutes: float | None = None
    most_firings: int | None = None


@frozen(kw_only=True)
class Occasion:
    """What the conditions of triggers are checked against: a moment of a conversation.

    `messages` are the recent messages, oldest first; none for a check by time alone. `now` is aware
    and in the configured time zone. `participants` are given to JavaScript as they are; the names
    in them, keys and texts, are those that rules compare. `scope` is the scope of the memories.
    """

    now: datetime
    messages: Sequence[ChatMessage] = ()
    conversation_id: str = "default"
    participants: JsonValue = None
    scope: str | None = None


@frozen(kw_only=True)
class Verdict(PlainData):
    """Whether a condition held, how long the check took, and why it failed if it did.

    A condition that failed or took too long does not hold. `is_timeout` is whether it took too
    long; `error` is None if the check worked.
    """

    holds: bool
    seconds: float
    error: str | None = None
    is_timeout: bool = False
