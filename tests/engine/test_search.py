"""Search and browse: what is seen, in which order, and what is told about it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from infinite_memory import InvalidInput, MemoryStore, UnknownScope

OpenStore = Callable[..., MemoryStore]
DAY = timedelta(days=1)
MAY = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def found(store: MemoryStore, query: str, **settings: Any) -> list[str]:
    return [hit.memory.id for hit in store.search(query, **settings)]


@pytest.fixture
def office(store: MemoryStore) -> MemoryStore:
    """Three projects, one below another, and things that everybody may see."""
    store.scopes.create("company", description="all of us", keywords=["firm"])
    store.scopes.create("apollo", parent="company")
    store.scopes.create("diary", sensitivity="private")
    store.remember_many(
        [
            {"id": "global", "text": "the deadline rule: a deadline is never moved"},
            {"id": "company", "text": "the deadline of the tax return", "scope": "company"},
            {"id": "apollo", "text": "the deadline of the rocket", "scope": "apollo"},
            {"id": "zeus", "text": "the deadline of the lightning", "scope": "zeus"},
            {"id": "diary", "text": "the deadline I missed", "scope": "diary"},
        ]
    )
    return store


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        (None, {"global", "company", "apollo", "zeus"}),
        ("Global", {"global"}),
        ("company", {"global", "company"}),
        ("APOLLO", {"global", "company", "apollo"}),
        (["zeus"], {"global", "zeus"}),
        (["zeus", "apollo"], {"global", "zeus", "company", "apollo"}),
        ("ALL", {"global", "company", "apollo", "zeus"}),
        (["zeus", "all"], {"global", "company", "apollo", "zeus"}),
        (["diary", "all"], {"global", "company", "apollo", "zeus", "diary"}),
        ("diary", {"global", "diary"}),
    ],
)
def test_a_search_sees_its_scope_the_parents_of_it_and_global(
    office: MemoryStore, scope: Any, expected: set[str]
) -> None:
    assert set(found(office, "deadline", scope=scope, limit=10)) == expected


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("what is the deadline of Apollo?", ("apollo",)),
        ("deadlines of the firm", ("company",)),
        ("a deadline in my diary", ()),
        ("deadline of apollonia", ()),
    ],
)
def test_the_memories_of_a_scope_that_the_question_names_rank_higher(
    office: MemoryStore, question: str, named: tuple[str, ...]
) -> None:
    hits = office.search(question, limit=10, threshold=0, explain=True)
    assert hits.named == named
    for hit in hits:
        assert hit.explanation is not None
        assert (hit.explanation.scope > 0) == (hit.memory.scope in named)


def test_naming_a_scope_in_the_question_does_not_widen_one_that_was_given(
    office: MemoryStore,
) -> None:
    assert set(found(office, "deadline of apollo", scope="zeus")) == {"global", "zeus"}


def test_the_hits_say_which_scopes_were_searched(office: MemoryStore) -> None:
    assert office.search("deadline", scope="apollo").scopes == ("Global", "apollo", "company")
    assert office.search("deadline", scope=["ALL", "diary"]).scopes is None
    everything_open = ("Global", "apollo", "company", "zeus")
    assert office.search("deadline", scope="ALL").scopes == everything_open


def test_an_inactive_scope_is_seen_only_when_it_is_asked_for(office: MemoryStore) -> None:
    office.scopes.update("zeus", active=False)
    assert "zeus" not in found(office, "deadline of zeus", limit=10)
    assert "zeus" not in found(office, "deadline", scope="ALL", limit=10)
    assert "zeus" in found(office, "deadline", scope="zeus", limit=10)


def test_a_scope_that_does_not_exist_is_empty_and_the_note_names_the_nearest(
    office: MemoryStore,
) -> None:
    for options in ({}, {"inherited": "last"}, {"inherited": "none"}, {"depth": "exhaustive"}):
        hits = office.search("deadline", scope="appolo", **options)
        assert (hits.items, hits.nearest, hits.scopes, hits.eligible) == ((), (), (), 0)
        assert hits.note == "there is no scope 'appolo' yet: the nearest is 'apollo'"
    assert office.search("deadline", scope="xyzzy").note == "there is no scope 'xyzzy' yet"
    with pytest.raises(InvalidInput, match="limit"):
        office.search("deadline", scope="appolo", limit=-1)


def test_the_scopes_that_exist_are_searched_beside_one_that_does_not(office: MemoryStore) -> None:
    for scopes in (["apollo", "xyzzy"], "apollo, xyzzy", ["ALL", "xyzzy"]):
        hits = office.search("deadline", scope=scopes)
        assert "apollo" in {hit.memory.scope for hit in hits}
        assert hits.note == "there is no scope 'xyzzy' yet"


def test_what_is_no_search_refuses_a_scope_that_does_not_exist(office: MemoryStore) -> None:
    for call in (
        lambda: office.browse(scope="appolo"),
        lambda: office.recall_by_time(scope="appolo"),
        lambda: office.bulk.preview_forget(scope="appolo", query="deadline"),
        lambda: office.why_not("deadline", "apollo", scope="appolo"),
        lambda: office.scopes.searched("appolo"),
        lambda: office.briefing(scope="appolo"),
    ):
        with pytest.raises(UnknownScope, match="no scope 'appolo': the nearest is 'apollo'"):
            call()


def test_an_empty_list_of_scopes_is_refused(office: MemoryStore) -> None:
    with pytest.raises(InvalidInput, match="empty list"):
        office.search("deadline", scope=[])


def test_the_default_scope_need_not_exist(open_store: OpenStore) -> None:
    store = open_store(default_scope="work")
    assert found(store, "anything") == []
    store.remember("anything goes")
    assert [hit.memory.scope for hit in store.search("anything")] == ["work"]


def test_tags_kinds_times_statuses_and_conversations_narrow_a_search(store: MemoryStore) -> None:
    store.remember_many(
        [
            {"id": "a", "text": "tea one", "tags": ["Hot", "drink"], "happened_at": MAY},
            {"id": "b", "text": "tea two", "tags": ["drink"], "kind": "fact"},
            {"id": "c", "text": "tea three", "happened_at": MAY + DAY, "conversation_id": "x"},
        ]
    )
    store.remember("tea four", id="d")
    store.revise("d", revision=1, status="archived")
    assert set(found(store, "tea")) == {"a", "b", "c"}
    assert set(found(store, "tea", tags=["drink"])) == {"a", "b"}
    assert set(found(store, "tea", tags=["DRINK", "hot"])) == {"a"}
    assert set(found(store, "tea", tags=["cold"])) == set()
    assert set(found(store, "tea", kinds=["fact"])) == {"b"}
    assert set(found(store, "tea", kinds="fact")) == {"b"}
    assert set(found(store, "tea", statuses=["archived", "current"])) == {"a", "b", "c", "d"}
    assert set(found(store, "tea", conversation_id="x")) == {"c"}
    assert set(found(store, "tea", since=MAY, until=MAY + DAY)) == {"a"}
    assert set(found(store, "tea", since=MAY + DAY, until=MAY + 2 * DAY)) == {"c"}
    assert set(found(store, "tea", until=MAY)) == set()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"limit": -1}, "limit -1 cannot be used: give a whole number, 1 to 1000"),
        ({"limit": 0}, "limit 0"),
        ({"limit": True}, "limit True"),
        ({"limit": 2.5}, "limit 2.5"),
        ({"threshold": float("nan")}, "threshold nan"),
        ({"threshold": 1.5}, "threshold 1.5"),
        ({"kinds": ["nite"]}, "nearest is 'note'"),
        ({"statuses": ["gone"]}, "status 'gone' is unknown"),
        ({"tags": "hot"}, "tags must be a list"),
        ({"arms": ["legs"]}, "arm 'legs' is unknown"),
        ({"arms": []}, "arms is empty"),
        ({"arms": None}, "arms is empty"),
        ({"kinds": 5}, "5 cannot be used: give a name"),
        ({"scope": 5}, "scope must be a list"),
        ({"explain": "yes"}, "explain must be true or false"),
        ({"conversation_id": ""}, "conversation_id '' cannot be used"),
        ({"conversation_id": 5}, "conversation_id must be a text"),
        ({"since": datetime(2023, 1, 1)}, "no time zone"),  # noqa: DTZ001
        ({"since": MAY, "until": MAY}, "must be later than since"),
    ],
)
def test_conditions_that_cannot_be_used_are_refused(
    store: MemoryStore, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        store.search("tea", **settings)


@pytest.mark.parametrize("query", ["", "  \n", 7, None])
def test_a_question_without_words_is_refused(store: MemoryStore, query: Any) -> None:
    with pytest.raises(InvalidInput, match="is empty: give words"):
        store.search(query)


def test_a_question_that_is_too_long_is_refused(store: MemoryStore) -> None:
    with pytest.raises(InvalidInput, match=r"100,001 characters"):
        store.search("x" * 100_001)


@pytest.mark.parametrize("query", ['"', "a AND (", "\ud800 tea", "\0 tea", "*?[", "🍵 tea", "the"])
def test_odd_questions_are_answered(store: MemoryStore, query: str) -> None:
    store.remember("tea for two")
    store.search(query)


def test_the_explanation_says_how_a_memory_came_to_its_score(store: MemoryStore) -> None:
    store.remember("we met Alice in the harbour", id="a", speaker="Bob")
    store.remember("the price of tea rises", id="b")
    hits = store.search("what did Bob say of the harbour", explain=True)
    explanation = hits[0].explanation
    assert explanation is not None
    assert hits[0].memory.id == "a"
    assert explanation.words_rank == 1
    assert explanation.bm25 > 0
    assert explanation.speaker > 0
    assert explanation.passage == (0, len("we met Alice in the harbour"))
    steps = ("meaning", "words", "speaker", "around", "quoted", "is_question", "important")
    steps += ("conversation", "sentences")
    total = sum(getattr(explanation, step) for step in steps)
    assert explanation.total == pytest.approx(total, abs=1e-5)
    assert 0.5 < hits[0].score <= 1
    assert store.search("harbour")[0].explanation is None


def test_each_arm_alone_finds_what_it_can(store: MemoryStore) -> None:
    store.remember("harbour lights", id="a")
    by_words = store.search("harbour", arms=["words"], explain=True)[0].explanation
    by_meaning = store.search("harbour", arms=["meaning"], explain=True)[0].explanation
    assert by_words is not None
    assert by_meaning is not None
    assert (by_words.cosine, by_words.meaning_rank, by_words.passage) == (None, None, None)
    assert by_words.words_rank == 1
    assert by_meaning.words_rank is None
    assert by_meaning.cosine is not None


def test_what_lies_under_the_threshold_or_over_the_limit_is_counted(store: MemoryStore) -> None:
    store.remember_many([{"text": f"tea number {i}"} for i in range(10)])
    hits = store.search("tea number", limit=3)
    assert (len(hits), hits.more, hits.eligible) == (3, 7, 10)
    nothing = store.search("tea number", threshold=1)
    assert (len(nothing), nothing.more) == (0, 0)
    assert nothing.below == 10


def test_hits_are_a_sequence_best_first(store: MemoryStore) -> None:
    store.remember_many([{"text": "tea " * i + "x" * 3, "id": f"{i}"} for i in range(1, 5)])
    hits = store.search("tea")
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert hits[0] == next(iter(hits))
    assert list(hits[:2]) == [hits[0], hits[1]]


def test_equal_scores_are_ordered_by_id_where_the_moments_are_equal(store: MemoryStore) -> None:
    drafts = [
        {"text": "the very same", "id": name, "speaker": name, "happened_at": MAY}
        for name in "dbca"
    ]
    store.remember_many(drafts)
    assert found(store, "the very same") == ["a", "b", "c", "d"]


def test_memories_are_browsed_newest_first_page_by_page(store: MemoryStore) -> None:
    drafts = [{"text": f"day {i}", "id": f"{i}", "happened_at": MAY + i * DAY} for i in range(7)]
    store.remember_many(drafts)
    seen, after = [], None
    while True:
        page = store.browse(limit=3, after=after)
        assert (list(page), len(page)) == (list(page.memories), len(page.memories))
        seen.extend(memory.id for memory in page.memories)
        if (after := page.next) is None:
            break
    assert seen == ["6", "5", "4", "3", "2", "1", "0"]
    with pytest.raises(InvalidInput, match="limit 0"):
        store.browse(limit=0)
    with pytest.raises(InvalidInput):
        store.browse(after="nonsense")
    with pytest.raises(InvalidInput, match="colour"):
        store.browse(colour="red")  # type: ignore[call-arg]


def test_the_index_follows_every_change_made_through_another_handle(open_store: OpenStore) -> None:
    one = open_store()
    if one.config.store is None and one._services.storage.__class__.__name__ == "InMemoryStorage":
        pytest.skip("a store in memory has a single handle")
    two = open_store()
    for i in range(20):
        one.remember(f"tea number {i}", id=f"{i}")
        assert f"{i}" in found(two, f"tea number {i}", limit=50)
    two.revise("3", revision=1, text="coffee instead")
    assert found(one, "coffee") == ["3"]
    two.forget("4", hard=True)
    two.forget("5")
    assert {"4", "5"}.isdisjoint(found(one, "tea number", limit=50))


def test_stats_count_by_scope_kind_and_status(store: MemoryStore) -> None:
    store.remember("a", scope="x", kind="fact", happened_at=MAY)
    store.remember("b", id="b")
    store.remember("c", id="c")
    store.forget("c")
    store.revise("b", revision=1, text="bb")
    stats = store.stats()
    assert stats.memories == 2
    assert stats.by_scope == {"Global": 1, "x": 1}
    assert stats.by_kind == {"fact": 1, "note": 1}
    assert stats.by_status == {"current": 2, "forgotten": 1}
    assert stats.revisions == 2
    assert stats.oldest == MAY
    assert stats.model == "hashing-64"
    assert (stats.embedded, stats.by_model) == (2, {"hashing-64": 2})


def test_warming_up_loads_what_a_search_needs(store: MemoryStore) -> None:
    store.remember("tea")
    store.models.warm_up()
    assert store.models.catch_up() == 0


def test_conditions_that_are_none_are_no_conditions(store: MemoryStore) -> None:
    store.remember("tea", id="a")
    store.forget("a")
    assert found(store, "tea", kinds=None, statuses=None, tags=None) == ["a"]


def test_a_rare_word_in_a_long_text_is_found_among_short_notes(store: MemoryStore) -> None:
    store.remember_many([{"text": f"short note {i}"} for i in range(20)])
    store.remember("much ado about nothing in particular. " * 1600 + "quokkaxyz", id="long")
    assert found(store, "quokkaxyz") == ["long"]


@pytest.mark.parametrize(
    ("speaker", "question", "named"),
    [
        ("Will Smith", "what will happen to the invoice", 0),
        ("Will Smith", "what did Will Smith say of the invoice", 1),
        ("The Boss", "where is the invoice", 0),
        ("user", "which user wrote the invoice", 0),
        ("Bob", "what did bob say of the invoice", 1),
        ("Bob Dylan", "what did Bob say of the invoice", 1),
    ],
)
def test_a_name_that_is_a_common_word_names_nobody(
    store: MemoryStore, speaker: str, question: str, named: int
) -> None:
    store.remember("the invoice is on the table", speaker=speaker)
    explanation = store.search(question, explain=True)[0].explanation
    assert explanation is not None
    assert (explanation.speaker > 0) == bool(named)


def test_accents_of_their_own_make_no_other_name(store: MemoryStore) -> None:
    store.remember("tea", scope="Cafe\u0301", tags=["cre\u0300me"], id="a")
    assert found(store, "tea", scope="Caf\u00e9", tags=["cr\u00e8me"]) == ["a"]


@pytest.mark.parametrize(
    "name", ["می\u200cخواهم", "会议\u3000记录", "5\u00a0€", "👨\u200d👩\u200d👧"]
)
def test_names_of_every_language_are_kept_exactly(store: MemoryStore, name: str) -> None:
    memory = store.get(store.remember("x", title=name, tags=[name], scope=name).id)
    assert (memory.title, memory.tags, memory.scope) == (name, (name,), name)
