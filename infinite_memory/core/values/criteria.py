"""Which memories a search covers: its depth, its mode and its conditions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, TypedDict

from attrs import frozen

from infinite_memory.core.values.memory import Kind, Memory, Status
from infinite_memory.core.values.scope import fold_name
from infinite_memory.core.values.timestamps import TimeLike

if TYPE_CHECKING:
    from infinite_memory.core.values.time_range import Reading


class Depth(StrEnum):
    """Which memories a search covers, and how much of their text it shows.

    `NORMAL`: current memories, whole. `OVERVIEW`: current memories, summaries first, with the
    sentences that answer best. `EXHAUSTIVE`: current, superseded and archived memories, by heading.
    """

    NORMAL = "normal"
    OVERVIEW = "overview"
    EXHAUSTIVE = "exhaustive"


class Cut(StrEnum):
    """How much a search shows, within its limit.

    `WIDE`: every match, best first. `ASKED`, for who asks: what may answer, and nothing if the best
    match probably does not. `PUSHED`, for what enters a conversation unasked: at most three, which
    almost surely help.
    """

    WIDE = "wide"
    ASKED = "asked"
    PUSHED = "pushed"


class Mode(StrEnum):
    """Which memories a search covers, by the time at which they hold.

    `CURRENT`: current memories that have not ended, even if they begin later; hits carry the
    memories that they superseded. `STRICT`: only current memories that hold now; a memory that had
    begun when it was stored counts, even if the clock that stored it was ahead. `HISTORY`: current
    and superseded memories, ended or not.
    """

    CURRENT = "current"
    STRICT = "strict"
    HISTORY = "history"


class Inherited(StrEnum):
    """The place of memories that a scope inherits from its parents and from `Global`.

    `MIXED`: in one order with the memories of the scope. `LAST`: behind all memories of the scope.
    `NONE`: left out.
    """

    MIXED = "mixed"
    LAST = "last"
    NONE = "none"


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


@frozen(kw_only=True)
class Tense:
    """The time at which memories must hold.

    `as_of` is a moment of the past to search, None for none; `now` is the time of the search.
    """

    mode: Mode = Mode.CURRENT
    as_of: datetime | None = None
    now: datetime


class Conditions(TypedDict, total=False):
    """The conditions of a caller, as `search` and `browse` take them by keyword.

    `scope`: a name or a list of names, opened with their parents and `Global`; "project" names that
    of the repository at work; "ALL" opens every scope that is neither private nor inactive. By
    default a search reads the active scope, its
    parents, `Global` and the open scopes that the question names; without an active scope, it reads
    what "ALL" opens. Active is the scope of the project at work, of the conversation, or a default
    scope other than `Global`.
    `tags`: all are required. `kinds`: any of them, by default every kind; topic summaries are left
    out of lists, and of searches of the depth "normal", unless the kinds name "summary".
    `statuses`: any of them; by default the statuses of the mode, in an exhaustive search all but
    forgotten; an empty list means every status. `conversation_id`: only this conversation; without
    `scope` its own scope is opened too, if conversations have scopes. `since`, `until`: times,
    see `TimeLike`, that bound `happened_at` as [since, until). `when`: the same bounds in words,
    such as "last week" or "since March 2024", in the configured time zone; not together with
    `since` or `until`.
    `mode`: "current", the default, "strict" or "history": see `Mode`. `as_of`: memories that held
    at this time, superseded since or not; a day, or "last March", means its end. `inherited`:
    the place of what the scopes inherit: "mixed" by default; "last", behind their own memories,
    in a search without `offset` and in `browse`; or "none".
    """

    scope: str | Iterable[str] | None
    tags: Sequence[str]
    kinds: Iterable[str]
    statuses: Iterable[str]
    conversation_id: str | None
    since: TimeLike | None
    until: TimeLike | None
    when: str | None
    mode: str | None
    as_of: TimeLike | None
    inherited: str | None


@frozen(kw_only=True)
class Criteria:
    """Conditions that a memory must meet; a field with its default sets no condition.

    All `tags` are required; letter case is ignored. `since` and `until` bound `happened_at` as
    a half-open range, [since, until). `key` is the exact spelling of a key; `keyed` requires any
    key. `as_of` is a moment at which a memory held: after `valid_from` or else `happened_at`, and
    before `valid_to`. `unended_at` is a moment at which it had not ended, `begun_at` a moment at
    which it had begun, see `Memory.begun_by`; a storage may ignore both in `find`. `content_hashes`
    are values of `Put.content_hash`, which a storage compares with its own and `admit` ignores.
    Without `topic_summaries`, topic summaries are left out, see `Memory.is_dreamed`.
    Six fields set no condition: `when` is the reading of the words of time and `tense` the
    requested mode; `missing` are scopes that were asked for and do not exist yet; memories of the
    scopes in `active`, and of those in `named`, which the question names, win near ties; memories
    of the scopes in `leading`, which are among `scopes`, come before all others.
    """

    scopes: frozenset[str] | None = None
    tags: tuple[str, ...] = ()
    kinds: frozenset[Kind] | None = None
    statuses: frozenset[Status] | None = None
    conversation_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    key: str | None = None
    keyed: bool = False
    as_of: datetime | None = None
    unended_at: datetime | None = None
    begun_at: datetime | None = None
    content_hashes: frozenset[bytes] | None = None
    topic_summaries: bool = True
    when: Reading | None = None
    tense: Tense | None = None
    active: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()
    leading: frozenset[str] | None = None
    missing: tuple[str, ...] = ()

    def admit(self, memory: Memory) -> bool:
        """Return whether `memory` meets every condition."""
        return not any(self.unmet(memory))

    def unmet(self, memory: Memory) -> Iterator[str]:
        """Yield the name of each condition that `memory` does not meet."""
        folded = {fold_name(tag) for tag in memory.tags}
        if self.scopes is not None and memory.scope not in self.scopes:
            yield "scope"
        if not all(fold_name(tag) in folded for tag in self.tags):
            yield "tags"
        if self.kinds is not None and memory.kind not in self.kinds:
            yield "kinds"
        if not self.topic_summaries and memory.is_dreamed:
            yield "topic_summaries"
        if self.statuses is not None and memory.status not in self.statuses:
            yield "statuses"
        if self.conversation_id is not None and memory.conversation_id != self.conversation_id:
            yield "conversation_id"
        yield from self._find_unmet_times(memory)
        if memory.key != self.key and self.key is not None:
            yield "key"
        elif self.keyed and memory.key is None:
            yield "keyed"

    def _find_unmet_times(self, memory: Memory) -> Iterator[str]:
        if self.since is not None and memory.happened_at < self.since:
            yield "since"
        if self.until is not None and memory.happened_at >= self.until:
            yield "until"
        if self.as_of is not None and not memory.held_at(self.as_of):
            yield "as_of"
        if self.begun_at is not None and not memory.begun_by(self.begun_at):
            yield "begun_at"
        if self.unended_at is not None and memory.ended_by(self.unended_at):
            yield "unended_at"
