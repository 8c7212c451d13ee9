"""Markdown from help texts and docstrings, and the sections that a page consists of."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence

_MODULE_ROW = re.compile(
    r"^\| `(infinite_memory\.[\w.]+)` \| ((?:`\w+`(?:, )?)+) \|$", re.MULTILINE
)
_CODE = re.compile(r"(`[^`]*`)")
_SPECIAL = re.compile(r"([\\*_<>\[\]|$])")
_RAISES = re.compile(r"\n*^Raises:\n((?: {4}.*\n?)+)", re.MULTILINE)
_ERROR = re.compile(r"^ {4}(\w+): (.*(?:\n {5,}.*)*)", re.MULTILINE)


def format_prose(text: str) -> str:
    """Return a help text or docstring as Markdown: what is no code is shown as it stands.

    The errors of a docstring become a list.
    """
    text = inspect.cleandoc(text).replace("\b\n", "")
    errors = [row for part in _RAISES.findall(f"{text}\n") for row in _ERROR.findall(part)]
    body = _escape(_RAISES.sub("", f"{text}\n")).strip()
    rows = [f"- `{name}`: {_escape(' '.join(reason.split()))}" for name, reason in errors]
    return "\n\n".join(filter(None, [body, "\n".join(["Raises:", "", *rows]) if rows else ""]))


def _escape(text: str) -> str:
    """Escape what Markdown would read in a text, but for code between backquotes."""
    parts = _CODE.split(text.replace("``", "`"))
    return "".join(part if part.startswith("`") else _SPECIAL.sub(r"\\\1", part) for part in parts)


def format_cell(text: str) -> str:
    """Return a text as a cell of a table."""
    return " ".join(_escape(text).split())


def format_code(text: object) -> str:
    """Return a name or a value as code in a cell of a table."""
    return f"`{text}`".replace("|", r"\|")


def format_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table, and "" for one without rows."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    ruler = f"|{'---|' * len(heads)}"
    return "\n".join([f"| {' | '.join(heads)} |", ruler, *lines]) if lines else ""


def join_parts(*parts: str) -> str:
    """Return the parts of a section, with a blank line between them."""
    return "\n\n".join(filter(None, (part.strip() for part in parts)))


def split_sections(text: str) -> tuple[str, dict[str, str]]:
    """Return what stands before the first heading of the second level, and the text below each."""
    first, *rest = re.split(r"^## (.*)\n", text, flags=re.MULTILINE)
    return first.strip(), {rest[at]: rest[at + 1].strip() for at in range(0, len(rest), 2)}


def list_modules(page: str) -> dict[str, list[str]]:
    """Return the names that the page about Python lists, by the module of each."""
    return {module: re.findall(r"\w+", names) for module, names in _MODULE_ROW.findall(page)}
