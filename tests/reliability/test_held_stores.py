"""A store of which another process keeps the lock, stopped, or a snapshot, as long as it likes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from infinite_memory import MemoryStore, Outcome
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.testing.embedders import HashingEmbedder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")

ROOT = Path(__file__).parents[2]
SECRET = "zanzibarquokka"


class Holder:
    """A process that holds something of a store."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def wait_until(self, word: str) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline().strip() == word

    def go_on(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()


@contextmanager
def holder(what: str, home: Path) -> Iterator[Holder]:
    arguments = [sys.executable, "-m", "tests.harness.holding", what, str(home)]
    process = subprocess.Popen(
        arguments, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with process:
        try:
            holds = Holder(process)
            holds.wait_until("holds")
            yield holds
        finally:
            process.kill()


def opened(home: Path) -> MemoryStore:
    return MemoryStore.open(home, embedder=HashingEmbedder())


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    with opened(home) as store:
        store.remember("the deadline is June 5", id="deadline")
        store.remember(f"the password is {SECRET}", id="secret")
    return home


def traces_in(folder: Path) -> list[str]:
    """Name the files that hold something of the secret, read by a process of its own."""
    found = subprocess.run(
        ["grep", "-rlaF", SECRET, str(folder)], capture_output=True, text=True, check=False
    )
    return found.stdout.splitlines()


@pytest.mark.thorough
@pytest.mark.parametrize("log", ["with", "without"])
def test_a_stopped_writer_keeps_nobody_from_opening_reading_and_closing(
    home: Path, log: str
) -> None:
    beside = opened(home)
    if log == "with":
        beside.remember("the meeting is on Monday", id="meeting")
    with holder("lock", home) as writer:
        os.kill(writer.process.pid, signal.SIGSTOP)
        with opened(home) as store:
            assert store.search("deadline")[0].memory.id == "deadline"
            assert store.get("secret").text.endswith(SECRET)
        beside.close()
        with opened(home) as store:
            assert len(store.browse().memories) == (3 if log == "with" else 2)
        os.kill(writer.process.pid, signal.SIGCONT)
        writer.go_on()
        writer.wait_until("ended")
        with opened(home) as store:
            store.remember("and now it can be written", id="written")
            assert store.verify().sound


@pytest.mark.thorough
def test_a_hard_forget_beside_a_reader_says_what_is_left_and_it_is_removed_later(
    home: Path,
) -> None:
    with opened(home) as store, holder("reader", home) as reader:
        receipt = store.forget("secret", hard=True)
        assert receipt.outcome is Outcome.ERASED
        (sentence,) = receipt.pending
        assert "its bytes stay in the files of the store until a reader" in sentence
        assert traces_in(home)
        assert (home / "store.scrub").exists()
        reader.go_on()
        reader.wait_until("ended")
        reader.go_on()
        assert reader.process.wait() == 0  # it closes the store, and finds that this is left to do
        assert traces_in(home) == []
        assert not (home / "store.scrub").exists()
        assert store.forget("secret", hard=True).pending == ()


@pytest.mark.thorough
def test_a_scrub_that_is_due_survives_a_kill_and_is_done_by_the_next_opening(home: Path) -> None:
    with holder("reader", home):
        command = [
            sys.executable,
            "-m",
            "infinite_memory.apps.cli.main",
            "--home",
            str(home),
            "--json",
        ]
        done = subprocess.run(
            [*command, "forget", "secret", "--hard", "--yes"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        (receipt,) = json.loads(done.stdout)["receipts"]
        assert receipt["outcome"] == "erased"
        assert "until a reader" in receipt["pending"][0]
        assert traces_in(home)
    storage = SqliteStorage.open(home)
    assert traces_in(home) == []
    assert not (home / "store.scrub").exists()
    assert storage.verify().sound
    storage.close()
