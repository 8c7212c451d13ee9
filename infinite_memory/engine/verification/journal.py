"""Verify the whole journal, and compare it with the memories of any backend."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import define, field

from infinite_memory.core.errors import StoreDamaged
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.entry import Entry, JournalEnd, Operation, entry_digest
from infinite_memory.core.values.verification import Finding, RecordKind
from infinite_memory.engine.change_feed import every_change
from infinite_memory.storage.hash_chain import EntryDamaged

_BATCH = 1000
_ATTEMPTS = 3
_RESTORE = (
    "the store was changed without this package, or the disk lost data: keep a copy of the whole "
    "store, then restore a backup"
)


def check_journal(storage: Storage) -> tuple[int, list[Finding]]:
    """Return the number of entries read, and the findings about entries and memories.

    A memory must have the revision that the newest entry naming it recorded; entries older than a
    lost entry do not count. If the journal is complete and the store was empty before its first
    entry, every memory must be named. Other processes may write meanwhile.
    """
    try:
        walk = _Walk(storage=storage, end=storage.journal_end())
        findings = [_make_finding(sentence) for sentence in dict.fromkeys(walk.problems())]
    except StoreDamaged as error:
        return 0, [_make_finding(str(error))]
    every = walk.seen > 0 and not findings and not walk.begun
    for memory_id in _list_suspects(storage, walk.left, every=every):
        findings += _check_memory(storage, memory_id)
    return walk.seen, findings


def _make_finding(sentence: str, memory_id: str | None = None) -> Finding:
    return Finding(part=RecordKind.JOURNAL, id=memory_id, what=sentence, way_out=_RESTORE)


@define(kw_only=True)
class _Walk:
    """A walk from the newest entry to the first; `left` maps memories to their last revisions.

    `begun` is true if the store held memories before it had a journal.
    """

    storage: Storage
    end: JournalEnd
    seen: int = 0
    begun: bool = False
    left: dict[str, int] = field(factory=dict)
    _lost: bool = field(default=False, init=False)

    def problems(self) -> Iterator[str]:
        """Yield a sentence for every entry that is damaged, missing or foreign.

        Raises:
            StoreDamaged: the journal cannot be read.
        """
        yield from self._find_foreign(None)
        for sentence in self._find_breaks():
            self._lost = True
            yield sentence
        yield from self._find_foreign(1)

    def _find_foreign(self, before: int | None) -> Iterator[str]:
        """Yield a sentence for every entry with a number outside of the journal, below `before`."""
        while True:
            try:
                entries = self.storage.journal(before=before, limit=1)
                number = entries[0].number if entries else None
            except EntryDamaged as error:
                number = error.number
            # Read after the entry: an entry added meanwhile then has a number within the journal.
            last = self.storage.journal_end().number
            if number is None or 1 <= number <= last or (before is not None and number >= before):
                return
            yield f"entry {number} does not belong to the journal, which ends with entry {last}"
            before = number

    def _find_breaks(self) -> Iterator[str]:
        """Yield a sentence for every gap, damaged entry and broken link of the chain of digests."""
        later: Entry | None = None
        expected = self.end.number
        for entry in self._read_entries():
            if entry.number < expected:
                yield _describe_gap(entry.number + 1, expected)
                later = None
            expected = entry.number - 1
            if isinstance(entry, EntryDamaged):
                yield f"entry {entry.number} of the journal {entry.problem}"
                later = None
                continue
            if entry.number == self.end.number and entry.digest != self.end.digest:
                yield f"entry {entry.number} is not the entry that the journal ends with"
            if later is not None and not _continues_chain(later, entry.digest):
                yield f"entry {later.number} of the journal does not continue entry {entry.number}"
            self._note_entry(entry)
            later = entry
        if expected > 0:
            yield _describe_gap(1, expected)
        elif later is not None and not _continues_chain(later, JournalEnd().digest):
            yield f"entry {later.number} does not begin the journal"

    def _read_entries(self) -> Iterator[Entry | EntryDamaged]:
        """Yield every entry, newest first; read entries singly near damaged entries."""
        before, narrow = self.end.number + 1, False
        while before > 1:
            try:
                page = self.storage.journal(before=before, limit=1 if narrow else _BATCH)
            except EntryDamaged as error:
                if narrow and error.number < 1:
                    return
                if narrow:
                    yield error
                    before = error.number
                narrow = not narrow
                continue
            yield from page
            if not page:
                return
            before = page[-1].number

    def _note_entry(self, entry: Entry) -> None:
        self.seen += 1
        self.begun = self.begun or entry.action.operation is Operation.BEGIN
        if not self._lost:
            for step in reversed(entry.action.memories):
                self.left.setdefault(step.id, step.after)


def _describe_gap(first: int, last: int) -> str:
    if first == last:
        return f"entry {first} of the journal is missing"
    return f"entries {first} to {last} of the journal are missing"


def _continues_chain(entry: Entry, previous: bytes) -> bool:
    return entry_digest(previous, entry.number, entry.action.to_text()) == entry.digest


def _list_suspects(storage: Storage, left: dict[str, int], *, every: bool) -> list[str]:
    """Return the ids of memories whose revision is not in `left`, with `every` unnamed ids too."""
    if not left and not every:
        return []
    waiting = dict(left)
    suspects = []
    for change in every_change(storage, 0, ()):
        revision = 0 if change.record is None else change.record.memory.revision
        expected = waiting.pop(change.id, None)
        if revision != expected if change.id in left else every and revision:
            suspects.append(change.id)
    suspects += [memory_id for memory_id, revision in waiting.items() if revision]
    return suspects


def _check_memory(storage: Storage, memory_id: str) -> Iterator[Finding]:
    """Read a memory again, and yield a finding if its revision is not the recorded revision.

    Damaged memories are reported elsewhere.
    """
    for _ in range(_ATTEMPTS):
        try:
            revision = _read_revision(storage, memory_id)
            entries = storage.journal(limit=1, memory_id=memory_id)
            if revision != _read_revision(storage, memory_id):
                continue
        except StoreDamaged:
            return
        steps = entries[0].action.memories if entries else ()
        left = next((step.after for step in reversed(steps) if step.id == memory_id), None)
        if revision != left and not (left is None and not revision):
            yield _make_finding(_describe_difference(memory_id, revision, left), memory_id)
        return


def _read_revision(storage: Storage, memory_id: str) -> int:
    record = storage.get([memory_id], models=()).get(memory_id)
    return 0 if record is None else record.memory.revision


def _describe_difference(memory_id: str, revision: int, left: int | None) -> str:
    state = f"is at revision {revision}" if revision else "does not exist"
    if left is None:
        return f"memory {memory_id!r} {state}, but no entry of the journal names it"
    recorded = f"left it at revision {left}" if left else "erased it"
    return f"memory {memory_id!r} {state}, but the journal {recorded}"
