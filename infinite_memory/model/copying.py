"""What a copy of a store has come to, and the mark that it leaves in its target."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from enum import StrEnum

from attrs import asdict, field, frozen

from infinite_memory.model.findings import Finding

__all__ = ["Copied", "CopyMark", "CopyProgress", "CopyStep"]


class CopyStep(StrEnum):
    """What a copy is doing."""

    COPYING = "copying"
    VERIFYING = "verifying"


CopyProgress = Callable[[CopyStep, int, int], None]
"""Told from time to time how many memories are done, and of how many."""


@frozen(kw_only=True)
class CopyMark:
    """Says of which store its bearer is the copy, and how far that has come.

    `source` is the identity of that store and `cursor` one of its feed: everything before it is
    there. `position` is the cursor of the bearer's own feed when that was written.
    """

    source: str
    cursor: int
    position: int
    finished: bool = False

    def to_text(self) -> str:
        """Return it as one line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, text: str) -> CopyMark | None:
        """Return what `to_text` wrote, None where it is something else."""
        try:
            fields = json.loads(text)
            mark = cls(**fields)
        except (ValueError, TypeError, RecursionError):
            return None
        numbers = (mark.cursor, mark.position)
        sound = isinstance(mark.source, str) and all(type(number) is int for number in numbers)
        return mark if sound and isinstance(mark.finished, bool) else None


@frozen(kw_only=True)
class Copied:
    """What a copy has done, and whether the target holds what the source does.

    `copied` counts the memories and erased ids that this run wrote, and `resumed` says that it went
    on from an earlier one. `compared` counts by part what was then found equal in both. `left_out`
    is what the source could not give, or the target not take; `different` what was not equal.
    """

    copied: int
    resumed: bool
    compared: Mapping[str, int]
    left_out: tuple[Finding, ...] = ()
    different: tuple[Finding, ...] = ()
    whole: bool = field()

    @whole.default
    def _without_findings(self) -> bool:
        return not (self.left_out or self.different)
