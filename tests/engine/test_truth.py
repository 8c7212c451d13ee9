"""What holds now, what held then, and all that ever did."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from changing_facts import QUESTIONS, YEAR, day, holding, link_between, live_through, supersede

from infinite_memory import Depth, InvalidInput, MemoryStore, Mode, Status
from infinite_memory.core.values.commit import Commit
from infinite_memory.core.values.hits import Step
from infinite_memory.core.values.memory import Memory
from infinite_memory.testing.embedders import HashingEmbedder

OpenStore = Callable[..., MemoryStore]
MONTHS = [day(f"2025-{n:02}-01") for n in range(5, 13)] + [
    day(f"2026-{n:02}-01") for n in range(1, 6)
]
NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.fixture
def year(open_store: OpenStore) -> MemoryStore:
    """The clock stands at Friday, 1 May 2026, after the last month of the year."""
    store = open_store(time_zone="UTC")
    live_through(store._services.storage)
    store.models.catch_up()
    return store


def ids(found: Any) -> list[str]:
    return [each.memory.id for each in found]


def about(key: str, found: Any) -> list[str]:
    return [hit.memory.id for hit in found if hit.memory.key == key]


@pytest.mark.parametrize("key", QUESTIONS)
def test_a_superseded_fact_is_never_shown_as_current(year: MemoryStore, key: str) -> None:
    for depth in (Depth.NORMAL, Depth.OVERVIEW):
        hits = year.search(QUESTIONS[key], depth=depth, limit=50, threshold=0)
        assert about(key, hits) == [holding(key, NOW)]
        assert {hit.memory.status for hit in hits} == {Status.CURRENT}
        assert not any(hit.ended for hit in hits)
        assert hits.eligible == len(QUESTIONS)
    assert {m.id for m in year.browse().memories} == {holding(each, NOW) for each in QUESTIONS}


@pytest.mark.parametrize("key", QUESTIONS)
def test_as_of_is_right_for_each_month(year: MemoryStore, key: str) -> None:
    for month in MONTHS:
        for moment in (month, month - timedelta(microseconds=1)):
            hits = year.search(QUESTIONS[key], as_of=moment, limit=50, threshold=0)
            expected = holding(key, moment)
            assert about(key, hits) == ([] if expected is None else [expected])
            assert hits.as_of == moment
            page = year.browse(as_of=moment).memories
            assert [m.id for m in page if m.key == key] == about(key, hits)
        in_words = year.search(QUESTIONS[key], as_of=f"{month:%B %Y}", limit=50, threshold=0)
        assert in_words.as_of is not None
        assert about(key, in_words) == [holding(key, in_words.as_of)]


def test_a_hit_brings_along_what_it_has_superseded(year: MemoryStore) -> None:
    (hit,) = [h for h in year.search("which city", mode="current") if h.memory.id == "oslo"]
    (earlier,) = hit.supersedes
    assert (earlier.id, earlier.text) == ("berlin", "The user lives in the city of Berlin")
    assert earlier.ended_at == day("2025-10-01")
    overview = year.search("which city", depth="overview")
    assert {h.memory.id: h.supersedes for h in overview}["oslo"] == (earlier,)
    assert all(not h.supersedes for h in year.search("which city", mode="strict"))


def test_only_the_latest_predecessors_are_shown_and_long_ones_are_cut(store: MemoryStore) -> None:
    storage = store._services.storage
    for number in range(5):
        store.remember(
            f"draft {number} {'x' * 1000}", id=f"old{number}", happened_at=day("2026-01-01")
        )
    merged = Memory(
        id="merged", text="all of the drafts", happened_at=day("2026-02-01"), stored_at=NOW
    )
    supersede(storage, merged, [f"old{number}" for number in range(5)])
    (hit,) = store.search("drafts")
    assert [each.id for each in hit.supersedes] == ["old4", "old3", "old2"]
    assert all(len(each.text) == 300 and each.text.endswith("…") for each in hit.supersedes)


def test_what_may_not_be_seen_is_no_predecessor(store: MemoryStore) -> None:
    storage = store._services.storage
    for name, scope in (("gone", "Global"), ("secret", "Vault"), ("back", "Global")):
        store.remember(f"the old plan: {name}", id=name, scope=scope)
    plan = Memory(id="plan", text="the plan", happened_at=NOW, stored_at=NOW)
    supersede(storage, plan, ["gone", "secret", "back"])
    store.forget("gone")
    store.revise("back", revision=2, status="current")
    (hit,) = [h for h in store.search("plan", scope="Global") if h.memory.id == "plan"]
    assert hit.supersedes == ()
    (hit,) = [h for h in store.search("plan", scope="ALL") if h.memory.id == "plan"]
    assert [each.id for each in hit.supersedes] == ["secret"]


def test_a_link_whose_end_is_open_tells_when_it_was_made(store: MemoryStore) -> None:
    old = store.get(store.remember("old wording", id="old").id)
    store.revise("old", revision=1, status="archived")
    new = store.get(store.remember("new wording", happened_at=day("2026-03-01")).id)
    store._services.storage.commit(Commit(links=[link_between(new, old)]))
    (hit,) = store.search("wording")
    assert [each.ended_at for each in hit.supersedes] == [day("2026-03-01")]


@pytest.fixture
def permits(store: MemoryStore) -> MemoryStore:
    for name, begin, end in (
        ("over", "2025-01-01", "2026-01-01"),
        ("running", "2026-01-01", "2027-01-01"),
        ("coming", "2027-01-01", "2028-01-01"),
        ("endless", "2026-02-01", None),
    ):
        store.remember(
            f"a parking permit for the yard, {name}",
            id=name,
            valid_from=day(begin),
            valid_to=None if end is None else day(end),
        )
    store.remember("a parking permit for ever", id="replaced")
    store.revise("replaced", revision=1, status="superseded")
    store.remember("a parking permit in the attic", id="archived")
    store.revise("archived", revision=1, status="archived")
    return store


CURRENT = {"running", "coming", "endless"}
EVER = CURRENT | {"over", "replaced"}
EVERYTHING = EVER | {"archived"}


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ({}, CURRENT),
        ({"mode": None, "as_of": None}, CURRENT),
        ({"mode": "current"}, CURRENT),
        ({"mode": Mode.STRICT}, {"running", "endless"}),
        ({"mode": "history"}, EVER),
        ({"statuses": ["current"]}, CURRENT),
        ({"statuses": ["superseded"]}, {"replaced"}),
        ({"statuses": ["current", "superseded"]}, EVER),
        ({"statuses": ()}, EVERYTHING),
        ({"mode": "history", "statuses": ["superseded"]}, {"replaced"}),
        ({"mode": "strict", "statuses": ["superseded"]}, {"replaced"}),
        ({"as_of": day("2025-06-01")}, {"over"}),
        ({"as_of": day("2026-01-01")}, {"running"}),
        ({"as_of": "2027", "mode": "current"}, {"coming", "endless", "replaced"}),
        ({"as_of": day("2027-06-01"), "statuses": ["current"]}, {"coming", "endless"}),
    ],
)
def test_each_mode_finds_and_lists_what_it_says(
    permits: MemoryStore, conditions: dict[str, Any], expected: set[str]
) -> None:
    hits = permits.search("parking permit", limit=50, threshold=0, **conditions)
    assert set(ids(hits)) == expected
    assert hits.eligible == len(expected)
    assert hits.mode == (conditions.get("mode") or Mode.CURRENT)
    assert {m.id for m in permits.browse(**conditions).memories} == expected
    assert {hit.memory.id for hit in hits if hit.ended} == expected & {"over"}


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ({}, EVERYTHING),
        ({"mode": "history"}, EVERYTHING),
        ({"mode": "strict"}, {"running", "endless"}),
        ({"as_of": day("2026-06-01")}, {"running", "endless", "replaced", "archived"}),
        ({"statuses": ["current"]}, CURRENT),
    ],
)
def test_an_exhaustive_search_leaves_out_only_what_it_is_told_to(
    permits: MemoryStore, conditions: dict[str, Any], expected: set[str]
) -> None:
    hits = permits.search("parking permit", depth="exhaustive", **conditions)
    assert set(ids(hits)) == expected


def test_pages_of_what_has_not_ended_join_up(store: MemoryStore) -> None:
    for number in range(40):
        end = day("2026-01-01") if number % 4 else None
        store.remember(
            f"badge {number}",
            id=f"b{number}",
            happened_at=day("2025-01-01") + timedelta(hours=number),
            valid_to=end,
        )
    seen, cursor = [], None
    while True:
        page = store.browse(limit=3, after=cursor)
        seen += [memory.id for memory in page.memories]
        cursor = page.next
        if cursor is None:
            break
        assert len(page.memories) == 3
    assert seen == [f"b{number}" for number in range(36, -1, -4)]


def test_what_has_ended_does_not_stand_for_what_holds(store: MemoryStore) -> None:
    store.remember(
        "the gate is open", id="then", happened_at=day("2026-03-01"), valid_to=day("2026-03-02")
    )
    store.remember("the gate is open", id="now", happened_at=day("2026-01-01"))
    hits = store.search("is the gate open", mode="history")
    assert {hit.memory.id: (hit.ended, hit.twins) for hit in hits} == {
        "then": (True, ()),
        "now": (False, ()),
    }


def test_what_cannot_be_meant_is_refused(permits: MemoryStore) -> None:
    for conditions, message in (
        ({"mode": "histroy"}, "history"),
        ({"mode": "strict", "as_of": "last March"}, "cannot go together with as_of 'last March'"),
        ({"mode": "history", "as_of": NOW}, "leave mode out"),
        ({"as_of": "every Friday"}, "cannot be read"),
        ({"as_of": datetime(2026, 1, 1)}, "no time zone"),  # noqa: DTZ001 - what is refused
        ({"as_of": 5}, "as_of must be a datetime"),
    ):
        with pytest.raises(InvalidInput, match=message):
            permits.search("permit", **conditions)  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match=message):
            permits.browse(**conditions)  # type: ignore[arg-type]


def test_why_not_names_what_took_the_place_of_a_memory(year: MemoryStore) -> None:
    absence = year.why_not("in which city does the user live", "berlin")
    assert (absence.step, absence.unmet) == (Step.MODE, ("statuses", "unended_at"))
    assert "superseded by oslo since 2025-10-01T00:00:00+00:00" in absence.reason
    assert "; the mode history finds it" in absence.reason
    assert absence.found_in is Mode.HISTORY
    assert absence.found_at is Depth.EXHAUSTIVE
    found = year.why_not("in which city does the user live", "berlin", mode="history")
    assert (found.step, found.found_in) == (Step.FOUND, None)


@pytest.mark.parametrize(
    ("memory_id", "conditions", "step", "said"),
    [
        ("over", {}, Step.MODE, "it ended at 2026-01-01T00:00:00+00:00"),
        ("coming", {"mode": "strict"}, Step.MODE, "it begins at 2027-01-01T00:00:00+00:00"),
        ("running", {"as_of": day("2025-06-01")}, Step.MODE, "it begins at 2026-01-01"),
        ("over", {"as_of": day("2026-01-01")}, Step.MODE, "holds at 2026-01-01"),
        ("archived", {}, Step.CONDITIONS, "it is archived"),
        ("over", {"kinds": ["fact"]}, Step.CONDITIONS, "it ended"),
        ("over", {"statuses": ["superseded"]}, Step.CONDITIONS, "it is current"),
        ("over", {"threshold": 1.0}, Step.MODE, "nor does the mode history find it: its score"),
        ("coming", {}, Step.FOUND, "the search returns it"),
    ],
)
def test_why_not_says_when_a_memory_holds(
    permits: MemoryStore, memory_id: str, conditions: dict[str, Any], step: Step, said: str
) -> None:
    absence = permits.why_not("parking permit", memory_id, **{"limit": 50, **conditions})
    assert absence.step is step
    assert said in absence.reason
    assert (absence.found_in is Mode.HISTORY) == (
        step is Step.MODE and "threshold" not in conditions
    )


def test_a_fact_ends_by_itself_as_time_goes_on(open_store: OpenStore, clock: Any) -> None:
    store = open_store()
    store.remember("the shop is closed today", id="closed", valid_to=clock.now + timedelta(days=1))
    assert ids(store.search("is the shop closed")) == ["closed"]
    clock.now += timedelta(days=1)
    assert ids(store.search("is the shop closed")) == []
    assert ids(store.search("is the shop closed", as_of=clock.now - timedelta(hours=1))) == [
        "closed"
    ]


_ASK = """
import json, sys
from datetime import UTC, datetime
from infinite_memory import Config, MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder
with MemoryStore.open(sys.argv[1], config=Config(home=sys.argv[1], time_zone="UTC"),
                      clock=lambda: datetime(2026, 5, 1, 12, tzinfo=UTC),
                      embedder=HashingEmbedder()) as store:
    for line in sys.stdin:
        asked = json.loads(line)
        if "as_of" in asked:
            asked["as_of"] = datetime.fromisoformat(asked["as_of"])
        hits = store.search("in which city does the user live", **asked)
        answer = [[h.memory.id, h.ended, [p.id for p in h.supersedes]] for h in hits
                  if h.memory.key == "user/city"]
        print(json.dumps(answer), flush=True)
