"""Evaluators of triggers, closed at the end of a test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from infinite_memory.features.reminders.triggers.javascript.evaluator import JavaScriptEvaluator
from infinite_memory.features.reminders.triggers.rules.evaluator import RulesEvaluator


@pytest.fixture(scope="session")
def shared_javascript() -> Iterator[JavaScriptEvaluator]:
    evaluator = JavaScriptEvaluator()
    yield evaluator
    evaluator.close()


@pytest.fixture
def javascript() -> Iterator[JavaScriptEvaluator]:
    evaluator = JavaScriptEvaluator()
    yield evaluator
    evaluator.close()


@pytest.fixture
def rules() -> RulesEvaluator:
    return RulesEvaluator()
