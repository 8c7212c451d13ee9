"""Links, a document per link, with a query from both ends."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from bson.int64 import Int64
from pymongo.database import Database

from infinite_memory.core.values.codec import from_micros, to_micros
from infinite_memory.core.values.link import Link, LinkKey, LinkType
from infinite_memory.storage.damage import DamageLog, link_name, name_of
from infinite_memory.storage.mongodb.documents import Document, fits, sealed
from infinite_memory.storage.mongodb.schema import LINKS

_KIND = b"link"
_IDS_AT_ONCE = 1000


def link_id(key: LinkKey) -> str:
    """Return the `_id` of a link: as JSON, since an id may hold any character."""
    return json.dumps([key.source, key.target, str(key.type)], ensure_ascii=False)


def encode_link(link: Link) -> Document:
    """Return the document of a link.

    Raises:
        InvalidInput: MongoDB cannot keep a value of the link.
    """
    return sealed(
        _KIND,
        f"the link from {link.source!r} to {link.target!r}",
        {
            "_id": link_id(link.key),
            "source": link.source,
            "target": link.target,
            "type": str(link.type),
            "weight": float(link.weight),
            "made_by": link.made_by,
            "reason": link.reason,
            "made_at": Int64(to_micros(link.made_at)),
        },
    )


def decode_link(document: Document) -> Link | None:
    """Return the link in a document, or None if it is damaged."""
    if not fits(_KIND, document):
        return None
    return Link(
        source=document["source"],
        target=document["target"],
        type=LinkType(document["type"]),
        weight=document["weight"],
        made_by=document["made_by"],
        reason=document["reason"],
        made_at=from_micros(document["made_at"]),
    )


def link_condition(memory_id: str) -> Document:
    """Return the condition on links from or to a memory."""
    return {"$or": [{"source": {"$eq": memory_id}}, {"target": {"$eq": memory_id}}]}


def links_of(
    database: Database[dict[str, Any]],
    ids: Collection[str],
    damage: DamageLog,
    collection: str = LINKS,
) -> list[Link]:
    """Return every link in a collection from or to the memories `ids`; see `Storage.links`."""
    wanted = list(dict.fromkeys(ids))
    links: dict[tuple[str, str, str], Link] = {}
    for start in range(0, len(wanted), _IDS_AT_ONCE):
        batch = wanted[start : start + _IDS_AT_ONCE]
        ends = [{name: {"$in": batch}} for name in ("source", "target")]
        for document in database.get_collection(collection).find({"$or": ends}):
            link = decode_link(document)
            if link is None:
                damage.skip_record(_name_damaged(document))
            else:
                links[link.source, link.target, link.type] = link
    return [link for _, link in sorted(links.items())]


def _name_damaged(document: Document) -> str:
    """Return the name of a damaged link from its `_id`, which MongoDB never changes in place."""
    try:
        source, target, kind = json.loads(document["_id"])
        return link_name(source, target, kind)
    except (TypeError, ValueError):
        return f"link {name_of(document['_id'])}"
