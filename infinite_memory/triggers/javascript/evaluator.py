"""The evaluator of conditions in JavaScript."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

from infinite_memory.errors import ConfigurationError, install_hint
from infinite_memory.model.conversation.trigger import Occasion, Verdict
from infinite_memory.model.memory import JsonValue

__all__ = ["JavaScriptEvaluator"]


class JavaScriptEvaluator:
    """Checks expressions in JavaScript; see `TriggerEvaluator`."""

    def prepare(self, condition: JsonValue) -> object:
        """Check an expression.

        Raises:
            ConfigurationError: the extra `triggers` is not installed.
        """
        if find_spec("quickjs") is None:
            raise ConfigurationError(
                "conditions in JavaScript need quickjs-ng: install it with"
                f" {install_hint('triggers')}, or write the condition as rules"
            )
        return condition

    def evaluate(self, prepared: Mapping[str, object], occasion: Occasion) -> dict[str, Verdict]:
        """Return whether each condition holds; see `TriggerEvaluator`."""
        error = f"it cannot be evaluated yet, at {occasion.now}"
        return {name: Verdict(holds=False, seconds=0.0, error=error) for name in prepared}

    def close(self) -> None:
        """Do nothing."""
