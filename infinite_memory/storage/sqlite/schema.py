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

from collections.abc import Mapping, Sequence
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

SCHEMA_VERSION = 5
"""1 had no access keys, 2 no activations, 3 no counts, 4 all vectors in single precision."""

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


DREAMED = (
    "(m.kind = 'summary' AND m.origin = 'dream' AND "
    "ifnull(json_type(m.context, '$.dreamed'), '') = 'object')"
)
"""The condition for topic summaries, see `Memory.is_dreamed`."""

_PLACE = "{0}.scope, {0}.kind, {0}.status, ifnull({0}.embedded_by, '')"
_IS_LISTED = f"m.status = 'current' AND m.valid_to IS NULL AND NOT {DREAMED}"

COUNTED: Mapping[str, str] = {
    "tallies": f"SELECT {_PLACE.format('m')}, count(*) FROM memories m GROUP BY 1, 2, 3, 4",
    "tag_tallies": "SELECT m.scope, t.folded, count(*) FROM memory_tags t JOIN memories m"
    f" ON m.number = t.number WHERE {_IS_LISTED} GROUP BY 1, 2",
    "totals": "SELECT 'revisions', count(*) FROM revisions UNION ALL"
    " SELECT 'links', count(*) FROM links",
}
"""What each table of counts holds, counted from the rows."""


def _count_by(table: str, columns: Sequence[str]) -> str:
    """Return the table of counts with these columns, filled."""
    texts = " TEXT NOT NULL, ".join(columns)
    return (
        f"CREATE TABLE {table} ({texts} TEXT NOT NULL, count INTEGER NOT NULL,"
        f" PRIMARY KEY ({', '.join(columns)})) STRICT, WITHOUT ROWID;"
        f"INSERT INTO {table} {COUNTED[table]};"
    )


def _on(name: str, event: str, *steps: str) -> str:
    return f"CREATE TRIGGER {name} {event} BEGIN {' '.join(f'{step};' for step in steps)} END;"


def _take(table: str, where: str) -> tuple[str, str]:
    """Return the steps that count one less, and drop what is not there any more."""
    less = f"UPDATE {table} SET count = count - 1 WHERE {where}"
    return less, f"DELETE FROM {table} WHERE count = 0 AND {where}"


_ADD = "ON CONFLICT DO UPDATE SET count = count + 1"
_ADD_MEMORY = f"INSERT INTO tallies VALUES ({_PLACE.format('new')}, 1) {_ADD}"
_TAKE_MEMORY = _take("tallies", f"(scope, kind, status, embedded_by) = ({_PLACE.format('old')})")
_OF_TAG = "SELECT scope FROM memories m WHERE m.number = {}.number AND " + _IS_LISTED
_COUNT = "UPDATE totals SET count = count {} 1 WHERE part = '{}'"
_IS_NEW = "SELECT 1 FROM links WHERE (source, target, type) = (new.source, new.target, new.type)"
_NOTE_USE = "INSERT OR REPLACE INTO usage_changes (id) SELECT id FROM memories WHERE number = "
_WAS_USED = " OR ".join(
    f"EXISTS (SELECT 1 FROM {table} WHERE number = old.number)"
    for table in ("usage", "activations")
)

_COUNTS = (
    _count_by("tallies", ("scope", "kind", "status", "embedded_by")),
    _count_by("tag_tallies", ("scope", "folded")),
    _count_by("totals", ("part",)),
    "CREATE INDEX memories_by_end ON memories (scope, happened_at, id)"
    " WHERE valid_to IS NOT NULL AND status = 'current' AND tags <> '[]';",
    "CREATE TABLE usage_changes"
    " (change INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE) STRICT;",
    _on("count_stored", "AFTER INSERT ON memories", _ADD_MEMORY),
    _on("count_changed", "AFTER UPDATE ON memories", _ADD_MEMORY, *_TAKE_MEMORY),
    _on(
        "count_erased",
        "BEFORE DELETE ON memories",
        "DELETE FROM memory_tags WHERE number = old.number",
        f"{_NOTE_USE}old.number AND ({_WAS_USED})",
        *_TAKE_MEMORY,
    ),
    _on(
        "count_tagged",
        "AFTER INSERT ON memory_tags",
        f"INSERT INTO tag_tallies SELECT scope, new.folded, 1 FROM ({_OF_TAG.format('new')})"
        f" WHERE true {_ADD}",
    ),
    _on(
        "count_untagged",
        "AFTER DELETE ON memory_tags",
        *_take("tag_tallies", f"folded = old.folded AND scope = ({_OF_TAG.format('old')})"),
    ),
    _on("count_revised", "AFTER INSERT ON revisions", _COUNT.format("+", "revisions")),
    _on("count_unrevised", "AFTER DELETE ON revisions", _COUNT.format("-", "revisions")),
    _on(
        "count_linked",
        f"BEFORE INSERT ON links WHEN NOT EXISTS ({_IS_NEW})",
        _COUNT.format("+", "links"),
    ),
    _on("count_unlinked", "AFTER DELETE ON links", _COUNT.format("-", "links")),
    *(
        _on(f"note_{table}", f"AFTER INSERT ON {table}", f"{_NOTE_USE}new.number")
        for table in ("usage", "activations")
    ),
)
"""Counts are kept by triggers, so that a process of an older version that still runs keeps them.

A memory whose validity ends is not counted by its tags: it may have ended when the tags are listed.
"""


def create_counts(connection: apsw.Connection) -> None:
    """Create the tables of counts, and count, inside the transaction of the caller."""
    connection.execute("".join(_COUNTS))


def rename_vectors(connection: apsw.Connection) -> None:
    """Rename the table, so that no older program takes the shorter form of vectors for damage."""
    connection.execute("ALTER TABLE vectors RENAME TO embeddings")


def create_tables(connection: apsw.Connection) -> None:
    """Create every table in a new database, inside the transaction of the caller."""
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    connection.execute(_TABLES + _INDEX_EMBEDDED + _VECTORS + _JOURNAL + _INDEX_TIME)
    create_access_keys(connection)
    create_activations(connection)
    create_counts(connection)
    rename_vectors(connection)
