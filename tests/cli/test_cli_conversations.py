"""`conversations`: list them, read one back, forget it after asking, and have it back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from infinite_memory import MemoryStore
from infinite_memory.apps.cli.commands.conversations import log

Run = Callable[..., Result]
Ask = Callable[..., Any]
TALK = "work/Ännchen & 小明 🐟"


@pytest.fixture
def told(home: Path) -> None:
    """Log 120 messages of a conversation, and a short-term memory of it and of another."""
    with MemoryStore.open(home) as store:
        messages: list[dict[str, Any]] = [
            {"role": "user", "content": f"Message number {number}\nof the talk"}
            for number in range(1, 121)
        ]
        store.conversations.log(messages, TALK)
        for conversation in (TALK, "other"):
            store.conversations.add_short_term(messages[:2], conversation)


def test_without_any_it_says_so(run: Run) -> None:
    assert run("conversations").stderr == "No conversation is stored yet.\n"


@pytest.mark.usefixtures("told")
def test_they_are_listed_latest_first(run: Run, ask: Ask) -> None:
    other, talk = (line.split("\t") for line in run("conversations").stdout.splitlines())
    assert other[:5] == ["other", "Global", "0", "1", "0"]
    assert talk[:5] == [TALK, "Global", "120", "1", "0"]
    assert talk[6] == "Message number 120 of the talk"
    listed = ask("conversations", "list", "--limit", "1")["conversations"]
    assert [conversation["id"] for conversation in listed] == ["other"]


@pytest.mark.usefixtures("told")
def test_messages_are_read_from_the_end_or_from_a_number(run: Run, ask: Ask) -> None:
    shown = run("conversations", "show", TALK)
    assert shown.stdout.count("  Message number ") == 100
    assert shown.stdout.endswith("  Message number 120\n  of the talk\n")
    assert shown.stderr == "Messages 21 to 120 of 120. Begin earlier with --start 1.\n"
    begun = run("conversations", "show", TALK, "--start", "1", "--limit", "2")
    assert "  Message number 1\n  of the talk\n" in begun.stdout
    assert begun.stderr == "Messages 1 to 2 of 120. Go on with --start 3.\n"
    beyond = run("conversations", "show", TALK, "--start", "500")
    assert "choose --start from 1 to 120" in beyond.stderr
    assert ask("conversations", "show", TALK, "--start", "120")["total"] == 120
    run("conversations", "show", TALK, "--start", "0", code=2)
    assert "letter by letter" in run("conversations", "show", "Work", code=5).stderr


@pytest.mark.usefixtures("told")
def test_what_is_deleted_comes_back_with_an_undo(run: Run, ask: Ask) -> None:
    refused = run("conversations", "delete", TALK, code=2)
    assert "--yes" in refused.stderr
    deleted = run("conversations", "delete", TALK, "--yes").stdout
    assert deleted.startswith(f"Forgot 121 memories of the conversation {TALK}; ")
    assert deleted.endswith("`infinite-memory undo` brings them back.\n")
    run("conversations", "show", TALK, code=5)
    run("conversations", "delete", TALK, "--yes", code=5)
    run("undo")
    assert ask("conversations", "show", TALK)["total"] == 120
    assert len(ask("conversations", "delete", "other", "--yes")["ids"]) == 1


@pytest.mark.usefixtures("told")
def test_it_asks_before_it_forgets(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "is_terminal", lambda _: True)
    told = run("conversations", "delete", TALK, stdin="n\n", code=1).stderr
    assert "120 messages, 1 short-term memory, 0 long-term memories." in told
    assert told.endswith("Nothing was forgotten.\n")
    assert "Forgot 121 memories" in run("conversations", "delete", TALK, stdin="y\n").stdout
