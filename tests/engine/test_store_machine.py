"""Whatever is told, changed, forgotten and undone, a store holds what plain dictionaries hold."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.storage.sqlite import SqliteStorage
from tests.harness.store_machine import store_machine

_QUIET = [HealthCheck.too_slow, HealthCheck.filter_too_much]
_EXAMPLES = pytest.mark.parametrize(
    "examples", [10, pytest.param(60, marks=pytest.mark.slow("store-walks"))]
)


@_EXAMPLES
def test_any_walk_over_a_store_in_memory_ends_where_the_model_does(examples: int) -> None:
    machine = store_machine(lambda _: InMemoryStorage(), shared=False)
    walks = settings(
        max_examples=2 * examples,
        stateful_step_count=30,
        deadline=None,
        suppress_health_check=_QUIET,
    )
    run_state_machine_as_test(machine, settings=walks)


@_EXAMPLES
def test_any_walk_over_a_store_on_sqlite_ends_where_the_model_does(examples: int) -> None:
    machine = store_machine(SqliteStorage.open, shared=True)
    walks = settings(
        max_examples=examples, stateful_step_count=30, deadline=None, suppress_health_check=_QUIET
    )
    run_state_machine_as_test(machine, settings=walks)
