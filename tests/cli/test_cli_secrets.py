"""`doctor --secrets`, and what commands say of secrets; none of them ever shows one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infinite_memory.apps.cli.commands import installation

Run = Callable[..., Any]
Ask = Callable[..., Any]
KEY = "AKIAQRSTUVWX23456722"


def test_a_secret_that_is_stored_is_told_with_the_command_that_masks_it(
    run: Run, ask: Ask, home: Path
) -> None:
    said = run("remember", f"The key of the gateway is {KEY}").output
    assert "It holds 1 secret (AWS access key) in clear" in said
    memory = ask("list")["memories"][0]
    command = f"doctor --secrets --id {memory['id'][-8:]}"
    assert f"`infinite-memory {command}` masks them for good." in said
    assert KEY not in said
    would = run("doctor", "--secrets", "--dry-run", code=1).output
    assert "1 secret (AWS access key) in 1 memory would be masked:" in would
    assert "are masked" in run(*command.split()).output
    assert run("doctor", "--secrets").output == "No secret is stored.\n"
    assert not [p for p in home.rglob("*") if p.is_file() and KEY.encode() in p.read_bytes()]


def test_backups_that_were_made_before_are_named(run: Run, ask: Ask) -> None:
    run("remember", f"The key of the gateway is {KEY}")
    run("backup")
    done = ask("doctor", "--secrets")
    assert (done["secrets"], len(done["backups"])) == ({"AWS access key": 1}, 1)
    assert run("log").output.count(KEY) == 0


def test_files_say_what_they_hold_and_what_was_masked(run: Run, tmp_path: Path) -> None:
    lines = tmp_path / "lines.jsonl"
    lines.write_text(json.dumps({"text": f"The key is {KEY}"}))
    said = run("remember", "--from", str(lines)).output
    assert "They hold 1 secret (AWS access key) in clear" in said
    notes = tmp_path / "note.md"
    notes.write_text(f"# Gateway\n\nThe key is {KEY}\n")
    assert "Masked: 1 secret (AWS access key)." in run("import", str(notes)).output


def test_the_options_of_secrets_go_with_it(run: Run) -> None:
    assert "go with --secrets" in run("doctor", "--dry-run", code=2).output


def test_a_setting_of_the_environment_masks_a_scope(run: Run, ask: Ask, monkeypatch: Any) -> None:
    monkeypatch.setenv("INFINITE_MEMORY_SECRETS", '{"work": "mask", "*": "refuse"}')
    assert "Masked: 1 secret" in run("remember", f"The key is {KEY}", "--scope", "work").output
    refused = run("remember", f"The key is {KEY}", "--scope", "home", code=2).output
    assert "takes none" in refused
    assert KEY not in refused
    assert "secrets" in ask("config")


def test_on_a_terminal_nothing_is_masked_before_a_yes(
    run: Run, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "is_terminal", lambda _: True)
    run("remember", f"The key of the gateway is {KEY}")
    said = run("doctor", "--secrets", stdin="n\n", code=1).output
    assert "Mask 1 secret (AWS access key) in 1 memory for good?" in said
    assert KEY in ask("list")["memories"][0]["text"]
    assert "are masked" in run("doctor", "--secrets", stdin="y\n").output
    assert run("doctor", "--secrets").output == "No secret is stored.\n"
