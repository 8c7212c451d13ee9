"""Drawing on a terminal: colours, wrapped lines, tables and bars.

A terminal steers by escape sequences; whatever is drawn must hold none of its own.
"""

from __future__ import annotations

import sys
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from threading import Lock

from attrs import define, field, frozen

Parts = Sequence[tuple[str, str]]
"""Texts with their styles, such as "bold red", or "" for none."""

_Cell = tuple[str, str]
_CODES = {
    **{"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33},
    **{"blue": 34, "magenta": 35, "cyan": 36},
}
_GAP = 2
BAR_COLUMNS = 40
SECONDS_BETWEEN = 0.1
SECONDS_BEFORE = 1.0
"""Work that takes less time shows no sign and no bars."""
ERASE = "\r\x1b[2K"
"""Clears the line that the cursor is in."""


@frozen(kw_only=True)
class Terminal:
    """What a terminal can do; a dumb one can neither be steered nor coloured."""

    columns: int
    has_colors: bool
    is_dumb: bool


def measure_columns(text: str) -> int:
    """Return how many columns a terminal takes for a text of one line."""
    if text.isascii():
        return len(text)
    return sum(map(_measure_character, text))


def _measure_character(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def draw_lines(
    terminal: Terminal, parts: Parts, *, indent: int = 0, details: Parts = ()
) -> Iterator[str]:
    """Yield the lines of a text, coloured, and wrapped between words where there are any.

    With `details`, which end at the right edge, it is a single line that is cut, unless these need
    more than four fifths of the terminal.
    """
    cells, right = _list_cells(parts), _list_cells(details)
    room = terminal.columns - indent - _GAP - _measure_cells(right)
    if right and room >= terminal.columns // 5 and ("\n", "") not in right:
        kept = _cut_cells([(" " if char == "\n" else char, style) for char, style in cells], room)
        gap = " " * (room + _GAP - _measure_cells(kept))
        yield f"{' ' * indent}{_paint_cells(terminal, [*kept, (gap, ''), *right])}"
        return
    if right:
        cells += [*_list_cells([("  ", "")]), *right]
    for line in _wrap_cells(cells, max(1, terminal.columns - indent)):
        yield f"{' ' * indent}{_paint_cells(terminal, line)}".rstrip(" ")


def _list_cells(parts: Parts) -> list[_Cell]:
    return [(char, style) for text, style in parts for char in text.expandtabs(8)]


def _measure_cells(cells: Iterable[_Cell]) -> int:
    return sum(_measure_character(char) for char, _ in cells)


def _cut_cells(cells: list[_Cell], width: int) -> list[_Cell]:
    """Return the cells that fit in `width` columns, with an ellipsis in place of the rest."""
    if _measure_cells(cells) <= width:
        return cells
    kept = used = 0
    for char, _ in cells:
        used += _measure_character(char)
        if used >= width:
            break
        kept += 1
    return [*cells[:kept], ("…", "dim")]


def draw_table(
    terminal: Terminal,
    headers: Sequence[str],
    rows: Iterable[Sequence[str]],
    widths: Mapping[str, int],
) -> Iterator[str]:
    """Yield the lines of a table that fits the terminal; `widths` bounds columns by header."""
    table = [list(headers), *([cell.expandtabs(8) for cell in row] for row in rows)]
    columns = [
        min(
            max(measure_columns(line) for row in table for line in row[place].split("\n")),
            widths.get(header, terminal.columns),
        )
        for place, header in enumerate(headers)
    ]
    while sum(columns) + _GAP * (len(columns) - 1) > terminal.columns and max(columns) > 2:
        columns[columns.index(max(columns))] -= 1
    for number, row in enumerate(table):
        style = "" if number else "bold"
        cells = [
            list(_wrap_cells([(char, style) for char in cell], width))
            for cell, width in zip(row, columns, strict=True)
        ]
        for place in range(max(map(len, cells))):
            pieces = [lines[place] if place < len(lines) else [] for lines in cells]
            yield _join_pieces(terminal, pieces, columns)
        if not number:
            yield "─" * min(terminal.columns, sum(columns) + _GAP * (len(columns) - 1))


def _join_pieces(terminal: Terminal, pieces: Sequence[list[_Cell]], columns: Sequence[int]) -> str:
    line = ""
    for piece, width in zip(pieces, columns, strict=True):
        used = _measure_cells(piece)
        line += _paint_cells(terminal, piece) + " " * (width - used + _GAP)
    return line.rstrip(" ")


def _wrap_cells(cells: Sequence[_Cell], width: int) -> Iterator[list[_Cell]]:
    line: list[_Cell] = []
    used = 0
    for cell in cells:
        if cell[0] == "\n":
            yield line
            line, used = [], 0
            continue
        size = _measure_character(cell[0])
        if cell[0] == " " and line and used + size > width:
            yield line
            line, used = [], 0
            continue
        while line and used + size > width:
            indent = next((n for n, (char, _) in enumerate(line) if char != " "), len(line))
            ends = (n for n in range(len(line), indent, -1) if line[n - 1][0] == " ")
            place = next(ends, len(line))
            yield line[:place]
            line = line[place:]
            used = _measure_cells(line)
        line.append(cell)
        used += size
    yield line


def _paint_cells(terminal: Terminal, cells: Iterable[_Cell]) -> str:
    drawn, now = [], ""
    for char, style in cells:
        if style != now:
            drawn.append(_switch_style(terminal, now, style))
            now = style
        drawn.append(char)
    return "".join(drawn) + _switch_style(terminal, now, "")


def _switch_style(terminal: Terminal, before: str, after: str) -> str:
    """Return what changes the style."""
    if not terminal.has_colors or before == after:
        return ""
    codes = ";".join(str(_CODES[name]) for name in after.split())
    return ("\x1b[0m" if before else "") + (f"\x1b[{codes}m" if codes else "")


@define
class _Task:
    name: str
    began: float
    done: int = 0
    total: int | None = None

    def draw(self, now: float) -> str:
        share = min(1.0, self.done / self.total) if self.total else 0.0
        full = round(BAR_COLUMNS * share)
        rate = self.done / (now - self.began) if now > self.began else 0.0
        left = "" if self.total is None else f" {self.done:,}/{self.total:,}".replace(",", "")
        seconds = (self.total or 0) - self.done
        rest = show_seconds(seconds / rate) if rate and seconds > 0 else show_seconds(0)
        return f"{self.name} {'━' * full}{' ' * (BAR_COLUMNS - full)}{left} {rate:,.0f}/s {rest}"


@define(eq=False)
class Bars:
    """A bar for each task on standard error, drawn anew at most ten times a second.

    `end_sign` is called before the first drawing, which comes with an update after a second.
    """

    terminal: Terminal
    tasks: dict[str, _Task]
    end_sign: Callable[[], None]
    _last: float
    _drawn: int = field(default=0, init=False)
    _lock: Lock = field(factory=Lock, init=False)

    def update(self, task: str, done: int, total: int | None) -> None:
        """Say how many of all steps of a task are done."""
        with self._lock:
            self.tasks[task].done, self.tasks[task].total = done, total
            if time.monotonic() - self._last >= SECONDS_BETWEEN:
                self.draw()

    def end(self) -> None:
        """Draw the bars as they are at last, if they were drawn at all."""
        if self._drawn:
            self.draw()

    def draw(self) -> None:
        """Draw the bars over those that were drawn before."""
        if not self._drawn:
            self.end_sign()
        self._last = time.monotonic()
        up = f"\x1b[{self._drawn}A" if self._drawn else ""
        lines = (task.draw(self._last)[: self.terminal.columns - 1] for task in self.tasks.values())
        write_error(up + "".join(f"{ERASE}{line}\n" for line in lines))
        self._drawn = len(self.tasks)


def make_bars(terminal: Terminal, names: Iterable[str], end_sign: Callable[[], None]) -> Bars:
    """Return bars at which nothing is done yet."""
    now = time.monotonic()
    first = now + SECONDS_BEFORE - SECONDS_BETWEEN
    return Bars(terminal, {name: _Task(name, now) for name in names}, end_sign, first)


def show_seconds(seconds: float) -> str:
    """Return a duration as hours, minutes and seconds."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def write_error(text: str) -> None:
    """Write to standard error, without characters that it does not know."""
    stream = sys.stderr
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(text.encode(encoding, errors="replace").decode(encoding))
    stream.flush()
