"""An evaluator whose verdicts are measured."""

from __future__ import annotations

from collections.abc import Mapping

from infinite_memory.core.observe.recorder import Recorder, Series, current_recorder
from infinite_memory.core.protocols import TriggerEvaluator
from infinite_memory.core.values.conversation.trigger import Occasion, Verdict
from infinite_memory.core.values.memory import JsonValue


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
