"""What the readers of formats share: their options, and reading times and texts."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from attrs import define, field, frozen

from infinite_memory.core.config import Limits
from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.draft import storable
from infinite_memory.core.values.exchange import ImportProblem
from infinite_memory.core.values.timestamps import read_moment
from infinite_memory.features.archive.exchange.opening import Value
from infinite_memory.features.archive.exchange.records import Item, Naming
from infinite_memory.features.archive.exchange.source import Source

Result = TypeVar("Result")
# Long enough that no two things have it by chance: a UUID, a ULID, a hash.
_UNIQUE = re.compile(r"(?=[^0-9]*[0-9])[0-9A-Za-z_-]{20,}")
_MAX_SECONDS = 253_402_300_799  # the end of the year 9999
_MILLISECONDS_FROM = 100_000_000_000


@frozen(kw_only=True)
class Options:
    """How to read a source: the limits of a memory, and the zone of times without an offset.

    `home` is the home folder of the memory, which names the pauses of sessions.
    """

    limits: Limits
    zone: str | None
    home: Path

    @property
    def max_line_bytes(self) -> int:
        """The length of the longest line; an escape of JSON takes up to six bytes per byte."""
        return 6 * (self.limits.max_text_bytes + self.limits.max_context_bytes) + (1 << 20)


FormatReader: TypeAlias = Callable[[Source, Sequence[str], Options], Iterator[Item]]
"""Yields the records in files of a source, and a problem for all that cannot be read."""

RecordReader: TypeAlias = Callable[[Value, Options], Iterator[Item]]
"""Yields what one record of JSON holds.

Raises ValueError or InvalidInput for a record that cannot be read at all.
"""


def read_each(
    read_record: RecordReader, source: Source, files: Sequence[str], options: Options
) -> Iterator[Item]:
    """Yield what the records of files of JSON hold.

    Raises:
        OSError: a file cannot be read.
    """
    for file in files:
        for found in source.values(file):
            yield from read_one(read_record, found, options)


def read_one(
    read_record: RecordReader, found: Value | ImportProblem, options: Options
) -> Iterator[Item]:
    """Yield what a record holds, or the reason why it cannot be read."""
    if isinstance(found, ImportProblem):
        yield found
        return
    try:
        yield from read_record(found, options)
    except (ValueError, InvalidInput, TypeError, KeyError) as error:
        yield ImportProblem(file=found.file, where=found.where, what=str(error))


@define
class Faults:
    """Collects the values of a record that cannot be read; the rest of the record is kept."""

    file: str
    where: str
    problems: list[ImportProblem] = field(factory=list)

    def try_read(self, read: Callable[..., Result | None], *arguments: Any) -> Result | None:
        """Return what `read` makes of a value, None and a problem if it cannot."""
        try:
            return read(*arguments)
        except (ValueError, InvalidInput, RecursionError) as error:
            self.add(str(error))
            return None

    def add(self, what: str) -> None:
        """Note a value that cannot be read."""
        self.problems.append(ImportProblem(file=self.file, where=self.where, what=what))


def naming_of(*names: str) -> Naming:
    """Return whether one of the names that a source gives is a name that nothing else has."""
    is_unique = any(_UNIQUE.fullmatch(name) for name in names)
    return Naming.UNIQUE if is_unique else Naming.SOURCE


def read_time_text(value: object, zone: str | None) -> datetime | None:
    """Return a time in ISO 8601, None for none.

    Raises:
        ValueError: it cannot be read.
    """
    if value in (None, ""):
        return None
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.60} is no time")
    return read_moment(value, zone)


def read_seconds(value: object) -> datetime | None:
    """Return a time in seconds, or milliseconds, since 1970; None for none.

    Raises:
        ValueError: it cannot be read.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r:.60} is no time in seconds")
    seconds = value / 1000 if abs(value) >= _MILLISECONDS_FROM else value
    if not 0 <= seconds <= _MAX_SECONDS:
        raise ValueError(f"the time {value!r:.60} lies outside the years 1970 to 9999")
    return datetime.fromtimestamp(seconds, UTC)


def format_version_error(found: object, known: int) -> InvalidInput:
    """Return the error for an export of a newer version."""
    return InvalidInput(
        f"the format has version {found!r:.40}, and this version of infinite-memory reads {known}:"
        " update infinite-memory"
    )


def text_of(fields: Mapping[str, Any], name: str) -> str | None:
    """Return a text that is not blank, None for none.

    Raises:
        ValueError: it is no text.
    """
    value = fields.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise ValueError(f"{name} is {value!r:.60}, and no text")
    return storable(value) if value.strip() else None
