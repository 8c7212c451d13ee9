"""How the command line shows hits that were told later or earlier than each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Ask = Callable[..., Any]
Run = Callable[..., Any]


@pytest.fixture
def dentists(run: Run) -> None:
    run("remember", "Dr. Feldman is my dentist, her practice is by the station.", "--id", "old",
        "--happened-at", "2026-02-03T10:00Z")  # fmt: skip
    run("remember", "New dentist: Dr. Osei on Birch Lane, since Dr. Feldman has retired.", "--id",
        "new", "--happened-at", "2026-09-14T10:00Z")  # fmt: skip


@pytest.mark.usefixtures("dentists")
def test_each_of_two_near_hits_names_the_other_in_a_line(run: Run) -> None:
    lines = [line.strip() for line in run("search", "who is my dentist?").stdout.splitlines()]
    assert lines[2:4] == ["new", "told earlier: old on 2026-02-03 11:00+01:00"]
    assert lines[6:8] == ["old", "told later: new on 2026-09-14 12:00+02:00"]


@pytest.mark.usefixtures("dentists")
def test_the_document_names_them_too(ask: Ask) -> None:
    new, old = ask("search", "who is my dentist?")["hits"]
    assert new["told_earlier"] == [{"id": "old", "happened_at": "2026-02-03T10:00:00Z"}]
    assert old["told_later"] == [{"id": "new", "happened_at": "2026-09-14T10:00:00Z"}]
    assert "told_later" not in new


@pytest.mark.usefixtures("dentists")
def test_the_explanation_has_the_step(run: Run) -> None:
    assert " later +0." in run("search", "who is my dentist?", "--explain").stdout
