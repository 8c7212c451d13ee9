"""Wrong ways to call a command, each answered by a sentence that helps, and by no change."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from infinite_memory import MemoryStore

Run = Callable[..., Result]
Ask = Callable[..., Any]
RENT = "0197b000-0000-7000-8000-00001234abcd"
WRONG: list[tuple[tuple[str, ...], int, tuple[str, ...]]] = [
    # Names of commands and options.
    (("serach", "apollo"), 2, ("Did you mean 'search'?",)),
    (("help",), 2, ("Did you mean '--help'?",)),
    (("version",), 2, ("Did you mean '--version'?",)),
    (("keys", "creat", "anna"), 2, ("Did you mean 'create'?", "keys --help")),
    (("search", "apollo", "--limt", "3"), 2, ("Did you mean '--limit'?", "search --help")),
    (("remember", "x", "--tags", "a,b"), 2, ("Did you mean '--tag'?",)),
    (("--limit", "3", "search", "apollo"), 2, ("options of a command stand after its name",)),
    (("search", "apollo", "--scope"), 2, ("'--scope' requires an argument", "search --help")),
    # Something is missing.
    (("search",), 2, ("QUESTION", 'as in `infinite-memory search "when is Apollo due?"')),
    (("share", "keys1"), 2, ("'--to'", "share 7c1d2e3f --to team")),
    (("remember",), 2, ("text is empty: there is nothing to remember",)),
    (("remember", "-"), 2, ("text is empty: there is nothing to remember",)),
    (("project", "solutions"), 2, ("standard input is empty: give an ERROR",)),
    (("revise", "keys1"), 2, ("nothing to revise: give at least one field",)),
    (("forget",), 2, ("give an ID, or options that choose memories, such as --tag",)),
    (("model",), 2, ("give a command: model info or model use",)),
    # Something is too much, in another's place, or quoted wrongly.
    (("remember", "- buy milk"), 2, ("put -- before a text that begins with a dash",)),
    (("remember", "--deadline moved"), 2, ("put -- before a text that begins with a dash",)),
    (("revise", "keys1", "new text"), 2, ("(new text)", '--text "The deadline of Apollo')),
    (("why-not", "who has keys?", "keys1"), 2, ("'who has keys?' is not the id of a memory",)),
    (("show", "the rent"), 2, ("`infinite-memory search 'the rent'` shows the ids",)),
    (("forget", "some words"), 2, ("`forget --query` forgets by words",)),
    (("forget", "keys1", "--tag", "rent"), 2, ("give IDs, or options", "not both")),
    (("--home", "", "stats"), 2, ("'--home'", "it is empty: give a value, or leave it out")),
    # Ids, numbers and names of something else, or of nothing.
    (("show", "1234abcd"), 2, ("2 ids end with '1234abcd'", "'The rent is due'", "whole id")),
    (("show", "1234"), 5, ("no memory '1234'", "a command or a tool takes its last 8 too")),
    (("undo", "keys1"), 2, ("'keys1' is no number of an entry", "`infinite-memory log`")),
    (("undo", "99999"), 5, ("there is no entry 99999", "the log lists the entries")),
    (("done", "keys1"), 2, ("'keys1' is a note that names no day to come",)),
    (("graph", "link", "keys1", "keys1"), 2, ("cannot be linked to itself: give two ids",)),
    (("keys", "revoke", "nobody"), 5, ("no access key has the name or the id 'nobody'",)),
    (("conversations", "show", "chat-9"), 5, ("nothing is stored of the conversation 'chat-9'",)),
    (("history", "nobody/key"), 5, ("'nobody/key'", "no memory")),
    (("triggers", "enable", "nope"), 5, ("there is no long-term memory 'nope'",)),
    # Scopes.
    (("search", "apollo", "--scope", "nope"), 1, ("There is no scope 'nope' yet",)),
    (("scopes", "delete", "hous"), 5, ("there is no scope 'hous': the nearest is 'house'",)),
    (
        ("share", "keys1", "--to", "houses"),
        5,
        ("--to house, or with `infinite-memory scopes create",),
    ),
    (("scopes", "create", "a,b"), 2, ("a comma makes it a list of scopes", "such as 'team'")),
    # Values that cannot be read.
    (("search", "apollo", "--limit", "many"), 2, ("'many' is not a valid integer",)),
    (("search", "apollo", "--limit", "0"), 2, ("limit 0 cannot be used: give a whole number",)),
    (("search", "apollo", "--threshold", "5"), 2, ("threshold 5.0", "a number from 0 to 1")),
    (("search", "apollo", "--kind", "facts"), 2, ("'facts' is not one of", "'fact'")),
    (("search", "apollo", "--since", "soonish"), 2, ("'soonish' cannot be read", "last week")),
    (("search", "x", "--since", "05/06/2026"), 2, ("it may be day and month, or month",)),
    (("remember", "x", "--happened-at", "2026-13-45"), 2, ("month must be in 1..12",)),
    (("recall", "when I was happy"), 2, ("no time is recognised in it", "March 2024")),
    (("remember", "x", "--context", "apollo"), 2, ("is not JSON", '{"project": "apollo"}')),
    (("remember", "x", "--id", "two words"), 2, ("'two words' cannot be used", "leave it out")),
    (("keys", "create", "anna", "--expires", "yesterday"), 2, ("is in the past", "later time")),
    # Files, folders, and addresses.
    (("import", "missing.json"), 5, ("there is no file or folder", "check the path")),
    (("import", "odd.bin"), 2, ("in no format that is recognised", "--from", "chatgpt")),
    (("import", "empty"), 2, ("nothing to import",)),
    (("export", "-"), 2, ("a file such as memories.jsonl, or a folder",)),
    (("restore", "missing.imarchive"), 5, ("there is no backup 'missing.imarchive'",)),
    (("restore", "odd.bin"), 4, ("is no archive of a store", "nothing was changed")),
    (("copy", "nowhere", "other"), 4, ("there is no store at", "nothing was created")),
    (("ingest-session", "missing"), 5, ("there is nothing at missing", "a session file")),
    (("--home", "odd.bin", "stats"), 3, ("--home 'odd.bin' is a file: give a folder",)),
    (("--store", "odd.bin", "stats"), 3, ("--store 'odd.bin' is a file: give a folder",)),
    (("--store", "postgres://h/x", "stats"), 3, ("'postgres://h/x'", "mongodb://")),
    # Clients, settings, models and shells.
    (("connect", "emacs"), 2, ("'emacs' is no known client: give one of claude-desktop",)),
    (("connect", "cursr"), 2, ("did you mean cursor?",)),
    (("config", "serach.limit"), 2, ("the nearest is search.limit",)),
    (("config", "search.limit=5"), 2, ('{"search": {"limit": 5}}', "INFINITE_MEMORY_SEARCH_LIMIT")),
    (("model", "use", "klingon"), 2, ("'klingon' is not one of 'bundled', 'english'",)),
    (("completion", "install", "tcsh"), 2, ("'tcsh' is not one of 'bash', 'zsh', 'fish'",)),
]


@pytest.fixture(autouse=True)
def filled(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Store two memories whose ids end alike, and lay odd files into the working folder."""
    with MemoryStore.open(home) as store:
        store.remember("The rent is due", id=RENT, similar=False)
        store.remember("Apollo is due", id=RENT.replace("b", "a", 1), similar=False)
        store.remember("Lena has the keys", id="keys1", scope="house", similar=False)
    (tmp_path / "odd.bin").write_bytes(bytes(range(256)))
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("arguments", "code", "words"), WRONG, ids=[" ".join(w[0]) for w in WRONG])
def test_a_wrong_use_is_answered_by_a_sentence_that_helps(
    run: Run, ask: Ask, arguments: tuple[str, ...], code: int, words: tuple[str, ...]
) -> None:
    before = ask("log")
    result = run(*arguments, code=code, stdin="")
    assert not result.stdout
    assert result.stderr.count("\n") == 1
    assert code == 1 or result.stderr.startswith("Error: ")
    assert [word for word in words if word not in result.stderr] == []
    assert ask("log") == before


