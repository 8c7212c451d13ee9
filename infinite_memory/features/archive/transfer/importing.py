"""Import: a stream of records into a storage that holds nothing yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from attrs import evolve

from infinite_memory.core.errors import ArchiveDamaged, Conflict, InvalidInput
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.access.key import AccessKey
from infinite_memory.core.values.codec import from_micros
from infinite_memory.core.values.commit import Commit, Erase, Expect, Put
from infinite_memory.core.values.entry import Entry
from infinite_memory.core.values.link import Link
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.record import Embedding
from infinite_memory.core.values.scope import Scope
from infinite_memory.core.values.verification import Finding, RecordKind
from infinite_memory.features.archive.container.layout import Part
from infinite_memory.features.archive.container.manifest import Head
from infinite_memory.features.archive.container.totals import PartTotal
from infinite_memory.features.archive.transfer.comparison import compare_parts
from infinite_memory.features.archive.transfer.decoding import Decoder
from infinite_memory.features.archive.transfer.export import Encoded, Progress
from infinite_memory.features.archive.transfer.records import ErasedId, MemoryUsage

_COMMIT_WRITES = 2048
_COMMIT_BYTES = 8 << 20
_RECORD_BYTES = 1000
_STAGES: Mapping[type, int] = {
    Head: 0,
    Scope: 1,
    Memory: 2,
    Embedding: 2,
    ErasedId: 2,
    Link: 3,
    MemoryUsage: 3,
    Entry: 4,
    AccessKey: 5,
}


class Import:
    """Writes the records of one archive, in their order, into an empty storage.

    Its access keys are read, and written only `with_keys`.
    `memories` counts the memories that were stored. `left_out` names the memories that the storage
    refused; their links and their usage are left out with them.
    """

    def __init__(
        self,
        target: Storage,
        name: str,
        *,
        with_keys: bool = False,
        progress: Progress | None = None,
    ) -> None:
        """Import into `target`; errors name the archive as `name`."""
        self._target = target
        self._name = name
        self._with_keys = with_keys
        self._decoder = Decoder(name)
        self._puts = _PutBatch(target, progress)
        self._batches = {
            Scope: _Batch(lambda scopes: target.commit(Commit(scopes=scopes))),
            ErasedId: _Batch(lambda marks: erase_ids(target, [mark.id for mark in marks])),
            Link: _Batch(lambda links: target.commit(Commit(links=links))),
            MemoryUsage: _Batch(lambda used: target.count_usage({u.id: u.usage for u in used})),
            Entry: _Batch(lambda entries: target.commit(_make_entries_commit(entries))),
            AccessKey: _Batch(lambda keys: target.commit(Commit(access_keys=keys))),
        }

    @property
    def memories(self) -> int:
        """The number of memories that were stored."""
        return self._puts.memories

    @property
    def left_out(self) -> tuple[Finding, ...]:
        """The memories that the storage refused."""
        return tuple(self._puts.refused.values())

    def compare(
        self, parts: Mapping[str, PartTotal], progress: Progress | None = None
    ) -> tuple[Finding, ...]:
        """Return how the storage differs from the `parts` of the archive that was written into it.

        Where a memory was left out, the two are not compared.
        """
        if self.left_out:
            return ()
        if not self._with_keys:
            parts = {name: total for name, total in parts.items() if name != Part.ACCESS_KEYS}
        return compare_parts(parts, self._target, progress)

    def run(self, records: Iterable[Encoded]) -> None:
        """Import all records.

        Raises:
            ArchiveDamaged: a record cannot be used, or contradicts another.
            StorageError: the storage cannot be written.
        """
        try:
            stage = 0
            for record_type, content in records:
                record = self._decoder.decode(record_type, content)
                if _STAGES[type(record)] > stage:
                    self._flush_batches()
                    stage = _STAGES[type(record)]
                self._add_record(record, len(content))
            self._flush_batches()
        except (Conflict, InvalidInput) as error:
            raise ArchiveDamaged(
                f"{self._name} contradicts itself, as if it held a record twice ({error}): use"
                " another backup"
            ) from error
        head = self._decoder.head
        if head is not None and head.embeddings and head.active_model is not None:
            self._target.commit(Commit(active_model=head.active_model))

    def _add_record(self, record: Any, size_bytes: int) -> None:
        match record:
            case Memory():
                self._puts.add_revision(record, size_bytes)
            case Embedding():
                self._puts.add_embedding(record, size_bytes)
            case Head():
                pass
            case AccessKey() if not self._with_keys:
                pass
            case _:
                self._batches[type(record)].add(record, size_bytes)

    def _flush_batches(self) -> None:
        self._puts.flush()
        for batch in self._batches.values():
            batch.flush()


class _Batch:
    """Records of one kind, which `write` writes together."""

    def __init__(self, write: Callable[[list[Any]], object]) -> None:
        self._write = write
        self._records: list[Any] = []
        self._size_bytes = 0

    def add(self, record: Any, size_bytes: int) -> None:
        self._records.append(record)
        self._size_bytes += size_bytes
        if len(self._records) >= _COMMIT_WRITES or self._size_bytes >= _COMMIT_BYTES:
            self.flush()

    def flush(self) -> None:
        records, self._records, self._size_bytes = self._records, [], 0
        if records:
            self._write(records)


class _PutBatch:
    """Revisions with their embeddings, written in commits of a bounded size."""

    def __init__(self, target: Storage, progress: Progress | None) -> None:
        self._target = target
        self._progress = progress
        self._puts: list[Put] = []
        self._size_bytes = 0
        self._count = 0
        self.refused: dict[str, Finding] = {}

    @property
    def memories(self) -> int:
        return self._count - len(self.refused)

    def add_revision(self, memory: Memory, size_bytes: int) -> None:
        last = self._puts[-1].memory if self._puts else None
        continues = last is not None and last.id == memory.id
        if not continues:
            self._count += 1
        if len(self._puts) >= _COMMIT_WRITES or self._size_bytes >= _COMMIT_BYTES:
            self.flush()
        expected = last.revision if continues and last is not None else 0
        self._puts.append(Put(memory=memory, expected=expected))
        self._size_bytes += size_bytes + _RECORD_BYTES

    def add_embedding(self, embedding: Embedding, size_bytes: int) -> None:
        # A flush always comes before the revision that the embedding belongs to.
        last = self._puts[-1]
        self._puts[-1] = evolve(last, embeddings=(*last.embeddings, embedding))
        self._size_bytes += size_bytes

    def flush(self) -> None:
        puts, self._puts, self._size_bytes = self._puts, [], 0
        self._write(puts)
        if puts and self._progress is not None:
            self._progress(self.memories)

    def _write(self, puts: Sequence[Put]) -> None:
        """Commit `puts`, except for memories that the storage refuses."""
        puts = [put for put in puts if put.memory.id not in self.refused]
        if not puts:
            return
        try:
            self._target.commit(Commit(puts=puts))
        except InvalidInput as error:
            if len(puts) == 1:
                self._refuse_put(puts[0], error)
                return
            half = len(puts) // 2
            self._write(puts[:half])
            self._write(puts[half:])

    def _refuse_put(self, put: Put, error: InvalidInput) -> None:
        memory_id = put.memory.id
        if put.expected:
            # An earlier revision must not pass for the current one.
            self._target.commit(Commit(erases=(Erase(id=memory_id),)))
        self.refused[memory_id] = Finding(
            part=RecordKind.MEMORY,
            id=memory_id,
            what=f"the target cannot store memory {memory_id!r} and its links: {error}",
            way_out="revise it where it comes from, and repeat this",
        )


def _make_entries_commit(entries: Sequence[Entry]) -> Commit:
    """Return the commit of entries that follow one another; each gets the digest that it had."""
    expect = Expect(entry_number=entries[0].number)
    return Commit(expect=expect, past_entries=[entry.action for entry in entries])


def erase_ids(target: Storage, ids: Sequence[str]) -> None:
    """Make `ids`, which no memory has, erased ids: a memory is stored under each, and erased."""
    epoch = from_micros(0)
    memories = [Memory(id=i, text="-", happened_at=epoch, stored_at=epoch) for i in ids]
    target.commit(Commit(puts=[Put(memory=memory, expected=0) for memory in memories]))
    target.commit(Commit(erases=[Erase(id=memory_id) for memory_id in ids]))
