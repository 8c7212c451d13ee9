"""Kill imports at random moments: the store opens, nothing is lost, and a repeat finishes.

python -m benchmarks.soak.import_kills --kills 100
python -m benchmarks.soak.import_kills --kills 20 --broken double      (or: deaf)

Each kill hits a process that imports a file in parts, while another process writes. Then the store
must open and verify, and hold what the writer reported; what is there of the file must be whole
memories of it; the same import must finish with each memory once; and one undo must take back all
of the import, before the kill and after it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random
from typing import NoReturn
from uuid import uuid4

from attrs import define, field, frozen

from benchmarks.soak.report import bound, conclude, scratch
from infinite_memory.core.config import Config
from infinite_memory.core.errors import InfiniteMemoryError
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import Status
from infinite_memory.features.archive.exchange import importing
from infinite_memory.features.archive.exchange.formats import fields as fields_module
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.store.memory_store import MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder
from tests.harness.kills import Writer, find_losses

SABOTAGES = ("double", "deaf")
"""Builds that must be caught: one gives new ids in a repeat, one forgets to store a part."""

_MEMORIES = 1200
_PART = 100
_LONGEST_SHARE = 1.1
_SCOPE = "imported"


@frozen(kw_only=True)
class Outcome:
    """How many kills there were, how much was stored at them, and what was wrong."""

    kills: int
    states: Counter[str]
    faults: tuple[str, ...]


@define
class _Soak:
    folder: Path
    random: Random
    broken: str | None
    seconds: float = 0.0
    kills: int = 0
    states: Counter[str] = field(factory=Counter)
    faults: list[str] = field(factory=list)

    @property
    def source(self) -> Path:
        return self.folder / "source.jsonl"

    @property
    def texts(self) -> list[str]:
        return sorted(f"memory number {number} of the file" for number in range(_MEMORIES))

    def prepare(self) -> None:
        """Write the file, and learn how long an import of it takes."""
        lines = [json.dumps({"text": text, "scope": _SCOPE}) for text in self.texts]
        self.source.write_text("\n".join(lines) + "\n", encoding="utf-8")
        SqliteStorage.open(self.folder / "former").close()
        home = self.new_home()
        began = time.perf_counter()
        _import(home, self.source)
        self.seconds = time.perf_counter() - began
        shutil.rmtree(home)

    def new_home(self) -> Path:
        home = self.folder / f"home-{self.random.getrandbits(60):x}"
        shutil.copytree(self.folder / "former", home)
        return home

    def kill(self) -> None:
        home = self.new_home()
        writer = Writer(self.random.getrandbits(30), home, SqliteStorage.open)
        try:
            process = _fork(lambda: _import(home, self.source), self.broken)
            time.sleep(self.random.uniform(0, _LONGEST_SHARE * self.seconds))
            os.kill(process, signal.SIGKILL)
            _, status = os.waitpid(process, 0)
        finally:
            writer.kill()
        stored = writer.reported()
        self.kills += os.WIFSIGNALED(status)
        try:
            with closing(SqliteStorage.open(home)) as storage:
                self.faults += find_losses(storage, stored)
                if not storage.verify().sound:
                    self.faults.append("the store is not sound")
            texts = _texts(home)
            state = "nothing" if not texts else "all" if texts == self.texts else "a part"
            self.states[state] += os.WIFSIGNALED(status)
            if set(texts) - set(self.texts) or len(set(texts)) < len(texts):
                self.faults.append("the store holds what is not in the file")
            self._repeat(home)
        except InfiniteMemoryError as error:
            self.faults.append(f"{type(error).__name__}: {error}")
        shutil.rmtree(home)

    def _repeat(self, home: Path) -> None:
        _, status = os.waitpid(_fork(lambda: _import(home, self.source), self.broken), 0)
        texts = _texts(home)
        if status or texts != self.texts:
            self.faults.append(f"a repeat ends with {len(texts):,} memories of {_MEMORIES:,}")
            return
        with _opened(home) as store:
            part = next(e for e in store.journal if e.action.operation == "import")
            store.undo(part.number)
        if left := _texts(home):
            self.faults.append(f"an undo leaves {len(left):,} memories of the import")


def _opened(home: Path) -> MemoryStore:
    return MemoryStore.open(config=Config(home=home), embedder=HashingEmbedder())


def _texts(home: Path) -> list[str]:
    """Return the texts of the file that the store holds, sorted."""
    statuses = frozenset(Status) - {Status.FORGOTTEN}
    criteria = Criteria(scopes=frozenset({_SCOPE}), statuses=statuses)
    with closing(SqliteStorage.open(home)) as storage:
        page = storage.find(criteria, limit=10 * _MEMORIES)
    return sorted(memory.text for memory in page.memories)


def _import(home: Path, source: Path) -> None:
    importing._COMMIT_MEMORIES = _PART
    with _opened(home) as store:
        store.exchange.import_from(source)


def _fork(work: Callable[[], object], broken: str | None) -> int:
    process = os.fork()
    if process == 0:
        _work(work, broken)
    return process


def _work(work: Callable[[], object], broken: str | None) -> NoReturn:
    status = 1
    try:
        if broken == "double":
            fields_module.import_id = lambda _: f"import:{uuid4().hex}"
        elif broken == "deaf":
            importing._Store._write_part = lambda *_: None  # type: ignore[method-assign]
        work()
        status = 0
    finally:
        os._exit(status)


def run(folder: Path, *, kills: int, seed: int = 1, broken: str | None = None) -> Outcome:
    """Kill imports until so many were hit."""
    soak = _Soak(folder, Random(seed), broken)
    soak.prepare()
    while soak.kills < kills:
        soak.kill()
    return Outcome(kills=soak.kills, states=soak.states, faults=tuple(soak.faults))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--broken", choices=SABOTAGES)
    parser.add_argument("--home", help="a folder on the disk to be tested")
    flags = parser.parse_args()
    started = time.perf_counter()
    with scratch(flags.home) as folder:
        outcome = run(folder, kills=flags.kills, seed=flags.seed, broken=flags.broken)
    for state, count in sorted(outcome.states.items()):
        print(f"{count:7,} kills after {state} was stored")
    faults = len(outcome.faults)
    return conclude(
        f"{outcome.kills:,} kills in {time.perf_counter() - started:.0f} s: {faults} faults"
        f"{bound(faults, outcome.kills)}",
        outcome.faults,
        expected=flags.broken is not None,
    )


if __name__ == "__main__":
    raise SystemExit(main())
