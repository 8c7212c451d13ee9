"""Which partition keeps what, and the parts of a commit.

The ending of its id says where a memory is, for ever; so an id is in one partition, and `get` asks
one. Whoever stores a new memory chooses an id that lies in the partition of its scope, see
`SupportsPartitions`. A memory that lies elsewhere, since its id was given or its scope changed, is
a stray of its scope, whose partition notes where it is and what an expectation may ask of it. A
link is kept with its source, and a second time with a target that is elsewhere; every scope is in
every partition, and everything else in the first one.
"""

from __future__ import annotations

from collections.abc import Iterator
from zlib import crc32

from infinite_memory.core.values.commit import Attach, Commit, Detach, Erase, Put
from infinite_memory.core.values.ids import ending_of

Change = Erase | Put | Attach | Detach


def partition_of(memory_id: str, partitions: int) -> int:
    """Return the number of the partition, from 0, that keeps the memory with an id."""
    return crc32(ending_of(memory_id).encode()) % partitions


def partition_of_scope(scope: str, partitions: int) -> int:
    """Return the number of the partition that keeps the memories of a scope, but its strays."""
    return crc32(scope.encode()) % partitions


def list_changes(commit: Commit) -> Iterator[Change]:
    """Yield what a commit does with memories, in the order of application."""
    yield from commit.erases
    yield from commit.puts
    yield from commit.attaches
    yield from commit.detaches


def id_of(change: Change) -> str:
    """Return the id of the memory that a change concerns."""
    return change.memory.id if isinstance(change, Put) else change.id


def find_only_partition(commit: Commit, partitions: int) -> int | None:
    """Return the partition that can carry out a commit alone, None where it takes all of them."""
    expect = commit.expect
    concerns_all = (
        *(commit.erases, commit.erased_scopes, commit.scopes, commit.access_keys),
        *(commit.past_entries, commit.active_model, expect.unused),
        *(expect.entry_number is not None, expect.lease is not None),
        expect.access_keys is not None,
    )
    if any(concerns_all):
        return None
    scopes = {put.memory.scope for put in commit.puts} | {key.scope for key in expect.keys}
    scopes = scopes.union(*(content.scopes for content in expect.contents))
    found = {partition_of(memory_id, partitions) for memory_id in _list_ids(commit)}
    found |= {partition_of_scope(scope, partitions) for scope in scopes}
    return found.pop() if len(found) == 1 else None


def _list_ids(commit: Commit) -> Iterator[str]:
    yield from map(id_of, list_changes(commit))
    for key in (*commit.erased_links, *(link.key for link in commit.links)):
        yield from (key.source, key.target)
    if commit.entry is not None:
        # The entries of a memory are in its partition, or in the first one.
        yield from (step.id for step in commit.entry.memories)


def split_commit(commit: Commit, partitions: int) -> list[Commit]:
    """Return what each partition carries out of a commit, without its expectations."""
    return [
        Commit(
            erases=[e for e in commit.erases if partition_of(e.id, partitions) == number],
            puts=[p for p in commit.puts if partition_of(p.memory.id, partitions) == number],
            attaches=[a for a in commit.attaches if partition_of(a.id, partitions) == number],
            detaches=[d for d in commit.detaches if partition_of(d.id, partitions) == number],
            erased_links=[
                k for k in commit.erased_links if partition_of(k.source, partitions) == number
            ],
            links=[
                link for link in commit.links if partition_of(link.source, partitions) == number
            ],
            erased_scopes=commit.erased_scopes,
            scopes=commit.scopes,
            access_keys=() if number else commit.access_keys,
            active_model=None if number else commit.active_model,
            past_entries=() if number else commit.past_entries,
            entry=None if number else commit.entry,
        )
        for number in range(partitions)
    ]
