"""Copy everything that a store holds into an empty store, from any storage to any storage.

The feed of the source lists every change, oldest first. The copy writes a memory revision by
revision, so that its history is equal, and it writes and erases every erased id. A mark in the
target records the progress. If a run ended between a write and its mark, the next run finds in the
target the records that are already written. Links and usage need their memories and come next. The
journal comes last, so that it never names a memory that the target does not hold.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TypeAlias

from infinite_memory.config import Config, load
from infinite_memory.errors import (
    ConfigurationError,
    Conflict,
    InvalidInput,
    StorageUnavailable,
    StoreDamaged,
)
from infinite_memory.model.access.key import AccessKey
from infinite_memory.model.address import find_problem, masked
from infinite_memory.model.codec import from_micros
from infinite_memory.model.commit import Commit, Put, merge_commits
from infinite_memory.model.copying import Copied, CopyMark, CopyProgress, CopyStep
from infinite_memory.model.entry import JournalEnd
from infinite_memory.model.memory import GLOBAL, Memory
from infinite_memory.model.record import Change, Record
from infinite_memory.model.scope import Scope
from infinite_memory.model.verification import Finding, RecordKind
from infinite_memory.operations.store_copy.batches import (
    MemoryCommit,
    attach_embedding,
    batch_commits,
    erase_memory,
    put_revision,
)
from infinite_memory.operations.store_copy.comparison import (
    ChangeBatches,
    Comparison,
    same_embedding,
    same_memory,
)
from infinite_memory.operations.store_copy.journal import JournalCopy
from infinite_memory.operations.store_copy.links import LinkCopy
from infinite_memory.protocols import Storage, SupportsCopyMark
from infinite_memory.storage.open import (
    IN_MEMORY,
    MANAGED,
    is_folder,
    open_existing,
    open_storage,
)

__all__ = ["Place", "copy_store"]

Place: TypeAlias = str | os.PathLike[str] | Storage
"""The address of a store, as `MemoryStore.open` takes it, or a storage that is open."""

_ATTEMPTS = 5


def copy_store(
    source: Place,
    target: Place,
    *,
    config: Config | None = None,
    progress: CopyProgress | None = None,
) -> Copied:
    """Copy everything that the store `source` holds into `target`, and compare the two.

    The copy has every memory with its history, status and vectors by every model, its links and its
    usage, the scopes, the access keys, the journal, and the erased ids. `target` is empty, or an
    unfinished copy of the same source, which this call continues. Writes to the source during the
    copy are copied too. Damaged records of the source are left out, and the result names them.
    `config` says where the managed server is. A storage that the caller passes open stays open.

    Raises:
        ConfigurationError: an address is malformed or not supported.
        InvalidInput: source and target are the same store, or a store ends with the process.
        Conflict: the target holds other memories, or was written since it was copied.
        StorageError: a store cannot be opened, read or written; run the copy again to continue.
    """
    with ExitStack() as owned:
        source_address, target_address = _address(source), _address(target)
        if source_address is not None and source_address == target_address:
            raise InvalidInput(
                f"{masked(source_address)} cannot be copied into itself: name another target"
            )
        config = config or load().config
        source_storage = _open_place(source, config, owned, create=False)
        target_storage = _open_place(target, config, owned, create=True)
        if source_storage.identity == target_storage.identity:
            raise InvalidInput(
                f"source and target are the same store, {source_storage.identity}: "
                "name another target"
            )
        return _StoreCopy(source_storage, target_storage, progress).run()


def _address(place: Place) -> str | None:
    """Return the address of a store, None for a storage that is open."""
    if not isinstance(place, str | os.PathLike):
        return None
    address = os.fspath(place)
    if address in ("", IN_MEMORY):
        raise InvalidInput(
            f"the store {address!r} cannot be copied: give a folder, mongodb://HOST/DATABASE, or "
            f"{MANAGED}"
        )
    if problem := find_problem(address):
        raise ConfigurationError(f"the store {problem}")
    return str(Path(address).expanduser().resolve()) if is_folder(address) else address


def _open_place(place: Place, config: Config, owned: ExitStack, *, create: bool) -> Storage:
    if not isinstance(place, str | os.PathLike):
        return place
    address = _address(place) or ""
    open_address = open_storage if create else open_existing
    storage: Storage | None = open_address(address, home=config.home, mongod=config.mongod)
    if storage is None:
        raise StorageUnavailable(
            f"there is no store at {masked(address)}: check the address; nothing was created"
        )
    return owned.enter_context(closing(storage))


class _StoreCopy:
    def __init__(self, source: Storage, target: Storage, progress: CopyProgress | None) -> None:
        self._source = source
        self._target = target
        self._progress = progress
        self._cursor = 0
        self._copied = 0
        self._erased = False
        self._refused: dict[str, Finding] = {}
        self._links = LinkCopy(source, target)
        self._journal = JournalCopy(source, target)

    def run(self) -> Copied:
        """Copy every record, and compare source and target."""
        resumed = self._begin()
        end = self._source.journal_end()
        self._copy_scopes()
        self._copy_changes()
        comparison = Comparison(self._source, self._target, self._progress)
        comparison.run(lambda: self._cursor, self._copy_changes)
        self._copy_scopes()
        comparison.compare_scopes()
        end = self._copy_links(end)
        self._journal.copy(end.number)
        comparison.compare_access_keys(self._copy_access_keys())
        self._copy_active_model()
        if self._erased:
            self._target.scrub()
        left_out = comparison.left_out(self._refused)
        different = (*comparison.different, *self._links.different, *self._journal.different)
        self._mark(finished=not different)
        entries = {"entries": self._journal.compared}
        return Copied(
            copied=self._copied,
            resumed=resumed,
            compared=+(comparison.counts + self._links.counts + Counter(entries)),
            left_out=(*left_out, *self._links.left_out, *self._journal.left_out),
            different=different,
        )

    def _copy_links(self, end: JournalEnd) -> JournalEnd:
        """Copy links and usage, and the changes that are written to the source meanwhile.

        Return an end of the source's journal: the target holds every memory that the journal up to
        this end names.
        """
        for _ in range(_ATTEMPTS):
            self._links.run()
            now = self._source.journal_end()
            if now == end and self._source.position() == self._cursor:
                break
            end = now
            self._copy_scopes()
            self._copy_changes()
        return end

    def _begin(self) -> bool:
        """Check the target before writing; return whether this run continues an earlier run."""
        target = self._target
        mark = target.copy_mark() if isinstance(target, SupportsCopyMark) else None
        if mark is None:
            filled = target.position() or target.journal_end().number
            filled = filled or len(target.access_keys())
            if filled or target.scopes() != {GLOBAL: Scope(name=GLOBAL)}:
                raise Conflict(
                    "the target holds memories or scopes already, and is not a copy of this "
                    "source: name an empty target; nothing was changed"
                )
            self._mark()
            return False
        self._check_mark(mark)
        self._cursor = mark.cursor
        if mark.finished:
            self._mark()
        return True

    def _check_mark(self, mark: CopyMark) -> None:
        if mark.source != self._source.identity:
            raise Conflict(
                f"the target is a copy of the store {mark.source}, and the source is "
                f"{self._source.identity}: name an empty target; nothing was changed"
            )
        if mark.finished and self._target.position() != mark.position:
            raise Conflict(
                "the target was a complete copy of this source and has been changed since, so it "
                "is now a separate store: name an empty target; nothing was changed"
            )
        position = self._source.position()
        if mark.cursor > position:
            raise Conflict(
                f"the target has {mark.cursor} changes of the source, and the source has only "
                f"{position}: is it an older copy of itself? name an empty target; nothing was "
                "changed"
            )
        self._journal.check()

    def _mark(self, *, finished: bool = False) -> None:
        if isinstance(self._target, SupportsCopyMark):
            mark = CopyMark(
                source=self._source.identity,
                cursor=self._cursor,
                position=self._target.position(),
                finished=finished,
            )
            self._target.mark_copy(mark)

    def _copy_scopes(self) -> None:
        """Copy the scopes of the source, which may change meanwhile."""
        for _ in range(_ATTEMPTS):
            wanted, existing = self._source.scopes(), self._target.scopes()
            commit = Commit(
                erased_scopes=[name for name in existing if name not in wanted],
                scopes=[scope for name, scope in wanted.items() if existing.get(name) != scope],
            )
            if commit.is_empty:
                return
            self._target.commit(commit)

    def _copy_access_keys(self) -> dict[str, AccessKey]:
        """Copy the access keys of the source, and return them as they were copied."""
        wanted, existing = self._source.access_keys(), self._target.access_keys()
        keys = [key for key in wanted.values() if existing.get(key.id) != key]
        self._target.commit(Commit(access_keys=keys))
        return wanted

    def _copy_active_model(self) -> None:
        """Let the model of the source answer in the target, which has its vectors by now."""
        model = self._source.active_model()
        if model is not None and model != self._target.active_model():
            self._target.commit(Commit(active_model=model))

    def _copy_changes(self) -> None:
        """Copy the changes that the feed has after the cursor, to its end."""
        total = done = 0
        if self._progress is not None:
            total = sum(self._source.measure().memories.values())
            done = sum(self._target.measure().memories.values())
        for changes in ChangeBatches(self._source, self._cursor):
            self._copy_items(changes.items)
            self._cursor = changes.cursor
            self._mark()
            done += len(changes.items)
            if self._progress is not None:
                self._progress(CopyStep.COPYING, min(done, total), total)

    def _copy_items(self, items: Sequence[Change]) -> None:
        """Copy `items`; start again if another copy wrote into the same target meanwhile."""
        copied_before = self._copied
        for attempt in range(_ATTEMPTS):
            self._copied = copied_before
            try:
                self._store_erased(items)
                for steps in batch_commits(self._plan_steps(items)):
                    self._commit(steps)
                return
            except Conflict:
                if attempt == _ATTEMPTS - 1:
                    raise

    def _store_erased(self, items: Sequence[Change]) -> None:
        """Store an empty memory for every erased id that the target never had.

        The copy then erases it, so that the target lists the id as erased, in its feed too.
        """
        gone = [change.id for change in items if change.record is None]
        known = {*self._target.get(gone, models=()), *self._target.erased(gone)} if gone else set()
        placeholders = [
            Memory(id=memory_id, text="-", happened_at=from_micros(0), stored_at=from_micros(0))
            for memory_id in gone
            if memory_id not in known
        ]
        if placeholders:
            self._target.commit(
                Commit(puts=[Put(memory=memory, expected=0) for memory in placeholders])
            )

    def _plan_steps(self, items: Sequence[Change]) -> Iterator[MemoryCommit]:
        """Yield the steps after which the target holds `items`; equal records need no step."""
        stored = [change.id for change in items if change.record is not None]
        gone = [change.id for change in items if change.record is None]
        existing = self._target.get([*stored, *gone])
        for change in items:
            copied_before = self._copied
            known = existing.get(change.id)
            if change.record is not None:
                steps = self._plan_record(change.record, known)
            else:
                steps = iter(() if known is None else (erase_memory(known.memory),))
            for step in steps:
                self._copied = copied_before + 1
                yield step

    def _plan_record(self, record: Record, known: Record | None) -> Iterator[MemoryCommit]:
        """Yield a step per missing revision of a memory, the current revision with its vectors."""
        memory = record.memory
        if known is not None and same_memory(known.memory, memory):
            copies = {embedding.model: embedding for embedding in known.embeddings}
            if copies.keys() <= {embedding.model for embedding in record.embeddings}:
                for embedding in record.embeddings:
                    copy = copies.get(embedding.model)
                    if copy is None or not same_embedding(embedding, copy):
                        yield attach_embedding(memory, embedding)
                return
        revisions = self._revisions(memory)
        expected = 0
        if known is not None:
            matches = [
                number
                for number, revision in enumerate(revisions[:-1])
                if same_memory(revision, known.memory)
            ]
            if matches:
                revisions = revisions[matches[0] + 1 :]
                expected = known.memory.revision
            else:
                yield erase_memory(known.memory)
        for revision in revisions:
            embeddings = record.embeddings if revision is revisions[-1] else ()
            yield put_revision(Put(memory=revision, expected=expected, embeddings=embeddings))
            expected = revision.revision

    def _revisions(self, memory: Memory) -> list[Memory]:
        """Return the revisions of a memory, oldest first, ending with `memory`."""
        if memory.revision == 1:
            return [memory]
        try:
            earlier = self._source.history(memory.id)
        except StoreDamaged:
            earlier = []  # The comparison names the damaged history.
        return [*(past for past in earlier if past.revision < memory.revision), memory]

    def _commit(self, steps: Sequence[MemoryCommit]) -> None:
        """Commit the steps, except for memories that the target refuses; record the refusals."""
        steps = [step for step in steps if step.id not in self._refused]
        commit = merge_commits(*[step.commit for step in steps])
        try:
            self._target.commit(commit)
            self._erased |= bool(commit.erases)
            return
        except InvalidInput as error:
            if len(steps) == 1:
                self._record_refusal(steps[0].id, error)
                return
        half = len(steps) // 2
        self._commit(steps[:half])
        self._commit(steps[half:])

    def _record_refusal(self, memory_id: str, error: InvalidInput) -> None:
        self._refused[memory_id] = Finding(
            part=RecordKind.MEMORY,
            id=memory_id,
            what=f"the target cannot store it: {error}",
            way_out="revise it in the source, then run the copy again",
        )
