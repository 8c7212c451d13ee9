from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

import infinite_memory.search.embedding

Ask = Callable[..., Any]
Run = Callable[..., Any]
BUNDLED = Path(infinite_memory.search.embedding.__file__).parent / "minilm"


def states(document: Any) -> dict[str, str]:
    """Return the states of all but the clients, which this machine may have or not."""
    checks = [c for c in document["checks"] if not c["about"].startswith("client ")]
    return {check["about"]: check["state"] for check in checks}


def sentence(document: Any, about: str) -> str:
    return str(next(c["sentence"] for c in reversed(document["checks"]) if c["about"] == about))


def contents(folder: Path) -> dict[str, bytes]:
    # The index of the log holds nothing of its own: whoever opens the database first makes it anew.
    files = [p for p in folder.rglob("*") if p.is_file() and p.name != "memory.db-shm"]
    return {str(p.relative_to(folder)): p.read_bytes() for p in files}


@pytest.fixture
def copied_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "model"
    shutil.copytree(BUNDLED, folder)
    monkeypatch.setenv("INFINITE_MEMORY_EMBEDDER", str(folder))
    return folder


def test_a_sound_installation_is_all_ok_and_stays_as_it_is(run: Run, ask: Ask, home: Path) -> None:
    run("remember", "one")
    before = contents(home)
    answer = ask("doctor")
    assert answer["healthy"] is True
    assert set(states(answer).values()) == {"ok"}
    assert set(states(answer)) == {
        "python", "sqlite", "configuration", "home", "disk", "surroundings", "store", "reserve",
        "records", "damage", "embeddings", "index", "model files", "model", "backups",
    }  # fmt: skip
    assert contents(home) == before
    assert "ok\tmodel\tThe model runs" in run("doctor").stdout


def test_where_there_is_no_store_none_is_made(ask: Ask, home: Path) -> None:
    answer = ask("doctor")
    assert answer["healthy"] is True
    assert "does not exist yet" in sentence(answer, "home")
    assert "no store" in sentence(answer, "store")
    assert not home.exists()
    assert "records" not in states(answer)


def test_a_store_in_memory_has_no_files_to_look_at(ask: Ask) -> None:
    assert states(ask("doctor", "--store", "memory://"))["records"] == "ok"


def test_a_setting_that_cannot_be_used_is_a_problem(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INFINITE_MEMORY_TIME_ZONE", "Mars")
    answer = ask("doctor", code=1)
    assert answer["healthy"] is False
    assert states(answer)["configuration"] == "problem"


def test_an_open_home_is_a_warning(run: Run, ask: Ask, home: Path) -> None:
    run("remember", "one")
    home.chmod(0o755)
    assert states(ask("doctor"))["home"] == "warning"


def test_a_home_that_is_a_file_is_a_problem(ask: Ask, home: Path) -> None:
    home.write_text("x")
    assert "Not a directory" in sentence(ask("doctor", code=1), "configuration")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_home_that_cannot_be_written_is_a_problem(ask: Ask, home: Path) -> None:
    home.mkdir(mode=0o500)
    assert states(ask("doctor", code=1))["home"] == "problem"
    answer = ask("doctor", "--home", str(home / "inner"), code=1)
    assert "cannot be made" in sentence(answer, "home")


@pytest.mark.parametrize(("free", "state"), [(1_000_000, "problem"), (50_000_000, "warning")])
def test_little_space_is_said(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, free: int, state: str
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(0, 0, free))
    assert states(ask("doctor", code=int(state == "problem")))["disk"] == state


def test_an_old_python_is_a_warning_and_a_bad_sqlite_a_problem(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("infinite_memory.engine.verification.diagnose._PYTHONS", ((2, 6), (2, 8)))
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.40.1")
    answer = ask("doctor", code=1)
    assert states(answer)["python"] == "warning"
    assert "pip install --upgrade apsw" in sentence(answer, "sqlite")


@pytest.mark.parametrize("name", ["memory.db.marker", "store.lock"])
def test_a_missing_file_beside_the_store_is_not_made_again(
    run: Run, ask: Ask, home: Path, name: str
) -> None:
    run("remember", "one")
    (home / name).unlink()
    before = contents(home)
    assert states(ask("doctor"))["store"] == "warning"
    assert contents(home) == before


def test_a_lost_database_is_a_problem(run: Run, ask: Ask, home: Path) -> None:
    run("remember", "one")
    (home / "memory.db").unlink()
    assert "memory.db is missing" in sentence(ask("doctor", code=1), "store")


def test_a_damaged_database_is_a_problem(run: Run, ask: Ask, home: Path) -> None:
    run("remember", "one")
    (home / "memory.db").write_bytes(b"not a database, and long enough to have a header" * 100)
    assert states(ask("doctor", code=1))["store"] == "problem"


@pytest.mark.parametrize("version", [99, 0])
def test_another_schema_is_said_and_not_touched(
    run: Run, ask: Ask, home: Path, version: int
) -> None:
    run("remember", "one")
    connection = apsw.Connection(str(home / "memory.db"))
    connection.pragma("user_version", version)
    connection.close()
    before = contents(home)
    assert states(ask("doctor", code=1))["store"] == "problem"
    assert contents(home) == before


def test_a_changed_model_is_a_problem(run: Run, ask: Ask, copied_model: Path) -> None:
    run("remember", "one")
    tokenizer = copied_model / "tokenizer.json"
    tokenizer.write_bytes(b" " + tokenizer.read_bytes()[1:])
    assert "sha256" in sentence(ask("doctor", code=1), "model")
    run("model", "info", code=6)
    (copied_model / "embedder.json").unlink()
    answer = ask("doctor", code=1)
    assert states(answer)["model"] == "problem"
    assert "embeddings" not in states(answer)


def test_memories_that_wait_to_be_embedded_are_counted(
    run: Run, ask: Ask, copied_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, kept = copied_model / "model.onnx", copied_model.parent / "kept.onnx"
    shutil.copy(model, kept)
    model.write_bytes(b"x" * model.stat().st_size)
    result = run("remember", "one", "--id", "a")
    assert "found by words; by meaning once it is embedded" in result.stdout
    assert "WARNING: " in result.stderr
    shutil.copy(kept, model)
    assert sentence(ask("doctor"), "embeddings").startswith("1 memory is found by words alone")


def test_a_vector_that_is_not_the_known_one_is_a_problem(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "infinite_memory.engine.verification.diagnose._VECTORS"
    monkeypatch.setattr(name, {"minilm": (0.042, 0.058), "e5": (0.5, 0.5)})
    assert "gives a wrong vector" in sentence(ask("doctor", code=1), "model")


def test_a_snapshot_of_the_index_is_measured(run: Run, ask: Ask, home: Path) -> None:
    run("remember", "one")
    (home / "index").mkdir(exist_ok=True)
    (home / "index" / "x.index").write_bytes(b"x" * 2000)
    assert sentence(ask("doctor"), "index") == "The snapshot of the index takes 2.0 KB."
