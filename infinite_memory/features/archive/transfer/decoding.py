"""Decodes a stream of records, and checks that each follows from the records before it."""

from __future__ import annotations

from infinite_memory.core.errors import ArchiveDamaged
from infinite_memory.core.values.entry import Entry, JournalEnd, entry_digest
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.record import Embedding
from infinite_memory.features.archive.container.layout import RecordType
from infinite_memory.features.archive.container.manifest import Head, Manifest
from infinite_memory.features.archive.container.totals import Totals
from infinite_memory.features.archive.transfer.records import Record, decode_record


class Decoder:
    """Decodes the records of one archive, in their order; `name` is the archive in errors.

    `head` is the head of the archive, None before it. `memories` counts the memories so far.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._memory: Memory | None = None
        self._models: set[str] = set()
        self._end = JournalEnd()
        self.head: Head | None = None
        self.memories = 0

    def decode(self, record_type: RecordType, content: bytes) -> Record:
        """Return the value of a record.

        Raises:
            ArchiveDamaged: it is malformed, or does not follow from the records before it.
        """
        try:
            record = decode_record(record_type, content)
            self._check_record(record)
        except ValueError as error:
            raise ArchiveDamaged(
                f"{self._name} has a record that cannot be used: {error}: use another backup;"
                " nothing was changed"
            ) from error
        return record

    def check_manifest(self, manifest: Manifest, totals: Totals) -> None:
        """Check that the manifest describes the records that were decoded.

        Raises:
            ArchiveDamaged: it does not.
        """
        if manifest.head != self.head or manifest.counts != totals.counts(self.memories):
            raise ArchiveDamaged(
                f"{self._name} does not hold what its manifest says: use another backup; nothing"
                " was changed"
            )

    def _check_record(self, record: Record) -> None:
        if isinstance(record, Memory):
            self._check_revision(record)
        elif isinstance(record, Embedding):
            self._check_embedding(record)
        elif isinstance(record, Entry):
            self._check_entry(record)
        elif isinstance(record, Head):
            if self.head is not None:
                raise ValueError("it has two heads")
            self.head = record

    def _check_revision(self, memory: Memory) -> None:
        before = self._memory
        if before is not None and before.id == memory.id and memory.revision <= before.revision:
            raise ValueError(f"the revisions of memory {memory.id!r:.140} are not in order")
        self.memories += before is None or before.id != memory.id
        self._memory = memory
        self._models.clear()

    def _check_embedding(self, embedding: Embedding) -> None:
        if self._memory is None or embedding.model in self._models:
            raise ValueError("an embedding has no memory, or is there twice")
        self._models.add(embedding.model)

    def _check_entry(self, entry: Entry) -> None:
        end = self._end
        digest = entry_digest(end.digest, end.number + 1, entry.action.to_text())
        if (entry.number, entry.digest) != (end.number + 1, digest):
            raise ValueError(f"entry {entry.number} of the journal does not continue the chain")
        self._end = JournalEnd(number=entry.number, digest=entry.digest)
