"""`infinite-memory recall`: what happened in a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Ask = Callable[..., Any]
Run = Callable[..., Any]


@pytest.fixture
def diary(run: Run) -> None:
    for day in (2, 4, 5):
        run("remember", f"day {day}", "--id", f"d{day}", "--happened-at", f"2026-03-0{day}T09:30",
            "--scope", "apollo" if day == 4 else "Global")  # fmt: skip


@pytest.mark.usefixtures("diary")
def test_a_time_is_recalled_oldest_first_in_pages_with_a_digest(run: Run, ask: Ask) -> None:
    first = ask("recall", "March", "2026", "-n", "2", "--scope", "ALL")
    assert [memory["id"] for memory in first["memories"]] == ["d2", "d4"]
    assert (first["order"], first["total"]) == ("oldest first", 3)
    assert first["window"] == {"since": "2026-02-28T23:00:00Z", "until": "2026-03-31T22:00:00Z"}
    assert first["when"]["words"] == "March 2026"
    assert first["digest"] == {
        "first": {"id": "d2", "heading": "day 2", "happened_at": "2026-03-02T08:30:00Z"},
        "last": {"id": "d5", "heading": "day 5", "happened_at": "2026-03-05T08:30:00Z"},
        "by_day": {"2026-03-02": 1, "2026-03-04": 1, "2026-03-05": 1},
        "by_scope": {"Global": 2, "apollo": 1},
        "by_kind": {"note": 3},
    }
    second = ask("recall", "March 2026", "-n", "2", "--scope", "ALL", "--after", first["next"])
    assert [memory["id"] for memory in second["memories"]] == ["d5"]
    assert (second["next"], second["digest"], second["total"]) == (None, None, 3)
    shown = run("recall", "March 2026", "-n", "2", "--scope", "ALL")
    assert shown.stdout == (
        "2026-03-02\tGlobal\tnote\tday 2\td2\n2026-03-04\tapollo\tnote\tday 4\td4\n"
    )
    assert shown.stderr.splitlines() == [
        "March 2026: 2026-03-01 00:00 to 2026-04-01 00:00.",
        "2 of 3 memories, oldest first.",
        "First: 2026-03-02 09:30  day 2  d2",
        "Last: 2026-03-05 09:30  day 5  d5",
        "By day: 2026-03-02 1, 2026-03-04 1, 2026-03-05 1.",
        "By scope: Global 2, apollo 1.",
        "By kind: note 3.",
        f"There are more memories: go on with --after {first['next']}",
    ]


@pytest.mark.usefixtures("diary")
def test_the_order_and_the_conditions_are_options(ask: Ask) -> None:
    newest = ask("recall", "always", "--scope", "ALL", "--newest-first")
    assert [memory["id"] for memory in newest["memories"]] == ["d5", "d4", "d2"]
    assert newest["order"] == "newest first"
    moments = ask("recall", "--since", "2026-03-03", "--until", "2026-03-05", "--scope", "apollo")
    assert [memory["id"] for memory in moments["memories"]] == ["d4"]
    assert moments["when"] is None


@pytest.mark.usefixtures("diary")
def test_an_empty_time_names_its_neighbours_and_exits_with_1(run: Run, ask: Ask) -> None:
    shown = run("recall", "3 March 2026", "--scope", "Global", code=1)
    assert shown.stdout == ""
    assert shown.stderr.splitlines() == [
        "3 March 2026: 2026-03-03 00:00 to 2026-03-04 00:00.",
        "No memory of that period is stored there.",
        "The nearest before: 2026-03-02 09:30  day 2  d2",
        "The nearest after: 2026-03-05 09:30  day 5  d5",
        "Other scopes hold 1 memory (apollo 1): try --scope ALL.",
    ]
    document = ask("recall", "3 March 2026", "--scope", "Global", code=1)
    assert (document["before"]["id"], document["after"]["id"]) == ("d2", "d5")
    assert (document["memories"], document["total"], document["digest"]) == ([], 0, None)


def test_without_a_time_it_says_what_to_give_and_a_sentence_gives_its_own(run: Run) -> None:
    assert "there is no time to recall: give when" in run("recall", code=2).stderr
    assert "no time is recognised" in run("recall", "what did we decide", code=2).stderr
    sentence = "what did we decide last Friday about caching"
    assert "last Friday: 2" in run("recall", sentence, code=1).stderr
