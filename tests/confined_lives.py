"""Two ways to open some scopes of a store, in which much happens inside and outside.

A handle that is confined to these scopes uses the index of the whole store. The other side is a
store whose storage is confined already: it reads that into an index of its own, which never holds a
memory from outside. Both must tell the same.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from attrs import frozen

from infinite_memory import Config, MemoryStore, Storage
from infinite_memory.core.errors import InfiniteMemoryError
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.search.index import SearchIndex
from infinite_memory.storage.confined import ConfinedStorage
from infinite_memory.testing.embedders import HashingEmbedder

INSIDE = ("work", "Team/*")
SCOPES = ("work", "team/red", "TEAM/Blue", "home", "Global", "work/deep", "teams")
WORDS = (
    "harbour ferry deadline Apollo June invoice 4411 4412 rent water bill paid plan engine Alice"
    " Bob lamp green blue bridge closed open Tuesday Monday 2024 budget meeting notes"
).split()
QUESTIONS = (
    "when does the ferry leave the harbour?",
    "what did Alice say about the budget?",
    "invoice 4412",
    'what says "green lamp bridge"?',
    "what happened in June 2024?",
    "Bob paid the rent. Is the water bill paid as well?",
    "what was the plan before it was closed?",
    "unheard-of",
)
_NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
_NUMBER = re.compile(r"(?<![\w-])-?\d+\.\d+(?:e-?\d+)?")


class Life:
    """What happens to a store, drawn at random, inside and outside alike."""

    def __init__(self, store: MemoryStore, seed: int) -> None:
        self.store, self.draw, self.ids = store, random.Random(seed), list[str]()

    def text(self) -> str:
        return " ".join(self.draw.choices(WORDS, k=self.draw.randint(2, 9)))

    def remember(self) -> None:
        draw, number = self.draw, len(self.ids)
        text = self.text()
        if self.ids and draw.random() < 0.2:
            text = self.store.get(draw.choice(self.ids)).text + draw.choice(["", ".", "!"])
        self.store.remember(
            text,
            id=f"m-{number}",
            scope=draw.choice(SCOPES),
            kind=draw.choice(["note", "fact", "message", "problem", "solution"]),
            speaker=draw.choice([None, None, "Alice", "Bob"]),
            conversation_id=draw.choice([None, "talk", "chat"]),
            tags=draw.sample(["red", "late"], draw.randint(0, 2)),
            important=draw.random() < 0.1,
            happened_at=_NOW - timedelta(days=draw.randint(0, 900), seconds=number),
        )
        self.ids.append(f"m-{number}")

    def move(self) -> None:
        self._revise(scope=self.draw.choice(SCOPES))

    def reword(self) -> None:
        self._revise(text=self.text())

    def supersede(self) -> None:
        chosen, number = self.draw.choice(self.ids), len(self.ids)
        old = self.store.get(chosen)
        with suppress(InfiniteMemoryError):  # it is superseded already
            self.store.remember(
                self.text(), id=f"m-{number}", scope=old.scope, supersedes=[chosen], kind="fact"
            )
            self.ids.append(f"m-{number}")

    def archive(self) -> None:
        self._revise(status="archived")

    def erase(self) -> None:
        chosen = self.draw.choice(self.ids)
        self.ids.remove(chosen)
        self.store.forget(chosen, hard=True)
        self.ids.append(chosen)
        self.store.remember(self.text(), id=chosen, scope=self.draw.choice(SCOPES))

    def look(self) -> None:
        self.store.search(self.text(), scope="ALL")

    def _revise(self, **changes: Any) -> None:
        chosen = self.draw.choice(self.ids)
        revision = self.store.get(chosen).revision
        with suppress(InfiniteMemoryError):  # such as to bring back what is superseded
            self.store.revise(chosen, revision=revision, **changes)

    def go_on(self, steps: int) -> None:
        acts = (self.move, self.reword, self.supersede, self.archive, self.erase, self.look)
        for _ in range(steps):
            act = self.remember if len(self.ids) < 5 else self.draw.choice([self.remember, *acts])
            act()


def calls() -> Iterator[Callable[[MemoryStore], Any]]:
    for question in QUESTIONS:
        for given in (
            {},
            {"scope": "ALL"},
            {"scope": "ALL", "threshold": 0, "limit": 200, "explain": True},
            {"scope": "ALL", "threshold": 0, "limit": 3, "offset": 2, "explain": True},
            {"scope": "work", "kinds": ["fact", "note"]},
            {"scope": "ALL", "statuses": [], "limit": 100},
            {"scope": "ALL", "mode": "history"},
            {"scope": "ALL", "tags": ["red"]},
            {"scope": "ALL", "depth": "overview"},
            {"scope": "ALL", "depth": "exhaustive", "limit": 200},
            {"conversation_id": "talk"},
            {"scope": "ALL", "as_of": _NOW - timedelta(days=300)},
            {"scope": ["team/red", "home"]},
        ):
            yield lambda s, q=question, g=given: s.search(q, **g)
        yield lambda s, q=question: s.why_not(q, "m-3", scope="ALL")
    yield lambda s: s.browse(scope="ALL", limit=50)
    for when in ("always", "2025"):
        yield lambda s, w=when: s.recall_by_time(when=w, scope="ALL", limit=50)
    yield lambda s: [s.graph.related(f"m-{n}") for n in range(4)]
    yield lambda s: (s.scopes.count_memories(), s.scopes.count_tags("ALL"))


@frozen
class Sides:
    """A store, a handle of some of its scopes, and a store that has these scopes alone."""

    store: MemoryStore
    storage: Storage
    handle: MemoryStore
    alone: MemoryStore


@contextmanager
def open_sides(storage: Storage, home: Path) -> Iterator[Sides]:
    def open_one(over: Storage) -> MemoryStore:
        return MemoryStore.open(
            config=Config(home=home, time_zone="UTC"),
            storage=over,
            embedder=HashingEmbedder(64),
            clock=lambda: _NOW,
            counts_usage=False,  # each call would change what the next one reads
        )

    with ExitStack() as owned:
        store = owned.enter_context(open_one(storage))
        handle = owned.enter_context(store.confine(scopes=INSIDE))
        alone = owned.enter_context(open_one(ConfinedStorage(storage, INSIDE)))
        yield Sides(store, storage, handle, alone)


def answer(call: Callable[[MemoryStore], Any], store: MemoryStore) -> str:
    try:
        return repr(call(store))
    except InfiniteMemoryError as error:
        return f"{type(error).__name__}: {error}"


def check_same(told: str, expected: str) -> None:
    """Check that two answers are the same, up to the last digit of a score.

    That one depends on the order of additions, which is the order of the scopes.
    """
    assert _NUMBER.sub("#", told) == _NUMBER.sub("#", expected)
    pairs = zip(_NUMBER.findall(told), _NUMBER.findall(expected), strict=True)
    assert all(abs(float(one) - float(other)) < 3e-6 for one, other in pairs)


def compare(sides: Sides) -> None:
    """Check that both sides answer every call alike, to the last digit of each score."""
    for number, call in enumerate(calls()):
        told = answer(call, sides.handle)
        assert told == answer(call, sides.alone), f"call {number}"
    shared, own = (each._services.index for each in (sides.handle, sides.alone))
    assert isinstance(shared, SearchIndex)
    assert isinstance(own, SearchIndex)
    ids = [f"m-{number}" for number in range(0, 400, 7)]
    for memory_id, record in ConfinedStorage(sides.storage, INSIDE).get(ids, models=()).items():
        text, all_of = record.memory.text, Criteria()
        assert shared.nearest(memory_id, all_of, limit=9) == own.nearest(memory_id, all_of, limit=9)
        for limit in (2, 50):
            assert shared.find_neighbors(memory_id, text, all_of, limit=limit) == (
                own.find_neighbors(memory_id, text, all_of, limit=limit)
            )
            assert shared.find_similar(memory_id, text, all_of, ignored=(), limit=limit) == (
                own.find_similar(memory_id, text, all_of, ignored=(), limit=limit)
            )
