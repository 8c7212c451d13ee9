"""The products behind every cosine: as exact as half precision, in one thread or several."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from infinite_memory.search.vectors import _products

_FORKED = """
import os, numpy as np
from infinite_memory.search.vectors import _products
rng = np.random.default_rng(0)
vectors = rng.standard_normal((70_000, 8)).astype(np.float16)
query = rng.standard_normal(8).astype(np.float32)
before = _products(vectors, query, None)
child = os.fork()
if not child:
    os._exit(0 if (_products(vectors, query, None) == before).all() else 3)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.parametrize("count", [0, 1, 5, 1024, 16_384, 40_000, 70_001])
@pytest.mark.parametrize("dimensions", [1, 8, 384, 385])
def test_products_are_those_of_the_halves(count: int, dimensions: int) -> None:
    rng = np.random.default_rng(count)
    vectors = rng.standard_normal((min(count, 20_000), dimensions)).astype(np.float16)
    vectors = np.resize(vectors, (count, dimensions))
    query = rng.standard_normal(dimensions).astype(np.float32)
    expected = vectors.astype(np.float32) @ query.astype(np.float16).astype(np.float32)
    found = _products(vectors, query, None)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=2e-4)
    rows = np.flatnonzero(rng.random(count) < 0.05)
    assert (_products(vectors, query, rows) == found[rows]).all()


def test_unit_vectors_lose_less_than_a_thousandth() -> None:
    rng = np.random.default_rng(1)
    vectors = rng.standard_normal((5_000, 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    found = _products(vectors.astype(np.float16), vectors[0], None)
    lost = np.abs(found - vectors @ vectors[0])
    assert lost.max() < 1e-3
    assert lost.mean() < 3e-5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore")
def test_a_forked_child_multiplies_with_threads_of_its_own() -> None:
    code = subprocess.run([sys.executable, "-W", "ignore", "-c", _FORKED], timeout=300).returncode
    assert code == 0
