"""Plan the documents that a commit writes, given the documents before it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeVar

from attrs import field, frozen

from infinite_memory.core.errors import StoreDamaged
from infinite_memory.core.values.commit import Attach, Commit, Detach, Erase, Put
from infinite_memory.core.values.entry import Action, JournalEnd
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.record import Embedding
from infinite_memory.storage.mongodb.access_keys import encode_access_key
from infinite_memory.storage.mongodb.document_writes import DocumentWrites
from infinite_memory.storage.mongodb.documents import (
    Document,
    decode_memory,
    encode_memory,
    encode_revision,
    encode_scope,
    revision_of,
    stored_of,
)
from infinite_memory.storage.mongodb.journal import encode_entry, next_entry
from infinite_memory.storage.mongodb.links import encode_link, link_condition, link_id
from infinite_memory.storage.mongodb.passages import Stored, entry_for_embedding, passage_documents
from infinite_memory.storage.mongodb.schema import (
    ACCESS_KEYS,
    ERASED,
    JOURNAL,
    LINKS,
    MEMORIES,
    PASSAGES,
    REVISIONS,
    SCOPES,
    USAGE,
)

_Change = TypeVar("_Change", Erase, Put, Attach, Detach)


@frozen(kw_only=True)
class Plan:
    """The document writes of a commit, and the fields of the store document after it.

    `moves` says of each erase, put, attach and detach, in this order, whether it moved the feed.
    """

    writes: DocumentWrites
    sequence: int
    moves: tuple[bool, ...] = ()
    journal: JournalEnd
    active_model: str | None = None


@frozen(kw_only=True)
class Before:
    """The state of a database before a commit.

    `documents` are the documents of the memories that the commit writes, `erased` the ids among
    them that were erased before, `ends` the existing ids among the ends of its links. `sequence` is
    the number of the last change.
    """

    documents: Mapping[str, Document]
    erased: frozenset[str] = frozenset()
    ends: frozenset[str] = frozenset()
    sequence: int
    journal: JournalEnd = field(factory=JournalEnd)


def written_ids(commit: Commit) -> list[str]:
    """Return the ids of the memories that a commit writes, without duplicates."""
    ids = [memory_id for memory_id, _, _ in commit.revisions()]
    ids += [attach.id for attach in commit.attaches]
    ids += [detach.id for detach in commit.detaches]
    return list(dict.fromkeys(ids))


def linked_ids(commit: Commit) -> list[str]:
    """Return the ids of the memories that a commit links, without duplicates."""
    return list(dict.fromkeys(end for link in commit.links for end in (link.source, link.target)))


def plan_commit(commit: Commit, before: Before, *, refuse: Callable[[str], StoreDamaged]) -> Plan:
    """Return the document writes of `commit`.

    Raises:
        InvalidInput: a memory, a link or an entry cannot be kept as a document.
        StoreDamaged: a damaged memory would go into the history, or would receive an embedding.
    """
    planner = _Planner(before, refuse)
    planner.apply(commit)
    return Plan(
        writes=planner.writes,
        sequence=planner.sequence,
        moves=tuple(planner.moves),
        journal=planner.journal,
        active_model=commit.active_model,
    )


class _Planner:
    """Collects the writes of a commit, in the order in which its parts take effect."""

    def __init__(self, before: Before, refuse: Callable[[str], StoreDamaged]) -> None:
        self.writes = DocumentWrites()
        self.moves: list[bool] = []
        self.sequence = before.sequence
        self.journal = before.journal
        self._before = before
        self._refuse = refuse
        self._documents = dict(before.documents)
        self._existing = {*before.documents, *before.ends}
        self._erased = set(before.erased)
        # The passages to put, by memory and model: a later part of the commit may withdraw them.
        self._passages: dict[str, dict[str, list[Document]]] = {}

    def apply(self, commit: Commit) -> None:
        self._plan_each(self._plan_erase, commit.erases)
        self._plan_each(self._plan_put, commit.puts)
        self._plan_each(self._plan_attach, commit.attaches)
        self._plan_each(self._plan_detach, commit.detaches)
        self._put_passages()
        self._apply_links(commit)
        self._apply_scopes(commit)
        for key in commit.access_keys:
            self.writes.put(ACCESS_KEYS, encode_access_key(key))
        for action in commit.past_entries:
            self._append_entry(action)
        if commit.entry is not None:
            self._append_entry(commit.entry)

    def _plan_each(self, plan: Callable[[_Change], None], changes: Sequence[_Change]) -> None:
        for change in changes:
            before = self.sequence
            plan(change)
            self.moves.append(self.sequence > before)

    def _put_passages(self) -> None:
        for by_model in self._passages.values():
            for passages in by_model.values():
                for passage in passages:
                    self.writes.put(PASSAGES, passage)

    def _apply_links(self, commit: Commit) -> None:
        for key in commit.erased_links:
            self.writes.delete_id(LINKS, link_id(key))
        for link in commit.links:
            document = encode_link(link)
            if link.source in self._existing and link.target in self._existing:
                self.writes.put(LINKS, document)

    def _apply_scopes(self, commit: Commit) -> None:
        for name in commit.erased_scopes:
            self.writes.delete_id(SCOPES, name)
        for scope in commit.scopes:
            self.writes.put(SCOPES, encode_scope(scope))

    def _plan_erase(self, erase: Erase) -> None:
        if self._documents.pop(erase.id, None) is None:
            return
        self._existing.discard(erase.id)
        self._erased.add(erase.id)
        for collection in (REVISIONS, PASSAGES):
            self.writes.delete(collection, {"memory_id": {"$eq": erase.id}})
        for collection in (MEMORIES, USAGE):
            self.writes.delete_id(collection, erase.id)
        self.writes.delete(LINKS, link_condition(erase.id))
        self.writes.put(ERASED, {"_id": erase.id, "sequence": self._take_sequence()})

    def _plan_put(self, put: Put) -> None:
        memory = put.memory
        replaced = self._documents.get(memory.id)
        if replaced is not None:
            self.writes.put(REVISIONS, encode_revision(self._decode_memory(replaced)))
            self._drop_passages(memory.id)
        if memory.id in self._erased:
            self._erased.remove(memory.id)
            self.writes.delete_id(ERASED, memory.id)
        stamp = self._take_sequence()
        stored = [self._plan_embedding(memory, embedding, stamp) for embedding in put.embeddings]
        self._put_memory(memory, put.content_hash, stored, stamp)

    def _plan_attach(self, attach: Attach) -> None:
        document = self._documents.get(attach.id)
        if document is None or revision_of(document) != attach.revision:
            return
        memory = self._decode_memory(document)
        model = attach.embedding.model
        kept = [stored for stored in stored_of(document) if stored.model != model]
        self._drop_passages(attach.id, [model])
        stamp = self._take_sequence()
        stored = [*kept, self._plan_embedding(memory, attach.embedding, stamp)]
        self._put_memory(memory, document["content_hash"], stored, stamp)

    def _plan_detach(self, detach: Detach) -> None:
        document = self._documents.get(detach.id)
        if document is None:
            return
        memory = self._decode_memory(document)
        stored = stored_of(document)
        dropped = [embedding.model for embedding in stored if embedding.model != detach.keep]
        if dropped:
            self._drop_passages(detach.id, dropped)
            kept = [embedding for embedding in stored if embedding.model == detach.keep]
            self._put_memory(memory, document["content_hash"], kept, self._take_sequence())

    def _append_entry(self, action: Action) -> None:
        entry = next_entry(self.journal, action)
        self.writes.put(JOURNAL, encode_entry(entry))
        self.journal = JournalEnd(number=entry.number, digest=entry.digest)

    def _put_memory(
        self, memory: Memory, content_hash: bytes, stored: list[Stored], stamp: int
    ) -> None:
        document = encode_memory(memory, content_hash=content_hash, sequence=stamp, stored=stored)
        self._documents[memory.id] = document
        self._existing.add(memory.id)
        self.writes.put(MEMORIES, document)

    def _plan_embedding(self, memory: Memory, embedding: Embedding, stamp: int) -> Stored:
        passages = list(passage_documents(memory.id, embedding, stamp=stamp))
        self._passages.setdefault(memory.id, {})[embedding.model] = passages
        return entry_for_embedding(memory.id, memory.revision, embedding, stamp=stamp)

    def _drop_passages(self, memory_id: str, models: Collection[str] | None = None) -> None:
        """Drop the passages of a memory that were made by `models`, or all of them."""
        where: Document = {"memory_id": {"$eq": memory_id}}
        if models is not None:
            where["model"] = {"$in": list(models)}
        if memory_id in self._before.documents:
            self.writes.delete(PASSAGES, where)
        pending = self._passages.get(memory_id, {})
        for model in list(pending) if models is None else models:
            pending.pop(model, None)

    def _decode_memory(self, document: Document) -> Memory:
        memory = decode_memory(document)
        if memory is None:
            raise self._refuse(str(document.get("_id")))
        return memory

    def _take_sequence(self) -> int:
        self.sequence += 1
        return self.sequence
