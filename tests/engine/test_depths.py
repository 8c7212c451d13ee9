"""How far a search looks, and how much it shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from attrs import asdict, evolve
from numpy.typing import NDArray

from infinite_memory import (
    Config,
    Depth,
    EmbedderError,
    Hit,
    Hits,
    InvalidInput,
    MemoryStore,
    Status,
)
from infinite_memory.core.values.hits import LIKELY, Step
from infinite_memory.engine.retrieval.search import overview
from infinite_memory.engine.retrieval.search_request import SearchRequest, build_question
from infinite_memory.testing.embedders import HashingEmbedder

OpenStore = Callable[..., MemoryStore]
JUNE = datetime(2026, 6, 1, tzinfo=UTC)
WEATHER = "The weather report of that day spoke of wind from the west and of clouds. " * 12
ANSWER = "The Apollo deadline is June 5, said Alice."


def ids(hits: Hits) -> list[str]:
    return [hit.memory.id for hit in hits]


def of(hits: Hits, memory_id: str) -> Hit:
    return next(hit for hit in hits if hit.memory.id == memory_id)


def highlighted(hit: Hit) -> str:
    assert hit.highlight is not None
    start, end = hit.highlight
    return hit.memory.text[start:end]


@pytest.fixture
def apollo(store: MemoryStore) -> MemoryStore:
    store.remember("Apollo deadline: June 5", id="deadline", happened_at=JUNE)
    store.remember("Apollo lead: Alice", id="lead", happened_at=JUNE)
    store.remember("Apollo engine burns kerosene", id="engine", happened_at=JUNE)
    store.remember(
        "Apollo is led by Alice, due on June 5, and stays within its budget",
        id="summary",
        kind="summary",
        sources=["deadline", "lead", "summary", "nobody"],
    )
    return store


def test_an_overview_has_summaries_first_and_what_they_cover_last(apollo: MemoryStore) -> None:
    hits = apollo.search("Apollo", depth="overview")
    assert hits.depth is Depth.OVERVIEW
    assert ids(hits)[:2] == ["summary", "engine"]
    assert set(ids(hits)[2:]) == {"deadline", "lead"}
    assert hits[0].covers == ("deadline", "lead")
    assert hits.covered == {"deadline": "summary", "lead": "summary"}
    assert ids(apollo.search("Apollo"))[0] != "summary"
    # Nothing becomes unreachable: what is covered is a hit with its whole memory.
    assert of(hits, "deadline").memory == apollo.get("deadline")
    assert len(hits) == hits.matches == 4


def test_at_other_depths_nothing_is_covered_or_highlighted(apollo: MemoryStore) -> None:
    for depth in ("normal", "exhaustive"):
        hits = apollo.search("Apollo", depth=depth)
        assert {(hit.highlight, hit.covers, hit.outdated) for hit in hits} == {(None, (), ())}


def test_a_summary_gains_a_tenth_and_the_explanation_says_so(apollo: MemoryStore) -> None:
    normal = of(apollo.search("Apollo", explain=True), "summary")
    nudged = of(apollo.search("Apollo", depth="overview", explain=True), "summary")
    other = of(apollo.search("Apollo", depth="overview", explain=True), "engine").explanation
    assert normal.explanation is not None
    assert nudged.explanation is not None
    assert other is not None
    assert (normal.explanation.summary, other.summary) == (0.0, 0.0)
    assert nudged.explanation.total == pytest.approx(1.1 * normal.explanation.total, rel=1e-5)
    arms = {"cosine", "bm25", "meaning_rank", "words_rank", "passage", "total"}
    steps = asdict(nudged.explanation, filter=lambda field, _: field.name not in arms)
    total = sum(steps.values())
    assert nudged.explanation.total == pytest.approx(total, abs=1e-5)
    assert apollo.search("Apollo", depth="overview")[0].explanation is None


def test_the_nudge_brings_a_summary_under_the_first_but_overturns_no_clear_match(
    store: MemoryStore,
) -> None:
    store.remember("the harbour of that town has lights and boats", id="sum", kind="summary")
    store.remember("harbour lights", id="clear")
    store.remember("the harbour of this town has lights and ships", id="close")
    assert ids(store.search("harbour lights", limit=2)) == ["clear", "close"]
    assert set(ids(store.search("harbour lights", limit=2, depth="overview"))) == {"clear", "sum"}
    assert ids(store.search("harbour lights", limit=1, depth="overview")) == ["clear"]


def test_a_summary_that_hardly_matches_comes_before_no_likely_hit(store: MemoryStore) -> None:
    store.remember("the harbour lights", id="lights")
    store.remember(
        "A long account of fields, mills, bakers, carts, oxen, orchards, ploughs, barns, geese,"
        " ponds, cheese, wool, hedges, and of a harbour",
        id="far",
        kind="summary",
        sources=["lights"],
    )
    hits = store.search("harbour lights", depth="overview", threshold=0)
    assert ids(hits) == ["lights", "far"]
    assert hits[1].score < LIKELY <= hits[0].score
    assert hits[1].covers == ()


@pytest.mark.parametrize("change", ["superseded", "forgotten", "rewritten"])
def test_a_summary_of_what_holds_no_longer_comes_first_nowhere(
    apollo: MemoryStore, change: str
) -> None:
    if change == "rewritten":
        apollo.revise("deadline", revision=1, text="Apollo deadline: July 1")
    else:
        apollo.revise("deadline", revision=1, status=change)
    hits = apollo.search("Apollo", depth="overview")
    found = of(hits, "summary")
    assert (found.outdated, found.covers) == (("deadline",), ())
    assert ids(hits)[0] != "summary"
    expected = {"lead", "engine", "summary"} | ({"deadline"} if change == "rewritten" else set())
    assert set(ids(hits)) == expected


def test_a_summary_of_an_outdated_summary_is_outdated_too(apollo: MemoryStore) -> None:
    apollo.remember(
        "Apollo in short, due on June 5", id="short", kind="summary", sources=["summary"]
    )
    covers = of(apollo.search("Apollo", depth="overview"), "short").covers
    assert covers == ("summary", "deadline", "lead")
    apollo.revise("deadline", revision=1, text="Apollo deadline: July 20")
    hits = apollo.search("Apollo", depth="overview")
    assert of(hits, "short").outdated == ("summary",)
    assert of(hits, "summary").outdated == ("deadline",)
    assert hits[0].memory.kind != "summary"


@pytest.mark.parametrize("changes", [{"status": "archived"}, {"tags": ["space"]}])
def test_a_source_that_says_the_same_as_before_makes_no_summary_outdated(
    apollo: MemoryStore, changes: dict[str, Any]
) -> None:
    apollo.revise("deadline", revision=1, **changes)
    hits = apollo.search("Apollo", depth="overview")
    assert ids(hits)[0] == "summary"
    assert hits[0].outdated == ()


def test_summaries_of_each_other_hide_nothing(store: MemoryStore) -> None:
    for number, sources in enumerate([["s1"], ["s2"], ["s0", "s1"]]):
        store.remember(
            f"harbour summary {number}", id=f"s{number}", kind="summary", sources=sources
        )
    hits = store.search("harbour summary", depth="overview")
    shown = [hit.memory.id for hit in hits if hit.memory.id not in hits.covered]
    assert set(ids(hits)) == {"s0", "s1", "s2"}
    assert {one for hit in hits for one in hit.covers} == set(hits.covered)
    assert all(summary in shown for summary in hits.covered.values())


def test_the_highlight_of_a_long_text_is_the_sentence_that_answers(store: MemoryStore) -> None:
    store.remember(f"{WEATHER}{ANSWER} {WEATHER}", id="long")
    store.remember("Apollo deadline moved?", id="short")
    hits = store.search("when is the Apollo deadline", depth="overview")
    long = highlighted(of(hits, "long"))
    assert ANSWER in long
    assert len(long) <= 300
    assert long == long.strip()
    assert of(hits, "long").memory.text == f"{WEATHER}{ANSWER} {WEATHER}"
    assert highlighted(of(hits, "short")) == "Apollo deadline moved?"


def test_of_a_long_summary_the_beginning_is_highlighted(store: MemoryStore) -> None:
    store.remember(f"{WEATHER}{WEATHER}{ANSWER}", id="s", kind="summary")
    (hit,) = store.search("the Apollo deadline", depth="overview")
    assert hit.highlight is not None
    assert hit.highlight[0] == 0
    assert 900 < hit.highlight[1] <= 1000
    assert highlighted(hit).endswith("clouds.")


@pytest.mark.parametrize(
    "text",
    [
        "x" * 50_000 + " apollo",
        "apollo " * 10_000,
        "阿波罗 的期限是六月五日。" * 500,
        "apollo" + "\n" * 5000 + "deadline",
        "apollo" + "\u0301" * 3000,
        "🚀" * 2000 + " apollo",
    ],
    ids=["one word", "no sentence", "Chinese", "line feeds", "marks", "emoji"],
)
def test_a_text_of_any_shape_has_a_highlight(store: MemoryStore, text: str) -> None:
    store.remember(text, id="m")
    for arms in (["words"], ["meaning", "words"]):
        hits = store.search("apollo 阿波罗", depth="overview", arms=arms, threshold=0)
        (hit,) = hits
        assert hit.memory.text == text
        assert 0 < len(highlighted(hit)) <= 300


class Failing(HashingEmbedder):
    """An embedder that embeds texts as long as they are not sentences."""

    failing = False

    def embed_query(self, text: str) -> NDArray[np.float32]:
        if self.failing:
            raise EmbedderError("the model is away")
        return super().embed_query(text)


def test_without_the_model_a_highlight_is_chosen_by_words() -> None:
    embedder = Failing()
    config = Config()
    with MemoryStore.open("memory://", config=config, embedder=embedder) as store:
        store.remember(f"{WEATHER}{ANSWER} {WEATHER}", id="long")
        embedder.failing = True
        hits = store.search("the Apollo deadline", depth="overview")
    assert "the model is away" in (hits.note or "")
    assert ANSWER in highlighted(hits[0])


class Counting(HashingEmbedder):
    """An embedder that counts the texts it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.texts.extend(texts)
        return super().embed(texts)


