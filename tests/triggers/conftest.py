"""Evaluators of triggers, closed at the end of a test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from infinite_memory.features.reminders.triggers.builtin import RulesEvaluator
from infinite_memory.features.reminders.triggers.javascript.evaluator import JavaScriptEvaluator


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
