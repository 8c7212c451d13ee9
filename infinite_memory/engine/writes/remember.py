"""Remember: check, store durably, embed, answer with a receipt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from attrs import evolve, frozen

from infinite_memory.core.clock import current_deadline
from infinite_memory.core.errors import (
    Conflict,
    InfiniteMemoryError,
    InvalidInput,
    OutOfTime,
)
from infinite_memory.core.values.checks import check_flag, check_labels
from infinite_memory.core.values.commit import Commit, Expect, merge_commits
from infinite_memory.core.values.draft import Draft
from infinite_memory.core.values.entry import Operation
from infinite_memory.core.values.ids import is_import_id
from infinite_memory.core.values.link import Link, LinkType
from infinite_memory.core.values.memory import GLOBAL, Memory, Status
from infinite_memory.core.values.receipt import Outcome, Receipt, Searchable
from infinite_memory.core.values.record import Embedding, Record, Usage
from infinite_memory.core.values.scope import Scope, fold_name
from infinite_memory.engine.after_commit import AfterCommit
from infinite_memory.engine.conversation_scopes import create_missing_scopes, may_have_own_scope
from infinite_memory.engine.embed import EmbeddedMemories, embed_before, embed_new
from infinite_memory.engine.journal import with_entry
from infinite_memory.engine.keys import add_key_holders
from infinite_memory.engine.retry import attempts
from infinite_memory.engine.scopes import with_known_spelling
from infinite_memory.engine.services import Services
from infinite_memory.engine.visibility import quote_text
from infinite_memory.engine.writes.attachments import link_attachments
from infinite_memory.engine.writes.duplicates import Duplicates, NewMemory, find_duplicates
from infinite_memory.engine.writes.receipts import has_vectors, receipt_of
from infinite_memory.engine.writes.similar import add_similar
from infinite_memory.engine.writes.supersession import Placement, Supersession
from infinite_memory.engine.writes.validation import NO_SECRETS, Found, build_memory
from infinite_memory.search.document import count_long_text

Progress = Callable[[int, int], None]
"""Called from time to time with the number of memories that are done, and their total."""

_MICROSECOND = timedelta(microseconds=1)
# A commit holds the lock of the writers, so the largest imports take several.
_COMMIT_MEMORIES = 20_000
_COMMIT_CHARS = 64 << 20
_EMBEDDED_MEMORIES = 256
# After this many conflicts a memory is stored even if an equal memory appears meanwhile.
_MAX_CHECKED_ATTEMPTS = 10


def remember(
    services: Services,
    draft: Draft,
    *,
    similar: bool = True,
    create_scope: bool | None = None,
    related: Mapping[str, str] | None = None,
) -> Receipt:
    """Store a memory and return its receipt; see `MemoryStore.remember`.

    In the same change it is linked to the memories `related` of its scope, by id with the reason.

    Raises:
        InvalidInput: a field cannot be used.
        Conflict: its id belongs to a memory with different content.
    """
    check_flag(similar, "similar")
    # `Global` always exists, so the scopes need not be read.
    scope: object = services.default_scope if draft.scope is None else draft.scope
    is_global = isinstance(scope, str) and scope == GLOBAL
    is_global = is_global and not may_have_own_scope(services, draft)
    scopes = {GLOBAL: Scope(name=GLOBAL)} if is_global else services.storage.scopes()
    wanted = _prepare_memories(services, [draft], scopes, create_scope=create_scope)
    if related:
        wanted = [evolve(item, related=related) for item in wanted]
    batch = _commit_batch(services, wanted, scopes)
    receipt = _embed_batch(services, wanted, batch)[0]
    memory = _set_scope(wanted[0].memory, receipt.scope)
    if not similar or receipt.outcome is not Outcome.STORED or not memory.is_indexed:
        return receipt
    (placed,), vectors = batch.placement.memories.values(), batch.embedding
    stored = None if vectors is None else Record(memory=placed, embeddings=(vectors,))
    receipt = add_similar(services, receipt, memory, stored, batch.position)
    return add_key_holders(services, receipt, memory)


def remember_many(
    services: Services,
    drafts: Iterable[Draft | Mapping[str, Any]],
    progress: Progress | None = None,
) -> list[Receipt]:
    """Store many memories; return their receipts in the same order.

    All drafts are checked before the first memory is stored. Up to 20,000 memories, and 64 Mi
    characters of text, are one commit: they are stored as a whole or not at all, with one entry in
    the journal. They are embedded afterwards; what an interruption leaves is embedded later. After
    an interruption of a larger import, the same call with the same ids continues where it stopped.

    Raises:
        InvalidInput: a draft cannot be used; the message has its position, counted from 1.
        Conflict: an id belongs to a memory with different content; earlier batches stay stored.
        StoreClosed, StorageError: later batches could not be stored; the message says how many
            memories are.
    """
    wanted = _prepare_memories(services, list(drafts), services.storage.scopes(), number=True)
    receipts: list[Receipt] = []
    for batch in _split_into_batches(wanted):
        try:
            services.calls.check()
            done = len(receipts)
            if done and current_deadline().is_over:
                raise OutOfTime("the call took too long and was ended")
            step = None if progress is None else partial(_add_done, progress, done, len(wanted))
            committed = _commit_batch(services, batch)
            receipts.extend(_embed_batch(services, batch, committed, step))
        except InfiniteMemoryError as error:
            if not receipts:
                raise
            raise _add_stored_count(error, len(receipts), len(wanted)) from error
        if progress is not None:
            progress(len(receipts), len(wanted))
    return receipts


def _add_done(progress: Progress, before: int, total: int, done: int) -> None:
    if before + done < total:
        progress(before + done, total)


def _add_stored_count(error: InfiniteMemoryError, done: int, total: int) -> InfiniteMemoryError:
    """Return an error of the same type whose message adds how many memories were stored."""
    return type(error)(
        f"{error}; the first {done:,} of {total:,} memories are stored: with ids of your own, the"
        " same call goes on from there"
    )


def _prepare_memories(
    services: Services,
    drafts: Sequence[Draft | Mapping[str, Any]],
    scopes: Mapping[str, Scope],
    *,
    number: bool = False,
    create_scope: bool | None = None,
) -> list[NewMemory]:
    now = services.clock()
    spelling: dict[str, str] = {}
    seen: dict[str, Memory] = {}
    wanted: list[NewMemory] = []
    found: list[Found] = []
    for position, given in enumerate(drafts, 1):
        try:
            draft = given if isinstance(given, Draft) else Draft.of(given)
            # Increasing times, so that a conversation keeps the order of its messages.
            memory = build_memory(
                draft, services, scopes, now, create_scope=create_scope, found=found
            )
            now += _MICROSECOND
            # The whole batch uses the first spelling of a scope that does not exist yet.
            memory = _set_scope(memory, spelling.setdefault(fold_name(memory.scope), memory.scope))
            timed = draft.happened_at is not None
            first = seen.setdefault(memory.id, memory)
            if first is not memory and not _has_same_request_fields(memory, first, timed=timed):
                raise InvalidInput(f"id {memory.id!r} is given twice, with two contents")
        except InvalidInput as error:
            if not number:
                raise
            raise type(error)(f"memory {position} of {len(drafts)}: {error}") from error
        supersedes = check_labels(draft.supersedes, "supersedes")
        named = draft.id is not None
        wanted.append(NewMemory(memory, timed, named, supersedes, secrets=found[-1]))
    return wanted


def _set_scope(memory: Memory, scope: str) -> Memory:
    return memory if memory.scope == scope else evolve(memory, scope=scope)


def _split_into_batches(wanted: Sequence[NewMemory]) -> Iterator[list[NewMemory]]:
    batch: list[NewMemory] = []
    size = 0
    for item in wanted:
        batch.append(item)
        size += len(item.memory.text)
        if len(batch) == _COMMIT_MEMORIES or size >= _COMMIT_CHARS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


@frozen(kw_only=True)
class _CommittedBatch:
    """The result of a commit; `earlier` has the receipts of memories stored by an earlier call.

    `embedding` was stored with a single memory, None if any are to be embedded; `position` is that
    of the feed after the commit.
    """

    duplicates: Duplicates
    placement: Placement
    earlier: Mapping[str, Receipt]
    embedding: Embedding | None = None
    position: int = 0


def _embed_batch(
    services: Services,
    wanted: Sequence[NewMemory],
    batch: _CommittedBatch,
    progress: Callable[[int], None] | None = None,
) -> list[Receipt]:
    """Embed a batch that was stored and return its receipts, in the order of `wanted`.

    `progress` is called with the number of memories that were embedded so far.
    """
    new = batch.placement.memories
    # Of a call that a client waits for, whose vectors may come later, all or none.
    step = max(1, len(new)) if current_deadline().is_awaited else _EMBEDDED_MEMORIES
    receipts: dict[str, Receipt] = {}
    for start in range(0, len(new), step):
        receipts |= _embed_part(services, batch, start, step)
        if progress is not None:
            progress(len(receipts))
    duplicates = _count_duplicates(services, batch.duplicates, receipts)
    ids = [item.memory.id for item in wanted]
    ordered = _order_receipts(ids, {**receipts, **batch.earlier, **duplicates})
    for at, item in enumerate(wanted):
        if item.secrets is not NO_SECRETS:
            ordered[at] = item.secrets.tell(ordered[at])
    return ordered


def _embed_part(
    services: Services, batch: _CommittedBatch, start: int, count: int
) -> dict[str, Receipt]:
    """Embed `count` stored memories from the position `start`, and return their receipts."""
    placement = batch.placement
    memories = list(placement.memories.values())[start : start + count]
    embedded = EmbeddedMemories(ids=frozenset(placement.memories))
    if batch.embedding is None:
        embedded = embed_new(services, memories)
    receipts = {
        memory.id: _make_receipt(memory, placement, meaning=memory.id in embedded)
        for memory in memories
    }
    if embedded.failure is None:
        return receipts
    pending = (embedded.failure,)
    return {i: evolve(receipt, pending=pending) for i, receipt in receipts.items()}


def _commit_batch(
    services: Services, wanted: Sequence[NewMemory], scopes: Mapping[str, Scope] | None = None
) -> _CommittedBatch:
    """Commit a batch as a whole; None for `scopes` reads them from the storage.

    After a conflict with a concurrent writer, read the store again and retry.
    """
    embedding, position = None, 0
    for attempt in attempts():
        if scopes is None:
            scopes = services.storage.scopes()
            # Another client may have created the scope meanwhile, in another spelling.
            wanted = [
                evolve(item, memory=with_known_spelling(item.memory, scopes)) for item in wanted
            ]
        # A generated id is new; otherwise the commit refuses it.
        known = {item.memory.id for item in wanted if item.named or attempt.number > 1}
        existing = _load_records(services, known) if known else {}
        earlier = {
            item.memory.id: _make_receipt_of_stored(services, item, existing[item.memory.id])
            for item in wanted
            if item.memory.id in existing
        }
        fresh = {item.memory.id: item for item in wanted if item.memory.id not in existing}
        # A single memory is nearly always new; the commit is refused if it may not be.
        assume_none = attempt.number == 1 and len(wanted) == 1
        duplicates = find_duplicates(services, list(fresh.values()), assume_none=assume_none)
        if assume_none and duplicates.fresh:
            embedding = embed_before(services, duplicates.fresh[0].memory)
        expect = duplicates.expect if attempt.number <= _MAX_CHECKED_ATTEMPTS else Expect()
        with attempt:
            placement = _place_memories(services, duplicates.fresh)
            if duplicates.fresh:
                own = Commit(expect=expect, links=[*_link_related(services, duplicates.fresh)])
                commit = _plan_commit(services, own, placement, scopes, embedding)
                if len(wanted) == 1:
                    count_long_text(wanted[0].memory.text)
                position = services.storage.commit(with_entry(services, Operation.REMEMBER, commit))
            break
        scopes = None
    return _CommittedBatch(
        duplicates=duplicates,
        placement=placement,
        earlier=earlier,
        embedding=embedding,
        position=position,
    )


def _plan_commit(
    services: Services,
    own: Commit,
    placement: Placement,
    scopes: Mapping[str, Scope],
    embedding: Embedding | None,
) -> Commit:
    """Return `own` with what stores new memories; `embedding` is that of a single one."""
    memories, commit = placement.memories.values(), placement.commit
    if embedding is not None:
        puts = [evolve(p, embeddings=(embedding,)) if not p.expected else p for p in commit.puts]
        commit = evolve(commit, puts=tuple(puts))
    missing = create_missing_scopes({memory.scope for memory in memories}, scopes, services)
    return merge_commits(own, missing, commit, link_attachments(services, memories))


def _link_related(services: Services, new: Iterable[NewMemory]) -> Iterator[Link]:
    for item in new:
        for other, reason in item.related.items():
            yield Link(
                source=item.memory.id,
                target=other,
                type=LinkType.CONTEXT,
                made_by=services.actor.client,
                reason=reason,
                made_at=item.memory.stored_at,
            )


def _load_records(services: Services, ids: Collection[str]) -> dict[str, Record]:
    return services.storage.get(ids, models=(services.embedder.model,))


def _make_receipt(memory: Memory, placement: Placement, *, meaning: bool) -> Receipt:
    """Return the receipt of a new memory; `meaning` says that it has vectors."""
    return Receipt(
        id=memory.id,
        outcome=Outcome.STORED,
        revision=memory.revision,
        scope=memory.scope,
        stored_at=memory.stored_at,
        searchable=_choose_searchable(memory, meaning=meaning),
        superseded=placement.superseded.get(memory.id, ()),
        superseded_by=placement.superseded_by.get(memory.id),
        conflicts=placement.conflicts.get(memory.id, ()),
    )


def _choose_searchable(memory: Memory, *, meaning: bool) -> Searchable:
    if not memory.is_indexed:
        return Searchable.NOT
    return Searchable.MEANING if meaning else Searchable.WORDS


def _count_duplicates(
    services: Services, duplicates: Duplicates, new: Mapping[str, Receipt]
) -> dict[str, Receipt]:
    """Count the repeats of stored memories; return the receipts of repeats and echoes.

    `new` has the receipts of the memories that this batch stored.
    """
    if not duplicates.repeats and not duplicates.echoes:
        return {}
    counts = Counter(memory.id for memory in duplicates.repeats.values())
    now = services.clock()
    with AfterCommit("the count of repeats"):
        services.storage.count_usage(
            {memory_id: Usage(count=count, last=now) for memory_id, count in counts.items()}
        )
    outcomes = {
        **{i: (Outcome.STRENGTHENED, memory) for i, memory in duplicates.repeats.items()},
        **{i: (Outcome.ECHO, memory) for i, memory in duplicates.echoes.items()},
    }
    ids = {memory.id for _, memory in outcomes.values()} - set(new)
    by_meaning = _select_embedded(services, ids) if ids else frozenset()
    receipts = {}
    for duplicate_id, (outcome, memory) in outcomes.items():
        if memory.id in new:
            receipts[duplicate_id] = evolve(new[memory.id], outcome=outcome)
            continue
        searchable = Searchable.MEANING if memory.id in by_meaning else Searchable.WORDS
        receipts[duplicate_id] = receipt_of(memory, outcome, searchable)
    return receipts


def _select_embedded(services: Services, ids: Collection[str]) -> frozenset[str]:
    """Return the `ids` of stored memories that have vectors; none if the storage cannot tell."""
    with AfterCommit("the check for vectors"):
        records = _load_records(services, ids)
        return frozenset(i for i, record in records.items() if has_vectors(services, record))
    return frozenset()


def _order_receipts(ids: Sequence[str], receipts: Mapping[str, Receipt]) -> list[Receipt]:
    """Return the receipts in the order of `ids`; a second receipt of an id is `unchanged`."""
    seen: set[str] = set()
    ordered = []
    for memory_id in ids:
        again = memory_id in seen
        receipt = receipts[memory_id]
        ordered.append(evolve(receipt, outcome=Outcome.UNCHANGED) if again else receipt)
        seen.add(memory_id)
    return ordered


def _place_memories(services: Services, fresh: Sequence[NewMemory]) -> Placement:
    if all(item.memory.key is None and not item.supersedes for item in fresh):
        return Placement.without_keys(item.memory for item in fresh)
    supersession = Supersession(services, services.clock())
    for item in fresh:
        supersession.place(item.memory, item.supersedes, timed=item.timed)
    return supersession.placement()


def _make_receipt_of_stored(services: Services, new: NewMemory, record: Record) -> Receipt:
    """Return the receipt of a memory whose id an earlier call has stored, as `record`.

    Raises:
        Conflict: the stored memory has different content, or was forgotten.
    """
    memory, current = new.memory, record.memory
    searchable = Searchable.MEANING if has_vectors(services, record) else Searchable.WORDS
    if is_import_id(memory.id) and current.text == memory.text:
        # The file was imported before; what was changed or forgotten since stays so.
        is_forgotten = current.status is Status.FORGOTTEN
        return receipt_of(
            current, Outcome.UNCHANGED, Searchable.NOT if is_forgotten else searchable
        )
    if current.status is Status.FORGOTTEN:
        raise Conflict(
            f"id {memory.id!r} belongs to a memory that was forgotten: revise it to bring it back,"
            " or choose another id"
        )
    if not any(
        _has_same_request_fields(memory, revision, timed=new.timed)
        for revision in (current, *services.storage.history(memory.id))
    ):
        text = quote_text(services, current, memory.scope, max_chars=120)
        raise Conflict(
            f"id {memory.id!r} belongs to another memory, {text}: choose another id,"
            f" or revise revision {current.revision}"
        )
    return receipt_of(current, Outcome.UNCHANGED, searchable)


def _has_same_request_fields(new: Memory, stored: Memory, *, timed: bool) -> bool:
    """Return whether two requests say the same; `happened_at` counts only if `timed`.

    The placement among memories with the same key may have given the stored memory a `valid_from`
    or a `valid_to` that its caller did not give.
    """
    has_assigned_start = not timed and new.valid_from is None and stored.key is not None
    has_assigned_end = stored.status is Status.SUPERSEDED or (
        stored.key is not None and new.valid_to is None
    )
    adopted = evolve(
        stored,
        stored_at=new.stored_at,
        valid_from=None if has_assigned_start else stored.valid_from,
        valid_to=new.valid_to if has_assigned_end else stored.valid_to,
        revision=new.revision,
        status=new.status,
        happened_at=stored.happened_at if timed else new.happened_at,
    )
    return new == adopted
