"""The protocol of an evaluator of the conditions of triggers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from infinite_memory.core.values.conversation.trigger import Occasion, Verdict
from infinite_memory.core.values.memory import JsonValue

__all__ = ["TriggerEvaluator"]


class TriggerEvaluator(Protocol):
    """Checks conditions of one language. Every method may be called from any thread."""

    def prepare(self, condition: JsonValue) -> object:
        """Check a condition, and return it in the form that `evaluate` takes.

        Raises:
            InvalidInput: the condition cannot be used; the message shows it and what would do.
            ConfigurationError: what the language needs is not installed; the message names it.
        """

    def evaluate(self, prepared: Mapping[str, object], occasion: Occasion) -> dict[str, Verdict]:
        """Return whether each condition holds on an occasion, under the same names.

        A condition that fails or takes too long does not hold, and takes no other with it. Nothing
        is raised for it: the verdict says why. At the end of `clock.current_deadline()` the rest is
        left unchecked, without a verdict. Without conditions, whatever takes long to start is
        started.
        """

    def close(self) -> None:
        """Release processes and memory. Closing twice does nothing."""
