from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.testing.storage_machine import storage_machine
from tests.harness.sqlite_hardship import SqliteHardship

WALKS = settings(
    max_examples=5,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def test_any_walk_through_faults_and_crashes_ends_where_the_reference_does() -> None:
    machine = storage_machine(SqliteStorage.open, shared=True, hardship=SqliteHardship)
    run_state_machine_as_test(machine, settings=WALKS)


@pytest.mark.slow("sqlite-endurance")
def test_more_walks_through_faults_and_crashes_end_where_the_reference_does() -> None:
    machine = storage_machine(SqliteStorage.open, shared=True, hardship=SqliteHardship)
    run_state_machine_as_test(machine, settings=settings(WALKS, max_examples=40))


@pytest.mark.slow("broken-storage")
def test_walks_notice_a_disk_that_never_syncs() -> None:
    machine = storage_machine(
        SqliteStorage.open, shared=True, hardship=lambda: SqliteHardship(lying=True)
    )
    quick = settings(
        WALKS, max_examples=12, phases=[Phase.generate], database=None, print_blob=False
    )
    with pytest.raises((AssertionError, OSError, LookupError, ExceptionGroup)):
        run_state_machine_as_test(machine, settings=quick)