"""


@pytest.mark.process
def test_another_process_sees_what_was_superseded_at_once(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with (
        MemoryStore.open(home, embedder=HashingEmbedder()) as store,
        subprocess.Popen(
            [sys.executable, "-c", _ASK, str(home)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as other,
    ):

        def ask(**asked: str) -> Any:
            assert other.stdin is not None
            assert other.stdout is not None
            other.stdin.write(json.dumps(asked) + "\n")
            other.stdin.flush()
            return json.loads(other.stdout.readline())

        assert ask() == []
        live_through(store._services.storage)
        assert ask() == [["oslo", False, ["berlin"]]]
        assert ask(as_of="2025-06-01T00:00:00+00:00") == [["berlin", True, []]]
        bergen = Memory(
            id="bergen",
            text="The user lives in the city of Bergen",
            key="user/city",
            happened_at=day("2026-04-01"),
            stored_at=NOW,
        )
        supersede(store._services.storage, bergen, ["oslo"])
        assert ask() == [["bergen", False, ["oslo"]]]
        assert ask(mode="strict") == [["bergen", False, []]]
        assert sorted(ask(mode="history")) == [
            ["bergen", False, ["oslo"]],
            ["berlin", True, []],
            ["oslo", True, ["berlin"]],
        ]
        other.communicate()
        assert other.wait(timeout=60) == 0


@pytest.mark.thorough
def test_the_year_is_the_same_in_the_snapshot_of_the_next_process(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with MemoryStore.open(home, embedder=HashingEmbedder()) as store:
        live_through(store._services.storage)
        for number in range(600):
            store.remember(f"filler {number}", scope="elsewhere")
    assert list((home / "index").iterdir())
    with MemoryStore.open(home, embedder=HashingEmbedder()) as store:
        for key, question in QUESTIONS.items():
            for month in MONTHS:
                hits = store.search(question, as_of=month, limit=50, threshold=0)
                expected = holding(key, month)
                assert about(key, hits) == ([] if expected is None else [expected])
        everything = store.search("user", scope="Global", mode="history", limit=50, threshold=0)
        assert everything.eligible == len(YEAR)
