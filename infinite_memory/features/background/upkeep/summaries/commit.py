"""The commit that stores a summary, and the check after it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from attrs import evolve

from infinite_memory.core.values.commit import Commit, Put
from infinite_memory.core.values.link import Link, LinkType
from infinite_memory.core.values.memory import Memory, Status
from infinite_memory.engine.services import Services
from infinite_memory.features.background.upkeep.job import MADE_BY
from infinite_memory.features.background.upkeep.summaries.material import links_to_sources


def summary_commit(
    services: Services, summary: Memory, sources: Sequence[Memory], replaced: Sequence[Memory]
) -> Commit:
    """Return the commit that stores `summary` with its links, in place of the summaries `replaced`.

    What is replaced becomes superseded, and stays in the history.
    """
    records = services.storage.get([memory.id for memory in replaced])
    ended = tuple(
        Put(
            memory=_end_summary(record.memory, summary, services.clock()),
            expected=record.memory.revision,
            embeddings=record.embeddings,
        )
        for record in records.values()
    )
    links = [_make_supersedes_link(summary, memory) for memory in replaced]
    return Commit(
        puts=(Put(memory=summary, expected=0), *ended),
        links=(*links_to_sources(summary, sources), *links),
    )


def are_unchanged(services: Services, sources: Sequence[Memory]) -> bool:
    """Return whether the sources are still what a summary was made from.

    Writing a summary takes time, in which one may be erased, changed or moved to another scope.
    """
    records = services.storage.get([memory.id for memory in sources], models=())
    return all(
        memory.id in records and records[memory.id].memory.revision == memory.revision
        for memory in sources
    )


def _end_summary(memory: Memory, by: Memory, now: datetime) -> Memory:
    return evolve(
        memory,
        status=Status.SUPERSEDED,
        valid_to=max(memory.held_from, by.held_from),
        revision=memory.revision + 1,
        stored_at=max(now, memory.stored_at),
    )


def _make_supersedes_link(summary: Memory, earlier: Memory) -> Link:
    return Link(
        source=summary.id,
        target=earlier.id,
        type=LinkType.SUPERSEDES,
        made_by=MADE_BY,
        reason="a later summary of the same",
        made_at=summary.stored_at,
    )
