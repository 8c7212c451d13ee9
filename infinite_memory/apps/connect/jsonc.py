"""Changes a member of a JSON text and leaves the rest, character by character, as it is.

Comments and trailing commas, which the files of editors have, are understood and kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from enum import StrEnum
from functools import lru_cache
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, NoReturn

from attrs import frozen

from infinite_memory.core.errors import ConfigurationError

_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_COMMENTS = re.compile(rf"{_STRING}|//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_TRAILING_COMMAS = re.compile(rf"{_STRING}|,(?=[ \t\r\n]*[}}\]])", re.DOTALL)
_NOT_LINE_END = re.compile(r"[^\r\n]")
_SPACE = " \t\r\n"
_DECODER = json.JSONDecoder()


class Extra(StrEnum):
    """What a text may hold beyond JSON, and still be read by some clients."""

    BYTE_ORDER_MARK = "a byte order mark"
    COMMENT = "a comment"
    TRAILING_COMMA = "a comma before a closing bracket"


@frozen(kw_only=True)
class _Member:
    key: str
    start: int
    value_start: int
    end: int


@frozen(kw_only=True)
class _Object:
    """An object in a text: from its brace to the position after the closing brace."""

    start: int
    end: int
    members: tuple[_Member, ...]

    def find(self, key: str) -> _Member | None:
        """Return the last member of the name, which is the one that counts."""
        return next((member for member in reversed(self.members) if member.key == key), None)


def parse_json(text: str) -> dict[str, Any]:
    """Return the object that a text holds; that of a text without any value is empty.

    Raises:
        ConfigurationError: it is no JSON, or no object; the message says where.
    """
    plain = _make_plain(text)
    if not plain.strip(_SPACE):
        return {}
    try:
        value = json.loads(plain, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise ConfigurationError(
            f"no JSON at line {error.lineno}, column {error.colno}: {error.msg}"
        ) from error
    except RecursionError as error:
        raise ConfigurationError("no JSON that can be read: it is too deep") from error
    if not isinstance(value, dict):
        raise ConfigurationError(f"no JSON object, but {type(value).__name__}")
    return value


def find_extras(text: str) -> Iterator[tuple[Extra, int]]:
    """Yield which extras a text without a byte order mark holds, with the line of the first."""
    without, plain = _blank_comments(text), _make_plain(text)
    for extra, one, other in (
        (Extra.COMMENT, text, without),
        (Extra.TRAILING_COMMA, without, plain),
    ):
        if one != other:
            first = next(index for index, letter in enumerate(one) if letter != other[index])
            yield extra, text.count("\n", 0, first) + 1


def remove_extras(text: str, extras: Collection[Extra]) -> str:
    """Return a text without these extras; a line that held only a comment goes with it."""
    without, plain = _blank_comments(text), _make_plain(text)
    if Extra.TRAILING_COMMA in extras:
        kept = [index for index, letter in enumerate(without) if letter == plain[index]]
        text = "".join(text[index] for index in kept)
        without = "".join(without[index] for index in kept)
    if Extra.COMMENT not in extras:
        return text
    lines = []
    for line, bare in zip(text.split("\n"), without.split("\n"), strict=True):
        end = "\r" if line.endswith("\r") else ""
        if line == bare:
            lines.append(line)
        elif bare.strip(_SPACE):
            lines.append(bare.rstrip(_SPACE) + end)
    return "\n".join(lines)


def set_member(text: str, path: tuple[str, ...], values: Mapping[str, Any]) -> str:
    """Set members of the object at `path`, which is made where it is not; return the new text.

    All further members of the object stay. A value that a member has already is not written again.
    The text must be readable by `parse_json`, and the values on the path must be objects, except
    for the last: that is replaced if it is none.
    """
    if not _blank_comments(text).strip(_SPACE):
        body = json.dumps(_nest_value(path, dict(values)), ensure_ascii=False, indent=2)
        newline = _find_newline(text)
        head = text.rstrip(_SPACE)
        return (head + newline if head else "") + body.replace("\n", newline) + newline
    for depth in range(len(path)):
        found = _find_object(text, path[: depth + 1])
        if found is None:
            parent = path[:depth]
            value = _nest_value(path[depth + 1 :], dict(values))
            return _write_value(text, parent, path[depth], value)
    for key, value in values.items():
        text = _write_value(text, path, key, value)
    return text


def remove_member(text: str, path: tuple[str, ...]) -> str:
    """Remove the member at `path`, with its comma and its line; return the new text.

    Where the object has several members of the name, all are removed.
    """
    while True:
        parent = _find_object(text, path[:-1])
        member = parent.find(path[-1]) if parent else None
        if parent is None or member is None:
            return text
        text = _remove_member(text, parent, member)


# A step asks for them several times; a text of many megabytes takes a second each.
@lru_cache(maxsize=2)
def _blank_comments(text: str) -> str:
    """Return the text with spaces in the place of comments, so that positions stay."""
    return _COMMENTS.sub(
        lambda match: match[0] if match[0][0] == '"' else _NOT_LINE_END.sub(" ", match[0]), text
    )


@lru_cache(maxsize=2)
def _make_plain(text: str) -> str:
    """Return the text as plain JSON: with spaces for trailing commas too."""
    without = _blank_comments(text)

    def blank(match: re.Match[str]) -> str:
        if match[0][0] == '"':
            return match[0]
        before = match.start() - 1
        while before >= 0 and without[before] in _SPACE:
            before -= 1
        return "," if without[before] in "{[," else " "  # a comma after nothing is an error

    return _TRAILING_COMMAS.sub(blank, without)


def _refuse_constant(name: str) -> NoReturn:
    raise ConfigurationError(f"no JSON: {name} is no value of it")


def _nest_value(path: tuple[str, ...], value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _find_object(text: str, path: tuple[str, ...]) -> _Object | None:
    """Return the object at a path; None if it is not there, or is another value."""
    plain = _make_plain(text)
    position = _skip_space(plain, 0)
    for key in path:
        member = _read_object(plain, position).find(key) if plain[position] == "{" else None
        if member is None:
            return None
        position = member.value_start
    return _read_object(plain, position) if plain[position] == "{" else None


def _read_object(plain: str, start: int) -> _Object:
    """Return where the members of an object are; nested values are skipped by the parser in C."""
    members = []
    position = _skip_space(plain, start + 1)
    while plain[position] != "}":
        if plain[position] == ",":
            position = _skip_space(plain, position + 1)
        key_start = position
        key, position = scanstring(plain, position + 1, True)
        value_start = _skip_space(plain, _skip_space(plain, position) + 1)
        _, end = _DECODER.raw_decode(plain, value_start)
        members.append(_Member(key=key, start=key_start, value_start=value_start, end=end))
        position = _skip_space(plain, end)
    return _Object(start=start, end=position + 1, members=tuple(members))


def _skip_space(plain: str, position: int) -> int:
    while plain[position] in _SPACE:
        position += 1
    return position


def _write_value(text: str, path: tuple[str, ...], key: str, value: Any) -> str:
    found = _find_object(text, path)
    assert found is not None, "the path was looked up before"
    member = found.find(key)
    if member is None:
        return _insert_member(text, found, key, value)
    plain = _make_plain(text)
    if json.loads(plain[member.value_start : member.end]) == value:
        return text
    written = _format_value(text, value, _find_indent(text, member.start), found)
    return text[: member.value_start] + written + text[member.end :]


def _insert_member(text: str, found: _Object, key: str, value: Any) -> str:
    """Add a member after the last member, in the style of the object."""
    close = found.end - 1
    content = text[found.start + 1 : close].rstrip(_SPACE)
    head, tail = text[: found.start + 1], text[close:]
    is_inline = bool(found.members) and "\n" not in text[found.start : found.end]
    comma = after = ""
    if found.members:
        last = found.members[-1].end - (found.start + 1)
        has_comma = "," in _blank_comments(text)[found.members[-1].end : close]
        comma, after = ("", ",") if has_comma else (",", "")
        content = content[:last] + comma + content[last:]
    if is_inline:
        written = f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
        space = text[found.start + 1 : close][len(text[found.start + 1 : close].rstrip(_SPACE)) :]
        return f"{head}{content} {written}{after}{space}{tail}"
    newline = _find_newline(text)
    outer = _find_indent(text, found.start)
    if found.members and _begins_line(text, found.members[0].start):
        inner = _find_indent(text, found.members[0].start)
    else:
        inner = outer + _find_unit(text)
    written = f"{json.dumps(key)}: {_format_value(text, value, inner, found)}"
    return f"{head}{content}{newline}{inner}{written}{after}{newline}{outer}{tail}"


def _remove_member(text: str, found: _Object, member: _Member) -> str:
    index = found.members.index(member)
    is_last = index == len(found.members) - 1
    start, end = member.start, member.end
    if len(found.members) == 1:
        rest = text[found.start + 1 : start] + text[end : found.end - 1]
        if not rest.strip(_SPACE + ","):
            return text[: found.start + 1] + text[found.end - 1 :]
    following = found.end - 1 if is_last else found.members[index + 1].start
    comma = _blank_comments(text).find(",", end, following)
    if comma >= 0:
        end = comma + 1
    elif index > 0:
        # The comma before it would be left over.
        before = found.members[index - 1].end
        position = _blank_comments(text).index(",", before, start)
        shorter = text[:position] + text[position + 1 :]
        return _cut_stretch(shorter, start - 1, end - 1)
    return _cut_stretch(text, start, end)


def _cut_stretch(text: str, start: int, end: int) -> str:
    """Remove a stretch of a text, with its line if nothing else stands there."""
    line = start
    while line and text[line - 1] in " \t":
        line -= 1
    rest = end
    while text[rest : rest + 1] in (" ", "\t"):
        rest += 1
    if line and text[line - 1] == "\n":
        if text[rest : rest + 1] in ("\r", "\n", ""):
            begin = line - (2 if text[line - 2 : line] == "\r\n" else 1)
            return text[:begin] + text[rest:]
        return text[:start] + text[rest:]
    if text[rest : rest + 1] == "}":
        return text[:line] + text[end:]
    return text[:start] + text[rest:]


def _format_value(text: str, value: Any, indent: str, found: _Object) -> str:
    """Return a value as JSON, over several lines if it is an object in an object that is."""
    if "\n" not in text[found.start : found.end] and found.members:
        return json.dumps(value, ensure_ascii=False)
    written = json.dumps(value, ensure_ascii=False, indent=_find_unit(text))
    return written.replace("\n", _find_newline(text) + indent)


def _find_newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _find_indent(text: str, position: int) -> str:
    """Return the white space at the beginning of the line of a position."""
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _begins_line(text: str, position: int) -> bool:
    return not text[text.rfind("\n", 0, position) + 1 : position].strip(" \t")


def _find_unit(text: str) -> str:
    """Return a step of indentation, as the first member of the text has it."""
    found = re.search(r"\{[^\n{}]*\n([ \t]+)\S", text)
    return found[1] if found else "  "
