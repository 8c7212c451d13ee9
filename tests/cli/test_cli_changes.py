"""History, conflicts, journal, undo and profile on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from processes import in_pipe

from infinite_memory import MemoryStore, NotFound
from infinite_memory.testing.embedders import HashingEmbedder

Run = Callable[..., Any]
Ask = Callable[..., Any]


@pytest.fixture
def deadlines(run: Run) -> None:
    for text, day in (
        ("June 5", "2026-01-01"),
        ("August 1", "2026-04-01"),
        ("July 9", "2026-03-01"),
    ):
        run("remember", f"The deadline is {text}", "--kind", "fact", "--key", "apollo.deadline",
            "--happened-at", day, "--id", text.split()[0])  # fmt: skip


@pytest.mark.usefixtures("deadlines")
def test_history_lists_every_value_of_a_key(ask: Ask, run: Run) -> None:
    history = ask("history", "apollo.deadline")["history"]
    assert [(each["id"], each["status"]) for each in history] == [
        ("June", "superseded"),
        ("July", "superseded"),
        ("August", "current"),
    ]
    assert [each["valid_to"] for each in history] == [
        history[1]["happened_at"],
        history[2]["happened_at"],
        None,
    ]
    rows = [line.split("\t") for line in run("history", "apollo.deadline").stdout.splitlines()]
    assert [row[2:5] for row in rows] == [
        ["superseded", "The deadline is June 5", "June"],
        ["superseded", "The deadline is July 9", "July"],
        ["current", "The deadline is August 1", "August"],
    ]
    assert [each["id"] for each in ask("history", "July")["history"]] == ["June", "July", "August"]
    assert "no memory has the id 'none'" in run("history", "none", code=5).stderr


@pytest.mark.usefixtures("deadlines")
def test_a_search_tells_the_truth_of_now_and_of_then(ask: Ask) -> None:
    assert [hit["id"] for hit in ask("search", "deadline", "--mode", "strict")["hits"]] == [
        "August"
    ]
    for as_of, expected in (
        ("2026-02-01", "June"),
        ("March 15 2026", "July"),
        ("2026-05-01", "August"),
    ):
        found = ask("search", "deadline", "--as-of", as_of)["hits"]
        assert [hit["id"] for hit in found] == [expected]


def test_the_sentence_of_a_receipt_says_what_became_of_others(run: Run) -> None:
    given = ("--key", "job", "--happened-at", "2026-01-01")
    run("remember", "works at Acme", *given, "--id", "acme")
    said = run("remember", "works at Globex", *given, "--id", "globex").stdout
    assert 'It conflicts with "works at Acme" (acme)' in said
    said = run("remember", "works at Initech", "--key", "job", "--id", "initech").stdout
    assert 'It supersedes "works at ' in said
    assert said.count("works at Acme") == said.count("works at Globex") == 1
    said = run("remember", "works at Hooli", "--key", "job", "--happened-at", "2025-01-01").stdout
    assert "It is already superseded: " in said
    assert " began later and holds now." in said


def test_conflicts_are_listed_until_they_are_decided(run: Run, ask: Ask) -> None:
    assert run("conflicts").stderr == "No facts disagree.\n"
    given = ("--key", "job", "--happened-at", "2026-01-01")
    run("remember", "works at Acme", *given, "--id", "acme")
    run("remember", "works at Globex", *given, "--id", "globex")
    (group,) = ask("conflicts")["conflicts"]
    assert {memory["id"] for memory in group} == {"acme", "globex"}
    assert [line.split("\t")[1] for line in run("conflicts").stdout.splitlines()] == ["job", "job"]
    run("remember", "works at Initech", "--supersedes", "acme", "--supersedes", "globex")
    assert ask("conflicts") == {"conflicts": []}


def test_the_log_is_listed_and_changes_are_undone(run: Run, ask: Ask) -> None:
    assert "journal is empty" in run("log").stderr
    run("remember", "one", "--id", "a")
    run("revise", "a", "--text", "two")
    run("scopes", "create", "apollo")
    entries = ask("log")["entries"]
    assert [entry["operation"] for entry in entries] == ["scope", "revise", "remember"]
    assert entries[1]["memories"] == [{"id": "a", "before": 1, "after": 2}]
    assert {entry["client"] for entry in entries} == {"infinite-memory"}
    assert len({entry["digest"] for entry in entries}) == 3
    assert [e["number"] for e in ask("log", "a", "--before", "2")["entries"]] == [1]
    rows = [line.split("\t") for line in run("log", "-n", "2").stdout.splitlines()]
    assert [(row[0], row[2], row[3]) for row in rows] == [
        ("3", "infinite-memory", "scope, 1 scope (apollo)"),
        ("2", "infinite-memory", "revise, 1 memory (a)"),
    ]
    assert "--before 2" in run("log", "-n", "2").stderr
    assert "Undid entry 3" in run("undo").stdout
    done = ask("undo")
    assert (done["undone"]["number"], done["entry"], done["memories"]) == (2, 5, ["a"])
    assert ask("show", "a")["text"] == "one"
    assert "undone already" in run("undo", "2", code=5).stderr
    run("undo", "5")
    assert ask("show", "a")["text"] == "two"
    assert ask("verify")["findings"] == []


@pytest.mark.parametrize(("number", "more"), [(1, ""), (5, ""), (6, " and 1 more")])
def test_five_ids_of_an_entry_are_listed_and_the_rest_is_counted(
    run: Run, ask: Ask, tmp_path: Path, number: int, more: str
) -> None:
    ids = [f"m{position}" for position in range(number)]
    lines = [json.dumps({"text": f"text {name}", "id": name}) for name in ids]
    (tmp_path / "lines.jsonl").write_text("\n".join(lines), encoding="utf-8")
    run("remember", "--from", str(tmp_path / "lines.jsonl"))
    noun = "memory" if number == 1 else "memories"
    what = f"remember, {number} {noun} ({', '.join(ids[:5])}{more})"
    assert run("log").stdout.split("\t")[3] == what
    shown = run("undo", "--dry-run").stdout.splitlines()
    assert shown[0] == f"Would undo entry 1: {what}. Nothing was changed."
    assert shown[1] == '  m0 "text m0": current → forgotten'
    assert shown[6:] == (["  and 1 more memory"] if more else [])
    assert ask("log")["entries"][0]["number"] == 1
    done = ask("undo")
    assert done["memories"] == ids
    sides = done["changes"][0]
    assert (sides["before"]["status"], sides["after"]["status"]) == ("current", "forgotten")


def test_undo_names_what_it_skips(run: Run, ask: Ask) -> None:
    run("remember", "one", "--id", "a", "--scope", "apollo")
    run("remember", "two", "--id", "b")
    run("revise", "a", "--text", "uno")
    run("forget", "b", "--hard", "--yes")
    shown = ask("undo", "--dry-run")
    assert (shown["entry"], shown["undone"]["number"]) == (None, 3)
    assert [skipped["number"] for skipped in shown["skipped"]] == [4]
    done = run("undo")
    assert '  a: "uno" → "one"' in done.stdout
    assert "Skipped entry 4: entry 4 erased memory 'b' for good" in done.stderr
    assert "1 scope: apollo" in run("undo").stdout
    refused = run("undo", code=5).stderr
    assert "'infinite-memory' on this machine has nothing left to undo" in refused
    assert "entry 4 erased memory 'b' for good" in refused


def test_undo_shows_no_text_of_a_private_scope(run: Run, ask: Ask) -> None:
    run("scopes", "create", "health", "--private")
    run("remember", "the blood test", "--id", "a", "--scope", "health")
    run("revise", "a", "--text", "the other blood test")
    said = run("undo", "--dry-run").stdout + json.dumps(ask("undo", "--dry-run"))
    assert "a: another text" in said
    assert "blood" not in said


@pytest.mark.thorough
def test_undo_takes_back_what_another_command_did_and_not_what_a_program_did(
    run: Run, ask: Ask, home: Path
) -> None:
    run("remember", "by a command", "--id", "a")
    with MemoryStore.open(home, embedder=HashingEmbedder()) as store:
        store.remember("by a program", id="b")
        with pytest.raises(NotFound):
            store.undo(last_of="machine", dry_run=True) if store.undo() else None
    done = json.loads(in_pipe("undo", "--json").stdout)
    assert done["memories"] == ["a"]


def test_a_profile_is_shown_changed_and_kept_by_user(run: Run, ask: Ask) -> None:
    assert "Nothing is known of user" in run("profile").stderr
    changed = ask(
        "profile", "update", '{"name": "Alice", "preferences": {"drink": "tea"}, "notes": "x"}'
    )
    assert changed["profile"] == {"name": "Alice", "preferences": {"drink": "tea"}, "notes": ["x"]}
    assert changed["keys"]["preferences/drink"] == "profile:user/preferences/drink"
    assert ask("profile", "show") == changed
    assert run("profile").stdout.splitlines() == [
        "name: Alice",
        "preferences:",
        "  drink: tea",
        "notes:",
        "  - x",
    ]
    ask("profile", "update", '{"name": "Bob"}', "--user", "bob")
    assert ask("profile", "users") == {"users": ["bob", "user"]}
    for wrong, why in (
        ("Alice", "is not JSON"),
        ('{"nme": 1}', "nearest"),
        ('{"name": 1, "name": 2}', "twice"),
    ):
        assert why in run("profile", "update", wrong, code=2).stderr


def test_show_says_how_often_a_memory_was_recalled(run: Run, ask: Ask) -> None:
    run("remember", "the red harbour", "--id", "a")
    assert "Never recalled." in run("show", "a", "--usage").stderr
    run("search", "harbour")
    usage = ask("show", "a", "--usage")["usage"]
    assert (usage["count"], usage["activation"], usage["activated_at"]) == (1, 0.0, None)
    assert "Recalled 1 time" in run("show", "a", "--usage").stderr
    assert "usage" not in ask("show", "a")
