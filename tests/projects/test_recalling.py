"""What earlier work is found again: similar problems, decisions, history and related work."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from checkouts import REPOSITORY, SCOPE
from stopped_clock import StoppedClock

from infinite_memory import InvalidInput, MemoryStore
from infinite_memory.features.projects.chunk import chunk_of
from infinite_memory.features.projects.finding import WorkMatch
from infinite_memory.features.projects.history import Decision, ProjectHistory
from infinite_memory.testing.embedders import HashingEmbedder

NOW = datetime(2026, 6, 15, 12, tzinfo=UTC)
HERMES = "github.com/octo/hermes"


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    clock = StoppedClock(NOW)
    with MemoryStore.open("memory://", embedder=HashingEmbedder(), clock=clock) as opened:
        yield opened


def note(store: MemoryStore, name: str, text: str, *, days: float = 0, **fields: Any) -> None:
    """Store a piece of work that was done some days ago, with its name as its id."""
    given = {"kind": "problem", "repository": REPOSITORY, **fields}
    store.projects.store_chunk(text, id=name, happened_at=NOW - timedelta(days=days), **given)


def names(matches: tuple[WorkMatch, ...]) -> list[str]:
    return [match.chunk.id for match in matches]


def test_problems_solutions_lessons_and_changes_are_found_alone(
    store: MemoryStore,
) -> None:
    for kind in ("problem", "solution", "lesson", "decision", "discussion", "code_change"):
        note(store, kind, "the login token expired", kind=kind)
    store.remember("the login token expired", kind="note", scope=SCOPE)
    found = store.projects.search_similar_problems("login token expired", limit=50)
    assert sorted(names(found)) == ["code_change", "lesson", "problem", "solution"]


def test_all_repositories_are_searched_or_the_one_that_is_named(store: MemoryStore) -> None:
    note(store, "a", "the login token expired")
    note(store, "h", "the login token expired early", repository=HERMES)
    search = store.projects.search_similar_problems
    assert sorted(names(search("login token expired"))) == ["a", "h"]
    assert names(search("login token expired", repository=HERMES)) == ["h"]


def test_a_timeframe_in_words_bounds_the_search(store: MemoryStore) -> None:
    note(store, "old", "the login token expired", days=40)
    note(store, "new", "the login token expired", days=2)
    search = store.projects.search_similar_problems
    assert names(search("login token", timeframe="last month")) == ["old"]
    assert names(search("login token", timeframe="this month")) == ["new"]
    assert names(search("login token", timeframe="2020")) == []
    with pytest.raises(InvalidInput, match="when the moon is full"):
        search("login token", timeframe="when the moon is full")


def test_files_in_play_raise_what_was_done_on_them(store: MemoryStore) -> None:
    note(store, "auth", "the login token expired early", files=["src/auth.py"])
    note(store, "web", "the login token expired late", files=["src/web.py", "src/page.py"])
    search = store.projects.search_similar_problems
    assert names(search("login token expired", files=["src/web.py"]))[0] == "web"
    assert names(search("login token expired", files=["./src/auth.py"]))[0] == "auth"


def test_recency_lowers_the_score_by_age(store: MemoryStore) -> None:
    note(store, "old", "the login token expired", days=90)
    note(store, "new", "the login token expired on the phone", days=0)
    search = store.projects.search_similar_problems
    plain = {match.chunk.id: match.score for match in search("login token expired")}
    fading = {match.chunk.id: match.score for match in search("login token expired", recency=1)}
    assert fading["old"] == pytest.approx(plain["old"] / 2)
    assert fading["new"] == pytest.approx(plain["new"])
    assert names(search("login token expired", recency=1)) == ["new", "old"]


def test_only_matches_of_the_least_score_and_not_more_than_the_limit_are_returned(
    store: MemoryStore,
) -> None:
    for number in range(6):
        note(store, f"p{number}", f"the login token expired {'and more ' * number}")
    search = store.projects.search_similar_problems
    every = search("the login token expired", limit=50)
    scores = [match.score for match in every]
    assert scores == sorted(scores, reverse=True)
    assert len(search("the login token expired")) == 5
    assert search("the login token expired", limit=2) == every[:2]
    least = scores[2]
    assert search("the login token expired", min_score=least, limit=50) == tuple(
        match for match in every if match.score >= least
    )
    assert search("the login token expired", min_score=1.0) in ((), every[:1])


@pytest.mark.parametrize(
    ("fields", "value"),
    [
        ({"recency": 1.1}, "recency 1.1"),
        ({"recency": "much"}, "recency 'much'"),
        ({"min_score": -0.1}, "min_relevance_score -0.1"),
        ({"limit": 0}, "limit 0"),
        ({"files": "src/a.py"}, "files must be a list of texts"),
        ({"repository": "nowhere"}, "nothing is stored of 'repo/nowhere' yet"),
    ],
)
def test_what_cannot_be_used_is_refused_by_its_value(
    store: MemoryStore, fields: dict[str, Any], value: str
) -> None:
    with pytest.raises(InvalidInput, match=value):
        store.projects.search_similar_problems("x", **fields)


def test_a_match_shows_how_the_work_went_in_the_order_of_time(store: MemoryStore) -> None:
    note(store, "problem", "the login token expired", days=3, session="s1", files=["src/auth.py"])
    note(
        store,
        "look",
        "the clock runs late",
        kind="discussion",
        days=2.9,
        session="s1",
        files=["src/auth.py", "src/clock.py"],
    )
    note(store, "beside", "a page is blue", days=2.8, session="s1", files=["src/web.py"])
    note(store, "other", "unrelated", days=2.7, session="s2", files=["src/auth.py"])
    note(store, "fix", "set the clock", kind="solution", days=1, related=["problem"])
    match = store.projects.search_similar_problems("login token expired", limit=1)[0]
    assert match.chunk == chunk_of(store.get("problem"))
    assert [chunk.id for chunk in match.thread] == ["problem", "look", "fix"]
    alone = store.projects.search_similar_problems("page is blue", limit=1)[0]
    assert (alone.chunk.id, alone.thread) == ("beside", ())


def test_a_thread_crosses_no_border_of_a_repository(store: MemoryStore) -> None:
    note(store, "a", "the login token expired", session="s", files=["src/auth.py"])
    note(store, "h", "something else", session="s", files=["src/auth.py"], repository=HERMES)
    note(store, "r", "another thing", related=["a"], repository=HERMES)
    (match,) = store.projects.search_similar_problems("login token expired", repository=REPOSITORY)
    assert match.thread == ()


def test_what_was_forgotten_is_not_found_and_what_was_archived_is(store: MemoryStore) -> None:
    note(store, "gone", "the login token expired")
    note(store, "old", "the login token expired early")
    store.forget("gone")
    store.revise("old", revision=1, status="archived")
    assert names(store.projects.search_similar_problems("login token expired")) == ["old"]
    assert [chunk.id for chunk in store.projects.get_history(REPOSITORY).chunks] == ["old"]


def decide(store: MemoryStore, name: str, *, days: float = 0, **fields: Any) -> None:
    store.projects.store_decision(
        f"decision {name}",
        rationale="because",
        **{"repository": REPOSITORY, **fields},
        id=name,
        happened_at=NOW - timedelta(days=days),
    )


def test_decisions_in_force_come_first_and_superseded_ones_name_what_replaced_them(
    store: MemoryStore,
) -> None:
    decide(store, "oldest", days=9)
    decide(store, "old", days=5, supersedes=["oldest"])
    decide(store, "new", days=4, supersedes=["old"])
    decide(store, "early", days=8)
    decide(store, "h", repository=HERMES)
    chunks = {name: chunk_of(store.get(name)) for name in ("oldest", "old", "new", "early")}
    assert store.projects.get_decisions(REPOSITORY) == (
        Decision(chunk=chunks["new"], in_force=True),
        Decision(chunk=chunks["early"], in_force=True),
        Decision(chunk=chunks["old"], in_force=False, superseded_by=("new",)),
        Decision(chunk=chunks["oldest"], in_force=False, superseded_by=("old",)),
    )
    assert {each.chunk.id for each in store.projects.get_decisions()} == {*chunks, "h"}


@pytest.mark.parametrize("component", ["auth", "AUTH", "login", "src/auth", "oauth", "src"])
def test_a_decision_concerns_a_component_by_name_tag_folder_or_file(
    store: MemoryStore, component: str
) -> None:
    expected = {
        "auth": {"component", "folder"},
        "AUTH": {"component", "folder"},
        "login": {"tag", "file"},
        "src/auth": {"folder"},
        "oauth": set(),
        "src": {"folder", "file"},
    }
    decide(store, "component", component="Auth")
    decide(store, "tag", tags=["Login"])
    decide(store, "folder", files=["src/auth/keys.py"])
    decide(store, "file", files=["src/Login.py"])
    decide(store, "none", component="authority", files=["lib/author.py"])
    found = store.projects.get_decisions(REPOSITORY, component=component)
    assert {each.chunk.id for each in found} == expected[component]


def test_the_history_is_newest_first_and_says_if_there_is_more(store: MemoryStore) -> None:
    for number in range(3):
        note(store, f"c{number}", f"text {number}", days=number)
    store.remember("no chunk", kind="message", scope=SCOPE)
    chunks = tuple(chunk_of(store.get(f"c{number}")) for number in range(3))
    history = store.projects.get_history
    assert history(REPOSITORY) == ProjectHistory(scope=SCOPE, chunks=chunks, more=False)
    assert history(REPOSITORY, limit=3) == ProjectHistory(scope=SCOPE, chunks=chunks, more=False)
    assert history(REPOSITORY, limit=2) == ProjectHistory(scope=SCOPE, chunks=chunks[:2], more=True)
    for limit in (0, 1001, "2"):
        with pytest.raises(InvalidInput, match="limit"):
            history(REPOSITORY, limit=limit)


def test_a_long_history_is_read_page_by_page(store: MemoryStore) -> None:
    store.scopes.create(SCOPE)
    store.remember_many(
        {
            "text": f"work {n}",
            "id": f"w{n}",
            "kind": "code_change",
            "scope": SCOPE,
            "happened_at": NOW - timedelta(minutes=n),
        }
        for n in range(620)
    )
    history = store.projects.get_history(REPOSITORY, limit=610)
    assert [chunk.id for chunk in history.chunks] == [f"w{n}" for n in range(610)]
    assert history.more


def test_related_work_is_what_is_unfinished_then_decided_then_similar(store: MemoryStore) -> None:
    note(store, "open", "the page is slow", files=["src/auth.py"], days=3)
    decide(store, "rule", files=["src/auth.py"], days=2)
    note(store, "similar", "refresh the token at night", kind="solution", outcome="success")
    note(store, "unfinished", "refresh the token by day", outcome="in_progress")
    note(store, "h", "refresh the token", repository=HERMES)
    related = store.projects.suggest_related_work(
        "refresh the token", REPOSITORY, files=["src/auth.py"]
    )
    reasons = {match.chunk.id: match.reason for match in related.matches}
    assert related.scope == SCOPE
    assert [match.chunk.id for match in related.matches][:2] == ["open", "rule"]
    assert reasons["open"] == "unfinished work on src/auth.py"
    assert reasons["rule"] == "a decision on src/auth.py"
    assert reasons["similar"] == "similar"
    assert reasons["unfinished"] == "unfinished and similar"
    assert "h" not in reasons
    few = store.projects.suggest_related_work("refresh the token", REPOSITORY, limit=1)
    assert len(few.matches) == 1


def test_what_was_shown_counts_as_recalled(store: MemoryStore) -> None:
    note(store, "p", "the login token expired")
    store.projects.search_similar_problems("login token expired")
    store.projects.get_history(REPOSITORY)
    usage = store.usage("p")
    assert usage is not None
    assert usage.count == 2


def test_similar_work_that_a_linked_solution_ended_is_not_called_unfinished(
    store: MemoryStore,
) -> None:
    note(store, "begun", "the login token expired", days=2)
    note(
        store,
        "solved",
        "the login token is renewed",
        kind="solution",
        outcome="success",
        related=["begun"],
    )
    related = store.projects.suggest_related_work("login token", REPOSITORY)
    reasons = {match.chunk.id: match.reason for match in related.matches}
    assert reasons == {"begun": "similar", "solved": "similar"}


@pytest.mark.parametrize("context", [5, " ", "\0", "\ud800"])
def test_a_context_that_is_no_text_is_refused(store: MemoryStore, context: Any) -> None:
    with pytest.raises(InvalidInput, match="context"):
        store.projects.find_past_solutions("KeyError: x", context=context)
