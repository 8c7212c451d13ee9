from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Ask = Callable[..., Any]
Run = Callable[..., Any]


def test_every_field_that_an_option_gives_is_stored(ask: Ask) -> None:
    receipt = ask(
        "remember", "Alice prefers tea", "--id", "tea", "--kind", "fact", "--title", "Drinks",
        "--scope", "home", "-t", "drinks", "--tag", "alice", "--speaker", "Bob",
        "--conversation", "c1", "--key", "alice.drink", "--happened-at", "2026-06-05T14:30",
        "--valid-from", "2026-06-01", "--valid-to", "2026-07-01T00:00Z", "--important",
        "--origin", "tool", "--context", '{"room": {"floor": 2}}', "--source", "a", "--source", "b",
        "--attachment", "photo.jpg",
    )  # fmt: skip
    assert receipt["id"] == "tea"
    assert (receipt["outcome"], receipt["searchable"]) == ("stored", "meaning")
    memory = ask("show", "tea")
    assert memory.pop("stored_at") == receipt["stored_at"]
    assert memory == {
        "id": "tea",
        "text": "Alice prefers tea",
        "kind": "fact",
        "title": "Drinks",
        "scope": "home",
        "tags": ["drinks", "alice"],
        "context": {"room": {"floor": 2}},
        "conversation_id": "c1",
        "speaker": "Bob",
        "origin": "tool",
        "happened_at": "2026-06-05T12:30:00Z",
        "valid_from": "2026-05-31T22:00:00Z",
        "valid_to": "2026-07-01T00:00:00Z",
        "key": "alice/drink",
        "status": "current",
        "important": True,
        "sources": ["a", "b"],
        "attachments": ["photo.jpg"],
        "revision": 1,
    }


def test_the_receipt_is_a_sentence(run: Run) -> None:
    first = run("remember", "x", "--id", "a", "--happened-at", "2026-01-01")
    assert first.stdout == "Stored a in Global: found by meaning and by words.\n"
    again = run("remember", "x", "--id", "a", "--happened-at", "2026-01-01")
    assert again.stdout == "Unchanged a in Global: found by meaning and by words.\n"


def test_standard_input_is_stored_without_the_line_feed_at_its_end(ask: Ask) -> None:
    memory_id = ask("remember", "-", stdin="första\n\nandra\r\n".encode())["id"]
    assert ask("show", memory_id)["text"] == "första\n\nandra"


def test_standard_input_that_is_not_utf_8_is_refused(run: Run) -> None:
    result = run("remember", "-", stdin=b"caf\xe9", code=2)
    assert result.stderr.startswith("Error: standard input is not UTF-8: byte 0xe9 at position 3")
    assert result.stdout == ""


@pytest.mark.parametrize("letter", ["x", "é", "語"])
def test_standard_input_that_is_too_long_is_refused_without_reading_it_all(
    run: Run, monkeypatch: pytest.MonkeyPatch, letter: str
) -> None:
    monkeypatch.setenv("INFINITE_MEMORY_LIMITS_MAX_TEXT_BYTES", "100")
    result = run("remember", "-", stdin=letter * 1000, code=2)
    assert "the limit is 100" in result.stderr
    run("remember", "-", stdin="x" * 100 + "\r\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["x", "--happened-at", "every Friday"], "the time 'every Friday' cannot be read"),
        (["x", "--context", "{"], "--context '{' is not JSON"),
        (["x", "--context", "[" * 100_000], "is not JSON"),
        (["x", "--context", "[]"], "--context '[]' is not an object"),
        (["x", "--kind", "nte"], "'nte'"),
        (["x", "--id", "a b"], "id 'a b' cannot be used"),
        (["x", "--valid-from", "2026-02-01", "--valid-to", "2026-01-01"], "must be later"),
        (["\udcff"], "lone surrogate"),
        (["a\0b"], "NUL"),
        (["  "], "empty"),
        ([], "empty"),
        (["x", "--from", "f"], "give a TEXT"),
        (["--from", "f", "--id", "a"], "--id names one memory"),
    ],
)
def test_what_cannot_be_used_is_refused_and_nothing_is_stored(
    run: Run, ask: Ask, arguments: list[str], said: str
) -> None:
    result = run("remember", *arguments, code=2)
    assert said in result.stderr
    assert result.stdout == ""
    assert ask("stats")["memories"] == 0


def test_words_without_quotes_and_a_pipe_are_a_text(run: Run, ask: Ask) -> None:
    run("remember", "the", "kettle", "is", "blue", "--id", "words")
    run("remember", "--id", "pipe", stdin="the cup is red\n")
    assert ask("show", "words")["text"] == "the kettle is blue"
    assert ask("show", "pipe")["text"].strip() == "the cup is red"


def test_an_id_that_means_something_else_is_never_overwritten(run: Run, ask: Ask) -> None:
    run("remember", "one", "--id", "a")
    assert "belongs to another memory" in run("remember", "two", "--id", "a", code=5).stderr
    assert ask("show", "a")["text"] == "one"


def test_a_long_text_is_embedded_after_its_receipt_is_out(run: Run, ask: Ask) -> None:
    done = run("remember", "-", stdin="the harbour master keeps a diary. " * 1600)
    assert "found by words; by meaning once it is embedded" in done.stdout
    assert "Embedding 1 long text" in done.stderr
    assert ask("stats")["embedded"] == 1


def test_what_waits_for_its_vectors_is_embedded_on_request(run: Run, ask: Ask) -> None:
    run("remember", "tea", "--id", "a")
    assert ask("embed") == {"embedded": 0}
    assert run("embed").stdout == "Embedded 0 memories.\n"


def test_a_context_that_names_something_twice_is_refused(run: Run) -> None:
    done = run("remember", "x", "--context", '{"a": 1, "a": 2}', code=2)
    assert "'a' is given twice" in done.stderr


@pytest.mark.thorough
def test_a_closed_standard_input_is_an_empty_one(tmp_path: Path) -> None:
    command = f"{sys.executable} -m infinite_memory.apps.cli.main --home {tmp_path} remember - <&-"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "there is nothing to remember" in done.stderr
    assert "Traceback" not in done.stderr


def test_in_a_repository_what_is_decided_is_kept_for_it_and_the_receipt_says_how_to_move_it(
    run: Run, ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "apollo" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "apollo")
    scope = ask("remember", "We chose SQLite", "--kind", "decision", "--id", "d")["scope"]
    assert scope.endswith("/apollo")
    said = run("remember", "We chose Redis", "--kind", "lesson")
    assert f" in {scope}: " in said.stdout
    assert "Kept for this repository; `infinite-memory revise ID --scope NAME` moves" in said.stderr
    for options in (("--kind", "fact"), ("--kind", "lesson", "--scope", "project")):
        assert "Kept for" not in run("remember", "We like tea", *options).stderr
    assert ask("search", "SQLite", "--scope", "project")["hits"][0]["id"] == "d"
    assert {hit["scope"] for hit in ask("list", "--scope", "Project")["memories"]} >= {scope}
    assert ask("revise", "d", "--scope", "Global")["scope"] == "Global"
    lines = '{"text": "A bug", "kind": "problem"}\n{"text": "A note"}\n'
    receipts = ask("remember", "--from", "-", stdin=lines)["receipts"]
    assert [receipt["scope"] for receipt in receipts] == [scope, "Global"]
    monkeypatch.chdir(tmp_path)
    assert "no repository is active" in run("list", "--scope", "project", code=2).stderr