def test_there_is_nothing_to_undo_in_a_new_home(run: Run, tmp_path: Path) -> None:
    told = run("--home", str(tmp_path / "new"), "undo", code=5).stderr
    assert told.startswith("Error: ")
    assert "nothing" in told


def test_a_memory_without_entries_is_named(run: Run) -> None:
    assert run("log", "keys2").stderr == "No entry is about 'keys2'.\n"


def test_a_folder_that_nobody_may_write_is_refused(run: Run, tmp_path: Path) -> None:
    # The superuser may write everywhere but into a folder of the kernel.
    folder = "/proc/memory" if os.geteuid() == 0 else str(tmp_path / "closed" / "memory")
    (tmp_path / "closed").mkdir(mode=0o500)
    told = run("--home", folder, "remember", "x", code=4).stderr
    assert "choose another folder, or check its permissions" in told


@pytest.mark.process
def test_a_server_names_a_port_in_use_and_an_option_that_it_does_not_have() -> None:
    serve = [sys.executable, "-m", "infinite_memory", "serve"]
    odd = subprocess.run([*serve, "--port", "1"], capture_output=True, text=True, check=False)
    assert (odd.returncode, odd.stderr.count("\n")) == (2, 1)
    assert "unrecognized arguments: --port 1; see infinite-memory-mcp --help" in odd.stderr
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = "{}:{}".format(*taken.getsockname())
        used = [*serve, "--http", address]
        done = subprocess.run(used, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "is in use by another program" in done.stderr
    assert "or give another port" in done.stderr
