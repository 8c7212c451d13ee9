"""Remember: check, store durably, embed, answer with a receipt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta

from attrs import evolve, frozen

from infinite_memory.errors import Conflict, IdTaken, InfiniteMemoryError, InvalidInput
from infinite_memory.model.checks import check_labels
from infinite_memory.model.commit import Commit, Expect, merge_commits
from infinite_memory.model.draft import Draft
from infinite_memory.model.entry import Operation
from infinite_memory.model.memory import GLOBAL, Memory, Status
from infinite_memory.model.receipt import Outcome, Receipt, Searchable
from infinite_memory.model.record import Record
from infinite_memory.model.scope import Scope, fold_name
from infinite_memory.model.usage import Usage
from infinite_memory.operations.embed import embed_new
from infinite_memory.operations.journal import with_entry
from infinite_memory.operations.retrieval.similar import add_similar
from infinite_memory.operations.retry import attempts
from infinite_memory.operations.scopes import create_missing_scopes, settled
from infinite_memory.operations.services import Services
from infinite_memory.operations.visibility import quote_text
from infinite_memory.operations.writes.after_commit import AfterCommit
from infinite_memory.operations.writes.duplicates import Duplicates, NewMemory, find_duplicates
from infinite_memory.operations.writes.supersession import Placement, Superseding
from infinite_memory.operations.writes.validation import memory_of

__all__ = ["Progress", "found_by_meaning", "receipt_of", "remember", "remember_many"]

Progress = Callable[[int, int], None]
"""Told after each batch how many memories are done, and of how many."""

_MICROSECOND = timedelta(microseconds=1)
_BATCH_MEMORIES = 256
_BATCH_BYTES = 4 << 20
# Where others go on storing the same, it is stored without a look at the last of them.
_EXPECTING = 10


def remember(services: Services, draft: Draft, *, similar: bool = True) -> Receipt:
    """Store one memory and return its receipt; `similar` asks for the memories that are near it.

    Raises:
        InvalidInput: a field cannot be used.
        Conflict: its id belongs to a memory with another content.
    """
    # `Global` is always there, whatever other scopes are.
    place: object = services.config.default_scope if draft.scope is None else draft.scope
    general = isinstance(place, str) and place == GLOBAL
    scopes = {GLOBAL: Scope(name=GLOBAL)} if general else services.storage.scopes()
    wanted = _prepared(services, [draft], scopes)
    receipt = _stored(services, wanted, scopes)[0]
    return add_similar(services, receipt, wanted[0].memory) if similar else receipt


def remember_many(
    services: Services, drafts: Iterable[Draft], progress: Progress | None = None
) -> list[Receipt]:
    """Store many memories; return their receipts in the same order.

    All are checked before the first is stored. They are stored in batches, each as a whole; after
    an interruption the same call with the same ids goes on where it stopped.

    Raises:
        InvalidInput: a draft cannot be used; the message says which, counted from 1.
        Conflict: an id belongs to a memory with another content; earlier batches stay stored.
        StoreClosed, StorageError: the rest could not be stored; the message says how many are.
    """
    wanted = _prepared(services, list(drafts), services.storage.scopes(), number=True)
    receipts: list[Receipt] = []
    for batch in _batches(wanted):
        try:
            services.calls.check()
            receipts.extend(_stored(services, batch))
        except InfiniteMemoryError as error:
            if not receipts:
                raise
            raise _cut_short(error, len(receipts), len(wanted)) from error
        if progress is not None:
            progress(len(receipts), len(wanted))
    return receipts


def _cut_short(error: InfiniteMemoryError, done: int, total: int) -> InfiniteMemoryError:
    """Return the same kind of error with what was stored before it."""
    return type(error)(
        f"{error}; the first {done:,} of {total:,} memories are stored: with ids of your own, the"
        " same call goes on from there"
    )


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


def _prepared(
    services: Services,
    drafts: Sequence[Draft],
    scopes: Mapping[str, Scope],
    *,
    number: bool = False,
) -> list[NewMemory]:
    now = services.clock()
    spelling: dict[str, str] = {}
    seen: dict[str, Memory] = {}
    wanted: list[NewMemory] = []
    for position, draft in enumerate(drafts, 1):
        try:
            # One after the other, so that a conversation keeps the order it was given in.
            memory = memory_of(draft, services, scopes, now)
            now += _MICROSECOND
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
        supersedes = check_labels(draft.supersedes, "supersedes")
        wanted.append(NewMemory(memory, timed, draft.id is not None, supersedes))
    return wanted


def _placed(memory: Memory, scope: str) -> Memory:
    return memory if memory.scope == scope else evolve(memory, scope=scope)


def _batches(wanted: Sequence[NewMemory]) -> Iterator[list[NewMemory]]:
    batch: list[NewMemory] = []
    size = 0
    for item in wanted:
        batch.append(item)
        size += len(item.memory.text)
        if len(batch) == _BATCH_MEMORIES or size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


@frozen(kw_only=True)
class _Committed:
    """What a commit left: duplicates, the place of what is new, and what was there before."""

    duplicates: Duplicates
    placed: Placement
    earlier: Mapping[str, Receipt]


def _stored(
    services: Services, wanted: Sequence[NewMemory], scopes: Mapping[str, Scope] | None = None
) -> list[Receipt]:
    """Store one batch as a whole, then embed it; `scopes` as they were read a moment ago."""
    done = _committed(services, wanted, scopes)
    new = done.placed.memories
    embedded = embed_new(services, list(new.values()))
    first = {each: _first(memory, done, meaning=each in embedded) for each, memory in new.items()}
    if embedded.failure is not None:
        first = {i: evolve(receipt, pending=(embedded.failure,)) for i, receipt in first.items()}
    again = _again(services, done.duplicates, first)
    return _in_order([each.memory.id for each in wanted], {**first, **done.earlier, **again})


def _committed(
    services: Services, wanted: Sequence[NewMemory], scopes: Mapping[str, Scope] | None
) -> _Committed:
    """Commit one batch, looking again at what is there where others changed it meanwhile."""
    for attempt, last in enumerate(attempts(), 1):
        if scopes is None:
            scopes = services.storage.scopes()
            # Somebody may have made the scope meanwhile, in another spelling.
            wanted = [evolve(each, memory=settled(each.memory, scopes)) for each in wanted]
        # An id that was made here is new; the commit refuses it if it is not.
        known = {each.memory.id for each in wanted if each.named or attempt > 1}
        existing = _existing(services, known) if known else {}
        earlier = {
            each.memory.id: _unchanged(services, each.memory, existing[each.memory.id], each.timed)
            for each in wanted
            if each.memory.id in existing
        }
        fresh = {each.memory.id: each for each in wanted if each.memory.id not in existing}
        # One alone is nearly always new: the commit tells if it may not be.
        assume_none = attempt == 1 and len(wanted) == 1
        duplicates = find_duplicates(services, list(fresh.values()), assume_none=assume_none)
        expect = duplicates.expect if attempt <= _EXPECTING else Expect()
        try:
            placed = _placed_among_others(services, duplicates.fresh)
            if duplicates.fresh:
                names = {memory.scope for memory in placed.memories.values()}
                commit = merge_commits(
                    Commit(expect=expect), create_missing_scopes(names, scopes), placed.commit
                )
                services.storage.commit(with_entry(services, Operation.REMEMBER, commit))
            return _Committed(duplicates=duplicates, placed=placed, earlier=earlier)
        except Conflict as error:
            if last or isinstance(error, IdTaken):
                raise
            scopes = None
    raise AssertionError


def _existing(services: Services, ids: Collection[str]) -> dict[str, Record]:
    return services.storage.get(ids, models=(services.embedder.model,))


def _first(memory: Memory, done: _Committed, *, meaning: bool) -> Receipt:
    """Return the receipt of a memory that was stored just now."""
    placed = done.placed
    return Receipt(
        id=memory.id,
        outcome=Outcome.STORED,
        revision=memory.revision,
        scope=memory.scope,
        stored_at=memory.stored_at,
        searchable=Searchable.MEANING if meaning else Searchable.WORDS,
        superseded=placed.superseded.get(memory.id, ()),
        superseded_by=placed.superseded_by.get(memory.id),
        conflicts=placed.conflicts.get(memory.id, ()),
    )


def _again(
    services: Services, duplicates: Duplicates, first: Mapping[str, Receipt]
) -> dict[str, Receipt]:
    """Strengthen what was repeated; return the receipts of repeats and echoes."""
    if not duplicates.repeats and not duplicates.echoes:
        return {}
    counts = Counter(memory.id for memory in duplicates.repeats.values())
    now = services.clock()
    with AfterCommit("the count of repeats"):
        services.storage.count_usage(
            {each: Usage(count=count, last=now) for each, count in counts.items()}
        )
    told = {
        **{new: (Outcome.STRENGTHENED, memory) for new, memory in duplicates.repeats.items()},
        **{new: (Outcome.ECHO, memory) for new, memory in duplicates.echoes.items()},
    }
    ids = {memory.id for _, memory in told.values()} - set(first)
    by_meaning = _found_by_meaning(services, ids) if ids else frozenset()
    receipts = {}
    for new, (outcome, memory) in told.items():
        if memory.id in first:
            receipts[new] = evolve(first[memory.id], outcome=outcome)
            continue
        searchable = Searchable.MEANING if memory.id in by_meaning else Searchable.WORDS
        receipts[new] = receipt_of(memory, outcome, searchable)
    return receipts


def _found_by_meaning(services: Services, ids: Collection[str]) -> frozenset[str]:
    """Return which of these stored memories can be found by meaning; none where that is unknown."""
    with AfterCommit("the look at what is embedded"):
        records = _existing(services, ids)
        return frozenset(i for i, each in records.items() if found_by_meaning(services, each))
    return frozenset()


def _in_order(ids: Sequence[str], receipts: Mapping[str, Receipt]) -> list[Receipt]:
    """Return the receipt of each id; the second of the same id in a batch changed nothing."""
    told: set[str] = set()
    ordered = []
    for memory_id in ids:
        receipt = receipts[memory_id]
        again = memory_id in told
        ordered.append(evolve(receipt, outcome=Outcome.UNCHANGED) if again else receipt)
        told.add(memory_id)
    return ordered


def _placed_among_others(services: Services, fresh: Sequence[NewMemory]) -> Placement:
    if all(each.memory.key is None and not each.supersedes for each in fresh):
        return Placement.alone(each.memory for each in fresh)
    superseding = Superseding(services, services.clock())
    for each in fresh:
        superseding.place(each.memory, each.supersedes, timed=each.timed)
    return superseding.placement()


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
        text = quote_text(services, current, memory.scope, max_chars=120)
        raise Conflict(
            f"id {memory.id!r} belongs to another memory, {text}: choose another id,"
            f" or revise revision {current.revision}"
        )
    meaning = found_by_meaning(services, record)
    searchable = Searchable.MEANING if meaning else Searchable.WORDS
    return receipt_of(current, Outcome.UNCHANGED, searchable)


def _same(one: Memory, other: Memory, *, timed: bool) -> bool:
    """Tell whether two memories say the same; when it happened counts if the caller gave it.

    One with a key may have a `valid_from` that nobody gave, as it was put behind another, and a
    `valid_to`, as it was put before another.
    """
    put_behind = not timed and one.valid_from is None and other.key is not None
    closed = other.status is Status.SUPERSEDED or (other.key is not None and one.valid_to is None)
    adopted = evolve(
        other,
        stored_at=one.stored_at,
        valid_from=None if put_behind else other.valid_from,
        valid_to=one.valid_to if closed else other.valid_to,
        revision=one.revision,
        status=one.status,
        happened_at=other.happened_at if timed else one.happened_at,
    )
    return one == adopted
