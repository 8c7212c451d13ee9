"""A process that remembers, revises, forgets and undoes is killed: its journal is whole."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from random import Random
from typing import NoReturn

import pytest

from infinite_memory import Conflict, MemoryStore, NotFound
from tests.harness.racing import opened


def change_for_ever(home: str, pipe: int, seed: int) -> NoReturn:
    """Change the store until killed, and report the number of each entry once it is durable."""
    try:
        random = Random(seed)
        with opened(home, home) as store:
            while True:
                change(store, random)
                os.write(pipe, f"{store.journal.entries(limit=1)[0].number}\n".encode())
    finally:
        os.write(pipe, b"failed\n")
        os._exit(1)


def change(store: MemoryStore, random: Random) -> None:
    """Make one change, of whatever sort."""
    way, known = random.random(), store.browse(limit=20).memories
    if way < 0.4 or not known:
        store.remember(f"text {random.random()}", key=random.choice(["one", "two", None]))
    elif way < 0.6:
        memory = random.choice(known)
        store.revise(memory.id, revision=memory.revision, text=f"new text {random.random()}")
    elif way < 0.7:
        store.forget(random.choice(known).id, hard=random.random() < 0.3)
    elif way < 0.8:
        store.profile.update({"name": f"name {random.random()}"})
    else:
        try:
            store.undo(random.choice([None, store.journal.entries(limit=1)[0].number]))
        except (Conflict, NotFound):
            # What was erased for good cannot be undone. No two texts are equal: to tell one again
            # is no change.
            store.remember(f"nothing to undo {random.random()}")


def killed(home: Path, seed: int, seconds: float) -> list[str]:
    """Start a process, kill it after so long, and return what it had reported."""
    read_end, write_end = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(read_end)
        change_for_ever(str(home), write_end, seed)
    os.close(write_end)
    reported = os.read(read_end, 1 << 16)
    # Not a wait for anything: the moment of the kill is what chance decides.
    time.sleep(seconds)
    os.kill(process, signal.SIGKILL)
    while chunk := os.read(read_end, 1 << 16):
        reported += chunk
    os.close(read_end)
    os.waitpid(process, 0)
    return reported.decode().splitlines()


@pytest.mark.parametrize("kills", [5, pytest.param(50, marks=pytest.mark.slow("sqlite-endurance"))])
def test_the_journal_is_whole_after_any_kill(tmp_path: Path, kills: int) -> None:
    random = Random(6)
    last = changes = 0
    for seed in range(kills):
        reported = killed(tmp_path, seed, random.uniform(0, 0.3))
        assert "failed" not in reported
        changes += len(reported)
        with opened(str(tmp_path), str(tmp_path)) as store:
            verified = store.verify()
            assert verified.findings == ()
            entries = store.journal.entries(limit=1)[0].number
            # Every change that was reported is entered, and at most one that was under way.
            assert int(reported[-1]) <= entries <= int(reported[-1]) + 1
            assert entries > last
            last = entries
    assert changes >= kills
