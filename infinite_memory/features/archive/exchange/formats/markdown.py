"""Markdown: a section for each memory, with its fields in a comment, made for git and for people.

A file begins with front matter that names the format, and the scope or the day that it holds. In a
section a heading is followed by `<!-- memory: {...} -->`, the text as it is, and `<!-- end -->`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any

from attrs import define, field

from infinite_memory.core.files.json_lines import read_lines
from infinite_memory.core.values.exchange import ImportProblem
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.scope import Scope
from infinite_memory.core.values.timestamps import in_zone
from infinite_memory.features.archive.container.layout import RecordType
from infinite_memory.features.archive.exchange.formats.fields import filled_fields, read_fields
from infinite_memory.features.archive.exchange.formats.jsonl import ENCODER
from infinite_memory.features.archive.exchange.reading import (
    Options,
    format_version_error,
)
from infinite_memory.features.archive.exchange.records import Item, ScopeRecord
from infinite_memory.features.archive.exchange.source import Source
from infinite_memory.features.archive.transfer.records import decode_record

MARK = "infinite_memory_export"
VERSION = 1
_FENCE = "---"
_BEGIN = re.compile(r"<!-- memory: (\{.*\}) -->")
_END = "<!-- end -->"
# A line of a text that would be taken for one of ours gets a backslash, as does one that has some.
_GUARDED = re.compile(r"\\*<!-- (?:memory: |end -->)")
_HEADING = re.compile(r"#{1,2} ")
_MOST_HEAD_LINES = 100


def _write_head(fields: Mapping[str, Any], title: str) -> str:
    # A JSON value is also a value of YAML.
    lines = [f"{name}: {ENCODER.encode(value)}" for name, value in fields.items()]
    return "\n".join([_FENCE, f"{MARK}: {VERSION}", *lines, _FENCE, "", f"# {title}", "", ""])


def scope_head(scope: Scope) -> str:
    """Return the beginning of the file of a scope."""
    fields = scope.to_dict()
    return _write_head({"scope": fields.pop("name"), **fields}, _put_on_one_line(scope.name))


def day_head(day: str) -> str:
    """Return the beginning of the file of a day, such as 2026-06-05."""
    return _write_head({"day": day}, day)


def section(memory: Memory, *, zone: str | None, scope: str | None) -> str:
    """Return the section of a memory, in the file of `scope` or, for None, of a day."""
    fields = filled_fields(memory)
    if scope is None:
        fields["scope"] = memory.scope
    elif memory.scope == scope:
        fields.pop("scope", None)
    # "-->" would end the comment.
    comment = ENCODER.encode(fields).replace(">", "\\u003e")
    time = f"{in_zone(memory.happened_at, zone):%Y-%m-%d %H:%M}"
    lines = [f"\\{line}" if _GUARDED.match(line) else line for line in memory.text.split("\n")]
    heading = f"## {time} · {_put_on_one_line(memory.heading)}"
    return "\n".join([heading, "", f"<!-- memory: {comment} -->", "", *lines, "", _END, "", ""])


def _put_on_one_line(text: str) -> str:
    return " ".join(text.split())


def is_markdown_export(source: Source, file: str) -> bool:
    """Return whether a Markdown file is one that `scope_head` or `day_head` begins."""
    start = f"{_FENCE}\n{MARK}: ".encode()
    return source.head(file).replace(b"\r\n", b"\n").startswith(start)


def read_markdown(source: Source, files: Sequence[str], options: Options) -> Iterator[Item]:
    """Yield the memories of an export.

    What a person wrote between the sections is a new memory.

    Raises:
        InvalidInput: a newer version wrote a file.
        OSError: a file cannot be read.
    """
    for file in files:
        with source.open(file) as stream:
            yield from _read_file(stream, source.show(file), options)


def _read_file(stream: IO[bytes], file: str, options: Options) -> Iterator[Item]:
    lines = _decode_lines(stream, options)
    first = next(lines, (0, ""))[1]
    if first != _FENCE:
        return
    head = dict(_read_head(lines))
    if MARK not in head:
        return
    if head[MARK] != VERSION:
        raise format_version_error(head[MARK], VERSION)
    scope = head.get("scope")
    if isinstance(scope, str):
        yield _read_scope(head, file)
    reader = _Sections(file=file, scope=scope, options=options)
    for number, line in lines:
        yield from reader.add(number, line)
    yield from reader.finish()


def _decode_lines(stream: IO[bytes], options: Options) -> Iterator[tuple[int, str]]:
    has_returns = False
    for number, raw in read_lines(stream, options.max_line_bytes):
        line = raw.removesuffix(b"\n")
        if number == 1:
            has_returns = line.endswith(b"\r")
        if has_returns:
            line = line.removesuffix(b"\r")
        yield number, line.decode(errors="replace")


def _read_head(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[str, Any]]:
    for number, line in lines:
        if line == _FENCE or number > _MOST_HEAD_LINES:
            return
        name, _, value = line.partition(": ")
        try:
            yield name, json.loads(value)
        except (ValueError, RecursionError):
            yield name, value


def _read_scope(head: Mapping[str, Any], file: str) -> Item:
    names = ("description", "parent", "keywords", "active", "sensitivity")
    default = Scope(name=str(head["scope"])).to_dict()
    fields = {**default, **{name: head[name] for name in names if name in head}}
    try:
        scope = decode_record(RecordType.SCOPE, ENCODER.encode(fields).encode())
    except ValueError as error:
        return ImportProblem(file=file, where="front matter", what=str(error))
    assert isinstance(scope, Scope)
    return ScopeRecord(file=file, where="front matter", scope=scope)


@define
class _Sections:
    """Collects the lines of sections, and the lines between them."""

    file: str
    scope: str | None
    options: Options
    _fields: str | None = None
    _start: int = 0
    _lines: list[str] = field(factory=list)
    _heading: str | None = None
    _counts: Counter[str] = field(factory=Counter)

    def add(self, number: int, line: str) -> Iterator[Item]:
        """Add a line; yield the memory that it ends."""
        begin = _BEGIN.fullmatch(line)
        if begin is not None:
            self._heading = None
            yield from self.finish()
            self._fields, self._start = begin[1], number
        elif line == _END and self._fields is not None:
            yield self._read_section(self._fields)
            self._fields, self._lines, self._heading = None, [], None
        elif self._fields is None and _HEADING.match(line):
            yield from self.finish()
            self._heading, self._start = line, number
        else:
            if self._fields is None and not self._lines and self._heading is None:
                self._start = number
            self._lines.append(line)

    def finish(self) -> Iterator[Item]:
        """Yield the lines collected so far."""
        text = "\n".join(self._lines).strip()
        if self._fields is not None:
            yield self._make_problem("the section has no line <!-- end -->")
        elif text:
            # The heading of a section that a person wrote says what it is about.
            written = text if self._heading is None else f"{self._heading}\n\n{text}"
            yield self._read_written(written)
        self._fields, self._lines, self._heading = None, [], None

    def _make_problem(self, what: str) -> ImportProblem:
        return ImportProblem(file=self.file, where=f"line {self._start}", what=what)

    def _read_section(self, fields: str) -> Item:
        lines = self._lines
        lines = lines[1:] if lines and not lines[0] else lines
        lines = lines[:-1] if lines and not lines[-1] else lines
        text = "\n".join(
            [
                line[1:] if _GUARDED.match(line[1:]) and line.startswith("\\") else line
                for line in lines
            ]
        )
        try:
            values = json.loads(fields)
            if self.scope is not None:
                values.setdefault("scope", self.scope)
            return read_fields(
                values,
                text,
                file=self.file,
                where=f"line {self._start}",
                zone=self.options.zone,
                counts=self._counts,
            )
        except (ValueError, TypeError, KeyError, RecursionError, AttributeError) as error:
            return self._make_problem(str(error))

    def _read_written(self, text: str) -> Item:
        values = {} if self.scope is None else {"scope": self.scope}
        return read_fields(
            values,
            text,
            file=self.file,
            where=f"line {self._start}",
            zone=self.options.zone,
            counts=self._counts,
        )
