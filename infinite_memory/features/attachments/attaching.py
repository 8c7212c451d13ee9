"""Attach images, sounds and files to memories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from attrs import define, evolve, field, frozen

from infinite_memory.core.errors import Conflict, IdTaken, InvalidInput
from infinite_memory.core.values.commit import Commit, Expect, Put, merge_commits
from infinite_memory.core.values.conversation.attachment import describe_attachment
from infinite_memory.core.values.draft import Draft
from infinite_memory.core.values.entry import Operation
from infinite_memory.core.values.link import Link
from infinite_memory.core.values.memory import JsonValue, Kind, Memory, Status, is_content
from infinite_memory.core.values.receipt import Outcome, Receipt, Searchable
from infinite_memory.core.values.record import Record
from infinite_memory.core.values.scope import fold_name
from infinite_memory.engine.conversation_scopes import create_missing_scopes
from infinite_memory.engine.embed import embed_new
from infinite_memory.engine.journal import with_entry
from infinite_memory.engine.load_memories import get_record
from infinite_memory.engine.retry import attempts
from infinite_memory.engine.scopes import read_scope_name
from infinite_memory.engine.services import Services
from infinite_memory.engine.writes.attachments import make_reference
from infinite_memory.engine.writes.receipts import has_vectors, receipt_of
from infinite_memory.engine.writes.validation import build_memory, tell_of
from infinite_memory.features.attachments.data_uri import DataUri
from infinite_memory.features.attachments.draft import AttachmentDraft, check_attachments
from infinite_memory.features.attachments.similarity import check_dimensions

_MAX_ATTACHMENTS = 256
_ID_DIGITS = 32


@frozen(kw_only=True)
class Place:
    """Where attachments go: to a memory, or without one into a scope and a conversation."""

    memory_id: str | None = None
    scope: str | None = None
    conversation_id: str | None = None


def attach_all(
    services: Services, memory_id: str, attachments: Sequence[object] | None
) -> list[Receipt]:
    """Attach what a caller gave with a memory that was just stored; return receipts in order.

    `attachments` are mappings as `check_attachment` takes them, or drafts that
    `prepare_attachments` returned: a writer checks them before it stores the memory, so that an
    error changes nothing. This is a commit after that of the memory; the same call again completes
    what an interruption left, and changes nothing otherwise.

    Raises:
        InvalidInput: an attachment cannot be used; none was stored.
        NotFound: there is no such memory.
    """
    drafts = prepare_attachments(services, attachments)
    return attach(services, Place(memory_id=memory_id), drafts) if drafts else []


def prepare_attachments(services: Services, values: object) -> tuple[AttachmentDraft, ...]:
    """Return what a caller gave with a memory that is not stored yet, checked; None gives ().

    Raises:
        InvalidInput: an attachment cannot be used, or has other dimensions than its model.
    """
    drafts = check_attachments(values, services.config)
    for draft in drafts:
        if draft.embedding is not None and draft.model is not None:
            check_dimensions(services, draft.model, len(draft.embedding))
    return drafts


def attach_after(
    services: Services, receipt: Receipt, drafts: Sequence[AttachmentDraft]
) -> Receipt:
    """Attach to the memory that was just stored; return its receipt, with its revision by then.

    Raises:
        NotFound: the memory was erased meanwhile.
        Conflict: it was forgotten meanwhile, or others kept changing it.
    """
    if not drafts:
        return receipt
    attach(services, Place(memory_id=receipt.id), drafts)
    return evolve(receipt, revision=get_record(services, receipt.id).memory.revision)


def attach(services: Services, place: Place, drafts: Sequence[AttachmentDraft]) -> list[Receipt]:
    """Store attachments and name them in their memory, in one commit; see `Attachments.attach`.

    Raises:
        InvalidInput: the place cannot be used, or an embedding has other dimensions than those of
            its model.
        NotFound: there is no such memory.
        Conflict: the memory was forgotten, or others kept changing it.
    """
    drafts = prepare_attachments(services, drafts)
    salt = 0
    for attempt in attempts():
        plan = _Planner(services, place, salt).plan(drafts)
        try:
            with attempt:
                if plan.commit.changes:
                    reason = "" if place.memory_id is None else f"attached to {place.memory_id}"
                    commit = with_entry(services, Operation.REMEMBER, plan.commit, reason=reason)
                    services.storage.commit(commit)
                break
        except IdTaken:
            # Bytes that a scope outside this handle has under the same id.
            if attempt.is_last:
                raise
            salt += 1
    return _make_receipts(services, plan)


@define
class _Plan:
    """The commit of a call, the memories that it puts, and for each draft its memory's id."""

    commit: Commit = field(factory=Commit)
    ids: list[str] = field(factory=list)
    new: dict[str, Memory] = field(factory=dict)
    changed: dict[str, Memory] = field(factory=dict)
    same: dict[str, Record] = field(factory=dict)


