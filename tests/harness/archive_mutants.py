"""Archives that were altered: at random bytes, or with content that lies under right checksums."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from random import Random

import zstandard

from infinite_memory.features.archive.container.layout import (
    END,
    FRAME,
    MAX_FRAME_BYTES,
    PREAMBLE,
    RECORD,
    TRAILER,
    Codec,
    Part,
)

_PARTS = tuple(Part)
_SIZES = (1, 2, 7, 64, 1000, 50_000)


def mutate(content: bytes, random: Random) -> bytes:
    """Return `content` with one to three alterations of its bytes, in most cases."""
    altered = bytearray(content)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        random.choice(_WAYS)(altered, random)
    return bytes(altered)


def _place(altered: bytearray, random: Random) -> tuple[int, int]:
    """Return a range, in a third of the cases near an end, where the structure is."""
    size = random.choice(_SIZES)
    length = len(altered)
    near = random.random()
    if near < 0.2:
        start = random.randrange(min(length, 120) or 1)
    elif near < 0.35:
        start = max(0, length - 1 - random.randrange(120))
    else:
        start = random.randrange(length or 1)
    return start, min(length, start + size)


def _flip_bit(altered: bytearray, random: Random) -> None:
    start, _ = _place(altered, random)
    if altered:
        altered[start] ^= 1 << random.randrange(8)


def _replace(altered: bytearray, random: Random) -> None:
    start, end = _place(altered, random)
    altered[start:end] = random.randbytes(end - start)


def _zero(altered: bytearray, random: Random) -> None:
    start, end = _place(altered, random)
    altered[start:end] = random.choice((b"\0", b"\xff")) * (end - start)


def _cut(altered: bytearray, random: Random) -> None:
    start, end = _place(altered, random)
    del altered[start : random.choice((end, len(altered)))]


def _insert(altered: bytearray, random: Random) -> None:
    start, end = _place(altered, random)
    altered[start:start] = random.choice((bytes(altered[start:end]), random.randbytes(end - start)))


def _move(altered: bytearray, random: Random) -> None:
    start, end = _place(altered, random)
    piece = bytes(altered[start:end])
    del altered[start:end]
    other, _ = _place(altered, random)
    altered[other:other] = piece


def _append(altered: bytearray, random: Random) -> None:
    altered += random.randbytes(random.choice(_SIZES))


_WAYS: tuple[Callable[[bytearray, Random], None], ...] = (
    *(_flip_bit, _flip_bit, _flip_bit, _replace, _zero, _cut, _insert, _move, _append),
)


def forge(content: bytes, random: Random) -> bytes:
    """Return an archive that is not encrypted with altered records, under right checksums.

    Frames may also lie about their lengths, as the frames of a decompression bomb do.
    """
    preamble, parts = _unpack(content)
    part, records = random.choice([item for item in parts if item[0] is not Part.MANIFEST])
    place = random.randrange(len(records))
    letter, record = records[place]
    way = random.randrange(11)
    if way == 0:
        del records[place]
    elif way == 1:
        records.insert(random.randrange(len(records) + 1), (letter, record))
    elif way == 2:
        records[place] = letter, mutate(record, random)
    elif way == 3:
        records[place] = bytes([random.choice(b"HSRVXLUJK")]), record
    elif way == 4:
        records[place] = letter, _alter_json(record, random)
    elif way == 5:
        random.shuffle(records)
    elif way == 6:
        records[place] = letter, b"[" * random.choice((10, 1000, 200_000))
    elif way == 7:
        return _pack(preamble, parts, lies=(part, lambda stream: mutate(stream, random)))
    else:
        return _pack(preamble, parts, bomb=(part, random))
    return _pack(preamble, parts)


_VALUES: tuple[object, ...] = (
    *(None, True, -1, 0, 2**63, 1e308, "", "\0", "\ud800", "x" * 70_000, [], {}, [None], "Global"),
    *("9999-12-31T23:59:59.999999+23:59", "not a time", "../../../etc/passwd", "NaN"),
)


def _alter_json(record: bytes, random: Random) -> bytes:
    line, separator, rest = record.partition(b"\n")
    fields = json.loads(line)
    name = random.choice(list(fields))
    if random.random() < 0.2:
        del fields[name]
    else:
        fields[random.choice((name, "unknown"))] = random.choice(_VALUES)
    return json.dumps(fields).encode() + separator + rest


def _unpack(content: bytes) -> tuple[bytes, list[tuple[Part, list[tuple[bytes, bytes]]]]]:
    """Return the preamble, and the records of each part in the order of the archive."""
    streams: dict[Part, bytes] = {}
    place = PREAMBLE.size
    while place < len(content) - TRAILER.size:
        number, codec, stored, _ = FRAME.unpack_from(content, place)
        piece = content[place + FRAME.size : place + FRAME.size + stored]
        plain = zstandard.decompress(piece) if codec == Codec.ZSTD else piece
        streams[_PARTS[number]] = streams.get(_PARTS[number], b"") + plain
        place += FRAME.size + stored
    return content[: PREAMBLE.size], [(p, list(_split(s))) for p, s in streams.items()]


def _split(stream: bytes) -> Iterator[tuple[bytes, bytes]]:
    place = 0
    while place < len(stream):
        letter, length = RECORD.unpack_from(stream, place)
        place += RECORD.size
        yield letter, stream[place : place + length]
        place += length


def _pack(
    preamble: bytes,
    parts: list[tuple[Part, list[tuple[bytes, bytes]]]],
    *,
    lies: tuple[Part, Callable[[bytes], bytes]] | None = None,
    bomb: tuple[Part, Random] | None = None,
) -> bytes:
    """Return an archive of the records, with a manifest and a trailer that fit them.

    The stream of a part may be altered by `lies`, its frames may become a `bomb`.
    """
    body = bytearray(preamble)
    totals: dict[str, object] = {}
    frame = 0
    for part, records in parts:
        stream = b"".join(RECORD.pack(letter, len(r)) + r for letter, r in records)
        if lies is not None and lies[0] is part:
            stream = lies[1](stream)
        if part is Part.MANIFEST:
            manifest = json.loads(records[0][1])
            manifest["parts"] = totals
            text = json.dumps(manifest).encode()
            stream = RECORD.pack(b"Z", len(text)) + text
        elif stream:
            totals[str(part)] = {
                "records": len(records),
                "size_bytes": len(stream),
                "sha256": hashlib.sha256(stream).hexdigest(),
            }
        for start in range(0, len(stream), MAX_FRAME_BYTES):
            packed = _frame(part, stream[start : start + MAX_FRAME_BYTES], bomb)
            frame = len(packed)
            body += packed
    return bytes(body + TRAILER.pack(frame, hashlib.sha256(body).digest(), END))


def _frame(part: Part, content: bytes, bomb: tuple[Part, Random] | None) -> bytes:
    length = len(content)
    stored = zstandard.ZstdCompressor(write_checksum=False).compress(content)
    if bomb is not None and bomb[0] is part:
        claimed = bomb[1].choice((length, MAX_FRAME_BYTES, 1 << 26, 2**32 - 1))
        huge = bytes(bomb[1].choice((1 << 20, 1 << 28, 1 << 28)))
        stored = zstandard.ZstdCompressor().compress(huge)
        return FRAME.pack(_PARTS.index(part), Codec.ZSTD, len(stored), claimed) + stored
    if len(stored) >= length:
        return FRAME.pack(_PARTS.index(part), Codec.RAW, length, length) + content
    return FRAME.pack(_PARTS.index(part), Codec.ZSTD, len(stored), length) + stored
