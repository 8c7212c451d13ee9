"""The page: one file that needs no network, and runs no script but its own two.

Whatever was stored is escaped. Should a text get through all the same, the policy of the page names
its scripts by their hashes, and forbids every request.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from attrs import frozen

from infinite_memory.cli.insights_page.charts import (
    Chart,
    activity_chart,
    hard_chart,
    outcome_chart,
    repository_chart,
    solved_chart,
    time_chart,
)
from infinite_memory.cli.insights_page.look import DRAWING, STYLE
from infinite_memory.cli.insights_page.words import (
    describe_recalls,
    describe_solved_again,
    format_minutes,
    format_pieces,
    format_share,
    repository_name,
)
from infinite_memory.cli.output import escape_controls
from infinite_memory.cli.render import one_line
from infinite_memory.errors import ConfigurationError, install_hint
from infinite_memory.model.timestamps import in_zone
from infinite_memory.projects.insights import Insights
from infinite_memory.projects.patterns import Pattern

__all__ = ["make_page"]

_CELL_CHARS = 300
_ROUNDED_MINUTES = 600
_NO_TIME = "No piece of work says how many minutes it took."
_CLOSING = re.compile(r"</(script)", re.IGNORECASE)


@frozen(kw_only=True)
class _Section:
    """A part of the page; `empty` stands there if there is no chart."""

    id: str
    title: str
    note: str
    chart: Chart | None
    empty: str
    is_wide: bool = False


def make_page(insights: Insights, *, made_at: datetime, zone: str | None) -> str:
    """Return the page as HTML; `zone` is the time zone of its dates.

    Raises:
        ConfigurationError: the package that draws the charts is not installed.
    """
    library = _load_library()
    sections = list(_sections(insights)) if insights.chunks else []
    charts = {
        section.id: {"data": section.chart.data, "layout": section.chart.layout}
        for section in sections
        if section.chart is not None
    }
    scripts = [_guard_script(script) for script in (library, DRAWING)] if charts else []
    data = f'<script type="application/json" id="charts">{_json(charts)}</script>'
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        *_head(f"Insights: {_name_of(insights)}", scripts),
        "<body>",
        *_summary(insights, made_at, zone),
        *(['<div class="grid">'] if sections else []),
        *(_section_html(section) for section in sections),
        *([_problems_html(insights.problems), "</div>"] if sections else []),
        *([data] if charts else []),
        *(f"<script>{script}</script>" for script in scripts),
        "</body>",
        "</html>",
    ]
    return "\n".join(parts) + "\n"


def _load_library() -> str:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise ConfigurationError(
            f"to write the page, install the extra insights ({install_hint('insights')}), or leave"
            " out --html to see the numbers here"
        ) from error
    library: str = get_plotlyjs()
    return library


def _guard_script(script: str) -> str:
    """Return a script that ends where its element ends, with the line ends that are hashed."""
    return _CLOSING.sub(r"<\\/\1", script.replace("\r\n", "\n").replace("\r", "\n"))


def _json(value: object) -> str:
    """Return JSON that no parser of HTML sees anything in."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _head(title: str, scripts: Iterable[str]) -> list[str]:
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
        f"<title>{_text(title)}</title>",
        f"<style>{STYLE}</style>",
        "</head>",
    ]


def _name_of(insights: Insights) -> str:
    return "all repositories" if insights.scope is None else repository_name(insights.scope)


def _summary(insights: Insights, made_at: datetime, zone: str | None) -> Iterator[str]:
    yield f"<h1>Insights: {_text(_name_of(insights))}</h1>"
    made = f"Made on {in_zone(made_at, zone):%Y-%m-%d %H:%M}"
    if insights.first is None or insights.last is None:
        yield f'<p class="soft">{made}.</p>'
        yield "<p>Nothing is stored of work on repositories in that time.</p>"
        return
    days = [in_zone(moment, zone).date() for moment in (insights.first, insights.last)]
    more = " Earlier work was left out." if insights.more else ""
    yield f'<p class="soft">{made}, of work from {days[0]} to {days[1]}.{more}</p>'
    tiles = [
        (f"{insights.chunks:,}", "pieces of work" if insights.chunks > 1 else "piece of work"),
        (f"{insights.sessions:,}", "sessions" if insights.sessions > 1 else "session"),
        ("–", "nothing ended yet")
        if insights.success is None
        else (format_share(insights.success), "of what ended succeeded"),
        (
            _round_time(sum(insights.minutes.values())),
            f"known for {insights.timed:,} of {format_pieces(insights.chunks)}",
        ),
        (f"{insights.recalls.sessions:,}", "sessions recalled later"),
    ]
    listed = "".join(
        f'<li><b>{_text(number)}</b><span class="soft">{_text(words)}</span></li>'
        for number, words in tiles
    )
    yield f'<ul class="tiles">{listed}</ul>'
    yield f"<p>{_text(describe_recalls(insights))}</p>"
    yield f"<p>{_text(describe_solved_again(insights.solved_again))}</p>"


