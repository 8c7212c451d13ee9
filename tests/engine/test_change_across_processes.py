"""A change of the model with several processes at work, one of them killed in the middle."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from benchmarks.tools.export import Precision, export_model
from infinite_memory import Config, MemoryStore
from infinite_memory.search.embedding import OnnxEmbedder, model_directory
from infinite_memory.testing.embedders import HashingEmbedder

_TINY = Path(__file__).parents[1] / "embedding" / "tiny_bert.py"
_PROCESS = """
import json, sys
from pathlib import Path
from infinite_memory import Config, MemoryStore
home, embedder, former = sys.argv[1], sys.argv[2], sys.argv[3] or None
config = Config(home=Path(home), embedder=embedder, former_embedder=former)
with MemoryStore.open(config=config) as store:
    print("ready", flush=True)
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        if name == "remember":
            answer = str(store.remember(arguments[0], id=arguments[1]).searchable)
        elif name == "search":
            hits = store.search(arguments[0], arms=["meaning"], threshold=0.0)
            answer = [[hit.memory.id for hit in hits], hits.pending, hits.note]
        elif name == "catch_up":
            answer = store.models.catch_up()
        else:
            stats = store.stats()
            answer = [stats.answering, stats.by_model]
        print(json.dumps(answer), flush=True)
"""

Ask = Callable[..., Any]


class Process:
    """A process that has the store open, with its own configuration."""

    def __init__(self, home: Path, embedder: str, former: str = "") -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _PROCESS, str(home), embedder, former],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._line() == "ready\n"

    def ask(self, name: str, *arguments: str) -> Any:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([name, *arguments]) + "\n")
        self.process.stdin.flush()
        return json.loads(self._line())

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def end(self) -> None:
        self.process.communicate(timeout=300)


@pytest.fixture
def tiny(tmp_path: Path) -> str:
    checkpoint = run_path(str(_TINY))["write_checkpoint"](tmp_path / "tiny-bert")
    export_model(checkpoint, tmp_path / "tiny", precision=Precision.FP32)
    return str(tmp_path / "tiny")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Process]]:
    begun: list[Process] = []

    def begin(embedder: str, former: str = "") -> Process:
        begun.append(Process(tmp_path / "home", embedder, former))
        return begun[-1]

    yield begin
    for process in begun:
        process.end()


def _model(name: str) -> str:
    with OnnxEmbedder(model_directory(name)) as embedder:
        return embedder.model


@pytest.mark.thorough
def test_every_process_changes_to_the_new_model_once_one_of_them_has_done_the_work(
    start: Callable[..., Process], tiny: str
) -> None:
    bundled, new = _model("english"), _model(tiny)
    before = start("english")
    before.ask("remember", "the dog sleeps under the piano", "dog")
    before.ask("remember", "the deadline of project Apollo is June 5", "apollo")
    idle, working = start(tiny), start(tiny, "english")
    for process in (idle, working):
        ids, pending, note = process.ask("search", "when is the rocket project due?")
        assert (ids[0], pending, note) == ("apollo", 0, None)
        assert process.ask("stats") == [bundled, {bundled: 2}]
    assert idle.ask("remember", "a cat", "cat") == "meaning"
    assert working.ask("catch_up") == 3
    assert working.ask("stats") == [new, {bundled: 3, new: 3}]
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:  # its index is made in the background if that takes longer
        ids, pending, note = idle.ask("search", "a cat")
        assert ("cat" in ids, pending, note) == (True, 0, None)
        if idle.ask("stats")[0] == new:
            break
    assert idle.ask("stats")[0] == new


@pytest.mark.thorough
def test_processes_with_different_models_do_each_text_once_and_lose_nothing(
    start: Callable[..., Process], tiny: str
) -> None:
    bundled, new = _model("english"), _model(tiny)
    one, other = start("english"), start(tiny)
    assert other.ask("remember", "a dog", "b") == "meaning"
    assert one.ask("remember", "the cat sleeps", "a") == "meaning"
    assert [one.ask("catch_up"), other.ask("catch_up")] == [1, 1]
    assert [one.ask("catch_up"), other.ask("catch_up")] == [0, 0]
    assert one.ask("stats") == [bundled, {bundled: 2, new: 2}]
    assert other.ask("stats") == [new, {bundled: 2, new: 2}]
    for process in (one, other):
        ids, pending, note = process.ask("search", "the cat sleeps")
        assert (ids[0], pending, note) == ("a", 0, None)


_SLOW = """
import sys, time
from pathlib import Path
from infinite_memory import Config, MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder

home, limit, most = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])

class Slow(HashingEmbedder):
    done = 0

    def embed(self, texts):
        for _ in texts:
            time.sleep(0.002)
            self.done += 1
            if self.done > most:
                time.sleep(600)  # it never comes to the end before it is killed
        return super().embed(texts)

store = MemoryStore.open(home, config=Config(home=home), embedder=Slow(32),
                         former_embedder=HashingEmbedder(64))
print("at work", flush=True)
while store.models.catch_up(limit=limit):
    print("some", flush=True)
"""


@pytest.mark.process
def test_a_change_that_was_killed_goes_on_where_it_stopped(tmp_path: Path) -> None:
    config = Config(home=tmp_path)
    texts = {f"m{number}": f"the memory about thing{number}" for number in range(400)}
    with MemoryStore.open(tmp_path, config=config, embedder=HashingEmbedder(64)) as store:
        store.remember_many([{"text": text, "id": name} for name, text in texts.items()])
    done = 0
    for lines, limit in ((2, 30), (5, 7), (1, 50), (3, 1)):
        most = lines * limit + 60
        process = subprocess.Popen(
            [sys.executable, "-c", _SLOW, str(tmp_path), str(limit), str(most)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        for _ in range(1 + lines):
            process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=300)
        with _opened(tmp_path, config) as store:
            stats = store.stats()
            assert stats.answering == "hashing-64"
            assert stats.by_model["hashing-64"] == 400
            assert stats.by_model["hashing-32"] >= done + lines * limit
            done = stats.by_model["hashing-32"]
            hits = store.search(texts["m123"], arms=["meaning"], limit=3, threshold=0.0)
            assert "m123" in [hit.memory.id for hit in hits]
            assert hits.pending == 0
    with _opened(tmp_path, config) as store:
        assert store.models.catch_up() == 400 - done
        assert store.stats().answering == "hashing-32"
        assert store.stats().by_model == {"hashing-32": 400, "hashing-64": 400}
        assert store.verify().findings == ()
        assert store.models.drop_others() == {"hashing-64": 400}
        assert store.verify().findings == ()


def _opened(home: Path, config: Config) -> MemoryStore:
    return MemoryStore.open(
        home, config=config, embedder=HashingEmbedder(32), former_embedder=HashingEmbedder(64)
    )
