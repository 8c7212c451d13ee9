"""A connected assistant is handed material, and its summary takes the place of the built-in one."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from stopped_clock import StoppedClock

from infinite_memory import Config, InvalidInput, MemoryStore, NotFound, Outcome
from infinite_memory.core.config import Upkeep
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory_mcp.render import render_memory

BEGIN = datetime(2024, 3, 4, 9, tzinfo=UTC)
LATER = datetime(2026, 1, 10, tzinfo=UTC)


@pytest.fixture
def clock() -> StoppedClock:
    return StoppedClock(BEGIN)


@pytest.fixture
def storage() -> InMemoryStorage:
    return InMemoryStorage()


def open_store(storage: InMemoryStorage, clock: StoppedClock, **options: Any) -> MemoryStore:
    upkeep = options.pop("upkeep", Upkeep())
    return MemoryStore.open(
        "memory://",
        config=Config(time_zone="UTC", upkeep=upkeep),
        storage=storage,
        embedder=HashingEmbedder(),
        clock=clock,
        **options,
    )


@pytest.fixture
def store(storage: InMemoryStorage, clock: StoppedClock) -> Iterator[MemoryStore]:
    with open_store(storage, clock) as opened:
        yield opened


def talk(store: MemoryStore, name: str, *, count: int = 8, **fields: Any) -> list[str]:
    ids = [f"{name}-{number}" for number in range(count)]
    for number, memory_id in enumerate(ids):
        store.remember(
            f"Message {number} of {name}: we decided to ship part {number} on June {number + 1}.",
            id=memory_id,
            kind="message",
            conversation_id=name,
            speaker="Ada",
            happened_at=BEGIN + timedelta(minutes=number),
            **fields,
        )
    return ids


def test_a_finished_conversation_is_handed_out_with_dates_and_speakers(
    store: MemoryStore, clock: StoppedClock
) -> None:
    ids = talk(store, "plans")
    assert store.upkeep.summaries_wanted() == ()
    clock.now = LATER
    (wanted,) = store.upkeep.summaries_wanted()
    assert (wanted.scope, wanted.conversation_id, wanted.present) == ("Global", "plans", None)
    assert wanted.sources == tuple(ids)
    assert [(text.id, text.speaker, text.happened_at) for text in wanted.texts] == [
        (memory_id, "Ada", BEGIN + timedelta(minutes=number))
        for number, memory_id in enumerate(ids)
    ]
    assert wanted.texts[3].text == store.get("plans-3").text


def test_what_is_handed_out_fits_in_the_budget(store: MemoryStore, clock: StoppedClock) -> None:
    store.remember("x" * 5000, id="long", conversation_id="plans", happened_at=BEGIN)
    talk(store, "plans")
    talk(store, "other", count=300)
    clock.now = LATER
    for max_chars in (500, 2000, 12_000):
        wanted = store.upkeep.summaries_wanted(max_chars=max_chars)
        assert len(wanted) == 2
        assert sum(len(text.text) for item in wanted for text in item.texts) <= max_chars
        assert all(len(item.sources) >= len(item.texts) > 0 for item in wanted)


def test_the_summary_of_an_assistant_is_stored_with_its_sources_which_are_archived(
    store: MemoryStore, storage: InMemoryStorage, clock: StoppedClock
) -> None:
    ids = talk(store, "plans")
    store.revise(ids[2], revision=1, important=True)
    clock.now = LATER
    receipt = store.upkeep.store_summary("They ship in June 2024.", sources=ids, title="Shipping")
    assert (receipt.outcome, receipt.superseded, receipt.pending) == (Outcome.STORED, (), ())
    summary = store.get(receipt.id)
    assert (summary.kind, summary.origin, summary.scope) == ("summary", "assistant", "Global")
    assert (summary.title, summary.sources) == ("Shipping", tuple(ids))
    assert {link.target for link in storage.links([summary.id])} == set(ids)
    assert [str(store.get(i).status) for i in ids[1:4]] == ["archived", "current", "archived"]
    assert store.upkeep.summaries_wanted() == ()
    (report,) = store.upkeep.optimize(jobs=["summarise"]).jobs
    assert report.steps == ()
    again = store.upkeep.store_summary("They ship in June 2024.", sources=ids)
    assert (again.outcome, again.id) == (Outcome.UNCHANGED, receipt.id)
    store.undo()
    assert {str(store.get(memory_id).status) for memory_id in ids} == {"current"}


def test_a_summary_of_an_assistant_replaces_the_built_in_one(
    store: MemoryStore, clock: StoppedClock
) -> None:
    ids = talk(store, "plans")
    clock.now = LATER
    (report,) = store.upkeep.optimize(jobs=["summarise"]).jobs
    built_in = report.steps[0].other
    (wanted,) = store.upkeep.summaries_wanted()
    assert (wanted.present, wanted.sources) == (built_in, tuple(ids))
    receipt = store.upkeep.store_summary("They ship in June 2024.", sources=wanted.sources)
    assert receipt.superseded == (built_in,)
    assert str(store.get(str(built_in)).status) == "superseded"
    assert store.upkeep.summaries_wanted() == ()
    store.undo()
    assert str(store.get(str(built_in)).status) == "current"


def test_a_summary_that_a_person_wrote_is_never_replaced(
    store: MemoryStore, clock: StoppedClock
) -> None:
    ids = talk(store, "plans")
    store.remember("my own words", id="mine", kind="summary", sources=ids, conversation_id="plans")
    clock.now = LATER
    assert store.upkeep.store_summary("They ship in June.", sources=ids).superseded == ()
    assert str(store.get("mine").status) == "current"


def test_some_memories_of_no_finished_conversation_can_be_summarised_and_stay(
    store: MemoryStore,
) -> None:
    ids = talk(store, "plans", count=3)
    store.upkeep.store_summary("They ship in June.", sources=ids)
    assert {str(store.get(memory_id).status) for memory_id in ids} == {"current"}


def test_sources_that_cannot_be_used_are_refused(store: MemoryStore) -> None:
    store.scopes.create("work")
    for memory_id, scope in (("a", "Global"), ("b", "work"), ("gone", "Global")):
        store.remember(f"note {memory_id}", id=memory_id, scope=scope)
    store.forget("gone")
    store.remember("short", id="sum", kind="summary", sources=["a"])
    refuse = store.upkeep.store_summary
    with pytest.raises(NotFound, match="nobody"):
        refuse("x", sources=["a", "nobody"])
    with pytest.raises(InvalidInput, match="several scopes"):
        refuse("x", sources=["a", "b"])
    with pytest.raises(InvalidInput, match="forgotten"):
        refuse("x", sources=["gone"])
    with pytest.raises(InvalidInput, match="a summary itself"):
        refuse("x", sources=["sum"])
    with pytest.raises(InvalidInput, match="give 1 to 500"):
        refuse("x", sources=[])
    with pytest.raises(InvalidInput, match="empty"):
        refuse("  ", sources=["a"])
    assert len(store.journal.entries()) == 6


def test_private_scopes_are_handed_out_only_if_that_is_switched_on(
    store: MemoryStore, storage: InMemoryStorage, clock: StoppedClock
) -> None:
    store.scopes.create("vault", sensitivity="private")
    talk(store, "secrets", scope="vault")
    clock.now = LATER
    assert store.upkeep.summaries_wanted() == ()
    with open_store(storage, clock, upkeep={"private_scopes": True}) as other:
        assert [wanted.scope for wanted in other.upkeep.summaries_wanted()] == ["vault"]


def test_a_handle_of_some_scopes_is_handed_those_alone(
    store: MemoryStore, storage: InMemoryStorage, clock: StoppedClock
) -> None:
    for name in ("work", "home"):
        store.scopes.create(name)
        talk(store, f"talk-{name}", scope=name)
    clock.now = LATER
    with open_store(storage, clock, scopes=["work"]) as work:
        assert [wanted.scope for wanted in work.upkeep.summaries_wanted()] == ["work"]
        with pytest.raises(NotFound):
            work.upkeep.store_summary("x", sources=["talk-home-1"])


def test_one_session_a_day_is_offered_to_write_better_summaries_within_its_budget(
    clock: StoppedClock, tmp_path: Path
) -> None:
    with MemoryStore.open(tmp_path / "home", clock=clock) as store:
        for name in ("plans", "trips"):
            talk(store, name)
        clock.now = LATER

        def is_offered(session: str, **options: Any) -> bool:
            begun = store.conversations.begin_session("/nowhere", session=session, **options)
            assert begun.tokens <= options.get("budget", 500)
            return 'more(tool="summaries_wanted", arguments={})' in begun.text

        assert not is_offered("none is summarised")
        store.upkeep.optimize(jobs=["summarise"])
        assert not is_offered("too little room", budget=200)
        assert not is_offered("")
        told = store.conversations.begin_session("/", session="a").text
        assert "\n2 summaries are excerpts alone: " in told
        assert not is_offered("b")
        with MemoryStore.open(tmp_path / "home", clock=clock, client="another") as other:
            again = other.conversations.begin_session("/nowhere", session="c")
            assert "summaries_wanted" not in again.text
        clock.now += timedelta(days=1)
        assert is_offered("d")
        for wanted in store.upkeep.summaries_wanted(limit=2):
            store.upkeep.store_summary("They ship.", sources=wanted.sources)
        clock.now += timedelta(days=1)
        assert not is_offered("nothing is left")
        assert "summaries_wanted" not in store.briefing().text


@pytest.mark.parametrize(("origin", "brought"), [("import", True), ("user", False)])
def test_a_summary_of_what_was_brought_in_is_brought_in_too(
    store: MemoryStore, clock: StoppedClock, origin: str, brought: bool
) -> None:
    talk(store, "plans", origin=origin)
    clock.now = LATER
    (wanted,) = store.upkeep.summaries_wanted()
    summary = store.upkeep.store_summary("They ship on June 1 to 8.", sources=wanted.sources)
    memory = store.get(summary.id)
    assert memory.is_brought_in is brought
    (hit,) = [hit for hit in store.search("when do they ship?") if hit.id == summary.id]
    assert ("· brought in" in render_memory(1, hit.memory)) is brought
    assert store.get("plans-1").is_brought_in is brought
