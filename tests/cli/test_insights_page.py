"""The page of insights: whole, still, and deaf to what the stored texts say."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
import sys
from datetime import UTC, date, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from infinite_memory.apps.cli.insights_page.page import make_page
from infinite_memory.core.errors import ConfigurationError
from infinite_memory.features.projects.hard_spots import HardSpot
from infinite_memory.features.projects.insights import Insights, Period, Step
from infinite_memory.features.projects.patterns import Pattern, PatternExample, PatternKind, Trend
from infinite_memory.features.projects.recalls import Recalls
from infinite_memory.features.projects.solved_again import SolvedAgain

pytest.importorskip("plotly")

NOW = datetime(2026, 3, 4, 9, tzinfo=UTC)
SCOPE = "repo/github.com/octo/apollo"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
# What ends elements, attributes, scripts and lines, or is read by plotly, a terminal or a browser.
HOSTILE = [
    "</script><script>document.title='taken'</script>",
    "<img src=x onerror=\"document.title='taken'\">",
    "' onmouseover='document.title=1' \" autofocus onfocus=\"document.title=1",
    '<a href="https://example.com/">here</a> <b>bold</b> &lt;i&gt; %{x} $\\alpha$',
    "<!-- <script> ]]> \u2028 \u2029 \u202e \x1b[31m \x00 \ud800 end",
    "2024",
    "1e5",
]


def empty(**fields: Any) -> Insights:
    defaults: dict[str, Any] = {
        "scope": None,
        "chunks": 0,
        "more": False,
        "sessions": 0,
        "first": None,
        "last": None,
        "step": Step.DAY,
        "periods": (),
        "kinds": {},
        "outcomes": {},
        "success": None,
        "minutes": {},
        "timed": 0,
        "files": (),
        "components": (),
        "problems": (),
        "recalls": Recalls(chunks=0, sessions=0, in_sessions=0),
        "solved_again": (),
    }
    return Insights(**{**defaults, **fields})


def filled(*texts: str) -> Insights:
    """Return insights whose every name and summary is one of the texts."""
    kinds, outcomes = {"problem": 3, "solution": 1}, {"success": 3, "unknown": 1}
    minutes = {f"repo/{text}": 60.0 + n for n, text in enumerate(texts)}
    examples = [PatternExample(id="a", summary=t, scope=t, happened_at=NOW) for t in texts]
    spots = [
        HardSpot(name=t, scope=t, chunks=2, failed=1, complex=1, minutes=9.0, score=0.5)
        for t in texts
    ]
    return empty(
        scope=texts[0],
        chunks=4,
        sessions=2,
        first=NOW,
        last=NOW,
        periods=(Period(begin=date(2026, 3, 4), kinds=kinds, outcomes=outcomes, minutes=minutes),),
        kinds=kinds,
        outcomes=outcomes,
        success=1.0,
        minutes=minutes,
        timed=3,
        files=tuple(spots),
        components=tuple(spots),
        problems=tuple(
            Pattern(
                kind=PatternKind.PROBLEM,
                name=example.summary,
                count=3,
                trend=Trend.STEADY,
                examples=(example,),
                fix=example,
            )
            for example in examples
        ),
        solved_again=tuple(
            SolvedAgain(
                id="a",
                summary=t,
                scope=t,
                first_minutes=40.0,
                later_minutes=(10.0,),
                later_median=10.0,
            )
            for t in texts
        ),
    )


def page_of(insights: Insights) -> str:
    return make_page(insights, made_at=NOW, zone="UTC")


class Elements(HTMLParser):
    """The elements of a page with their attributes, and the texts of its scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.words: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.elements and self.elements[-1][0] == "script" and data.strip():
            self.scripts.append(data)
        else:
            self.words.append(data)

    def charts(self) -> dict[str, Any]:
        charts: dict[str, Any] = json.loads(self.scripts[0])
        return charts


def test_no_stored_text_becomes_an_element_or_a_script() -> None:
    plain, hostile = Elements(page_of(filled(*"abcdefg"))), Elements(page_of(filled(*HOSTILE)))
    assert [tag for tag, _ in hostile.elements] == [tag for tag, _ in plain.elements]
    assert [set(each) for _, each in hostile.elements] == [set(each) for _, each in plain.elements]
    assert hostile.scripts[1:] == plain.scripts[1:]
    assert len(hostile.scripts) == 3
    shown = "".join(hostile.words)
    assert HOSTILE[0] in shown
    assert HOSTILE[2] in shown
    assert not re.search(r"[\x00\x1b\u202e\ud800]", page_of(filled(*HOSTILE)))


