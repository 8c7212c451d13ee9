"""The memories that quote others: summaries, and the statements and pieces of work of sessions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from infinite_memory.core.errors import StoreDamaged
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.link import LinkType
from infinite_memory.core.values.memory import INFERRED, Kind, Memory, Origin

_PAGE = 500
# A tool makes a piece of work, or a short-term memory, out of what others said; what a person or an
# assistant stores with sources is theirs.
_KINDS = frozenset(Kind) - {
    *(Kind.MESSAGE, Kind.NOTE, Kind.FACT, Kind.REMINDER, Kind.ATTACHMENT),
    *(Kind.INSTRUCTION, Kind.CONCLUSION),
}


def quoting_summaries(storage: Storage, ids: Iterable[str]) -> dict[str, Memory]:
    """Return by id the summaries made from the memories `ids`, directly or through summaries.

    A piece of work that a session was cut into counts as a summary of its messages, and so do a
    short-term memory and a statement that was found in a message. A summary names its sources in
    `Memory.sources`, even if they were erased meanwhile, or has a link "derived_from" to them, or
    both. A short-term memory that was stored before a message was logged names no source, and is
    known by its text. A topic summary that was written anew quotes the sources of its earlier
    revisions too. All summaries of the storage are read.
    """
    quoting: dict[str, Memory] = {}
    seen = level = frozenset(ids)
    summaries = {summary.id: summary for summary in _read_summaries(storage)} if level else {}
    summaries |= {memory.id: memory for memory in _read_statements(storage, level)}
    sources = {name: _list_sources(storage, summary) for name, summary in summaries.items()}
    lines = _read_lines(storage, level) if any(map(_is_stretch, summaries.values())) else {}
    while level and summaries:
        linked = {
            link.source
            for link in storage.links(level)
            if link.type is LinkType.DERIVED_FROM and link.target in level
        }
        found = {
            summary_id: summary
            for summary_id, summary in summaries.items()
            if summary_id not in seen
            and (
                summary_id in linked
                or not level.isdisjoint(sources[summary_id])
                or _has_line(summary, lines)
            )
        }
        lines = {}
        quoting |= found
        level = frozenset(found)
        seen |= level
    return quoting


def _list_sources(storage: Storage, summary: Memory) -> frozenset[str]:
    """Return the sources of a summary, and of the revisions of a topic summary in its history."""
    if not summary.is_dreamed or summary.revision == 1:
        return frozenset(summary.sources)
    try:
        revisions = storage.history(summary.id)
    except StoreDamaged:
        revisions = []
    return frozenset(summary.sources).union(*(revision.sources for revision in revisions))


def _is_derived(memory: Memory) -> bool:
    is_made = memory.kind is Kind.SUMMARY or (memory.origin is Origin.TOOL and bool(memory.sources))
    return is_made or _is_stretch(memory)


def _is_stretch(memory: Memory) -> bool:
    """Return whether a memory holds messages of a conversation, a line for each."""
    return memory.kind is Kind.DISCUSSION and memory.origin is Origin.TOOL


def _read_lines(storage: Storage, ids: Iterable[str]) -> dict[str, list[str]]:
    """Return the lines of the logged messages among `ids`, by the id of their conversation."""
    lines: dict[str, list[str]] = {}
    for memory in _read_sound(storage, list(ids)):
        if memory.kind is Kind.MESSAGE and memory.conversation_id and memory.is_indexed:
            line = f"\n{memory.speaker}: {memory.text}\n"
            lines.setdefault(memory.conversation_id, []).append(line)
    return lines


def _has_line(memory: Memory, lines: Mapping[str, Sequence[str]]) -> bool:
    if not lines or not _is_stretch(memory):
        return False
    text = f"\n{memory.text}\n"
    return any(line in text for line in lines.get(memory.conversation_id or "", ()))


def _read_sound(storage: Storage, ids: Sequence[str]) -> Iterator[Memory]:
    """Yield the memories of `ids` that are not damaged."""
    try:
        yield from [record.memory for record in storage.get(ids, models=()).values()]
    except StoreDamaged:
        if len(ids) > 1:
            for memory_id in ids:
                yield from _read_sound(storage, [memory_id])


def _read_summaries(storage: Storage) -> Iterator[Memory]:
    return filter(_is_derived, _read_all(storage, Criteria(kinds=_KINDS)))


def _read_statements(storage: Storage, ids: Iterable[str]) -> Iterator[Memory]:
    """Yield the statements that were found in the sessions of the messages among `ids`."""
    sessions = {
        m.conversation_id for m in _read_sound(storage, list(ids)) if m.kind is Kind.MESSAGE
    }
    for session in sorted(filter(None, sessions)):
        facts = Criteria(kinds=frozenset({Kind.FACT}), conversation_id=session)
        yield from (fact for fact in _read_all(storage, facts) if INFERRED in fact.context)


def _read_all(storage: Storage, criteria: Criteria) -> Iterator[Memory]:
    after: str | None = None
    while True:
        page = storage.find(criteria, limit=_PAGE, after=after)
        yield from filter(criteria.admit, page.memories)
        after = page.next
        if after is None:
            return
