from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from benchmarks.tools.export import export_model

_TINY = Path(__file__).parents[1] / "embedding" / "tiny_bert.py"

Ask = Callable[..., Any]
Run = Callable[..., Any]


def test_every_setting_is_listed_with_its_value_and_origin(
    ask: Ask, run: Run, home: Path, tmp_path: Path
) -> None:
    home.mkdir()
    (home / "infinite_memory_config.json").write_text('{"default_scope": "mine"}')
    settings = ask("config", "--store", "relative")
    assert settings["home"] == {"value": str(home), "origin": "INFINITE_MEMORY_HOME"}
    assert settings["default_scope"]["value"] == "mine"
    assert settings["default_scope"]["origin"].endswith("infinite_memory_config.json")
    assert settings["time_zone"]["origin"] == "INFINITE_MEMORY_TIME_ZONE"
    assert settings["store"] == {"value": str(Path("relative").absolute()), "origin": "--store"}
    assert settings["logging.level"] == {"value": None, "origin": "default"}
    assert settings["logging.texts"] == {"value": False, "origin": "default"}
    assert settings["limits.max_text_bytes"]["value"] == 1 << 20
    assert f"home\t{tmp_path}/other\t--home" in run("config", "--home", "~/other").stdout
    assert "store\t-\tdefault" in run("config").stdout


def test_some_settings_are_listed_and_setting_one_says_where(run: Run, home: Path) -> None:
    assert run("config", "search.limit").stdout == "search.limit\t10\tdefault\n"
    assert run("config", "get", "search.limit").stdout == "search.limit\t10\tdefault\n"
    said = run("config", "set", "search.limit", "5", code=2).stderr
    assert f'write {{"search": {{"limit": 5}}}} into {home}' in said
    assert "or set INFINITE_MEMORY_SEARCH_LIMIT=5" in said
    assert "the nearest is search.limit" in run("config", "search.limt", code=2).stderr


def test_a_password_in_the_address_of_a_store_is_not_shown(run: Run) -> None:
    shown = run("config", "--store", "mongodb://me:s3cret@host:1/db").stdout
    assert "s3cret" not in shown
    assert "mongodb://me:***@host:1/db" in shown


def test_options_may_stand_before_and_after_the_command(run: Run, ask: Ask, tmp_path: Path) -> None:
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    run("--home", one, "remember", "in one")
    run("remember", "in two", "--home", two)
    assert json.loads(run("--json", "--home", one, "stats").stdout)["memories"] == 1
    texts = [memory["text"] for memory in ask("--home", one, "list", "--home", two)["memories"]]
    assert texts == ["in two"]
    assert ask("--store", "memory://", "stats")["memories"] == 0
    assert ask("list", "--store", one)["memories"][0]["text"] == "in one"


@pytest.mark.parametrize(
    ("name", "value"),
    [("TIME_ZONE", "Mars/Olympus"), ("TIMEZONE", "UTC"), ("LIMITS_MAX_TEXT_BYTES", "many"),
     ("HOME", "relative"), ("STORE", "mysql://x"), ("LOGGING_FILE", "/dev/null/x/log")],
)  # fmt: skip
def test_a_setting_that_cannot_be_used_exits_with_3(
    run: Run, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"INFINITE_MEMORY_{name}", value)
    assert run("stats", code=3).stderr.startswith("Error: ")


def test_an_unknown_user_in_a_folder_is_said(run: Run) -> None:
    assert "cannot be used" in run("stats", "--home", "~nobody-of-that-name/x", code=3).stderr


def test_the_log_goes_to_standard_error_or_to_a_private_file(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run("remember", "one", "--id", "a")
    monkeypatch.setenv("INFINITE_MEMORY_LOGGING_LEVEL", "debug")
    assert "DEBUG: index at" in run("search", "one").stderr
    log = tmp_path / "logs" / "im.log"
    monkeypatch.setenv("INFINITE_MEMORY_LOGGING_FILE", str(log))
    assert "DEBUG" not in run("search", "one").stderr
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert any(line["message"].startswith("index at") for line in lines)
    monkeypatch.setenv("INFINITE_MEMORY_LOGGING_FORMAT", "text")
    run("search", "one")
    assert "DEBUG infinite_memory.search.index: index at" in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600
    assert logging.getLogger("infinite_memory").handlers == []


def test_the_model_in_use_is_described_and_verified(ask: Ask, run: Run) -> None:
    described = ask("model", "info")
    assert described["model"].startswith("all-MiniLM-L6-v2+multilingual-e5-small@")
    assert described["verified"] is True
    english, multilingual = described["parts"]
    assert english["model"].startswith("all-MiniLM-L6-v2@")
    assert (english["dimensions"], english["pooling"]) == (384, "mean")
    assert multilingual["document_prefix"] == "passage: "
    assert "verified\tyes\tyes" in run("model", "info").stdout
    assert "query prefix\t-\tquery: " in run("model", "info").stdout


def test_a_model_that_was_exported_can_be_used(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = run_path(str(_TINY))["write_checkpoint"](tmp_path / "source")
    out = tmp_path / "out"
    made = export_model(source, out, name="mine", query_prefix="query: ").manifest
    monkeypatch.setenv("INFINITE_MEMORY_EMBEDDER", str(out))
    described = ask("model", "info")
    assert described["model"] == made.identity
    (part,) = described["parts"]
    assert part["directory"] == str(out)
    assert (part["precision"], part["query_prefix"]) == ("int8", "query: ")
    assert ask("remember", "a dog")["searchable"] == "meaning"
    assert ask("stats")["model"] == made.identity
    assert ask("doctor")["healthy"] is True
