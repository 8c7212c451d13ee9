"""What a storage refuses, the same for every backend: checked before anything is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from infinite_memory.errors import Conflict, InvalidInput
from infinite_memory.model.record import Attach, Embedding, Erase, ExpectScopes, Put, Write
from infinite_memory.model.scope import Scope, fold_name

__all__ = ["check_embedding", "check_writes", "refuse_changed_scopes", "refuse_conflicts"]


def check_writes(writes: Sequence[Write]) -> None:
    """Refuse an embedding that could not be read back, and a revision that does not go forward.

    Raises:
        InvalidInput: with the id of the memory and what is wrong.
    """
    for write in writes:
        if isinstance(write, Put):
            _check_revision(write)
            for embedding in write.embeddings:
                check_embedding(write.memory.id, embedding)
            _check_models(write)
        elif isinstance(write, Attach):
            check_embedding(write.id, write.embedding)


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


def refuse_conflicts(writes: Sequence[Write], revision_of: Callable[[str], int]) -> None:
    """Refuse writes of which one, carried out in their order, would not find what it expects.

    `revision_of` returns the current revision of an id, 0 where there is none. An `ExpectScopes`
    among them is left to `refuse_changed_scopes`.

    Raises:
        Conflict: with the ids, and the first expected and found revision of each.
    """
    revisions: dict[str, int] = {}
    conflicts: dict[str, str] = {}
    for write in writes:
        if not isinstance(write, Erase | Put):
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


def refuse_changed_scopes(
    expected: ExpectScopes, scopes: Mapping[str, Scope], holds: Callable[[str], bool]
) -> None:
    """Refuse a commit whose caller saw other scopes than there are before it.

    `holds` tells whether a memory, forgotten ones included, is in the scope of that name.

    Raises:
        Conflict: with the first scope that is not as expected.
    """
    folded = {fold_name(name) for name in scopes}
    for name, seen in expected.scopes.items():
        changed = fold_name(name) in folded if seen is None else scopes.get(name) != seen
        if changed:
            raise _conflict([f"the scope {name!r}"])
    for name in sorted(expected.unused):
        if holds(name) or any(scope.parent == name for scope in scopes.values()):
            raise _conflict([f"the scope {name!r}, which is in use by now"])


def _conflict(conflicts: list[str]) -> Conflict:
    more = f" and {len(conflicts) - 20} more" if len(conflicts) > 20 else ""
    return Conflict(
        f"nothing was stored, since others changed {', '.join(conflicts[:20])}{more}: "
        "read again what is there and repeat the change on it"
    )
