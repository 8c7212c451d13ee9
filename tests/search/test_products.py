"""The products behind every cosine: exact sums of bytes, in one thread or several."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import simsimd
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from infinite_memory.core.errors import StorageUnavailable
from infinite_memory.core.values.record import from_steps, to_steps
from infinite_memory.search.cosine import (
    QueryVector,
    approximate_cosines,
    cosines,
)
from infinite_memory.search.doc_filter import DocFilter
from infinite_memory.search.quantization import RowsInFile, quantize
from infinite_memory.search.segment import Segment, build

Floats = NDArray[np.float32]
CAPABILITIES = {n for n, there in simsimd.get_capabilities().items() if there} - {"serial"}

_FORKED = """
import os, numpy as np
from infinite_memory.search import cosine
rng = np.random.default_rng(0)
rows = rng.integers(-128, 128, (140_000, 8), dtype=np.int8)
class Segment:
    high, scale = rows, np.ones(len(rows), np.float32)
products = lambda: cosine._all_products(Segment, rows[:1], np.float32(1))
before = products()
child = os.fork()
if not child:
    os._exit(0 if (products() == before).all() else 3)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
_LESS_CAPABLE = """
import sys, numpy as np, simsimd
from infinite_memory.search.cosine import _dot_products
simsimd.disable_capability(sys.argv[1]) if sys.argv[1] != "all" else [
    simsimd.disable_capability(name)
    for name, there in simsimd.get_capabilities().items() if there and name != "serial"
]
rng = np.random.default_rng(0)
for dimensions in (1, 31, 384, 1025):
    rows = rng.integers(-128, 128, (50, dimensions), dtype=np.int8)
    rows[0], rows[1] = -128, 127
    expected = rows[:2].astype(np.int64) @ rows.astype(np.int64).T
    assert (_dot_products(rows[:2], rows, "float64") == expected).all(), (sys.argv, dimensions)
"""


