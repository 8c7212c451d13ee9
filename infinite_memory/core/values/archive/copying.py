"""The result of copying a store, and the mark that a copy leaves in its target."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from enum import StrEnum

from attrs import asdict, field, frozen

from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.verification import Finding


class CopyStep(StrEnum):
    """A phase of a copy."""

    COPYING = "copying"
    VERIFYING = "verifying"


CopyProgress = Callable[[CopyStep, int, int], None]
"""A callback that receives the phase, the number of finished memories and their total."""


@frozen(kw_only=True)
class CopyMark:
    """A mark in the target of a copy.

    `source` is the identity of the source, `cursor` the cursor of its feed at the moment of the
    copy. `position` and `entries` are the end of the feed and the number of journal entries of the
    target when it has the copy, and nothing else has been written to it.
    """

    source: str
    cursor: int
    position: int
    entries: int

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
        numbers = (mark.cursor, mark.position, mark.entries)
        sound = isinstance(mark.source, str) and all(type(number) is int for number in numbers)
        return mark if sound else None


@frozen(kw_only=True)
class Copied(PlainData):
    """The result of a copy; `whole` is true if the target holds everything that the source held.

    `copied` counts the memories of the target. `compared` counts the records of the source by kind.
    `left_out` lists records that could not be read or written. `different` lists parts that are not
    equal; a copy with records that could not be written is not compared. `access_keys_left_out`
    counts the access keys of the source that were not to be copied. An earlier copy in the
    target is replaced by a whole copy alone: `kept` is true if it was left as it was.
    """

    copied: int
    compared: Mapping[str, int]
    access_keys_left_out: int = 0
    left_out: tuple[Finding, ...] = ()
    different: tuple[Finding, ...] = ()
    kept: bool = False
    whole: bool = field()

    @whole.default
    def _has_no_findings(self) -> bool:
        return not (self.left_out or self.different)
