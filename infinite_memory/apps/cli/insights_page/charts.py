"""The charts of the page, as the figures that plotly draws, each with its numbers as a table.

Names and summaries come from anywhere. plotly reads tags and entities in texts, so texts are
escaped for it; they never stand in a template. Categories are numbers, and no name is compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import frozen

from infinite_memory.apps.cli.insights_page.words import (
    describe_spot,
    format_minutes,
    plain_name,
    repository_name,
    shorten_path,
)
from infinite_memory.features.archive.exchange.web_page import escape_text
from infinite_memory.features.projects.hard_spots import HardSpot
from infinite_memory.features.projects.insights import Insights, Period, Step
from infinite_memory.features.projects.solved_again import SolvedAgain
from infinite_memory.search.text.lines import one_line

_LABEL_CHARS = 42
_HOVER_CHARS = 140
_BAR_HEIGHT, _PAIR_HEIGHT, _LEGEND_HEIGHT, _MARGIN = 44, 68, 28, 48
_MOST_BARS, _FEWEST_SLOTS = 12, 12
_PIECES, _FEW = "pieces", 5
_HEIGHT = 340
_LEGEND = {
    "orientation": "h",
    "x": 0,
    "xanchor": "left",
    "y": 1.02,
    "yanchor": "bottom",
    "traceorder": "normal",
}
# The colours of Okabe and Ito, which people who confuse red and green can tell apart; they are
# readable on white and on black.
_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c8c8c")
_BY_NAME = {
    "problem": "#d55e00",
    "solution": "#009e73",
    "code_change": "#0072b2",
    "discussion": "#8c8c8c",
    "decision": "#e69f00",
    "lesson": "#cc79a7",
    "success": "#009e73",
    "in_progress": "#56b4e9",
    "failed": "#d55e00",
    "abandoned": "#e69f00",
    "unknown": "#8c8c8c",
}


@frozen(kw_only=True)
class Chart:
    """A chart: a figure of plotly, and its numbers in a table for those who cannot see it."""

    data: Sequence[Mapping[str, Any]]
    layout: Mapping[str, Any]
    headers: Sequence[str]
    rows: Sequence[Sequence[str]]


@frozen(kw_only=True)
class _Series:
    """Numbers over time, with their name and their colour."""

    label: str
    colour: str
    numbers: Sequence[float]


@frozen(kw_only=True)
class _Bar:
    """A horizontal bar: what stands above it, its length, and what is said of it."""

    label: str
    value: float
    hover: str
    colour: str = _COLOURS[0]


def activity_chart(insights: Insights) -> Chart | None:
    """Return the chunks of every period, by kind."""
    return _make_stacked_chart(
        insights,
        [
            _Series(
                label=plain_name(name),
                colour=_BY_NAME.get(name, _COLOURS[-1]),
                numbers=[period.kinds.get(name, 0) for period in insights.periods],
            )
            for name in insights.kinds
        ],
        _PIECES,
    )


def time_chart(insights: Insights) -> Chart | None:
    """Return the hours of every period, by repository; the least used ones are taken together."""
    names = list(insights.minutes)
    own = len(_COLOURS) - 1
    groups = {repository_name(name): [name] for name in names[:own]}
    if names[own:]:
        groups["others"] = names[own:]
    return _make_stacked_chart(
        insights,
        [
            _Series(
                label=label,
                colour=colour,
                numbers=[_sum_hours(period, group) for period in insights.periods],
            )
            for (label, group), colour in zip(groups.items(), _COLOURS, strict=False)
        ],
        "hours",
    )


def _sum_hours(period: Period, scopes: Iterable[str]) -> float:
    return round(sum(period.minutes.get(scope, 0) for scope in scopes) / 60, 2)


def outcome_chart(insights: Insights) -> Chart | None:
    """Return how many chunks ended in each way."""
    bars = [
        _Bar(label=plain_name(name), value=count, hover=f"{count:,}", colour=_BY_NAME[name])
        for name, count in insights.outcomes.items()
    ]
    rows = [(bar.label, bar.hover) for bar in bars]
    return _make_bar_chart(bars, ("Outcome", "Pieces"), rows, _PIECES)


def repository_chart(insights: Insights) -> Chart | None:
    """Return the hours of every repository."""
    bars = [
        _Bar(label=repository_name(name), value=minutes / 60, hover=format_minutes(minutes))
        for name, minutes in insights.minutes.items()
    ]
    rows = [(bar.label, bar.hover) for bar in bars]
    return _make_bar_chart(bars[:_MOST_BARS], ("Repository", "Time"), rows, "hours")


def hard_chart(spots: Sequence[HardSpot]) -> Chart | None:
    """Return the scores of hard spots."""
    bars = [
        _Bar(
            label=spot.name,
            value=spot.score,
            hover=describe_spot(spot),
            colour="#d55e00",
        )
        for spot in spots[:_MOST_BARS]
    ]
    rows = [
        (
            spot.name,
            repository_name(spot.scope),
            f"{spot.chunks:,}",
            f"{spot.failed:,}",
            f"{spot.complex:,}",
            format_minutes(spot.minutes),
            f"{spot.score:.2f}",
        )
        for spot in spots
    ]
    headers = ("Name", "Repository", "Pieces", "Failed", "Complex", "Time", "Score")
    return _make_bar_chart(bars, headers, rows, "score", highest=1)


def solved_chart(solved: Sequence[SolvedAgain]) -> Chart | None:
    """Return the minutes of the first solution beside the median of the later ones."""
    if not solved:
        return None
    shown = list(reversed(solved[:_MOST_BARS]))
    sides = (
        ("first time", [each.first_minutes for each in shown], "#d55e00", -0.1),
        ("later, median", [each.later_median for each in shown], "#009e73", -0.42),
    )
    data = [
        {
            "type": "bar",
            "orientation": "h",
            "name": name,
            "x": minutes,
            "y": [str(number) for number in range(len(shown))],
            "width": 0.26,
            "offset": offset,
            "hovertext": [
                escape_text(f"{name}, {format_minutes(length)}: {each.summary}", _HOVER_CHARS)
                for each, length in zip(shown, minutes, strict=True)
            ],
            "hoverinfo": "text",
            "marker": {"color": colour},
        }
        for name, minutes, colour, offset in sides
    ]
    layout = _make_bar_layout(
        [escape_text(each.summary, _LABEL_CHARS) for each in shown],
        "minutes",
        max(max(minutes) for _, minutes, _, _ in sides),
        bar_height=_PAIR_HEIGHT,
    )
    layout["margin"]["t"] = _LEGEND_HEIGHT
    layout |= {"height": layout["height"] + _LEGEND_HEIGHT, "showlegend": True, "legend": _LEGEND}
    rows = [
        (
            each.summary,
            repository_name(each.scope),
            format_minutes(each.first_minutes),
            ", ".join(map(format_minutes, each.later_minutes)),
        )
        for each in solved
    ]
    headers = ("Problem", "Repository", "First time", "Later times")
    return Chart(data=data, layout=layout, headers=headers, rows=rows)


def _make_stacked_chart(insights: Insights, series: Sequence[_Series], unit: str) -> Chart | None:
    """Return bars over time, one above the other; None without any."""
    if not any(any(each.numbers) for each in series):
        return None
    begins = [period.begin.isoformat() for period in insights.periods]
    spare = max(0, _FEWEST_SLOTS - len(begins))
    before = "" if insights.step is Step.DAY else f"{insights.step} of "
    data = [
        {
            "type": "bar",
            "name": _escape_path(each.label),
            "x": begins,
            "y": list(each.numbers),
            "hovertext": [
                f"{before}{begin}: {number:,g} {unit}, {escape_text(each.label, _HOVER_CHARS)}"
                for begin, number in zip(begins, each.numbers, strict=True)
            ],
            "hoverinfo": "text",
            "marker": {"color": each.colour},
        }
        for each in series
    ]
    layout = {
        "barmode": "stack",
        "height": _HEIGHT,
        "margin": {"l": 52, "r": 8, "t": 8, "b": 32},
        "legend": _LEGEND,
        "showlegend": True,
        "bargap": 0.15,
        "xaxis": {
            "type": "category",
            # Few bars are no wider than those of many.
            "range": [-0.5 - spare / 2, len(begins) - 0.5 + spare / 2],
            "tickangle": 0,
            "fixedrange": True,
        },
        "yaxis": _make_axis(
            unit, max(map(sum, zip(*(each.numbers for each in series), strict=True)))
        ),
    }
    rows = [
        (begin, *(f"{each.numbers[number]:,g}" for each in series))
        for number, begin in enumerate(begins)
    ]
    headers = (f"{before or 'day'}".capitalize(), *(each.label for each in series))
    return Chart(data=data, layout=layout, headers=headers, rows=rows)


def _make_bar_chart(
    bars: Sequence[_Bar],
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    unit: str,
    *,
    highest: float | None = None,
) -> Chart | None:
    """Return horizontal bars, the first one above; None without any."""
    if not bars:
        return None
    shown = list(reversed(bars))
    data = [
        {
            "type": "bar",
            "orientation": "h",
            "x": [round(bar.value, 2) for bar in shown],
            "y": [str(number) for number in range(len(shown))],
            "width": 0.36,
            "offset": -0.42,
            "hovertext": [escape_text(f"{bar.label}: {bar.hover}", _HOVER_CHARS) for bar in shown],
            "hoverinfo": "text",
            "marker": {"color": [bar.colour for bar in shown]},
        }
    ]
    layout = _make_bar_layout(
        [_escape_path(bar.label) for bar in shown], unit, max(bar.value for bar in bars)
    )
    if highest is not None:
        layout["xaxis"]["range"] = [0, highest]
    return Chart(data=data, layout=layout, headers=headers, rows=rows)


def _make_bar_layout(
    labels: Sequence[str], unit: str, longest: float, *, bar_height: int = _BAR_HEIGHT
) -> dict[str, Any]:
    """Return a layout with escaped labels above their bars, where they have the whole width."""
    annotations = [
        {
            "text": label,
            "x": 0,
            "xref": "paper",
            "xanchor": "left",
            "y": number + 0.46,
            "yref": "y",
            "yanchor": "top",
            "showarrow": False,
            "align": "left",
        }
        for number, label in enumerate(labels)
    ]
    return {
        "height": bar_height * len(labels) + _MARGIN,
        "margin": {"l": 4, "r": 12, "t": 4, "b": 44},
        "showlegend": False,
        "barmode": "overlay",
        "annotations": annotations,
        "xaxis": _make_axis(unit, longest),
        "yaxis": {
            "type": "category",
            "range": [-0.5, len(labels) - 0.5],
            "showticklabels": False,
            "showgrid": False,
            "fixedrange": True,
        },
    }


def _make_axis(unit: str, longest: float) -> dict[str, Any]:
    """Return the axis of numbers from zero on, with whole ones for what is counted."""
    axis = {"title": {"text": unit}, "rangemode": "tozero", "fixedrange": True}
    is_few = unit == _PIECES and longest <= _FEW
    return {**axis, "dtick": 1} if is_few else axis


def _escape_path(name: str) -> str:
    """Return the end of a name in a line, so that plotly shows it as it is."""
    shown = shorten_path(one_line(name, max_chars=1024), _LABEL_CHARS)
    return escape_text(shown, _LABEL_CHARS)
