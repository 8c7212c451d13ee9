"""Kill the dreamer at random moments: nothing that was told is changed, and every cycle is undone.

python -m benchmarks.soak.dream_kills --kills 100
python -m benchmarks.soak.dream_kills --kills 5 --broken rewrites      (or: no-entry)

Each kill hits, some moments after a random cycle has ended, a process that dreams over two scopes.
Then the store must open and verify; every memory that was told must be there, byte for byte; no
link and no summary may join two scopes; the dreamer must go on; and once every cycle is undone, the
memories and the links must be those before the first.
"""

from __future__ import annotations

import argparse
import os
import shutil
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random

from attrs import define, evolve, field, frozen

from benchmarks.soak.report import bound, conclude, scratch
from infinite_memory.core.config import Config
from infinite_memory.core.errors import InfiniteMemoryError
from infinite_memory.core.values.commit import Commit, Put
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.entry import Operation
from infinite_memory.core.values.link import Link
from infinite_memory.core.values.memory import Memory, Status
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.store.memory_store import MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder
from tests.harness.dreaming import tell_topics
from tests.harness.kills import killed

SABOTAGES = ("rewrites", "no-entry")
"""Builds that must be caught: one rewrites what was told, one leaves the journal out."""

_SCOPES = ("home", "work")
_NOTES = 6
_CYCLES = 12
_MORE_CYCLES = 3
_LONGEST_CYCLE_SECONDS = 0.2
_PAGE = 1000


@frozen(kw_only=True)
class Outcome:
    """How many kills there were, after how many cycles, and what was wrong."""

    kills: int
    states: Counter[int]
    links: int
    summaries: int
    faults: tuple[str, ...]


@frozen
class _State:
    """Everything that is not forgotten, and every link."""

    memories: Mapping[str, Memory]
    links: frozenset[Link]


@define
class _Soak:
    folder: Path
    random: Random
    broken: str | None
    kills: int = 0
    links: int = 0
    summaries: int = 0
    states: Counter[int] = field(factory=Counter)
    faults: list[str] = field(factory=list)

    def prepare(self) -> None:
        """Tell notes of some topics in two scopes, and link some by hand."""
        with _opened(self.folder / "former") as store:
            for scope in _SCOPES:
                tell_topics(store, number=_NOTES, scope=scope, prefix=f"{scope}-")
            store.graph.link("home-ferry-0", "home-kiln-0", weight=0.5)

    def kill(self) -> None:
        home = self.folder / f"home-{self.random.getrandbits(60):x}"
        shutil.copytree(self.folder / "former", home)
        before = _read_state(home)
        reports, reported = os.pipe()
        ended: list[str] = []

        def wait() -> None:
            os.close(reported)
            with os.fdopen(reports) as stream:
                ended.extend(islice(stream, self.random.randrange(_CYCLES)))
            time.sleep(self.random.uniform(0, _LONGEST_CYCLE_SECONDS))

        was_killed = killed(partial(_dream_and_report, home, reported, self.broken), wait)
        self.kills += was_killed
        self.states[len(ended)] += was_killed
        try:
            self._check(home, before)
        except InfiniteMemoryError as error:
            self.faults.append(f"{type(error).__name__}: {error}")
        shutil.rmtree(home)

    def _check(self, home: Path, before: _State) -> None:
        with closing(SqliteStorage.open(home)) as storage:
            if not storage.verify().sound:
                self.faults.append("the store is not sound")
        self._check_told(home, before)
        with _opened(home) as store:
            for number in range(_MORE_CYCLES):
                report = store.dream(_CYCLES + number)
                if report.failure is not None:
                    self.faults.append(f"a cycle after the kill fails: {report.failure}")
        dreamed = self._check_told(home, before)
        self.links = max(self.links, len(dreamed.links) - len(before.links))
        self.summaries = max(self.summaries, len(dreamed.memories) - len(before.memories))
        _undo_all(home)
        after = _read_state(home)
        if after != before:
            self.faults.append("undoing every cycle does not give the state before")

    def _check_told(self, home: Path, before: _State) -> _State:
        state = _read_state(home)
        for memory_id, memory in before.memories.items():
            if state.memories.get(memory_id) != memory:
                self.faults.append(f"{memory_id} is not as it was told")
        for link in state.links:
            if state.memories[link.source].scope != state.memories[link.target].scope:
                self.faults.append(f"a link joins {link.source} and {link.target}")
        for memory in state.memories.values():
            scopes = {state.memories[source].scope for source in memory.sources}
            if memory.is_dreamed and scopes != {memory.scope}:
                self.faults.append(f"the summary {memory.id} is in {memory.scope}, not {scopes}")
        return state


