"""Which memories are meant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import TypedDict

from attrs import frozen

from infinite_memory.model.memory import Kind, Memory, Status
from infinite_memory.model.scope import fold_name

__all__ = ["Conditions", "Criteria"]


class Conditions(TypedDict, total=False):
    """Which memories a caller means, as `search` and `browse` take it by keyword.

    `scope`: a name or several, with their parents and `Global`; "ALL" for every open one; left out,
    the default scope and, in a search, any scope that the question itself names. `tags`: all of
    them required. `kinds`: any of them, by default every kind. `statuses`: any of them, by default
    current, in an exhaustive search all but forgotten; an empty list means every one.
    `conversation_id`: that conversation alone. `since`, `until`: aware datetimes that bound
    `happened_at` as [since, until).
    """

    scope: str | Iterable[str] | None
    tags: Sequence[str]
    kinds: Iterable[str]
    statuses: Iterable[str]
    conversation_id: str | None
    since: datetime | None
    until: datetime | None


@frozen(kw_only=True)
class Criteria:
    """Conditions that a memory meets all of; a field left as it is sets no condition.

    `tags` are all required, letter case does not count. `since` and `until` bound `happened_at` as
    a half-open range, [since, until).
    """

    scopes: frozenset[str] | None = None
    tags: tuple[str, ...] = ()
    kinds: frozenset[Kind] | None = None
    statuses: frozenset[Status] | None = None
    conversation_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def admit(self, memory: Memory) -> bool:
        """Tell whether `memory` meets every condition."""
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
        if self.statuses is not None and memory.status not in self.statuses:
            yield "statuses"
        if self.conversation_id is not None and memory.conversation_id != self.conversation_id:
            yield "conversation_id"
        if self.since is not None and memory.happened_at < self.since:
            yield "since"
        if self.until is not None and memory.happened_at >= self.until:
            yield "until"
