"""Forget: out of every result at once, or erased for good."""

from __future__ import annotations

from attrs import evolve

from infinite_memory.errors import Conflict, StoreDamaged
from infinite_memory.model.memory import Status
from infinite_memory.model.receipt import Outcome, Receipt, Searchable
from infinite_memory.model.record import Erase, Put
from infinite_memory.operations.remember import receipt_of
from infinite_memory.operations.revise import existing
from infinite_memory.operations.services import Services

__all__ = ["forget"]

# Two clients may change the same memory at once; forgetting wins over whatever they did.
_ATTEMPTS = 100
_UNKNOWN_SCOPE = "unknown"


def forget(services: Services, memory_id: str, *, hard: bool) -> Receipt:
    """Take a memory out of every result; `hard` erases it with its history and its vectors.

    Forgetting what is forgotten does nothing. A soft forget can be revised back.

    Raises:
        NotFound: there is no such memory.
    """
    return _erase(services, memory_id) if hard else _hide(services, memory_id)


def _hide(services: Services, memory_id: str) -> Receipt:
    for attempt in range(1, _ATTEMPTS + 1):
        record = existing(services, memory_id)
        before = record.memory
        if before.status is Status.FORGOTTEN:
            return receipt_of(before, Outcome.UNCHANGED, Searchable.NOT)
        after = evolve(
            before,
            status=Status.FORGOTTEN,
            revision=before.revision + 1,
            stored_at=services.clock(),
        )
        try:
            services.storage.commit(
                [Put(memory=after, expected=before.revision, embedding=record.embedding)]
            )
            break
        except Conflict:
            if attempt == _ATTEMPTS:
                raise
    return receipt_of(after, Outcome.FORGOTTEN, Searchable.NOT)


def _erase(services: Services, memory_id: str) -> Receipt:
    try:
        record = existing(services, memory_id)
        revisions = len(services.storage.history(memory_id))
    except StoreDamaged:
        return _erase_damaged(services, memory_id)
    services.storage.commit([Erase(id=memory_id)])
    services.storage.scrub()
    services.index.discard()
    erased = [f"memory {memory_id}", f"{revisions} revision{'s' if revisions > 1 else ''}"]
    if record.embedding is not None:
        count = len(record.embedding.vectors)
        erased.append(f"{count} vector{'s' if count > 1 else ''}")
    receipt = receipt_of(record.memory, Outcome.ERASED, Searchable.NOT)
    return evolve(receipt, erased=tuple(erased))


def _erase_damaged(services: Services, memory_id: str) -> Receipt:
    """Erase what cannot be read, so that its receipt cannot say what it was."""
    services.storage.commit([Erase(id=memory_id)])
    services.storage.scrub()
    services.index.discard()
    return Receipt(
        id=memory_id,
        outcome=Outcome.ERASED,
        revision=0,
        scope=_UNKNOWN_SCOPE,
        stored_at=services.clock(),
        searchable=Searchable.NOT,
        erased=(f"memory {memory_id}, which was damaged",),
    )
