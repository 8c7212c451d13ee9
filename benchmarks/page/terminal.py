"""Record the commands of the README in a terminal, as a picture that types them.

    python -m benchmarks.page.terminal OUT.svg

The commands run in an empty home at a width of 80 columns, and what they print is drawn, a command
after the other. A reader who wants no motion sees all of it at once.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from textwrap import wrap

from tests.test_docs import ROOT, commands

_COLUMNS, _CHAR_WIDTH, _LINE_HEIGHT, _MARGIN = 80, 8.4, 20, 18
_SECONDS_A_COMMAND = 2.2
_CODE = re.compile("\x1b\\[([0-9;]*)m")
_COLORS = {"2": "d", "36": "c", "35": "m", "31": "r", "33": "y", "1": "b"}
_STYLE = """
text {
  font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace;
  fill: #d6deeb;
  white-space: pre;
}
.p { fill: #7fdbca } .d { fill: #8a97ad } .c { fill: #82aaff } .m { fill: #c792ea }
.r { fill: #ff8f80 } .y { fill: #ecc48d } .b { font-weight: 600 }
@media (prefers-reduced-motion: no-preference) {
  g { opacity: 0; animation: show .3s forwards }
  @keyframes show { to { opacity: 1 } }
}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    out: Path = parser.parse_args().out
    with tempfile.TemporaryDirectory() as home:
        runs = [
            (command, list(record(command, Path(home))))
            for command, _ in commands(ROOT / "README.md")
            if "pip install" not in command
        ]
    out.write_text(draw(runs), "utf-8")


def record(command: str, home: Path) -> Iterator[str]:
    """Yield the lines that a command draws on a terminal of its own."""
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith("INFINITE_MEMORY_")},
        **{"HOME": str(home), "COLUMNS": str(_COLUMNS), "TERM": "xterm-256color"},
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    done = subprocess.run(
        ["script", "--quiet", "--command", f"stty cols {_COLUMNS}; {command}", "/dev/null"],
        env=environment,
        capture_output=True,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    for line in done.stdout.decode().replace("\r\n", "\n").rstrip("\n").split("\n"):
        # The sign that a command is still at work is drawn over and over, and gone at last.
        yield line.rpartition("\x1b[2K")[2]


def draw(runs: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Return the picture of commands and the lines that they draw."""
    groups, row = [], 1
    for number, (command, lines) in enumerate(runs):
        typed = wrap(command, _COLUMNS - 4, subsequent_indent="    ", break_on_hyphens=False)
        texts = [f'<tspan class="p">$ </tspan>{escape(typed[0])}', *map(escape, typed[1:])]
        texts += map(_style_line, lines)
        drawn = "".join(
            f'<text x="{_MARGIN}" y="{_MARGIN + (row + place) * _LINE_HEIGHT}">{text}</text>'
            for place, text in enumerate(texts)
        )
        delay = number * _SECONDS_A_COMMAND
        groups.append(f'<g style="animation-delay: {delay:.1f}s">{drawn}</g>')
        row += len(texts) + 1
    width = round(2 * _MARGIN + (_COLUMNS + 4) * _CHAR_WIDTH)
    height = round(2 * _MARGIN + (row - 1) * _LINE_HEIGHT)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"'
        f' aria-label="A terminal: a fact is replaced, asked for now and in the past">'
        f"<style>{_STYLE}</style>"
        f'<rect width="{width}" height="{height}" rx="10" fill="#0b1220"/>{"".join(groups)}</svg>\n'
    )


def _style_line(line: str) -> str:
    """Return a line with its colours as spans."""
    pieces, style = [], ""
    for place, part in enumerate(_CODE.split(line)):
        if place % 2:
            style = _COLORS.get(part, "")
        elif part:
            text = escape(part)
            pieces.append(f'<tspan class="{style}">{text}</tspan>' if style else text)
    return "".join(pieces)


if __name__ == "__main__":
    main()
