"""Which judge the caller or the configuration names."""

from __future__ import annotations

from infinite_memory.core.config import Config, JudgeName
from infinite_memory.core.errors import JudgeError
from infinite_memory.core.protocols import Judge
from infinite_memory.engine.embed import Stop
from infinite_memory.features.background.dreamer.pairs.endpoint_judge import EndpointJudge
from infinite_memory.features.background.dreamer.pairs.judging import LocalJudge
from infinite_memory.features.background.upkeep.chat_endpoint import open_chat


def choose_judge(config: Config, stop: Stop, *, given: Judge | None = None) -> Judge:
    """Return the judge of the caller, or of the configuration; `stop` ends its waiting.

    Raises:
        JudgeError: the configuration names the endpoint, and there is none.
    """
    if given is not None:
        return given
    if config.dreamer.judge is JudgeName.LOCAL:
        return LocalJudge()
    chat = open_chat(config.summaries, stop)
    if chat is None:
        raise JudgeError(
            'dreamer.judge is "endpoint", and there is none: set summaries.endpoint and'
            ' summaries.model in the configuration, or dreamer.judge to "local"'
        )
    return EndpointJudge(chat=chat, zone=config.time_zone)
