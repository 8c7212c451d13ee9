"""`dream`: cycles of the dreamer and their diary, as a person types them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from infinite_memory import MemoryStore

Run = Callable[..., Result]
Ask = Callable[..., Any]
TOLD = {
    "boiler-0001": "The new boiler for the house needs a plumber",
    "plumber-0002": "The plumber installs the boiler of the house on Friday",
    "noise-0003": "The boiler of the house makes a noise since the plumber was here",
    "walnut-0004": "Alice is allergic to walnuts",
    "race-00005": "The marathon is on May 3",
    "lyon-00006": "We meet Bob in Lyon next week",
    "cache-0007": "Use SQLite for the cache",
    "rent-00008": "The rent is due on the first",
}


@pytest.fixture
def filled(home: Path) -> None:
    """Store three memories about one matter, and others."""
    with MemoryStore.open(home) as store:
        for memory_id, text in TOLD.items():
            store.remember(text, id=memory_id, similar=False)


def test_a_cycle_is_told_in_the_diary_and_taken_back(run: Run, filled: None) -> None:
    done = run("dream", "--seed", "1")
    (entry,) = re.findall(r"To take it back: infinite-memory undo (\d+)", done.stdout)
    assert re.search(r"made \d links?", done.stdout)
    diary = run("dream", "diary").stdout
    assert f"entry {entry} in the scope Global: looked at" in diary
    assert "both say" in diary
    assert "plumber" in diary
    assert "walnuts" not in diary
    run("undo", entry)
    assert "Taken back by entry" in run("dream", "diary").stdout
    again = run("dream", "--seed", "1")
    assert "found nothing to do" in again.stdout
    assert "No link is stored" in run("graph", "links", "boiler-0001").stderr


def test_a_dry_run_says_what_would_be_done(run: Run, ask: Ask, filled: None) -> None:
    would = run("dream", "--seed", "1", "--dry-run").stdout
    assert re.search(r"would make \d links?", would)
    assert "undo" not in would
    assert "No cycle has changed anything yet" in run("dream", "diary").stderr
    assert ask("dream", "--seed", "1", "--dry-run")["cycles"][0]["entry"] is None


def test_several_cycles_and_the_diary_are_one_json_document_each(ask: Ask, filled: None) -> None:
    answer = ask("dream", "--seed", "1", "--cycles", "3")
    assert (answer["dry_run"], len(answer["cycles"])) == (False, 3)
    assert answer["cycles"][0]["looked_at"].endswith("seed 1")
    assert answer["cycles"][2]["looked_at"].endswith("seed 3")
    (cycle,) = ask("dream", "diary")["cycles"]
    assert {link["source_heading"] for link in cycle["links"]} <= set(TOLD.values())
    assert cycle["undone_by"] is None


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--scope", "kitchens"), "there is no scope 'kitchens'"),
        (("--cycles", "0"), "0 is not in the range"),
        (("--seed", "-1"), "-1 is not in the range"),
        (("diary", "--limit", "0"), "0 is not in the range"),
    ],
)
def test_what_cannot_be_used_is_refused(
    run: Run, filled: None, arguments: tuple[str, ...], says: str
) -> None:
    refused = run("dream", *arguments, code=5 if "--scope" in arguments else 2)
    assert says in refused.stderr
    assert refused.stdout == ""