def test_the_model_compares_few_sentences_and_none_where_words_decide() -> None:
    embedder = Counting()
    with MemoryStore.open("memory://", config=Config(), embedder=embedder) as store:
        drafts = [{"text": f"{WEATHER * 3} And {i}."} for i in range(30)]
        store.remember_many(drafts)
        embedder.texts.clear()
        hits = store.search("report of the wind and clouds", depth="overview", limit=30)
        assert len(hits) == 30
        assert 0 < len(embedder.texts) <= 48
        store.remember(f"{WEATHER}{ANSWER} {WEATHER}", id="long")
        embedder.texts.clear()
        (hit,) = store.search("the Apollo deadline of Alice", depth="overview", limit=1)
        assert ANSWER in highlighted(hit)
        assert embedder.texts == []


@pytest.fixture
def past(store: MemoryStore) -> MemoryStore:
    for status in Status:
        store.remember(f"the harbour, {status}", id=str(status), title=None)
        if status is not Status.CURRENT:
            store.revise(str(status), revision=1, status=str(status))
    store.remember("quinces and medlars", id="fruit")
    return store


def test_an_exhaustive_search_finds_what_was_archived_and_replaced_and_says_so(
    past: MemoryStore,
) -> None:
    hits = past.search("harbour", depth="exhaustive")
    found = {hit.memory.id: str(hit.memory.status) for hit in hits}
    assert {"current", "superseded", "archived"} <= found.keys()
    assert "forgotten" not in found
    assert all(name in ("fruit", status) for name, status in found.items())
    assert ids(past.search("harbour", depth="overview")) == ["current"]


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        (["current"], {"current"}),
        (["forgotten"], {"forgotten"}),
        ([], {"current", "superseded", "archived", "forgotten"}),
    ],
)
def test_statuses_that_are_given_win_over_the_depth(
    past: MemoryStore, statuses: list[str], expected: set[str]
) -> None:
    for depth in Depth:
        hits = past.search("harbour", depth=depth, statuses=statuses, arms=["words"])
        assert set(ids(hits)) == expected