def _opened(home: Path) -> MemoryStore:
    config = Config.model_validate({"home": home, "time_zone": "UTC"})
    return MemoryStore.open(config=config, embedder=HashingEmbedder(256))


def _dream_and_report(home: Path, pipe: int, broken: str | None) -> None:
    _sabotage(broken)
    with _opened(home) as store:
        for number in range(_CYCLES):
            store.dream(number)
            os.write(pipe, b"cycle\n")


def _undo_all(home: Path) -> None:
    with _opened(home) as store:
        numbers = [cycle.entry for cycle in store.dreams.diary(limit=1000)]
        for number in numbers:
            store.undo(number)


def _read_state(home: Path) -> _State:
    with closing(SqliteStorage.open(home)) as storage:
        criteria = Criteria(statuses=frozenset(Status) - {Status.FORGOTTEN})
        memories = {memory.id: memory for memory in storage.find(criteria, limit=_PAGE).memories}
        return _State(memories, frozenset(storage.links(memories)))


def _sabotage(broken: str | None) -> None:
    if broken == "rewrites":
        SqliteStorage.commit = _commit_rewriting  # type: ignore[method-assign]
    elif broken == "no-entry":
        SqliteStorage.commit = _commit_without_entry  # type: ignore[method-assign]


_commit = SqliteStorage.commit


def _is_dream(commit: Commit) -> bool:
    return commit.entry is not None and commit.entry.operation is Operation.DREAM


def _commit_rewriting(storage: SqliteStorage, commit: Commit) -> int:
    if _is_dream(commit):
        (record,) = storage.get(["home-ferry-0"]).values()
        memory = evolve(record.memory, text="rewritten", revision=record.memory.revision + 1)
        _commit(storage, Commit(puts=[Put(memory=memory, expected=record.memory.revision)]))
    return _commit(storage, commit)


def _commit_without_entry(storage: SqliteStorage, commit: Commit) -> int:
    return _commit(storage, evolve(commit, entry=None) if _is_dream(commit) else commit)


def run(folder: Path, *, kills: int, seed: int = 1, broken: str | None = None) -> Outcome:
    """Kill until so many were at work."""
    soak = _Soak(folder, Random(seed), broken)
    soak.prepare()
    while soak.kills < kills:
        soak.kill()
    if broken is None and not (soak.links and soak.summaries):
        soak.faults.append("nothing was linked or summarised")
    return Outcome(
        kills=soak.kills,
        states=soak.states,
        links=soak.links,
        summaries=soak.summaries,
        faults=tuple(soak.faults),
    )


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
    for cycles, count in sorted(outcome.states.items()):
        print(f"{count:7,} killed after {cycles} cycles")
    print(f"at most {outcome.links:,} links and {outcome.summaries:,} summaries were undone")
    faults = len(outcome.faults)
    return conclude(
        f"{outcome.kills:,} kills in {time.perf_counter() - started:.0f} s: {faults} faults"
        f"{bound(faults, outcome.kills)}",
        outcome.faults,
        expected=flags.broken is not None,
    )


if __name__ == "__main__":
    raise SystemExit(main())
