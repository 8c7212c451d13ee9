"""Remember: check, store durably, embed, answer with a receipt."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta

from attrs import evolve, frozen

from infinite_memory.errors import Conflict, InvalidInput
from infinite_memory.model.draft import Draft
from infinite_memory.model.memory import Memory, Status
from infinite_memory.model.receipt import Outcome, Receipt, Searchable
from infinite_memory.model.record import Put, Record, Write
from infinite_memory.model.scope import Scope, fold_name
from infinite_memory.operations.embed import embed_new
from infinite_memory.operations.prepare import memory_of
from infinite_memory.operations.scopes import scope_writes, settled
from infinite_memory.operations.services import Services

__all__ = ["Progress", "found_by_meaning", "receipt_of", "remember", "remember_many"]

Progress = Callable[[int, int], None]
"""Told after each batch how many memories are done, and of how many."""

_BATCH_MEMORIES = 256
_BATCH_BYTES = 4 << 20
# Others may take an id or make a scope between the look and the commit; they do not for ever.
_ATTEMPTS = 20


def remember(services: Services, draft: Draft) -> Receipt:
    """Store one memory and return its receipt.

    Raises:
        InvalidInput: a field cannot be used.
        Conflict: its id belongs to a memory with another content.
    """
    scopes = services.storage.scopes()
    wanted = _prepared(services, [draft], scopes)
    return _stored(services, wanted, scopes)[0]


def remember_many(
    services: Services, drafts: Iterable[Draft], progress: Progress | None = None
) -> list[Receipt]:
    """Store many memories; return their receipts in the same order.

    All are checked before the first is stored. They are stored in batches, each as a whole; after
    an interruption the same call with the same ids goes on where it stopped.

    Raises:
        InvalidInput: a draft cannot be used; the message says which, counted from 1.
        Conflict: an id belongs to a memory with another content; earlier batches stay stored.
    """
    wanted = _prepared(services, list(drafts), services.storage.scopes(), number=True)
    receipts: list[Receipt] = []
    for batch in _batches(wanted):
        receipts.extend(_stored(services, batch))
        if progress is not None:
            progress(len(receipts), len(wanted))
    return receipts


def receipt_of(memory: Memory, outcome: Outcome, searchable: Searchable) -> Receipt:
    """Return the receipt of a write that left `memory` as it is now."""
    return Receipt(
        id=memory.id,
        outcome=outcome,
        revision=memory.revision,
        scope=memory.scope,
        stored_at=memory.stored_at,
        searchable=searchable,
    )


def found_by_meaning(services: Services, record: Record) -> bool:
    """Tell whether the model in use has given vectors to a memory."""
    embedding = record.embedding_by(services.embedder.model)
    return embedding is not None and len(embedding.vectors) > 0


@frozen
class _Wanted:
    """A memory to be stored, and what of it the caller said: when it happened, and its id."""

    memory: Memory
    timed: bool
    named: bool


def _prepared(
    services: Services,
    drafts: Sequence[Draft],
    scopes: Mapping[str, Scope],
    *,
    number: bool = False,
) -> list[_Wanted]:
    now = services.clock()
    spelling: dict[str, str] = {}
    seen: dict[str, Memory] = {}
    wanted: list[_Wanted] = []
    for position, draft in enumerate(drafts, 1):
        try:
            # One after the other, so that a conversation keeps the order it was given in.
            moment = now + timedelta(microseconds=position - 1)
            memory = memory_of(draft, services, scopes, moment)
            # The first spelling of a scope that does not exist yet is that of the whole batch.
            memory = _placed(memory, spelling.setdefault(fold_name(memory.scope), memory.scope))
            timed = draft.happened_at is not None
            first = seen.setdefault(memory.id, memory)
            if first is not memory and not _same(memory, first, timed=timed):
                raise InvalidInput(f"id {memory.id!r} is given twice, with two contents")
        except InvalidInput as error:
            if not number:
                raise
            raise type(error)(f"memory {position} of {len(drafts)}: {error}") from error
        wanted.append(_Wanted(memory, timed, draft.id is not None))
    return wanted


def _placed(memory: Memory, scope: str) -> Memory:
    return memory if memory.scope == scope else evolve(memory, scope=scope)


def _batches(wanted: Sequence[_Wanted]) -> Iterator[list[_Wanted]]:
    batch: list[_Wanted] = []
    size = 0
    for item in wanted:
        batch.append(item)
        size += len(item.memory.text)
        if len(batch) == _BATCH_MEMORIES or size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _stored(
    services: Services, wanted: Sequence[_Wanted], scopes: Mapping[str, Scope] | None = None
) -> list[Receipt]:
    """Store one batch as a whole, then embed it; `scopes` as they were read a moment ago."""
    for attempt in range(1, _ATTEMPTS + 1):
        if scopes is None:
            scopes = services.storage.scopes()
            # Somebody may have made the scope meanwhile, in another spelling.
            wanted = [evolve(each, memory=settled(each.memory, scopes)) for each in wanted]
        # An id that was made here is new; the commit refuses it if it is not.
        known = {each.memory.id for each in wanted if each.named or attempt > 1}
        models = (services.embedder.model,)
        existing = services.storage.get(known, models=models) if known else {}
        earlier = {
            each.memory.id: _unchanged(services, each.memory, existing[each.memory.id], each.timed)
            for each in wanted
            if each.memory.id in existing
        }
        fresh = {each.memory.id: each.memory for each in wanted if each.memory.id not in existing}
        try:
            if fresh:
                services.storage.commit(_writes(fresh, scopes))
            break
        except Conflict:
            if attempt == _ATTEMPTS:
                raise
            scopes = None
    embedded = embed_new(services, list(fresh.values()))
    first = {
        memory.id: receipt_of(
            memory,
            Outcome.STORED,
            Searchable.MEANING if memory.id in embedded else Searchable.WORDS,
        )
        for memory in fresh.values()
    }
    return [_receipt(each.memory, first, earlier) for each in wanted]


def _receipt(memory: Memory, first: dict[str, Receipt], earlier: Mapping[str, Receipt]) -> Receipt:
    """Return the receipt of a memory; the second of the same id in a batch changed nothing."""
    if memory.id in earlier:
        return earlier[memory.id]
    receipt = first[memory.id]
    first[memory.id] = evolve(receipt, outcome=Outcome.UNCHANGED)
    return receipt


def _writes(fresh: Mapping[str, Memory], scopes: Mapping[str, Scope]) -> list[Write]:
    return [
        *scope_writes({memory.scope for memory in fresh.values()}, scopes),
        *(Put(memory=memory, expected=0) for memory in fresh.values()),
    ]


def _unchanged(services: Services, memory: Memory, record: Record, timed: bool) -> Receipt:
    """Return the receipt of a memory that had been stored before under this id.

    Raises:
        Conflict: the id belongs to another content, or what it had was forgotten.
    """
    current = record.memory
    if current.status is Status.FORGOTTEN:
        raise Conflict(
            f"id {memory.id!r} belongs to a memory that was forgotten: revise it to bring it back,"
            " or choose another id"
        )
    if not any(
        _same(memory, known, timed=timed)
        for known in (current, *services.storage.history(memory.id))
    ):
        raise Conflict(
            f"id {memory.id!r} belongs to another memory, {current.text!r:.120}: choose another id,"
            f" or revise revision {current.revision}"
        )
    meaning = found_by_meaning(services, record)
    searchable = Searchable.MEANING if meaning else Searchable.WORDS
    return receipt_of(current, Outcome.UNCHANGED, searchable)


def _same(one: Memory, other: Memory, *, timed: bool) -> bool:
    """Tell whether two memories say the same; when it happened counts if the caller gave it."""
    adopted = evolve(
        other,
        stored_at=one.stored_at,
        revision=one.revision,
        status=one.status,
        happened_at=other.happened_at if timed else one.happened_at,
    )
    return one == adopted
