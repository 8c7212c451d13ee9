"""The values of the graph: a related memory, and the way to it."""

from __future__ import annotations

from enum import StrEnum

from attrs import frozen

from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.memory import FoundMemory, Memory


class Relation(StrEnum):
    """How two memories are related: by a stored link of that type, or as they are read.

    Computed are `CONVERSATION`, `PROJECT`, `TOPIC`, `LOCATION`, `MEANING` and `TIME`.
    """

    SEMANTIC = "semantic"
    TEMPORAL = "temporal"
    CONTEXT = "context"
    INTENT = "intent"
    DERIVED_FROM = "derived_from"
    SUPERSEDES = "supersedes"
    NEAR_DUPLICATE_OF = "near_duplicate_of"
    CONVERSATION = "conversation"
    PROJECT = "project"
    TOPIC = "topic"
    LOCATION = "location"
    MEANING = "meaning"
    TIME = "time"


@frozen(kw_only=True)
class PathStep(PlainData):
    """A step of a walk, from a memory to a related memory; `weight` is in (0, 1]."""

    source: str
    target: str
    relation: Relation
    weight: float
    reason: str


@frozen(kw_only=True)
class Related(FoundMemory):
    """A memory that a walk came to, by the steps of `path`.

    `weight` is the product of their weights, in (0, 1], and `reason` names their reasons in order.
    `snippet` is the beginning of the text, at most 240 characters.
    """

    memory: Memory
    weight: float
    reason: str
    snippet: str
    path: tuple[PathStep, ...]
