"""Results of the checks of a store, and of the installation that it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum

from attrs import field, frozen

__all__ = ["Diagnosis", "Finding", "RecordKind", "State", "Verification", "Walked"]

Walked = Callable[[int, int], None]
"""Told from time to time how many memories have been looked at, and of how many."""


class RecordKind(StrEnum):
    """The part of a store that a finding is about."""

    DATABASE = "database"
    MEMORY = "memory"
    REVISION = "revision"
    EMBEDDING = "embedding"
    TAGS = "tags"
    SCOPE = "scope"
    LINK = "link"
    USAGE = "usage"
    JOURNAL = "journal"
    ERASED = "erased"
    FEED = "feed"
    INDEX = "index"


@frozen(kw_only=True)
class Finding:
    """Something that is not as it was written: a sentence each for what it is and the way out.

    `id` is that of the memory, or the name of the scope; None where it is about none alone.
    """

    part: RecordKind
    id: str | None = None
    what: str
    way_out: str


@frozen(kw_only=True)
class Verification:
    """What was looked at, counted by part, and what was found; nothing was changed.

    `mended` counts what was rebuilt, if that was requested.
    """

    counts: Mapping[str, int]
    findings: tuple[Finding, ...] = ()
    mended: int = 0
    sound: bool = field()

    @sound.default
    def _without_findings(self) -> bool:
        return not self.findings


class State(StrEnum):
    """How serious a diagnosis is."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@frozen
class Diagnosis:
    """The result of a check: its subject in a word or two, and a sentence with the way out."""

    about: str
    state: State
    sentence: str
