"""The built-in evaluators of a store."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack, closing

from infinite_memory.model.checks import check_field
from infinite_memory.model.conversation.trigger import Language
from infinite_memory.observe.recorder import Recorder
from infinite_memory.protocols import TriggerEvaluator
from infinite_memory.triggers.javascript.evaluator import JavaScriptEvaluator
from infinite_memory.triggers.measuring import MeasuredEvaluator
from infinite_memory.triggers.rules.evaluator import RulesEvaluator

__all__ = ["open_evaluators"]


def open_evaluators(
    owned: ExitStack,
    *,
    given: Mapping[str, TriggerEvaluator],
    zone: str | None,
    recorder: Recorder,
) -> Mapping[str, TriggerEvaluator]:
    """Return an evaluator for each language: the `given` one, or the built-in one.

    `owned` closes the built-in ones. They start nothing before the first condition. `zone` is the
    configured time zone, and `recorder` that of the store.

    Raises:
        InvalidInput: there is no language of a given name.
    """
    for name in given:
        check_field(name, tuple(Language), lack="evaluators: there is no language")
    evaluators = {
        Language.RULES: given.get(Language.RULES) or RulesEvaluator(),
        Language.JAVASCRIPT: given.get(Language.JAVASCRIPT) or JavaScriptEvaluator(zone=zone),
    }
    for language, evaluator in evaluators.items():
        if language not in given:
            owned.enter_context(closing(evaluator))
    return {
        language: MeasuredEvaluator(evaluator, language, recorder)
        for language, evaluator in evaluators.items()
    }
