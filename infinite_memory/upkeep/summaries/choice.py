"""Which summariser the configuration names."""

from __future__ import annotations

from collections.abc import Callable

from infinite_memory.config import Config
from infinite_memory.protocols import Summariser
from infinite_memory.upkeep.summaries.endpoint import EndpointSummariser
from infinite_memory.upkeep.summaries.extractive import ExtractiveSummariser

__all__ = ["choose_summariser"]


def choose_summariser(config: Config, stop: Callable[[], bool]) -> Summariser:
    """Return the summariser that the configuration names; `stop` ends its waiting."""
    settings = config.summaries
    if settings.endpoint is None or settings.model is None:
        return ExtractiveSummariser(zone=config.time_zone)
    key = settings.api_key
    return EndpointSummariser(
        endpoint=settings.endpoint,
        name=settings.model,
        api_key=None if key is None else key.get_secret_value(),
        timeout_seconds=settings.timeout_seconds,
        zone=config.time_zone,
        stop=stop,
    )