def _round_time(minutes: float) -> str:
    return f"{minutes / 60:,.0f} h" if minutes >= _ROUNDED_MINUTES else format_minutes(minutes)


def _sections(insights: Insights) -> Iterator[_Section]:
    yield from _work(insights)
    yield from _hard_spots(insights)
    yield _Section(
        id="again",
        title="Known problems, solved again",
        note="Minutes until a problem was first solved, beside the median of later times.",
        chart=solved_chart(insights.solved_again),
        empty=describe_solved_again(()),
        is_wide=True,
    )


def _work(insights: Insights) -> Iterator[_Section]:
    step = insights.step.value
    yield _Section(
        id="activity",
        title=f"Activity by {step}",
        note="Pieces of work, by kind.",
        chart=activity_chart(insights),
        empty="",
        is_wide=True,
    )
    yield _Section(
        id="time",
        title=f"Time spent by {step}",
        note="Hours, by repository, as far as they are known.",
        chart=time_chart(insights),
        empty=_NO_TIME,
        is_wide=True,
    )
    yield _Section(
        id="outcomes",
        title="Outcomes",
        note="How pieces of work ended.",
        chart=outcome_chart(insights),
        empty="",
    )
    yield _Section(
        id="repositories",
        title="Time spent by repository",
        note="Hours, as far as they are known.",
        chart=repository_chart(insights),
        empty=_NO_TIME,
    )


def _hard_spots(insights: Insights) -> Iterator[_Section]:
    note = "The score is the mean of failed, complex and minutes, each as a share of the largest."
    yield _Section(
        id="files",
        title="Hard files",
        note=note,
        chart=hard_chart(insights.files),
        empty="No file failed, was complex or has a time.",
    )
    yield _Section(
        id="components",
        title="Hard components",
        note=note,
        chart=hard_chart(insights.components),
        empty="No component failed, was complex or has a time.",
    )


def _section_html(section: _Section) -> str:
    chart = section.chart
    if chart is None:
        body = f"<p>{_text(section.empty)}</p>"
    else:
        body = (
            f'<div class="chart" id="{section.id}" role="img"'
            f' aria-label="{_text(section.title)}: the numbers follow"></div>'
            f"<details><summary>The numbers</summary>{_table(chart.headers, chart.rows)}</details>"
        )
    return _frame(section.title, section.note, body, is_wide=section.is_wide)


def _problems_html(problems: Sequence[Pattern]) -> str:
    if not problems:
        body = "<p>No problem came more than once.</p>"
    else:
        rows = [
            (
                problem.name,
                repository_name(problem.examples[0].scope),
                f"{problem.count:,}",
                problem.trend.value,
                "none known" if problem.fix is None else problem.fix.summary,
            )
            for problem in problems
        ]
        body = _table(("Problem", "Repository", "Times", "Trend", "The last fix"), rows)
    return _frame("Recurring problems", "The most frequent first.", body, is_wide=True)


def _frame(title: str, note: str, body: str, *, is_wide: bool) -> str:
    kind = ' class="wide"' if is_wide else ""
    return (
        f'<section{kind}><h2>{_text(title)}</h2><p class="soft">{_text(note)}</p>{body}</section>'
    )


def _table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{_text(header)}</th>' for header in headers)
    body = "".join(f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _text(text: str) -> str:
    """Return a text in a line as HTML, also for an attribute in double quotes."""
    return html.escape(escape_controls(one_line(text, max_chars=_CELL_CHARS)))
