"""Fingerprints of texts in the rows of the memories, from which they are derived."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import apsw

from infinite_memory.storage.sqlite.rows import SELECTED, decode_memory
from infinite_memory.text.likeness import fingerprint

__all__ = ["FINGERPRINTED", "fill_fingerprints", "wrong_fingerprints"]

FINGERPRINTED = (
    f"SELECT CAST(m.fingerprint AS INTEGER), {SELECTED} FROM memories m ORDER BY m.number"
)
"""Every memory with its fingerprint."""

_BATCH = 1000


def fill_fingerprints(connection: apsw.Connection) -> None:
    """Give every memory its fingerprint, some at a time; a damaged one is passed over."""
    last = -1
    while True:
        rows: list[Any] = connection.execute(
            f"SELECT m.number, {SELECTED} FROM memories m WHERE m.number > ? ORDER BY m.number "
            f"LIMIT {_BATCH}",
            (last,),
        ).fetchall()
        if not rows:
            return
        last = rows[-1][0]
        memories = ((number, decode_memory(tuple(row))) for number, *row in rows)
        connection.executemany(
            "UPDATE memories SET fingerprint = ? WHERE number = ?",
            [(fingerprint(each.text), number) for number, each in memories if each is not None],
        )


def wrong_fingerprints(rows: Iterable[tuple[Any, ...]]) -> Iterator[str]:
    """Yield, of rows of `FINGERPRINTED`, the ids whose fingerprint is not that of the text."""
    for found, *row in rows:
        memory = decode_memory(tuple(row))
        if memory is not None and found != fingerprint(memory.text):
            yield memory.id
