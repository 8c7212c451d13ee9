"""Changes a table of a TOML text and keeps the rest, character by character, as it is.

The text is cut into its tables, and tomlkit sees the one that changes alone: it writes an array of
tables whose items stand apart in another order than it was read.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from attrs import frozen

from infinite_memory.core.errors import ConfigurationError, requiring

# What may hold a bracket or a line end that means nothing, and what counts.
_TOKEN = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
    r"|#[^\n]*"
    r"|[\[\]{}]",
    re.DOTALL,
)
_EMPTY_LINE = re.compile(r"[ \t]*\r?\n")
_DEPTHS = {"[": 1, "{": 1, "]": -1, "}": -1}


@frozen(kw_only=True)
class _Section:
    """A table as it stands in a text: its header, and its keys up to the next header.

    `path` is empty for the keys before the first header.
    """

    path: tuple[str, ...]
    start: int
    body: int
    end: int


def parse_toml(text: str) -> dict[str, Any]:
    """Return the content of a text.

    Raises:
        ConfigurationError: it is no TOML; the message says where.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"no TOML: {error}") from error
    except RecursionError as error:
        raise ConfigurationError("no TOML that can be read: it is too deep") from error


def set_table(text: str, path: tuple[str, str], values: Mapping[str, Any]) -> str:
    """Set keys of the table at `path`, which is made where it is not; return the new text.

    All further keys of the table stay. The text must be readable by `parse_toml`.

    Raises:
        ConfigurationError: it cannot be changed so that the rest stays.
    """
    container, name = path
    former = parse_toml(text).get(container, {}).get(name, {})
    changed = {key: value for key, value in values.items() if former.get(key) != value}
    if not changed:
        return text
    for key in changed:
        # A table of its own would contradict the new value.
        text = _cut_sections(text, (*path, key))
    for section in _list_sections(text):
        if section.path == path or _holds(text, section, path):
            return _edit_section(text, section, path, changed)
    appended = _append_table(text, path, changed)
    if appended is not None:
        return appended
    for section in _list_sections(text):
        if _holds(text, section, (container,)):
            return _edit_section(text, section, path, changed)
    raise ConfigurationError(f"no TOML in which {container}.{name} can be changed in place")


def remove_table(text: str, path: tuple[str, str]) -> str:
    """Remove the table at `path` with the tables in it; return the new text.

    Raises:
        ConfigurationError: it cannot be changed so that the rest stays.
    """
    if path[1] not in parse_toml(text).get(path[0], {}):
        return text
    new = _cut_sections(text, path)
    for section in _list_sections(new):
        if _holds(new, section, path):
            new = _edit_section(new, section, path, None)
            break
    end = "\r\n" if "\r\n" in text else "\n"
    # The empty line before a last table would be left over.
    while new.endswith(end * 2) and not text.endswith(end * 2):
        new = new.removesuffix(end)
    return new


def _list_sections(text: str) -> list[_Section]:
    """Return the tables of a text, in their order."""
    starts = [(0, 0, ()), *_find_headers(text)]
    ends = [start for start, _, _ in starts[1:]] + [len(text)]
    return [
        _Section(path=path, start=start, body=body, end=end)
        for (start, body, path), end in zip(starts, ends, strict=True)
    ]


