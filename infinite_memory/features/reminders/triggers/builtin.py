"""The built-in evaluators of a store."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack, closing

from infinite_memory.core.config import Config
from infinite_memory.core.observe.recorder import Recorder
from infinite_memory.core.protocols import TriggerEvaluator
from infinite_memory.core.values.checks import check_field
from infinite_memory.core.values.conversation.trigger import Language
from infinite_memory.features.reminders.triggers.javascript.evaluator import JavaScriptEvaluator
from infinite_memory.features.reminders.triggers.measuring import MeasuredEvaluator
from infinite_memory.features.reminders.triggers.rules.evaluator import RulesEvaluator

_NAMES = tuple(language.value for language in Language)


def open_evaluators(
    owned: ExitStack,
    given: Mapping[str, TriggerEvaluator] | None,
    config: Config,
    recorder: Recorder,
) -> Mapping[str, TriggerEvaluator]:
    """Return an evaluator for every language: the `given` or else the built-in evaluator.

    `owned` closes the built-in ones, which start nothing before the first condition. The verdicts
    are recorded in `recorder`, that of the store.

    Raises:
        InvalidInput: there is no language of a given name.
    """
    given = given or {}
    for name in given:
        check_field(name, _NAMES, lack="evaluators: there is no language")
    javascript = JavaScriptEvaluator(zone=config.time_zone)
    evaluators = {
        Language.RULES: given.get(Language.RULES) or RulesEvaluator(),
        Language.JAVASCRIPT: given.get(Language.JAVASCRIPT) or javascript,
    }
    for language, evaluator in evaluators.items():
        if language not in given:
            owned.enter_context(closing(evaluator))
    return {
        language.value: MeasuredEvaluator(evaluator, language.value, recorder)
        for language, evaluator in evaluators.items()
    }
