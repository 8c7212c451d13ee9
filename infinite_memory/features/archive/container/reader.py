"""Reads an archive in bounded memory, and checks everything that can be checked on the way."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Protocol

from infinite_memory.core.errors import ArchiveDamaged
from infinite_memory.features.archive.container.codecs import unpack_frame
from infinite_memory.features.archive.container.layout import (
    END,
    FRAME,
    MAX_FRAME_BYTES,
    MAX_RECORD_BYTES,
    PART_OF,
    PHASES,
    RECORD,
    TRAILER,
    Codec,
    Part,
    RecordType,
    is_ratio_allowed,
)
from infinite_memory.features.archive.container.manifest import Manifest
from infinite_memory.features.archive.container.totals import Totals

_PARTS = tuple(Part)
_WAY_OUT = "use another backup, or copy the file again from where it is whole; nothing was changed"
_TYPES = {record_type.value.encode(): record_type for record_type in RecordType}


class Source(Protocol):
    """Where an archive is read from."""

    def read(self, size: int) -> bytes:
        """Return `size` bytes, fewer only at the end."""


class ArchiveReader:
    """Reads the body of an archive from its first frame on.

    `manifest` is there when `records` has come to its end: by then everything is as it was written.
    """

    def __init__(
        self, source: Source, preamble: bytes, name: str, *, encrypted: bool = False
    ) -> None:
        """Read from `source`, after the `preamble`; errors name the archive as `name`."""
        self.encrypted = encrypted
        self._source = source
        self._name = name
        self._digest = hashlib.sha256(preamble)
        self._waiting: dict[Part, bytearray] = {}
        self._phase = 0
        self.totals = Totals()
        self.manifest: Manifest | None = None

    def records(self) -> Iterator[tuple[RecordType, bytes]]:
        """Yield the records up to the manifest; the end of the iteration proves all of them.

        Raises:
            ArchiveDamaged: the archive is not as it was written.
            ConfigurationError: it is compressed by zstd, which is not installed.
        """
        while True:
            part, size, content = self._read_frame()
            if part is Part.MANIFEST:
                self._finish_reading(size, content)
                return
            yield from self._split_records(part, content)

    def _read_frame(self) -> tuple[Part, int, bytes]:
        head = self._read_bytes(FRAME.size)
        number, codec, stored_bytes, content_bytes = FRAME.unpack(head)
        if number >= len(_PARTS) or codec not in tuple(Codec):
            raise self._make_damage_error("has a frame of an unknown sort")
        if not (
            0 < stored_bytes <= content_bytes <= MAX_FRAME_BYTES
            and is_ratio_allowed(stored_bytes, content_bytes)
            and (codec != Codec.RAW or stored_bytes == content_bytes)
        ):
            raise self._make_damage_error(
                f"has a frame of {stored_bytes:,} bytes that claims {content_bytes:,}"
            )
        part = _PARTS[number]
        if PHASES[part] < self._phase:
            raise self._make_damage_error(f"has {part} after a later part")
        self._enter_part(part)
        stored = self._read_bytes(stored_bytes)
        # The trailer has the digest of everything before it.
        self._digest.update(head)
        self._digest.update(stored)
        content = unpack_frame(Codec(codec), stored, content_bytes)
        if content is None:
            raise self._make_damage_error("has a frame that cannot be decompressed")
        return part, FRAME.size + stored_bytes, content

    def _enter_part(self, part: Part) -> None:
        """Check that no record of an earlier part is incomplete."""
        if PHASES[part] == self._phase:
            return
        if any(self._waiting.values()):
            raise self._make_damage_error("has an incomplete record")
        self._phase = PHASES[part]

    def _split_records(self, part: Part, content: bytes) -> Iterator[tuple[RecordType, bytes]]:
        waiting = self._waiting.setdefault(part, bytearray())
        waiting += content
        start = 0
        while len(waiting) - start >= RECORD.size:
            letter, length = RECORD.unpack_from(waiting, start)
            record_type = _TYPES.get(letter)
            if record_type is None or PART_OF[record_type] is not part:
                raise self._make_damage_error(f"has a record of the type {letter!r} in {part}")
            if length > MAX_RECORD_BYTES:
                raise self._make_damage_error(f"has a record that claims {length:,} bytes")
            end = start + RECORD.size + length
            if end > len(waiting):
                break
            record = bytes(waiting[start + RECORD.size : end])
            self.totals.add(record_type, record)
            yield record_type, record
            start = end
        del waiting[:start]

    def _finish_reading(self, size: int, content: bytes) -> None:
        digest = self._digest.digest()
        manifest_bytes, sha256, end = TRAILER.unpack(self._read_bytes(TRAILER.size))
        if (manifest_bytes, sha256, end) != (size, digest, END):
            raise self._make_damage_error("is not as it was written: its checksum is another")
        if self._source.read(1):
            raise self._make_damage_error("has bytes after its end")
        letter, length = RECORD.unpack_from(content.ljust(RECORD.size))
        if letter != RecordType.MANIFEST.value.encode() or length != len(content) - RECORD.size:
            raise self._make_damage_error("has no manifest")
        try:
            manifest = Manifest.of(content[RECORD.size :])
        except ValueError as error:
            raise self._make_damage_error(f"has no readable manifest: {error}") from error
        if manifest.parts != self.totals.parts():
            raise self._make_damage_error("does not hold what its manifest says")
        self.manifest = manifest

    def _read_bytes(self, size: int) -> bytes:
        content = self._source.read(size)
        if len(content) != size:
            raise self._make_damage_error("is cut short")
        return content

    def _make_damage_error(self, problem: str) -> ArchiveDamaged:
        return ArchiveDamaged(f"{self._name} {problem}: {_WAY_OUT}")
