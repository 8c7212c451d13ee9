"""Merge: add the content of an archive to a store, as changes that can be undone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from attrs import evolve, frozen

from infinite_memory.core.clock import current_deadline
from infinite_memory.core.errors import Conflict, OutOfTime
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.access.key import AccessKey
from infinite_memory.core.values.archive.backup import BackupStep, Restored
from infinite_memory.core.values.commit import Commit, Expect, Put
from infinite_memory.core.values.entry import Operation
from infinite_memory.core.values.link import Link
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.record import Embedding, Usage
from infinite_memory.core.values.record import Record as StoredRecord
from infinite_memory.core.values.scope import Scope, find_spelling
from infinite_memory.engine.access_keys import add_keys
from infinite_memory.engine.journal import with_entry
from infinite_memory.engine.retry import attempts
from infinite_memory.engine.services import Services
from infinite_memory.features.archive.restore import RestoreRequest
from infinite_memory.features.archive.transfer.decoding import Decoder
from infinite_memory.features.archive.transfer.records import MemoryUsage, Record

# As an import: one commit, and thus one entry of the journal, up to these sizes.
_COMMIT_MEMORIES = 20_000
_COMMIT_BYTES = 64 << 20
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
    merge = _Merge(services, reason=f"merged {request.archive.name}")
    total = (checked.counts or {}).get("memories", 0)
    progress = request.steps(BackupStep.WRITING, total)
    with request.open() as reader:
        decoder = Decoder(str(request.archive))
        for record_type, content in reader.records():
            merge.add(decoder.decode(record_type, content), len(content))
            if progress is not None and not decoder.memories % _BATCH_RECORDS:
                progress(decoder.memories)
        merge.flush()
    if request.with_keys:
        added, refused = add_keys(services, merge.access_keys, reason=merge.reason)
        keys = {"access_keys": added, "access_keys_left_out": len(refused)}
    else:
        keys, refused = {}, ()
    return request.describe(
        checked,
        added=merge.added,
        changed=merge.changed,
        unchanged=merge.unchanged,
        still_erased=merge.still_erased,
        left_out=(*checked.left_out, *refused),
        **keys,
    )


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
        self.added = self.changed = self.unchanged = self.still_erased = 0

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
                if len(self._links) >= _COMMIT_MEMORIES:
                    self._flush_changes()
            case MemoryUsage():
                self._usage[record.id] = record.usage
                if len(self._usage) >= _COMMIT_MEMORIES:
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
            full = len(self._memories) >= _COMMIT_MEMORIES or self._size_bytes >= _COMMIT_BYTES
            if full:
                self._flush_changes()
            self._memories.append(_Incoming([memory], []))
        self._size_bytes += size_bytes

    def _flush_changes(self) -> None:
        """Commit the memories, links and missing scopes, planned anew after a conflict.

        Raises:
            OutOfTime: the call is over; what was committed before stays.
        """
        if (self.added or self.changed) and current_deadline().is_over:
            raise OutOfTime(
                f"the call took too long and was ended; {self.added:,} memories were added and"
                f" {self.changed:,} changed, which stay: merge the same archive again to go on, or"
                " with `infinite-memory restore FILE --merge`, which takes as long as it needs"
            )
        for last in attempts():
            plan = _plan_batch(self._storage, self._memories, self._scopes)
            links = _plan_links(self._storage, self._links, plan)
            commit = evolve(plan.commit, links=tuple(links.new))
            try:
                if commit.changes:
                    self._commit_merge(commit, links.present)
            except Conflict:
                if last:
                    raise
            else:
                break
        self.added += plan.added
        self.changed += plan.changed
        self.unchanged += plan.unchanged
        self.still_erased += plan.still_erased
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

    def _commit_merge(self, commit: Commit, links: Sequence[Link] = ()) -> None:
        self._storage.commit(
            with_entry(self._services, Operation.MERGE, commit, links=links, reason=self.reason)
        )


def _subtract_usage(usage: Usage, known: Usage) -> Usage:
    """Return what to add to `known`, to have at least the numbers and the moments of `usage`."""
    return evolve(
        usage,
        count=max(0, usage.count - known.count),
        activation=max(0.0, usage.activation - known.activation),
    )


@frozen(kw_only=True)
class _Plan:
    commit: Commit
    added: int
    changed: int
    unchanged: int
    still_erased: int


def _plan_batch(
    storage: Storage, memories: Sequence[_Incoming], scopes: Mapping[str, Scope]
) -> _Plan:
    """Return the commit that merges `memories` and the missing ones of `scopes`."""
    ids = [incoming.revisions[-1].id for incoming in memories]
    records, erased = storage.get(ids), find_erased_for_good(storage, ids)
    present = storage.scopes()
    missing = {n: s for n, s in scopes.items() if find_spelling(n, present) is None}
    spelling = {name: find_spelling(name, {**present, **missing}) or name for name in scopes}
    counts = {"added": 0, "changed": 0, "unchanged": 0, "still_erased": 0}
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
    commit = Commit(
        expect=Expect(scopes=dict.fromkeys(missing)), puts=puts, scopes=tuple(new_scopes)
    )
    return _Plan(commit=commit, **counts)


def find_erased_for_good(storage: Storage, ids: Sequence[str]) -> set[str]:
    """Return the ids whose memories somebody erased, as the journal says.

    A restore that overwrote a store made its ids count as erased, too: a merge brings them back.
    """
    return {
        memory_id
        for memory_id in storage.erased(ids)
        for entry in storage.journal(limit=1, memory_id=memory_id)
        if any(step.id == memory_id and step.after == 0 for step in entry.action.memories)
    }


@frozen
class _Links:
    """The links to write, and all links that exist between their memories."""

    new: list[Link]
    present: tuple[Link, ...]


def _plan_links(storage: Storage, links: Sequence[Link], plan: _Plan) -> _Links:
    """Return the links that are missing or newer, between memories that are or will be here."""
    ends = {end for link in links for end in (link.source, link.target)}
    here = {*storage.get(ends, models=()), *(put.memory.id for put in plan.commit.puts)}
    present = {link.key: link for link in storage.links(ends)}
    new = [
        link
        for link in links
        if link.source in here
        and link.target in here
        and (link.key not in present or present[link.key].made_at < link.made_at)
    ]
    return _Links(new, tuple(present.values()))


def plan_revisions(
    storage: Storage,
    record: StoredRecord,
    theirs: Sequence[Memory],
    embeddings: tuple[Embedding, ...],
) -> list[Put]:
    """Return the revisions to add to a memory that both have; the newer state comes last."""
    mine = record.memory
    ours = [mine] if mine.revision == 1 else storage.history(mine.id)
    known = {_encode_state(memory) for memory in ours}
    if _encode_state(theirs[-1]) in known:
        return []
    missing = [memory for memory in theirs if _encode_state(memory) not in known]
    descends = any(_encode_state(memory) == _encode_state(mine) for memory in theirs)
    if descends or theirs[-1].stored_at > mine.stored_at:
        return list(put_all(missing, mine.revision, embeddings))
    return list(put_all([*missing, mine], mine.revision, record.embeddings))


def _encode_state(memory: Memory) -> str:
    """Return a memory without the number of its revision, as a key."""
    return repr(evolve(memory, revision=1))


def put_all(
    revisions: Sequence[Memory], expected: int, embeddings: tuple[Embedding, ...]
) -> Iterator[Put]:
    """Yield the puts of `revisions`, whose numbers go on after `expected`."""
    for memory in revisions:
        revision = max(memory.revision, expected + 1)
        is_last = memory is revisions[-1]
        yield Put(
            memory=evolve(memory, revision=revision),
            expected=expected,
            embeddings=embeddings if is_last else (),
        )
        expected = revision
