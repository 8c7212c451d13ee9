"""Output: data to standard output, remarks and errors to standard error.

A terminal is drawn on; a pipe or a file gets plain text. Stored text may hold
anything, so characters that could control a terminal are escaped: ESC becomes ``\\x1b``.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO

import click
from attrs import frozen

from infinite_memory.apps.cli.exits import ExitCode
from infinite_memory.apps.cli.waiting import end_waiting, read_terminal
from infinite_memory.search.text.lines import escape_controls


@frozen
class Line:
    """A line of output: parts with their styles, such as "bold red", and an indent in columns.

    A line with `details` stays one line on a terminal: its parts are cut so that the details, which
    end at the right edge, have room.
    """

    parts: Sequence[tuple[str, str]]
    indent: int = 0
    details: Sequence[tuple[str, str]] = ()


def is_terminal(stream: IO[str]) -> bool:
    """Return whether `stream` is a terminal, where a person reads it."""
    return stream.isatty()


def emit_json(value: object) -> None:
    """Write a JSON document and a line feed, in UTF-8 for any encoding of the terminal."""
    document = json.dumps(value, ensure_ascii=False, indent=2) + "\n"
    # A byte that is no character, as in a path, becomes \udcXX, which JSON reads back unchanged.
    _write_bytes(document.encode(errors="backslashreplace"))


def emit_json_line(value: object) -> None:
    """Write a JSON document on a line of its own, in UTF-8 for any encoding of the terminal."""
    _write_bytes((json.dumps(value, ensure_ascii=False) + "\n").encode(errors="backslashreplace"))


def emit_lines(lines: Iterable[Line]) -> None:
    """Write lines: coloured and wrapped on a terminal, unchanged into a pipe."""
    if is_terminal(sys.stdout):
        from infinite_memory.apps.cli.terminal import draw_lines

        terminal = read_terminal()
        drawn = (
            draw_lines(
                terminal,
                _escape_parts(line.parts),
                indent=line.indent,
                details=_escape_parts(line.details),
            )
            for line in lines
        )
        emit_text("".join(f"{line}\n" for text in drawn for line in text))
        return
    plain: list[str] = []
    for line in lines:
        gap = [("  ", "")] if line.details else []
        text = "".join(escape_controls(text) for text, _ in [*line.parts, *gap, *line.details])
        plain.extend(f"{' ' * line.indent}{part}".rstrip() for part in text.split("\n"))
    emit_text("".join(f"{line}\n" for line in plain))


def emit_table(
    headers: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    widths: Mapping[str, int] | None = None,
) -> None:
    """Write rows: a table on a terminal, columns between tabs and without headers into a pipe.

    A line feed in a cell begins a new line in the table, and another column in a pipe. `widths`
    bounds columns by their header, on a terminal.
    """
    if is_terminal(sys.stdout):
        from infinite_memory.apps.cli.terminal import draw_table

        escaped = [[escape_controls(cell) for cell in row] for row in rows]
        drawn = draw_table(read_terminal(), headers, escaped, widths or {})
        emit_text("".join(f"{line}\n" for line in drawn))
        return
    emit_text("".join("\t".join(map(_escape_cell, row)) + "\n" for row in rows))


def _escape_cell(cell: str) -> str:
    return escape_controls(cell).replace("\t", " ").replace("\n", "\t")


def remark(text: str, *, style: str = "dim") -> None:
    """Write a line for the reader to standard error, so that standard output holds only data."""
    end_waiting()
    if is_terminal(sys.stderr):
        from infinite_memory.apps.cli.terminal import draw_lines

        text = "\n".join(draw_lines(read_terminal(), _escape_parts([(text, style)])))
    else:
        text = escape_controls(text)
    click.echo(_make_encodable(text, sys.stderr), err=True, color=True)


@contextmanager
def progress_bars(*tasks: str) -> Iterator[Callable[[str, int, int | None], None] | None]:
    """Draw a bar for every task on standard error, after a second; None unless on a terminal.

    The block gets a function that updates a bar, given the task, the steps done, and all steps.
    """
    if not is_terminal(sys.stderr):
        yield None
        return
    from infinite_memory.apps.cli.terminal import make_bars

    bars = make_bars(read_terminal(), tasks, end_waiting)
    if bars.terminal.is_dumb:
        yield None
        return
    try:
        yield bars.update
    finally:
        bars.end()


def _escape_parts(parts: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(escape_controls(text), style) for text, style in parts]


def _make_encodable(text: str, stream: IO[str]) -> str:
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, errors="backslashreplace").decode(encoding)


def emit_text(text: str) -> None:
    """Write a text as it is, apart from characters that the terminal does not know."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    _write_bytes(text.encode(encoding, errors="backslashreplace"))


def _write_bytes(content: bytes) -> None:
    end_waiting()
    stream = sys.stdout.buffer
    try:
        stream.write(content)
        stream.flush()
    except BrokenPipeError:
        discard_output()
        raise click.exceptions.Exit(ExitCode.BROKEN_PIPE) from None


def discard_output() -> None:
    """Discard what standard output did not take; the interpreter would try again at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
