"""Spans of OpenTelemetry, in a program that makes traces; OpenTelemetry is not imported here."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

_TRACER = "infinite_memory"
_API = "opentelemetry.trace"
# Only a program that makes traces has imported the SDK. The API alone makes nothing of a span.
_SDK = "opentelemetry.sdk.trace"


class Span:
    """A running span. It never holds the text of a memory, nor the message of an error."""

    __slots__ = ("_context", "_span")

    def __init__(self, context: AbstractContextManager[Any]) -> None:
        self._context = context
        self._span = context.__enter__()

    def end(self, error: str | None) -> None:
        """End the span, with the type of an error."""
        if error is not None:
            self._span.set_attribute("error.type", error)
        self._context.__exit__(None, None, None)


def start_span(name: str) -> Span | None:
    """Start a span within the present one; return None in a program that makes no traces."""
    if _SDK not in sys.modules:
        return None
    return Span(_get_tracer().start_as_current_span(f"infinite_memory.{name}"))


@cache
def _get_tracer() -> Any:
    """Return the tracer, made once: the SDK makes a new one at every call, which takes long."""
    return sys.modules[_API].get_tracer(_TRACER)


def flush_spans(seconds: float) -> None:
    """Export the spans that wait, for at most `seconds`; a process that ends at once needs this."""
    if _SDK in sys.modules:
        provider = sys.modules[_API].get_tracer_provider()
        flush = getattr(provider, "force_flush", None)
        if flush is not None:
            flush(int(seconds * 1000))
