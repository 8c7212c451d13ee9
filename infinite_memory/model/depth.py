"""How far a search looks, and how much it shows."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Depth"]


class Depth(StrEnum):
    """How far a search looks, and how much of each memory it shows.

    `NORMAL`: current memories, whole. `OVERVIEW`: current memories; summaries first, then the
    sentences of each that answer best. `EXHAUSTIVE`: current, superseded and archived ones, by
    their headings.
    """

    NORMAL = "normal"
    OVERVIEW = "overview"
    EXHAUSTIVE = "exhaustive"
