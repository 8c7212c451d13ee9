"""The receipt of a write names what it may replace, and nothing that its caller must not see."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from infinite_memory import Config, InvalidInput, MemoryStore, Outcome
from infinite_memory.core.protocols import Embedder
from infinite_memory.core.values.receipt import Searchable
from infinite_memory.core.values.record import Record
from infinite_memory.search.embedding import open_embedder
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.testing.embedders import HashingEmbedder

OLD, NEW = "The standup is at 9:00", "The standup is at 10:30"
MOVED = "The standup has been moved to 10:30"


def named(store: MemoryStore, text: str = NEW, **fields: object) -> list[str]:
    """Store a text; return the ids that its receipt names."""
    receipt = store.remember(text, **fields)  # type: ignore[arg-type]
    return [similar.id for similar in (*receipt.replaces, *receipt.similar)]


@pytest.fixture(scope="module")
def bundled() -> Iterator[Embedder]:
    embedder = open_embedder()
    yield embedder
    embedder.close()


@pytest.fixture
def real_store(bundled: Embedder) -> Iterator[MemoryStore]:
    """Open an empty store with the bundled model."""
    with MemoryStore.open("memory://", embedder=bundled) as store:
        yield store


def test_a_moved_standup_names_the_old_time(real_store: MemoryStore) -> None:
    moment = datetime(2026, 3, 1, 9, tzinfo=UTC)
    real_store.remember(OLD, id="old", happened_at=moment)
    real_store.remember("Alice's cat is called Mimi")
    receipt = real_store.remember(MOVED)
    assert receipt.similar == ()
    (similar,) = receipt.replaces
    assert (similar.id, similar.text, similar.scope, similar.key) == ("old", OLD, "Global", None)
    assert similar.happened_at == moment
    assert 0.5 < similar.score <= 1


CHANGED = [
    ("Alice lives in Berlin", "Alice has moved to Oslo"),
    ("My dentist is Dr. Halvorsen on Quay Street", "I changed dentists, it is Dr. Okonjo now"),
    ("The deadline of Apollo is June 5", "Apollo has been postponed, the deadline is August 1"),
    ("Use tabs in the firmware repository", "The firmware repository uses four spaces now"),
    ("The wifi password of the office is hunter2", "We have a new wifi password: correct horse"),
    ("Bob drives a red Volvo", "Bob sold his Volvo and rides a bicycle"),
    ("We deploy on Fridays", "Deployments happen on Tuesdays from now on"),
    ("The user prefers tea", "The user drinks coffee instead of tea now"),
]
WEEK = [
    *(old for old, _ in CHANGED),
    "Alice's cat is called Mimi",
    "Invoices go to billing@example.com",
    "The parser fails on nested comments",
    "Our daughter starts school in September",
    "The greenhouse thermostat is set to 17 degrees",
    "Choir rehearsal takes place in the parish hall",
    "The production database is PostgreSQL 16",
    "Dad is allergic to penicillin",
    "The garage remote is in the second drawer",
    "The staging server is called marvin",
    "Hannah's birthday is on 4 May",
    "The book club reads Middlemarch in March",
]


@pytest.fixture
def week(real_store: MemoryStore) -> MemoryStore:
    """Fill a store with the twenty memories of a first week."""
    for text in WEEK:
        real_store.remember(text)
    return real_store


@pytest.mark.parametrize(("old", "new"), CHANGED)
def test_after_a_week_a_change_names_what_it_replaces(
    week: MemoryStore, old: str, new: str
) -> None:
    receipt = week.remember(new)
    assert [similar.text for similar in receipt.replaces] == [old]
    assert receipt.similar == ()


@pytest.mark.parametrize(
    "text",
    [
        "Glaciers in the northern valley have lost a third of their ice",
        "The plumber comes on Thursday because of the dripping tap",
        "She plays the cello in a small orchestra",
        "Release notes are written in Markdown",
        "My knee hurts whenever I climb the stairs",
    ],
)
def test_after_a_week_an_unrelated_text_names_nothing(week: MemoryStore, text: str) -> None:
    assert named(week, text) == []


TOLD_AGAIN = [
    ("The release of Heron is planned for 30 March", "The release of Heron was moved to 13 April"),
    ("Renew the practising certificate before 31 March", "Sent off the certificate renewal"),
    (
        "Die Chorprobe ist dienstags um 19:30 Uhr im Gemeindesaal",
        "Die Chorprobe wurde auf Donnerstag um 20 Uhr verlegt",
    ),
    ("每周二晚上七点半在体育中心打羽毛球", "羽毛球改到周四晚上八点，体育中心在装修"),
    ("Ibrahim s'entraîne le mercredi à 17 h 30", "L'entraînement d'Ibrahim est désormais le mardi"),
]
NEAR = [
    (
        "Invoice 4411 of the boatyard is 3,400 kronor",
        "Invoice 4412 of the boatyard is 1,950 kronor",
    ),
    (
        "Finn has his trumpet lesson on Tuesdays at 16:00",
        "Isla has her violin lesson on Thursdays at 15:30",
    ),
    ("Miso the cat is fed at 7 and at 18", "Miso the cat gets 60 grams at 7 and 40 at 18"),
    (
        "Die Rechnung 4411 der Werft beträgt 3.400 Euro",
        "Die Rechnung 4412 der Werft beträgt 1.950 Euro",
    ),
    ("爷爷住在厦门", "奶奶住在杭州"),
]


@pytest.mark.parametrize(("old", "new"), TOLD_AGAIN)
def test_what_was_told_again_is_probably_replaced(week: MemoryStore, old: str, new: str) -> None:
    week.remember(old)
    assert [similar.text for similar in week.remember(new).replaces] == [old]


@pytest.mark.parametrize(("old", "new"), NEAR)
def test_what_is_near_and_holds_is_not_replaced(week: MemoryStore, old: str, new: str) -> None:
    week.remember(old)
    assert week.remember(new).replaces == ()


def test_nothing_is_replaced_in_another_scope(real_store: MemoryStore) -> None:
    real_store.remember(OLD)
    assert real_store.remember(MOVED, scope="work").replaces == ()
    (similar,) = real_store.remember(MOVED).replaces
    assert (similar.scope, similar.text) == ("Global", OLD)


@pytest.mark.parametrize("kind", ["message", "problem", "solution", "code_change"])
def test_a_record_of_what_was_said_or_happened_is_not_replaced(
    real_store: MemoryStore, kind: str
) -> None:
    real_store.remember(OLD, kind=kind)
    assert real_store.remember(MOVED).replaces == ()
    real_store.remember(OLD)
    assert real_store.remember(MOVED, kind=kind).replaces == ()


def test_another_model_is_not_judged(store: MemoryStore) -> None:
    store.remember(OLD)
    assert store.remember(MOVED).replaces == ()


def test_at_most_one_is_known_already_the_nearest(store: MemoryStore) -> None:
    for number in range(5):
        store.remember(f"The standup is at {number}:00 sharp", id=f"s{number}")
    store.remember("The standup is at 6:00 sharp on Mondays", id="nearest")
    assert named(store, "The standup is at 7:00 sharp on Mondays") == ["nearest"]


def test_only_current_memories_are_named(store: MemoryStore) -> None:
    for status in ("superseded", "archived"):
        store.remember(OLD, id=status, similar=False)
        store.revise(status, revision=1, status=status)
    store.remember(OLD, id="forgotten")
    store.forget("forgotten")
    store.remember(OLD, id="over", valid_to=datetime(2020, 1, 1, tzinfo=UTC))
    assert named(store) == []


def test_what_it_supersedes_and_what_it_was_made_from_are_not_named(store: MemoryStore) -> None:
    store.remember(OLD, id="old")
    assert named(store, supersedes=["old"]) == []
    store.remember("The retrospective is at noon", id="source")
    assert named(store, "In short: the retrospective is at noon", sources=["source"]) == []
    store.remember("Apollo starts in May", key="apollo", id="may")
    assert "may" not in named(store, "Apollo starts in June", key="apollo")


def test_conflicts_are_not_named_twice(store: MemoryStore) -> None:
    april = datetime(2026, 4, 1, tzinfo=UTC)
    store.remember("Apollo flies in May", id="may", key="start", happened_at=april)
    receipt = store.remember("Apollo flies in June", key="start", happened_at=april)
    assert receipt.conflicts == ("may",)
    assert receipt.similar == ()


def test_a_message_names_none_and_is_named_by_none(store: MemoryStore) -> None:
    store.remember(OLD, kind="message")
    assert named(store) == []
    assert named(store, OLD, kind="message") == []


def test_what_was_not_stored_names_none(store: MemoryStore) -> None:
    store.remember(OLD)
    store.remember("The standup takes place at nine", id="mine")
    unchanged = store.remember("The standup takes place at nine", id="mine")
    assert (unchanged.outcome, unchanged.similar) == (Outcome.UNCHANGED, ())
    store.remember(NEW)
    again = store.remember(NEW)
    assert (again.outcome, again.similar) == (Outcome.STRENGTHENED, ())


def test_what_is_history_already_names_none(store: MemoryStore) -> None:
    june, may = (datetime(2025, month, 1, tzinfo=UTC) for month in (6, 5))
    store.remember("The standup is at 8:00", id="other")
    store.remember(OLD, key="standup", happened_at=june)
    late = store.remember(NEW, key="standup", happened_at=may)
    assert late.superseded_by is not None
    assert late.similar == ()


def test_an_import_names_none(store: MemoryStore) -> None:
    receipts = store.remember_many([{"text": OLD}, {"text": NEW}])
    assert [receipt.similar for receipt in receipts] == [(), ()]


def test_the_look_can_be_switched_off(store: MemoryStore) -> None:
    store.remember(OLD, id="old")
    assert named(store, similar=False) == []
    assert named(store, "The standup is at 11:30")
    with pytest.raises(InvalidInput, match="similar must be true or false"):
        store.remember("another", similar="no")  # type: ignore[arg-type]
    assert store.stats().memories == 3


@pytest.mark.parametrize(
    ("scope", "seen"),
    [
        ("team", ["Global", "company", "team"]),
        ("diary", ["Global", "diary"]),
        ("Global", ["Global"]),
    ],
)
def test_its_scope_its_parents_and_global_are_looked_at_and_no_others(
    store: MemoryStore, scope: str, seen: list[str]
) -> None:
    store.scopes.create("company")
    store.scopes.create("team", parent="company")
    store.scopes.create("diary", sensitivity="private")
    for place in ("Global", "company", "team", "diary", "elsewhere"):
        store.remember(OLD, id=place, scope=place, similar=False)
        found = named(store, scope=scope, id=f"beside-{place}")
        assert found == ([place] if place in seen else [])
        for memory_id in (place, f"beside-{place}"):
            store.forget(memory_id)


def test_a_confined_store_names_nothing_from_outside() -> None:
    storage = InMemoryStorage()
    with MemoryStore.open(storage=storage, embedder=HashingEmbedder()) as full:
        for scope in ("Global", "elsewhere", "work"):
            full.remember(OLD, id=f"in-{scope}", scope=scope, similar=False)
        with MemoryStore.open(
            storage=storage, embedder=HashingEmbedder(), scopes=["work"]
        ) as confined:
            assert named(confined, scope="work") == ["in-work"]


def test_a_long_text_is_cut_and_on_one_line(store: MemoryStore) -> None:
    store.remember("The standup\nis at\n\n9:00. " + "And so on. " * 200, id="old")
    (similar,) = store.remember("The standup is at 10:30. " + "And so on. " * 9).similar
    assert similar.text.startswith("The standup is at 9:00. And so on.")
    assert similar.text.endswith("…")
    assert len(similar.text) <= 240
    assert "\n" not in similar.text


class CountingEmbedder(HashingEmbedder):
    """Counts the texts that it embeds, and refuses them on request."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.is_broken = False

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.texts += texts
        if self.is_broken:
            raise RuntimeError("the model is gone")
        return super().embed(texts)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        self.texts.append(text)
        return super().embed_query(text)


