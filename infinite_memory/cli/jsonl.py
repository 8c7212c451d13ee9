"""Memories from a file of JSON lines: every line is read and checked before any is stored."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any

from attrs import frozen

from infinite_memory.cli.fields import TIMES, json_object
from infinite_memory.errors import InvalidInput
from infinite_memory.model.draft import Draft
from infinite_memory.model.timestamps import read_moment

__all__ = ["Drafts", "max_line_bytes", "read_drafts"]

_POSITION = re.compile(r"memory ([0-9]+) of [0-9]+: ")
_BOM = b"\xef\xbb\xbf"


@frozen(kw_only=True)
class Drafts:
    """The drafts in a file, with the numbers of their lines."""

    name: str
    items: list[Draft]
    lines: list[int]

    @contextmanager
    def name_lines(self) -> Iterator[None]:
        """Name the line of the file in an error that has the position of a memory.

        Raises:
            InvalidInput: the same error, with the file and the line.
        """
        try:
            yield
        except InvalidInput as error:
            position = _POSITION.match(str(error))
            if position is None:
                raise
            rest = str(error)[position.end() :]
            raise type(error)(f"{self.name}:{self.lines[int(position[1]) - 1]}: {rest}") from error


def max_line_bytes(*, max_text_bytes: int, max_context_bytes: int) -> int:
    """Return the longest line: JSON takes up to six bytes for a byte, and 1 MiB for the rest."""
    return 6 * (max_text_bytes + max_context_bytes) + (1 << 20)


def read_drafts(
    file: IO[bytes], name: str, *, defaults: Mapping[str, Any], zone: str | None, max_bytes: int
) -> Drafts:
    """Read a draft from each line that is not blank; `defaults` fill the fields a line leaves out.

    Times are read as `read_moment` reads them in `zone`. No line may be longer than `max_bytes`.

    Raises:
        InvalidInput: a line cannot be used; the message begins with `name` and its number.
    """
    items: list[Draft] = []
    lines: list[int] = []
    for number, line in enumerate(iter(lambda: file.readline(max_bytes + 1), b""), 1):
        try:
            if len(line) > max_bytes:
                raise InvalidInput(f"the line is longer than {max_bytes:,} bytes: split the text")
            content = line.removeprefix(_BOM) if number == 1 else line
            if content.strip():
                items.append(_draft(content, defaults, zone))
                lines.append(number)
        except InvalidInput as error:
            raise InvalidInput(f"{name}:{number}: {error}") from error
    return Drafts(name=name, items=items, lines=lines)


def _draft(content: bytes, defaults: Mapping[str, Any], zone: str | None) -> Draft:
    try:
        fields = json.loads(content.decode(), object_pairs_hook=json_object)
    except InvalidInput:
        raise
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"byte {content[error.start]:#04x} at position {error.start} is not UTF-8:"
            " convert the file first"
        ) from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"it is not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise InvalidInput(f'it is not an object such as {{"text": "..."}}, but {fields!r:.80}')
    for field in TIMES:
        if fields.get(field) is not None:
            fields[field] = _moment(field, fields[field], zone)
    return Draft.of({**defaults, **fields})


def _moment(field: str, value: object, zone: str | None) -> Any:
    if not isinstance(value, str):
        raise InvalidInput(f"{field} must be a text such as 2026-06-05T14:30, not {value!r:.80}")
    return read_moment(value, zone)
