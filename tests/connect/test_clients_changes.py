"""A change is shown as a diff of the place that differs, and of no more."""

from __future__ import annotations

import pytest

from infinite_memory.apps.connect.changes import format_diff

OLD = "a\nb\nc\nd\ne\n"


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        (OLD, OLD, []),
        ("", "a\nb\n", ["--- /dev/null", "+++ f", "@@ -0,0 +1,2 @@", "+a", "+b"]),
        (
            OLD,
            OLD.replace("c\n", "c\nnew\n"),
            ["--- f", "+++ f", "@@ -3,2 +3,3 @@", " c", "+new", " d"],
        ),
        (OLD, OLD.replace("c\n", ""), ["--- f", "+++ f", "@@ -2,3 +2,2 @@", " b", "-c", " d"]),
        (OLD, f"{OLD}f\n", ["--- f", "+++ f", "@@ -5,1 +5,2 @@", " e", "+f"]),
        ("a\n", "", ["--- f", "+++ f", "@@ -1,1 +1,0 @@", "-a"]),
    ],
)
def test_the_lines_that_differ_are_shown_with_one_around_them(
    old: str, new: str, lines: list[str]
) -> None:
    assert format_diff(old, new, "f") == lines


def test_a_line_of_a_megabyte_is_shown_in_part() -> None:
    lines = format_diff("x" * 1_000_000, "y" * 1_000_001, "f")
    assert lines[-2] == f"-{'x' * 200}… (1,000,000 characters)"
    assert lines[-1] == f"+{'y' * 200}… (1,000,001 characters)"
