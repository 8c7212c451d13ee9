"""Changes a table of a TOML text and keeps the comments, the order and the style of the rest."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, MutableMapping
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import InlineTable

from infinite_memory.errors import ConfigurationError

__all__ = ["parse_toml", "remove_table", "set_table"]


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
    if name not in parse_toml(text).get(container, {}):
        appended = _append(text, path, values)
        if appended is not None:
            return appended
    document = _read(text)
    servers: MutableMapping[str, Any] = document.setdefault(container, tomlkit.table(True))
    empty = tomlkit.inline_table() if isinstance(servers, InlineTable) else tomlkit.table()
    table: MutableMapping[str, Any] = servers.setdefault(name, empty)
    for key, value in values.items():
        if key not in table or table[key] != value:
            table[key] = _item(value)
    return _write(document, text)


def remove_table(text: str, path: tuple[str, str]) -> str:
    """Remove the table at `path` with the tables in it; return the new text.

    Raises:
        ConfigurationError: it cannot be changed so that the rest stays.
    """
    container, name = path
    if name not in parse_toml(text).get(container, {}):
        return text
    document = _read(text)
    del document[container][name]
    new = _write(document, text)
    end = "\r\n" if "\r\n" in text else "\n"
    # The empty line before a last table would be left over.
    while new.endswith(end * 2) and not text.endswith(end * 2):
        new = new.removesuffix(end)
    return new


def _append(text: str, path: tuple[str, str], values: Mapping[str, Any]) -> str | None:
    """Return the text with the table at its end; None where it cannot stand there.

    It cannot after `mcp_servers = {...}`, to which a later table may not add.
    """
    table = tomlkit.table()
    for key, value in values.items():
        table[key] = _item(value)
    header = ".".join(map(_key, path))
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


def _item(value: Any) -> Any:
    """Return a value as it stands on a single line: a mapping as an inline table."""
    if not isinstance(value, Mapping):
        return value
    table = tomlkit.inline_table()
    table.update(value)
    return table


def _key(name: str) -> str:
    return tomlkit.key(name).as_string()


def _read(text: str) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(text.replace("\r\n", "\n"))
    except (TOMLKitError, ValueError) as error:
        raise ConfigurationError(f"no TOML that can be changed in place: {error}") from error


def _write(document: tomlkit.TOMLDocument, former: str) -> str:
    text = document.as_string()
    return text.replace("\n", "\r\n") if "\r\n" in former else text
