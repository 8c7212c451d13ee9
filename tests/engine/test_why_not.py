"""Every absence is explained by the step that kept the memory out."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from infinite_memory import InvalidInput, MemoryStore, NotFound, UnknownScope
from infinite_memory.core.values.hits import Step

JUNE = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.fixture
def filled(store: MemoryStore) -> MemoryStore:
    store.remember("the harbour lights at night", id="lights", happened_at=JUNE, tags=["sea"])
    store.remember("the harbour is closed", id="closed", happened_at=JUNE, kind="fact")
    store.remember("a harbour of the past", id="past", happened_at=JUNE)
    store.forget("past")
    store.remember("harbour plans", id="plans", scope="Secret", conversation_id="talk")
    store.remember("quinces and medlars", id="fruit", happened_at=JUNE)
    return store


@pytest.mark.parametrize(
    ("memory_id", "conditions", "unmet", "said"),
    [
        ("plans", {}, ("scope",), "it is in the scope 'Secret'; the search covers Global"),
        ("closed", {"tags": ["sea"]}, ("tags",), "it lacks the tags sea"),
        ("lights", {"tags": ["SEA", "sky"]}, ("tags",), "it lacks the tags sky"),
        ("closed", {"kinds": ["note"]}, ("kinds",), "its kind is fact; the search wants note"),
        ("past", {}, ("statuses",), "it is forgotten; the search wants current"),
        ("lights", {"conversation_id": "talk"}, ("conversation_id",), "conversation None"),
        (
            "lights",
            {"since": datetime(2026, 7, 1, tzinfo=UTC)},
            ("since",),
            "outside of the requested time",
        ),
        ("lights", {"until": JUNE}, ("until",), "it happened at 2026-06-01"),
        ("plans", {"kinds": ["fact"]}, ("scope", "kinds"), "; its kind is note"),
    ],
)
def test_a_condition_that_is_not_met_is_named(
    filled: MemoryStore, memory_id: str, conditions: dict[str, Any], unmet: tuple[str], said: str
) -> None:
    conditions = {"scope": "Global", **conditions}
    absence = filled.why_not("harbour", memory_id, **conditions)
    assert (absence.step, absence.unmet) == (Step.CONDITIONS, unmet)
    assert said in absence.reason
    assert memory_id not in [hit.memory.id for hit in filled.search("harbour", **conditions)]


def test_what_shares_nothing_with_the_question_does_not_match(filled: MemoryStore) -> None:
    absence = filled.why_not("harbour", "fruit", arms=["words"])
    assert (absence.step, absence.rank, absence.score) == (Step.MATCH, None, None)


def test_a_score_under_the_threshold_is_shown_with_its_explanation(filled: MemoryStore) -> None:
    absence = filled.why_not("harbour lights", "closed", scope="Global", threshold=0.999)
    assert absence.step is Step.THRESHOLD
    assert absence.rank == 2
    assert absence.explanation is not None
    assert "under the threshold 0.999" in absence.reason


def test_a_rank_over_the_limit_is_that_of_the_whole_result(filled: MemoryStore) -> None:
    absence = filled.why_not("harbour lights", "closed", scope="Global", limit=1)
    every = filled.search("harbour lights", scope="Global", explain=True)
    assert absence.step is Step.LIMIT
    assert absence.reason == "its rank is 2 and the limit is 1"
    assert absence.rank is not None
    hit = every[absence.rank - 1]
    assert (hit.memory.id, hit.score, hit.explanation) == (
        *("closed", absence.score),
        absence.explanation,
    )


def test_what_is_found_is_said_to_be_found(filled: MemoryStore) -> None:
    absence = filled.why_not("harbour lights", "lights")
    assert (absence.step, absence.rank) == (Step.FOUND, 1)


def test_a_memory_or_a_scope_that_does_not_exist_is_refused(filled: MemoryStore) -> None:
    with pytest.raises(NotFound):
        filled.why_not("harbour", "nobody")
    with pytest.raises(UnknownScope):
        filled.why_not("harbour", "lights", scope="nowhere")
    with pytest.raises(InvalidInput, match="the nearest is"):
        filled.why_not("harbour", "lights", scopes="Secret")  # type: ignore[call-arg]
