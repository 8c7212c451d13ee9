"""The fixtures for the tests of a program with a memory."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest_plugins = "pytester"

CONFTEST = 'pytest_plugins = ["infinite_memory.testing.pytest_plugin"]'
PROGRAM = """
from datetime import timedelta

import pytest

from infinite_memory import MemoryStore


def test_a_memory_is_found_and_the_clock_stands_still(memory_store, memory_clock):
    receipt = memory_store.remember("The pump was replaced", happened_at="yesterday")
    assert memory_store.get(receipt.id).happened_at.isoformat() == "2026-05-31T12:00:00+00:00"
    memory_clock.now += timedelta(days=1)
    assert memory_store.search("which pump?", when="two days ago")[0].memory.id == receipt.id


def test_each_test_has_an_empty_store(memory_store):
    assert memory_store.stats().memories == 0
"""
WITH_THE_MODEL = """
import pytest


@pytest.fixture
def memory_embedder():
    return None


def test_the_model_in_the_package_answers(memory_store):
    memory_store.remember("Alice's birthday is January 20")
    memory_store.remember("The pump was replaced")
    assert "birthday" in memory_store.search("when was Alice born?")[0].memory.text
"""
LOADED = """
import sys
import infinite_memory.testing.pytest_plugin
heavy = {"numpy", "apsw", "onnxruntime", "pydantic", "pymongo", "infinite_memory.store"}
print(sorted(heavy & set(sys.modules)))
print(sum(name.startswith("infinite_memory") for name in sys.modules))
"""


@pytest.mark.process
def test_a_program_is_tested_with_the_fixtures(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(PROGRAM)
    pytester.runpytest_subprocess("--strict-markers", "-W", "error").assert_outcomes(passed=2)


@pytest.mark.thorough
def test_a_fixture_that_returns_none_brings_the_model(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(WITH_THE_MODEL)
    pytester.runpytest_subprocess().assert_outcomes(passed=1)


@pytest.mark.process
def test_pytest_lists_the_fixtures_and_they_load_nothing(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST)
    listed = pytester.runpytest_subprocess("--fixtures").stdout.str()
    assert all(f"memory_{name}" in listed for name in ("store", "clock", "embedder"))
    loaded = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True)
    assert loaded.stdout.splitlines() == ["[]", "3"]
