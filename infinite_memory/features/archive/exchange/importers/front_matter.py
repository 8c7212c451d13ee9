"""The YAML front matter of a Markdown file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, date, datetime
from functools import cache
from pathlib import PurePosixPath
from typing import Any

from infinite_memory.core.errors import ConfigurationError, InvalidInput, requiring
from infinite_memory.features.archive.exchange.reading import read_time_text

_MAX_CHARS = 1 << 16
_FENCE = "---"
_FIELD = re.compile(r"\n(?=[^\s#:-][^\n:]*:)")
_NAMED = re.compile(r"[^\s#:-][^\n:]*:(?=\s|$)")
_NAMES = ("id", "uuid", "uid", "guid")
_UUID = re.compile(r"[0-9a-f]{32}")


# An alias may stand for a value that is a million times as large. The scanner of PyYAML looks at
# every open level for each token, which takes quadratic time in a text of brackets.
_MAX_LEVELS = 32
# What an alias is made of, or is read otherwise in C, and what opens a level: without more of these
# than levels there is no need to count them while the text is scanned.
_ODD = re.compile(r"[&*!\t\r\x85\u2028\u2029\ufeff]")
_OPENING = re.compile(r"[\[{]|^\s|(?:^|(?<=\s))[-?](?=\s)", re.MULTILINE)


def load_shallow_yaml(written: str) -> Any:
    """Return the value of a document in YAML.

    Raises:
        ValueError: it is not YAML, has an alias, or is nested in more than 32 levels.
        ConfigurationError: the package that reads it is not installed.
    """
    with requiring("import", "to read front matter", "take it out"):
        import yaml  # noqa: PLC0415

    is_plain = not _ODD.search(written) and len(_OPENING.findall(written)) < _MAX_LEVELS
    # The loader in C is ten times as fast; what it does not take, the other one explains.
    with suppress(yaml.YAMLError, ValueError, AttributeError):
        if is_plain:
            return yaml.load(written, yaml.CSafeLoader)
    try:
        return yaml.load(written, _make_loader())
    except yaml.YAMLError as error:
        raise ValueError(f"it is not YAML: {' '.join(str(error).split())}") from error


@cache
def _make_loader() -> Any:
    """Return a loader that refuses while it scans, before it makes anything of what it scanned."""
    import yaml  # noqa: PLC0415

    class ShallowLoader(yaml.SafeLoader):
        def fetch_alias(self) -> None:
            raise ValueError("it has an alias, which is not read")

        def fetch_flow_collection_start(self, TokenClass: Any) -> None:  # noqa: N803 -- its name
            self._check_levels()
            super().fetch_flow_collection_start(TokenClass)

        def add_indent(self, column: int) -> bool:
            self._check_levels()
            return super().add_indent(column)

        def _check_levels(self) -> None:
            if self.flow_level + len(self.indents) > _MAX_LEVELS:
                raise ValueError(f"it is nested in more than {_MAX_LEVELS} levels")

    return ShallowLoader


def split_front_matter(text: str) -> tuple[dict[str, Any], str, list[str]]:
    """Return the fields at the beginning of a text, the rest, and what cannot be read of them.

    Where no field can be read, as of a rule at the top of a text, it all stays in the text. A field
    that is not YAML, as a title with a colon, is taken as the text that it is, and links such as
    `[[Kiln]], [[Clay]]` as their names.

    Raises:
        ConfigurationError: the package that reads it is not installed.
    """
    lines = text.split("\n")
    if lines[0].rstrip() != _FENCE:
        return {}, text, []
    end = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() == _FENCE), None)
    if end is None:
        return {}, text, []
    written, rest = "\n".join(lines[1:end]), "\n".join(lines[end + 1 :]).lstrip("\n")
    if len(written) > _MAX_CHARS:
        return (
            {},
            text,
            [f"the front matter has {len(written):,} characters, and stays in the text"],
        )
    try:
        fields = load_shallow_yaml(written)
    except ConfigurationError:
        raise
    except ValueError as error:
        fields, faults = _read_fields_apart(written)
        what = f"the front matter cannot be read: {error}"
        return (fields, rest, faults) if fields else ({}, text, [what])
    if fields is None:
        return {}, rest, []
    if not isinstance(fields, dict):
        return {}, text, ["the front matter has no names, and stays in the text"]
    return {str(name): value for name, value in fields.items()}, rest, []


def _read_fields_apart(written: str) -> tuple[dict[str, Any], list[str]]:
    """Return the fields of a front matter, each read by itself, and what cannot be read."""
    fields: dict[str, Any] = {}
    faults: list[str] = []
    for part in _FIELD.split(written):
        name, _, value = part.partition(":")
        try:
            read = load_shallow_yaml(part)
            fields |= {str(n): v for n, v in read.items()} if isinstance(read, dict) else {}
        except ValueError as error:
            plain = value.strip().strip("\"'")
            is_text = _NAMED.match(part) and plain and "\n" not in plain
            if is_text and plain.startswith("[[") and "[[[" not in plain:
                fields[name.strip()] = plain.replace("[[", "").replace("]]", "")
                continue
            effect = "is taken as text" if is_text else "is left out"
            faults.append(f"the field {name.strip()!r:.60} of the front matter {effect}: {error}")
            if is_text:
                fields[name.strip()] = plain
    return fields, faults


def stored_name(fields: Mapping[str, Any], file: str) -> str:
    """Return the name that the program of a note gave it and nothing else, "" for none.

    Notion ends the names of its files with it, other programs write it into the front matter.
    """
    written = (fields.get(name) for name in _NAMES)
    stem = PurePosixPath(file).stem.rpartition(" ")[2]
    for name in (*(str(value) for value in written if value), stem):
        if _UUID.fullmatch(name.lower().replace("-", "")):
            return name.lower().replace("-", "")
    return ""


def tags_of(value: object) -> list[str]:
    """Return tags that were written as a list, or as a text with commas or spaces."""
    if isinstance(value, str):
        value = value.split(",") if "," in value else value.split()
    if not isinstance(value, list):
        return []
    # YAML reads [[Kiln]] as a list in a list.
    value = [tag for each in value for tag in (each if isinstance(each, list) else [each])]
    tags = [" ".join(str(tag).split()).strip("[]").lstrip("#") for tag in value if tag is not None]
    return [tag for tag in tags if tag]


def time_of(fields: Mapping[str, Any], names: tuple[str, ...], zone: str | None) -> datetime | None:
    """Return the first time among `names` that can be read, None for none."""
    for name in names:
        value = fields.get(name)
        if isinstance(value, datetime | date):
            value = value.isoformat()
        try:
            moment = read_time_text(value, zone)
        except (ValueError, InvalidInput):
            continue
        if moment is not None:
            return moment.astimezone(UTC)
    return None


def plain_value(value: Any) -> Any:
    """Return a value of YAML as JSON has it: a date becomes a text."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, dict):
        return {str(name): plain_value(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain_value(inner) for inner in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
