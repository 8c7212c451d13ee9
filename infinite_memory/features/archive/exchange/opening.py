"""Opens what a source holds: text of any encoding, and JSON as an array, lines or one object."""

from __future__ import annotations

import codecs
import io
import json
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import chain
from typing import IO, Any, TypeAlias

from attrs import frozen

from infinite_memory.core.errors import ConfigurationError, requiring
from infinite_memory.core.files.json_lines import read_lines

_CHUNK_BYTES = 1 << 18
_MAX_LINE_BYTES, _LONG_BYTES = 128 << 20, 16 << 20
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_BARE = "windows-1252"
_FALLBACK = "infinite-memory.windows-1252"
_SAMPLE_BYTES = 256
_MOST_FAULTS = 100
# The names under which a whole document holds its records, and those that come together.
_HOLDERS = (
    *("conversations", "chats", "memories", "results", "entities", "relations", "data"),
    *("items", "records", "notes"),
)
_WITH = {"entities": ["relations"], "relations": ["entities"], "results": ["relations"]}
# What an object of its own has, and one that holds others has not.
_OWN = frozenset({"text", "content", "memory", "mapping", "chat_messages", "name", "type"})
_BLANK = b" \t\r\n"
# Also the brackets of an array whose values stand in lines.
_BETWEEN = re.compile(r"[\s,\[\]]*+")
_DECODER = json.JSONDecoder()


