"""--mode and --as-of, and how what is over looks."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from infinite_memory import MemoryStore
from infinite_memory.core.values.commit import Commit
from infinite_memory.core.values.link import Link, LinkType

Ask = Callable[..., Any]
Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def _filled(run: Run, home: Path) -> None:
    for name, city, begin in (("berlin", "Berlin", "2021-09-01"), ("oslo", "Oslo", "2024-04-01")):
        text = f"Alice lives in the city of {city}"
        run("remember", text, "--id", name, "--kind", "fact", "--valid-from", begin)
    run("remember", "Alice rents a city flat", "--id", "flat", "--valid-from", "2022-01-01",
        "--valid-to", "2023-01-01")  # fmt: skip
    run("revise", "berlin", "--status", "superseded", "--valid-to", "2024-04-01")
    made_at = datetime(2024, 4, 1, tzinfo=UTC)
    with MemoryStore.open(home) as store:
        link = Link(source="oslo", target="berlin", type=LinkType.SUPERSEDES, made_at=made_at)
        store._services.storage.commit(Commit(links=[link]))


def ids(memories: list[dict[str, Any]]) -> list[str]:
    return sorted(memory["id"] for memory in memories)


def test_a_search_shows_what_holds_and_what_it_has_superseded(ask: Ask, run: Run) -> None:
    answer = ask("search", "which city does Alice live in")
    (hit,) = answer["hits"]
    assert (answer["mode"], answer["as_of"]) == ("current", None)
    assert (hit["id"], hit["status"], hit["valid_to"]) == ("oslo", "current", None)
    assert (hit["valid_from"], hit["key"]) == ("2024-03-31T22:00:00Z", None)
    assert hit["supersedes"] == [
        {
            "id": "berlin",
            "text": "Alice lives in the city of Berlin",
            "ended_at": "2024-03-31T22:00:00Z",
            "sources": [],
        }
    ]
    shown = run("search", "which city does Alice live in").stdout
    assert "   before: Alice lives in the city of Berlin  until 2024-04-01  berlin" in shown
    strict = ask("search", "which city does Alice live in", "--mode", "strict")
    assert [hit["supersedes"] for hit in strict["hits"]] == [[]]


def test_the_history_flags_what_is_over(ask: Ask, run: Run) -> None:
    answer = ask("search", "Alice city", "--mode", "history")
    assert ids(answer["hits"]) == ["berlin", "flat", "oslo"]
    assert {h["id"]: h["ended"] for h in answer["hits"]} == {
        "berlin": True,
        "flat": True,
        "oslo": False,
    }
    shown = run("search", "Alice city", "--mode", "history").stdout
    assert "  fact  ended 2024-04-01  berlin" in shown
    assert "ended 2023-01-01" in shown
    table = run("search", "Alice city", "--depth", "exhaustive").stdout
    statuses = {row.split("\t")[7]: row.split("\t")[3] for row in table.splitlines()}
    assert statuses == {"berlin": "superseded", "flat": "ended", "oslo": "current"}
    kinds = {
        row.split("\t")[4]: row.split("\t")[2]
        for row in run("list", "--mode", "history").stdout.splitlines()
    }
    assert kinds == {"berlin": "fact, superseded", "flat": "note, ended", "oslo": "fact"}
    assert ids(ask("list")["memories"]) == ["oslo"]


def test_as_of_takes_words_and_says_which_moment_it_was(ask: Ask, run: Run) -> None:
    arguments = ("search", "Alice city", "--as-of", "June 2022")
    answer = ask(*arguments)
    assert ids(answer["hits"]) == ["berlin", "flat"]
    assert answer["as_of"] == "2022-06-30T21:59:59.999999Z"
    assert "as of 2022-06-30 23:59)" in run(*arguments).stderr
    page = ask("list", "--as-of", "2023-06-01")
    assert (ids(page["memories"]), page["as_of"]) == (["berlin"], "2023-06-01T21:59:59.999999Z")
    assert "As of 2023-06-01 23:59." in run("list", "--as-of", "2023-06-01").stderr
    assert ask("list")["as_of"] is None


def test_why_not_says_which_mode_finds_it(ask: Ask, run: Run) -> None:
    absence = ask("why-not", "berlin", "which city does Alice live in")
    assert (absence["step"], absence["found_in"]) == ("mode", "history")
    assert "it is superseded by oslo" in absence["reason"]
    earlier = ask("why-not", "oslo", "Alice city", "--as-of", "2023-06-01")
    assert "it begins at 2024-03-31T22:00:00+00:00" in earlier["reason"]
    told = run("why-not", "oslo", "Alice city", "--as-of", "2023-06-01").stdout
    assert "it begins at 2024-04-01 00:00; the search wants what holds at 2023-06-01 23:59" in told


@pytest.mark.parametrize("command", [("search", "tea"), ("list",), ("why-not", "oslo", "tea")])
def test_what_cannot_be_meant_is_refused(run: Run, command: tuple[str, ...]) -> None:
    assert "cannot be read" in run(*command, "--as-of", "every Friday", code=2).stderr
    both = run(*command, "--as-of", "2024", "--mode", "strict", code=2).stderr
    assert "cannot go together with as_of" in both
    assert "'history'" in run(*command, "--mode", "histori", code=2).stderr
