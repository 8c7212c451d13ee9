"""`infinite-memory not-useful` lowers a memory for a question, and says what it did."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Ask = Callable[..., Any]
Run = Callable[..., Any]
TEA = '"Alice likes green tea" (tea)'


@pytest.fixture
def filled(run: Run) -> None:
    run("remember", "Alice likes green tea", "--id", "tea")
    run("remember", "Bob likes black coffee", "--id", "coffee")


@pytest.mark.usefixtures("filled")
def test_a_sentence_says_what_was_done(run: Run) -> None:
    done = run("not-useful", "tea", "who", "likes", "tea")
    assert done.stdout == f"From now on {TEA} ranks lower for questions like 'who likes tea'.\n"
    again = run("not-useful", "tea", "who likes tea")
    assert f"Nothing was changed: {TEA} is marked" in again.stdout
    wrong = run("not-useful", "tea", "green tea", "--take-back")
    assert wrong.stdout.endswith("it is marked for 'who likes tea'.\n")
    assert run("not-useful", "tea", "who likes tea", "--take-back").stdout.startswith("Taken back")
    assert (
        "it is marked for no question"
        in run("not-useful", "tea", "who likes tea", "--take-back").stdout
    )


@pytest.mark.usefixtures("filled")
def test_a_search_shows_it_and_its_documents_have_it(run: Run, ask: Ask) -> None:
    assert ask("not-useful", "tea", "who likes tea") == {
        "id": "tea",
        "query": "who likes tea",
        "outcome": "marked",
        "queries": ["who likes tea"],
        "revision": 2,
    }
    shown = run("search", "who likes tea", "--explain").stdout
    assert "lower, marked as not useful for: who likes tea" in shown
    assert "not_useful -" in shown
    hits = {hit["id"]: hit for hit in ask("search", "who likes tea")["hits"]}
    assert hits["tea"]["not_useful_for"] == ["who likes tea"]
    assert "coffee" not in hits or not hits["coffee"]["not_useful_for"]
    assert "marked as not useful" in run("why-not", "tea", "who likes tea", code=1).stdout
    run("undo")
    assert ask("show", "tea")["context"] == {}


@pytest.mark.usefixtures("filled")
def test_wrong_input_is_refused_with_the_way_out(run: Run) -> None:
    assert "no memory 'nothing'" in run("not-useful", "nothing", "tea", code=5).stderr
    assert "give 1 to 500 characters" in run("not-useful", "tea", " ", code=2).stderr
    run("forget", "tea")
    assert "bring it back" in run("not-useful", "tea", "tea", code=5).stderr
