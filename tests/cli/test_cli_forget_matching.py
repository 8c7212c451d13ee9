"""`forget` with options: a preview, then a question or a token."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import Result

from infinite_memory.apps.cli.commands import forget

Run = Callable[..., Result]
Ask = Callable[..., Any]


@pytest.fixture(autouse=True)
def filled(run: Run) -> None:
    for number in range(3):
        run(
            *("remember", f"Draft {number} of the plan", "--id", f"d{number}"),
            *("--scope", "apollo", "--tag", "draft", "--happened-at", f"2026-03-0{number + 1}"),
        )
    run("remember", "A draft for all", "--id", "all", "--tag", "draft")


def listed(ask: Ask) -> set[str]:
    return {memory["id"] for memory in ask("list", "--scope", "ALL")["memories"]}


def test_without_a_terminal_it_shows_what_matches_and_forgets_nothing(run: Run, ask: Ask) -> None:
    shown = run("forget", "--tag", "draft", "--scope", "apollo", code=1)
    lines = shown.stdout.splitlines()
    assert [line.split()[-1] for line in lines] == ["d2", "d1", "d0"]
    assert lines[0] == "Draft 2 of the plan  2026-03-03  apollo  #draft  d2"
    assert "3 memories would be forgotten (apollo 3)" in shown.stderr
    token = shown.stderr.partition("--confirm ")[2].split()[0]
    assert listed(ask) == {"d0", "d1", "d2", "all"}
    done = run("forget", "--tag", "draft", "--scope", "apollo", "--confirm", token)
    assert "Forgot 3 memories" in done.stdout
    assert listed(ask) == {"all"}
    run("undo")
    assert listed(ask) == {"d0", "d1", "d2", "all"}


def test_as_json_the_token_goes_from_one_call_to_the_next(ask: Ask) -> None:
    choice = ("forget", "--scope", "apollo", "--before", "2026-03-03", "--since", "2026-03-02")
    preview = ask(*choice, code=1)
    assert (preview["count"], preview["forgotten"], preview["by_scope"]) == (1, 0, {"apollo": 1})
    assert [memory["id"] for memory in preview["memories"]] == ["d1"]
    assert ask(*choice, "--confirm", preview["token"]) == {"forgotten": 1, "ids": ["d1"]}
    assert listed(ask) == {"d0", "d2", "all"}


def test_a_token_of_another_preview_is_refused_with_a_new_one(run: Run, ask: Ask) -> None:
    token = ask("forget", "--scope", "apollo", code=1)["token"]
    run("remember", "One more", "--id", "late", "--scope", "apollo")
    refused = run("forget", "--scope", "apollo", "--confirm", token, code=5)
    assert "does not confirm what matches now" in refused.stderr
    assert refused.stdout.count("\n") == 4
    preview = ask("forget", "--scope", "apollo", "--confirm", token, code=5)
    assert (preview["count"], "does not confirm" in preview["refused"]) == (4, True)
    assert len(listed(ask)) == 5


@pytest.mark.parametrize(("answer", "left"), [("y\n", 1), ("n\n", 4), ("", 4)])
def test_on_a_terminal_it_asks(
    run: Run, ask: Ask, monkeypatch: pytest.MonkeyPatch, answer: str, left: int
) -> None:
    monkeypatch.setattr(forget, "is_terminal", lambda stream: stream is sys.stdin)
    code = {"y\n": 0, "n\n": 1, "": 130}[answer]
    asked = run("forget", "--scope", "apollo", code=code, stdin=answer)
    assert "Forget 3 memories?" in asked.stderr
    assert len(listed(ask)) == left


def test_where_nothing_matches_other_scopes_are_named(run: Run) -> None:
    run("forget", "all")
    shown = run("forget", "--tag", "draft", code=1)
    assert "Other scopes hold what does (apollo 3)" in shown.stderr
    assert "Nothing matches." in run("forget", "--tag", "zebra", code=1).stderr


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "give an ID, or options"),
        (("d0", "--tag", "draft"), "not both"),
        (("d0", "--confirm", "x"), "not both"),
        (("--tag", "draft", "--hard"), "--hard and --yes are for IDs"),
        (("--tag", "draft", "--yes"), "need --confirm TOKEN"),
        (("--tag", "draft", "--limit", "3"), "belong to a query"),
        (("--confirm", "x"), "give an ID, or options"),
    ],
)
def test_what_does_not_go_together_is_refused(
    run: Run, ask: Ask, arguments: tuple[str, ...], sentence: str
) -> None:
    refused = run("forget", *arguments, code=2)
    assert sentence in " ".join(refused.stderr.split())
    assert len(listed(ask)) == 4


def test_a_query_chooses(ask: Ask) -> None:
    preview = ask(
        "forget", "--query", "draft 2 of the plan", "--scope", "apollo", "-n", "1", code=1
    )
    assert [memory["id"] for memory in preview["memories"]] == ["d2"]
