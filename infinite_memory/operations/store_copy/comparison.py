"""Compare a store with its copy, to the byte."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from infinite_memory.errors import StoreDamaged
from infinite_memory.model.access.key import AccessKey
from infinite_memory.model.codec import to_json
from infinite_memory.model.copying import CopyProgress, CopyStep
from infinite_memory.model.memory import Memory
from infinite_memory.model.record import Change, Changes, Embedding, Record
from infinite_memory.model.verification import Finding, RecordKind
from infinite_memory.protocols import Storage, SupportsDamage

__all__ = ["ChangeBatches", "Comparison", "same_embedding", "same_memory"]

_FIRST_LIMIT = 256
_MOST_LIMIT = 2048
_BATCH_BYTES = 8 << 20
# The number of comparisons of a memory that differs, since the source may be written meanwhile.
_ATTEMPTS = 5
_MOST_NAMED = 20

_COPY_AGAIN = "copy into an empty target; if that does not help, verify both stores"
_RESTORE = "restore the source from a backup, or keep what was copied"


class ChangeBatches:
    """The feed of a storage from a cursor to its end, in batches of some megabytes."""

    def __init__(
        self, storage: Storage, cursor: int, *, models: Collection[str] | None = None
    ) -> None:
        """Read the memories with their embeddings by `models`, or by all models for None."""
        self._storage = storage
        self._cursor = cursor
        self._models = models

    def __iter__(self) -> Iterator[Changes]:
        """Yield the batches; the storage reads a batch when the caller asks for it."""
        limit = _FIRST_LIMIT
        while True:
            changes = self._storage.changes(self._cursor, limit=limit, models=self._models)
            # A batch of damaged memories has no items, but it moves the cursor.
            if changes.cursor <= self._cursor:
                return
            yield changes
            self._cursor = changes.cursor
            size = sum(map(_size_bytes, changes.items)) // max(1, len(changes.items))
            limit = max(1, min(_MOST_LIMIT, 2 * limit, _BATCH_BYTES // max(1, size)))


class Comparison:
    """Compares every record of a source with its copy; `counts` are of equal records, by kind."""

    def __init__(self, source: Storage, target: Storage, progress: CopyProgress | None) -> None:
        self._source = source
        self._target = target
        self._progress = progress
        self._lost_histories: dict[str, Finding] = {}
        self.counts: Counter[str] = Counter()
        self.different: list[Finding] = []

    def run(self, copied_cursor: Callable[[], int], copy_changes: Callable[[], None]) -> None:
        """Compare to the end of the feed of the source.

        `copied_cursor` returns the cursor up to which the target has every change; `copy_changes`
        copies the changes after it. A memory that differs may have been written meanwhile: it is
        copied and compared again.
        """
        total = sum(self._source.measure().memories.values()) if self._progress else 0
        suspects: dict[str, Finding] = {}
        cursor = 0
        for _ in range(_ATTEMPTS):
            for changes in ChangeBatches(self._source, cursor):
                if changes.cursor > copied_cursor():
                    copy_changes()
                suspects.update(self._compare(changes.items))
                cursor = changes.cursor
                if self._progress is not None:
                    done = self.counts["memories"]
                    self._progress(CopyStep.VERIFYING, min(done, total), total)
            suspects = self._compare_again(suspects, copy_changes)
            if self._source.position() == cursor:
                break
        self.different += suspects.values()
        self._compare_totals(cursor)

    def _compare_again(
        self, suspects: dict[str, Finding], copy_changes: Callable[[], None]
    ) -> dict[str, Finding]:
        """Return the suspects that still differ after the newest changes have been copied."""
        for _ in range(_ATTEMPTS):
            if not suspects:
                break
            copy_changes()
            suspects = self._compare(self._read_again(list(suspects)))
        return suspects

    def compare_scopes(self) -> None:
        """Compare the scopes; a storage omits damaged scopes."""
        wanted, existing = self._source.scopes(), self._target.scopes()
        for name in sorted(wanted.keys() | existing.keys()):
            if wanted.get(name) == existing.get(name):
                self.counts["scopes"] += 1
            else:
                self.different.append(
                    Finding(
                        part=RecordKind.SCOPE,
                        id=name,
                        what=f"the scope {name!r} differs between the two stores",
                        way_out="run the copy again",
                    )
                )

    def compare_access_keys(self, wanted: Mapping[str, AccessKey]) -> None:
        """Compare the access keys of the target with those that were copied."""
        existing = self._target.access_keys()
        for key_id in sorted(wanted.keys() | existing.keys()):
            if wanted.get(key_id) == existing.get(key_id):
                self.counts["access_keys"] += 1
            else:
                self.different.append(
                    Finding(
                        part=RecordKind.ACCESS_KEY,
                        id=key_id,
                        what=f"the access key {key_id!r} differs between the two stores",
                        way_out="run the copy again",
                    )
                )

    def left_out(self, refused: Mapping[str, Finding]) -> tuple[Finding, ...]:
        """Return the records that the target `refused`, then the unreadable ones of the source."""
        damage = self._source.damage() if isinstance(self._source, SupportsDamage) else ()
        self.different = [finding for finding in self.different if finding.id not in refused]
        return (*refused.values(), *damage, *self._lost_histories.values())

    def _read_again(self, ids: Sequence[str]) -> list[Change]:
        """Return the memories `ids` as the source holds them now, without unreadable ones."""
        changes = []
        for memory_id in ids:
            try:
                record = self._source.get([memory_id]).get(memory_id)
            except StoreDamaged:
                continue
            changes.append(Change(id=memory_id, record=record))
        return changes

    def _compare(self, items: Sequence[Change]) -> dict[str, Finding]:
        """Return a finding for every change in `items` that the target does not hold equally."""
        copies = self._target.get([change.id for change in items])
        gone = [change.id for change in items if change.record is None]
        erased = self._target.erased(gone) if gone else frozenset()
        findings: dict[str, Finding] = {}
        for change in items:
            difference = self._describe_difference(change, copies.get(change.id), erased)
            if difference is not None:
                findings[change.id] = Finding(
                    part=RecordKind.MEMORY,
                    id=change.id,
                    what=f"memory {change.id!r} {difference}",
                    way_out=_COPY_AGAIN,
                )
            else:
                self._count(change)
        return findings

    def _describe_difference(
        self, change: Change, copy: Record | None, erased: frozenset[str]
    ) -> str | None:
        """Return how a memory differs from its copy, None if the two are equal."""
        if change.record is None:
            equal = copy is None and change.id in erased
            return None if equal else "is erased in the source and not in the target"
        if copy is None:
            return "is not in the target"
        if not same_memory(change.record.memory, copy.memory):
            return "differs in the target"
        original, copied = change.record.embeddings, copy.embeddings
        if len(original) != len(copied) or not all(map(same_embedding, original, copied)):
            return "has other vectors in the target"
        return self._describe_history(change.record.memory)

    def _describe_history(self, memory: Memory) -> str | None:
        """Return how the history of `memory` differs, None if it is equal or unreadable."""
        if memory.revision == 1:
            return None
        try:
            original = self._source.history(memory.id)
        except StoreDamaged as error:
            self._lost_histories[memory.id] = Finding(
                part=RecordKind.REVISION, id=memory.id, what=str(error), way_out=_RESTORE
            )
            return None
        copied = self._target.history(memory.id)
        if len(original) != len(copied) or not all(map(same_memory, original, copied)):
            return "has another history in the target"
        self.counts["revisions"] += len(original) - 1
        return None

    def _count(self, change: Change) -> None:
        if change.record is None:
            self.counts["erased"] += 1
        else:
            self.counts["memories"] += 1
            self.counts["embeddings"] += len(change.record.embeddings)

    def _compare_totals(self, cursor: int) -> None:
        """Compare the numbers of memories, to find memories that only the target holds.

        While the source is being written, the numbers are not comparable and are left alone.
        """
        source_size, target_size = self._source.measure(), self._target.measure()
        if self._source.position() != cursor:
            return
        damage = self._source.damage() if isinstance(self._source, SupportsDamage) else ()
        lost = {
            finding.id
            for finding in damage
            if finding.part is RecordKind.MEMORY and finding.id is not None
        }
        target_count, source_count = map(
            sum, (target_size.memories.values(), source_size.memories.values())
        )
        unknown = self._find_unknown(lost) if target_count + len(lost) > source_count else []
        if unknown:
            self.different.append(
                Finding(
                    part=RecordKind.DATABASE,
                    what=f"the target holds what the source does not: {', '.join(unknown)}",
                    way_out=_COPY_AGAIN,
                )
            )
        elif not lost and not self.different and source_size.memories != target_size.memories:
            self.different.append(
                Finding(
                    part=RecordKind.DATABASE,
                    what="the numbers of memories by scope, kind and status differ",
                    way_out=_COPY_AGAIN,
                )
            )

    def _find_unknown(self, lost: Collection[str]) -> list[str]:
        """Return the ids of the target that the source does not have, the first 20 at most."""
        unknown: list[str] = []
        for changes in ChangeBatches(self._target, 0):
            stored = [
                change.id
                for change in changes.items
                if change.record is not None and change.id not in lost
            ]
            known = self._source.get(stored, models=())
            unknown += [memory_id for memory_id in stored if memory_id not in known]
            if len(unknown) >= _MOST_NAMED:
                break
        return unknown[:_MOST_NAMED]


def same_memory(first: Memory, second: Memory) -> bool:
    """Return whether two memories are equal in every field; in a context, 1 differs from 1.0."""
    return first == second and (not first.context or _json_text(first) == _json_text(second))


def _json_text(memory: Memory) -> str:
    return json.dumps(to_json(memory), ensure_ascii=False)


def same_embedding(first: Embedding, second: Embedding) -> bool:
    """Return whether two embeddings are equal to the byte."""
    return (
        first.model == second.model
        and first.vectors.shape == second.vectors.shape
        and first.spans.tobytes() == second.spans.tobytes()
        and first.vectors.tobytes() == second.vectors.tobytes()
    )


def _size_bytes(change: Change) -> int:
    if change.record is None:
        return 0
    vectors = sum(embedding.vectors.nbytes for embedding in change.record.embeddings)
    return 2 * len(change.record.memory.text) + 1000 + vectors