def unit_vectors(count: int, dimensions: int, *, seed: int = 0) -> Floats:
    vectors = np.random.default_rng(seed).standard_normal((count, dimensions)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def segment_with(vectors: Floats, *, passages: int = 1) -> Segment:
    """Return a segment of documents that have nothing but so many of these vectors each."""
    high, low, scale = quantize(vectors)
    documents = len(vectors) // passages
    return evolve(
        build([], dimensions=vectors.shape[1]),
        id_hash=np.arange(documents, dtype=np.uint64),
        passage_start=np.arange(documents + 1, dtype=np.int64) * passages,
        high=high,
        low=low,
        scale=scale,
    )


@settings(max_examples=200, deadline=None)
@given(
    arrays.arrays(
        np.float32,
        st.tuples(st.integers(0, 5), st.integers(1, 20)),
        elements=st.floats(-1, 1, width=32),
    )
)
def test_two_planes_have_sixteen_bits_of_every_component(vectors: Floats) -> None:
    high, low, scale = quantize(vectors)
    assert (high.dtype, low.dtype, scale.dtype) == (np.int8, np.int8, np.float32)
    steps = 256 * high.astype(np.float64) + low
    again = steps * scale[:, np.newaxis]
    half_a_step = 0.51 * np.where(scale < 1, scale, 0)[:, np.newaxis]
    assert (np.abs(again - vectors) <= half_a_step + 1e-29).all()
    assert (quantize(vectors[::-1])[0] == high[::-1]).all()


@settings(max_examples=200, deadline=None)
@given(
    arrays.arrays(
        np.float32,
        st.tuples(st.integers(1, 5), st.integers(1, 20)),
        elements=st.floats(-2, 2, width=32, allow_subnormal=False),
    )
)
def test_rounded_vectors_make_the_same_planes_as_those_that_were_rounded(vectors: Floats) -> None:
    planes = quantize(vectors)
    for _ in range(2):
        vectors = from_steps(*to_steps(vectors))
        again = quantize(vectors)
        assert all((a == b).all() for a, b in zip(again, planes, strict=True))


@pytest.mark.thorough
@pytest.mark.parametrize("count", [0, 1, 5, 2048, 65_536, 70_001])
@pytest.mark.parametrize("dimensions", [1, 8, 384, 385])
def test_every_way_to_a_cosine_gives_the_same_cosine(count: int, dimensions: int) -> None:
    vectors = np.resize(unit_vectors(min(count, 20_000), dimensions), (count, dimensions))
    vector = unit_vectors(1, dimensions, seed=1)[0]
    expected = vectors.astype(np.float64) @ vector
    query = QueryVector.of(vector)
    segment = segment_with(vectors)
    found = approximate_cosines(query, segment, DocFilter(size=count))
    assert found.dtype == np.float32
    assert (np.abs(found - expected) <= 0.01).all()
    chosen = np.random.default_rng(count).random(count)
    for share in (0.05, 0.5):
        mask = chosen < share
        some = approximate_cosines(query, segment, DocFilter.of(mask))
        assert (some == found[mask]).all()
        docs = np.flatnonzero(mask).astype(np.int32)
        np.testing.assert_allclose(cosines(query, segment, docs), expected[docs], atol=1e-4)


@pytest.mark.parametrize("spread", [0.0, 1.0, 3.0])
def test_both_planes_give_the_cosine_whatever_the_components_are(spread: float) -> None:
    rng = np.random.default_rng(5)
    vectors = rng.standard_normal((3_000, 384)) * np.exp(rng.standard_normal((3_000, 384)) * spread)
    vectors[:384] = np.eye(384)
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    segment = segment_with(vectors, passages=3)
    docs = np.arange(1_000, dtype=np.int32)
    for vector in vectors[380:400]:
        expected = (vectors.astype(np.float64) @ vector).reshape(-1, 3).max(axis=1)
        found = cosines(QueryVector.of(vector), segment, docs)
        np.testing.assert_allclose(found, expected, atol=1e-4)


def test_an_approximate_cosine_is_near_and_an_exact_one_nearer() -> None:
    vectors = unit_vectors(5_000, 384)
    segment = segment_with(vectors)
    expected = vectors.astype(np.float64) @ vectors[0]
    query = QueryVector.of(vectors[0])
    off = np.abs(approximate_cosines(query, segment, DocFilter(size=5_000)) - expected)
    assert off.mean() < 6e-4
    exact = cosines(query, segment, np.arange(5_000, dtype=np.int32))
    assert np.abs(exact - expected).mean() < 5e-6


@pytest.mark.thorough
@pytest.mark.parametrize(
    "capability",
    [*(n for n, there in simsimd.get_capabilities().items() if there and n != "serial"), "all"],
)
def test_the_sums_are_exact_without_what_this_processor_can_do(capability: str) -> None:
    subprocess.run([sys.executable, "-c", _LESS_CAPABLE, capability], check=True, timeout=300)


def test_rows_of_a_file_are_those_of_the_array(tmp_path: Path) -> None:
    array = np.random.default_rng(2).integers(-128, 128, (50, 24), dtype=np.int8)
    path = tmp_path / "rows"
    path.write_bytes(b"header--" + array.tobytes())
    with path.open("rb") as file:
        rows = RowsInFile(file, offset=8, width=24)
    wanted = np.array([49, 0, 7, 7], np.int32)
    assert (rows.take(wanted) == array[wanted]).all()
    assert rows.take(wanted[:0]).shape == (0, 24)
    os.truncate(path, 8 + 24 * 49 + 3)
    with pytest.raises(StorageUnavailable, match="cut short"):
        rows.take(wanted)
    os.close(rows._descriptor)
    broken = os.open(tmp_path, os.O_RDONLY)
    try:
        os.dup2(broken, rows._descriptor)
        with pytest.raises(StorageUnavailable, match="cannot be read"):
            rows.take(wanted)
    finally:
        os.close(broken)


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore")
def test_a_forked_child_multiplies_with_threads_of_its_own() -> None:
    code = subprocess.run([sys.executable, "-W", "ignore", "-c", _FORKED], timeout=300).returncode
    assert code == 0
