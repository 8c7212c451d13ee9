from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tiny_bert import safetensors

from benchmarks.tools.export.safetensors import read_tensors
from infinite_memory.core.errors import EmbedderError


def with_header(header: Any, data: bytes = b"\0" * 16) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def test_tensors_come_back_as_float32(tmp_path: Path) -> None:
    half = np.array([[1.5, -2]], np.float16)
    path = tmp_path / "x"
    path.write_bytes(safetensors({"a": half, "ids": np.array([1]), "b": np.float32([3])}))
    found = read_tensors(path)
    assert sorted(found) == ["a", "b"]
    assert (found["a"].dtype, found["a"].tolist()) == (np.float32, [[1.5, -2]])


ENTRY = {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"short",
        (2**62).to_bytes(8, "little") + b"{}",
        with_header(b"{"),
        with_header(b"[" * 100_000),
        with_header([]),
        with_header({"x": 3}),
        with_header({"x": {"dtype": "F32"}}),
        with_header({"x": ENTRY | {"shape": 4}}),
        with_header({"x": ENTRY | {"shape": [-4]}}),
        with_header({"x": ENTRY | {"shape": [True]}}),
        with_header({"x": ENTRY | {"shape": [1] * 9}}),
        with_header({"x": ENTRY | {"shape": [5]}}),
        with_header({"x": ENTRY | {"data_offsets": [0, 17]}}),
        with_header({"x": ENTRY | {"data_offsets": [16, 0]}}),
        with_header({"x": ENTRY | {"data_offsets": [0]}}),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    with pytest.raises(EmbedderError, match=r"model\.safetensors"):
        read_tensors(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(EmbedderError, match="cannot be read"):
        read_tensors(tmp_path / "model.safetensors")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(position=st.integers(0, 200), value=st.integers(0, 255))
def test_a_flipped_byte_is_read_or_refused(tmp_path: Path, position: int, value: int) -> None:
    content = bytearray(safetensors({"a": np.ones((2, 3), np.float32)}))
    content[position % len(content)] = value
    path = tmp_path / "x"
    path.write_bytes(content)
    try:
        found = read_tensors(path)
    except EmbedderError:
        return
    assert sum(tensor.size for tensor in found.values()) <= 12
