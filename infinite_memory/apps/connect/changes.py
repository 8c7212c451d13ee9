"""Shows the change of a text as a unified diff with a single place that differs."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from infinite_memory.apps.connect.entry import is_reference

MASK = "***"
"""What is shown in the place of a secret."""

_CONTEXT = 1  # the lines around it may hold keys of other servers
_MAX_CHARS = 200
# The parts of an entry whose values may be secrets.
_SECRET_PARTS = ("headers", "http_headers", "env", "environment")


def find_secrets(form: object) -> frozenset[str]:
    """Return the values of headers and variables in an entry that no output may show.

    A value that only names a variable, such as "Bearer ${NAME}", is no secret.
    """
    if not isinstance(form, Mapping):
        return frozenset()
    parts: list[Mapping[str, Any]] = [
        form[name] for name in _SECRET_PARTS if isinstance(form.get(name), Mapping)
    ]
    values = {value for part in parts for value in part.values() if isinstance(value, str)}
    return frozenset(value for value in values if value and not is_reference(value))


def format_diff(old: str, new: str, name: str, *, secrets: Collection[str] = ()) -> list[str]:
    """Return the lines of a diff, none if the texts are alike; a long line is shown in part.

    A text in quotes that is among `secrets` is masked.

    From the first line that differs to the last, everything counts as changed: an entry is one
    place in a file. So it also takes no time in a file of many megabytes.
    """
    if old == new:
        return []
    before, after = old.splitlines(), new.splitlines()
    start = _count_alike(before, after)
    end = _count_alike(before[start:][::-1], after[start:][::-1])
    removed, added = before[start : len(before) - end], after[start : len(after) - end]
    first = max(0, start - _CONTEXT)
    head = before[first:start]
    tail = before[len(before) - end :][:_CONTEXT]
    counts = len(head) + len(tail)
    quoted = _quote_secrets(secrets)
    return [
        f"--- {name}" if old else "--- /dev/null",
        f"+++ {name}",
        f"@@ -{first + 1 if old else 0},{len(removed) + counts}"
        f" +{first + 1},{len(added) + counts} @@",
        *_show_lines(" ", head, quoted),
        *_show_lines("-", removed, quoted),
        *_show_lines("+", added, quoted),
        *_show_lines(" ", tail, quoted),
    ]


def _count_alike(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    for first, second in zip(one, other, strict=False):
        if first != second:
            break
        count += 1
    return count


def _quote_secrets(secrets: Collection[str]) -> list[str]:
    """Return the secrets as they may be written in JSON and TOML, the longest first."""
    written = set()
    for secret in secrets:
        written |= {f"'{secret}'", f'"{secret}"', json.dumps(secret)}
        written.add(json.dumps(secret, ensure_ascii=False))
    return sorted(written, key=len, reverse=True)


def _show_lines(mark: str, lines: Sequence[str], quoted: Sequence[str]) -> Iterator[str]:
    for line in lines:
        for secret in quoted:
            line = line.replace(secret, f"{secret[0]}{MASK}{secret[0]}")
        if len(line) > _MAX_CHARS:
            line = f"{line[:_MAX_CHARS]}… ({len(line):,} characters)"
        yield mark + line
