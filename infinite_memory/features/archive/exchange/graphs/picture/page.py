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


DRAWING = """
"use strict";
(() => {
  const { traces, labels, memories } = JSON.parse(document.getElementById("picture").textContent);
  const chart = document.getElementById("graph"), told = document.getElementById("told");
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const mouse = window.matchMedia("(pointer: fine)");
  const colour = (name) =>
    getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const copy = (value) => JSON.parse(JSON.stringify(value));
  // plotly reads tags, entities and formulas.
  const escape = (text) => text.replace(/[&<>$]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  const pen = document.createElement("canvas").getContext("2d");
  const family = getComputedStyle(document.body).fontFamily;
  const FONT = 12, GAP = 3;
  // A telephone is high and not wide: the picture lies on its side there, with smaller marks.
  const isNarrow = () => chart.clientWidth < 520;
  const turn = (thing) => isNarrow() ? { ...thing, x: thing.y, y: thing.x } : thing;
  const scale = (size) => isNarrow() ? 0.75 * size : size;
  const cut = (text, most) => {
    const signs = [...text];
    return signs.length <= most ? text : `${signs.slice(0, most - 1).join("").trimEnd()}…`;
  };
  const wrap = (text, most) => {
    pen.font = `13px ${family}`;
    const lines = [""];
    for (const part of text.match(/[^\\s\\u2e80-\\uffff]{1,30}\\s?|\\s|[^]/gu) || []) {
      const longer = lines[lines.length - 1] + part;
      if (pen.measureText(longer.trimEnd()).width > most) lines.push(part);
      else lines[lines.length - 1] = longer;
    }
    return lines.map((line) => line.trimEnd());
  };
  const meets = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom
    && b.top < a.bottom;

  // A label stands beside its mark where it covers no other mark and no other label, or not at all.
  const place = () => {
    const { xaxis, yaxis, _size: size } = chart._fullLayout;
    const frame = { left: 0, top: 0, right: size.w, bottom: size.h };
    pen.font = `${FONT}px ${family}`;
    const marks = labels.map(turn).map((label) => {
      const x = xaxis.l2p(label.x), y = yaxis.l2p(label.y), half = scale(label.size) / 2;
      return { x, y, half, left: x - half, right: x + half, top: y - half, bottom: y + half };
    });
    const taken = marks.slice(), notes = [];
    labels.forEach((label, number) => {
      const mark = marks[number];
      if (mark.x < 0 || mark.y < 0 || mark.x > frame.right || mark.y > frame.bottom) return;
      for (const most of isNarrow() ? [22, 12] : [36, 22, 12]) {
        const text = cut(label.text, most);
        const wide = pen.measureText(text).width, high = FONT * 1.3;
        const boxes = [
          [mark.right + GAP, mark.y - high / 2], [mark.left - GAP - wide, mark.y - high / 2],
          [mark.x - wide / 2, mark.bottom + GAP], [mark.x - wide / 2, mark.top - GAP - high],
        ].map(([left, top]) => ({ left, top, right: left + wide, bottom: top + high }));
        const free = boxes.find((box) => box.left >= 0 && box.top >= 0 && box.right <= frame.right
          && box.bottom <= frame.bottom
          && !taken.some((other) => other !== mark && meets(box, other)));
        if (!free) continue;
        taken.push(free);
        notes.push({ text: escape(text), showarrow: false, xref: "x", yref: "y",
          x: xaxis.p2l((free.left + free.right) / 2), y: yaxis.p2l((free.top + free.bottom) / 2),
          borderpad: 0, bgcolor: colour("--label"), captureevents: false,
          font: { size: FONT, color: colour("--ink") } });
        return;
      }
    });
    return notes;
  };

  let placing = false;
  const annotate = () => {
    placing = true;
    Plotly.relayout(chart, { annotations: place() }).then(() => { placing = false; });
  };
  const headings = (trace) => trace.meta === "middles" ? 2 : 1;
  // Beside a mark on a telephone there is no room: what it says stands below the picture.
  const tell = (event) => {
    const { data, customdata } = event.points[0];
    if (!isNarrow() || !customdata) return;
    told.replaceChildren(...customdata.map((row, number) => {
      const line = document.createElement(number < headings(data) ? "b" : "span");
      line.textContent = row;
      return line;
    }));
  };
  const tint = (trace) => {
    if (trace.meta === "stored") trace.line.color = colour("--link");
    if (trace.meta === "computed") trace.line.color = colour("--relation");
    if (trace.customdata) {
      const heads = headings(trace);
      trace.hoverinfo = isNarrow() ? "none" : "text";
      trace.hovertext = trace.customdata.map((rows) => rows.map((row, number) => {
        const shown = wrap(row, 320).map(escape).join("<br>");
        return number < heads ? `<b>${shown}</b>` : shown;
      }).join("<br>"));
    }
    if (trace.meta === "memories") {
      trace.marker.size = trace.marker.size.map(scale);
      trace.marker.line.color = trace.marker.line.width.map((width) =>
        colour(width > 1 ? "--ink" : "--card"));
    }
    return turn(trace);
  };
  const draw = () => {
    const ink = colour("--ink");
    const high = Math.min(900, Math.max(300, 170 + 62 * Math.sqrt(memories)));
    const axis = () => ({
      visible: false, range: [-0.06, 1.06], fixedrange: !mouse.matches,
    });
    const layout = {
      width: chart.clientWidth, height: Math.round(isNarrow() ? 1.15 * high : high),
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      margin: { l: 8, r: 8, t: 8, b: 8 }, dragmode: mouse.matches ? "pan" : false,
      hovermode: "closest", xaxis: axis(), yaxis: axis(), annotations: [],
      font: { color: ink, size: 13, family }, showlegend: true,
      legend: { orientation: "h", x: 0, xanchor: "left", y: -0.01, yanchor: "top",
        itemsizing: "constant", itemclick: false, itemdoubleclick: false },
      hoverlabel: { bgcolor: colour("--paper"), bordercolor: colour("--line"),
        font: { color: ink, size: 13, family }, align: "left", namelength: -1 },
    };
    Plotly.react(chart, copy(traces).map(tint), layout, {
      displaylogo: false, displayModeBar: mouse.matches,
      modeBarButtons: [["zoomIn2d", "zoomOut2d", "resetScale2d"]],
    }).then(annotate);
  };
  let waiting = 0;
  const redraw = () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(draw);
  };
  draw();
  chart.on("plotly_hover", tell);
  chart.on("plotly_click", tell);
  chart.on("plotly_relayout", () => { if (!placing) annotate(); });
  dark.addEventListener("change", redraw);
  window.addEventListener("resize", redraw);
})();
"""


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
    title = _write_title(picture)
    scripts = [guard_script(script) for script in (library, DRAWING)] if picture.nodes else []
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        *make_head(title, scripts, _STYLE),
        "<body>",
        f"<h1>{escape_html(title)}</h1>",
        *(f'<p class="soft">{escape_html(sentence)}</p>' for sentence in _write_sentences(picture)),
        *(_write_drawing(picture) if picture.nodes else ["<p>There is no memory to draw.</p>"]),
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


def _write_title(picture: Picture) -> str:
    headings = [n.memory.heading for n in picture.nodes if n.memory.id in picture.starts]
    if not headings:
        return "The graph of the memories"
    more = f" and {len(headings) - 1:,} more" if len(headings) > 1 else ""
    return f"Around “{shorten(headings[0], _TITLE_CHARS)}”{more}"


def _write_sentences(picture: Picture) -> Iterator[str]:
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


def _write_drawing(picture: Picture) -> Iterator[str]:
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
    yield f"<details><summary>The memories</summary>{_make_memory_table(picture)}</details>"
    if picture.lines:
        yield f"<details><summary>The lines</summary>{_make_line_table(picture)}</details>"
    yield "</section>"
    yield f'<script type="application/json" id="picture">{to_script_data(data)}</script>'


def _make_memory_table(picture: Picture) -> str:
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


def _make_line_table(picture: Picture) -> str:
    headings = {node.memory.id: node.memory.heading for node in picture.nodes}
    rows = [
        (headings[edge.source], headings[edge.target], describe_edge(edge, picture.zone))
        for line in picture.lines
        for edge in line.edges
    ]
    return make_table(("From", "To", "What joins them"), rows)
