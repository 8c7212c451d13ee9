"""The content of the reference storage, and how a commit changes it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from copy import copy

import attrs
import numpy as np

from infinite_memory.core.values.access.key import AccessKey
from infinite_memory.core.values.commit import (
    Attach,
    Commit,
    Detach,
    ExpectContent,
    ExpectKey,
    Put,
)
from infinite_memory.core.values.entry import Action, Entry, JournalEnd, entry_digest
from infinite_memory.core.values.link import Link, LinkKey
from infinite_memory.core.values.memory import GLOBAL, Memory, Status
from infinite_memory.core.values.record import Embedding, Record, Usage
from infinite_memory.core.values.scope import Scope, ScopeTable


@attrs.define
class State:
    """Everything stored.

    `changed` maps an id to the sequence number of its last change, the latest last. `links` has
    source, target and type as its key. `content_hashes` maps an id to the content hash of its
    memory, and `ids_by_hash` a content hash to the ids of its memories.
    """

    sequence: int = 0
    latest_lease: int = 0
    active_model: str | None = None
    records: dict[str, Record] = attrs.Factory(dict)
    earlier: dict[str, tuple[Memory, ...]] = attrs.Factory(dict)
    changed: dict[str, int] = attrs.Factory(dict)
    table: ScopeTable = attrs.Factory(lambda: ScopeTable({GLOBAL: Scope(name=GLOBAL)}))
    keys: dict[str, AccessKey] = attrs.Factory(dict)
    links: dict[LinkKey, Link] = attrs.Factory(dict)
    entries: list[Entry] = attrs.Factory(list)
    usage: dict[str, Usage] = attrs.Factory(dict)
    content_hashes: dict[str, bytes] = attrs.Factory(dict)
    ids_by_hash: dict[bytes, set[str]] = attrs.Factory(dict)

    def copy(self) -> State:
        """Return a state that later commits to this one do not change."""
        copies = {
            field.name: copy(getattr(self, field.name))
            for field in attrs.fields(State)
            if field.name != "ids_by_hash"
        }
        hashes = {digest: set(ids) for digest, ids in self.ids_by_hash.items()}
        return State(**copies, ids_by_hash=hashes)

    def lease_number(self) -> int:
        """Return the number of the latest lease."""
        return self.latest_lease

    def revision(self, memory_id: str) -> int:
        """Return the current revision of a memory, 0 if no memory has the id."""
        record = self.records.get(memory_id)
        return 0 if record is None else record.memory.revision

    def memories(self, content_hashes: Collection[bytes] | None = None) -> list[Memory]:
        """Return every memory, or only the memories with a hash in `content_hashes`."""
        if content_hashes is None:
            return [record.memory for record in self.records.values()]
        ids = [
            memory_id
            for content_hash in content_hashes
            for memory_id in self.ids_by_hash.get(content_hash, ())
        ]
        return [self.records[memory_id].memory for memory_id in ids]

    def scopes(self) -> ScopeTable:
        """Return every scope by name, always with `Global`."""
        return self.table

    def access_keys(self) -> dict[str, AccessKey]:
        """Return every access key by id."""
        return dict(self.keys)

    def holds(self, scope: str, besides: Collection[str]) -> bool:
        """Return whether a memory of the scope is not forgotten and its id is not in `besides`."""
        return any(
            record.memory.scope == scope
            and record.memory.status is not Status.FORGOTTEN
            and memory_id not in besides
            for memory_id, record in self.records.items()
        )

    def holders(self, expected: ExpectKey) -> list[str]:
        """Return the ids of the memories with the key, the scope and a status of `expected`."""
        return [
            memory_id
            for memory_id, record in self.records.items()
            if (record.memory.scope, record.memory.key) == (expected.scope, expected.key)
            and record.memory.status in expected.statuses
        ]

    def with_content(self, expected: ExpectContent) -> list[str]:
        """Return the ids of the memories that meet the criteria of `expected`."""
        criteria = expected.criteria
        candidates = self.memories(criteria.content_hashes)
        return [memory.id for memory in candidates if criteria.admit(memory)]

    @property
    def journal_end(self) -> JournalEnd:
        """The number and the digest of the last entry."""
        if not self.entries:
            return JournalEnd()
        return JournalEnd(number=self.entries[-1].number, digest=self.entries[-1].digest)

    def count_usage(self, used: Mapping[str, Usage]) -> None:
        """Add to the usage of the memories that exist."""
        for memory_id, usage in used.items():
            if memory_id in self.records and not usage.is_empty:
                known = self.usage.get(memory_id)
                self.usage[memory_id] = usage if known is None else known.plus(usage)

    def apply(self, commit: Commit) -> None:
        """Carry out `commit`; it cannot fail once conflicts are ruled out."""
        for erase in commit.erases:
            self._apply_erase(erase.id)
        for put in commit.puts:
            self._apply_put(put)
        for attach in commit.attaches:
            self._apply_attach(attach)
        for detach in commit.detaches:
            self._apply_detach(detach)
        self._apply_links(commit)
        self._apply_scopes(commit)
        self.keys |= {key.id: key for key in commit.access_keys}
        if commit.active_model is not None:
            self.active_model = commit.active_model
        for action in commit.past_entries:
            self._log_action(action)
        if commit.entry is not None:
            self._log_action(commit.entry)

    def _apply_links(self, commit: Commit) -> None:
        for key in commit.erased_links:
            self.links.pop(key, None)
        for link in commit.links:
            if link.source in self.records and link.target in self.records:
                self.links[link.key] = link

    def _apply_scopes(self, commit: Commit) -> None:
        scopes = commit.scopes
        if GLOBAL in commit.erased_scopes:
            scopes = [*scopes, Scope(name=GLOBAL)]
        self.table = self.table.change(scopes, commit.erased_scopes)

    def _log_action(self, action: Action) -> None:
        end = self.journal_end
        number = end.number + 1
        digest = entry_digest(end.digest, number, action.to_text())
        self.entries.append(Entry(number=number, action=action, digest=digest))

    def _apply_attach(self, attach: Attach) -> None:
        record = self.records.get(attach.id)
        if record is not None and record.memory.revision == attach.revision:
            new = attach.embedding
            unchanged = (e for e in record.embeddings if e.model != new.model)
            self._keep_record(record.memory, (*unchanged, _own_embedding(new)))

    def _apply_detach(self, detach: Detach) -> None:
        record = self.records.get(detach.id)
        if record is not None and any(e.model != detach.keep for e in record.embeddings):
            kept = tuple(e for e in record.embeddings if e.model == detach.keep)
            self._keep_record(record.memory, kept)

    def _apply_erase(self, memory_id: str) -> None:
        record = self.records.pop(memory_id, None)
        if record is not None:
            self._forget_hash(memory_id)
            self.earlier.pop(memory_id, None)
            self.usage.pop(memory_id, None)
            self.links = {k: link for k, link in self.links.items() if memory_id not in k[:2]}
            self._touch_record(memory_id)

    def _apply_put(self, put: Put) -> None:
        memory = put.memory
        if memory.id in self.records:
            replaced = self.records[memory.id].memory
            self.earlier[memory.id] = (*self.earlier.get(memory.id, ()), replaced)
            self._forget_hash(memory.id)
        self.content_hashes[memory.id] = put.content_hash
        self.ids_by_hash.setdefault(put.content_hash, set()).add(memory.id)
        self._keep_record(memory, tuple(map(_own_embedding, put.embeddings)))

    def _forget_hash(self, memory_id: str) -> None:
        content_hash = self.content_hashes.pop(memory_id)
        self.ids_by_hash[content_hash].remove(memory_id)
        if not self.ids_by_hash[content_hash]:
            del self.ids_by_hash[content_hash]

    def _keep_record(self, memory: Memory, embeddings: tuple[Embedding, ...]) -> None:
        in_order = tuple(sorted(embeddings, key=lambda embedding: embedding.model))
        self.records[memory.id] = Record(memory=memory, embeddings=in_order)
        self._touch_record(memory.id)

    def _touch_record(self, memory_id: str) -> None:
        self.sequence += 1
        self.changed.pop(memory_id, None)
        self.changed[memory_id] = self.sequence


def _own_embedding(embedding: Embedding) -> Embedding:
    """Return a copy that the caller cannot change afterwards."""
    spans, vectors = np.array(embedding.spans), np.array(embedding.vectors)
    spans.setflags(write=False)
    vectors.setflags(write=False)
    return Embedding(model=embedding.model, spans=spans, vectors=vectors)
