"""Links: directed, typed, weighted relations between memories."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from attrs import frozen

from infinite_memory.core.plain import PlainData


class LinkType(StrEnum):
    """The relation of the source of a link to its target."""

    SEMANTIC = "semantic"
    TEMPORAL = "temporal"
    CONTEXT = "context"
    INTENT = "intent"
    DERIVED_FROM = "derived_from"
    SUPERSEDES = "supersedes"
    NEAR_DUPLICATE_OF = "near_duplicate_of"


WITHIN_SCOPE = frozenset(
    {
        LinkType.SEMANTIC,
        LinkType.TEMPORAL,
        LinkType.CONTEXT,
        LinkType.INTENT,
        LinkType.NEAR_DUPLICATE_OF,
    }
)
"""The types of the links that end when one of their memories moves to another scope."""


class LinkKey(NamedTuple):
    """The identity of a link: two memories have at most one link of a type."""

    source: str
    target: str
    type: LinkType


@frozen(kw_only=True)
class Link(PlainData):
    """A relation of the memory `source` to the memory `target`; at most one per type.

    `weight` is in (0, 1]. `made_by` is the client that made the link, `reason` its reason.
    """

    source: str
    target: str
    type: LinkType
    weight: float = 1.0
    made_by: str = ""
    reason: str = ""
    made_at: datetime

    @property
    def key(self) -> LinkKey:
        """The two memories and the type."""
        return LinkKey(self.source, self.target, self.type)
