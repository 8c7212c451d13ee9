from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Ask = Callable[..., Any]
Run = Callable[..., Any]
MARCH = {
    "words": "March 2026",
    "read_as": "March 2026: 2026-03-01 00:00+01:00 to 2026-04-01 00:00+02:00",
    "since": "2026-02-28T23:00:00Z",
    "until": "2026-03-31T22:00:00Z",
}


@pytest.fixture(autouse=True)
def _filled(run: Run) -> None:
    for name, moment in (("march", "2026-03-31T23:59"), ("april", "2026-04-01T00:00")):
        run("remember", f"green tea in {name}", "--id", name, "--happened-at", moment)


def ids(memories: list[dict[str, Any]]) -> list[str]:
    return [memory["id"] for memory in memories]


def test_search_and_list_take_a_time_in_words_and_say_how_they_read_it(ask: Ask, run: Run) -> None:
    answer = ask("search", "green tea", "--when", "March 2026")
    assert ids(answer["hits"]) == ["march"]
    assert answer["when"] == MARCH
    page = ask("list", "--when", "2026年4月")
    assert ids(page["memories"]) == ["april"]
    assert page["when"]["since"] == "2026-03-31T22:00:00Z"
    assert ask("list")["when"] is None
    told = run("search", "green tea", "--when", "March 2026").stderr
    assert "March 2026: 2026-03-01 00:00 to 2026-04-01 00:00" in told
    assert run("list", "--when", "March 2026").stderr.rstrip(".\n") in told


def test_why_not_takes_it_too(ask: Ask) -> None:
    absence = ask("why-not", "april", "green tea", "--when", "March 2026")
    assert absence["unmet"] == ["until"]
    assert MARCH["read_as"] in absence["reason"]


def test_what_cannot_be_read_is_refused(run: Run) -> None:
    refused = run("search", "tea", "--when", "every Friday", code=2).stderr
    assert "the time 'every Friday' cannot be read" in refused
    both = run("list", "--when", "March 2026", "--since", "2026-01-01", code=2).stderr
    assert "cannot go together" in both


def test_the_options_for_times_take_words(run: Run, ask: Ask) -> None:
    stored = ask("remember", "The boiler was serviced", "--happened-at", "3 March 2025")
    memory = ask("show", stored["id"])
    assert str(memory["happened_at"]).startswith("2025-03-03T")
    found = ask("search", "boiler", "--since", "March 2025", "--until", "April 2025")
    assert [hit["id"] for hit in found["hits"]] == [stored["id"]]
    nothing = ask("search", "boiler", "--since", "last week", "--until", "tomorrow", code=1)
    assert nothing["hits"] == []
    refused = run("search", "boiler", "--since", "before 2024", code=2).stderr
    assert "has no beginning" in refused
