"""Verifies a database in a single snapshot: every page, row, checksum and number."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import apsw

from infinite_memory.core.errors import StoreDamaged
from infinite_memory.core.values.codec import from_json, to_micros
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.record import Record
from infinite_memory.core.values.scope import fold_name
from infinite_memory.core.values.verification import Finding, RecordKind, Verification, Walked
from infinite_memory.storage.damage import (
    ACCESS_KEY,
    LOST_KEY,
    USAGE,
    DamageLog,
    name_of,
    silence_damage_log,
)
from infinite_memory.storage.integrity import EMBED_AGAIN, check_record
from infinite_memory.storage.sqlite.access_keys import damaged_access_keys
from infinite_memory.storage.sqlite.database import Database
from infinite_memory.storage.sqlite.errors import DAMAGE
from infinite_memory.storage.sqlite.feed import ERASED, erased_fits
from infinite_memory.storage.sqlite.journal import misnamed_entries
from infinite_memory.storage.sqlite.links import damaged_links
from infinite_memory.storage.sqlite.metadata import Ledger, read_ledger
from infinite_memory.storage.sqlite.readers import Snapshot
from infinite_memory.storage.sqlite.records import SELECTED_REVISION, revision_fits, select_records
from infinite_memory.storage.sqlite.rows import SELECTED, SEQUENCE, decode_memory, models_of
from infinite_memory.storage.sqlite.schema import COUNTED
from infinite_memory.storage.sqlite.scopes import damaged_scopes
from infinite_memory.storage.sqlite.usage import damaged_usage

_RESTORE = (
    "keep a copy of the whole folder, then restore a backup; "
    "what can still be read can be exported before"
)
_FORGET = "restore it from a backup, or erase it for good: everything else still works"
_LINK_AGAIN = "remove the link and create it again: the two memories are not affected"
_COUNT = "run infinite-memory verify --mend, which counts the rows again"
_COUNTED_AGAIN = "nothing to do: what is lost of it is counted from 0 again"
_USED = "SELECT count(*) FROM (SELECT number FROM usage UNION SELECT number FROM activations)"
_MOST_LINES = 100
_PROGRESS_EVERY = 1000

_TAGGED = (
    f"SELECT m.number, {SELECTED} FROM memories m WHERE m.tags <> '[]' OR EXISTS "
    "(SELECT 1 FROM memory_tags t WHERE t.number = m.number) ORDER BY m.number"
)


def _compare(table: str, counted: str) -> str:
    """Return the query for the name of a table whose counts differ from what `counted` counts."""
    kept, counted = f"SELECT * FROM {table}", f"SELECT * FROM ({counted})"
    pairs = ((kept, counted), (counted, kept))
    return " UNION ".join(
        f"SELECT CAST('{table}' AS BLOB) FROM ({one} EXCEPT {other})" for one, other in pairs
    )


_SCALES = (
    (
        "SELECT CAST(m.id AS BLOB) FROM memories m JOIN erased e ON e.sequence = m.sequence",
        "memory {!r} shares its number in the feed with an erased memory",
    ),
    (
        "SELECT CAST(m.id AS BLOB) FROM memories m JOIN erased e ON e.id = m.id",
        "memory {!r} is stored, and is also recorded as erased",
    ),
    (
        "SELECT CAST(r.id AS BLOB) FROM revisions r LEFT JOIN memories m ON m.id = r.id "
        "WHERE m.id IS NULL OR m.revision <= r.revision",
        "the history of {!r} has a revision that its memory does not follow",
    ),
    (
        "SELECT CAST(m.id AS BLOB) FROM memories m JOIN embeddings e ON e.number = m.number WHERE "
        "instr(char(10) || ifnull(m.embedded_by, '') || char(10), char(10) || e.model || char(10))"
        " = 0",
        "memory {!r} has an embedding that its record does not list",
    ),
    (
        "SELECT CAST(l.source AS BLOB) FROM links l LEFT JOIN memories s ON s.id = l.source "
        "LEFT JOIN memories t ON t.id = l.target WHERE s.id IS NULL OR t.id IS NULL",
        "a link from {!r} leads to a memory that does not exist",
    ),
)


def verify_store(database: Database, damage: DamageLog, walked: Walked | None) -> Verification:
    """Check everything in a snapshot, again if that finds damage, and note what is found twice.

    Where the second look finds nothing either, `damage` drops what was noted before: somebody has
    mended it since.
    """
    with silence_damage_log():
        verification = _verify_database(database, DamageLog(str(database.path)), walked)
    if not verification.sound:
        database.forget_reads()
        verification = _verify_database(database, damage, walked)
    if verification.sound:
        damage.clear()
    for finding in verification.findings:
        if finding.part is RecordKind.DATABASE:
            database.suspect(finding.what)
    return verification


def _verify_database(database: Database, damage: DamageLog, walked: Walked | None) -> Verification:
    try:
        with database.read() as snapshot:
            return _verify_snapshot(snapshot, database.path, damage, walked)
    except StoreDamaged as error:
        finding = Finding(part=RecordKind.DATABASE, what=str(error), way_out=_RESTORE)
        return Verification(counts={}, findings=(finding,))


def _verify_snapshot(
    snapshot: Snapshot, path: Path, damage: DamageLog, walked: Walked | None
) -> Verification:
    walk = _Walk(snapshot, path, damage, walked)
    for step in (
        walk.pages,
        walk.ledger,
        walk.memories,
        walk.revisions,
        walk.tags,
        walk.erased,
        walk.scopes,
        walk.access_keys,
        walk.links,
        walk.usage,
        walk.journal,
        walk.scales,
    ):
        try:
            walk.findings.extend(step())
        except (*DAMAGE, apsw.SQLError, UnicodeDecodeError) as error:
            walk.findings.append(
                _make_broken_finding(path, f"the {step.__name__} cannot be read ({error})")
            )
    return Verification(counts=dict(walk.counts), findings=tuple(dict.fromkeys(walk.findings)))


def _make_broken_finding(path: Path, what: str) -> Finding:
    return Finding(part=RecordKind.DATABASE, what=f"{path}: {what}", way_out=_RESTORE)


class _Walk:
    """The steps of a verification; a step that fails on a page keeps its findings so far."""

    def __init__(
        self, snapshot: Snapshot, path: Path, damage: DamageLog, walked: Walked | None
    ) -> None:
        self._snapshot = snapshot
        self._path = path
        self._damage = damage
        self._walked = walked
        self._ledger: Ledger | None = None
        self.findings: list[Finding] = []
        self.counts: Counter[str] = Counter()

    def pages(self) -> Iterator[Finding]:
        """Let SQLite check the file: pages, order of rows and indexes, types, references."""
        for (line,) in self._snapshot.rows(f"PRAGMA integrity_check({_MOST_LINES})"):
            if line != "ok":
                yield _make_broken_finding(self._path, str(line))
        for table, number, *_ in self._snapshot.rows("PRAGMA foreign_key_check"):
            yield _make_broken_finding(self._path, f"row {number} of {table} belongs to no memory")
        self.counts["pages"] = next(self._snapshot.rows("PRAGMA page_count"))[0]

    def ledger(self) -> Iterator[Finding]:
        """Check the row that counts the changes."""
        try:
            self._ledger = read_ledger(self._snapshot.connection, self._path)
        except StoreDamaged as error:
            yield Finding(part=RecordKind.FEED, what=str(error), way_out=_RESTORE)

    def memories(self) -> Iterator[Finding]:
        """Check every memory with its embeddings."""
        total = next(self._snapshot.rows("SELECT count(*) FROM memories"))[0]
        for row, record in select_records(self._snapshot, self._damage, "ORDER BY m.number"):
            self.counts["memories"] += 1
            yield from self._check_memory(row, record)
            if self._walked is not None and self.counts["memories"] % _PROGRESS_EVERY == 0:
                self._walked(self.counts["memories"], max(total, self.counts["memories"]))
        if self._walked is not None:
            self._walked(self.counts["memories"], self.counts["memories"])

    def _check_memory(self, row: tuple[Any, ...], record: Record | None) -> Iterator[Finding]:
        name = name_of(row[0])
        if record is None:
            self._damage.skip_record(name)
            what = f"memory {name!r} is damaged"
            yield Finding(part=RecordKind.MEMORY, id=name, what=what, way_out=_FORGET)
            return
        for model in models_of(row):
            self.counts["embeddings"] += 1
            if record.embedding_by(model) is None:
                what = f"the embedding of memory {name!r} by {model} is damaged"
                yield Finding(part=RecordKind.EMBEDDING, id=name, what=what, way_out=EMBED_AGAIN)
        yield from check_record(record)
        yield from self._check_number(row[SEQUENCE], name)

    def _check_number(self, sequence: int, name: str) -> Iterator[Finding]:
        if self._ledger is not None and not 0 < sequence <= self._ledger.sequence:
            what = f"the last change of {name!r} is number {sequence} of {self._ledger.sequence}"
            yield Finding(part=RecordKind.FEED, id=name, what=what, way_out=_RESTORE)

    def revisions(self) -> Iterator[Finding]:
        """Check every earlier revision."""
        rows = self._snapshot.rows(f"SELECT CAST(id AS BLOB), {SELECTED_REVISION} FROM revisions")
        for blob, revision, body, checksum in rows:
            self.counts["revisions"] += 1
            if not revision_fits(blob, revision, body, checksum):
                name = name_of(blob)
                what = f"revision {revision} of memory {name!r} is damaged"
                yield Finding(part=RecordKind.REVISION, id=name, what=what, way_out=_FORGET)
                continue
            memory = from_json(json.loads(body))
            if (memory.id.encode(), memory.revision) != (blob, revision):
                what = f"revision {revision} of memory {memory.id!r} holds a different revision"
                yield Finding(part=RecordKind.REVISION, id=memory.id, what=what, way_out=_FORGET)

    def tags(self) -> Iterator[Finding]:
        """Compare the table of tags with the tags of the memories."""
        listed = groupby(
            self._snapshot.rows(
                "SELECT number, CAST(folded AS BLOB), CAST(happened_at AS INTEGER), "
                "CAST(id AS BLOB) FROM memory_tags WHERE typeof(number) = 'integer' ORDER BY number"
            ),
            itemgetter(0),
        )
        entry = next(listed, None)
        for row in self._snapshot.rows(_TAGGED):
            number, memory = row[0], decode_memory(row[1:])
            stored_tags: set[tuple[Any, ...]] = set()
            while entry is not None and entry[0] <= number:
                if entry[0] == number:
                    stored_tags = {tag_row[1:] for tag_row in entry[1]}
                entry = next(listed, None)
            self.counts["tags"] += len(stored_tags)
            if memory is not None and stored_tags != _list_expected_tags(memory):
                name = memory.id
                what = f"the list of tags does not agree with memory {name!r}"
                yield Finding(part=RecordKind.TAGS, id=name, what=what, way_out=_RESTORE)

    def erased(self) -> Iterator[Finding]:
        """Check the notes that erased memories leave behind."""
        rows = self._snapshot.rows(ERASED)
        for sequence, blob, checksum in rows:
            self.counts["erased"] += 1
            name = name_of(blob)
            if not erased_fits(sequence, blob, checksum):
                what = f"the record that {name!r} was erased is damaged"
                yield Finding(part=RecordKind.ERASED, id=name, what=what, way_out=_RESTORE)
            yield from self._check_number(sequence, name)

    def scopes(self) -> Iterator[Finding]:
        """Check every scope."""
        self.counts["scopes"] = next(self._snapshot.rows("SELECT count(*) FROM scopes"))[0]
        for name in damaged_scopes(self._snapshot):
            what = f"the scope {name!r} is damaged"
            way_out = "delete the scope and create it again: its memories are not affected"
            yield Finding(part=RecordKind.SCOPE, id=name, what=what, way_out=way_out)

    def access_keys(self) -> Iterator[Finding]:
        """Check every access key."""
        keys = next(self._snapshot.rows("SELECT count(*) FROM access_keys"))[0]
        self.counts["access_keys"] = keys
        for name in damaged_access_keys(self._snapshot):
            self._damage.skip_record(ACCESS_KEY + name)
            what = f"the access key {name!r} is damaged"
            yield Finding(part=RecordKind.ACCESS_KEY, id=name, what=what, way_out=LOST_KEY)

    def links(self) -> Iterator[Finding]:
        """Check every link."""
        self.counts["links"] = next(self._snapshot.rows("SELECT count(*) FROM links"))[0]
        for name in damaged_links(self._snapshot):
            self._damage.skip_record(name)
            what = f"the {name} is damaged"
            yield Finding(part=RecordKind.LINK, what=what, way_out=_LINK_AGAIN)

    def usage(self) -> Iterator[Finding]:
        """Check the usage of every memory."""
        self.counts["usage"] = next(self._snapshot.rows(_USED))[0]
        for name in damaged_usage(self._snapshot):
            self._damage.skip_record(USAGE + name)
            what = f"the usage of memory {name!r} is damaged"
            yield Finding(part=RecordKind.USAGE, id=name, what=what, way_out=_COUNTED_AGAIN)

    def journal(self) -> Iterator[Finding]:
        """Compare the list of the entries of every memory with the journal.

        `check_journal` checks the chain of the journal, for every backend.
        """
        for number, name in misnamed_entries(self._snapshot):
            what = f"the list of what changed {name!r} does not agree with entry {number}"
            yield Finding(part=RecordKind.JOURNAL, id=name, what=what, way_out=_RESTORE)

    def scales(self) -> Iterator[Finding]:
        """Compare the tables to find rows that contradict rows of a different table."""
        for sql, what in _SCALES:
            for (blob,) in self._snapshot.rows(sql):
                name = name_of(blob)
                yield Finding(
                    part=RecordKind.FEED, id=name, what=what.format(name), way_out=_RESTORE
                )
        for table, counted in COUNTED.items():
            if any(True for _ in self._snapshot.rows(_compare(table, counted))):
                what = f"the counts in {table!r} do not agree with the rows"
                yield Finding(part=RecordKind.INDEX, what=what, way_out=_COUNT)


def _list_expected_tags(memory: Memory) -> set[tuple[Any, ...]]:
    happened_at = to_micros(memory.happened_at)
    return {(fold_name(tag).encode(), happened_at, memory.id.encode()) for tag in memory.tags}
