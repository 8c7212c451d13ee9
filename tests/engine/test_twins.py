"""Memories that say the same are one hit, and none of them is out of reach."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from infinite_memory import MemoryStore
from infinite_memory.core.values.hits import Step

START = datetime(2026, 1, 1, tzinfo=UTC)


def test_the_newest_stands_for_all_that_say_the_same(store: MemoryStore) -> None:
    for day, text in enumerate(["Alice likes tea.", "Alice likes  tea", "Alice likes tea"]):
        store.remember(text, id=f"tea-{day}", happened_at=START + timedelta(days=day))
    store.remember("Alice likes tea and cake", id="cake", happened_at=START)
    hits = store.search("what does Alice like", threshold=0)
    assert [hit.memory.id for hit in hits] == ["tea-2", "cake"]
    assert hits[0].twins == ("tea-1", "tea-0")
    assert hits.more == 0
    absence = store.why_not("what does Alice like", "tea-0", threshold=0)
    assert absence.step is Step.TWIN
    assert "tea-2, which is newer" in absence.reason


def test_another_speaker_scope_kind_or_number_makes_no_twin(store: MemoryStore) -> None:
    store.remember("the price is 5", id="a")
    store.remember("the price is 5", id="b", speaker="Bob")
    store.remember("the price is 5", id="c", kind="fact")
    store.remember("the price is 5", id="d", scope="Shop")
    store.remember("the price is 6", id="e")
    hits = store.search("price", scope="Shop", limit=10, threshold=0)
    assert {hit.memory.id for hit in hits} == set("abcde")
    assert all(hit.twins == () for hit in hits)


def test_a_hundred_repeats_leave_room_for_others(store: MemoryStore) -> None:
    store.remember_many([{"text": "tea", "id": f"t{i:03}"} for i in range(100)])
    store.remember_many([{"text": f"tea and note {i}", "id": f"n{i}"} for i in range(4)])
    hits = store.search("tea", limit=5, threshold=0)
    assert hits[0].memory.id == "t099"
    assert {hit.memory.id for hit in hits} == {"t099", "n0", "n1", "n2", "n3"}
    assert len(hits[0].twins) == 99
    assert hits.more == 0


def test_what_was_forgotten_is_no_twin(store: MemoryStore) -> None:
    store.remember("tea", id="old", happened_at=START)
    store.remember("tea", id="new", happened_at=START + timedelta(days=1))
    store.forget("new")
    (hit,) = store.search("tea", threshold=0)
    assert (hit.memory.id, hit.twins) == ("old", ())


def test_small_differences_make_twins_that_stay_within_reach(store: MemoryStore) -> None:
    texts = ["The deadline is June 5", "The  deadline is June 5", "The deadline is June 5."]
    for day, text in enumerate(texts):
        store.remember(text, id=f"d{day}", happened_at=START + timedelta(days=day))
    store.remember("The deadline is June 6", id="other", happened_at=START)
    hits = store.search("when is the deadline", threshold=0)
    assert {hit.memory.id: hit.twins for hit in hits} == {"d2": ("d1", "d0"), "other": ()}
    assert hits.more == 0
    assert store.get("d0").text == texts[0]
    assert store.why_not("when is the deadline", "d1", threshold=0).step is Step.TWIN


def test_tomorrow_is_another_day_tomorrow(store: MemoryStore) -> None:
    for day in (0, 1):
        for number, text in enumerate(["Bob flies tomorrow", "We meet on Friday", "Bob flies"]):
            moment = START + timedelta(days=day, hours=number)
            store.remember(text, id=f"{day}-{number}", happened_at=moment)
    store.remember("We meet on Friday", id="later", happened_at=START + timedelta(days=9))
    found = {h.memory.id: h.twins for h in store.search("Bob flies; we meet", limit=9, threshold=0)}
    assert found == {
        "0-0": (),
        "1-0": (),
        "1-1": (),
        "0-1": (),
        "1-2": ("0-2",),
        "later": (),
    }


def test_who_stands_for_the_others_does_not_depend_on_the_limit(store: MemoryStore) -> None:
    store.remember_many(
        [
            {
                "text": "walrus walrus fact",
                "id": f"w{i:03}",
                "happened_at": START + timedelta(days=i),
            }
            for i in range(200)
        ]
    )
    for limit in (1, 5, 100):
        hits = store.search("walrus", limit=limit)
        assert [hit.memory.id for hit in hits] == ["w199"]
        assert (len(hits[0].twins), hits.more, hits.next) == (199, 0, None)
    assert store.why_not("walrus", "w003", limit=1).step is Step.TWIN
    assert len(store.search("walrus", offset=1)) == 0


def test_a_later_page_does_not_say_that_nothing_answers(store: MemoryStore) -> None:
    store.remember("Alice likes green tea", id="tea")
    store.remember("The house where tea is sold", id="house")
    first = store.search("what tea does Alice like", limit=1, threshold=0)
    assert (first.likely, first.next) == (True, 1)
    second = store.search("what tea does Alice like", limit=1, offset=1, threshold=0)
    assert second[0].score < first[0].score
    assert (second.likely, second.best, second.next) == (True, first[0].score, None)
