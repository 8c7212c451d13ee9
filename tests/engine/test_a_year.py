"""A year in the life of a user: what held when, whatever was told late or ahead."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from attrs import frozen

from infinite_memory import MemoryStore, Status
from infinite_memory.search.embedding import OnnxEmbedder, model_directory


@frozen
class Told:
    """What was told on a day of 2025, and since when it holds if that is another day."""

    day: tuple[int, int]
    key: str
    text: str
    since: tuple[int, int] | None = None

    @property
    def began(self) -> datetime:
        return _day(*(self.since or self.day))


def _day(month: int, day: int) -> datetime:
    return datetime(2025, month, day, 9, tzinfo=UTC)


YEAR = [
    Told((1, 5), "city", "Dana lives in Berlin"),
    Told((1, 10), "job", "Dana works as a nurse at the St. Mary hospital"),
    Told((1, 15), "apollo/deadline", "The deadline of the Apollo project is May 1"),
    Told((1, 20), "drink", "Dana prefers tea to coffee"),
    Told((2, 12), "apollo/deadline", "The deadline of the Apollo project is June 1"),
    Told((4, 8), "apollo/deadline", "The deadline of the Apollo project is July 15"),
    # Told late: three weeks after it began.
    Told((4, 20), "job", "Dana works as a teacher at the Hill school", since=(4, 1)),
    Told((5, 5), "drink", "Dana prefers coffee to tea"),
    Told((6, 15), "city", "Dana lives in Lisbon"),
    Told((6, 20), "apollo/deadline", "The deadline of the Apollo project is September 30"),
    # Told ahead: three weeks before it begins.
    Told((8, 10), "job", "Dana works as a librarian at the city library", since=(9, 1)),
    Told((8, 22), "drink", "Dana prefers tea to coffee"),
    Told((10, 3), "apollo/deadline", "The deadline of the Apollo project is December 12"),
    # Told when it was long over.
    Told((11, 11), "city", "Dana lives in Prague", since=(3, 1)),
]
QUESTIONS = {
    "city": "Where does Dana live?",
    "job": "What does Dana work as?",
    "apollo/deadline": "When is the deadline of the Apollo project?",
    "drink": "Does Dana prefer tea or coffee?",
}


def line(key: str, told: list[Told]) -> list[Told]:
    """Return what was told under a key, in the order in which it began to hold."""
    return sorted((each for each in told if each.key == key), key=lambda each: each.began)


def held(key: str, told: list[Told], moment: datetime) -> list[str]:
    """Return what held at a moment, of all that was told: one text or none."""
    return [each.text for each in line(key, told) if each.began <= moment][-1:]


@pytest.fixture(scope="module")
def bundled() -> Iterator[OnnxEmbedder]:
    with OnnxEmbedder(model_directory("english"), workers=1) as embedder:
        yield embedder


@pytest.fixture
def store(
    open_store: Callable[..., MemoryStore], bundled: OnnxEmbedder, clock: Any
) -> Iterator[MemoryStore]:
    """Open the store of the fixture with the real model."""
    quick = open_store()
    storage = quick._services.storage
    with MemoryStore.open(
        "memory://", config=quick.config, storage=storage, embedder=bundled, clock=clock
    ) as store:
        yield store


def tell(store: MemoryStore, each: Told, clock: Any) -> None:
    clock.now = _day(*each.day)
    if each.since is None:
        store.remember(each.text, kind="fact", key=each.key)
    elif each.began > clock.now:
        store.remember(each.text, kind="fact", key=each.key, valid_from=each.began)
    else:
        store.remember(each.text, kind="fact", key=each.key, happened_at=each.began)


def check_today(store: MemoryStore, told: list[Told], now: datetime) -> None:
    """Fail if a search shows as current what is over, or does not find what holds."""
    for key, question in QUESTIONS.items():
        hits = [hit.memory for hit in store.search(question, limit=20)]
        assert all(m.status is Status.CURRENT and not m.ended_by(now) for m in hits)
        found = [memory.text for memory in hits if memory.key == key and memory.held_at(now)]
        assert found == held(key, told, now)
        strict = store.search(question, limit=20, mode="strict")
        assert [hit.memory.text for hit in strict if hit.memory.key == key] == found


def test_a_search_never_shows_as_current_what_is_over(store: MemoryStore, clock: Any) -> None:
    for number, each in enumerate(YEAR, 1):
        tell(store, each, clock)
        check_today(store, YEAR[:number], clock.now)
    # What was told ahead has begun meanwhile.
    clock.now = datetime(2026, 1, 1, tzinfo=UTC)
    check_today(store, YEAR, clock.now)
    assert store.journal.conflicts() == []


def test_every_month_is_answered_as_it_was(store: MemoryStore, clock: Any) -> None:
    for each in YEAR:
        tell(store, each, clock)
    clock.now = datetime(2026, 1, 1, tzinfo=UTC)
    for month in range(1, 13):
        for day in (1, 15, 28):
            moment = datetime(2025, month, day, 12, tzinfo=UTC)
            found = store.browse(as_of=moment, limit=100).memories
            for key, question in QUESTIONS.items():
                expected = held(key, YEAR, moment)
                assert [memory.text for memory in found if memory.key == key] == expected
                hits = store.search(question, as_of=moment, limit=20)
                assert [hit.memory.text for hit in hits if hit.memory.key == key] == expected


def test_the_history_of_each_key_is_in_order(store: MemoryStore, clock: Any) -> None:
    for each in YEAR:
        tell(store, each, clock)
    for key in QUESTIONS:
        history = store.journal.history(key)
        chain = line(key, YEAR)
        assert [memory.text for memory in history] == [each.text for each in chain]
        # What a fact that was told ahead has ended stays current, with its end.
        over = [m.status is Status.SUPERSEDED or m.ended_by(clock.now) for m in history]
        assert over == [*[True] * (len(chain) - 1), False]
        ends = [memory.valid_to for memory in history[:-1]]
        assert ends == [memory.held_from for memory in history[1:]]
    deadline = store.journal.history(store.journal.history("apollo/deadline")[0].id)
    assert [memory.text for memory in deadline] == [
        each.text for each in line("apollo/deadline", YEAR)
    ]
