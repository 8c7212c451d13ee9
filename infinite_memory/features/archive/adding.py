"""Add records from elsewhere to a store that holds others: what merge and import share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set

from attrs import evolve, frozen

from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.commit import Commit, Put
from infinite_memory.core.values.entry import Operation
from infinite_memory.core.values.link import Link
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.record import Embedding, Record
from infinite_memory.engine.journal import with_entry
from infinite_memory.engine.retry import attempts
from infinite_memory.engine.services import Services

# A commit holds the lock of the writers.
_COMMIT_MEMORIES = 20_000
_COMMIT_SIZE = 64 << 20


def is_commit_full(records: int, size: int = 0) -> bool:
    """Return whether so many memories or links, of a size in bytes or characters, fill a commit."""
    return records >= _COMMIT_MEMORIES or size >= _COMMIT_SIZE


@frozen(kw_only=True)
class Plan:
    """The commit of a batch, the links between its memories now, and numbers of what it does.

    The names in `counts` are those of `Restored` and `Imported`.
    """

    commit: Commit
    present_links: tuple[Link, ...]
    counts: Mapping[str, int]


def commit_planned(
    services: Services, plan: Callable[[], Plan], operation: Operation, *, reason: str
) -> Plan:
    """Commit what `plan` returns, which is planned again after a conflict; return the plan."""
    for attempt in attempts():
        planned = plan()
        with attempt:
            if planned.commit.changes:
                links = planned.present_links
                services.storage.commit(
                    with_entry(services, operation, planned.commit, links=links, reason=reason)
                )
            break
    return planned


def find_erased_for_good(storage: Storage, ids: Sequence[str]) -> set[str]:
    """Return the ids whose memories somebody erased, as the journal says.

    A restore that overwrote a store made its ids count as erased, too: a merge brings them back.
    """
    return {
        memory_id
        for memory_id in storage.erased(ids)
        for entry in storage.journal(limit=1, memory_id=memory_id)
        if any(step.id == memory_id and step.after == 0 for step in entry.action.memories)
    }


def plan_revisions(
    storage: Storage, record: Record, theirs: Sequence[Memory], embeddings: tuple[Embedding, ...]
) -> list[Put]:
    """Return the revisions to add to a memory that both have; the newer state comes last."""
    mine = record.memory
    ours = [mine] if mine.revision == 1 else storage.history(mine.id)
    known = {describe_state(memory) for memory in ours}
    if describe_state(theirs[-1]) in known:
        return []
    missing = [memory for memory in theirs if describe_state(memory) not in known]
    descends = any(describe_state(memory) == describe_state(mine) for memory in theirs)
    if descends or theirs[-1].stored_at > mine.stored_at:
        return list(put_all(missing, mine.revision, embeddings))
    return list(put_all([*missing, mine], mine.revision, record.embeddings))


def describe_state(memory: Memory) -> str:
    """Return a memory without the number of its revision, as a key."""
    return repr(evolve(memory, revision=1))


def put_all(
    revisions: Sequence[Memory], expected: int, embeddings: tuple[Embedding, ...]
) -> Iterator[Put]:
    """Yield the puts of `revisions`, whose numbers go on after `expected`."""
    for memory in revisions:
        revision = max(memory.revision, expected + 1)
        is_last = memory is revisions[-1]
        yield Put(
            memory=memory if memory.revision == revision else evolve(memory, revision=revision),
            expected=expected,
            embeddings=embeddings if is_last else (),
        )
        expected = revision


@frozen(kw_only=True)
class PlannedLinks:
    """The links to write, the links that exist now, and the number that lead to no memory."""

    new: tuple[Link, ...] = ()
    present: tuple[Link, ...] = ()
    loose: int = 0


def plan_links(
    storage: Storage, links: Sequence[Link], puts: Sequence[Put], undated: Set[Link] = frozenset()
) -> PlannedLinks:
    """Return the links that are missing or newer, between memories that are or will be here.

    A link that is `undated` is newer than none.
    """
    if not links:
        return PlannedLinks()
    ends = {end for link in links for end in (link.source, link.target)}
    here = {*storage.get(ends, models=()), *(put.memory.id for put in puts)}
    present = {link.key: link for link in storage.links(ends)}
    joined = [link for link in links if link.source in here and link.target in here]
    new = {
        link.key: link
        for link in joined
        if (known := present.get(link.key)) is None
        or (link not in undated and known.made_at < link.made_at)
    }
    return PlannedLinks(
        new=tuple(new.values()),
        present=tuple(present.values()),
        loose=len(links) - len(joined),
    )