def _find_headers(text: str) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Yield where the line of each header begins, where the next line begins, and the path."""
    depth = 0
    behind = 0
    for match in _TOKEN.finditer(text):
        if match.start() < behind:
            continue
        line = text.rfind("\n", 0, match.start()) + 1
        if match[0] == "[" and not depth and not text[line : match.start()].strip(" \t"):
            behind = (text.find("\n", match.start()) + 1) or len(text)
            yield line, behind, _read_path(text[line:behind])
        else:
            depth += _DEPTHS.get(match[0], 0)


def _read_path(header: str) -> tuple[str, ...]:
    """Return the names in a header such as `[a.b]` or `[[a.b]]`."""
    value: Any = tomllib.loads(header)
    path = []
    while isinstance(value, dict) and value:
        ((name, value),) = value.items()
        path.append(name)
    return tuple(path)


def _holds(text: str, section: _Section, path: tuple[str, ...]) -> bool:
    """Return whether a value below `path` stands among the keys of a section."""
    depth = len(section.path)
    if section.path != path[:depth]:
        return False
    value: Any = tomllib.loads(text[section.body : section.end])
    for name in path[depth:]:
        if not isinstance(value, dict) or name not in value:
            return False
        value = value[name]
    return depth < len(path)


def _edit_section(
    text: str, section: _Section, path: tuple[str, str], values: Mapping[str, Any] | None
) -> str:
    """Set keys of the table at `path`, or remove it for None, among the keys of a section."""
    tomlkit = _load_tomlkit()
    former = text[section.body : section.end]
    try:
        document = tomlkit.parse(former.replace("\r\n", "\n"))
    except (tomlkit.exceptions.TOMLKitError, ValueError) as error:
        raise ConfigurationError(f"no TOML that can be changed in place: {error}") from error
    table: MutableMapping[str, Any] = document
    names = path[len(section.path) :]
    if values is None:
        for name in names[:-1]:
            table = table[name]
        del table[names[-1]]
    else:
        for name in names:
            table = table.setdefault(name, tomlkit.inline_table())
        for key, value in values.items():
            table[key] = _make_item(value)
    new: str = document.as_string()
    if "\r\n" in former:
        new = new.replace("\n", "\r\n")
    if text[: section.body] and not text[: section.body].endswith("\n"):
        new = f"\n{new}"
    return text[: section.body] + new + text[section.end :]


def _cut_sections(text: str, path: tuple[str, ...]) -> str:
    """Remove the tables at `path` and below; a comment before the next header stays."""
    for section in reversed(_list_sections(text)):
        if section.path[: len(path)] == path:
            start, end = section.start, section.body + _measure_keys(text, section)
            if text[:start].endswith(("\n\n", "\n\r\n")) or not start:
                # One of two empty lines would be left over.
                empty = _EMPTY_LINE.match(text, end)
                end = empty.end() if empty else end
            text = text[:start] + text[end:]
    return text


def _measure_keys(text: str, section: _Section) -> int:
    """Return the length of the keys of a section, without what stands behind the last."""
    body = text[section.body : section.end]
    plain = _TOKEN.sub(lambda match: " " * len(match[0]) if match[0][0] == "#" else match[0], body)
    last = len(plain.rstrip())
    return ((body.find("\n", last) + 1) or len(body)) if last else 0


def _append_table(text: str, path: tuple[str, str], values: Mapping[str, Any]) -> str | None:
    """Return the text with the table at its end; None where it cannot stand there.

    It cannot after `mcp_servers = {...}`, to which a later table may not add.
    """
    table = _load_tomlkit().table()
    for key, value in values.items():
        table[key] = _make_item(value)
    header = ".".join(map(_write_key, path))
    newline = "\r\n" if "\r\n" in text else "\n"
    head = text.rstrip(" \t\r\n")
    gap = newline * 2 if head else ""
    body = f"[{header}]\n{table.as_string()}".replace("\n", newline)
    new = f"{head}{gap}{body}"
    try:
        tomllib.loads(new)
    except tomllib.TOMLDecodeError:
        return None
    return new


def _load_tomlkit() -> Any:
    with requiring("mcp", "to change a TOML file", "change it by hand"):
        import tomlkit.exceptions  # noqa: PLC0415 -- of the extra that brings the server
    return tomlkit


def _make_item(value: Any) -> Any:
    """Return a value as it stands on a single line: a mapping as an inline table."""
    if not isinstance(value, Mapping):
        return value
    table = _load_tomlkit().inline_table()
    table.update(value)
    return table


def _write_key(name: str) -> str:
    key: str = _load_tomlkit().key(name).as_string()
    return key
