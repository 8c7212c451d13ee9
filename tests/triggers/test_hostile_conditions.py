"""Conditions that attack: each is contained, and the honest one after it works.

The conditions stand in `hostile_conditions.json`, with the outcome: "true" and "false" are values,
"error" and "late" are failures. Where it depends on the machine which of them comes first, it is
"failed", and "unheld" is whatever does not hold.
"""

from __future__ import annotations

import json
import resource
from itertools import cycle, islice
from pathlib import Path

import pytest

from infinite_memory.core.values.conversation.trigger import Verdict
from infinite_memory.features.reminders.triggers.javascript.evaluator import (
    JavaScriptEvaluator,
    Prepared,
)
from tests.triggers.cases import holds, occasion

CONDITIONS = json.loads((Path(__file__).parent / "hostile_conditions.json").read_text("utf-8"))
QUICK = [row for row in CONDITIONS if row["outcome"] in ("true", "false", "error", "failed")]
HONEST = "match_keys(context.messages, ['cake'])"
SAID = occasion(("user", "a cake"))
PAGE = resource.getpagesize()


def describe(verdict: Verdict) -> str:
    if verdict.is_timeout:
        return "late"
    return str(verdict.holds).lower() if verdict.error is None else "error"


def is_outcome(verdict: Verdict, outcome: str) -> bool:
    if outcome == "unheld":
        return not verdict.holds
    return describe(verdict) in (("late", "error") if outcome == "failed" else (outcome,))


def check(evaluator: JavaScriptEvaluator, row: dict[str, str]) -> None:
    # Most would be refused when they are stored, so they are made as if they had been accepted.
    verdict = evaluator.evaluate({"it": Prepared(source=row["source"])}, SAID)["it"]
    assert is_outcome(verdict, row["outcome"])
    assert verdict.seconds < 1.5
    assert len(verdict.error or "") < 500
    assert "\n" not in (verdict.error or "")
    assert holds(evaluator, HONEST, SAID)


def measure_memory() -> int:
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * PAGE


def list_children() -> list[str]:
    return [
        child
        for task in Path("/proc/self/task").iterdir()
        for child in (task / "children").read_text("ascii").split()
    ]


@pytest.mark.thorough
@pytest.mark.parametrize("row", QUICK, ids=[row["name"] for row in QUICK])
def test_an_attack_that_ends_by_itself_is_contained(
    shared_javascript: JavaScriptEvaluator, row: dict[str, str]
) -> None:
    check(shared_javascript, row)


@pytest.mark.slow("triggers")
@pytest.mark.parametrize("row", CONDITIONS, ids=[row["name"] for row in CONDITIONS])
def test_every_attack_is_contained(
    shared_javascript: JavaScriptEvaluator, row: dict[str, str]
) -> None:
    check(shared_javascript, row)


@pytest.mark.slow("triggers")
def test_two_hundred_attacks_in_a_row_leave_nothing_behind() -> None:
    before, children = measure_memory(), list_children()
    evaluator = JavaScriptEvaluator()
    rows = list(islice(cycle(CONDITIONS), 200))
    prepared = {
        # A comment makes them different conditions, so that none rests.
        f"attack {number}": Prepared(source=f"{row['source']}\n// {number}")
        for number, row in enumerate(rows)
    }
    verdicts = evaluator.evaluate({**prepared, "honest": Prepared(source=HONEST)}, SAID)
    assert verdicts["honest"].holds
    for row, verdict in zip(rows, verdicts.values(), strict=False):
        assert is_outcome(verdict, row["outcome"]), row["name"]
        assert verdict.seconds < 1.5
    assert measure_memory() - before < 100 << 20
    assert len(list_children()) == len(children) + 1
    evaluator.close()
    assert list_children() == children
