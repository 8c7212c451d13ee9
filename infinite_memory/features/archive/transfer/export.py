"""Export: everything that a storage holds, as a stream of records."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TypeAlias, TypeVar

from infinite_memory.core.errors import StoreDamaged
from infinite_memory.core.protocols import Storage, SupportsDamage
from infinite_memory.core.values.entry import Entry
from infinite_memory.core.values.link import Link
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.record import Record
from infinite_memory.core.values.verification import Finding, RecordKind
from infinite_memory.features.archive.container.layout import MAX_RECORD_BYTES, RecordType
from infinite_memory.features.archive.transfer.feed_batches import FeedBatches
from infinite_memory.features.archive.transfer.records import (
    encode_access_key,
    encode_embedding,
    encode_entry,
    encode_erased,
    encode_link,
    encode_revision,
    encode_scope,
    encode_usage,
)

Encoded: TypeAlias = tuple[RecordType, bytes]
"""The type of a record, and its content."""

Progress = Callable[[int], None]
"""Called from time to time with the number of memories that are done."""

_Step = TypeVar("_Step")

_FIRST_ENTRIES = 8
_MOST_ENTRIES = 256
_PAGE_BYTES = 8 << 20
_RESTORE = "it is not in what was exported: restore it from an earlier backup"
_EMBED_AGAIN = "nothing is lost: the text is embedded again after the restore"


def report_step(
    progress: Callable[[_Step, int, int], None] | None, step: _Step, total: int
) -> Progress | None:
    """Return a callback for the number of memories that a step has done, None without one."""
    if progress is None:
        return None
    return lambda done: progress(step, min(done, total), total)


class Export:
    """Reads a storage that nobody writes meanwhile, such as a snapshot.

    The order of the records follows from the content and from the order of the feed, so that a copy
    gives the same records. Once `records` has ended, `left_out` names what could not be read, and
    `memories` is the number of memories.
    """

    def __init__(
        self, storage: Storage, *, embeddings: bool = True, progress: Progress | None = None
    ) -> None:
        self._storage = storage
        self._models: tuple[str, ...] | None = None if embeddings else ()
        self._progress = progress
        self._left_out: list[Finding] = []
        self.memories = 0

    @property
    def left_out(self) -> tuple[Finding, ...]:
        """The records that could not be read."""
        storage = self._storage
        damage = storage.damage() if isinstance(storage, SupportsDamage) else ()
        return (*damage, *self._left_out)

    def records(self) -> Iterator[Encoded]:
        """Yield every record in the order of the parts.

        Raises:
            StorageError: the storage cannot be read.
        """
        scopes = self._storage.scopes()
        for name in sorted(scopes):
            yield RecordType.SCOPE, encode_scope(scopes[name])
        yield from self._export_memories()
        yield from self._export_links_and_usage()
        yield from self._export_journal()
        keys = self._storage.access_keys()
        for key_id in sorted(keys):
            yield RecordType.ACCESS_KEY, encode_access_key(keys[key_id])

    def _export_memories(self) -> Iterator[Encoded]:
        for changes in FeedBatches(self._storage, models=self._models):
            for change in changes.items:
                if change.record is None:
                    yield RecordType.ERASED, encode_erased(change.id)
                else:
                    self.memories += 1
                    yield from self._export_memory(change.record)
            if self._progress is not None:
                self._progress(self.memories)

    def _export_memory(self, record: Record) -> Iterator[Encoded]:
        for memory in self._read_revisions(record.memory):
            yield RecordType.REVISION, encode_revision(memory)
        for embedding in record.embeddings:
            content = encode_embedding(embedding)
            if len(content) <= MAX_RECORD_BYTES:
                yield RecordType.EMBEDDING, content
            else:
                what = f"the embedding of memory {record.memory.id!r} has {len(content):,} bytes"
                self._leave_out(RecordKind.EMBEDDING, record.memory.id, what, _EMBED_AGAIN)

    def _read_revisions(self, memory: Memory) -> Sequence[Memory]:
        """Return the revisions of a memory, oldest first, ending with `memory`."""
        if memory.revision == 1:
            return [memory]
        try:
            earlier = self._storage.history(memory.id)
        except StoreDamaged as error:
            self._leave_out(RecordKind.REVISION, memory.id, str(error), _RESTORE)
            earlier = []
        return [*(past for past in earlier if past.revision < memory.revision), memory]

    def _export_links_and_usage(self) -> Iterator[Encoded]:
        # The feed was read to its end, so every damaged memory is known by now.
        lost = {f.id for f in self.left_out if f.part is RecordKind.MEMORY}
        for changes in FeedBatches(self._storage, models=()):
            ids = [change.id for change in changes.items if change.record is not None]
            by_source = self._find_links_by_source(ids, lost)
            usage = self._storage.usage(ids)
            for memory_id in ids:
                for link in sorted(by_source[memory_id], key=lambda link: link.key):
                    yield RecordType.LINK, encode_link(link)
                if memory_id in usage:
                    yield RecordType.USAGE, encode_usage(memory_id, usage[memory_id])

    def _find_links_by_source(
        self, ids: Sequence[str], lost: Collection[str | None]
    ) -> dict[str, list[Link]]:
        """Return the links from the memories `ids`, without links to or from a `lost` memory."""
        by_source: dict[str, list[Link]] = {memory_id: [] for memory_id in ids}
        # The storage returns a link for both of its ends; it is exported with its source.
        for link in self._storage.links(ids):
            if link.source in lost or link.target in lost:
                what = (
                    f"the link from {link.source!r} to {link.target!r} is left out, since one of"
                    " the two memories is damaged"
                )
                self._leave_out(RecordKind.LINK, None, what, _RESTORE)
            elif link.source in by_source:
                by_source[link.source].append(link)
        return by_source

    def _export_journal(self) -> Iterator[Encoded]:
        last = self._storage.journal_end().number
        upto, limit = 0, _FIRST_ENTRIES
        while upto < last:
            first, upto = upto + 1, min(upto + limit, last)
            entries, damage = self._read_entries(first, upto)
            size = 1
            for entry in entries:
                content = encode_entry(entry)
                size = max(size, len(content))
                yield RecordType.ENTRY, content
            # An entry of a large import has megabytes.
            limit = max(1, min(_MOST_ENTRIES, 2 * limit, _PAGE_BYTES // size))
            if damage is not None:
                number = first + len(entries)
                later = f", nor are the later entries, up to {last}" if last > number else ""
                what = f"entry {number} of the journal is not exported{later}: {damage}"
                self._leave_out(RecordKind.JOURNAL, None, what, _RESTORE)
                return

    def _read_entries(self, first: int, upto: int) -> tuple[Sequence[Entry], str | None]:
        """Return the entries in order, up to the first damaged one, and what is wrong with it."""
        storage = self._storage
        try:
            return storage.journal(before=upto + 1, limit=upto - first + 1)[::-1], None
        except StoreDamaged:
            entries: list[Entry] = []
            for number in range(first, upto + 1):
                try:
                    entries += storage.journal(before=number + 1, limit=1)
                except StoreDamaged as error:
                    return entries, str(error)
            return entries, None

    def _leave_out(self, part: RecordKind, subject: str | None, what: str, way_out: str) -> None:
        self._left_out.append(Finding(part=part, id=subject, what=what, way_out=way_out))
