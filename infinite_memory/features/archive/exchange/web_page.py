"""Parts of a page of HTML: one file that needs no network, and runs no script but its own.

Whatever was stored is escaped. Should a text get through all the same, the policy of a page names
its scripts by their hashes, and forbids every request.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterable, Sequence

from infinite_memory.core.errors import requiring
from infinite_memory.search.text.lines import escape_controls, one_line

_CELL_CHARS = 300
_CLOSING = re.compile(r"</(script)", re.IGNORECASE)
_STYLE = """
:root { color-scheme: light dark; --paper: #ffffff; --card: #f6f7f9; --ink: #1c2026;
  --soft: #59636e; --line: #d8dde3; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #14171b; --card: #1d2126; --ink: #e6e9ed; --soft: #9aa5b1; --line: #343a42; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 24px 16px 64px; max-width: 1080px; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif;
  overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 4px; }
h2 { font-size: 1.1rem; margin: 0 0 4px; }
p { margin: 0 0 8px; }
.soft { color: var(--soft); font-size: .9rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px;
  margin: 20px 0; padding: 0; list-style: none; }
.tiles li, section { background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
.tiles li { padding: 10px 14px; }
.tiles b { display: block; font-size: 1.5rem; line-height: 1.3; }
.grid { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 440px), 1fr));
  gap: 16px; margin-top: 16px; }
section { padding: 14px 16px; min-width: 0; }
section.wide { grid-column: 1 / -1; }
.chart { width: 100%; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: 4px 12px 4px 0;
  border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
th { color: var(--soft); font-weight: 600; overflow-wrap: normal; }
td { min-width: 4.5rem; }
td:first-child, td:last-child { min-width: 10rem; }
details { margin-top: 8px; font-size: .9rem; }
summary { cursor: pointer; color: var(--soft); }
@media print { details, summary { display: none; } section { break-inside: avoid; } }
"""


def load_plotly(otherwise: str) -> str:
    """Return the script of the library that draws; `otherwise` is what to do without a page.

    Raises:
        ConfigurationError: its package is not installed.
    """
    with requiring("insights", "to write the page", otherwise):
        from plotly.offline import get_plotlyjs  # noqa: PLC0415 -- an optional package
    library: str = get_plotlyjs()
    return library


def guard_script(script: str) -> str:
    """Return a script that ends where its element ends, with the line ends that are hashed."""
    return _CLOSING.sub(r"<\\/\1", script.replace("\r\n", "\n").replace("\r", "\n"))


def to_script_data(value: object) -> str:
    """Return JSON that no parser of HTML sees anything in."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def make_head(title: str, scripts: Iterable[str], style: str = "") -> list[str]:
    """Return the head of a page as lines, with a policy that lets only `scripts` run.

    `style` comes after the style of every page.
    """
    digests = [hashlib.sha256(script.encode()).digest() for script in scripts]
    hashes = [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests]
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src {' '.join(hashes) or chr(39) + 'none' + chr(39)}",
            "style-src 'unsafe-inline'",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    return [
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="referrer" content="no-referrer">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape_html(title)}</title>",
        f"<style>{_STYLE}{style}</style>",
        "</head>",
    ]


def make_table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of texts, which scrolls if it is wider than the page."""
    head = "".join(f'<th scope="col">{escape_html(header)}</th>' for header in headers)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape_html(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def escape_html(text: str) -> str:
    """Return a text in a line as HTML, also for an attribute in double quotes."""
    return html.escape(escape_controls(one_line(text, max_chars=_CELL_CHARS)))


def escape_text(text: str, max_chars: int) -> str:
    """Return a text in a line, so that plotly, which reads tags and entities, shows it as it is."""
    shown = html.escape(escape_controls(one_line(text, max_chars=max_chars)), quote=False)
    # Between two of these signs it would look for a formula.
    return shown.replace("$", "&#36;")
