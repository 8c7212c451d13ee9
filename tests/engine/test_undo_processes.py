"""Undo without a number means this process alone, whatever handle or client made the change."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from infinite_memory import InvalidInput, MemoryStore, NotFound
from infinite_memory.testing.embedders import HashingEmbedder

_CHILD = """
import json, sys
from infinite_memory import InfiniteMemoryError, MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder

home, client = sys.argv[1:]
with MemoryStore.open(home, embedder=HashingEmbedder(), client=client) as store:
    for line in sys.stdin:
        try:
            answer = eval(line, {"store": store})
        except InfiniteMemoryError as error:
            answer = str(error)
        print(json.dumps(answer), flush=True)
"""
_FORKED = """
import os
from infinite_memory.store.opening import _name_process

own = _name_process(os.getpid())
assert own == _name_process(os.getpid())
reader, writer = os.pipe()
if os.fork() == 0:
    os.write(writer, _name_process(os.getpid()).encode())
    os._exit(0)
os.wait()
print(own, os.read(reader, 1000).decode(), sep="\\n")
"""


class Child:
    """A process of its own that has a store open, and evaluates expressions on it."""

    def __init__(self, home: Path, client: str = "python") -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _CHILD, str(home), client],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, expression: str) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(expression + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def end(self) -> None:
        self._process.communicate()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Child]]:
    children: list[Child] = []

    def start_one(client: str = "python") -> Child:
        children.append(Child(tmp_path, client))
        return children[-1]

    yield start_one
    for child in children:
        child.end()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with MemoryStore.open(tmp_path, embedder=HashingEmbedder()) as opened:
        yield opened


@pytest.mark.process
def test_another_process_of_the_same_client_is_never_undone(
    store: MemoryStore, start: Callable[..., Child]
) -> None:
    child = start()
    store.remember("mine", id="mine")
    child.ask("store.remember('theirs', id='theirs').id")
    assert store.undo().memories == ("mine",)
    with pytest.raises(NotFound, match=r"entry 2, remember of theirs at .*: .*give entry=2$"):
        store.undo()
    assert child.ask("store.undo().memories") == ["theirs"]
    assert child.ask("store.undo()").startswith("this process has nothing left to undo")
    with pytest.raises(NotFound, match=r"^this process has nothing left to undo$"):
        store.undo()


@pytest.mark.thorough
def test_a_process_that_was_started_again_names_the_change_and_takes_its_number(
    start: Callable[..., Child],
) -> None:
    first = start("Claude")
    first.ask("store.remember_many([dict(text=f'text {n}', id=f'm{n}') for n in range(7)]) and 0")
    first.ask("store.forget('m1', hard=True).id")
    first.end()
    again = start("Claude")
    said = again.ask("store.undo().entry")
    assert "the last change by 'Claude' that can be undone is entry 1, remember of m0" in said
    assert "m4 and 2 more at 20" in said
    assert again.ask("store.journal.entries()[0].number") == 2
    assert again.ask("store.undo(1).erased") == ["m1"]
    other = start("Cursor")
    assert other.ask("store.undo()") == "this process has nothing left to undo"


def test_the_handles_of_one_process_are_one(store: MemoryStore, tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path, embedder=HashingEmbedder(), client="Claude") as other:
        store.remember("one", id="one")
        other.remember("two", id="two")
        assert store.undo().memories == ("two",)
        assert other.undo().memories == ("one",)


@pytest.mark.thorough
def test_the_last_change_on_this_machine_is_that_of_the_same_client(
    store: MemoryStore, start: Callable[..., Child]
) -> None:
    same, another = start(), start("Claude")
    same.ask("store.remember('one', id='one').id")
    another.ask("store.remember('two', id='two').id")
    assert store.undo(last_of="machine").memories == ("one",)
    with pytest.raises(NotFound, match="'python' on this machine has nothing left to undo"):
        store.undo(last_of="machine")
    with pytest.raises(InvalidInput, match="last_of"):
        store.undo(last_of="everybody")


@pytest.mark.thorough
def test_the_later_change_of_another_process_is_named_where_it_stands_in_the_way(
    store: MemoryStore, start: Callable[..., Child]
) -> None:
    child = start()
    store.remember("older", id="older")
    store.remember("one", id="a")
    child.ask("store.revise('a', revision=1, text='two').id")
    undone = store.undo()
    assert undone.memories == ("older",)
    ((skipped, reason),) = undone.skipped
    assert skipped.number == 2
    assert "memory 'a' was changed since by entry 3" in reason
    child.ask("store.undo().entry")
    assert store.undo().memories == ("a",)


@pytest.mark.thorough
def test_a_forked_child_is_a_process_of_its_own() -> None:
    run = subprocess.run([sys.executable, "-c", _FORKED], capture_output=True, text=True)
    own, forked = run.stdout.splitlines()
    assert own != forked
    assert own.rpartition(" ")[0] == forked.rpartition(" ")[0]
