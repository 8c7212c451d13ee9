"""The tables. A readable column holds a single field; times are in microseconds since 1970.

`checksum` is `seal` over all columns of its row except derived columns, such as `entry`.
`embedded_by` names the models that have embedded a memory, sorted, a line for every model. A set of
models is thus a range of an index, so that pending memories are found without reading vectors.

`memory_tags` and the indexes are derived from the rows of `memories`, against which every result is
checked again. The entries that changed a memory are derived from the journal. `entry` is the entry
that made the row, so that a new memory needs no row in `journal_memories`, which lists all later
entries. The digests of the journal are a chain, whose end is in the single row of `ledger`.
`active_model` is empty until a commit names the model that answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from infinite_memory.core.values.ids import ENDING_CHARS
from infinite_memory.core.values.memory import Kind
from infinite_memory.storage.sqlite.rows import COLUMN_DEFINITIONS

if TYPE_CHECKING:
    import apsw


APPLICATION_ID = 0x494D454D
"""The number in the header of every database of this package: IMEM in ASCII."""

EARLIER_APPLICATION_ID = 0x494E464D
"""The number of the development versions before schema 1: INFM."""

SCHEMA_VERSION = 3
"""Schema 1 had no access keys, schema 2 no activations."""

_INDEX_EMBEDDED = """
CREATE INDEX memories_by_embedding ON memories (embedded_by, status = 'forgotten', sequence);
"""

_VECTORS = """
CREATE TABLE vectors (
    number INTEGER NOT NULL REFERENCES memories (number) ON DELETE CASCADE,
    model TEXT NOT NULL,
    dimensions INTEGER NOT NULL,
    spans BLOB NOT NULL,
    vectors BLOB NOT NULL,
    checksum BLOB NOT NULL,
    UNIQUE (number, model)
) STRICT;
"""

_JOURNAL = """
CREATE TABLE ledger (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    identity TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    token BLOB NOT NULL,
    entries INTEGER NOT NULL,
    digest BLOB NOT NULL,
    active_model TEXT NOT NULL,
    checksum BLOB NOT NULL
) STRICT;

CREATE TABLE journal (
    number INTEGER PRIMARY KEY,
    body TEXT NOT NULL,
    digest BLOB NOT NULL
) STRICT;

CREATE TABLE journal_memories (
    id TEXT NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (id, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE links (
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    type TEXT NOT NULL,
    weight REAL NOT NULL,
    made_by TEXT NOT NULL,
    reason TEXT NOT NULL,
    made_at INTEGER NOT NULL,
    checksum BLOB NOT NULL,
    PRIMARY KEY (source, target, type)
) STRICT, WITHOUT ROWID;
CREATE INDEX links_by_target ON links (target);

CREATE TABLE usage (
    number INTEGER PRIMARY KEY REFERENCES memories (number) ON DELETE CASCADE,
    count INTEGER NOT NULL,
    last INTEGER NOT NULL,
    checksum BLOB NOT NULL
) STRICT;
"""

COMMON_KINDS = frozenset({Kind.MESSAGE, Kind.NOTE})
"""The kinds of most memories; the index of kinds leaves them out."""

UNCOMMON = "kind NOT IN ('message', 'note')"
"""The condition for all further kinds; SQLite uses their index if a query has this text."""

ENDING = f"substr(id, -{ENDING_CHARS})"
"""The ending of an id; SQLite uses its index if a query has this text."""

_INDEX_TIME = f"""
CREATE INDEX memories_by_time ON memories (happened_at, id, kind);
CREATE INDEX memories_by_kind ON memories (kind, happened_at, id) WHERE {UNCOMMON};
"""
"""Every index that contains a new memory adds a page to its commit."""

_TABLES = f"""
CREATE TABLE memories (
    number INTEGER PRIMARY KEY,
    {COLUMN_DEFINITIONS},
    sequence INTEGER NOT NULL UNIQUE,
    embedded_by TEXT,
    content_hash BLOB NOT NULL,
    checksum BLOB NOT NULL,
    entry INTEGER
) STRICT;
CREATE UNIQUE INDEX memories_by_id ON memories (id);
CREATE INDEX memories_by_ending ON memories ({ENDING});
CREATE INDEX memories_by_scope ON memories (scope, happened_at, id, kind, status);
CREATE INDEX memories_by_conversation ON memories (conversation_id, happened_at, id)
    WHERE conversation_id IS NOT NULL;
CREATE INDEX memories_by_key ON memories ("key") WHERE "key" IS NOT NULL;
CREATE INDEX memories_by_content ON memories (content_hash);

CREATE TABLE memory_tags (
    folded TEXT NOT NULL,
    happened_at INTEGER NOT NULL,
    id TEXT NOT NULL,
    number INTEGER NOT NULL REFERENCES memories (number) ON DELETE CASCADE,
    PRIMARY KEY (folded, happened_at, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_tags_by_memory ON memory_tags (number);

CREATE TABLE revisions (
    id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    body TEXT NOT NULL,
    checksum BLOB NOT NULL,
    UNIQUE (id, revision)
) STRICT;

CREATE TABLE erased (
    sequence INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    checksum BLOB NOT NULL
) STRICT;

CREATE TABLE scopes (
    name TEXT PRIMARY KEY NOT NULL,
    description TEXT NOT NULL,
    parent TEXT,
    keywords TEXT NOT NULL,
    active INTEGER NOT NULL,
    sensitivity TEXT NOT NULL,
    checksum BLOB NOT NULL
) STRICT;
"""


_ACCESS_KEYS = """
CREATE TABLE access_keys (
    id TEXT PRIMARY KEY NOT NULL,
    name TEXT NOT NULL,
    digest BLOB NOT NULL,
    rights TEXT NOT NULL,
    scopes TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    checksum BLOB NOT NULL
) STRICT;
"""


def create_access_keys(connection: apsw.Connection) -> None:
    """Create the table of access keys, inside the transaction of the caller."""
    connection.execute(_ACCESS_KEYS)


_ACTIVATIONS = """
CREATE TABLE activations (
    number INTEGER PRIMARY KEY REFERENCES memories (number) ON DELETE CASCADE,
    activation REAL NOT NULL,
    activated_at INTEGER NOT NULL,
    checksum BLOB NOT NULL
) STRICT;
"""
"""Beside the table of usage, so that no row of an older schema needs to be written again."""


def create_activations(connection: apsw.Connection) -> None:
    """Create the table of activations, inside the transaction of the caller."""
    connection.execute(_ACTIVATIONS)


def create_tables(connection: apsw.Connection) -> None:
    """Create every table in a new database, inside the transaction of the caller."""
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    connection.execute(_TABLES + _INDEX_EMBEDDED + _VECTORS + _JOURNAL + _INDEX_TIME)
    create_access_keys(connection)
    create_activations(connection)
