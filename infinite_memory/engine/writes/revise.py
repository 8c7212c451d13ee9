"""Revise: store a new revision of a memory; the history keeps the earlier revisions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

from infinite_memory.core.errors import Conflict, InvalidInput
from infinite_memory.core.secrets import mask_secrets
from infinite_memory.core.values.checks import check_count, check_labels
from infinite_memory.core.values.commit import Commit, Expect, Put, merge_commits
from infinite_memory.core.values.conversation.attachment import is_reference
from infinite_memory.core.values.entry import Operation
from infinite_memory.core.values.link import WITHIN_SCOPE, Link, LinkKey
from infinite_memory.core.values.memory import NOT_USEFUL_FOR, Memory, Status
from infinite_memory.core.values.receipt import Outcome, Receipt, Searchable
from infinite_memory.core.values.record import Embedding, Record
from infinite_memory.core.values.scope import Scope, fold_name
from infinite_memory.engine.after_commit import AfterCommit
from infinite_memory.engine.conversation_scopes import create_missing_scopes
from infinite_memory.engine.embed import embed_new
from infinite_memory.engine.journal import with_entry
from infinite_memory.engine.keys import add_key_holders
from infinite_memory.engine.load_memories import get_record
from infinite_memory.engine.retry import Attempt, attempts
from infinite_memory.engine.services import Services
from infinite_memory.engine.undo.removed_scopes import ScopeRestorer, forgotten_since
from infinite_memory.engine.visibility import quote_text
from infinite_memory.engine.writes.attachments import follow_revision
from infinite_memory.engine.writes.receipts import has_vectors, receipt_of
from infinite_memory.engine.writes.supersession import Placement, Supersession
from infinite_memory.engine.writes.topic_summaries import forget_strayed_topics
from infinite_memory.engine.writes.validation import (
    Found,
    check_fields,
    check_validity,
    resolve_scope,
)
from infinite_memory.search.document import count_long_text


def revise(
    services: Services,
    memory_id: str,
    *,
    revision: int,
    changes: Mapping[str, Any],
    operation: Operation = Operation.REVISE,
) -> Receipt:
    """Change the fields in `changes` of a memory whose current revision is `revision`.

    `supersedes` among the changes are the ids of memories that it replaces from now on.
    `create_scope` among them decides about a scope that does not exist, see `resolve_scope`. If
    this client made the same change before, as after a commit with an unknown outcome, the receipt
    says `unchanged`.

    Raises:
        NotFound: the memory does not exist.
        Conflict: it has another revision by now; the message shows its text, if the caller may see
            it, and the text of the change.
        InvalidInput: a field cannot be used, or a memory in `supersedes` cannot be replaced.
    """
    check_count(revision, "revision", low=1, high=2**62)
    changes = dict(changes)
    supersedes = check_labels(changes.pop("supersedes", ()), "supersedes")
    create_scope = changes.pop("create_scope", None)
    request = _Request(revision, changes, supersedes, create_scope, operation)
    for attempt in attempts():
        if (receipt := _try_to_revise(services, memory_id, request, attempt)) is not None:
            return receipt
    raise AssertionError


@frozen
class _Request:
    """What to change of the memory at `revision`, which memories it supersedes from now on."""

    revision: int
    changes: Mapping[str, Any]
    supersedes: Sequence[str]
    create_scope: bool | None
    operation: Operation


def _try_to_revise(
    services: Services, memory_id: str, request: _Request, attempt: Attempt
) -> Receipt | None:
    """Return the receipt, or None if another client committed between the read and the commit."""
    revision, changes, supersedes = request.revision, request.changes, request.supersedes
    # Read before the memory: no other change may come between this read and the commit.
    is_guarded = supersedes or "scope" in changes
    number = services.storage.journal_end().number + 1 if is_guarded else None
    record = get_record(services, memory_id)
    before = record.memory
    if before.revision != revision + 1:
        _check_revision(services, before, revision, changes)
    scopes = services.storage.scopes()
    found: list[Found] = []
    values = _check_changes(services, request, scopes, before.scope, found)
    if before.revision == revision + 1:
        receipt = _make_receipt_of_same_change(services, record, revision, values)
        if _settle_superseded(services, before, supersedes).superseded:
            raise _make_revision_conflict(services, before, revision, changes)
        return receipt
    after = evolve(before, **_keep_feedback(before, values))
    check_validity(after.valid_from, after.valid_to)
    placement = _settle_superseded(services, after, supersedes)
    superseded = placement.superseded.get(memory_id, ())
    if after == before and not superseded:
        return receipt_of(
            before, Outcome.UNCHANGED, _choose_searchable(before, has_vectors(services, record))
        )
    change, after = _plan_change(services, record, after, scopes)
    expect = Commit(expect=Expect(entry_number=number))
    with attempt:
        is_moved = after.scope != before.scope
        links = services.storage.links([memory_id]) if superseded or is_moved else ()
        parted = Commit(erased_links=_find_parted_links(links) if is_moved else ())
        commit = merge_commits(expect, change, placement.commit, parted)
        count_long_text(after.text)
        services.storage.commit(with_entry(services, request.operation, commit, links=links))
        receipt = _embed_change(services, record, after)
        return evolve(found[0].tell(receipt) if found else receipt, superseded=superseded)
    return None


def _find_parted_links(links: Iterable[Link]) -> tuple[LinkKey, ...]:
    """Return the links that a memory leaves behind when it moves: a link never joins two scopes.

    What it supersedes, what it was made from, and its attachments stay with it.
    """
    return tuple(link.key for link in links if link.type in WITHIN_SCOPE and not is_reference(link))


def _settle_superseded(services: Services, memory: Memory, supersedes: Sequence[str]) -> Placement:
    """Return the effect on the memories that `memory` supersedes."""
    supersession = Supersession(services, services.clock())
    if supersedes:
        if memory.status is Status.FORGOTTEN:
            raise InvalidInput(
                f"{memory.id!r} is forgotten and supersedes nothing: give the status current too"
            )
        supersession.settle(memory, supersedes)
    return supersession.placement()


def _plan_change(
    services: Services, record: Record, after: Memory, scopes: Mapping[str, Scope]
) -> tuple[Commit, Memory]:
    """Return the part of the commit that changes the memory itself, and its new revision."""
    before = record.memory
    if after == before:
        return Commit(), before
    after, scope_commit = _place_memory(services, before, after, scopes)
    stored_at = max(services.clock(), before.stored_at)
    after = evolve(after, revision=before.revision + 1, stored_at=stored_at)
    put = Put(memory=after, expected=before.revision, embeddings=_keep_embeddings(record, after))
    attachments = follow_revision(services, before, after)
    strayed = forget_strayed_topics(services, [after]) if after.scope != before.scope else ()
    return merge_commits(
        scope_commit, Commit(puts=(put,)), attachments, Commit(puts=strayed)
    ), after


def _keep_embeddings(record: Record, after: Memory) -> tuple[Embedding, ...]:
    before = record.memory
    is_same = after.text == before.text and after.is_indexed == before.is_indexed
    return record.embeddings if is_same else ()


def _embed_change(services: Services, record: Record, after: Memory) -> Receipt:
    """Embed the new text, if it changed, and return the receipt, with hints at a new key."""
    embedded = False
    with AfterCommit("the check for vectors"):
        kept = Record(memory=after, embeddings=_keep_embeddings(record, after))
        embedded = has_vectors(services, kept)
    failure = None
    if not embedded:
        result = embed_new(services, [after])
        embedded, failure = after.id in result, result.failure
    receipt = receipt_of(after, Outcome.REVISED, _choose_searchable(after, embedded))
    receipt = receipt if failure is None else evolve(receipt, pending=(failure,))
    before = record.memory
    has_new_key = (after.key, after.scope) != (before.key, before.scope)
    return add_key_holders(services, receipt, after) if has_new_key else receipt


def _place_memory(
    services: Services, before: Memory, after: Memory, scopes: Mapping[str, Scope]
) -> tuple[Memory, Commit]:
    """Return `after` in its scope, and the part of the commit that creates or restores the scope.

    Raises:
        Conflict: the scope of a forgotten memory is less sensitive than when it was forgotten.
    """
    comes_back = before.status is Status.FORGOTTEN and after.status is not Status.FORGOTTEN
    if not comes_back or fold_name(after.scope) != fold_name(before.scope):
        moved = {after.scope} - {before.scope}
        return after, create_missing_scopes(moved, scopes, services)
    # The scope may have been removed while it held only forgotten memories.
    restorer = ScopeRestorer(services, dict(scopes), forgotten_since(services, before))
    scope = restorer.find_scope(after.scope)
    return evolve(after, scope=scope), restorer.commit


def _make_receipt_of_same_change(
    services: Services, record: Record, revision: int, values: Mapping[str, Any]
) -> Receipt:
    """Return the receipt of a change that this client has already made as the current revision.

    Raises:
        Conflict: the current revision is another change, or the change of another client.
    """
    current = record.memory
    made_by = {
        entry.action.actor for entry in services.storage.journal(limit=1, memory_id=current.id)
    }
    if made_by - {services.actor}:
        raise _make_revision_conflict(services, current, revision, values)
    for earlier in services.storage.history(current.id):
        kept = _keep_feedback(earlier, values)
        changed = evolve(earlier, **kept, revision=revision + 1, stored_at=current.stored_at)
        if earlier.revision == revision and changed == current:
            embedded = has_vectors(services, record)
            return receipt_of(current, Outcome.UNCHANGED, _choose_searchable(current, embedded))
    raise _make_revision_conflict(services, current, revision, values)


def _check_changes(
    services: Services,
    request: _Request,
    scopes: Mapping[str, Scope],
    scope: str,
    found: list[Found],
) -> dict[str, Any]:
    """Return the new values of a memory in `scope`; `found` receives what the guard found."""
    changes = request.changes
    if not changes and request.supersedes:
        return {}
    if not changes:
        raise InvalidInput("nothing to revise: give at least one field and its new value")
    moved = {}
    if "scope" in changes:
        scope = resolve_scope(changes["scope"], scopes, services, create=request.create_scope)
        moved = {"scope": scope}
    given = {name: value for name, value in changes.items() if name != "scope"}
    return {**check_fields(given, services, scope, found), **moved}


def _keep_feedback(before: Memory, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the changes of a memory with a new context that keeps the feedback of the present one.

    A caller that writes a context does not mean the feedback of others; `not_useful` removes it.
    """
    if "context" not in values or NOT_USEFUL_FOR not in before.context:
        return values
    kept = {NOT_USEFUL_FOR: before.context[NOT_USEFUL_FOR]}
    return {**values, "context": {**kept, **values["context"]}}


def _check_revision(
    services: Services, memory: Memory, revision: int, changes: Mapping[str, Any]
) -> None:
    if memory.revision != revision:
        raise _make_revision_conflict(services, memory, revision, changes)


def _make_revision_conflict(
    services: Services, memory: Memory, revision: int, changes: Mapping[str, Any]
) -> Conflict:
    text = quote_text(services, memory, max_chars=500)
    yours = ""
    if isinstance(changes.get("text"), str):
        yours = f" and yours {mask_secrets(changes['text'])[0]!r:.500}"
    return Conflict(
        f"memory {memory.id!r} now has revision {memory.revision}, not {revision}; its text"
        f" is {text}{yours}: read it again and decide"
    )


def _choose_searchable(memory: Memory, embedded: bool) -> Searchable:
    if memory.status is Status.FORGOTTEN or not memory.is_indexed:
        return Searchable.NOT
    return Searchable.MEANING if embedded else Searchable.WORDS
