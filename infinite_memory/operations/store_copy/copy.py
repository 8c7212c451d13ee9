"""Copy: everything that one store holds into another, whatever keeps them.

The feed of the source says what there is, oldest change first. Each memory is written revision by
revision, so that its history is the same, and an erased id is written and erased. The target bears
a mark that says how far the copy has come. Where a run ended between a write and its mark, the next
one finds in the target what is already there. Links and usage, which need their memories, come
next, and the journal last: it never tells of what is not there.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TypeAlias

from attrs import frozen

from infinite_memory.config import Config, load
from infinite_memory.errors import (
    ConfigurationError,
    Conflict,
    InvalidInput,
    StorageUnavailable,
    StoreDamaged,
)
from infinite_memory.model.address import find_problem, masked
from infinite_memory.model.codec import from_micros
from infinite_memory.model.commit import Attach, Commit, Erase, Put, merge_commits
from infinite_memory.model.copying import Copied, CopyMark, CopyProgress, CopyStep
from infinite_memory.model.entry import JournalEnd
from infinite_memory.model.findings import Finding, RecordKind
from infinite_memory.model.memory import GLOBAL, Memory
from infinite_memory.model.record import Change, Embedding, Record
from infinite_memory.model.scope import Scope
from infinite_memory.operations.store_copy.comparison import (
    Comparison,
    Stretches,
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

_COMMIT_WRITES = 2048
_COMMIT_BYTES = 8 << 20
_TRIES = 5


def copy_store(
    source: Place,
    target: Place,
    *,
    config: Config | None = None,
    progress: CopyProgress | None = None,
) -> Copied:
    """Copy everything that the store `source` holds into `target`, and compare the two.

    That is every memory with its history, status and vectors by every model, its links and its
    usage, the scopes, the journal, and the ids that were erased. `target` is empty, or has been
    begun by a copy of the same source: then this goes on there. What is written to the source
    meanwhile comes over too. What is damaged in the source is left out and named. `config` says
    where the managed server is; a storage that is given open stays open.

    Raises:
        ConfigurationError: one of them looks like an address, and is none that is served.
        InvalidInput: source and target are the same store, or one of them ends with the process.
        Conflict: the target holds something else, or was written since it was copied.
        StorageError: one of them cannot be opened, read or written; run it again to go on.
    """
    with ExitStack() as owned:
        first, second = _address(source), _address(target)
        if first is not None and first == second:
            raise InvalidInput(f"{masked(first)} cannot be copied into itself: name another target")
        config = config or load().config
        reading = _opened(source, config, owned, create=False)
        writing = _opened(target, config, owned, create=True)
        if reading.identity == writing.identity:
            raise InvalidInput(
                f"source and target are the same store, {reading.identity}: name another target"
            )
        return _Copying(reading, writing, progress).run()


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


def _opened(place: Place, config: Config, owned: ExitStack, *, create: bool) -> Storage:
    if not isinstance(place, str | os.PathLike):
        return place
    address = _address(place) or ""
    opened = open_storage if create else open_existing
    storage: Storage | None = opened(address, home=config.home, mongod=config.mongod)
    if storage is None:
        raise StorageUnavailable(
            f"there is no store at {masked(address)}: check the address; nothing was created"
        )
    return owned.enter_context(closing(storage))


class _Copying:
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
        """Bring everything over, and compare."""
        resumed = self._begin()
        end = self._source.journal_end()
        self._bring_scopes()
        self._bring()
        comparison = Comparison(self._source, self._target, self._progress)
        comparison.run(lambda: self._cursor, self._bring)
        self._bring_scopes()
        comparison.compare_scopes()
        end = self._bring_links(end)
        self._journal.bring(end.number)
        if self._erased:
            self._target.scrub()
        left_out = comparison.left_out(self._refused)
        others = (*self._links.different, *self._journal.different)
        different = (*comparison.different, *others)
        self._mark(finished=not different)
        entries = {"entries": self._journal.compared}
        return Copied(
            copied=self._copied,
            resumed=resumed,
            compared=+(comparison.counts + self._links.counts + Counter(entries)),
            left_out=(*left_out, *self._links.left_out, *self._journal.left_out),
            different=different,
        )

    def _bring_links(self, end: JournalEnd) -> JournalEnd:
        """Bring links and usage, and what is written meanwhile.

        Return where the journal of the source ended before everything that is there by now.
        """
        for _ in range(_TRIES):
            self._links.run()
            now = self._source.journal_end()
            if now == end and self._source.position() == self._cursor:
                break
            end = now
            self._bring_scopes()
            self._bring()
        return end

    def _begin(self) -> bool:
        """Check that the target may be written; tell whether an earlier run is gone on with."""
        target = self._target
        mark = target.copy_mark() if isinstance(target, SupportsCopyMark) else None
        if mark is None:
            filled = target.position() or target.journal_end().number
            if filled or target.scopes() != {GLOBAL: Scope(name=GLOBAL)}:
                raise Conflict(
                    "the target holds memories or scopes already, and is no copy of this source: "
                    "name an empty one; nothing was changed"
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
                "the target was a whole copy of this source and has been written since, so it is a "
                "store of its own now: name an empty target; nothing was changed"
            )
        position = self._source.position()
        if mark.cursor > position:
            raise Conflict(
                f"the target has {mark.cursor} changes of the source, which has only {position} by "
                "now: is it an older copy of it? name an empty target; nothing was changed"
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

    def _bring_scopes(self) -> None:
        """Make the scopes of the target those of the source, which may be changed meanwhile."""
        for _ in range(_TRIES):
            wanted, there = self._source.scopes(), self._target.scopes()
            commit = Commit(
                erased_scopes=[name for name in there if name not in wanted],
                scopes=[scope for name, scope in wanted.items() if there.get(name) != scope],
            )
            if commit.is_empty:
                return
            self._target.commit(commit)

    def _bring(self) -> None:
        """Bring over what the feed has after the cursor, until there is nothing more."""
        total = done = 0
        if self._progress is not None:
            total = sum(self._source.measure().memories.values())
            done = sum(self._target.measure().memories.values())
        stretches = Stretches(self._source, self._cursor)
        for changes in stretches:
            self._bring_all(changes.items)
            self._cursor = changes.cursor
            self._mark()
            done += len(changes.items)
            if self._progress is not None:
                self._progress(CopyStep.COPYING, min(done, total), total)

    def _bring_all(self, items: Sequence[Change]) -> None:
        """Bring over `items`, anew where another copy into the same target was quicker."""
        before = self._copied
        for attempt in range(_TRIES):
            self._copied = before
            try:
                self._note_erased(items)
                for steps in _batches(self._steps(items)):
                    self._commit(steps)
                return
            except Conflict:
                if attempt == _TRIES - 1:
                    raise

    def _note_erased(self, items: Sequence[Change]) -> None:
        """Store an empty memory for each erased one that the target never had.

        Erasing it then leaves the id among the erased ones, in the feed of the target too.
        """
        gone = [change.id for change in items if change.record is None]
        known = {*self._target.get(gone, models=()), *self._target.erased(gone)} if gone else set()
        empty = [
            Memory(id=memory_id, text="-", happened_at=from_micros(0), stored_at=from_micros(0))
            for memory_id in gone
            if memory_id not in known
        ]
        if empty:
            self._target.commit(Commit(puts=[Put(memory=memory, expected=0) for memory in empty]))

    def _steps(self, items: Sequence[Change]) -> Iterator[_Step]:
        """Yield what makes the target hold `items`; what it holds already needs nothing."""
        stored = [change.id for change in items if change.record is not None]
        gone = [change.id for change in items if change.record is None]
        there = self._target.get([*stored, *gone])
        for change in items:
            before = self._copied
            known = there.get(change.id)
            if change.record is not None:
                steps = self._storing(change.record, known)
            else:
                steps = iter(() if known is None else (_erase(known.memory),))
            for step in steps:
                self._copied = before + 1
                yield step

    def _storing(self, record: Record, known: Record | None) -> Iterator[_Step]:
        """Yield the revisions of a memory that are missing, the current one with its vectors."""
        memory = record.memory
        if known is not None and same_memory(known.memory, memory):
            there = {embedding.model: embedding for embedding in known.embeddings}
            if there.keys() <= {embedding.model for embedding in record.embeddings}:
                for embedding in record.embeddings:
                    other = there.get(embedding.model)
                    if other is None or not same_embedding(embedding, other):
                        yield _attach(memory, embedding)
                return
        revisions = self._revisions(memory)
        expected = 0
        if known is not None:
            same = [n for n, each in enumerate(revisions[:-1]) if same_memory(each, known.memory)]
            if same:
                revisions = revisions[same[0] + 1 :]
                expected = known.memory.revision
            else:
                yield _erase(known.memory)
        for revision in revisions:
            embeddings = record.embeddings if revision is revisions[-1] else ()
            yield _put(Put(memory=revision, expected=expected, embeddings=embeddings))
            expected = revision.revision

    def _revisions(self, memory: Memory) -> list[Memory]:
        """Return the revisions of a memory up to this one; the first one has none before it."""
        if memory.revision == 1:
            return [memory]
        try:
            earlier = self._source.history(memory.id)
        except StoreDamaged:
            earlier = []  # named when the two are compared
        return [*(each for each in earlier if each.revision < memory.revision), memory]

    def _commit(self, steps: Sequence[_Step]) -> None:
        """Write; where the target refuses a memory, write the others and note that one."""
        steps = [step for step in steps if step.id not in self._refused]
        commit = merge_commits(*[step.commit for step in steps])
        try:
            self._target.commit(commit)
            self._erased |= bool(commit.erases)
            return
        except InvalidInput as error:
            if len(steps) == 1:
                self._note(steps[0].id, error)
                return
        half = len(steps) // 2
        self._commit(steps[:half])
        self._commit(steps[half:])

    def _note(self, memory_id: str, error: InvalidInput) -> None:
        self._refused[memory_id] = Finding(
            part=RecordKind.MEMORY,
            id=memory_id,
            what=f"the target cannot keep it: {error}",
            way_out="revise it in the source, then run the copy again",
        )


@frozen
class _Step:
    """What a copy commits of one memory, and about how many bytes that has."""

    id: str
    commit: Commit
    size_bytes: int = 0


def _erase(memory: Memory) -> _Step:
    return _Step(memory.id, Commit(erases=(Erase(id=memory.id, expected=memory.revision),)))


def _attach(memory: Memory, embedding: Embedding) -> _Step:
    attach = Attach(id=memory.id, revision=memory.revision, embedding=embedding)
    return _Step(memory.id, Commit(attaches=(attach,)), embedding.vectors.nbytes)


def _put(put: Put) -> _Step:
    memory = put.memory
    vectors = sum(embedding.vectors.nbytes for embedding in put.embeddings)
    size_bytes = 2 * len(memory.text) + len(str(memory.context)) + vectors
    return _Step(memory.id, Commit(puts=(put,)), size_bytes)


def _batches(steps: Iterator[_Step]) -> Iterator[list[_Step]]:
    """Yield the steps in their order, so many together as one commit should have."""
    batch: list[_Step] = []
    size_bytes = 0
    for step in steps:
        batch.append(step)
        size_bytes += step.size_bytes
        if len(batch) >= _COMMIT_WRITES or size_bytes >= _COMMIT_BYTES:
            yield batch
            batch, size_bytes = [], 0
    if batch:
        yield batch
