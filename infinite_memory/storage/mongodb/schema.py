"""The names of the collections, their indexes, and the schema version."""

from __future__ import annotations

from pymongo import ASCENDING, DESCENDING, IndexModel

SCHEMA_VERSION = 3
"""Schema 1 had no access keys, schema 2 no activations."""

PARTITIONED_VERSION = 4
"""The schema of a store in several databases, which versions before that cannot read."""

MEMORIES = "memories"
PASSAGES = "passages"
REVISIONS = "revisions"
SCOPES = "scopes"
ERASED = "erased"
JOURNAL = "journal"
LINKS = "links"
USAGE = "usage"
ACCESS_KEYS = "access_keys"
METADATA = "metadata"

COLLECTIONS = (
    *(MEMORIES, PASSAGES, REVISIONS, SCOPES, ERASED, JOURNAL, LINKS, USAGE),
    ACCESS_KEYS,
    METADATA,
)

FEED_ORDER = "feed_order"
JOURNAL_ORDER = "journal_order"
STRAYS = "strays"
FAR_LINKS = "far_links"

ORDER_COLLECTIONS = (FEED_ORDER, JOURNAL_ORDER)
"""The further collections of the first partition of a store, see `partitions`."""

PARTITION_COLLECTIONS = (STRAYS, FAR_LINKS)
"""The further collections of each partition."""

STORE = "infinite-memory"
"""The `_id` of the store document: the number of changes, and the end of the journal."""

EARLIER_STORE = "store"
"""The `_id` of the store document in development versions before schema 1."""

COPY = "copy"
"""The `_id` of the document that names the store of which this store is a copy."""

ORDER = "order"
"""The `_id` of the document that says how far the feeds of the partitions are in one order."""

PARTITIONS = "partitions"
"""The field of the store document with the number of partitions; `PARTITION` has its own number."""

PARTITION = "partition"

RESTORING = "restoring"
"""The `_id` of the document that names the collections in which a new content is prepared."""

_NEWEST_FIRST = [("happened_at", DESCENDING), ("_id", DESCENDING)]

INDEXES: dict[str, list[IndexModel]] = {
    MEMORIES: [
        IndexModel(_NEWEST_FIRST, name="by_time"),
        IndexModel([("scope", ASCENDING), *_NEWEST_FIRST], name="by_scope"),
        IndexModel([("kind", ASCENDING), *_NEWEST_FIRST], name="by_kind"),
        IndexModel([("folded_tags", ASCENDING), *_NEWEST_FIRST], name="by_tag"),
        IndexModel(
            [("conversation_id", ASCENDING), *_NEWEST_FIRST],
            name="by_conversation",
            partialFilterExpression={"conversation_id": {"$type": "string"}},
        ),
        IndexModel(
            [("key", ASCENDING)],
            name="by_key",
            partialFilterExpression={"key": {"$type": "string"}},
        ),
        IndexModel([("ending", ASCENDING)], name="by_ending"),
        IndexModel([("content_hash", ASCENDING)], name="by_content"),
        IndexModel([("sequence", ASCENDING)], name="by_sequence", unique=True),
        IndexModel(
            [("embedded_by", ASCENDING), ("status", ASCENDING), ("sequence", ASCENDING)],
            name="by_embedding",
        ),
    ],
    PASSAGES: [IndexModel([("memory_id", ASCENDING), ("model", ASCENDING)], name="by_memory")],
    REVISIONS: [
        IndexModel(
            [("memory_id", ASCENDING), ("revision", ASCENDING)], name="by_memory", unique=True
        )
    ],
    ERASED: [IndexModel([("sequence", ASCENDING)], name="by_sequence", unique=True)],
    JOURNAL: [IndexModel([("memory_ids", ASCENDING), ("_id", DESCENDING)], name="by_memory")],
    LINKS: [
        IndexModel([("source", ASCENDING)], name="by_source"),
        IndexModel([("target", ASCENDING)], name="by_target"),
    ],
    FEED_ORDER: [
        IndexModel([("partition", ASCENDING), ("first", ASCENDING)], name="by_first"),
        IndexModel([("partition", ASCENDING), ("_id", ASCENDING)], name="by_partition"),
    ],
    JOURNAL_ORDER: [
        IndexModel([("partition", ASCENDING), ("number", ASCENDING)], name="by_number"),
        IndexModel([("partition", ASCENDING), ("_id", ASCENDING)], name="by_partition"),
    ],
    STRAYS: [
        IndexModel([("scope", ASCENDING), ("partition", ASCENDING)], name="by_scope"),
        IndexModel(
            [("key", ASCENDING)],
            name="by_key",
            partialFilterExpression={"key": {"$type": "string"}},
        ),
        IndexModel([("content_hash", ASCENDING)], name="by_content"),
    ],
    FAR_LINKS: [
        IndexModel([("source", ASCENDING)], name="by_source"),
        IndexModel([("target", ASCENDING)], name="by_target"),
    ],
}
