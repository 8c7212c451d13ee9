"""The page: one file that needs no network, and runs no script but its own two."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from attrs import frozen

from infinite_memory.apps.cli.insights_page.charts import (
    Chart,
    activity_chart,
    hard_chart,
    outcome_chart,
    repository_chart,
    solved_chart,
    time_chart,
)
from infinite_memory.apps.cli.insights_page.words import (
    describe_recalls,
    describe_shown,
    describe_solved_again,
    format_minutes,
    format_pieces,
    format_share,
    repository_name,
)
from infinite_memory.core.values.timestamps import in_zone
from infinite_memory.features.archive.exchange.web_page import (
    escape_html,
    guard_script,
    load_plotly,
    make_head,
    make_table,
    to_script_data,
)
from infinite_memory.features.projects.insights import Insights
from infinite_memory.features.projects.patterns import Pattern

_ROUNDED_MINUTES = 600
_NO_TIME = "No piece of work says how many minutes it took."


DRAWING = """
"use strict";
(() => {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const colour = (name) =>
    getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const copy = (value) => JSON.parse(JSON.stringify(value));
  const axis = (given) => ({
    gridcolor: colour("--line"), zerolinecolor: colour("--line"), linecolor: colour("--line"),
    automargin: true, ...given,
    title: { ...given.title, font: { size: 12, color: colour("--soft") } },
  });
  const draw = () => {
    const ink = colour("--ink");
    for (const [id, chart] of Object.entries(charts)) {
      const layout = copy(chart.layout);
      Object.assign(layout, {
        paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", dragmode: false,
        font: { color: ink, size: 13, family: getComputedStyle(document.body).fontFamily },
        hoverlabel: { bgcolor: colour("--paper"), bordercolor: colour("--line"),
          font: { color: ink }, align: "left" },
        xaxis: axis(layout.xaxis), yaxis: axis(layout.yaxis),
      });
      const width = document.getElementById(id).clientWidth;
      if (layout.xaxis.type === "category") {
        layout.xaxis.nticks = Math.max(2, Math.floor(width / 130));
        // On a phone the entries of the legend stand one below the other.
        if (width < 520) layout.height += 20 * chart.data.length;
      }
      Plotly.react(id, copy(chart.data), layout, { displayModeBar: false });
    }
  };
  let waiting = 0;
  const redraw = () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(draw);
  };
  draw();
  dark.addEventListener("change", redraw);
  window.addEventListener("resize", redraw);
})();
"""


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
    library = load_plotly("leave out --html to see the numbers here")
    sections = list(_make_sections(insights)) if insights.chunks else []
    charts = {
        section.id: {"data": section.chart.data, "layout": section.chart.layout}
        for section in sections
        if section.chart is not None
    }
    scripts = [guard_script(script) for script in (library, DRAWING)] if charts else []
    data = f'<script type="application/json" id="charts">{to_script_data(charts)}</script>'
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        *make_head(f"Insights: {_name_place(insights)}", scripts),
        "<body>",
        *_write_summary(insights, made_at, zone),
        *(['<div class="grid">'] if sections else []),
        *(_write_section(section) for section in sections),
        *([_write_problems(insights.problems), "</div>"] if sections else []),
        *([data] if charts else []),
        *(f"<script>{script}</script>" for script in scripts),
        "</body>",
        "</html>",
    ]
    return "\n".join(parts) + "\n"


def _name_place(insights: Insights) -> str:
    return "all repositories" if insights.scope is None else repository_name(insights.scope)


def _write_summary(insights: Insights, made_at: datetime, zone: str | None) -> Iterator[str]:
    yield f"<h1>Insights: {escape_html(_name_place(insights))}</h1>"
    made = f"Made on {in_zone(made_at, zone):%Y-%m-%d %H:%M}"
    if insights.first is None or insights.last is None:
        yield f'<p class="soft">{made}.</p>'
        yield "<p>Nothing is stored of work on repositories in that time.</p>"
        yield f"<p>{escape_html(describe_shown(insights.shown))}</p>"
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
        f'<li><b>{escape_html(number)}</b><span class="soft">{escape_html(words)}</span></li>'
        for number, words in tiles
    )
    yield f'<ul class="tiles">{listed}</ul>'
    yield f"<p>{escape_html(describe_recalls(insights))}</p>"
    yield f"<p>{escape_html(describe_solved_again(insights.solved_again))}</p>"
    yield f"<p>{escape_html(describe_shown(insights.shown))}</p>"


def _round_time(minutes: float) -> str:
    return f"{minutes / 60:,.0f} h" if minutes >= _ROUNDED_MINUTES else format_minutes(minutes)


def _make_sections(insights: Insights) -> Iterator[_Section]:
    yield from _make_work_sections(insights)
    yield from _make_hard_spot_sections(insights)
    yield _Section(
        id="again",
        title="Known problems, solved again",
        note="Minutes until a problem was first solved, beside the median of later times.",
        chart=solved_chart(insights.solved_again),
        empty=describe_solved_again(()),
        is_wide=True,
    )


def _make_work_sections(insights: Insights) -> Iterator[_Section]:
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


def _make_hard_spot_sections(insights: Insights) -> Iterator[_Section]:
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


def _write_section(section: _Section) -> str:
    chart = section.chart
    if chart is None:
        body = f"<p>{escape_html(section.empty)}</p>"
    else:
        body = (
            f'<div class="chart" id="{section.id}" role="img"'
            f' aria-label="{escape_html(section.title)}: the numbers follow"></div>'
            "<details><summary>The numbers</summary>"
            f"{make_table(chart.headers, chart.rows)}</details>"
        )
    return _frame_section(section.title, section.note, body, is_wide=section.is_wide)


def _write_problems(problems: Sequence[Pattern]) -> str:
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
        body = make_table(("Problem", "Repository", "Times", "Trend", "The last fix"), rows)
    return _frame_section("Recurring problems", "The most frequent first.", body, is_wide=True)


def _frame_section(title: str, note: str, body: str, *, is_wide: bool) -> str:
    kind = ' class="wide"' if is_wide else ""
    head = f'<h2>{escape_html(title)}</h2><p class="soft">{escape_html(note)}</p>'
    return f"<section{kind}>{head}{body}</section>"
