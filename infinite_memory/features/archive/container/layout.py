"""The layout of an archive: its parts, its fixed bytes and its limits.

`docs/reference/archive-format.md` is the specification.
"""

from __future__ import annotations

import struct
from enum import IntEnum, StrEnum

MAGIC = b"\x89IMA\r\n\x1a\n"
"""The first bytes; as in PNG, a transfer that changes line ends or bits destroys them."""

END = b"IMA-END\n"
"""The last bytes of the body."""

FORMAT_VERSION = 1
"""The version of the container: preamble, encryption, frames, trailer."""

SCHEMA_VERSION = 2
"""The version of the records; a new field raises it. The usage of version 1 has no activation."""

PREAMBLE = struct.Struct("<8sHHB3x")
"""Magic, version of the container, version of the records, encryption, three zero bytes."""

FRAME = struct.Struct("<BBII")
"""The head of a frame: part, codec, stored length, length of the content."""

RECORD = struct.Struct("<cI")
"""The head of a record: type, length."""

TRAILER = struct.Struct("<I32s8s")
"""Length of the frame of the manifest, SHA-256 of everything before the trailer, `END`."""

MAX_FRAME_BYTES = 1 << 20
"""The largest content of a frame."""

MAX_RECORD_BYTES = 128 << 20
"""The largest record, which is larger than the largest text that a store accepts."""

_MAX_RATIO = 64


class Encryption(IntEnum):
    """How the body is encrypted."""

    NONE = 0
    AES_256_GCM = 1


class Codec(IntEnum):
    """How the content of a frame is stored."""

    RAW = 0
    ZSTD = 1
    ZLIB = 2


class Part(StrEnum):
    """A part of an archive; its records are of the types of `PART_OF`."""

    HEAD = "head"
    SCOPES = "scopes"
    MEMORIES = "memories"
    ERASED = "erased"
    LINKS = "links"
    USAGE = "usage"
    JOURNAL = "journal"
    ACCESS_KEYS = "access_keys"
    MANIFEST = "manifest"


class RecordType(StrEnum):
    """The type of a record, a letter."""

    HEAD = "H"
    SCOPE = "S"
    REVISION = "R"
    EMBEDDING = "V"
    ERASED = "X"
    LINK = "L"
    USAGE = "U"
    ENTRY = "J"
    ACCESS_KEY = "K"
    MANIFEST = "Z"


PART_OF = {
    RecordType.HEAD: Part.HEAD,
    RecordType.SCOPE: Part.SCOPES,
    RecordType.REVISION: Part.MEMORIES,
    RecordType.EMBEDDING: Part.MEMORIES,
    RecordType.ERASED: Part.ERASED,
    RecordType.LINK: Part.LINKS,
    RecordType.USAGE: Part.USAGE,
    RecordType.ENTRY: Part.JOURNAL,
    RecordType.ACCESS_KEY: Part.ACCESS_KEYS,
    RecordType.MANIFEST: Part.MANIFEST,
}

PHASES = {
    Part.HEAD: 0,
    Part.SCOPES: 1,
    Part.MEMORIES: 2,
    Part.ERASED: 2,
    Part.LINKS: 3,
    Part.USAGE: 3,
    Part.JOURNAL: 4,
    Part.ACCESS_KEYS: 5,
    Part.MANIFEST: 6,
}
"""The order of the parts; the frames of two parts with the same number may alternate."""


def is_ratio_allowed(stored_bytes: int, content_bytes: int) -> bool:
    """Return whether a frame may hold so much content; a writer stores other content raw.

    The content of a whole archive is thus at most 64 times as long as the file.
    """
    return content_bytes <= _MAX_RATIO * (FRAME.size + stored_bytes)
