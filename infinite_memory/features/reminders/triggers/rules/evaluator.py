"""The evaluator of conditions that are rules."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping

from infinite_memory.core.clock import current_deadline
from infinite_memory.core.values.conversation.trigger import Occasion, Verdict
from infinite_memory.core.values.memory import JsonValue
from infinite_memory.features.reminders.triggers.rules.compiling import CompiledRules, compile_rules
from infinite_memory.features.reminders.triggers.rules.moment import Moment

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
