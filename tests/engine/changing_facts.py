"""A year of a user's changing facts, each with the one whose place it takes."""

from __future__ import annotations

from datetime import UTC, datetime

from attrs import evolve, frozen

from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.commit import Commit, Put
from infinite_memory.core.values.link import Link, LinkType
from infinite_memory.core.values.memory import Kind, Memory, Status


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@frozen
class Fact:
    """What became true on a day, about a key."""

    id: str
    key: str
    since: datetime
    text: str


YEAR = (
    Fact("acme", "user/job", day("2025-05-01"), "The user works for Acme as a welder"),
    Fact("berlin", "user/city", day("2025-05-01"), "The user lives in the city of Berlin"),
    Fact("tea", "user/drink", day("2025-05-01"), "The user prefers tea over coffee"),
    Fact("june", "apollo/deadline", day("2025-05-03"), "The deadline of Apollo is 5 June"),
    Fact("july", "apollo/deadline", day("2025-06-02"), "The deadline of Apollo is 1 July"),
    Fact("august", "apollo/deadline", day("2025-06-30"), "The deadline of Apollo is 9 August"),
    Fact("globex", "user/job", day("2025-09-15"), "The user works for Globex as a designer"),
    Fact("oslo", "user/city", day("2025-10-01"), "The user lives in the city of Oslo"),
    Fact("coffee", "user/drink", day("2025-11-11"), "The user prefers coffee over tea"),
    Fact("october", "apollo/deadline", day("2025-08-01"), "The deadline of Apollo is 31 October"),
    Fact("january", "apollo/deadline", day("2025-10-30"), "The deadline of Apollo is 15 January"),
    # The same as once before.
    Fact("tea/2", "user/drink", day("2026-02-01"), "The user prefers tea over coffee"),
)
QUESTIONS = {
    "user/job": "who does the user work for",
    "user/city": "in which city does the user live",
    "user/drink": "what does the user prefer, tea or coffee",
    "apollo/deadline": "when is the deadline of Apollo",
}


def holding(key: str, moment: datetime) -> str | None:
    """Return the id of what held about a key at a moment."""
    begun = [fact for fact in YEAR if fact.key == key and fact.since <= moment]
    return max(begun, key=lambda fact: fact.since).id if begun else None


def live_through(storage: Storage) -> None:
    """Store the year as it went: what is new closes, supersedes and links what was before."""
    for fact in sorted(YEAR, key=lambda each: each.since):
        memory = Memory(
            id=fact.id,
            text=fact.text,
            kind=Kind.FACT,
            key=fact.key,
            happened_at=fact.since,
            stored_at=fact.since,
            valid_from=fact.since,
        )
        supersede(storage, memory, [each.id for each in YEAR if each.key == fact.key])


def supersede(storage: Storage, memory: Memory, ids: list[str]) -> None:
    """Store a memory in the place of those of these ids that are current."""
    old = [r.memory for r in storage.get(ids).values() if r.memory.status is Status.CURRENT]
    closed = [
        evolve(
            each, status=Status.SUPERSEDED, valid_to=memory.held_from, revision=each.revision + 1
        )
        for each in old
    ]
    storage.commit(
        Commit(
            puts=[
                Put(memory=memory, expected=0),
                *(Put(memory=each, expected=each.revision - 1) for each in closed),
            ],
            links=[link_between(memory, each) for each in closed],
        )
    )


def link_between(memory: Memory, old: Memory) -> Link:
    return Link(
        source=memory.id, target=old.id, type=LinkType.SUPERSEDES, made_at=memory.happened_at
    )