class _Planner:
    """Plans a commit from what the store holds now."""

    def __init__(self, services: Services, place: Place, salt: int) -> None:
        self._services = services
        self._place = place
        self._salt = salt
        # Read first: nothing may come between what is read below and the commit.
        self._number = services.storage.journal_end().number + 1
        self._now = services.clock()
        self._scopes = services.storage.scopes()
        self._owner = None if place.memory_id is None else self._read_owner(place.memory_id)
        self._puts: dict[str, Put] = {}
        self._links: dict[Any, Link] = {}
        self._shares_content = False
        self._used_scopes: set[str] = set()

    def plan(self, drafts: Sequence[AttachmentDraft]) -> _Plan:
        plan = _Plan()
        for draft in drafts:
            self._add_draft(draft, plan)
        if self._owner is not None:
            self._name_in_owner(self._owner, plan.ids)
        present = {link.key for link in self._services.storage.links(plan.ids)}
        plan.commit = merge_commits(
            Commit(expect=Expect(entry_number=self._number if self._shares_content else None)),
            create_missing_scopes(self._used_scopes, self._scopes, self._services),
            Commit(
                puts=tuple(self._puts.values()),
                links=tuple([link for key, link in self._links.items() if key not in present]),
            ),
        )
        return plan

    def _read_owner(self, memory_id: str) -> Record:
        record = get_record(self._services, memory_id)
        memory, scope = record.memory, self._place.scope
        if memory.status is Status.FORGOTTEN:
            raise Conflict(f"memory {memory_id!r} was forgotten: revise it to bring it back first")
        if scope is not None and memory.scope != read_scope_name(
            scope, self._scopes, self._services
        ):
            raise InvalidInput(
                f"scope {scope!r:.100} is not that of memory {memory_id!r}, where its attachments"
                " go: leave the scope out"
            )
        if is_content(memory):
            raise InvalidInput(
                f"memory {memory_id!r} holds stored bytes: nothing is attached to it"
            )
        return record

    def _add_draft(self, draft: AttachmentDraft, plan: _Plan) -> None:
        memory = self._build_memory(draft)
        memory = evolve(memory, id=self._make_attachment_id(draft, memory.scope))
        if draft.data is not None:
            content_id = self._store_content(draft.data, memory)
            values: Any = memory.context["attachment"]
            memory = evolve(memory, context={"attachment": {**values, "content": content_id}})
            self._link_memories(memory.id, content_id)
        stored = self._services.storage.get([memory.id]).get(memory.id)
        plan.ids.append(memory.id)
        if stored is None:
            plan.new[memory.id] = memory
            self._puts[memory.id] = Put(memory=memory, expected=0)
            self._used_scopes.add(memory.scope)
        elif (revised := self._revise_attachment(draft, stored.memory, memory)) is None:
            plan.same[memory.id] = stored
        else:
            plan.changed[memory.id] = revised
            kept = stored.embeddings if revised.text == stored.memory.text else ()
            self._puts[memory.id] = Put(
                memory=revised, expected=stored.memory.revision, embeddings=kept
            )
        if self._owner is not None:
            self._link_memories(self._owner.memory.id, memory.id)

    def _build_memory(self, draft: AttachmentDraft) -> Memory:
        """Return the memory of an attachment: it was told when its memory was, by the same."""
        owner = None if self._owner is None else self._owner.memory
        conversation_id = self._place.conversation_id
        fields: dict[str, Any] = {"scope": self._place.scope, "conversation_id": conversation_id}
        if owner is not None:
            fields = {
                "scope": owner.scope,
                "conversation_id": conversation_id or owner.conversation_id,
                "speaker": owner.speaker,
                "origin": str(owner.origin),
                "happened_at": owner.happened_at,
            }
        return build_memory(
            Draft(
                text=draft.text,
                kind=str(Kind.ATTACHMENT),
                title=draft.title,
                tags=draft.tags,
                context={"attachment": _make_values(draft)},
                **fields,
            ),
            self._services,
            self._scopes,
            self._now,
        )

    def _make_attachment_id(self, draft: AttachmentDraft, scope: str) -> str:
        """Return the id by memory and content, so that a repeated call stores nothing twice."""
        owner = self._owner
        if owner is None:
            place = f"{fold_name(scope)}\n{self._place.conversation_id or ''}"
        else:
            place = owner.memory.id
        content = draft.data.data if draft.data is not None else (draft.uri or "").encode()
        parts = [b"uri" if draft.data is None else b"data", place.encode(), content]
        return f"attachment-{_hash_parts(parts)}"

    def _revise_attachment(
        self, draft: AttachmentDraft, stored: Memory, new: Memory
    ) -> Memory | None:
        """Return the stored attachment with what the call says anew, None if nothing is new."""
        earlier = stored.context.get("attachment")
        known = dict(earlier) if isinstance(earlier, Mapping) else {}
        values = new.context["attachment"]
        assert isinstance(values, dict)
        after = evolve(
            stored,
            kind=new.kind,
            text=new.text if draft.description or draft.title else stored.text,
            title=new.title or stored.title,
            tags=new.tags or stored.tags,
            context={**stored.context, "attachment": {**known, **values}},
            status=Status.CURRENT,
        )
        if after == stored:
            return None
        return self._make_next_revision(after)

    def _make_next_revision(self, memory: Memory) -> Memory:
        stored_at = max(self._now, memory.stored_at)
        return evolve(memory, revision=memory.revision + 1, stored_at=stored_at)

    def _store_content(self, data: DataUri, memory: Memory) -> str:
        """Plan the bytes of an attachment, unless its scope has them; return their id."""
        salt = self._salt
        while True:
            content_id = _make_content_id(data, memory.scope, salt)
            if content_id in self._puts:
                return content_id
            record = self._services.storage.get([content_id], models=()).get(content_id)
            if record is None:
                put = Put(memory=self._build_content(data, memory, content_id), expected=0)
                self._puts[content_id] = put
                return content_id
            if record.memory.scope == memory.scope and is_content(record.memory):
                self._share_content(record.memory)
                return content_id
            # It was moved to another scope with its attachment.
            salt += 1

    def _share_content(self, content: Memory) -> None:
        self._shares_content = True
        if content.status is Status.FORGOTTEN:
            after = self._make_next_revision(evolve(content, status=Status.ARCHIVED))
            self._puts[content.id] = Put(memory=after, expected=content.revision)

    def _build_content(self, data: DataUri, memory: Memory, content_id: str) -> Memory:
        context: dict[str, JsonValue] = {
            "indexed": False,
            "content": {
                "media_type": data.media_type,
                "bytes": len(data.data),
                "sha256": sha256(data.data).hexdigest(),
            },
        }
        draft = Draft(
            text=str(data),
            id=content_id,
            scope=memory.scope,
            context=context,
            happened_at=memory.happened_at,
        )
        content = build_memory(draft, self._services, self._scopes, self._now)
        return evolve(
            content,
            title=describe_attachment(content),
            status=Status.ARCHIVED,
            origin=memory.origin,
        )

    def _link_memories(self, source: str, target: str) -> None:
        link = make_reference(self._services, source, target, self._now)
        self._links[link.key] = link

    def _name_in_owner(self, owner: Record, ids: Sequence[str]) -> None:
        memory = owner.memory
        named = tuple(dict.fromkeys((*memory.attachments, *ids)))
        if named == memory.attachments:
            return
        if len(named) > _MAX_ATTACHMENTS:
            raise InvalidInput(
                f"memory {memory.id!r} would have {len(named)} attachments and the limit is"
                f" {_MAX_ATTACHMENTS}: attach the rest to another memory"
            )
        after = self._make_next_revision(evolve(memory, attachments=named))
        self._puts[memory.id] = Put(
            memory=after, expected=memory.revision, embeddings=owner.embeddings
        )


