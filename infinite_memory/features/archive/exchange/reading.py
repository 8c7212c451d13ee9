"""What the readers of formats share: their options, and reading lines and JSON with limits."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import IO, Any, TypeAlias

from attrs import frozen

from infinite_memory.core.config import Limits
from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.timestamps import read_moment
from infinite_memory.features.archive.exchange.records import Item
from infinite_memory.features.archive.exchange.source import Source

_MAX_SECONDS = 253_402_300_799  # the end of the year 9999
_MILLISECONDS_FROM = 100_000_000_000


@frozen(kw_only=True)
class Options:
    """How to read a source: the limits of a memory, and the zone of times without an offset."""

    limits: Limits
    zone: str | None

    @property
    def max_line_bytes(self) -> int:
        """The length of the longest line; an escape of JSON takes up to six bytes per byte."""
        return 6 * (self.limits.max_text_bytes + self.limits.max_context_bytes) + (1 << 20)


FormatReader: TypeAlias = Callable[[Source, Options], Iterator[Item]]
"""Yields the records of a source, and a problem for every record that cannot be read."""

Recognise: TypeAlias = Callable[[Source], bool]
"""Returns whether a source is in a format, by the beginnings of its files."""


def read_lines(stream: IO[bytes], max_bytes: int) -> Iterator[tuple[int, bytes]]:
    """Yield the lines with their numbers; of a longer line only the first bytes.

    A byte order mark at the beginning is left out.
    """
    number = 0
    while line := stream.readline(max_bytes + 1):
        number += 1
        whole = line
        while not whole.endswith(b"\n") and len(whole) > max_bytes:
            whole = stream.readline(max_bytes + 1)
            if not whole:
                break
        yield number, line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line


def parse_object(line: bytes, max_bytes: int) -> dict[str, Any]:
    """Return the JSON object on a line.

    Raises:
        ValueError: there is none, or the line is too long.
    """
    if len(line) > max_bytes:
        raise ValueError(f"the line is longer than {max_bytes:,} bytes")
    try:
        value = json.loads(line.decode())
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} of the line is not UTF-8") from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    except ValueError as error:
        raise ValueError(f"it is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise ValueError(f"it is not a JSON object, but {value!r:.60}")
    return value


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


def storable(text: str) -> str:
    """Return a text without NUL and lone surrogates, which no storage takes."""
    return text.replace("\0", "").encode(errors="replace").decode()


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