def test_an_exhaustive_search_has_no_threshold_unless_one_is_given(store: MemoryStore) -> None:
    store.remember("a tale of fields, mills, bakers, carts, oxen, geese and a harbour", id="far")
    store.remember("nothing at all", id="none")
    question = "harbour lights moons comets ravens"
    exhaustive = store.search(question, depth="exhaustive", arms=["words"])
    assert (ids(exhaustive), exhaustive.below, exhaustive.matches) == (["far"], 0, 1)
    strict = store.search(question, depth="exhaustive", threshold=0.9)
    assert (ids(strict), strict.matches) == ([], 0)


def test_matches_of_nothing_are_no_matches(store: MemoryStore) -> None:
    store.remember_many([{"text": f"tea number {i}"} for i in range(3)])
    store.remember("quinces", id="fruit")
    hits = store.search("tea", threshold=0, arms=["words"])
    assert (hits.eligible, hits.matches, hits.more, hits.below) == (4, 3, 0, 0)


def test_twins_of_another_status_stand_each_for_themselves(store: MemoryStore) -> None:
    store.remember("the harbour is closed", id="now", happened_at=JUNE)
    store.remember("The harbour is closed.", id="then", happened_at=JUNE + timedelta(days=1))
    store.remember("the harbour  is closed", id="too", happened_at=JUNE - timedelta(days=1))
    store.revise("then", revision=1, status="superseded")
    every = store.search("harbour closed", statuses=[])
    assert {hit.memory.id: hit.twins for hit in every} == {"now": ("too",), "then": ()}
    exhaustive = store.search("harbour closed", depth="exhaustive")
    assert {hit.memory.id: hit.twins for hit in exhaustive} == {"now": (), "then": (), "too": ()}


