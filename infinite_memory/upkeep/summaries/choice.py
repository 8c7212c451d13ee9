"""Which summariser the configuration names."""

from __future__ import annotations

from infinite_memory.config import Config
from infinite_memory.protocols import Summariser
from infinite_memory.upkeep.summaries.extractive import ExtractiveSummariser

__all__ = ["choose_summariser"]


def choose_summariser(config: Config) -> Summariser:
    """Return the summariser that the configuration names."""
    return ExtractiveSummariser(zone=config.time_zone)
