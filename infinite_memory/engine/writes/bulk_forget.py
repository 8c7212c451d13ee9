"""Forget many memories that meet conditions, after a preview, in one commit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from attrs import evolve, frozen

from infinite_memory.core.errors import Conflict, InvalidInput
from infinite_memory.core.values.checks import check_field, check_label
from infinite_memory.core.values.commit import Commit, Expect, Put
from infinite_memory.core.values.criteria import Conditions, Inherited, Mode
from infinite_memory.core.values.entry import Operation
from infinite_memory.core.values.hits import LIKELY
from infinite_memory.core.values.memory import Memory, Status, is_content
from infinite_memory.core.values.receipt import PREVIEWED, BulkReceipt, Preview, make_token
from infinite_memory.engine.conversation_scopes import unnamed_scopes
from infinite_memory.engine.journal import with_entry
from infinite_memory.engine.load_memories import iterate_memories, load_memories
from infinite_memory.engine.retrieval.search import find_hits
from infinite_memory.engine.retrieval.search_request import SearchRequest, build_criteria
from infinite_memory.engine.scopes import ALL
from infinite_memory.engine.services import Services
from infinite_memory.engine.trivial import is_trivial
from infinite_memory.engine.writes.attachments import find_attachments, hide_attachments

_KEPT = tuple([str(status) for status in Status if status is not Status.FORGOTTEN])
_NARROWING = ("scope", "tags", "kinds", "conversation_id", "since", "until", "when")
_PAGE = 1000
_DEFAULT_LIMIT = 10
_MICROSECOND = timedelta(microseconds=1)
# A commit holds the lock of the writers.
_MOST = 20_000


@frozen(kw_only=True)
class _Selection:
    query: str | None
    limit: int | None
    threshold: float | None
    conditions: Conditions


def preview_matching(
    services: Services,
    query: str | None,
    *,
    limit: int | None,
    threshold: float | None,
    conditions: Conditions,
) -> Preview:
    """Return which memories `forget_matching` would forget, and the token that confirms it.

    Raises:
        InvalidInput: nothing was given to choose by, too many memories match, or a value cannot be
            used.
        UnknownScope: a scope does not exist.
    """
    selection = _check_selection(query, limit, threshold, conditions)
    memories = _select_memories(services, selection)
    by_scope = Counter(memory.scope for memory in memories)
    return Preview(
        token=make_token(memories),
        count=len(memories),
        memories=tuple(memories[:PREVIEWED]),
        by_scope=dict(sorted(by_scope.items())),
        elsewhere={} if memories else _count_elsewhere(services, selection),
    )


def forget_matching(
    services: Services,
    token: str,
    query: str | None,
    *,
    limit: int | None,
    threshold: float | None,
    conditions: Conditions,
) -> BulkReceipt:
    """Forget the memories that meet the conditions, in one commit with one entry of the journal.

    Raises:
        Conflict: they are not the memories, at the revisions, of the preview with this token;
            nothing was changed.
        InvalidInput: as for `preview_matching`.
        UnknownScope: a scope does not exist.
    """
    confirmed = check_label(token, "token")
    memories = _select_memories(services, _check_selection(query, limit, threshold, conditions))
    if make_token(memories) != confirmed:
        raise Conflict(
            f"token {confirmed!r:.40} does not confirm what matches now: it is of another preview,"
            " or memories were stored or changed since; nothing was forgotten. Look at the new"
            " preview and confirm that"
        )
    if memories:
        forget_all(services, memories)
    return BulkReceipt(ids=tuple([memory.id for memory in memories]))


def _check_selection(
    query: str | None, limit: int | None, threshold: float | None, conditions: Mapping[str, Any]
) -> _Selection:
    for name in conditions:
        check_field(name, _NARROWING, lack="a choice of memories to forget has no condition")
    given: dict[str, Any] = {
        name: value for name, value in conditions.items() if value not in (None, (), [], "")
    }
    if query is None and not given:
        raise InvalidInput(
            "nothing says what to forget: give a query, tags, a scope, kinds, a conversation or a"
            " time"
        )
    if query is None and (limit is not None or threshold is not None):
        raise InvalidInput("limit and threshold belong to a query: leave them out")
    given |= {"statuses": _KEPT, "mode": Mode.HISTORY, "inherited": Inherited.NONE}
    chosen: Conditions = given  # type: ignore[assignment]
    return _Selection(query=query, limit=limit, threshold=threshold, conditions=chosen)


def _select_memories(services: Services, selection: _Selection) -> list[Memory]:
    """Return the memories that are chosen, and after them their attachments.

    The stored bytes of an attachment go with it and are not listed.
    """
    chosen = [memory for memory in _choose_memories(services, selection) if not is_content(memory)]
    attachments = find_attachments(services, chosen, hidden=True)
    return [*chosen, *(memory for memory in attachments.values() if not is_content(memory))]


def _choose_memories(services: Services, selection: _Selection) -> list[Memory]:
    """Return what meets the conditions: the best first with a query, else the newest."""
    if "scope" not in selection.conditions:
        # A search without a scope reads many; what is forgotten is in the scopes of the caller.
        selection = _name_scopes(services, selection)
    if selection.query is None:
        return _list_matching(services, selection)
    threshold = LIKELY if selection.threshold is None else selection.threshold
    request = SearchRequest(
        text=str(selection.query),
        conditions=selection.conditions,
        # A setting for searches must not change how much is forgotten.
        limit=_DEFAULT_LIMIT if selection.limit is None else selection.limit,
        threshold=threshold,
    )
    # A search shows its first hits below the threshold too, and "Got it." says nothing of a query.
    hits = [
        hit
        for hit in find_hits(services, request)
        if hit.score >= threshold and (not is_trivial(hit.memory.text) or is_trivial(request.text))
    ]
    beside = [each for hit in hits for each in (*hit.twins, *(told.id for told in hit.made_from))]
    return [*(hit.memory for hit in hits), *load_memories(services, beside).values()]


def _name_scopes(services: Services, selection: _Selection) -> _Selection:
    """Return `selection` with the scopes by name that are read where none is named."""
    given = selection.conditions.get("conversation_id")
    conversation_id = None if given is None else check_label(given, "conversation_id")
    unnamed = unnamed_scopes(services, conversation_id, services.storage.scopes())
    conditions: Conditions = {**selection.conditions, "scope": unnamed}
    return evolve(selection, conditions=conditions)


def _list_matching(services: Services, selection: _Selection) -> list[Memory]:
    criteria = build_criteria(services, "", selection.conditions)
    memories: list[Memory] = []
    for memory in iterate_memories(services, criteria):
        memories.append(memory)
        if len(memories) > _MOST:
            start = memory.happened_at + _MICROSECOND
            raise InvalidInput(
                f"more than {_MOST:,} memories match, the most that one change can forget: begin"
                f" with those that happened since {start.isoformat()}"
            )
    return memories


def _count_elsewhere(services: Services, selection: _Selection) -> dict[str, int]:
    """Return the number of memories by open scope that meet all conditions except the scope."""
    narrowing = set(_NARROWING) - {"scope"}
    if selection.query is not None or not narrowing.intersection(selection.conditions):
        return {}
    conditions: Conditions = {**selection.conditions, "scope": ALL}
    counts = Counter(
        m.scope for m in iterate_memories(services, build_criteria(services, "", conditions))
    )
    return dict(sorted(counts.items()))


def forget_all(
    services: Services,
    memories: Sequence[Memory],
    *,
    number: int | None = None,
    reason: str = "",
) -> None:
    """Forget memories with their attachments, in one commit with one entry of the journal.

    `number`, if given, must be that of the entry, and `reason` its reason.

    Raises:
        Conflict: another client changed one of them; nothing was changed.
    """
    attachments = {put.memory.id: put for put in hide_attachments(services, memories)}
    puts = attachments | {
        put.memory.id: put for put in put_changed(services, memories, status=Status.FORGOTTEN)
    }
    expect = Expect() if number is None else Expect(entry_number=number)
    commit = Commit(expect=expect, puts=tuple(puts.values()))
    services.storage.commit(with_entry(services, Operation.FORGET, commit, reason=reason))


def put_changed(services: Services, memories: Sequence[Memory], **changes: Any) -> Iterator[Put]:
    """Yield the writes that change the same fields of many memories, but not their texts."""
    now = services.clock()
    for start in range(0, len(memories), _PAGE):
        part = memories[start : start + _PAGE]
        records = services.storage.get([memory.id for memory in part])
        for memory in part:
            record = records.get(memory.id)
            changed = evolve(
                memory,
                **changes,
                revision=memory.revision + 1,
                stored_at=max(now, memory.stored_at),
            )
            embeddings = () if record is None else record.embeddings
            yield Put(memory=changed, expected=memory.revision, embeddings=embeddings)
