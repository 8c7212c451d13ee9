"""Shows the change of a text as a unified diff with one place that differs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

__all__ = ["format_diff"]

_CONTEXT = 1  # the lines around it may hold keys of other servers
_MAX_CHARS = 200


def format_diff(old: str, new: str, name: str) -> list[str]:
    """Return the lines of a diff, none if the texts are alike; a long line is shown in part.

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
    return [
        f"--- {name}" if old else "--- /dev/null",
        f"+++ {name}",
        f"@@ -{first + 1 if old else 0},{len(removed) + counts}"
        f" +{first + 1},{len(added) + counts} @@",
        *_shorten(" ", head),
        *_shorten("-", removed),
        *_shorten("+", added),
        *_shorten(" ", tail),
    ]


def _count_alike(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    for first, second in zip(one, other, strict=False):
        if first != second:
            break
        count += 1
    return count


def _shorten(mark: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        if len(line) > _MAX_CHARS:
            line = f"{line[:_MAX_CHARS]}… ({len(line):,} characters)"
        yield mark + line
