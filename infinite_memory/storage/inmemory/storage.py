"""`Storage` in dictionaries under one lock: the model that every other backend is compared with."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import takewhile
from uuid import uuid4

import attrs
import numpy as np

from infinite_memory.errors import StoreClosed
from infinite_memory.model.criteria import Criteria
from infinite_memory.model.findings import Verification, Walked
from infinite_memory.model.memory import GLOBAL, Memory, Status
from infinite_memory.model.record import (
    Attach,
    Change,
    Changes,
    Detach,
    Embedding,
    Erase,
    EraseScope,
    ExpectScopes,
    Page,
    Put,
    PutScope,
    Record,
    Size,
    Write,
)
from infinite_memory.model.scope import Scope
from infinite_memory.storage.paging import (
    check_limit,
    decode_cursor,
    encode_cursor,
    position_of,
)
from infinite_memory.storage.soundness import check_record
from infinite_memory.storage.vetting import (
    check_writes,
    refuse_changed_scopes,
    refuse_conflicts,
)

__all__ = ["InMemoryStorage"]


class InMemoryStorage:
    """A storage for tests and for memories that need not outlive the process.

    Another object on the same store cannot be opened: it ends with `close`.
    """

    def __init__(self) -> None:
        self._identity = str(uuid4())
        self._lock = threading.RLock()
        self._closed = False
        self._state = _State()

    @property
    def identity(self) -> str:
        """The UUID of this store."""
        return self._identity

    def commit(self, writes: Sequence[Write]) -> int:
        """Carry out all of `writes` in order, or none; see `Storage.commit`."""
        check_writes(writes)
        with self._lock:
            state = self._open()
            refuse_conflicts(writes, state.revision)
            for write in writes:
                if isinstance(write, ExpectScopes):
                    refuse_changed_scopes(write, self.scopes(), state.holds)
            for write in writes:
                state.apply(write)
            return state.sequence

    def get(
        self, ids: Collection[str], *, models: Collection[str] | None = None
    ) -> dict[str, Record]:
        """Return the records with these ids; see `Storage.get`."""
        with self._lock:
            records = self._open().records
            return {each: _only(records[each], models) for each in ids if each in records}

    def find(self, criteria: Criteria, *, limit: int, after: str | None = None) -> Page:
        """Return a page of memories, newest first; see `Storage.find`."""
        check_limit(limit)
        bound = None if after is None else decode_cursor(after)
        with self._lock:
            everything = [record.memory for record in self._open().records.values()]
        found = sorted(
            (
                memory
                for memory in everything
                if criteria.admit(memory) and (bound is None or position_of(memory) < bound)
            ),
            key=position_of,
            reverse=True,
        )
        page = tuple(found[:limit])
        return Page(memories=page, next=encode_cursor(page[-1]) if len(found) > limit else None)

    def history(self, memory_id: str) -> list[Memory]:
        """Return every revision of a memory; see `Storage.history`."""
        with self._lock:
            state = self._open()
            if memory_id not in state.records:
                return []
            return [*state.earlier.get(memory_id, ()), state.records[memory_id].memory]

    def erased(self, ids: Collection[str]) -> frozenset[str]:
        """Return those of `ids` that were erased; see `Storage.erased`."""
        with self._lock:
            state = self._open()
            return frozenset(
                each for each in ids if each in state.changed and each not in state.records
            )

    def changes(self, after: int, *, limit: int, models: Collection[str] | None = None) -> Changes:
        """Return what changed since the cursor `after`; see `Storage.changes`."""
        check_limit(limit)
        with self._lock:
            state = self._open()
            newest_first = takewhile(lambda each: each[1] > after, reversed(state.changed.items()))
            news = list(newest_first)[::-1]
            items = tuple(
                Change(
                    id=each,
                    record=_only(state.records[each], models) if each in state.records else None,
                )
                for each, _ in news[:limit]
            )
            cursor = news[limit - 1][1] if len(news) > limit else state.sequence
            return Changes(items=items, cursor=cursor)

    def position(self) -> int:
        """Return the cursor behind the last change."""
        with self._lock:
            return self._open().sequence

    def pending(self, model: str, *, limit: int) -> list[str]:
        """Return ids of memories without an embedding by `model`; see `Storage.pending`."""
        check_limit(limit)
        with self._lock:
            state = self._open()
            waiting = sorted(
                (state.changed[each], each)
                for each, record in state.records.items()
                if record.memory.status is not Status.FORGOTTEN
                and record.embedding_by(model) is None
            )
            return [each for _, each in waiting[:limit]]

    def scopes(self) -> dict[str, Scope]:
        """Return every scope by name; `Global` is always among them."""
        with self._lock:
            return {GLOBAL: Scope(name=GLOBAL), **self._open().scopes}

    def measure(self) -> Size:
        """Count what is stored; `size_bytes` counts texts and vectors alone."""
        with self._lock:
            state = self._open()
            memories = [record.memory for record in state.records.values()]
            embeddings = [
                (record.memory.status, embedding)
                for record in state.records.values()
                for embedding in record.embeddings
            ]
            earlier = [memory for versions in state.earlier.values() for memory in versions]
            return Size(
                memories=dict(Counter((m.scope, str(m.kind), str(m.status)) for m in memories)),
                revisions=len(earlier),
                embedded=dict(
                    Counter(e.model for status, e in embeddings if status is not Status.FORGOTTEN)
                ),
                size_bytes=sum(len(m.text.encode()) for m in memories + earlier)
                + sum(e.spans.nbytes + e.vectors.nbytes for _, e in embeddings),
                oldest=min((m.happened_at for m in memories), default=None),
                newest=max((m.happened_at for m in memories), default=None),
            )

    def scrub(self) -> None:
        """Do nothing more: there are no files."""
        with self._lock:
            self._open()

    def verify(self, walked: Walked | None = None) -> Verification:
        """Look at everything that is stored; see `SupportsVerify.verify`."""
        with self._lock:
            records = list(self._open().records.values())
        if walked is not None:
            walked(len(records), len(records))
        return Verification(
            counts={"memories": len(records)},
            findings=tuple(finding for record in records for finding in check_record(record)),
        )

    def close(self) -> None:
        """Let go of everything that is stored. Closing twice does nothing."""
        with self._lock:
            self._closed = True
            self._state = _State()

    def _open(self) -> _State:
        if self._closed:
            raise StoreClosed("this store was closed: open it again")
        return self._state


@attrs.define
class _State:
    """Everything stored; `changed` has the sequence of the last change by id, latest last."""

    sequence: int = 0
    records: dict[str, Record] = attrs.Factory(dict)
    earlier: dict[str, tuple[Memory, ...]] = attrs.Factory(dict)
    changed: dict[str, int] = attrs.Factory(dict)
    scopes: dict[str, Scope] = attrs.Factory(dict)

    def revision(self, memory_id: str) -> int:
        """Return the current revision of a memory, 0 if there is none of that id."""
        record = self.records.get(memory_id)
        return 0 if record is None else record.memory.revision

    def holds(self, scope: str) -> bool:
        """Tell whether a memory is in that scope."""
        return any(record.memory.scope == scope for record in self.records.values())

    def apply(self, write: Write) -> None:
        """Carry out `write`, which cannot fail once conflicts were ruled out."""
        if isinstance(write, Put):
            self._put(write)
        elif isinstance(write, Attach):
            record = self.records.get(write.id)
            if record is not None and record.memory.revision == write.revision:
                new = write.embedding
                others = (each for each in record.embeddings if each.model != new.model)
                self._keep(record.memory, (*others, _own(new)))
        elif isinstance(write, Detach):
            record = self.records.get(write.id)
            if record is not None and any(each.model != write.keep for each in record.embeddings):
                kept = tuple(each for each in record.embeddings if each.model == write.keep)
                self._keep(record.memory, kept)
        elif isinstance(write, Erase):
            if self.records.pop(write.id, None) is not None:
                self.earlier.pop(write.id, None)
                self._touch(write.id)
        elif isinstance(write, PutScope):
            self.scopes[write.scope.name] = write.scope
        elif isinstance(write, EraseScope):
            self.scopes.pop(write.name, None)

    def _put(self, write: Put) -> None:
        memory = write.memory
        if memory.id in self.records:
            replaced = self.records[memory.id].memory
            self.earlier[memory.id] = (*self.earlier.get(memory.id, ()), replaced)
        self._keep(memory, tuple(map(_own, write.embeddings)))

    def _keep(self, memory: Memory, embeddings: tuple[Embedding, ...]) -> None:
        in_order = tuple(sorted(embeddings, key=lambda each: each.model))
        self.records[memory.id] = Record(memory=memory, embeddings=in_order)
        self._touch(memory.id)

    def _touch(self, memory_id: str) -> None:
        self.sequence += 1
        self.changed.pop(memory_id, None)
        self.changed[memory_id] = self.sequence


def _only(record: Record, models: Collection[str] | None) -> Record:
    """Return `record` with its embeddings by `models` alone."""
    if models is None:
        return record
    return Record(
        memory=record.memory,
        embeddings=tuple(each for each in record.embeddings if each.model in models),
    )


def _own(embedding: Embedding) -> Embedding:
    """Return a copy that the caller cannot change afterwards."""
    spans, vectors = np.array(embedding.spans), np.array(embedding.vectors)
    spans.setflags(write=False)
    vectors.setflags(write=False)
    return Embedding(model=embedding.model, spans=spans, vectors=vectors)