def _decode_bare(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    wrong = error.object[error.start : error.end]
    return wrong.decode(_BARE, errors="replace"), error.end


codecs.register_error(_FALLBACK, _decode_bare)


class DecodedStream(io.RawIOBase):
    """The text of a stream of bytes as UTF-8, without a byte order mark.

    `guess` is the encoding that the bytes were taken for, "" if they say it or are UTF-8.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        """Look at the beginning of `stream`, which the caller closes."""
        self.guess = ""
        self._stream = stream
        head = stream.read(_CHUNK_BYTES)
        mark, encoding = next(((m, name) for m, name in _MARKS if head.startswith(m)), (b"", ""))
        if not mark:
            encoding = self.guess = _guess_by_zeros(head[:_SAMPLE_BYTES])
        self._waiting = head[len(mark) :]
        self._other = "replace" if encoding not in ("", "utf-8") else _FALLBACK
        self._decoder = codecs.getincrementaldecoder(encoding or "utf-8")()
        self._ready = memoryview(b"")
        self._has_ended = False

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer, and return how many bytes, 0 at the end."""
        while not self._ready and not self._has_ended:
            chunk = self._waiting or self._stream.read(_CHUNK_BYTES)
            self._waiting = b""
            self._has_ended = not chunk
            self._ready = memoryview(self._decode(chunk).encode(errors="replace"))
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _decode(self, chunk: bytes) -> str:
        try:
            return self._decoder.decode(chunk, self._has_ended)
        except UnicodeDecodeError:
            self.guess = self.guess or (_BARE if self._other == _FALLBACK else "damaged text")
            self._decoder.errors = self._other
            return self._decoder.decode(chunk, self._has_ended)


def _guess_by_zeros(sample: bytes) -> str:
    """Return the encoding in which most characters have a zero, as none has in UTF-8."""
    for offset, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        half = sample[offset::2]
        if len(half) > 1 and half.count(0) * 2 > len(half):
            return name
    return ""


@frozen
class Value:
    """A value of JSON, where it stands in its file, and the path of the file as errors name it."""

    where: str
    value: Any
    file: str = ""


@frozen
class Fault:
    """What cannot be read in a file, where it stands there, and the reason."""

    where: str
    what: str


Open: TypeAlias = Callable[[], AbstractContextManager[IO[bytes]]]
"""Opens a file anew, as UTF-8."""


def read_values(open_file: Open) -> Iterator[Value | Fault]:
    """Yield the records of a file of JSON, which may stand in an array, in lines or in an object.

    An object that only holds others, as under "conversations" or "results", is opened. A damaged
    line costs itself alone; behind damage in an array that has no lines the reading ends.

    Raises:
        OSError: the file cannot be read.
        ConfigurationError: the package that reads a long array is not installed.
    """
    with open_file() as stream:
        first = _BLANK
        while first and not first.strip(_BLANK):
            first = stream.readline(_LONG_BYTES)
        # A whole object on the first line, and so on the others; a very long one may hold them all.
        is_object = first.lstrip(_BLANK).startswith(b"{") and len(first) < _LONG_BYTES
        if is_object and isinstance(next(_split_line(first), None), dict):
            yield from _read_lines(stream, first)
            return
    if first.lstrip(_BLANK).startswith(b"["):
        yield from _read_array(open_file, "item", "")
    else:
        yield from _read_document(open_file)


def _split_line(line: bytes) -> Iterator[Any]:
    """Yield the values on a line, of which two may be glued together; a Fault for the rest."""
    text = line.decode(errors="replace")
    at = 0
    while True:
        at = _BETWEEN.match(text, at).end()  # type: ignore[union-attr]  # it matches nothing too
        if at == len(text):
            return
        try:
            value, at = _DECODER.raw_decode(text, at)
        except RecursionError:
            yield Fault("", "it is nested too deeply")
            return
        except ValueError as error:
            yield Fault("", f"it is not JSON: {error}")
            return
        yield value


def _read_lines(stream: IO[bytes], first: bytes = b"") -> Iterator[Value | Fault]:
    number = 0
    lines = (line for _, line in read_lines(stream, _MAX_LINE_BYTES))
    for number, line in enumerate(chain([first] if first else [], lines), 1):
        where = f"line {number}"
        if len(line) > _MAX_LINE_BYTES:
            yield Fault(where, f"the line is longer than {_MAX_LINE_BYTES:,} bytes")
            continue
        for value in _split_line(line):
            if isinstance(value, Fault):
                yield Fault(where, value.what)
            else:
                yield from _open_holder(value, where)


def _open_holder(value: Any, where: str) -> Iterator[Value]:
    """Yield the values that an object holds, or else the value itself."""
    fields = value if isinstance(value, dict) and _OWN.isdisjoint(value) else {}
    names = [name for name in _HOLDERS if isinstance(fields.get(name), list)]
    if not names:
        yield Value(where, value)
    for name in names:
        for index, item in enumerate(value[name]):
            yield Value(
                f"{where}: {name}[{index}]" if where != "line 1" else f"{name}[{index}]", item
            )


def _read_array(open_file: Open, path: str, name: str) -> Iterator[Value | Fault]:
    """Yield the values of the array at a path, one by one, so that a large file takes no memory."""
    where, count, value = "the beginning", 0, None
    with open_file() as stream:
        try:
            for count, value in enumerate(_iterate(stream, path), 1):
                where = f"{name}[{count - 1}]"
                yield Value(where, value)
            return
        except ConfigurationError:
            raise
        except ValueError as error:
            fault = Fault(f"behind {where}", str(error))
    yield from _read_damaged(open_file, fault, count, value) if path == "item" else [fault]


def _iterate(stream: IO[bytes], path: str) -> Iterator[Any]:
    with requiring("import", "to read a long array", "convert it to JSON Lines"):
        import ijson  # noqa: PLC0415

    try:
        yield from ijson.items(stream, path, use_float=True)
    except ijson.JSONError as error:
        raise ValueError(f"it is not JSON from here on: {error}") from error
    except (UnicodeDecodeError, RecursionError, json.JSONDecodeError) as error:
        raise ValueError(f"it cannot be read from here on: {error}") from error


def _read_document(open_file: Open) -> Iterator[Value | Fault]:
    """Yield the records of an object on several lines; of lines, the first of which is damaged."""
    name = _find_holder(open_file)
    if name is None:
        found = list(_read_array(open_file, "", ""))
        faults = [each for each in found if isinstance(each, Fault)]
        if faults:
            yield from _read_damaged(open_file, faults[0])
        else:
            yield from (Value("", each.value) for each in found if isinstance(each, Value))
        return
    for holder in (name, *_WITH.get(name, ())):
        yield from _read_array(open_file, f"{holder}.item", holder)


def _find_holder(open_file: Open) -> str | None:
    """Return the first name under which an object holds its records, None for none."""
    with requiring("import", "to read a long object", "convert it to JSON Lines"):
        import ijson  # noqa: PLC0415

    seen: set[str] = set()
    with open_file() as stream:
        try:
            for prefix, event, value in ijson.parse(stream, use_float=True):
                if event == "start_array" and prefix in _HOLDERS and _OWN.isdisjoint(seen):
                    return str(prefix)
                if not prefix and event == "map_key":
                    seen.add(value)
        except (ijson.JSONError, ValueError, RecursionError):
            return None
    return None


def _read_damaged(
    open_file: Open, fault: Fault, count: int = 0, last: Any = None
) -> Iterator[Value | Fault]:
    """Yield what the lines of a file hold that is no JSON as a whole, or else the one fault.

    The first `count` values, up to `last`, were read already.
    """
    faults: list[Fault] = []
    seen, is_lost = 0, True
    with open_file() as stream:
        for each in _read_lines(stream):
            if isinstance(each, Fault):
                faults += [each] if len(faults) < _MOST_FAULTS else []
            elif isinstance(each.value, dict):
                seen += 1
                if seen == count and each.value != last:
                    break  # the values do not stand in lines
                if seen > count:
                    yield from faults
                    yield each
                    faults, is_lost = [], False
        else:
            is_lost = is_lost and (bool(faults) or seen < max(count, 1))
    yield from [fault] if is_lost else faults
