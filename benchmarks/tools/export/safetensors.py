"""Reads a safetensors file: a JSON header of bounded size, then raw little-endian tensors.

The layout is that of the format's specification: eight bytes of header length, the header, the
data. Nothing in the file is trusted: lengths, types, shapes and offsets are checked before a byte
of a tensor is touched.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infinite_memory.core.errors import EmbedderError
from infinite_memory.core.files.regular import open_regular

_MAX_HEADER_BYTES = 16 * 1024 * 1024
_MAX_RANK = 8
_DTYPES = {"F32": "<f4", "F16": "<f2", "F64": "<f8"}


def read_tensors(path: Path) -> Mapping[str, NDArray[np.float32]]:
    """Return the floating-point tensors of the file by name, as float32.

    Integer tensors, such as position numbers, are left out.

    Raises:
        EmbedderError: the file is missing, or is not a well-formed safetensors file.
    """
    try:
        with open_regular(path) as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise EmbedderError(
            f"{path} cannot be read ({error}); give a sentence-transformers directory with its"
            " weights in model.safetensors"
        ) from error
    with content:
        return _parse(path, content)


def _parse(path: Path, content: mmap.mmap) -> dict[str, NDArray[np.float32]]:
    header_bytes = int.from_bytes(content[:8], "little")
    if len(content) < 8 or header_bytes > min(_MAX_HEADER_BYTES, len(content) - 8):
        raise _error(path, f"its header gives {header_bytes} bytes of {len(content)}")
    try:
        header = json.loads(content[8 : 8 + header_bytes])
    except (ValueError, RecursionError) as error:
        raise _error(path, f"its header is not JSON ({error})") from error
    if not isinstance(header, dict):
        raise _error(path, "its header is not a JSON object")
    start = 8 + header_bytes
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        dtype, shape, begin, end = _entry(path, name, entry, len(content) - start)
        if dtype in _DTYPES:
            raw = np.frombuffer(content[start + begin : start + end], dtype=_DTYPES[dtype])
            tensors[name] = raw.astype(np.float32).reshape(shape)
    return tensors


def _entry(path: Path, name: str, entry: Any, size: int) -> tuple[str, list[int], int, int]:
    """Return type, shape and byte range of a tensor, checked against the `size` of the data."""
    try:
        dtype, shape, (begin, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
    except (TypeError, KeyError, ValueError) as error:
        raise _error(path, f"the entry of tensor {name!r} is incomplete") from error
    numbers = [begin, end, *shape] if isinstance(shape, list) else [None]
    if not all(type(number) is int and number >= 0 for number in numbers) or len(shape) > _MAX_RANK:
        raise _error(path, f"tensor {name!r} has shape {shape!r} and range {begin!r} to {end!r}")
    if not begin <= end <= size:
        raise _error(path, f"tensor {name!r} lies at {begin} to {end} of {size} bytes")
    if dtype in _DTYPES and prod(shape) * np.dtype(_DTYPES[dtype]).itemsize != end - begin:
        raise _error(path, f"tensor {name!r} of shape {shape} cannot take {end - begin} bytes")
    return str(dtype), shape, begin, end


def _error(path: Path, what: str) -> EmbedderError:
    return EmbedderError(f"{path} is not a usable safetensors file: {what}; fetch the model again")
