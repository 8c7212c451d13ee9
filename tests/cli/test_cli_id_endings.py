"""The end of an id stands for it in the commands, as in the tools that show it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., Any]
Ask = Callable[..., Any]

ALICE, BOB = "notes:alice-00000001", "notes:bob-00000002"


@pytest.fixture(autouse=True)
def _notes(run: Run) -> None:
    run("remember", "Alice likes tea", "--id", ALICE)
    run("remember", "Bob likes coffee", "--id", BOB)


def test_the_commands_on_one_memory_take_the_end_of_its_id(run: Run, ask: Ask) -> None:
    end, other = ALICE[-8:], BOB[-8:]
    assert ask("show", end)["id"] == ALICE
    assert ask("log", end)["entries"] == ask("log", ALICE)["entries"] != []
    assert run("why-not", end, "tea", code=1).stdout.startswith("found:")
    later = ("--happened-at", "2099-01-01")
    assert ask("revise", end, "--supersedes", other, *later)["superseded"] == [BOB]
    assert ask("forget", end)["receipts"][0]["id"] == ALICE


def test_an_end_of_several_ids_is_refused_with_a_list(run: Run, ask: Ask) -> None:
    run("remember", "Carol likes water", "--id", "carol-00000001")
    refused = run("forget", "00000001", code=2).stderr
    assert "2 ids end with '00000001': carol-00000001 (" in refused
    assert ALICE in refused
    assert ask("show", ALICE)["status"] == "current"


def test_erasing_for_good_needs_the_whole_id(run: Run, ask: Ask) -> None:
    refused = run("forget", ALICE[-8:], "--hard", "--yes", code=2).stderr
    assert "erasing for good needs the whole id" in refused
    assert ask("forget", ALICE, "--hard", "--yes")["receipts"][0]["outcome"] == "erased"


def test_the_history_and_what_a_new_memory_replaces_take_the_end_of_an_id(ask: Ask) -> None:
    assert [memory["id"] for memory in ask("history", ALICE[-8:])["history"]] == [ALICE]
    receipt = ask("remember", "Alice likes coffee", "--supersedes", ALICE[-8:])
    assert receipt["superseded"] == [ALICE]
    assert len(ask("history", ALICE[-8:])["history"]) > 1


def test_an_end_that_is_too_short_is_refused_with_the_length(run: Run) -> None:
    refused = run("show", ALICE[-6:], code=5).stderr
    assert "give the whole id; a command or a tool takes its last 8 too" in refused
