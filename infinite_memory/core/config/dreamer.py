"""The settings of the dreamer."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from infinite_memory.core.config.section import Section


class JudgeName(StrEnum):
    """Who judges whether two memories belong together."""

    LOCAL = "local"
    """The built-in judge, which compares vectors and words on this machine."""
    ENDPOINT = "endpoint"
    """The model behind `summaries.endpoint`."""


class Dreamer(Section):
    """The dreamer, which links memories in the background and writes summaries of topics.

    - `enabled`: whether the worker dreams; `infinite-memory dream` runs a cycle in any case.
    - `every_minutes`: how often the worker runs a cycle.
    - `judge`: "local", or "endpoint" for the model behind `summaries.endpoint`.
    """

    enabled: bool = True
    every_minutes: Annotated[int, Field(ge=1, le=100_000)] = 30
    judge: JudgeName = JudgeName.LOCAL
