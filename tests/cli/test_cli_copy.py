from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from infinite_memory.storage.sqlite import SqliteStorage
from tests.harness.everything import dump, fill

Ask = Callable[..., Any]
Run = Callable[..., Any]


@pytest.fixture
def source(tmp_path: Path) -> str:
    with closing(SqliteStorage.open(tmp_path / "source")) as storage:
        fill(storage, plain=300)
    return str(tmp_path / "source")


def lines(folder: str) -> list[str]:
    with closing(SqliteStorage.open(Path(folder))) as storage:
        return list(dump(storage))


def test_a_store_is_copied_and_compared(ask: Ask, source: str, tmp_path: Path) -> None:
    target = str(tmp_path / "target")
    assert ask("copy", source, target, "--with-keys") == {
        "whole": True,
        "copied": 310,
        "kept": False,
        "compared": {
            "memories": 310,
            "embeddings": 304,
            "revisions": 5,
            "erased": 1,
            "scopes": 4,
            "access_keys": 2,
            "links": 14,
            "usage": 2,
            "entries": 3,
        },
        "access_keys_left_out": 0,
        "left_out": [],
        "different": [],
    }
    assert lines(target) == lines(source)
    again = ask("copy", source, target, "--with-keys")
    assert (again["whole"], again["copied"], again["kept"]) == (True, 310, False)
    everything = ("list", "--scope", "ALL", "--status", "any", "--limit", "1000", "--store")
    assert ask(*everything, target) == ask(*everything, source)


def test_it_says_in_words_what_it_did(run: Run, source: str, tmp_path: Path) -> None:
    out = run("copy", source, str(tmp_path / "target"), "--with-keys").stdout
    assert "Copied 310 memories." in out
    assert "The target holds everything that the source held." in out


def test_one_of_each_is_said_to_be_one(run: Run, tmp_path: Path) -> None:
    run("remember", "Mine.", "--store", str(tmp_path / "one"))
    out = run("copy", str(tmp_path / "one"), str(tmp_path / "target")).stdout
    assert "Copied 1 memory." in out
    assert "Compared: 1 embedding, 1 entry, 1 memory, 1 scope." in " ".join(out.split())


@pytest.mark.thorough
def test_each_refusal_has_its_exit_code(run: Run, source: str, tmp_path: Path) -> None:
    other = str(tmp_path / "other")
    run("remember", "Mine.", "--store", other)
    assert "holds memories" in run("copy", source, other, code=5).stderr
    assert "into itself" in run("copy", source, source, code=2).stderr
    assert "--store" in run("copy", source, other, "--store", other, code=2).stderr
    assert "there is no store" in run("copy", str(tmp_path / "typo"), other, code=4).stderr
    (tmp_path / "file").write_text("not a folder")
    run("copy", source, str(tmp_path / "file"), code=4)
    run("copy", source, "ftp://example.org/x", code=3)
    nobody = "mongodb://127.0.0.1:1/x?serverSelectionTimeoutMS=200"
    assert "127.0.0.1:1" in run("copy", source, nobody, code=4).stderr
