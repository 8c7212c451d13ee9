"""The way of a summary, of the upkeep or of the dreamer, from its sources to the store.

What asks for a summary chooses the sources. The writer is a summariser, see `choose_summariser`, or
a client that gives the text.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from attrs import evolve

from infinite_memory.core.protocols import Summariser
from infinite_memory.core.values.checks import check_label, check_text
from infinite_memory.core.values.codec import iso
from infinite_memory.core.values.commit import Commit, Put
from infinite_memory.core.values.link import Link, LinkType
from infinite_memory.core.values.memory import JsonValue, Memory, Status
from infinite_memory.engine.after_commit import AfterCommit
from infinite_memory.engine.embed import EmbeddedMemories, embed_new
from infinite_memory.engine.services import Services
from infinite_memory.engine.writes.quoting_summaries import erase_unfounded_summaries
from infinite_memory.features.background.upkeep.changes import archive_puts
from infinite_memory.features.background.upkeep.context import JobContext
from infinite_memory.features.background.upkeep.job import MADE_BY

_SHARE_OF_CHARS = 5
_FEWEST_CHARS, _MOST_CHARS = 300, 1500
_MAX_TITLE_CHARS = 200
_SOMEBODY = "a client"


def write_text(summariser: Summariser, sources: Sequence[Memory]) -> str:
    """Let a summariser write a text of at most a fifth of its sources, within bounds.

    Raises:
        SummariserError: it cannot write now.
    """
    chars = sum(len(memory.text) for memory in sources)
    most = min(_MOST_CHARS, max(_FEWEST_CHARS, chars // _SHARE_OF_CHARS))
    return summariser.summarise(sources, max_chars=most)


def check_given(text: object, title: object, *, max_bytes: int) -> tuple[str, str | None]:
    """Return the text and the title of a summary that a client has written.

    Raises:
        InvalidInput: one of them cannot be used.
    """
    checked = check_text(text, "text", max_bytes=max_bytes)
    if title is None:
        return checked, None
    return checked, check_label(title, "title", max_chars=_MAX_TITLE_CHARS)


def name_client(services: Services) -> str:
    """Return the name under which a client writes summaries."""
    return services.actor.client or _SOMEBODY


def describe_period(memories: Sequence[Memory]) -> dict[str, JsonValue]:
    """Return when the first and the last of `memories` happened, for the context of a summary."""
    first, last = memories[0].happened_at, memories[-1].happened_at
    return {"from": iso(first) or "", "to": iso(last) or ""}


def link_sources(
    summary: Memory, *, made_by: str, reason: str, known: Collection[str] = ()
) -> tuple[Link, ...]:
    """Return links to the sources that are not `known`: they lead from a source to its summary."""
    return tuple(
        Link(
            source=summary.id,
            target=source,
            type=LinkType.DERIVED_FROM,
            made_by=made_by,
            reason=reason,
            made_at=summary.stored_at,
        )
        for source in summary.sources
        if source not in known
    )


def finish_summaries(services: Services, summaries: Sequence[Memory]) -> EmbeddedMemories | None:
    """Embed new summaries, and erase those whose source was erased or moved at the same moment.

    Return which of them have vectors, None if no summary is left.
    """
    with AfterCommit("comparing new summaries with their sources"):
        unfounded = erase_unfounded_summaries(services, summaries)
        summaries = [summary for summary in summaries if summary.id not in unfounded]
    return embed_new(services, summaries) if summaries else None


def summary_commit(
    context: JobContext, summary: Memory, *, replaced: Sequence[Memory], archived: Sequence[Memory]
) -> Commit:
    """Return the commit that stores `summary` with its links, in place of the summaries `replaced`.

    What is replaced becomes superseded, and stays in the history. The sources `archived` become
    archived in the same commit.
    """
    services = context.services
    records = services.storage.get([memory.id for memory in replaced])
    ended = tuple(
        Put(
            memory=_end_summary(record.memory, summary, services.clock()),
            expected=record.memory.revision,
            embeddings=record.embeddings,
        )
        for record in records.values()
    )
    links = link_sources(summary, made_by=MADE_BY, reason="a source of the summary")
    return Commit(
        puts=(Put(memory=summary, expected=0), *ended, *archive_puts(context, archived)),
        links=(*links, *(_make_supersedes_link(summary, memory) for memory in replaced)),
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
