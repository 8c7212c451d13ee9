"""The command line in this process, on a home folder of its own."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from infinite_memory.apps.cli.main import infinite_memory

Run = Callable[..., Result]
Ask = Callable[..., Any]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Point every way to a home folder at one of the test."""
    for name in list(os.environ):
        if name.startswith("INFINITE_MEMORY_"):
            monkeypatch.delenv(name)
    folder = tmp_path / "home"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("INFINITE_MEMORY_HOME", str(folder))
    monkeypatch.setenv("INFINITE_MEMORY_TIME_ZONE", "Europe/Berlin")
    return folder


@pytest.fixture
def run() -> Run:
    """Run a command; `code` is the exit code that it must have."""

    def call(*arguments: str, code: int = 0, stdin: str | bytes | None = None) -> Result:
        result = CliRunner().invoke(infinite_memory, list(arguments), input=stdin)
        assert result.exit_code == code, result.output
        return result

    return call


@pytest.fixture
def ask(run: Run) -> Ask:
    """Run a command with --json and return the document that it printed."""

    def call(*arguments: str, code: int = 0, stdin: str | bytes | None = None) -> Any:
        return json.loads(run(*arguments, "--json", code=code, stdin=stdin).stdout)

    return call
