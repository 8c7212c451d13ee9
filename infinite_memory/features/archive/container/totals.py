"""The number of records, the bytes and the SHA-256 of each part."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from attrs import frozen

from infinite_memory.core.plain import PlainData
from infinite_memory.features.archive.container.layout import PART_OF, RECORD, Part, RecordType


@frozen(kw_only=True)
class PartTotal(PlainData):
    """A part of an archive: its records, its length and its SHA-256 in hexadecimal digits."""

    records: int
    size_bytes: int
    sha256: str


def frame_record(record_type: RecordType, content: bytes) -> bytes:
    """Return a record as it stands in its part: its head, then its content."""
    return RECORD.pack(record_type.value.encode(), len(content)) + content


class Totals:
    """Counts and hashes records by part. Two stores are equal if their totals are."""

    def __init__(self) -> None:
        self._hashes: dict[Part, hashlib._Hash] = {}
        self._records: dict[Part, int] = {}
        self._bytes: dict[Part, int] = {}
        self.by_type: dict[RecordType, int] = dict.fromkeys(RecordType, 0)

    def add(self, record_type: RecordType, content: bytes) -> bytes:
        """Add a record to its part, and return the record with its head."""
        part, framed = PART_OF[record_type], frame_record(record_type, content)
        if part not in self._hashes:
            self._hashes[part] = hashlib.sha256()
        self._hashes[part].update(framed)
        self._records[part] = self._records.get(part, 0) + 1
        self._bytes[part] = self._bytes.get(part, 0) + len(framed)
        self.by_type[record_type] += 1
        return framed

    def counts(self, memories: int) -> dict[str, int]:
        """Return the numbers of records, of which so many are current revisions, without zeros."""
        by_type = self.by_type
        counts = {
            "memories": memories,
            "revisions": by_type[RecordType.REVISION] - memories,
            "embeddings": by_type[RecordType.EMBEDDING],
            "erased": by_type[RecordType.ERASED],
            "scopes": by_type[RecordType.SCOPE],
            "links": by_type[RecordType.LINK],
            "usage": by_type[RecordType.USAGE],
            "entries": by_type[RecordType.ENTRY],
            "access_keys": by_type[RecordType.ACCESS_KEY],
        }
        return {name: number for name, number in counts.items() if number}

    def parts(self) -> Mapping[str, PartTotal]:
        """Return the totals of the parts that have records, by the name of the part."""
        return {
            str(part): PartTotal(
                records=self._records[part],
                size_bytes=self._bytes[part],
                sha256=self._hashes[part].hexdigest(),
            )
            for part in Part
            if part in self._hashes
        }
