"""The result of copying a store, and the mark that a copy leaves in its target."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from enum import StrEnum

from attrs import asdict, field, frozen

from infinite_memory.model.verification import Finding
from infinite_memory.plain import PlainData

__all__ = ["Copied", "CopyMark", "CopyProgress", "CopyStep"]


class CopyStep(StrEnum):
    """A phase of a copy."""

    COPYING = "copying"
    VERIFYING = "verifying"


CopyProgress = Callable[[CopyStep, int, int], None]
"""A callback that receives the phase, the number of finished memories and their total."""


@frozen(kw_only=True)
class CopyMark:
    """A mark in the target of a copy: the source, and the progress of the copy.

    `source` is the identity of the source. Everything before `cursor` of its feed has been copied.
    `position` is the cursor of the target's own feed at the time of the mark.
    """

    source: str
    cursor: int
    position: int
    finished: bool = False

    def to_text(self) -> str:
        """Return the mark as a line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, text: str) -> CopyMark | None:
        """Return the mark that `to_text` wrote, None for a text that is not a mark."""
        try:
            fields = json.loads(text)
            mark = cls(**fields)
        except (ValueError, TypeError, RecursionError):
            return None
        numbers = (mark.cursor, mark.position)
        sound = isinstance(mark.source, str) and all(type(number) is int for number in numbers)
        return mark if sound and isinstance(mark.finished, bool) else None


@frozen(kw_only=True)
class Copied(PlainData):
    """The result of a copy; `whole` is true if the target holds everything that the source holds.

    `copied` counts the memories and erased ids that this run wrote; `resumed` is true if it
    continued an earlier run. `compared` counts the equal records by kind. `left_out` lists records
    that could not be read or written, `different` lists records that are not equal.
    """

    copied: int
    resumed: bool
    compared: Mapping[str, int]
    left_out: tuple[Finding, ...] = ()
    different: tuple[Finding, ...] = ()
    whole: bool = field()

    @whole.default
    def _has_no_findings(self) -> bool:
        return not (self.left_out or self.different)
