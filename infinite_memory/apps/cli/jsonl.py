"""Memories from a file of JSON lines, or from the output of `list --json`.

Everything is read and checked before any memory is stored.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, Any

from attrs import evolve, frozen

from infinite_memory.apps.cli.fields import TIMES, json_object
from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.draft import Draft
from infinite_memory.core.values.ids import give_import_ids
from infinite_memory.core.values.memory import Kind, Status
from infinite_memory.core.values.timestamps import read_moment

_POSITION = re.compile(r"memory ([0-9]+) of [0-9]+: ")
_BOM = b"\xef\xbb\xbf"
_MEMORY_START = b"    {"
# "Anna Weber: see you at ten": one to three words with capitals, a colon and a space.
_SPEAKER = re.compile(r"\s*(?P<name>[^\W\d_][\w.'’-]{0,30}(?: [^\W\d_][\w.'’-]{0,30}){0,2}): \s*\S")
_LEAST_MESSAGES = 2
_OF_THE_STORE = ("stored_at", "status", "revision")


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
    """Return the length of the longest line.

    An escape of JSON takes up to six bytes per byte; 1 MiB is for the other fields.
    """
    return 6 * (max_text_bytes + max_context_bytes) + (1 << 20)


def read_drafts(
    file: IO[bytes], name: str, *, defaults: Mapping[str, Any], zone: str | None, max_bytes: int
) -> Drafts:
    """Read a draft from every line that is not blank; `defaults` fill missing fields.

    A document of `list --json`, or several in a row, holds the memories of a page each, newest
    first; they are put in the order in which they happened. A memory without an id gets one by
    `give_import_ids`, so that the same file adds nothing when it is read again. Times are read as
    `read_moment` reads them in `zone`. No line may be longer than `max_bytes`.

    Raises:
        InvalidInput: a line cannot be used; the message begins with `name` and its number.
    """
    items: list[tuple[Draft, int]] = []
    listed: list[tuple[Draft, int]] = []
    lines = _lines(file, max_bytes)
    for number, line in lines:
        try:
            _check_length(line, max_bytes)
            if line.strip() == b"{":
                page = [line, *_rest_of_document(lines, max_bytes)]
                listed += _page_drafts(_parse(b"".join(page)), page, number, defaults, zone)
            elif line.strip():
                fields = _parse(line)
                if _is_page(fields):
                    listed += _page_drafts(fields, [line], number, defaults, zone)
                else:
                    items.append((_draft(fields, defaults, zone), number))
        except InvalidInput as error:
            raise InvalidInput(f"{name}:{number}: {error}") from error
    items += reversed(listed)
    drafts = _name_speakers([draft for draft, _ in items])
    return Drafts(
        name=name, items=list(give_import_ids(drafts)), lines=[number for _, number in items]
    )


def _name_speakers(drafts: Sequence[Draft]) -> list[Draft]:
    """Return `drafts` with the speakers of messages whose texts begin like "Name: text".

    A name that begins a single message of the file may be a heading and is left alone, and so are
    messages with a speaker and other kinds. Texts stay as they are.
    """
    names = [_leading_name(draft) for draft in drafts]
    counts = Counter(names)
    return [
        evolve(draft, speaker=name) if name and counts[name] >= _LEAST_MESSAGES else draft
        for draft, name in zip(drafts, names, strict=True)
    ]


def _leading_name(draft: Draft) -> str | None:
    if draft.kind != Kind.MESSAGE or draft.speaker is not None or not isinstance(draft.text, str):
        return None
    match = _SPEAKER.match(draft.text)
    if match is None:
        return None
    name = match["name"]
    words = name.split()
    has_capitals = all(word[0].isupper() or not word[0].islower() for word in words)
    return name if has_capitals and not name.isupper() else None


def _lines(file: IO[bytes], max_bytes: int) -> Iterator[tuple[int, bytes]]:
    for number, line in enumerate(iter(lambda: file.readline(max_bytes + 1), b""), 1):
        yield number, line.removeprefix(_BOM) if number == 1 else line


def _check_length(line: bytes, max_bytes: int) -> None:
    if len(line) > max_bytes:
        raise InvalidInput(f"the line is longer than {max_bytes:,} bytes: split the text")


def _rest_of_document(lines: Iterable[tuple[int, bytes]], max_bytes: int) -> Iterator[bytes]:
    """Yield the lines of an indented document after its first line, up to the closing brace."""
    for _, line in lines:
        _check_length(line, max_bytes)
        yield line
        if line.rstrip() == b"}":
            return


def _is_page(fields: object) -> bool:
    """Return whether `fields` are a document of `list --json`."""
    return isinstance(fields, dict) and isinstance(fields.get("memories"), list)


def _page_drafts(
    page: Any, lines: Sequence[bytes], first: int, defaults: Mapping[str, Any], zone: str | None
) -> Iterator[tuple[Draft, int]]:
    """Yield a draft of every memory of a page that was not forgotten, with the number of its line.

    Raises:
        InvalidInput: a memory cannot be used, or `page` is not a page.
    """
    if not _is_page(page):
        raise InvalidInput(
            "it is neither a memory on a line of its own, nor the output of `infinite-memory list "
            f"--json`, but {page!r:.80}"
        )
    starts = [first + n for n, line in enumerate(lines) if line.rstrip() == _MEMORY_START]
    memories = page["memories"]
    if len(starts) != len(memories):
        starts = [first] * len(memories)
    for fields, number in zip(memories, starts, strict=True):
        if not isinstance(fields, dict):
            raise InvalidInput(f"'memories' holds {fields!r:.80}, which is not an object")
        if fields.get("status") != Status.FORGOTTEN:
            kept = {key: value for key, value in fields.items() if key not in _OF_THE_STORE}
            yield _draft(kept, defaults, zone), number


def _parse(content: bytes) -> Any:
    try:
        return json.loads(content.decode(), object_pairs_hook=json_object)
    except InvalidInput:
        raise
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"byte {content[error.start]:#04x} at position {error.start} is not UTF-8:"
            " convert the file first"
        ) from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"it is not JSON: {error}") from error


def _draft(fields: Any, defaults: Mapping[str, Any], zone: str | None) -> Draft:
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
