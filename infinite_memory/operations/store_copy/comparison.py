"""Comparing: whether one store holds what another one does, to the byte."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from infinite_memory.errors import StoreDamaged
from infinite_memory.model.codec import to_json
from infinite_memory.model.copying import CopyProgress, CopyStep
from infinite_memory.model.findings import Finding, RecordKind
from infinite_memory.model.memory import Memory
from infinite_memory.model.record import Change, Changes, Embedding, Record
from infinite_memory.protocols import Storage, SupportsDamage

__all__ = ["Comparison", "Stretches", "same_embedding", "same_memory"]

_FIRST_LIMIT = 256
_MOST_LIMIT = 2048
_STRETCH_BYTES = 8 << 20
# So often what differs is looked at again where the source is being written.
_LOOKS = 5
_NAMED = 20

_ANEW = "copy anew, into an empty target; if that does not help, verify both stores"
_RESTORE = "restore the source from a backup, or keep what was copied"


class Stretches:
    """The feed of a storage from a cursor on, in stretches of some megabytes, to its end."""

    def __init__(
        self, storage: Storage, cursor: int, *, models: Collection[str] | None = None
    ) -> None:
        """Read with the embeddings by `models`, None for all of them."""
        self._storage = storage
        self._cursor = cursor
        self._models = models

    def __iter__(self) -> Iterator[Changes]:
        """Yield the stretches; each is asked for when the one before has been dealt with."""
        limit = _FIRST_LIMIT
        while True:
            changes = self._storage.changes(self._cursor, limit=limit, models=self._models)
            # A stretch of damaged ones has no items, and yet leads on.
            if changes.cursor <= self._cursor:
                return
            yield changes
            self._cursor = changes.cursor
            size = sum(map(_bytes_of, changes.items)) // max(1, len(changes.items))
            limit = max(1, min(_MOST_LIMIT, 2 * limit, _STRETCH_BYTES // max(1, size)))


class Comparison:
    """Looks at everything in a source and in its copy. `counts` are of what is equal, by part."""

    def __init__(self, source: Storage, target: Storage, progress: CopyProgress | None) -> None:
        self._source = source
        self._target = target
        self._progress = progress
        self._lost_histories: dict[str, Finding] = {}
        self.counts: Counter[str] = Counter()
        self.different: list[Finding] = []

    def run(self, brought: Callable[[], int], bring: Callable[[], None]) -> None:
        """Compare to the end of the feed of the source.

        `brought` returns the cursor up to which the target has everything; `bring` moves it to the
        end. What differs because it was written meanwhile is brought over and looked at again.
        """
        total = sum(self._source.measure().memories.values()) if self._progress else 0
        suspects: dict[str, Finding] = {}
        cursor = 0
        for _ in range(_LOOKS):
            for changes in Stretches(self._source, cursor):
                if changes.cursor > brought():
                    bring()
                suspects.update(self._compare(changes.items))
                cursor = changes.cursor
                if self._progress is not None:
                    done = self.counts["memories"]
                    self._progress(CopyStep.VERIFYING, min(done, total), total)
            suspects = self._looked_at_again(suspects, bring)
            if self._source.position() == cursor:
                break
        self.different += suspects.values()
        self._compare_totals(cursor)

    def _looked_at_again(
        self, suspects: dict[str, Finding], bring: Callable[[], None]
    ) -> dict[str, Finding]:
        """Return those that are still not the same once what is new has been brought over."""
        for _ in range(_LOOKS):
            if not suspects:
                break
            bring()
            suspects = self._compare(self._again(list(suspects)))
        return suspects

    def compare_scopes(self) -> None:
        """Compare the scopes, those that were found damaged left out."""
        wanted, there = self._source.scopes(), self._target.scopes()
        for name in sorted(wanted.keys() | there.keys()):
            if wanted.get(name) == there.get(name):
                self.counts["scopes"] += 1
            else:
                self.different.append(
                    Finding(
                        part=RecordKind.SCOPE,
                        id=name,
                        what=f"the scope {name!r} is not the same in both",
                        way_out="run the copy again",
                    )
                )

    def left_out(self, refused: Mapping[str, Finding]) -> tuple[Finding, ...]:
        """Return what the source could not give, after what the target `refused`."""
        damage = self._source.damage() if isinstance(self._source, SupportsDamage) else ()
        self.different = [each for each in self.different if each.id not in refused]
        return (*refused.values(), *damage, *self._lost_histories.values())

    def _again(self, ids: Sequence[str]) -> list[Change]:
        """Return those memories as they are now."""
        changes = []
        for memory_id in ids:
            try:
                record = self._source.get([memory_id]).get(memory_id)
            except StoreDamaged:
                continue
            changes.append(Change(id=memory_id, record=record))
        return changes

    def _compare(self, items: Sequence[Change]) -> dict[str, Finding]:
        """Return a finding for each of `items` that is not the same in the target."""
        there = self._target.get([change.id for change in items])
        gone = [change.id for change in items if change.record is None]
        erased = self._target.erased(gone) if gone else frozenset()
        found: dict[str, Finding] = {}
        for change in items:
            what = self._difference(change, there.get(change.id), erased)
            if what is not None:
                found[change.id] = Finding(
                    part=RecordKind.MEMORY,
                    id=change.id,
                    what=f"memory {change.id!r} {what}",
                    way_out=_ANEW,
                )
            else:
                self._count(change)
        return found

    def _difference(
        self, change: Change, found: Record | None, erased: frozenset[str]
    ) -> str | None:
        """Return in what a memory differs, None if in nothing."""
        if change.record is None:
            equal = found is None and change.id in erased
            return None if equal else "is erased in the source and not in the target"
        if found is None:
            return "is not in the target"
        if not same_memory(change.record.memory, found.memory):
            return "is another one in the target"
        mine, other = change.record.embeddings, found.embeddings
        if len(mine) != len(other) or not all(map(same_embedding, mine, other)):
            return "has other vectors in the target"
        return self._other_history(change.record.memory)

    def _other_history(self, memory: Memory) -> str | None:
        if memory.revision == 1:
            return None
        try:
            mine = self._source.history(memory.id)
        except StoreDamaged as error:
            self._lost_histories[memory.id] = Finding(
                part=RecordKind.REVISION, id=memory.id, what=str(error), way_out=_RESTORE
            )
            return None
        other = self._target.history(memory.id)
        if len(mine) != len(other) or not all(map(same_memory, mine, other)):
            return "has another history in the target"
        self.counts["revisions"] += len(mine) - 1
        return None

    def _count(self, change: Change) -> None:
        if change.record is None:
            self.counts["erased"] += 1
        else:
            self.counts["memories"] += 1
            self.counts["embeddings"] += len(change.record.embeddings)

    def _compare_totals(self, cursor: int) -> None:
        """Compare the numbers, so that nothing more is in the target than in the source.

        They cannot be while the source is being written: then each memory has been compared alone.
        """
        mine, other = self._source.measure(), self._target.measure()
        if self._source.position() != cursor:
            return
        damage = self._source.damage() if isinstance(self._source, SupportsDamage) else ()
        lost = {
            each.id for each in damage if each.part is RecordKind.MEMORY and each.id is not None
        }
        more = sum(other.memories.values()) + len(lost) > sum(mine.memories.values())
        unknown = self._unknown(lost) if more else []
        if unknown:
            self.different.append(
                Finding(
                    part=RecordKind.DATABASE,
                    what=f"the target holds what the source does not: {', '.join(unknown)}",
                    way_out=_ANEW,
                )
            )
        elif not lost and not self.different and mine.memories != other.memories:
            self.different.append(
                Finding(
                    part=RecordKind.DATABASE,
                    what="the numbers by scope, kind and status are not the same in both",
                    way_out=_ANEW,
                )
            )

    def _unknown(self, lost: Collection[str]) -> list[str]:
        """Return ids of the target that the source does not have, the first of them."""
        unknown: list[str] = []
        for changes in Stretches(self._target, 0):
            stored = [each.id for each in changes.items if each.record is not None]
            stored = [each for each in stored if each not in lost]
            there = self._source.get(stored, models=())
            unknown += [each for each in stored if each not in there]
            if len(unknown) >= _NAMED:
                break
        return unknown[:_NAMED]


def same_memory(one: Memory, other: Memory) -> bool:
    """Tell whether two memories are equal in every field, numbers in a context with their type."""
    return one == other and (not one.context or _text_of(one) == _text_of(other))


def _text_of(memory: Memory) -> str:
    return json.dumps(to_json(memory), ensure_ascii=False)


def same_embedding(one: Embedding, other: Embedding) -> bool:
    """Tell whether two embeddings are equal to the byte."""
    return (
        one.model == other.model
        and one.vectors.shape == other.vectors.shape
        and one.spans.tobytes() == other.spans.tobytes()
        and one.vectors.tobytes() == other.vectors.tobytes()
    )


def _bytes_of(change: Change) -> int:
    if change.record is None:
        return 0
    vectors = sum(each.vectors.nbytes for each in change.record.embeddings)
    return 2 * len(change.record.memory.text) + 1000 + vectors
