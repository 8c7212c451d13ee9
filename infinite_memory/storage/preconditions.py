"""What a storage refuses, the same for every backend: checked before anything is written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

import numpy as np

from infinite_memory.errors import Conflict, InvalidInput
from infinite_memory.model.entry import JournalEnd
from infinite_memory.model.memory import Memory, Status
from infinite_memory.model.record import (
    Attach,
    Embedding,
    Erase,
    EraseScope,
    ExpectContent,
    ExpectKey,
    ExpectScopes,
    Log,
    Put,
    PutLink,
    PutScope,
    Write,
)
from infinite_memory.model.scope import Scope, fold_name

__all__ = [
    "Present",
    "check_embedding",
    "check_writes",
    "refuse_changes",
    "refuse_conflicts",
]

_OF_MEMORIES = (Erase, Put)


class Present(Protocol):
    """What there is before the writes of a commit."""

    @property
    def journal_end(self) -> JournalEnd:
        """The end of the journal."""

    def revision(self, memory_id: str) -> int:
        """Return the current revision of a memory, 0 if there is none of that id."""

    def scopes(self) -> Mapping[str, Scope]:
        """Return every scope by name."""

    def holds(self, scope: str, besides: Collection[str]) -> bool:
        """Return whether the scope has a memory that is not forgotten, `besides` those ids."""

    def holders(self, expected: ExpectKey) -> Collection[str]:
        """Return the ids of the memories with that key in that scope that have its statuses."""

    def with_content(self, expected: ExpectContent) -> Collection[str]:
        """Return the ids of the memories that meet its criteria; one more than it has will do."""


def check_writes(writes: Sequence[Write]) -> None:
    """Refuse an embedding that could not be read back, and a revision that does not go forward.

    Also a weight out of its range, and a second entry of the journal.

    Raises:
        InvalidInput: with the id of the memory and what is wrong.
    """
    for write in writes:
        if isinstance(write, Put):
            _check_revision(write)
            for embedding in write.embeddings:
                check_embedding(write.memory.id, embedding)
            if write.embeddings:
                _check_models(write)
        elif isinstance(write, Attach):
            check_embedding(write.id, write.embedding)
        elif isinstance(write, PutLink) and not 0 < write.link.weight <= 1:
            raise InvalidInput(
                f"the link from {write.link.source!r} to {write.link.target!r} cannot have the "
                f"weight {write.link.weight!r}: give one over 0 and at most 1"
            )
    entries = sum([isinstance(write, Log) for write in writes])
    if entries > 1:
        raise InvalidInput(f"a commit has one entry of the journal, not {entries}")


def _check_models(write: Put) -> None:
    models = [embedding.model for embedding in write.embeddings]
    if len(set(models)) < len(models):
        raise InvalidInput(
            f"memory {write.memory.id!r} cannot have two embeddings by one model: {sorted(models)}"
        )


def _check_revision(write: Put) -> None:
    if write.expected < 0 or write.memory.revision <= write.expected:
        raise InvalidInput(
            f"memory {write.memory.id!r}: revision {write.memory.revision} cannot replace "
            f"{write.expected}: a new revision is higher than the one it expects"
        )


def check_embedding(memory_id: str, embedding: Embedding) -> None:
    """Refuse an embedding of another shape or dtype than its class says, or not finite.

    Raises:
        InvalidInput: with the id of the memory and what is wrong.
    """
    spans, vectors = embedding.spans, embedding.vectors
    problem = None
    if not embedding.model or "\n" in embedding.model:
        problem = f"its model is {embedding.model!r}: give a name of one line"
    elif spans.dtype != np.int32 or vectors.dtype != np.float32:
        problem = f"spans are {spans.dtype} and vectors {vectors.dtype}: give int32 and float32"
    elif spans.ndim != 2 or spans.shape[1] != 2 or vectors.ndim != 2 or not vectors.shape[1]:
        problem = f"shapes {spans.shape} and {vectors.shape}: give (n, 2) and (n, dimensions)"
    elif len(spans) != len(vectors):
        problem = f"{len(spans)} spans and {len(vectors)} vectors: give one vector a span"
    elif not np.isfinite(vectors).all():
        problem = "a vector is not finite"
    if problem is not None:
        raise InvalidInput(f"embedding of memory {memory_id!r} cannot be stored: {problem}")


def refuse_changes(writes: Sequence[Write], present: Present) -> None:
    """Refuse writes whose caller saw anything else than what is `present`.

    Raises:
        Conflict: with what is not as expected.
    """
    refuse_conflicts(writes, present.revision)
    for write in writes:
        if isinstance(write, ExpectScopes):
            _refuse_changed_scopes(write, present.scopes())
            _refuse_used_scopes(write, writes, present)
        elif isinstance(write, ExpectKey):
            if write.ids != frozenset(present.holders(write)):
                raise _conflict([f"who holds the key {write.key!r} in the scope {write.scope!r}"])
        elif isinstance(write, ExpectContent):
            if write.ids != frozenset(present.with_content(write)):
                raise _conflict(
                    [f"which memories in {', '.join(sorted(write.scopes))} have the same content"]
                )
        elif isinstance(write, Log):
            _refuse_other_number(write, present.journal_end)


def refuse_conflicts(writes: Sequence[Write], revision_of: Callable[[str], int]) -> None:
    """Refuse writes of which one, carried out in their order, would not find what it expects.

    `revision_of` returns the current revision of an id, 0 where there is none. What else is
    expected is left to `refuse_changes`.

    Raises:
        Conflict: with the ids, and the first expected and found revision of each.
    """
    revisions: dict[str, int] = {}
    conflicts: dict[str, str] = {}
    for write in writes:
        if not isinstance(write, _OF_MEMORIES):
            continue
        memory_id = write.id if isinstance(write, Erase) else write.memory.id
        if write.expected is not None:
            found = revisions[memory_id] if memory_id in revisions else revision_of(memory_id)
            if found != write.expected:
                conflicts.setdefault(
                    memory_id,
                    f"{memory_id!r} (expected revision {write.expected}, found {found or 'none'})",
                )
        revisions[memory_id] = 0 if isinstance(write, Erase) else write.memory.revision
    if conflicts:
        raise _conflict(list(conflicts.values()))


def _refuse_changed_scopes(expected: ExpectScopes, scopes: Mapping[str, Scope]) -> None:
    folded = {fold_name(name) for name in scopes}
    for name, seen in expected.scopes.items():
        changed = fold_name(name) in folded if seen is None else scopes.get(name) != seen
        if changed:
            raise _conflict([f"the scope {name!r}"])


def _refuse_used_scopes(expected: ExpectScopes, writes: Sequence[Write], present: Present) -> None:
    """Refuse a scope that is to be unused and has a memory or another scope after the writes."""
    if not expected.unused:
        return
    scopes = dict(present.scopes())
    memories: dict[str, Memory | None] = {}
    for write in writes:
        if isinstance(write, PutScope):
            scopes[write.scope.name] = write.scope
        elif isinstance(write, EraseScope):
            scopes.pop(write.name, None)
        elif isinstance(write, Put):
            memories[write.memory.id] = write.memory
        elif isinstance(write, Erase):
            memories[write.id] = None
    used = {scope.parent for scope in scopes.values()}
    used |= {
        memory.scope
        for memory in memories.values()
        if memory is not None and memory.status is not Status.FORGOTTEN
    }
    for name in sorted(expected.unused):
        if name in used or present.holds(name, memories):
            raise _conflict([f"the scope {name!r}, which is in use by now"])


def _refuse_other_number(log: Log, end: JournalEnd) -> None:
    if log.number is not None and log.number != end.number + 1:
        raise _conflict([f"the journal, in which entry {end.number + 1} is next, not {log.number}"])


def _conflict(conflicts: list[str]) -> Conflict:
    more = f" and {len(conflicts) - 20} more" if len(conflicts) > 20 else ""
    return Conflict(
        f"nothing was stored, since others changed {', '.join(conflicts[:20])}{more}: "
        "read again what is there and repeat the change on it"
    )