def _make_values(draft: AttachmentDraft) -> dict[str, JsonValue]:
    """Return the object `attachment` of a context, without what is not known."""
    values: dict[str, JsonValue] = {
        "type": draft.type,
        "media_type": draft.media_type,
        "uri": draft.uri,
        "bytes": None if draft.data is None else len(draft.data.data),
        "model": draft.model,
        "embedding": None if draft.embedding is None else list(draft.embedding),
        "metadata": dict(draft.metadata) or None,
    }
    return {name: value for name, value in values.items() if value is not None}


def _make_content_id(data: DataUri, scope: str, salt: int) -> str:
    """Return the id of bytes in a scope: scopes share none."""
    parts = [fold_name(scope).encode(), str(salt).encode(), data.data]
    return f"content-{_hash_parts(parts)}"


def _hash_parts(parts: Sequence[bytes]) -> str:
    digest = sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()[:_ID_DIGITS]


def _make_receipts(services: Services, plan: _Plan) -> list[Receipt]:
    stored = {**plan.new, **plan.changed}
    contents = [put.memory for put in plan.commit.puts if is_content(put.memory)]
    embedded = embed_new(services, [*stored.values(), *contents]) if stored or contents else None
    receipts = {}
    for memory_id, memory in stored.items():
        has_meaning = embedded is not None and memory_id in embedded
        outcome = Outcome.STORED if memory_id in plan.new else Outcome.REVISED
        receipt = receipt_of(memory, outcome, _choose_searchable(has_meaning))
        receipt = tell_of(services, receipt, memory)
        failure = None if embedded is None else embedded.failure
        receipts[memory_id] = receipt if failure is None else evolve(receipt, pending=(failure,))
    for memory_id, record in plan.same.items():
        searchable = _choose_searchable(has_vectors(services, record))
        receipts.setdefault(memory_id, receipt_of(record.memory, Outcome.UNCHANGED, searchable))
    return [receipts[memory_id] for memory_id in plan.ids]


def _choose_searchable(has_meaning: bool) -> Searchable:
    return Searchable.MEANING if has_meaning else Searchable.WORDS
