"""Output: data to standard output, remarks and errors to standard error.

rich is imported only to draw on a terminal; a pipe or a file gets plain text. Stored text may hold
anything, so characters that could control a terminal are escaped: ESC becomes ``\\x1b``.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

import click
from attrs import frozen

from infinite_memory.apps.cli.exits import ExitCode
from infinite_memory.apps.cli.waiting import end_waiting
from infinite_memory.search.text.lines import escape_controls

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


@frozen
class Line:
    """A line of output: parts with their styles as rich names them, and an indent in columns."""

    parts: Sequence[tuple[str, str]]
    indent: int = 0


def is_terminal(stream: IO[str]) -> bool:
    """Return whether `stream` is a terminal, where a person reads it."""
    return stream.isatty()


def emit_json(value: object) -> None:
    """Write a JSON document and a line feed, in UTF-8 for any encoding of the terminal."""
    document = json.dumps(value, ensure_ascii=False, indent=2) + "\n"
    # A byte that is no character, as in a path, becomes \udcXX, which JSON reads back unchanged.
    _write(document.encode(errors="backslashreplace"))


def emit_json_line(value: object) -> None:
    """Write a JSON document on a line of its own, in UTF-8 for any encoding of the terminal."""
    _write((json.dumps(value, ensure_ascii=False) + "\n").encode(errors="backslashreplace"))


def emit_lines(lines: Iterable[Line]) -> None:
    """Write lines: coloured and wrapped on a terminal, unchanged into a pipe."""
    if is_terminal(sys.stdout):
        from rich.padding import Padding

        _draw(Padding(_text(line.parts), (0, 0, 0, line.indent), expand=False) for line in lines)
        return
    plain: list[str] = []
    for line in lines:
        text = "".join(escape_controls(text) for text, _ in line.parts)
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
        from rich.box import SIMPLE_HEAD
        from rich.table import Table

        table = Table(box=SIMPLE_HEAD, pad_edge=False)
        for header in headers:
            table.add_column(header, overflow="fold", max_width=(widths or {}).get(header))
        for row in rows:
            table.add_row(*(_text([(cell, "")]) for cell in row))
        _draw([table])
        return
    emit_text("".join("\t".join(map(_pipe_cell, row)) + "\n" for row in rows))


def _pipe_cell(cell: str) -> str:
    return escape_controls(cell).replace("\t", " ").replace("\n", "\t")


def remark(text: str, *, style: str = "dim") -> None:
    """Write a line for the reader to standard error, so that standard output holds only data."""
    end_waiting()
    if is_terminal(sys.stderr):
        console = _console(stderr=True)
        console.print(_text([(text, style)]))
        return
    click.echo(_encodable(escape_controls(text), sys.stderr), err=True)


@contextmanager
def progress_bars(*tasks: str) -> Iterator[Callable[[str, int, int | None], None] | None]:
    """Draw a bar for every task on standard error; None unless that is a terminal.

    The block gets a function that updates a bar, given the task, the steps done, and all steps.
    """
    if not is_terminal(sys.stderr):
        yield None
        return
    end_waiting()
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )

    class Rate(ProgressColumn):
        """The steps done in a second."""

        def render(self, task: Task) -> RenderableType:
            speed = task.finished_speed or task.speed
            return "" if speed is None else f"{speed:,.0f}/s"

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bars:
        ids = {task: bars.add_task(task, total=None) for task in tasks}
        yield lambda task, done, total: bars.update(ids[task], completed=done, total=total)


def _text(parts: Sequence[tuple[str, str]]) -> Any:
    from rich.text import Text

    # Not markup: brackets in a memory are not instructions to rich.
    pieces = [(escape_controls(text), style) for text, style in parts]
    return Text.assemble(*pieces, overflow="fold")


def _draw(items: Iterable[RenderableType]) -> None:
    console = _console()
    with console.capture() as captured:
        for item in items:
            console.print(item)
    emit_text(captured.get())


def _console(*, stderr: bool = False) -> Console:
    # Late: the import takes longer than the rest of a command that opens no store.
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, markup=False, emoji=False)


def _encodable(text: str, stream: IO[str]) -> str:
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, errors="backslashreplace").decode(encoding)


def emit_text(text: str) -> None:
    """Write a text as it is, apart from characters that the terminal does not know."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    _write(text.encode(encoding, errors="backslashreplace"))


def _write(content: bytes) -> None:
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
