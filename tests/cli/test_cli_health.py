from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

Run = Callable[..., Result]
Ask = Callable[..., Any]


def test_health_says_whether_the_store_works(run: Run, ask: Ask) -> None:
    run("remember", "the ferry leaves at ten")
    lines = run("health").stdout.splitlines()
    assert lines[0] == "ok\tstore\tin all"
    assert lines[1].startswith("ok\tstorage\tThe store (sqlite) can be read: 1 memory in ")
    health = ask("health")
    assert (health["status"], health["memories"], health["pending"]) == ("ok", 1, 0)
    assert health["model"]["is_loaded"] is False
    assert health["worker"] is None


def test_a_disk_that_is_full_exits_with_one(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("remember", "the ferry leaves at ten")
    monkeypatch.setattr("infinite_memory.engine.health.measure_free_bytes", lambda _folder: 1_000)
    lines = run("health", code=1).stdout.splitlines()
    assert lines[0] == "failing\tstore\tin all"
    assert "problem\tdisk\tOnly 1.0 KB are free: make room." in lines


def test_a_store_that_cannot_be_opened_is_an_error(run: Run, home: Path) -> None:
    home.mkdir()
    (home / "memory.db").write_bytes(b"no database" * 1000)
    assert "Error: " in run("health", code=4).stderr


def test_log_lists_reads_where_they_are_recorded(
    run: Run, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("remember", "the ferry leaves at ten", "--id", "ferry")
    run("remember", "the harbour opens at nine", "--id", "harbour", "--kind", "message")
    off = run("log", "--reads")
    assert off.stdout == ""
    assert "set audit.reads to true" in off.stderr
    monkeypatch.setenv("INFINITE_MEMORY_AUDIT_READS", "true")
    run("search", "ferry", "--limit", "1")
    run("show", "harbour")
    lines = [line.split("\t")[1:] for line in run("log", "--reads").stdout.splitlines()]
    assert lines == [
        ["infinite-memory", "get", "1 memory (harbour)"],
        ["infinite-memory", "search", "1 memory (ferry)"],
    ]
    document = ask("log", "ferry", "--reads")
    assert [read["operation"] for read in document["reads"]] == ["search"]
    assert document["reads"][0]["actor"]["client"] == "infinite-memory"
    assert "--before" in run("log", "--reads", "--before", "3", code=2).stderr


def test_a_command_logs_json_if_asked(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFINITE_MEMORY_LOGGING_LEVEL", "debug")
    monkeypatch.setenv("INFINITE_MEMORY_LOGGING_FORMAT", "json")
    run("remember", "the ferry leaves at ten")
    written = run("search", "ferry").stderr.splitlines()
    # The rest are remarks to whoever typed the command.
    lines = [json.loads(line) for line in written if line.startswith("{")]
    assert {line["level"] for line in lines} == {"debug"}
    assert "ferry" not in json.dumps(lines)
