"""Links as rows, every row with a checksum."""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.codec import from_micros, to_micros
from infinite_memory.core.values.link import Link, LinkKey, LinkType
from infinite_memory.storage.damage import DamageLog, link_name, name_of
from infinite_memory.storage.integrity import seal, seal_fits
from infinite_memory.storage.sqlite.readers import Snapshot

if TYPE_CHECKING:
    import apsw


_KIND = b"link"
_WEIGHT = struct.Struct("<d")
_LINKS = (
    "SELECT CAST(source AS BLOB), CAST(target AS BLOB), CAST(type AS BLOB), "
    "CAST(made_by AS BLOB), CAST(reason AS BLOB), CAST(weight AS REAL), "
    "CAST(made_at AS INTEGER), CAST(checksum AS BLOB) FROM links"
)


def put_link(connection: apsw.Connection, link: Link) -> None:
    """Create or replace a link if both ends exist, inside the transaction of the caller.

    Raises:
        InvalidInput: a text holds a character that no database can keep: a lone surrogate.
    """
    texts = (link.source, link.target, link.type.value, link.made_by, link.reason)
    try:
        blobs = [text.encode() for text in texts]
    except UnicodeEncodeError as error:
        raise InvalidInput(f"link {link!r} cannot be stored: {error}") from error
    made_at = to_micros(link.made_at)
    checksum = seal(_KIND, (made_at,), [*blobs, _WEIGHT.pack(link.weight)])
    connection.execute(
        "INSERT OR REPLACE INTO links "
        "(source, target, type, made_by, reason, weight, made_at, checksum) "
        "SELECT s.id, t.id, ?3, ?4, ?5, ?6, ?7, ?8 FROM memories s, memories t "
        "WHERE s.id = ?1 AND t.id = ?2",
        (*texts, link.weight, made_at, checksum),
    )


def erase_link(connection: apsw.Connection, key: LinkKey) -> None:
    """Remove a link if it is there, inside the transaction of the caller."""
    connection.execute(
        "DELETE FROM links WHERE source = ? AND target = ? AND type = ?",
        (key.source, key.target, key.type.value),
    )


def erase_links(connection: apsw.Connection, memory_id: str) -> None:
    """Remove every link from or to a memory, inside the transaction of the caller."""
    connection.execute("DELETE FROM links WHERE source = ?", (memory_id,))
    connection.execute("DELETE FROM links WHERE target = ?", (memory_id,))


def read_links(snapshot: Snapshot, ids: Collection[str], damage: DamageLog) -> list[Link]:
    """Return every sound link from or to a memory in `ids`, in order."""
    links: dict[tuple[str, str, str], Link] = {}
    for memory_id in ids:
        for end in ("source", "target"):
            for row in snapshot.rows(f"{_LINKS} WHERE {end} = ?", (memory_id,)):
                if _fits_checksum(row):
                    link = _decode_link(row)
                    links[link.source, link.target, link.type.value] = link
                else:
                    damage.skip_record(_name_link(row))
    return [links[key] for key in sorted(links)]


def damaged_links(snapshot: Snapshot) -> Iterator[str]:
    """Yield the names of the links that are damaged."""
    for row in snapshot.rows(_LINKS):
        if not _fits_checksum(row):
            yield _name_link(row)


def _fits_checksum(row: tuple[Any, ...]) -> bool:
    *blobs, weight, made_at, checksum = row
    return isinstance(weight, float) and seal_fits(
        _KIND, (made_at,), [*blobs, _WEIGHT.pack(weight)], checksum
    )


def _decode_link(row: tuple[Any, ...]) -> Link:
    source, target, kind, made_by, reason, weight, made_at, _ = row
    return Link(
        source=source.decode(),
        target=target.decode(),
        type=LinkType(kind.decode()),
        weight=weight,
        made_by=made_by.decode(),
        reason=reason.decode(),
        made_at=from_micros(made_at),
    )


def _name_link(row: tuple[Any, ...]) -> str:
    source, target, kind, *_ = map(name_of, row)
    return link_name(source, target, kind)
