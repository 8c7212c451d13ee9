"""The page with the picture: one file that needs no network, and runs no script but its own two."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from attrs import frozen

from infinite_memory.core.values.memory import shorten
from infinite_memory.core.values.messages import format_count
from infinite_memory.core.values.timestamps import in_zone
from infinite_memory.features.archive.exchange.graphs.picture.figure import (
    describe_edge,
    make_labels,
    make_traces,
    name_kind,
)
from infinite_memory.features.archive.exchange.graphs.picture.lines import PictureLine
from infinite_memory.features.archive.exchange.graphs.picture.look import DRAWING
from infinite_memory.features.archive.exchange.graphs.picture.places import find_places
from infinite_memory.features.archive.exchange.graphs.values import GraphNode
from infinite_memory.features.archive.exchange.web_page import (
    escape_html,
    guard_script,
    load_plotly,
    make_head,
    make_table,
    to_script_data,
)

_TITLE_CHARS = 80


@frozen(kw_only=True)
class Picture:
    """What the page shows.

    `starts` are the ids where the walk began, none for the graph of whole scopes. `left_out` counts
    the memories that were not among the strongest.
    """

    nodes: Sequence[GraphNode]
    lines: Sequence[PictureLine]
    starts: frozenset[str]
    left_out: int
    made_at: datetime
    zone: str | None


def make_page(picture: Picture) -> str:
    """Return the page as HTML.

    Raises:
        ConfigurationError: the package that draws the picture is not installed.
    """
    library = load_plotly("choose the format graphml or json")
    title = _title(picture)
    scripts = [guard_script(script) for script in (library, DRAWING)] if picture.nodes else []
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        *make_head(title, scripts, _STYLE),
        "<body>",
        f"<h1>{escape_html(title)}</h1>",
        *(f'<p class="soft">{escape_html(sentence)}</p>' for sentence in _sentences(picture)),
        *(_drawing(picture) if picture.nodes else ["<p>There is no memory to draw.</p>"]),
        *(f"<script>{script}</script>" for script in scripts),
        "</body>",
        "</html>",
    ]
    return "\n".join(parts) + "\n"


_STYLE = """
:root { --link: #6b7683; --relation: #a9b3be; --label: rgba(246, 247, 249, .7); }
@media (prefers-color-scheme: dark) {
  :root { --link: #97a3b0; --relation: #56606b; --label: rgba(29, 33, 38, .7); }
}
body { max-width: 1280px; }
section { margin-top: 16px; }
#told:not(:empty) { margin-top: 8px; padding: 8px 12px; border: 1px solid var(--line);
  border-radius: 8px; background: var(--paper); font-size: .9rem; }
#told > * { display: block; }
"""


def _title(picture: Picture) -> str:
    headings = [n.memory.heading for n in picture.nodes if n.memory.id in picture.starts]
    if not headings:
        return "The graph of the memories"
    more = f" and {len(headings) - 1:,} more" if len(headings) > 1 else ""
    return f"Around “{shorten(headings[0], _TITLE_CHARS)}”{more}"


def _sentences(picture: Picture) -> Iterator[str]:
    memories = format_count(len(picture.nodes), "memory", "memories")
    lines = format_count(len(picture.lines), "line")
    yield f"Made on {in_zone(picture.made_at, picture.zone):%Y-%m-%d %H:%M}: {memories}, {lines}."
    if picture.lines:
        ring = " A ring shows where the walk began." if picture.starts else ""
        yield (
            "The thicker a line, the stronger it joins; the larger a mark, the more joins it. Point"
            f" at a mark, or at the middle of a line, to read about it.{ring}"
        )
    if picture.left_out:
        number = format_count(picture.left_out, "memory does", "memories do")
        yield f"{number} not fit: these are the strongest."


def _drawing(picture: Picture) -> Iterator[str]:
    places = find_places([node.memory.id for node in picture.nodes], picture.lines)
    data = {
        "traces": make_traces(
            picture.nodes, picture.lines, places, starts=picture.starts, zone=picture.zone
        ),
        "labels": make_labels(picture.nodes, picture.lines, places, picture.starts),
        "memories": len(picture.nodes),
    }
    yield (
        '<section><div class="chart" id="graph" role="img"'
        ' aria-label="The graph: its memories and lines follow as tables"></div>'
    )
    yield '<div id="told" aria-live="polite"></div>'
    yield f"<details><summary>The memories</summary>{_memory_table(picture)}</details>"
    if picture.lines:
        yield f"<details><summary>The lines</summary>{_line_table(picture)}</details>"
    yield "</section>"
    yield f'<script type="application/json" id="picture">{to_script_data(data)}</script>'


def _memory_table(picture: Picture) -> str:
    rows = [
        (
            memory.heading,
            name_kind(memory),
            f"{in_zone(memory.happened_at, picture.zone):%Y-%m-%d}",
            memory.scope,
            str(memory.status),
            memory.id,
        )
        for memory in (node.memory for node in picture.nodes)
    ]
    return make_table(("Memory", "Kind", "Date", "Scope", "Status", "Id"), rows)


def _line_table(picture: Picture) -> str:
    headings = {node.memory.id: node.memory.heading for node in picture.nodes}
    rows = [
        (headings[edge.source], headings[edge.target], describe_edge(edge, picture.zone))
        for line in picture.lines
        for edge in line.edges
    ]
    return make_table(("From", "To", "What joins them"), rows)
