"""`triggers` and `due`: what comes up, what is disabled and why, and what is due."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from infinite_memory import MemoryStore

Run = Callable[..., Result]
Ask = Callable[..., Any]
RULE = {"any_of": ["birthday", "生日"]}


def add(home: Path, name: str, trigger: object = RULE, **arguments: Any) -> str:
    with MemoryStore.open(home) as store:
        return store.triggers.add(name, f"text of {name}", trigger, **arguments).id  # type: ignore[arg-type]


def test_without_any_it_says_so(run: Run) -> None:
    assert run("triggers").stderr == "There are no long-term memories with a trigger.\n"
    assert run("due").stderr == "Nothing is due within 7 days.\n"
    assert run("due", "--days", "1").stderr == "Nothing is due within 1 day.\n"


@pytest.mark.thorough
def test_the_list_has_a_line_for_each_with_its_condition_and_state(
    run: Run, ask: Ask, home: Path
) -> None:
    memory_id = add(home, "生日提醒")
    add(home, "code", "context.messages.length > 3 && " + " || ".join(["true"] * 40))
    with MemoryStore.open(home) as store:
        store.triggers.activate([{"role": "user", "content": "生日"}])
    first, second = run("triggers").stdout.splitlines()
    assert first.split("\t")[:5] == [
        "生日提醒",
        "default",
        "rules",
        '{"any_of": ["birthday", "生日"]}',
        "enabled",
    ]
    assert first.split("\t")[5].startswith("1, last 20")
    assert first.endswith(memory_id)
    assert second.split("\t")[3].endswith("…")
    (memory, _) = ask("triggers", "list")["memories"]
    assert (memory["name"], memory["enabled"], memory["firings"]) == ("生日提醒", True, 1)
    assert memory["trigger"]["condition"] == RULE


def test_what_was_imported_is_disabled_until_it_is_enabled(
    run: Run, home: Path, tmp_path: Path
) -> None:
    trigger = {"language": "rules", "condition": RULE, "enabled_at": "2026-01-01T00:00:00Z"}
    line = {"text": "text", "kind": "reminder", "title": "forged", "context": {"trigger": trigger}}
    file = tmp_path / "in.jsonl"
    file.write_text(json.dumps(line), encoding="utf-8")
    run("remember", "--from", str(file))
    assert "disabled: its condition came with an import" in run("triggers").stdout
    assert run("triggers", "enable", "FORGED").stdout == "FORGED is enabled.\n"
    assert run("triggers", "enable", "forged").stdout == "forged was enabled already.\n"
    assert "\tenabled\t" in run("triggers").stdout
    run("undo")
    assert "disabled: its condition came with an import" in run("triggers").stdout


def test_several_are_disabled_by_name_or_id_in_any_conversation(
    run: Run, ask: Ask, home: Path
) -> None:
    add(home, "one", conversation_id="a")
    memory_id = add(home, "two", conversation_id="b", scope="work")
    told = run("triggers", "disable", "one", memory_id[-8:]).stdout
    assert told == f"one is disabled.\n{memory_id[-8:]} is disabled.\n"
    listed = ask("triggers", "list", "--conversation", "b", "--scope", "work")["memories"]
    assert [memory["disabled_because"] for memory in listed] == ["it is switched off"]
    assert run("triggers", "disable", "one", "ONE").stdout == "one was disabled already.\n"
    receipts = ask("triggers", "enable", "two")["receipts"]
    assert [receipt["outcome"] for receipt in receipts] == ["revised"]


def test_a_name_that_nobody_has_is_answered_with_the_nearest(run: Run, home: Path) -> None:
    add(home, "birthday")
    assert "the nearest is 'birthday'" in run("triggers", "enable", "birtday", code=5).stderr
    add(home, "birthday", conversation_id="b")
    assert "give an id" in run("triggers", "enable", "birthday", code=2).stderr
    assert "Missing argument" in run("triggers", "enable", code=2).stderr


@pytest.mark.thorough
def test_due_lists_dated_reminders_and_conditions_of_time(run: Run, ask: Ask, home: Path) -> None:
    run(
        "remember",
        "Pay the rent",
        "--kind",
        "reminder",
        "--happened-at",
        "tomorrow",
        "--id",
        "rent",
    )
    add(home, "always", "Date.now() > 0", scope="work")
    first, second = run("due", "--days", "3").stdout.splitlines()
    assert "  always: text of always  work  reminder:" in first
    assert "  Pay the rent  rent" in second
    reminders = ask("due")["reminders"]
    assert [(r["text"], r["is_trigger"]) for r in reminders] == [
        ("text of always", True),
        ("Pay the rent", False),
    ]
    assert run("due", "--scope", "Global").stdout.count("\n") == 1
    assert run("due", "--days", "0", "--scope", "Global").stdout == ""
    assert run("due", "--days", "999", code=2).stderr
