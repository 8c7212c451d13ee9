"""`infinite-memory why-not` says which step kept a memory out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Ask = Callable[..., Any]
Run = Callable[..., Any]


@pytest.fixture
def filled(run: Run) -> None:
    run("remember", "Alice likes green tea", "--id", "tea", "--kind", "fact")
    run("remember", "Bob likes black coffee", "--id", "coffee", "--scope", "office")


@pytest.mark.usefixtures("filled")
def test_what_keeps_a_memory_out_is_said_in_a_sentence(run: Run) -> None:
    done = run("why-not", "coffee", "who", "likes", "coffee", "--scope", "Global")
    assert done.stdout.startswith("conditions: it is in the scope 'office'")
    weak = run("why-not", "tea", "green tea", "--threshold", "1")
    assert weak.stdout.startswith("threshold: its score")
    assert "cosine" in weak.stdout


@pytest.mark.usefixtures("filled")
def test_nothing_keeps_out_what_is_found(run: Run) -> None:
    done = run("why-not", "tea", "green tea", code=1)
    assert done.stdout.startswith("found: the search returns it at rank 1.")


@pytest.mark.usefixtures("filled")
def test_the_document_has_the_step_the_reason_and_the_numbers(ask: Ask) -> None:
    answer = ask("why-not", "tea", "green tea", "--threshold", "1")
    assert (answer["step"], answer["rank"], answer["unmet"]) == ("threshold", 1, [])
    assert 0 < answer["score"] < 1
    assert answer["explanation"]["words_rank"] == 1
    absent = ask("why-not", "coffee", "coffee", "--scope", "Global", "--kind", "fact")
    assert (absent["step"], absent["unmet"]) == ("conditions", ["scope", "kinds"])
    assert absent["explanation"] is None


def test_names_that_look_like_moments_stand_as_they_are(run: Run) -> None:
    scope, conversation = "2026-99-99 99:99Z", "chat-2026-06-05T10:00:00+02:00"
    run("remember", "apples", "--id", "apples", "--scope", scope)
    run("remember", "pears", "--id", "pears", "--conversation", conversation)
    for memory_id, elsewhere, name in (
        ("apples", ("--scope", "Global"), scope),
        ("pears", ("--conversation", "other"), conversation),
    ):
        assert name in run("why-not", memory_id, "fruit", *elsewhere).stdout
