"""`Storage.commit` inside its transaction: the writes of every field of a commit."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from attrs import frozen

from infinite_memory.core.values.access.key import AccessKey
from infinite_memory.core.values.codec import to_json, to_micros
from infinite_memory.core.values.commit import (
    Attach,
    Commit,
    Detach,
    ExpectContent,
    ExpectKey,
    Put,
)
from infinite_memory.core.values.entry import Action
from infinite_memory.core.values.memory import Memory, Status
from infinite_memory.core.values.record import Embedding
from infinite_memory.core.values.scope import Scope, fold_name
from infinite_memory.storage.damage import DamageLog
from infinite_memory.storage.hash_chain import action_text
from infinite_memory.storage.sqlite.access_keys import put_access_key, read_access_keys
from infinite_memory.storage.sqlite.feed import seal_erased
from infinite_memory.storage.sqlite.files.lease import read_upkeep
from infinite_memory.storage.sqlite.files.paths import Places
from infinite_memory.storage.sqlite.links import erase_link, erase_links, put_link
from infinite_memory.storage.sqlite.metadata import Ledger, append_entry
from infinite_memory.storage.sqlite.queries import find_page, has_content
from infinite_memory.storage.sqlite.readers import Snapshot
from infinite_memory.storage.sqlite.records import seal_revision
from infinite_memory.storage.sqlite.rows import (
    INSERT,
    SELECTED,
    UPDATE_MODELS,
    MemoryRow,
    decode_memory,
    models_of,
    with_models,
)
from infinite_memory.storage.sqlite.scopes import ScopeReader, erase_scope, put_scope
from infinite_memory.storage.sqlite.vectors import INSERT_EMBEDDING, encode_embedding

if TYPE_CHECKING:
    import apsw


_FIND_PLACE = (
    "SELECT number, CAST(revision AS INTEGER), 0 FROM memories WHERE id = ?1 "
    "UNION ALL SELECT NULL, 0, 1 FROM erased WHERE id = ?1"
)

_write_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@frozen(kw_only=True)
class Encoded:
    """A commit with the row of every `Put` and the texts of its journal entries."""

    commit: Commit
    rows: Sequence[MemoryRow]
    past_entries: Sequence[str]
    entry: str | None


def encode_commit(commit: Commit) -> Encoded:
    """Return the rows and the journal text of `commit`, encoded before any lock is held.

    Raises:
        InvalidInput: the commit holds a value that cannot be stored.
    """
    return Encoded(
        commit=commit,
        rows=[
            MemoryRow.encode(put.memory, put.content_hash, [e.model for e in put.embeddings])
            for put in commit.puts
        ],
        past_entries=[action_text(action) for action in commit.past_entries],
        entry=None if commit.entry is None else action_text(commit.entry),
    )


class _Place(NamedTuple):
    """The row number and the revision of an id, None and 0 without a row, and if it was erased."""

    number: int | None
    revision: int
    was_erased: int


_NO_PLACE = _Place(None, 0, 0)


class CommitWriter:
    """Carries out a commit in a transaction.

    `sequence` is the number of the last change, `journal_end` the end of the journal. `logged` has
    the ids that the journal entry of the commit names.
    """

    def __init__(
        self,
        connection: apsw.Connection,
        ledger: Ledger,
        path: Path,
        damage: DamageLog,
        *,
        scopes: ScopeReader,
        logged: frozenset[str] = frozenset(),
    ) -> None:
        self._connection = connection
        self._path = path
        self._damage = damage
        self._scopes = scopes
        self.sequence = ledger.sequence
        self.journal_end = ledger.end
        self._places: dict[str, _Place] = {}
        # The ids that the entry names and that neither their row nor `journal_memories` lists yet.
        self._unlisted = set(logged)

    def lease_number(self) -> int:
        """Return the number of the latest lease."""
        return read_upkeep(Places(self._path.parent).upkeep).number

    def revision(self, memory_id: str) -> int:
        """Return the current revision of a memory, 0 if no memory has the id."""
        place = self._places[memory_id] = self._find_place(memory_id)
        return place.revision

    def scopes(self) -> Mapping[str, Scope]:
        """Return every scope by name."""
        with closing(Snapshot(self._connection)) as snapshot:
            return self._scopes.read(snapshot)

    def access_keys(self) -> dict[str, AccessKey]:
        """Return every undamaged access key by id."""
        with closing(Snapshot(self._connection)) as snapshot:
            return read_access_keys(snapshot, None, self._damage)

    def holds(self, scope: str, besides: Collection[str]) -> bool:
        """Return whether a memory of the scope is not forgotten and its id is not in `besides`."""
        rows: list[Any] = self._connection.execute(
            "SELECT id FROM memories WHERE scope = ? AND status <> ? LIMIT ?",
            (scope, Status.FORGOTTEN.value, len(besides) + 1),
        ).fetchall()
        return any(memory_id not in besides for (memory_id,) in rows)

    def holders(self, expected: ExpectKey) -> list[str]:
        """Return the ids of the memories with the key, the scope and a status of `expected`."""
        rows: list[Any] = self._connection.execute(
            "SELECT id, status FROM memories INDEXED BY memories_by_key "
            'WHERE "key" = ? AND scope = ?',
            (expected.key, expected.scope),
        ).fetchall()
        return [memory_id for memory_id, status in rows if status in expected.statuses]

    def with_content(self, expected: ExpectContent) -> list[str]:
        """Return the ids that meet the criteria of `expected`, at most one more than it expects."""
        if not has_content(self._connection, expected.content_hashes):
            return []  # nearly always
        with closing(Snapshot(self._connection)) as snapshot:
            limit = len(expected.ids) + 1
            page = find_page(snapshot, expected.criteria, None, limit=limit, damage=self._damage)
        return [memory.id for memory in page.memories]

    def apply(self, encoded: Encoded) -> None:
        """Carry out a commit.

        Raises:
            StoreDamaged: the commit would put a damaged memory into the history, or give it an
                embedding; or a foreign row has the number of the next journal entry.
        """
        commit = encoded.commit
        for erase in commit.erases:
            self._apply_erase(erase.id)
        for put, row in zip(commit.puts, encoded.rows, strict=True):
            self._apply_put(put, row)
        for attach in commit.attaches:
            self._apply_attach(attach)
        for detach in commit.detaches:
            self._apply_detach(detach)
        self._apply_links(commit)
        self._apply_scopes(commit)
        for key in commit.access_keys:
            put_access_key(self._connection, key)
        for action, text in zip(commit.past_entries, encoded.past_entries, strict=True):
            self._append_past_entry(action, text)
        if encoded.entry is not None:
            self._append_entry(encoded.entry)

    def _apply_links(self, commit: Commit) -> None:
        for key in commit.erased_links:
            erase_link(self._connection, key)
        for link in commit.links:
            put_link(self._connection, link)

    def _apply_scopes(self, commit: Commit) -> None:
        for name in commit.erased_scopes:
            erase_scope(self._connection, name)
        for scope in commit.scopes:
            put_scope(self._connection, scope)

    def _apply_put(self, put: Put, row: MemoryRow) -> None:
        memory = put.memory
        place = self._places.pop(memory.id, None) or self._find_place(memory.id)
        number, sequence = place.number, self._take_sequence()
        if number is None:
            if place.was_erased:
                self._connection.execute("DELETE FROM erased WHERE id = ?", (memory.id,))
            bindings = (*row.bindings(sequence), self._find_entry_number(memory.id))
            self._connection.execute(INSERT, bindings)
            number = self._connection.last_insert_rowid()
        else:
            before = self._archive_revision(number, memory.id)
            self._connection.execute("DELETE FROM memory_tags WHERE number = ?", (number,))
            self._connection.execute("DELETE FROM embeddings WHERE number = ?", (number,))
            statement, bindings = row.update(before, sequence)
            self._connection.execute(statement, (*bindings, number))
        self._index_tags(memory, number)
        for embedding in put.embeddings:
            self._insert_embedding(memory.id, memory.revision, number, embedding)

    def _apply_attach(self, attach: Attach) -> None:
        number, revision, _ = self._find_place(attach.id)
        if number is None or revision != attach.revision:
            return
        row = self._read_row(number)
        self._name_models(attach.id, number, row, {*models_of(row), attach.embedding.model})
        self._insert_embedding(attach.id, revision, number, attach.embedding)

    def _apply_detach(self, detach: Detach) -> None:
        number = self._find_place(detach.id).number
        if number is None:
            return
        row = self._read_row(number)
        models = set(models_of(row))
        if models <= {detach.keep}:
            return
        self._name_models(detach.id, number, row, models & {detach.keep})
        self._connection.execute(
            "DELETE FROM embeddings WHERE number = ? AND model <> ?", (number, detach.keep)
        )

    def _name_models(
        self, memory_id: str, number: int, row: tuple[Any, ...], models: set[str]
    ) -> None:
        bindings = with_models(row, models, self._take_sequence())
        if bindings is None:
            raise self._damage.refuse_record(memory_id)
        self._connection.execute(UPDATE_MODELS, (*bindings, number))

    def _apply_erase(self, memory_id: str) -> None:
        self._places.pop(memory_id, None)
        number = self._find_place(memory_id).number
        if number is None:
            return
        self._list_creation(memory_id, number)
        sequence = self._take_sequence()
        self._connection.execute("DELETE FROM memories WHERE number = ?", (number,))
        self._connection.execute("DELETE FROM revisions WHERE id = ?", (memory_id,))
        erase_links(self._connection, memory_id)
        self._connection.execute(
            "INSERT INTO erased (sequence, id, checksum) VALUES (?, ?, ?)",
            (sequence, memory_id, seal_erased(memory_id, sequence)),
        )

    def _find_place(self, memory_id: str) -> _Place:
        rows: list[Any] = self._connection.execute(_FIND_PLACE, (memory_id,)).fetchall()
        return _Place(*rows[0]) if rows else _NO_PLACE

    def _find_entry_number(self, memory_id: str) -> int | None:
        """Return the entry that makes a row, None if no entry names it or it is already listed."""
        if memory_id not in self._unlisted:
            return None
        self._unlisted.remove(memory_id)
        return self.journal_end.number + 1

    def _list_creation(self, memory_id: str, number: int) -> None:
        """Copy the number of the entry that made a row to the list, before the row is deleted."""
        self._connection.execute(
            "INSERT OR IGNORE INTO journal_memories (id, number) "
            "SELECT ?, CAST(entry AS INTEGER) FROM memories WHERE number = ? AND entry IS NOT NULL",
            (memory_id, number),
        )

    def _append_entry(self, text: str) -> None:
        self.journal_end = append_entry(self._connection, self.journal_end, text, self._path)
        if self._unlisted:
            self._list_entry(self._unlisted)

    def _append_past_entry(self, action: Action, text: str) -> None:
        self.journal_end = append_entry(self._connection, self.journal_end, text, self._path)
        self._list_entry({step.id for step in action.memories})

    def _list_entry(self, ids: Iterable[str]) -> None:
        self._connection.executemany(
            "INSERT OR IGNORE INTO journal_memories (id, number) VALUES (?, ?)",
            [(memory_id, self.journal_end.number) for memory_id in ids],
        )

    def _read_row(self, number: int) -> tuple[Any, ...]:
        rows: list[Any] = self._connection.execute(
            f"SELECT {SELECTED} FROM memories m WHERE m.number = ?", (number,)
        ).fetchall()
        row: tuple[Any, ...] = rows[0]
        return row

    def _archive_revision(self, number: int, memory_id: str) -> tuple[Any, ...]:
        """Add what a row holds to the history, and return the row."""
        row = self._read_row(number)
        memory = decode_memory(row)
        if memory is None:
            raise self._damage.refuse_record(memory_id)
        body = _write_json(to_json(memory))
        self._connection.execute(
            "INSERT INTO revisions (id, revision, body, checksum) VALUES (?, ?, ?, ?)",
            (memory.id, memory.revision, body, seal_revision(memory.id, memory.revision, body)),
        )
        return row

    def _index_tags(self, memory: Memory, number: int) -> None:
        if memory.tags:
            happened_at = to_micros(memory.happened_at)
            self._connection.executemany(
                "INSERT INTO memory_tags (folded, happened_at, id, number) VALUES (?, ?, ?, ?)",
                [
                    (folded, happened_at, memory.id, number)
                    for folded in {fold_name(tag) for tag in memory.tags}
                ],
            )

    def _insert_embedding(
        self, memory_id: str, revision: int, number: int, embedding: Embedding
    ) -> None:
        bindings = encode_embedding(memory_id, revision, embedding)
        self._connection.execute(INSERT_EMBEDDING, (number, *bindings))

    def _take_sequence(self) -> int:
        self.sequence += 1
        return self.sequence
