"""The built-in evaluators of a store."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from contextlib import ExitStack, closing

from infinite_memory.core.clock import current_deadline
from infinite_memory.core.config import Config
from infinite_memory.core.observe.recorder import Recorder, Series, current_recorder
from infinite_memory.core.protocols import TriggerEvaluator
from infinite_memory.core.values.checks import check_field
from infinite_memory.core.values.conversation.trigger import Language, Occasion, Verdict
from infinite_memory.core.values.memory import JsonValue
from infinite_memory.features.reminders.triggers.javascript.evaluator import JavaScriptEvaluator
from infinite_memory.features.reminders.triggers.rules.compiling import CompiledRules, compile_rules
from infinite_memory.features.reminders.triggers.rules.moment import Moment

_NAMES = tuple(language.value for language in Language)


_log = logging.getLogger(__name__)


class RulesEvaluator:
    """Checks rules, in some microseconds; see `TriggerEvaluator`. It holds nothing to release."""

    def prepare(self, condition: JsonValue) -> object:
        """Check rules and compile them.

        Raises:
            InvalidInput: the rules cannot be used; the message shows the part and the way out.
        """
        return compile_rules(condition)

    def evaluate(self, prepared: Mapping[str, object], occasion: Occasion) -> dict[str, Verdict]:
        """Return the verdict on every condition; see `TriggerEvaluator`."""
        moment = Moment(occasion)
        verdicts: dict[str, Verdict] = {}
        deadline = current_deadline()
        begun = time.perf_counter()
        for name, rules in prepared.items():
            if deadline.is_over:
                break
            holds, error = False, None
            try:
                if not isinstance(rules, CompiledRules):
                    raise TypeError("it was not prepared by this evaluator")
                holds = rules.holds(moment)
            # Whatever fails in a condition must not take the others with it.
            except Exception as failure:  # noqa: BLE001
                error = f"{type(failure).__name__}: {failure!s:.200}"
                _log.warning("a condition of rules failed: %s", type(failure).__name__)
            ended = time.perf_counter()
            verdicts[name] = Verdict(holds=holds, seconds=ended - begun, error=error)
            begun = ended
        return verdicts

    def close(self) -> None:
        """Do nothing."""


class MeasuredEvaluator:
    """Records how long the conditions of a language take, and how many fail or take too long.

    They are recorded for the handle of the store whose method runs, or else for the whole store.
    """

    def __init__(self, evaluator: TriggerEvaluator, language: str, recorder: Recorder) -> None:
        """Measure an `evaluator`; `recorder` is that of the whole store."""
        self._evaluator = evaluator
        self._language = language
        self._recorder = recorder

    def prepare(self, condition: JsonValue) -> object:
        """Return the condition as the evaluator prepares it."""
        return self._evaluator.prepare(condition)

    def evaluate(self, prepared: Mapping[str, object], occasion: Occasion) -> dict[str, Verdict]:
        """Return the verdicts of the evaluator, and record them."""
        verdicts = self._evaluator.evaluate(prepared, occasion)
        recorder = current_recorder() or self._recorder
        recorder.add_many(
            Series.TRIGGERS,
            self._language,
            [(verdict.seconds, _name_error(verdict)) for verdict in verdicts.values()],
        )
        return verdicts

    def close(self) -> None:
        """Close the evaluator."""
        self._evaluator.close()


def _name_error(verdict: Verdict) -> str | None:
    if verdict.is_timeout:
        return "timeout"
    return None if verdict.error is None else "error"


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
