"""Random lives of a store with two scopes, one private: nothing of one shows in the other.

All that belongs to a scope holds its marker: texts, ids, speakers, conversations and the name. Each
memory has a word of its own, which must be nowhere once the memory is erased.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from attrs import define, field

from infinite_memory import Config, Conflict, MemoryStore
from infinite_memory.core.config import Retention, Upkeep
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.codec import to_json
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.entry import Operation
from infinite_memory.core.values.memory import Kind, Memory, Status
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.testing.embedders import HashingEmbedder

_BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
_SCOPES = {"zzopen": "normal", "zzvault": "private"}
_STEPS = 24
_TALKS = 3
_MOST = 10_000


@define
class _Clock:
    now: datetime = _BEGIN

    def __call__(self) -> datetime:
        return self.now


@define
class _Life:
    """A store, its handles by scope ("" for the whole), and what was found wrong."""

    storage: Storage
    chance: random.Random
    clock: _Clock
    handles: dict[str, MemoryStore]
    private_included: bool
    erased: set[str] = field(factory=set)
    faults: list[str] = field(factory=list)
    number: int = 0

    def memories(self) -> list[Memory]:
        return list(self.storage.find(Criteria(), limit=_MOST).memories)

    def step(self) -> None:
        actions: list[tuple[Callable[[], Any], int]] = [
            (self._talk, 8),
            (self._note, 3),
            (self._wait, 4),
            (self._upkeep, 4),
            (self._assist, 3),
            (self._forget, 2),
            (self._undo, 1),
        ]
        action = self.chance.choices([a for a, _ in actions], [w for _, w in actions])[0]
        action()

    def _remember(self, scope: str, **fields: Any) -> None:
        self.number += 1
        self.handles[""].remember(
            f"We decided on June {self.number % 28 + 1} that {scope} needs word{self.number}x in"
            f" the {scope} plan number {self.number * 7}, because of the weather.",
            id=f"{scope}-{self.number}",
            scope=scope,
            speaker=f"{scope} speaker",
            **fields,
        )

    def _talk(self) -> None:
        """Continue a conversation whose id both scopes use."""
        name = f"talk {self.chance.randrange(_TALKS)}"
        for _ in range(self.chance.randint(3, 8)):
            self.clock.now += timedelta(minutes=1)
            scope = self.chance.choice(list(_SCOPES))
            self._remember(scope, kind="message", conversation_id=name)

    def _note(self) -> None:
        for _ in range(self.chance.randint(6, 20)):
            self._remember(self.chance.choice(list(_SCOPES)))

    def _wait(self) -> None:
        self.clock.now += timedelta(days=self.chance.choice((20, 100, 300)))

    def _upkeep(self) -> None:
        handle = self.handles[self.chance.choice(["", "", *_SCOPES])]
        planned = handle.upkeep.optimize(dry_run=True, jobs=["summarise"])
        done = handle.upkeep.optimize(jobs=["summarise", "link-duplicates", "archive"])
        if planned.jobs[0].steps != done.jobs[0].steps:
            self.faults.append("a dry run differs from its run")
        self.faults += [str(job.failure) for job in done.jobs if job.failure]

    def _assist(self) -> None:
        """Let an assistant with the key of a scope summarise what is wanted there."""
        scope = self.chance.choice(list(_SCOPES))
        for wanted in self.handles[scope].upkeep.summaries_wanted(limit=2):
            words = " ".join(text.text for text in wanted.texts)
            self.handles[scope].upkeep.store_summary(words[:2000], sources=wanted.sources)

    def _forget(self) -> None:
        memories = [m for m in self.memories() if m.kind is not Kind.SUMMARY]
        if not memories:
            return
        memory = self.chance.choice(memories)
        handle = self.handles[self.chance.choice(["", memory.scope])]
        handle.forget(memory.id, hard=True)
        self.erased.add(f"word{memory.id.rpartition('-')[2]}x")

    def _undo(self) -> None:
        """Undo the last run of the upkeep, if nothing has been changed on it since."""
        whole = self.handles[""]
        for entry in whole.journal.entries(limit=20):
            if entry.action.operation is Operation.UPKEEP:
                with suppress(Conflict):
                    whole.undo(entry.number)
                return

    def check(self) -> None:
        memories = self.memories()
        scopes = {memory.id: memory.scope for memory in memories}
        for memory in memories:
            revisions = self.storage.history(memory.id)
            said = json.dumps([to_json(revision) for revision in revisions], default=str)
            self.faults += [f"{memory.id} holds {m}" for m in _others(memory.scope) if m in said]
            self.faults += [f"{memory.id} quotes {word}" for word in self.erased if word in said]
            if memory.kind is Kind.SUMMARY:
                self._check_summary(memory, scopes)
        for link in self.storage.links(list(scopes)):
            if scopes[link.source] != scopes[link.target]:
                self.faults.append(f"{link.key} joins two scopes")
        for scope in _SCOPES:
            self._check_handle(scope, sum(memory.scope == scope for memory in memories))

    def _check_summary(self, summary: Memory, scopes: dict[str, str]) -> None:
        if {scopes.get(source) for source in summary.sources} != {summary.scope}:
            self.faults.append(f"{summary.id} has sources that are gone or elsewhere")
        if summary.scope == "zzvault" and not self.private_included:
            self.faults.append("a private scope was summarised")

    def _check_handle(self, scope: str, count: int) -> None:
        handle = self.handles[scope]
        seen = "\n".join(json.dumps(value, default=str) for value in _look(handle))
        self.faults += [f"the handle of {scope} sees {m}" for m in _others(scope) if m in seen]
        if sum(handle.stats().by_status.values()) != count:
            self.faults.append(f"the statistics of {scope} count other memories")


def _others(scope: str) -> list[str]:
    return [name for name in _SCOPES if name != scope]


def _look(handle: MemoryStore) -> Iterator[Any]:
    """Yield what a handle shows of the whole of its store."""
    for question in ("what is the plan?", "zzvault zzopen June", "summary of the talk"):
        for depth in ("overview", "exhaustive"):
            hits = handle.search(question, scope="ALL", threshold=0, limit=100, depth=depth)
            yield hits.to_dict()
    yield handle.browse(scope="ALL", statuses=list(Status), limit=1000).to_dict()
    yield handle.stats().to_dict()
    yield [entry.to_dict() for entry in handle.journal.entries(limit=1000)]
    yield [scope.to_dict() for scope in handle.scopes]
    yield [wanted.to_dict() for wanted in handle.upkeep.summaries_wanted(limit=20)]
    yield handle.upkeep.optimize(dry_run=True, jobs=["summarise", "archive"]).to_dict()


def run_life(seed: int, home: Path) -> list[str]:
    """Live one life, with a store in memory or in the folder `home`; return what was wrong."""
    chance = random.Random(seed)
    clock = _Clock()
    included = chance.random() < 0.5
    config = Config(
        home=home,
        time_zone="UTC",
        upkeep=Upkeep(retention=Retention.AGGRESSIVE, private_scopes=included),
    )
    with ExitStack() as stack:
        storage: Storage = InMemoryStorage() if seed % 2 else SqliteStorage.open(home)
        stack.callback(storage.close)

        def open_handle(**options: Any) -> MemoryStore:
            return stack.enter_context(
                MemoryStore.open(
                    home,
                    config=config,
                    storage=storage,
                    embedder=HashingEmbedder(),
                    clock=clock,
                    **options,
                )
            )

        whole = open_handle()
        for name, sensitivity in _SCOPES.items():
            whole.scopes.create(name, sensitivity=sensitivity)
        handles = {"": whole, **{name: open_handle(scopes=[name]) for name in _SCOPES}}
        life = _Life(storage, chance, clock, handles, included)
        for _ in range(_STEPS):
            life.step()
        life.clock.now += timedelta(days=400)
        whole.upkeep.optimize(jobs=["summarise"])
        life.check()
        if not whole.verify().sound:
            life.faults.append("the store is not sound")
        return life.faults
