"""Writes an archive: records into frames, then the manifest and the trailer."""

from __future__ import annotations

import hashlib
from typing import Protocol

from infinite_memory.features.archive.container.codecs import find_compressor
from infinite_memory.features.archive.container.layout import (
    END,
    FRAME,
    MAX_FRAME_BYTES,
    PART_OF,
    PHASES,
    TRAILER,
    Codec,
    Part,
    RecordType,
    is_ratio_allowed,
)
from infinite_memory.features.archive.container.manifest import Manifest
from infinite_memory.features.archive.container.totals import Totals, frame_record

_PART_NUMBERS = {part: number for number, part in enumerate(Part)}


class Sink(Protocol):
    """Where an archive is written to."""

    def write(self, content: bytes) -> object:
        """Write all of `content`."""


class ArchiveWriter:
    """Writes records in the order of their parts, with a frame of memory for each part."""

    def __init__(self, sink: Sink, preamble: bytes) -> None:
        """Write to `sink`; `preamble` was written before, and is covered by the digest."""
        self._sink = sink
        self._codec, self._compress = find_compressor()
        self._digest = hashlib.sha256(preamble)
        self._waiting: dict[Part, bytearray] = {}
        self._phase = 0
        self.totals = Totals()

    def add(self, record_type: RecordType, content: bytes) -> None:
        """Add a record, no part of which comes before the part of an earlier record."""
        part = PART_OF[record_type]
        if PHASES[part] != self._phase:
            assert PHASES[part] > self._phase, f"{part} comes too late"
            self._flush_records()
            self._phase = PHASES[part]
        waiting = self._waiting.setdefault(part, bytearray())
        waiting += self.totals.add(record_type, content)
        while len(waiting) >= MAX_FRAME_BYTES:
            self._write_frame(part, bytes(waiting[:MAX_FRAME_BYTES]))
            del waiting[:MAX_FRAME_BYTES]

    def finish(self, manifest: Manifest) -> None:
        """Write the manifest, which has `totals`, and the trailer; nothing may follow."""
        self._flush_records()
        record = frame_record(RecordType.MANIFEST, manifest.to_json())
        size = self._write_frame(Part.MANIFEST, record)
        self._sink.write(TRAILER.pack(size, self._digest.digest(), END))

    def _flush_records(self) -> None:
        for part, waiting in self._waiting.items():
            if waiting:
                self._write_frame(part, bytes(waiting))
        self._waiting.clear()

    def _write_frame(self, part: Part, content: bytes) -> int:
        compressed = self._compress(content)
        codec, stored = self._codec, compressed
        if len(compressed) >= len(content) or not is_ratio_allowed(len(compressed), len(content)):
            codec, stored = Codec.RAW, content
        head = FRAME.pack(_PART_NUMBERS[part], codec, len(stored), len(content))
        for piece in (head, stored):
            self._digest.update(piece)
            self._sink.write(piece)
        return len(head) + len(stored)
