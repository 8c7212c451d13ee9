"""`remember` names what it may replace: for a person, as JSON, and never for a file of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

Ask = Callable[..., Any]
Run = Callable[..., Any]
OLD, NEW = "The launch is on May 4", "The launch was moved to May 11"


def test_what_is_probably_replaced_is_named_with_what_to_do_about_it(run: Run) -> None:
    run("remember", OLD, "--id", "old", "--key", "standup", "--happened-at", "2026-01-02")
    lines = run("remember", NEW, "--id", "new").stdout.splitlines()
    assert lines[0] == "Stored new in Global: found by meaning and by words."
    assert lines[1:] == [
        f"Probably replaces: {OLD}  2026-01-02  key standup  old",
        "  If it does: `infinite-memory revise new --supersedes old`.",
    ]


def test_one_is_known_already(run: Run) -> None:
    for number in (1, 2):
        run("remember", f"{OLD} in room {number}", "--id", f"room-{number}")
    said = run("remember", f"{OLD} in room 2, as every day", "--id", "new").stdout
    assert f"\nAlso known: {OLD} in room 2  today " in said
    assert said.endswith(
        "\n  If this replaces it: `infinite-memory revise new --supersedes room-2`.\n"
    )


def test_a_memory_that_says_it_all_already_is_not_offered_to_be_ended(run: Run) -> None:
    said = "My daughter's school play is on the 4th of December, and I am allergic to penicillin"
    run("remember", said, "--id", "both")
    lines = run("remember", "I am allergic to penicillin.", "--id", "part").stdout.splitlines()
    assert lines[1].startswith(f"Also known: {said}")
    assert lines[2:] == ["  These words stand there already."]


def test_the_advice_can_be_followed(run: Run, ask: Ask) -> None:
    run("remember", OLD, "--id", "old")
    said = run("remember", NEW, "--id", "new").stdout
    (advice,) = re.findall("`infinite-memory (.*)`", said)
    done = run(*advice.split()).stdout
    assert done.endswith(f'It supersedes "{OLD}" (old).\n')
    assert [memory["text"] for memory in ask("list")["memories"]] == [NEW]
    assert ask(*advice.split())["outcome"] == "unchanged"
    run("undo")
    assert len(ask("list")["memories"]) == 2


def test_a_similar_memory_of_another_scope_is_ended_by_its_status(run: Run, ask: Ask) -> None:
    run("remember", OLD, "--id", "old")
    said = run("remember", NEW, "--scope", "work", "--id", "first").stdout
    (advice,) = re.findall("`infinite-memory (.*)`", said)
    assert advice == "revise old --status superseded"
    run(*advice.split())
    assert [memory["scope"] for memory in ask("list", "--scope", "ALL")["memories"]] == ["work"]


def test_json_has_every_field_of_what_is_probably_replaced(ask: Ask) -> None:
    ask("remember", OLD, "--id", "old", "--happened-at", "2026-01-02T08:00Z")
    receipt = ask("remember", NEW)
    assert receipt["similar"] == []
    (similar,) = receipt["replaces"]
    assert similar.pop("score") > 0.5
    assert similar == {
        "id": "old",
        "text": OLD,
        "happened_at": "2026-01-02T08:00:00Z",
        "scope": "Global",
        "key": None,
    }


def test_an_unrelated_text_names_nothing(run: Run, ask: Ask) -> None:
    run("remember", OLD)
    receipt = ask("remember", "Alice's cat is called Mimi")
    assert receipt["similar"] == receipt["replaces"] == []
    said = run("remember", "Glaciers lose their ice").stdout
    assert "known" not in said
    assert "replaces" not in said


def test_the_look_can_be_switched_off_and_is_never_made_for_a_file(
    run: Run, ask: Ask, tmp_path: Path
) -> None:
    run("remember", OLD)
    assert ask("remember", NEW, "--no-similar")["replaces"] == []
    lines = tmp_path / "lines.jsonl"
    lines.write_text(json.dumps({"text": "The standup is at noon"}), "utf-8")
    (receipt,) = ask("remember", "--from", str(lines))["receipts"]
    assert receipt["similar"] == receipt["replaces"] == []


def test_a_stored_text_cannot_steer_the_terminal(run: Run) -> None:
    run("remember", f"{OLD}\x1b[2J\nAlso known: none")
    said = run("remember", f"{OLD} [2J, also known").stdout
    assert OLD in said
    assert "\x1b" not in said
    assert "\nAlso known: none" not in said
