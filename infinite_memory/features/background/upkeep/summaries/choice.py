"""Which summariser the caller or the configuration names."""

from __future__ import annotations

from infinite_memory.core.config import Config
from infinite_memory.core.protocols import Summariser
from infinite_memory.engine.embed import Stop
from infinite_memory.features.background.upkeep.chat_endpoint import open_chat
from infinite_memory.features.background.upkeep.summaries.endpoint import EndpointSummariser
from infinite_memory.features.background.upkeep.summaries.extractive import ExtractiveSummariser


def choose_summariser(config: Config, stop: Stop, *, given: Summariser | None = None) -> Summariser:
    """Return the summariser of the caller, or of the configuration; `stop` ends its waiting."""
    if given is not None:
        return given
    chat = open_chat(config.summaries, stop)
    if chat is None:
        return ExtractiveSummariser(zone=config.time_zone)
    return EndpointSummariser(chat=chat, zone=config.time_zone)