def test_the_data_hold_no_character_that_html_reads() -> None:
    data = Elements(page_of(filled(*HOSTILE))).scripts[0]
    assert data.isascii()
    assert not set("<>&") & set(data)


def test_plotly_shows_texts_as_they_are_and_templates_hold_none() -> None:
    for chart in Elements(page_of(filled(*HOSTILE))).charts().values():
        texts = [
            *(note["text"] for note in chart["layout"].get("annotations", ())),
            *(trace.get("name", "") for trace in chart["data"]),
            *(text for trace in chart["data"] for text in trace["hovertext"]),
        ]
        assert not any(set("<>$") & set(text) for text in texts)
        assert "template" not in json.dumps(chart)
        assert chart["layout"]["xaxis"].get("type") == "category" or all(
            isinstance(value, int | float) for trace in chart["data"] for value in trace["x"]
        )


def test_only_the_two_scripts_may_run_and_nothing_may_be_fetched() -> None:
    elements = Elements(page_of(filled("a")))
    policy = next(
        each["content"]
        for tag, each in elements.elements
        if tag == "meta" and each.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None
    digests = [hashlib.sha256(text.encode()).digest() for text in elements.scripts[1:]]
    hashes = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    assert policy == (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; base-uri 'none';"
        " form-action 'none'"
    )
    links = {"src", "href", "action", "data", "srcset"}
    assert not [each for _, each in elements.elements if links & set(each)]


def test_the_page_is_of_a_bearable_size() -> None:
    assert len(page_of(filled("a")).encode()) < 6_000_000


def test_every_chart_is_one_that_plotly_knows_and_has_its_numbers_as_a_table() -> None:
    from plotly.graph_objects import Figure

    elements = Elements(page_of(filled("src/app.py", "src/api.py")))
    charts = elements.charts()
    assert list(charts) == [
        *("activity", "time", "outcomes", "repositories", "files", "components", "again")
    ]
    for chart in charts.values():
        Figure(data=chart["data"], layout=chart["layout"])
    # A table for each, and that of the problems.
    assert [tag for tag, _ in elements.elements].count("table") == len(charts) + 1
    drawn = {each["id"] for tag, each in elements.elements if each.get("class") == "chart"}
    assert drawn == set(charts)


def test_without_work_the_page_says_so_and_holds_no_script() -> None:
    page = page_of(empty())
    assert "Nothing is stored of work on repositories in that time." in page
    assert "<script" not in page
    assert "script-src 'none'" in page


def test_one_piece_without_details_has_a_page_that_says_what_is_unknown() -> None:
    day = Period(begin=date(2026, 3, 4), kinds={"lesson": 1}, outcomes={"unknown": 1}, minutes={})
    page = page_of(
        empty(
            chunks=1,
            sessions=1,
            first=NOW,
            last=NOW,
            periods=(day,),
            kinds=day.kinds,
            outcomes=day.outcomes,
        )
    )
    assert set(Elements(page).charts()) == {"activity", "outcomes"}
    assert "No piece of work says how many minutes it took." in page
    assert "No problem came more than once." in page
    assert "nothing ended yet" in page


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(
        ConfigurationError, match=r"the extra insights \(`pip install '.\[insights\]'"
    ):
        page_of(empty())


@pytest.mark.skipif(CHROMIUM is None, reason="there is no browser")
def test_a_browser_draws_every_chart_and_runs_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "insights.html"
    path.write_text(page_of(filled(*HOSTILE)), "utf-8")
    done = subprocess.run(
        [
            str(CHROMIUM),
            *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
            *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
            *("--enable-logging=stderr", "--log-level=0", "--dump-dom"),
            "--virtual-time-budget=8000",
            f"--user-data-dir={tmp_path / 'profile'}",
            path.as_uri(),
        ],
        capture_output=True,
        timeout=180,
        check=False,
    )
    page = done.stdout.decode(errors="replace")
    assert page.count('<div class="chart js-plotly-plot"') == 7, done.stderr[-2000:]
    assert "CONSOLE" not in done.stderr.decode(errors="replace")
    title = re.search(r"<title>(.*?)</title>", page)
    assert title is not None
    assert title[1].startswith("Insights: &lt;/script")
