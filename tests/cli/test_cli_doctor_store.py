"""What the doctor finds in a store, and that it leaves it as it is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from infinite_memory import StorageUnavailable
from infinite_memory.storage.sqlite.creation import PAGE_BYTES

Ask = Callable[..., Any]
Run = Callable[..., Any]


def found(document: Any, about: str) -> tuple[str, str]:
    """Return the state and the sentence of the last check about that."""
    check = [check for check in document["checks"] if check["about"] == about][-1]
    return check["state"], check["sentence"]


def contents(folder: Path) -> dict[str, bytes]:
    # The index of the log holds nothing of its own: whoever opens the database first makes it anew.
    files = [p for p in folder.rglob("*") if p.is_file() and p.name != "memory.db-shm"]
    return {str(p.relative_to(folder)): p.read_bytes() for p in files}


def test_a_suspect_file_is_named_with_a_way_out_and_left(run: Run, ask: Ask, home: Path) -> None:
    run("remember", "one")
    os.truncate(home / "memory.db", 5000)
    (home / "memory.db.marker").unlink()
    before = contents(home)
    state, sentence = found(ask("doctor", code=1), "store")
    assert state == "problem"
    assert "memory.db is damaged" in sentence
    assert "restore a backup" in sentence
    assert contents(home) == before


def test_surroundings_that_would_harm_a_store_are_a_problem(
    run: Run, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("remember", "one")

    def refuse(folder: Path) -> None:
        raise StorageUnavailable(f"{folder} is on a network file system: keep the store elsewhere")

    monkeypatch.setattr("infinite_memory.storage.sqlite.files.diagnose.check_surroundings", refuse)
    state, sentence = found(ask("doctor", code=1), "store")
    assert (state, "network file system" in sentence) == ("problem", True)


@pytest.mark.parametrize("length", [None, 1000])
def test_a_reserve_that_is_not_whole_is_said_and_made_whole_by_the_next_command(
    run: Run, ask: Ask, home: Path, length: int | None
) -> None:
    run("remember", "one")
    if length is None:
        (home / "store.reserve").unlink()
    else:
        os.truncate(home / "store.reserve", length)
    before = contents(home)
    state, sentence = found(ask("doctor"), "reserve")
    assert (state, "store.reserve has" in sentence) == ("warning", True)
    assert contents(home) == before
    run("stats")
    assert found(ask("doctor"), "reserve")[0] == "ok"


@pytest.mark.thorough
def test_an_older_copy_of_the_database_is_noticed_by_the_index(
    run: Run, ask: Ask, home: Path, tmp_path: Path
) -> None:
    run("remember", "one")
    shutil.copy(home / "memory.db", tmp_path / "older.db")
    many = "".join(f'{{"text": "memory {number}"}}\n' for number in range(600))
    run("remember", "--from", "-", stdin=many)
    assert found(ask("doctor"), "index")[0] == "ok"
    shutil.copy(tmp_path / "older.db", home / "memory.db")
    before = contents(home)
    state, sentence = found(ask("doctor", code=1), "index")
    assert (state, "the store has only" in sentence) == ("problem", True)
    assert f"delete the folder {home / 'index'}" in sentence
    assert contents(home) == before


@pytest.mark.thorough
def test_a_damaged_snapshot_is_a_warning(run: Run, ask: Ask, home: Path) -> None:
    many = "".join(f'{{"text": "memory {number}"}}\n' for number in range(600))
    run("remember", "--from", "-", stdin=many)
    (snapshot,) = (home / "index").glob("*.index")
    os.truncate(snapshot, snapshot.stat().st_size // 2)
    state, sentence = found(ask("doctor"), "index")
    assert (state, "run infinite-memory verify --mend" in sentence) == ("warning", True)


def test_a_damaged_record_leads_to_verify(run: Run, ask: Ask, home: Path) -> None:
    run("remember", "one", "--scope", "work")
    run("scopes", "create", "other")
    connection = apsw.Connection(str(home / "memory.db"))
    connection.execute("UPDATE scopes SET description = 'lies' WHERE name = 'other'")
    connection.close()
    state, sentence = found(ask("doctor", code=1), "damage")
    assert state == "problem"
    assert sentence == "1 record is damaged, such as 'scope other': run infinite-memory verify."


def test_a_damaged_page_leads_to_verify(run: Run, ask: Ask, home: Path) -> None:
    run("remember", "one")
    connection = apsw.Connection(str(home / "memory.db"))
    (page,) = connection.execute(
        "SELECT rootpage FROM sqlite_schema WHERE name = 'memories_by_scope'"
    )
    connection.close()
    with (home / "memory.db").open("r+b") as file:
        file.seek((page[0] - 1) * PAGE_BYTES)
        file.write(b"\xee" * PAGE_BYTES)
    before = contents(home)
    state, sentence = found(ask("doctor", code=1), "damage")
    assert state == "problem"
    assert "Run infinite-memory verify" in sentence
    after = contents(home)
    assert {name: after[name] for name in before} == before
