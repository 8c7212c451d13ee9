"""Keys and scopes that are nearly the known ones, on the command line."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

Ask = Callable[..., Any]
Run = Callable[..., Any]


def test_a_near_key_is_printed_with_the_command_that_makes_them_one_fact(
    run: Run, ask: Ask
) -> None:
    run("remember", "Born on January 20", "--id", "old", "--key", "Alice.Birthday")
    said = run("remember", "The party was loud", "--id", "new", "--key", "alice birthdate").stdout
    assert "Nearest key: alice/birthday\n" in said
    assert re.search(r"^  Born on January 20  today \d\d:\d\d  old$", said, re.MULTILINE)
    command = "revise new --key alice/birthday --supersedes old"
    assert f"If it is the same fact: `infinite-memory {command}`." in said
    assert ask(*command.split())["superseded"] == ["old"]
    assert [memory["id"] for memory in ask("history", "ALICE_BIRTHDAY")["history"]] == [
        "old",
        "new",
    ]


def test_the_receipt_in_json_has_the_keys_too(ask: Ask) -> None:
    first = ask("remember", "tabs", "--id", "a", "--key", "code/indent")
    assert (first["nearest_key"], first["same_key"]) == (None, [])
    second = ask("remember", "spaces", "--key", "Code.Indent", "--scope", "apollo")
    (holder,) = second["same_key"]
    assert (holder["id"], holder["scope"], holder["text"]) == ("a", "Global", "tabs")
    third = ask("remember", "none", "--key", "code/indents")
    assert third["nearest_key"]["key"] == "code/indent"


def test_the_same_key_in_another_scope_is_printed_once(run: Run) -> None:
    run("remember", "tabs", "--id", "a", "--key", "code/indent")
    said = run("remember", "spaces", "--key", "code/indent", "--scope", "apollo").stdout
    assert "The same key in the scope 'Global':\n" in said
    assert "If one no longer holds: `infinite-memory revise a --status superseded`." in said
    again = run("remember", "tabs in apollo", "--key", "code/indent", "--scope", "apollo").stdout
    assert again.count("tabs  today") == 1


def test_a_revision_prints_them_too(run: Run) -> None:
    run("remember", "tabs", "--id", "a", "--key", "code/indent")
    run("remember", "spaces", "--id", "b")
    said = run("revise", "b", "--key", "code/indents").stdout
    assert "Nearest key: code/indent\n" in said


def test_a_key_in_another_scope_is_said_with_the_command(run: Run, ask: Ask) -> None:
    run("remember", "June 5", "--key", "apollo deadline", "--scope", "Side Project")
    said = run("history", "apollo/deadline", code=5).stderr
    command = "infinite-memory history apollo/deadline --scope 'Side Project'"
    assert f"there is one in the scope 'Side Project': call `{command}`" in said
    found = ask("history", "apollo/deadline", "--scope", "Side Project")
    assert [memory["text"] for memory in found["history"]] == ["June 5"]


def test_a_scope_with_a_typing_error_is_refused_with_both_ways_on(run: Run, ask: Ask) -> None:
    run("remember", "one", "--id", "a", "--scope", "side project")
    said = run("remember", "two", "--scope", "side projct", code=5).stderr
    assert (
        "Nothing was stored: repeat the call with --scope 'side project', or with --create to"
        " create 'side projct'"
    ) in said
    assert "--create" in run("revise", "a", "--scope", "side porject", code=5).stderr
    assert ask("stats")["memories"] == 1
    assert ask("remember", "two", "--scope", "side projct", "--create")["scope"] == "side projct"
    assert ask("revise", "a", "--scope", "side porject", "--create")["revision"] == 2


def test_an_import_creates_its_scopes(run: Run, ask: Ask, tmp_path: Path) -> None:
    run("remember", "one", "--scope", "apollo")
    file = tmp_path / "notes.jsonl"
    file.write_text('{"text": "two", "scope": "apolo", "key": "Some.Key"}\n')
    assert ask("remember", "--from", str(file))["stored"] == 1
    assert (
        "--create is for a TEXT" in run("remember", "--from", str(file), "--create", code=2).stderr
    )


def test_strict_scopes_are_created_only_on_purpose(run: Run, ask: Ask, home: Path) -> None:
    home.mkdir(exist_ok=True)
    (home / "infinite_memory_config.json").write_text('{"strict_scopes": true}')
    said = run("remember", "one", "--scope", "apollo", code=5).stderr
    assert "--create to create 'apollo'" in said
    assert ask("remember", "one", "--scope", "apollo", "--create")["scope"] == "apollo"
