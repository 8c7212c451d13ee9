"""How the command line shows hits that were told later or earlier than each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Ask = Callable[..., Any]
Run = Callable[..., Any]
OLD = "Dr. Feldman is my dentist, her practice is by the station."
NEW = "New dentist: Dr. Osei on Birch Lane, since Dr. Feldman has retired."


@pytest.fixture
def dentists(run: Run) -> None:
    run("remember", OLD, "--id", "old",
        "--happened-at", "2026-02-03T10:00Z")  # fmt: skip
    run("remember", NEW, "--id", "new", "--happened-at", "2026-09-14T10:00Z")  # fmt: skip


@pytest.mark.usefixtures("dentists")
def test_two_near_hits_stand_below_each_other(run: Run) -> None:
    lines = run("search", "who is my dentist?").stdout.splitlines()
    assert [lines[0][:3], lines[1][-5:], lines[2][-5:]] == ["1. ", "  new", "  old"]
    assert not any("told" in line for line in lines)


@pytest.mark.usefixtures("dentists")
def test_the_document_names_them_too(ask: Ask) -> None:
    new, old = ask("search", "who is my dentist?")["hits"]
    assert new["told_earlier"] == [
        {"id": "old", "happened_at": "2026-02-03T10:00:00Z", "text": OLD}
    ]
    assert old["told_later"] == [{"id": "new", "happened_at": "2026-09-14T10:00:00Z", "text": NEW}]
    assert new["told_later"] == []


@pytest.mark.usefixtures("dentists")
def test_the_explanation_has_the_step(run: Run) -> None:
    assert " later +0." in run("search", "who is my dentist?", "--explain").stdout
