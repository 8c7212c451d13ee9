"""What the library finds out about an installation and its store, as values."""

from __future__ import annotations

from pathlib import Path

import apsw

from infinite_memory import Config, MemoryStore
from infinite_memory.core.values.verification import Diagnosis, State
from infinite_memory.engine.verification.diagnose import (
    diagnose_installation,
    diagnose_platform,
)


def checks(home: Path) -> dict[str, Diagnosis]:
    return {diagnosis.about: diagnosis for diagnosis in diagnose_installation(Config(home=home))}


def test_the_platform_of_the_tests_is_supported() -> None:
    states = {diagnosis.about: diagnosis.state for diagnosis in diagnose_platform()}
    assert states == {"python": State.OK, "sqlite": State.OK}


def test_a_store_is_diagnosed_without_being_created_or_changed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert checks(home)["store"] == Diagnosis(
        "store", State.OK, f"There is no store in {home} yet."
    )
    assert not home.exists()
    with MemoryStore.open(home) as store:
        store.remember("the harbour opens at nine")
    files = {
        path: path.read_bytes() for path in home.glob("memory.db*") if path.suffix != ".db-shm"
    }
    found = checks(home)
    assert {diagnosis.state for diagnosis in found.values()} == {State.OK}
    assert "1 memory in" in found["records"].sentence
    assert {path: path.read_bytes() for path in files} == files


def test_a_damaged_record_is_a_problem_with_a_way_out(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path) as store:
        store.remember("the harbour opens at nine")
        store.scopes.create("work")
    connection = apsw.Connection(str(tmp_path / "memory.db"))
    connection.execute("UPDATE scopes SET description = 'lies' WHERE name = 'work'")
    connection.close()
    assert checks(tmp_path)["damage"] == Diagnosis(
        "damage",
        State.PROBLEM,
        "1 record is damaged, such as 'scope work': run infinite-memory verify.",
    )


def test_files_that_are_suspect_end_the_checks_of_the_store(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path) as store:
        store.remember("the harbour opens at nine")
    (tmp_path / "memory.db").write_bytes(b"not a database, and longer than a header is" * 100)
    found = checks(tmp_path)
    assert (found["store"].state, "records" in found) == (State.PROBLEM, False)
    assert "memory.db is damaged" in found["store"].sentence
    assert found["model"].state is State.OK
