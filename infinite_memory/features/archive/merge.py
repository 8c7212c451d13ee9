"""Merge: add the content of an archive to a store, as changes that can be undone.

It says beforehand what a restore would do, too.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
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
    merge = _Merge(services, reason=f"merged {request.archive.name}", plan=_plan_batch)
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

    A merge is planned as it would be made. What takes the place of the store is compared with it,
    memory by memory; `removed` are then those that the archive does not have.

    Raises:
        ArchiveError: the archive cannot be used.
        Conflict: the store is not empty and the mode does not allow it.
        StorageError: the store cannot be read.
    """
    checked = request.verify()
    is_merge = request.mode is RestoreMode.MERGE
    if not is_merge and not is_empty(services.storage):
        refuse_filled(services.storage, request.mode)
    plan = _plan_batch if is_merge else _compare_batch
    merge = _Merge(services, reason="", plan=plan, is_dry=True)
    if not is_merge:
        for changes in FeedBatches(services.storage, models=()):
            for change in changes.items:
                if change.record is not None:
                    merge.count(change.record.memory.scope, removed=1)
    _read_archive(request, checked, merge, BackupStep.COMPARING)
    keys = {key.id for key in merge.access_keys}
    if is_merge:
        keys -= services.storage.access_keys(keys).keys()
    scopes = {scope: +counts for scope, counts in sorted(merge.scopes.items())}
    return request.describe(
        checked,
        dry_run=True,
        left_out=checked.left_out,
        access_keys=len(keys) if request.with_keys else 0,
        scopes={scope: dict(counts) for scope, counts in scopes.items() if counts},
        removed=sum(counts["removed"] for counts in scopes.values()),
        **merge.counts,
    )


def _read_archive(
    request: RestoreRequest, checked: Backup, merge: _Merge, step: BackupStep
) -> None:
    """Give `merge` every record of an archive that was checked."""
    total = (checked.counts or {}).get("memories", 0)
    progress = report_step(request.progress, step, total)
    with request.open() as reader:
        decoder = Decoder(str(request.archive))
        for record_type, content in reader.records():
            merge.add(decoder.decode(record_type, content), len(content))
            if progress is not None and not decoder.memories % _BATCH_RECORDS:
                progress(decoder.memories)
        merge.flush()


@frozen
class _Incoming:
    """A memory of the archive: its revisions, oldest first, and the vectors of the last."""

    revisions: list[Memory]
    embeddings: list[Embedding]


class _Merge:
    """Collects the records of an archive, and commits them in batches, as `plan` plans them.

    A dry one counts them alone; `scopes` has the numbers by scope.
    """

    def __init__(
        self,
        services: Services,
        *,
        reason: str,
        plan: Callable[..., Plan],
        is_dry: bool = False,
    ) -> None:
        self._plan = plan
        self._is_dry = is_dry
        self.scopes: dict[str, Counter[str]] = {}
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

    def count(self, scope: str, **numbers: int) -> None:
        """Add to the numbers of a scope."""
        self.scopes.setdefault(scope, Counter()).update(numbers)

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
        if not self._is_dry and (added or changed) and current_deadline().is_over:
            raise OutOfTime(
                f"the call took too long and was ended; {added:,} memories were added and"
                f" {changed:,} changed, which stay: merge the same archive again to go on, or"
                " with `infinite-memory restore FILE --merge`, which takes as long as it needs"
            )
        plan = partial(self._plan, self._storage, self._memories, self._scopes, self._links)
        if self._is_dry:
            planned = plan()
        else:
            planned = commit_planned(self._services, plan, Operation.MERGE, reason=self.reason)
        self.counts.update(planned.counts)
        for scope, numbers in planned.scopes.items():
            self.count(scope, **numbers)
        self._memories, self._size_bytes, self._links = [], 0, []

    def _flush_usage(self) -> None:
        """Count at least as much as the archive: two copies of a store share their past."""
        used, self._usage = self._usage, {}
        if self._is_dry:
            return
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
    by_scope: defaultdict[str, Counter[str]] = defaultdict(Counter)
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
        outcome = "added" if record is None else "changed" if planned else "unchanged"
        counts[outcome] += 1
        by_scope[revisions[-1].scope][outcome] += 1
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
    return Plan(commit=commit, present_links=planned_links.present, counts=counts, scopes=by_scope)


def _compare_batch(storage: Storage, memories: Sequence[_Incoming], *_others: object) -> Plan:
    """Return what becomes of `memories` when they take the place of all that is in the store."""
    counts: Counter[str] = Counter()
    by_scope: defaultdict[str, Counter[str]] = defaultdict(Counter)
    records = storage.get([incoming.revisions[-1].id for incoming in memories], models=())
    for incoming in memories:
        memory = incoming.revisions[-1]
        record = records.get(memory.id)
        outcome = "added"
        if record is not None:
            is_same = describe_state(record.memory) == describe_state(memory)
            outcome = "unchanged" if is_same else "changed"
            # It was counted as one that would go.
            by_scope[record.memory.scope]["removed"] -= 1
        counts[outcome] += 1
        by_scope[memory.scope][outcome] += 1
    return Plan(commit=Commit(), present_links=(), counts=counts, scopes=by_scope)