def test_the_text_is_embedded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = CountingEmbedder()
    # `embed` of the reference calls `embed_query` for each text.
    monkeypatch.setattr(CountingEmbedder, "embed_query", HashingEmbedder.embed_query)
    with MemoryStore.open("memory://", embedder=embedder) as store:
        store.remember(OLD)
        assert named(store)
    assert embedder.texts == [OLD, NEW]


def test_with_a_broken_embedder_words_alone_name_it() -> None:
    embedder = CountingEmbedder()
    with MemoryStore.open("memory://", embedder=embedder) as store:
        store.remember(OLD, id="old")
        for number in range(9):
            store.remember(f"word{number} of topic{number}", similar=False)
        embedder.is_broken = True
        receipt = store.remember(f"{OLD} sharp")
    assert receipt.searchable is Searchable.WORDS
    assert [similar.id for similar in receipt.similar] == ["old"]
    assert not any("similar" in sentence for sentence in receipt.pending)


class FailingStorage(InMemoryStorage):
    """Cannot be read for the memories that are near once it is told so."""

    fails = False

    def get(
        self, ids: Collection[str], *, models: Collection[str] | None = None
    ) -> dict[str, Record]:
        if self.fails and "new" not in ids:
            raise OSError("the disk is gone")
        return super().get(ids, models=models)


