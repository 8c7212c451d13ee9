"""Forget: hide a memory from every result, or erase it for good."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from infinite_memory.core.errors import AccessDenied, StoreDamaged
from infinite_memory.core.protocols import discard_erased
from infinite_memory.core.values.commit import Commit, Erase, Expect, Put
from infinite_memory.core.values.entry import Operation
from infinite_memory.core.values.ids import check_id
from infinite_memory.core.values.memory import Kind, Memory, Status, is_content
from infinite_memory.core.values.messages import format_count
from infinite_memory.core.values.receipt import Outcome, Receipt, Searchable
from infinite_memory.core.values.scope import fold_name
from infinite_memory.engine.after_commit import AfterCommit
from infinite_memory.engine.journal import with_entry
from infinite_memory.engine.load_memories import get_record, not_found
from infinite_memory.engine.retry import attempts
from infinite_memory.engine.services import Services
from infinite_memory.engine.writes.attachments import find_attachments, hide_attachments
from infinite_memory.engine.writes.bulk_erase import STILL_READ
from infinite_memory.engine.writes.quoting_summaries import (
    erase_late_summaries,
    find_quoting_summaries,
)
from infinite_memory.engine.writes.receipts import receipt_of
from infinite_memory.storage.attachments import select_attachments

_UNKNOWN_SCOPE = "unknown"


def forget(services: Services, memory_id: str, *, hard: bool) -> Receipt:
    """Take a memory out of every result; `hard` erases it with its history and its vectors.

    Forgetting a forgotten memory changes nothing. A soft forget can be reverted with `revise`. A
    hard forget of an erased memory returns `unchanged`, after it has finished the work of a hard
    forget that was interrupted: of several concurrent calls exactly one returns `erased`. A hard
    forget also erases every summary that quotes the memory, directly or through another summary,
    and the receipt names them, except summaries in scopes that this handle does not show. The
    attachments that no further memory has go with their memory in either case. If the bytes of the
    memory cannot be removed from the files at the moment, the memory is erased anyway, and the
    receipt names the pending step.

    Raises:
        NotFound: the memory does not exist; if `hard`, it was never erased either.
        AccessDenied: a hard forget for a key that may not erase the memory.
        Conflict: other clients kept changing the memory.
    """
    return _erase_memory(services, memory_id) if hard else _hide_memory(services, memory_id)


def _hide_memory(services: Services, memory_id: str) -> Receipt:
    for attempt in attempts():
        record = get_record(services, memory_id)
        before = record.memory
        if before.status is Status.FORGOTTEN:
            return receipt_of(before, Outcome.UNCHANGED, Searchable.NOT)
        after = evolve(
            before,
            status=Status.FORGOTTEN,
            revision=before.revision + 1,
            stored_at=max(services.clock(), before.stored_at),
        )
        with attempt:
            put = Put(memory=after, expected=before.revision, embeddings=record.embeddings)
            puts = (put, *hide_attachments(services, [before]))
            services.storage.commit(with_entry(services, Operation.FORGET, Commit(puts=puts)))
            break
    return receipt_of(after, Outcome.FORGOTTEN, Searchable.NOT)


def _erase_memory(services: Services, memory_id: str) -> Receipt:
    for attempt in attempts():
        with attempt:
            receipt, others = _erase_once(services, memory_id)
            break
    # Also if the memory was erased before: that call may have ended before this step.
    late: list[Memory] = []
    with AfterCommit("erasing the summaries that were stored meanwhile") as of_summaries:
        late = erase_late_summaries(services, [memory_id])
    scrubbed = True
    with AfterCommit("removing its bytes from the files of the store") as in_files:
        scrubbed = services.storage.scrub()
    with AfterCommit("removing its bytes from the index") as in_index:
        known = [memory_id, *(memory.id for memory in (*others, *late))]
        discard_erased(services.index, known if receipt.outcome is Outcome.ERASED else ())
    steps = (of_summaries, in_files, in_index)
    failures = [step.failure for step in steps if step.failure is not None]
    pending = [f"{failure}; forget it once more to finish this" for failure in failures]
    if not scrubbed:
        pending.append(STILL_READ)
    erased = (*receipt.erased, *map(_describe_erased, late))
    return evolve(receipt, erased=erased, pending=tuple(pending))


def _erase_once(services: Services, memory_id: str) -> tuple[Receipt, list[Memory]]:
    """Erase the current revision; its bytes stay in the files until the storage scrubs them.

    The memories that it took along are returned too.

    Raises:
        NotFound: the memory does not exist, and no memory with this id was erased.
        AccessDenied: this handle may not erase it.
        Conflict: another client changed or erased it at the same moment.
    """
    storage = services.storage
    try:
        record = storage.get([check_id(memory_id)]).get(memory_id)
        revisions = storage.history(memory_id)
    except StoreDamaged:
        _check_erases(services, memory_id, [])
        others = _commit_erasure(services, Erase(id=memory_id), None)
        # The memory is unreadable, so the receipt cannot describe it.
        parts = [f"memory {memory_id}, which was damaged", *map(_describe_erased, others)]
        return _make_receipt_of_unknown(services, memory_id, Outcome.ERASED, *parts), others
    if record is None:
        if memory_id not in storage.erased([memory_id]):
            raise not_found(memory_id)
        return _make_receipt_of_unknown(services, memory_id, Outcome.UNCHANGED), []
    _check_erases(services, memory_id, revisions)
    erase = Erase(id=memory_id, expected=record.memory.revision)
    others = _commit_erasure(services, erase, record.memory)
    parts = [f"memory {memory_id}", format_count(len(revisions), "revision", "revisions")]
    count = sum(len(embedding.vectors) for embedding in record.embeddings)
    if count:
        parts.append(f"{count} vector{'s' if count > 1 else ''}")
    parts += map(_describe_erased, others)
    receipt = receipt_of(record.memory, Outcome.ERASED, Searchable.NOT)
    return evolve(receipt, erased=tuple(parts)), others


def _check_erases(services: Services, memory_id: str, revisions: Sequence[Memory]) -> None:
    """Refuse to erase what was not from the first the person's own: others cannot undo it.

    Raises:
        AccessDenied: a revision that is seen here is elsewhere, or none can be read.
    """
    own = services.erases_in
    names = {fold_name(memory.scope) for memory in (*revisions[:1], *revisions[-1:])}
    if own is None or (own and names == {fold_name(own)}):
        return
    raise AccessDenied(
        f"memory {memory_id!r} cannot be erased for good with this key, which erases"
        f" {f'only what was stored in {own!r}' if own else 'nothing'}: forget it instead, which"
        " can be undone, or ask for a key with the right 'admin'; nothing was changed"
    )


def _commit_erasure(services: Services, erase: Erase, memory: Memory | None) -> list[Memory]:
    """Erase a memory, the summaries that quote it and its attachments in one commit.

    `memory` is None if it is damaged. Return the summaries and the attachments.

    Raises:
        Conflict: another client changed or erased one of them at the same moment.
    """
    quoting = find_quoting_summaries(services, [erase.id])
    attachments, expect = _find_attachments(services, erase.id, memory, quoting), Expect()
    if attachments:
        # Nobody may begin to share an attachment between this look and the commit.
        expect = Expect(entry_number=services.storage.journal_end().number + 1)
        attachments = _find_attachments(services, erase.id, memory, quoting)
    others = [*quoting, *attachments.values()]
    erases = (erase, *(Erase(id=memory.id, expected=memory.revision) for memory in others))
    commit = Commit(expect=expect, erases=erases)
    services.storage.commit(with_entry(services, Operation.ERASE, commit))
    return others


def _find_attachments(
    services: Services, memory_id: str, memory: Memory | None, quoting: Sequence[Memory]
) -> dict[str, Memory]:
    if memory is not None:
        return find_attachments(services, [memory, *quoting])
    return select_attachments(services.storage, [memory_id, *(other.id for other in quoting)])


def _describe_erased(memory: Memory) -> str:
    if is_content(memory):
        return f"the stored bytes {memory.id}"
    if memory.kind is Kind.ATTACHMENT:
        return f"attachment {memory.id}"
    noun = "summary" if memory.kind is Kind.SUMMARY else "piece of work"
    if memory.kind is Kind.FACT:
        noun = "statement"
    if "short_term" in memory.context:
        noun = "short-term memory"
    return f"{noun} {memory.id}, which quoted it"


def _make_receipt_of_unknown(
    services: Services, memory_id: str, outcome: Outcome, *erased: str
) -> Receipt:
    """Return the receipt of a memory of which only the id is known."""
    return Receipt(
        id=memory_id,
        outcome=outcome,
        revision=0,
        scope=_UNKNOWN_SCOPE,
        stored_at=services.clock(),
        searchable=Searchable.NOT,
        erased=erased,
    )
