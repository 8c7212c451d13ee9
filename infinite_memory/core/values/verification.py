"""Results of the checks of a store, and of the installation that it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum

from attrs import field, frozen

from infinite_memory.core.plain import PlainData

Walked = Callable[[int, int], None]
"""A callback that receives the number of checked memories and their total from time to time."""


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
    ACCESS_KEY = "access_key"
    ERASED = "erased"
    FEED = "feed"
    INDEX = "index"


@frozen(kw_only=True)
class Finding(PlainData):
    """A damaged or contradictory record: `what` names the fault, `way_out` the remedy.

    `id` is the id of the memory or the access key, or the name of the scope; None if the finding is
    about none of them.
    """

    part: RecordKind
    id: str | None = None
    what: str
    way_out: str


@frozen(kw_only=True)
class Verification(PlainData):
    """The result of a verification, which changes no record.


    `counts` has the number of checked records by part, `mended` the number of rebuilt vectors and
    indexes, if that was requested. `sound` is true if there are no findings.
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
class Diagnosis(PlainData):
    """The result of a check: its subject in a word or two, and a sentence with the way out."""

    about: str
    state: State
    sentence: str