def test_a_failing_look_leaves_the_memory_stored_and_is_pending(tmp_path: Path) -> None:
    storage = FailingStorage()
    config = Config(home=tmp_path)
    with MemoryStore.open(storage=storage, config=config, embedder=HashingEmbedder()) as store:
        store.remember(OLD)
        storage.fails = True
        receipt = store.remember(NEW, id="new")
        assert receipt.outcome is Outcome.STORED
        assert receipt.similar == ()
        (pending,) = receipt.pending
        assert "the search for similar memories" in pending
        assert "the disk is gone" in pending
        assert store.get("new").text == NEW
        storage.fails = False


def test_to_be_named_is_no_recall_and_no_use(store: MemoryStore) -> None:
    store.remember(OLD, id="old")
    assert named(store) == ["old"]
    assert store.usage("old") is None


def test_a_write_of_another_handle_is_named(tmp_path: Path) -> None:
    with (
        MemoryStore.open(tmp_path / "shared", embedder=HashingEmbedder()) as one,
        MemoryStore.open(tmp_path / "shared", embedder=HashingEmbedder()) as other,
    ):
        one.remember("nothing of the kind")
        other.remember(OLD, id="theirs")
        assert named(one) == ["theirs"]


def test_the_advice_to_call_again_leaves_one_current_memory(store: MemoryStore) -> None:
    store.remember(OLD, id="old")
    first = store.remember(NEW)
    again = store.remember(NEW, supersedes=["old", first.id])
    assert again.similar == ()
    assert {*again.superseded} == {"old", first.id}
    assert [memory.id for memory in store.browse().memories] == [again.id]
