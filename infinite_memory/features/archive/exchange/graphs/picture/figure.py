"""The figure that plotly draws: lines, memories by kind, and what each of them says.

Texts come from anywhere, and plotly reads tags, entities and formulas in what it shows. They are
given as data that it does not show; the script of the page escapes them, see `look`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from infinite_memory.core.values.memory import Memory, Status
from infinite_memory.core.values.timestamps import in_zone
from infinite_memory.features.archive.exchange.graphs.picture.lines import PictureLine
from infinite_memory.features.archive.exchange.graphs.picture.places import Place
from infinite_memory.features.archive.exchange.graphs.values import GraphEdge, GraphNode
from infinite_memory.search.text.lines import escape_controls, one_line

_ROW_CHARS, _END_CHARS, _LABEL_CHARS = 200, 80, 60
_MOST_TOLD = 6
# The upper end of a class of weights, and the width of its lines in pixels.
_WIDTHS = ((0.35, 1.0), (0.6, 1.8), (0.85, 3.0), (1.0, 4.5))
_LEAST_SIZE, _MOST_SIZE = 11.0, 26.0
# The colours of Okabe and Ito, which people who confuse red and green can tell apart, each with a
# shape, since there are more kinds than colours.
_LOOKS: Mapping[str, tuple[str, str]] = {
    "note": ("#0072b2", "circle"),
    "fact": ("#009e73", "square"),
    "message": ("#56b4e9", "circle"),
    "summary": ("#e69f00", "hexagon"),
    "topic summary": ("#e69f00", "star"),
    "decision": ("#d55e00", "diamond"),
    "problem": ("#cc79a7", "triangle-down"),
    "solution": ("#009e73", "triangle-up"),
    "lesson": ("#cc79a7", "pentagon"),
    "reminder": ("#f0c800", "circle"),
    "code change": ("#0072b2", "square"),
    "discussion": ("#8c8c8c", "circle"),
    "attachment": ("#8c8c8c", "square"),
    "instruction": ("#d55e00", "square"),
    "conclusion": ("#009e73", "diamond"),
}


def make_traces(
    nodes: Sequence[GraphNode],
    lines: Sequence[PictureLine],
    places: Mapping[str, Place],
    *,
    starts: frozenset[str],
    zone: str | None,
) -> list[dict[str, Any]]:
    """Return the traces: lines by width, the middles of the lines, and the memories by kind.

    The script of the page colours them by `meta`, "stored" or "computed" lines, "middles" or
    "memories". `customdata` are the rows that are told of each line and of each memory; the first
    row of a memory and the first two of a line are headings.
    """
    memories = {node.memory.id: node.memory for node in nodes}
    sizes = _compute_sizes(memories, lines)
    traces = list(_trace_lines(lines, places))
    if lines:
        traces.append(_trace_middles(lines, places, memories, zone))
    by_kind: dict[str, list[Memory]] = {}
    for memory in memories.values():
        by_kind.setdefault(name_kind(memory), []).append(memory)
    for kind in sorted(by_kind, key=list(_LOOKS).index):
        traces.append(_trace_kind(kind, by_kind[kind], places, sizes, starts, zone))
    return traces


def make_labels(
    nodes: Sequence[GraphNode],
    lines: Sequence[PictureLine],
    places: Mapping[str, Place],
    starts: frozenset[str],
) -> list[dict[str, Any]]:
    """Return the labels as the script of the page places them: text, place and size of the mark.

    Those of the beginning come first, then those of the largest marks. The script escapes the text.
    """
    memories = {node.memory.id: node.memory for node in nodes}
    sizes = _compute_sizes(memories, lines)
    ranked = sorted(memories, key=lambda memory_id: (memory_id not in starts, -sizes[memory_id]))
    return [
        {
            "text": _write_row(memories[memory_id].heading, _LABEL_CHARS),
            "x": round(places[memory_id][0], 4),
            "y": round(places[memory_id][1], 4),
            "size": sizes[memory_id],
        }
        for memory_id in ranked
    ]


def name_kind(memory: Memory) -> str:
    """Return the kind of a memory in words; "topic summary" for what the dreamer wrote."""
    return "topic summary" if memory.is_dreamed else memory.kind.value.replace("_", " ")


def describe_edge(edge: GraphEdge, zone: str | None) -> str:
    """Return the type, the weight and the reason of an edge, and who made a stored link when."""
    parts = [f"{edge.type.replace('_', ' ')}, {edge.weight:.2f}"]
    if edge.reason:
        parts.append(edge.reason)
    if edge.made_at is not None:
        parts.append(f"by {edge.made_by or 'unknown'} on {in_zone(edge.made_at, zone):%Y-%m-%d}")
    return "; ".join(parts)


def _compute_sizes(
    memories: Mapping[str, Memory], lines: Iterable[PictureLine]
) -> dict[str, float]:
    """Return the diameters of the marks in pixels; their area grows with the weight of lines."""
    strength = dict.fromkeys(memories, 0.0)
    for line in lines:
        for end in line.ends:
            strength[end] += line.weight
    most = max(strength.values(), default=0.0) or 1.0
    span = _MOST_SIZE - _LEAST_SIZE
    return {
        memory_id: round(_LEAST_SIZE + span * (own / most) ** 0.5, 1)
        for memory_id, own in strength.items()
    }


def _trace_lines(
    lines: Sequence[PictureLine], places: Mapping[str, Place]
) -> Iterator[dict[str, Any]]:
    """Yield a trace for each width of stored links, and of computed relations."""
    for is_stored, name in ((False, "computed relation"), (True, "stored link")):
        named = False
        for number, (_, width) in enumerate(_WIDTHS):
            own = [
                line
                for line in lines
                if line.is_stored is is_stored and _choose_width(line.weight) == number
            ]
            if not own:
                continue
            yield {
                "type": "scatter",
                "mode": "lines",
                "x": [x for line in own for x in (*_find_ends(line, places, 0), None)],
                "y": [y for line in own for y in (*_find_ends(line, places, 1), None)],
                "line": {"width": width, "dash": "solid" if is_stored else "dot"},
                "hoverinfo": "skip",
                "name": name,
                "legendgroup": name,
                "showlegend": not named,
                "meta": "stored" if is_stored else "computed",
            }
            named = True


def _choose_width(weight: float) -> int:
    return next(number for number, (most, _) in enumerate(_WIDTHS) if weight <= most)


def _find_ends(line: PictureLine, places: Mapping[str, Place], axis: int) -> tuple[float, ...]:
    return tuple(round(places[end][axis], 4) for end in line.ends)


def _trace_middles(
    lines: Sequence[PictureLine],
    places: Mapping[str, Place],
    memories: Mapping[str, Memory],
    zone: str | None,
) -> dict[str, Any]:
    """Return invisible marks in the middle of the lines, which say what joins two memories."""
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [sum(_find_ends(line, places, 0)) / 2 for line in lines],
        "y": [sum(_find_ends(line, places, 1)) / 2 for line in lines],
        "marker": {"size": 12, "opacity": 0},
        "customdata": [_tell_line(line, memories, zone) for line in lines],
        "showlegend": False,
        "meta": "middles",
    }


def _tell_line(line: PictureLine, memories: Mapping[str, Memory], zone: str | None) -> list[str]:
    rows = [_write_row(memories[end].heading, _END_CHARS) for end in line.ends]
    for edge in line.edges[:_MOST_TOLD]:
        arrow = "" if not edge.is_stored else "↓ " if edge.source == line.ends[0] else "↑ "
        rows.append(_write_row(f"{arrow}{describe_edge(edge, zone)}", _ROW_CHARS))
    return rows


def _trace_kind(
    kind: str,
    memories: Sequence[Memory],
    places: Mapping[str, Place],
    sizes: Mapping[str, float],
    starts: frozenset[str],
    zone: str | None,
) -> dict[str, Any]:
    colour, symbol = _LOOKS[kind]
    # A ring is drawn over what is near it, and the legend shows the first mark.
    memories = sorted(memories, key=lambda memory: memory.id in starts)
    return {
        "type": "scatter",
        "mode": "markers",
        "name": kind,
        "x": [round(places[memory.id][0], 4) for memory in memories],
        "y": [round(places[memory.id][1], 4) for memory in memories],
        "marker": {
            "color": colour,
            "symbol": symbol,
            "opacity": 1,
            "size": [sizes[memory.id] for memory in memories],
            "line": {"width": [3 if memory.id in starts else 1 for memory in memories]},
        },
        "customdata": [_tell_memory(memory, memory.id in starts, zone) for memory in memories],
        "meta": "memories",
    }


def _tell_memory(memory: Memory, is_start: bool, zone: str | None) -> list[str]:
    day = f"{in_zone(memory.happened_at, zone):%Y-%m-%d}"
    status = "" if memory.status is Status.CURRENT else f", {memory.status}"
    rows = [
        _write_row(memory.heading, _ROW_CHARS),
        _write_row(f"{name_kind(memory)}{status}, {day}, {memory.scope}", _ROW_CHARS),
    ]
    if memory.tags:
        rows.append(_write_row(" ".join(f"#{tag}" for tag in memory.tags), _ROW_CHARS))
    return [*rows, "where the walk began"] if is_start else rows


def _write_row(text: str, max_chars: int) -> str:
    return escape_controls(one_line(text, max_chars=max_chars))
