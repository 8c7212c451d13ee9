"""Decisions that contradict, solutions of problems, and what is still open."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from checkouts import REPOSITORY

from infinite_memory import MemoryStore, Receipt
from infinite_memory.features.overviews.values import BriefingPart

CONTRADICTING = [
    ("Use Postgres for the orders", "Use MySQL for the orders"),
    ("Sessions are kept in Redis", "Sessions are kept in signed cookies"),
    ("The API uses REST", "The API uses GraphQL"),
    ("Deploy every Friday", "Deploy on each merge"),
    ("Retry a failed payment three times", "Do not retry failed payments"),
    ("Cache pages for one minute", "Cache pages for ten minutes"),
    ("Use tabs", "Use four spaces"),
    ("Python 3.9 is the oldest we support", "Python 3.11 is the oldest we support"),
    ("Migrations run by hand", "Migrations run on start"),
]
GOING_TOGETHER = [
    ("Log in JSON", "Keep logs for 30 days"),
    ("Use pytest", "Run tests in parallel with xdist"),
    ("Images are stored in S3", "Thumbnails are made by a worker"),
    ("All times are UTC", "Show dates in the user's zone"),
    ("Names in snake case", "Docstrings in Google style"),
    ("Use feature flags for big changes", "Flags are removed after a month"),
]
ERROR = "ConnectionError: redis refused at 6379"


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open("memory://") as opened:
        yield opened


def decide(store: MemoryStore, text: str, component: str, **details: Any) -> Receipt:
    return store.projects.store_decision(
        text, rationale="it is so", repository=REPOSITORY, component=component, **details
    )


def find_conflicts(store: MemoryStore) -> list[str]:
    briefing = store.projects.build_session_context(REPOSITORY)
    sections = [each for each in briefing.sections if each.part is BriefingPart.CONFLICTS]
    return [item.id for section in sections for item in section.items]


def test_of_decisions_on_one_component_those_that_contradict_are_named(store: MemoryStore) -> None:
    pairs = [*CONTRADICTING, *GOING_TOGETHER]
    earlier = [decide(store, first, f"part {n}").id for n, (first, _) in enumerate(pairs)]
    named = [decide(store, second, f"Part {n}").replaces for n, (_, second) in enumerate(pairs)]
    right = [
        [each.id for each in found] == [one] for found, one in zip(named, earlier, strict=True)
    ]
    wrong = sum(map(bool, named[len(CONTRADICTING) :]))
    print(f"{sum(right)} of {len(CONTRADICTING)} found, {wrong} of {len(GOING_TOGETHER)} wrong")
    assert sum(right[: len(CONTRADICTING)]) >= 8
    assert wrong <= 1


def test_a_conflict_is_in_the_briefing_until_one_of_both_is_superseded(store: MemoryStore) -> None:
    first, second = CONTRADICTING[0]
    earlier, later = decide(store, first, "orders"), decide(store, second, "orders")
    decide(store, second, "invoices")
    assert find_conflicts(store) == [later.id]
    assert f"but on {store.get(earlier.id).happened_at:%Y-%m-%d}: {first} (id " in (
        store.projects.build_session_context(REPOSITORY).text
    )
    by_id = {each.chunk.id: each for each in store.projects.get_decisions(REPOSITORY)}
    assert by_id[later.id].contradicts == (earlier.id,)
    assert by_id[earlier.id].contradicts == (later.id,)
    store.revise(later.id, revision=1, supersedes=[earlier.id])
    assert find_conflicts(store) == []
    assert decide(store, first, "orders", supersedes=[later.id]).replaces == ()
    assert find_conflicts(store) == []


def find_reasons(store: MemoryStore) -> list[tuple[str, str]]:
    found = store.projects.find_past_solutions(ERROR)
    return [(match.chunk.kind, match.reason) for match in found]


def note(store: MemoryStore, text: str, **details: Any) -> str:
    return store.projects.store_chunk(text, repository=REPOSITORY, **details).id


def test_a_lesson_of_the_same_session_ends_a_problem(store: MemoryStore) -> None:
    problem = note(store, f"{ERROR} in CI", kind="problem", session="s1")
    briefing = store.projects.build_session_context(REPOSITORY)
    assert any(item.id == problem for each in briefing.sections for item in each.items)
    store.projects.store_lesson(
        "redis is refused", solution="start it as a service", repository=REPOSITORY, session="s1"
    )
    briefing = store.projects.build_session_context(REPOSITORY)
    parts = {each.part for each in briefing.sections for item in each.items if item.id == problem}
    assert BriefingPart.OPEN not in parts


@pytest.mark.parametrize("shared", [{"session": "s1"}, {"files": ["ci.yml"]}])
def test_a_fix_is_linked_to_the_problem_before_it(
    store: MemoryStore, shared: dict[str, Any]
) -> None:
    note(store, "Another problem", kind="problem", session="s0", files=["a.py"])
    problem = note(store, f"{ERROR} in CI", kind="problem", error=ERROR, **shared)
    assert find_reasons(store)[0] == ("problem", "open: not solved so far")
    fix = note(store, "Started redis as a service of the job", kind="solution", **shared)
    links = store.graph.links(fix)
    assert [(link.source, link.target) for link in links] == [(fix, problem)]
    assert ("problem", "") in find_reasons(store)
    note(store, "Raised a timeout as well", kind="solution", **shared)
    assert len(store.graph.links(problem)) == 1, "it was solved before"


def test_one_undo_takes_back_a_fix_and_its_link(store: MemoryStore) -> None:
    problem = note(store, f"{ERROR} in CI", kind="problem", session="s1")
    fix = note(store, "Started redis as a service", kind="solution", session="s1")
    assert store.graph.links(problem)
    store.undo()
    assert store.get(fix).status == "forgotten"
    earlier, later = (decide(store, text, "orders").id for text in CONTRADICTING[0])
    store.undo()
    assert [store.get(each).status for each in (earlier, later)] == ["current", "forgotten"]
    assert find_conflicts(store) == []


def test_a_fix_of_another_matter_in_the_same_session_is_linked_to_nothing(
    store: MemoryStore,
) -> None:
    note(store, f"{ERROR} in CI", kind="problem", session="s1")
    fix = note(store, "Renamed the button of the page", kind="solution", session="s1")
    assert not store.graph.links(fix)


def test_what_was_solved_comes_before_what_is_open(store: MemoryStore) -> None:
    note(store, ERROR, kind="problem", error=ERROR)
    note(store, "It came from the firewall", kind="solution", error=ERROR)
    reasons = find_reasons(store)
    assert [kind for kind, _ in reasons] == ["solution", "problem"]
    (best,) = store.projects.find_past_solutions(ERROR, limit=1)
    assert best.chunk.kind == "solution", "what is open takes no place of it"
    assert [bool(reason) for _, reason in reasons] == [False, True]
