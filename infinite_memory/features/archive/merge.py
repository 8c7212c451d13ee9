"""Merge: add the content of an archive to a store, as changes that can be undone.

And what a merge, or another restore, would do.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import partial

from attrs import evolve, frozen

from infinite_memory.core.clock import current_deadline
from infinite_memory.core.errors import OutOfTime
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.access.key import AccessKey
from infinite_memory.core.values.archive.backup import Backup, BackupStep, Restored, RestoreMode
from infinite_memory.core.values.commit import Commit, Expect, Put
from infinite_memory.core.values.entry import Operation
from infinite_memory.core.values.link import Link
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.record import Embedding, Usage
from infinite_memory.core.values.scope import Scope, ScopeTable, find_spelling
from infinite_memory.engine.access_keys import add_keys
from infinite_memory.engine.services import Services
from infinite_memory.features.archive.adding import (
    Plan,
    commit_planned,
    describe_state,
    find_erased_for_good,
    is_commit_full,
    plan_links,
    plan_revisions,
    put_all,
)
from infinite_memory.features.archive.one_scope import pick_scope
from infinite_memory.features.archive.restore import RestoreRequest, is_empty, refuse_filled
from infinite_memory.features.archive.transfer.decoding import Decoder
from infinite_memory.features.archive.transfer.export import report_step
from infinite_memory.features.archive.transfer.feed_batches import FeedBatches
from infinite_memory.features.archive.transfer.records import MemoryUsage, Record

_BATCH_RECORDS = 2048


def merge_archive(services: Services, request: RestoreRequest) -> Restored:
    """Merge the archive into the store; see `RestoreMode.MERGE`.

    Up to 20,000 memories and links, and 64 MiB, are one commit with one entry of the journal; only
    the usage is counted after it. After an interruption the same call goes on, since what is there
    already is left as it is. The journal of the archive is not merged, and what was erased here
    stays erased. With the keys of the archive, those that are missing are added, each with an entry
    of the journal; a key that is here stays as it is, revoked or not.

    Raises:
        ArchiveError: the archive cannot be used; nothing was changed.
        StorageError: the store cannot be read or written; earlier batches stay.
    """
    checked = request.verify()
    merge = _Merge(services, reason=request.reason)
    _read_archive(request, checked, merge, BackupStep.WRITING)
    if request.with_keys:
        added, refused = add_keys(services, merge.access_keys, reason=merge.reason)
        keys = {"access_keys": added, "access_keys_left_out": len(refused)}
    else:
        keys, refused = {}, ()
    return request.describe(
        checked,
        left_out=(*checked.left_out, *refused),
        **merge.counts,
        **keys,
    )


def preview_restore(services: Services, request: RestoreRequest) -> Restored:
    """Return what the restore of the archive would do, and change nothing.

    Raises:
        ArchiveError: the archive cannot be used.
        Conflict: the store is not empty and the mode does not allow it.
        StorageError: the store cannot be read.
    """
    checked, storage = request.verify(), services.storage
    preview = _Preview(services, replaces=request.mode is not RestoreMode.MERGE)
    if preview.replaces and not is_empty(storage):
        refuse_filled(storage, request.mode)
        for changes in FeedBatches(storage, models=()):
            present = [change.record for change in changes.items if change.record is not None]
            preview.removed.update(record.memory.scope for record in present)
    _read_archive(request, checked, preview, BackupStep.COMPARING)
    for scope, number in (+preview.removed).items():
        preview.scopes[scope]["removed"] = number
    keys = {key.id for key in preview.access_keys} if request.with_keys else set()
    known = set() if preview.replaces else storage.access_keys(keys).keys()
    return request.describe(
        checked,
        dry_run=True,
        left_out=checked.left_out,
        access_keys=len(keys - known),
        scopes={scope: dict(counts) for scope, counts in sorted(preview.scopes.items())},
        **sum(preview.scopes.values(), Counter[str]()),
    )


def _read_archive(
    request: RestoreRequest, checked: Backup, merge: _Merge, step: BackupStep
) -> None:
    """Give `merge` every record of an archive that was checked."""
    total = (checked.counts or {}).get("memories", 0)
    progress = report_step(request.progress, step, total)
    with request.open() as reader:
        decoder = Decoder(str(request.archive))
        decoded = (
            (decoder.decode(record_type, content), len(content))
            for record_type, content in reader.records()
        )
        picked = decoded if request.scope is None else pick_scope(decoded, request.scope)
        for record, size in picked:
            merge.add(record, size)
            if progress is not None and not decoder.memories % _BATCH_RECORDS:
                progress(decoder.memories)
        merge.flush()


@frozen
class _Incoming:
    """A memory of the archive: its revisions, oldest first, and the vectors of the last."""

    revisions: list[Memory]
    embeddings: list[Embedding]


class _Merge:
    """Collects the records of an archive, and commits them in batches."""

    def __init__(self, services: Services, *, reason: str) -> None:
        self._services = services
        self._storage = services.storage
        self.reason = reason
        self.access_keys: list[AccessKey] = []
        self._scopes: dict[str, Scope] = {}  # all of the archive: they come before its memories
        self._memories: list[_Incoming] = []
        self._size_bytes = 0
        self._links: list[Link] = []
        self._usage: dict[str, Usage] = {}
        self.counts: Counter[str] = Counter()

    def add(self, record: Record, size_bytes: int) -> None:
        """Add a record, in the order of the archive."""
        match record:
            case Scope():
                self._scopes[record.name] = record
            case Memory():
                self._add_revision(record, size_bytes)
            case Embedding():
                self._memories[-1].embeddings.append(record)
                self._size_bytes += size_bytes
            case Link():
                self._links.append(record)
                if is_commit_full(len(self._links)):
                    self._flush_changes()
            case MemoryUsage():
                self._usage[record.id] = record.usage
                if is_commit_full(len(self._usage)):
                    self.flush()
            case AccessKey():
                self.access_keys.append(record)

    def flush(self) -> None:
        """Commit the rest."""
        self._flush_changes()
        self._flush_usage()

    def _add_revision(self, memory: Memory, size_bytes: int) -> None:
        last = self._memories[-1] if self._memories else None
        if last is not None and last.revisions[-1].id == memory.id:
            last.revisions.append(memory)
            last.embeddings.clear()
        else:
            if is_commit_full(len(self._memories), self._size_bytes):
                self._flush_changes()
            self._memories.append(_Incoming([memory], []))
        self._size_bytes += size_bytes

    def _flush_changes(self) -> None:
        """Commit the memories, links and missing scopes, planned anew after a conflict.

        Raises:
            OutOfTime: the call is over; what was committed before stays.
        """
        added, changed = self.counts["added"], self.counts["changed"]
        if (added or changed) and current_deadline().is_over:
            raise OutOfTime(
                f"the call took too long and was ended; {added:,} memories were added and"
                f" {changed:,} changed, which stay: merge the same archive again to go on, or"
                " with `infinite-memory restore FILE --merge`, which takes as long as it needs"
            )
        plan = partial(_plan_batch, self._storage, self._memories, self._scopes, self._links)
        planned = commit_planned(self._services, plan, Operation.MERGE, reason=self.reason)
        self.counts.update(planned.counts)
        self._memories, self._size_bytes, self._links = [], 0, []

    def _flush_usage(self) -> None:
        """Count at least as much as the archive: two copies of a store share their past."""
        used, self._usage = self._usage, {}
        present = self._storage.usage(list(used))
        nothing = Usage(count=0)
        lacking = {
            memory_id: _subtract_usage(usage, present.get(memory_id, nothing))
            for memory_id, usage in used.items()
        }
        self._storage.count_usage(
            {
                memory_id: usage
                for memory_id, usage in lacking.items()
                if present.get(memory_id, nothing).plus(usage) != present.get(memory_id, nothing)
            }
        )


class _Preview(_Merge):
    """Counts by scope what a restore would do, in `removed` what the archive lacks.

    It `replaces` the content of the store, or merges.
    """

    def __init__(self, services: Services, *, replaces: bool) -> None:
        super().__init__(services, reason="")
        self.replaces = replaces
        self.scopes: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.removed: Counter[str] = Counter()

    def _flush_changes(self) -> None:
        ids = [incoming.revisions[-1].id for incoming in self._memories]
        records = self._storage.get(ids, models=())
        erased = set() if self.replaces else find_erased_for_good(self._storage, ids)
        present = ScopeTable(self._storage.scopes())
        spelling = {name: find_spelling(name, present) or name for name in self._scopes}
        for incoming in self._memories:
            theirs = [evolve(m, scope=spelling.get(m.scope, m.scope)) for m in incoming.revisions]
            memory, record = theirs[-1], records.get(theirs[-1].id)
            if record is not None and self.replaces:
                self.removed[record.memory.scope] -= 1
                is_changed = describe_state(record.memory) != describe_state(memory)
            else:
                is_changed = record is None or bool(
                    plan_revisions(self._storage, record, theirs, ())
                )
            outcome = "added" if record is None else "changed" if is_changed else "unchanged"
            self.scopes[memory.scope]["still_erased" if memory.id in erased else outcome] += 1
        self._memories, self._size_bytes, self._links = [], 0, []

    def _flush_usage(self) -> None:
        self._usage = {}


def _subtract_usage(usage: Usage, known: Usage) -> Usage:
    """Return what to add to `known`, to have at least the numbers and the moments of `usage`."""
    return evolve(
        usage,
        count=max(0, usage.count - known.count),
        activation=max(0.0, usage.activation - known.activation),
    )


def _plan_batch(
    storage: Storage,
    memories: Sequence[_Incoming],
    scopes: Mapping[str, Scope],
    links: Sequence[Link],
) -> Plan:
    """Return the plan that merges `memories`, `links` and the missing ones of `scopes`."""
    ids = [incoming.revisions[-1].id for incoming in memories]
    records, erased = storage.get(ids), find_erased_for_good(storage, ids)
    present = storage.scopes()
    missing = {n: s for n, s in scopes.items() if find_spelling(n, present) is None}
    together = ScopeTable({**present, **missing})
    spelling = {name: find_spelling(name, together) or name for name in scopes}
    counts: Counter[str] = Counter()
    puts: list[Put] = []
    for incoming in memories:
        memory_id = incoming.revisions[-1].id
        if memory_id in erased:
            counts["still_erased"] += 1
            continue
        revisions = [evolve(m, scope=spelling.get(m.scope, m.scope)) for m in incoming.revisions]
        record = records.get(memory_id)
        embeddings = tuple(incoming.embeddings)
        planned = (
            list(put_all(revisions, 0, embeddings))
            if record is None
            else plan_revisions(storage, record, revisions, embeddings)
        )
        counts["added" if record is None else "changed" if planned else "unchanged"] += 1
        puts += planned
    new_scopes = [
        evolve(scope, parent=spelling.get(scope.parent or "", scope.parent))
        for scope in missing.values()
    ]
    planned_links = plan_links(storage, links, puts)
    commit = Commit(
        expect=Expect(scopes=dict.fromkeys(missing)),
        puts=puts,
        links=planned_links.new,
        scopes=tuple(new_scopes),
    )
    return Plan(commit=commit, present_links=planned_links.present, counts=counts)