@pytest.mark.parametrize("depth", list(Depth))
def test_going_on_by_the_offset_shows_every_match_once(store: MemoryStore, depth: Depth) -> None:
    kinds = ["note", "summary", "fact"]
    store.remember_many(
        [{"text": f"tea number {i}", "id": f"{i:02}", "kind": kinds[i % 3]} for i in range(23)]
    )
    seen: list[str] = []
    offset: int | None = 0
    while offset is not None:
        hits = store.search("tea number", depth=depth, limit=7, offset=offset)
        assert (hits.offset, hits.matches) == (offset, 23)
        seen.extend(ids(hits))
        assert hits.more == 23 - len(seen)
        offset = hits.next
    assert sorted(seen) == [f"{i:02}" for i in range(23)]
    beyond = store.search("tea number", depth=depth, offset=23)
    assert (len(beyond), beyond.more, beyond.next) == (0, 0, None)


@pytest.mark.parametrize(("depth", "limit"), [("normal", 10), ("overview", 10), ("exhaustive", 50)])
def test_the_depth_decides_the_limit_unless_one_is_given(
    store: MemoryStore, depth: str, limit: int
) -> None:
    store.remember_many([{"text": f"tea number {i}"} for i in range(60)])
    assert len(store.search("tea", depth=depth)) == limit
    assert len(store.search("tea", depth=depth, limit=3)) == 3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"depth": "overvew"}, "depth 'overvew' is unknown: the nearest is 'overview', all are"),
        ({"depth": "Normal"}, "the nearest is 'normal'"),
        ({"depth": None}, "depth None is unknown"),
        ({"depth": 3}, "depth 3 is unknown"),
        ({"offset": -1}, "offset -1 cannot be used: give a whole number, 0 to 100000"),
        ({"offset": True}, "offset True"),
        ({"offset": 10**9}, "offset 1000000000"),
        ({"depth": "exhaustive", "statuses": ["old"]}, "status 'old' is unknown"),
    ],
)
def test_a_depth_or_an_offset_that_cannot_be_used_is_refused(
    store: MemoryStore, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        store.search("tea", **settings)
    if "offset" not in settings:
        store.remember("tea", id="tea")
        with pytest.raises(InvalidInput, match=message):
            store.why_not("tea", "tea", **settings)


@pytest.mark.parametrize("depth", list(Depth))
def test_an_empty_store_answers_at_every_depth(store: MemoryStore, depth: Depth) -> None:
    hits = store.search("anything", depth=depth)
    assert (len(hits), hits.matches, hits.next, hits.likely) == (0, 0, None, False)


def test_what_was_archived_is_said_to_be_found_at_the_exhaustive_depth(past: MemoryStore) -> None:
    for memory_id, step in (("archived", Step.CONDITIONS), ("superseded", Step.MODE)):
        absence = past.why_not("harbour", memory_id)
        assert (absence.step, absence.unmet) == (step, ("statuses",))
        assert absence.found_at is Depth.EXHAUSTIVE
        assert absence.reason.endswith("; the depth exhaustive finds it")
        found = past.why_not("harbour", memory_id, depth="exhaustive")
        assert (found.step, found.found_at) == (Step.FOUND, None)


@pytest.mark.parametrize(
    ("memory_id", "conditions"),
    [
        ("forgotten", {}),
        ("archived", {"statuses": ["current"]}),
        ("archived", {"kinds": ["fact"]}),
        ("archived", {"threshold": 1.0}),
    ],
)
def test_no_depth_is_named_where_none_would_find_it(
    past: MemoryStore, memory_id: str, conditions: dict[str, Any]
) -> None:
    absence = past.why_not("harbour", memory_id, **conditions)
    assert absence.step is not Step.FOUND
    assert absence.found_at is None
    for depth in Depth:
        assert memory_id not in ids(past.search("harbour", depth=depth, **conditions))


def test_the_first_depth_that_finds_it_is_named(store: MemoryStore) -> None:
    store.remember_many([{"text": f"tea number {i}", "id": f"{i:02}"} for i in range(30)])
    order = ids(store.search("tea number", depth="exhaustive"))
    for place, memory_id in enumerate(order):
        absence = store.why_not("tea number", memory_id)
        expected = None if place < 10 else Depth.EXHAUSTIVE
        assert (absence.rank, absence.found_at) == (place + 1, expected)
        assert memory_id in ids(store.search("tea number", depth=expected or Depth.NORMAL))


def test_a_text_that_was_changed_since_the_index_was_read_has_a_highlight_of_its_own(
    store: MemoryStore,
) -> None:
    store.remember(f"{WEATHER}{ANSWER} {WEATHER}", id="long")
    services = store._services
    request = SearchRequest(text="the Apollo deadline", conditions={}, depth="overview")
    question = build_question(services, request)
    (hit,) = store.search(question.text, explain=True)
    assert hit.explanation is not None
    assert hit.explanation.passage is not None
    for text in (ANSWER, f"{ANSWER} " + "x" * 500):
        memory = evolve(hit.memory, text=text)
        assert hit.explanation.passage[1] > len(text)
        (shown,) = overview(services, question, [evolve(hit, memory=memory)])
        assert ANSWER in highlighted(shown)
