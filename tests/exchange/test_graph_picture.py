"""The picture of the graph: whole, still, readable, and deaf to what the stored texts say."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from infinite_memory import ConfigurationError, InvalidInput, Kind, Memory, MemoryStore, Origin
from infinite_memory.features.archive.exchange.graphs.picture import page as page_module
from infinite_memory.features.archive.exchange.graphs.picture.lines import choose_lines
from infinite_memory.features.archive.exchange.graphs.picture.page import Picture, make_page
from infinite_memory.features.archive.exchange.graphs.picture.places import find_places
from infinite_memory.features.archive.exchange.graphs.values import GraphEdge, GraphNode

pytest.importorskip("plotly")

NOW = datetime(2026, 3, 4, 9, tzinfo=UTC)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
HOSTILE = [
    "</script><script>document.title='taken'</script>",
    "<img src=x onerror=\"document.title='taken'\">",
    "' onmouseover='document.title=1' \" autofocus onfocus=\"document.title=1",
    '<a href="https://example.com/">here</a> <b>bold</b> &lt;i&gt; %{x} $\\alpha$ $',
    "<!-- <script> ]]> \u2028 \u2029 \u202e \x1b[31m \x00 \ud800 end",
    "2024",
]
Open = Callable[..., MemoryStore]


def edge(source: str, target: str, weight: float, **fields: Any) -> GraphEdge:
    values = {"type": "meaning", "reason": "", **fields}
    return GraphEdge(source=source, target=target, weight=weight, **values)


def stored(source: str, target: str, weight: float, **fields: Any) -> GraphEdge:
    return edge(
        source, target, weight, **{"type": "intent", "made_by": "me", "made_at": NOW, **fields}
    )


def picture_of(texts: Iterable[str], *, starts: Iterable[str] = (), left_out: int = 0) -> Picture:
    """Return a picture with a memory for each text, each linked to the one before it."""
    nodes = [
        GraphNode(
            memory=Memory(
                id=f"m{number}",
                text=text,
                tags=(text,),
                scope=text,
                kind=list(Kind)[number % len(Kind)],
                happened_at=NOW,
                stored_at=NOW,
            ),
            priority=0.5,
        )
        for number, text in enumerate(texts)
    ]
    edges = [
        stored(f"m{number}", f"m{number + 1}", 0.9, reason=node.memory.text, made_by="<i>me</i>")
        for number, node in enumerate(nodes[1:])
    ]
    return Picture(
        nodes=nodes,
        lines=choose_lines(edges),
        starts=frozenset(starts),
        left_out=left_out,
        made_at=NOW,
        zone="UTC",
    )


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

    def data(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(self.scripts[0])
        return data


def test_no_stored_text_becomes_an_element_or_a_script() -> None:
    page = make_page(picture_of(HOSTILE, starts=["m0"]))
    plain = Elements(make_page(picture_of("abcdef", starts=["m0"])))
    hostile = Elements(page)
    assert [tag for tag, _ in hostile.elements] == [tag for tag, _ in plain.elements]
    assert [set(each) for _, each in hostile.elements] == [set(each) for _, each in plain.elements]
    assert hostile.scripts[1:] == plain.scripts[1:]
    assert len(hostile.scripts) == 3
    assert HOSTILE[0] in "".join(hostile.words)
    assert not re.search(r"[\x00\x1b\u2028\u202e\ud800]", page)


def test_the_data_hold_no_character_that_html_reads_and_plotly_shows_no_stored_text() -> None:
    elements = Elements(make_page(picture_of(HOSTILE, starts=["m0"])))
    assert elements.scripts[0].isascii()
    assert not set("<>&") & set(elements.scripts[0])
    for trace in elements.data()["traces"]:
        assert not {"text", "hovertext", "hovertemplate", "texttemplate"} & set(trace)
        assert trace.get("name", "").replace(" ", "").isalpha() or trace["meta"] == "middles"


def test_only_the_two_scripts_may_run_and_nothing_may_be_fetched() -> None:
    elements = Elements(make_page(picture_of("ab")))
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


def test_the_figure_is_one_that_plotly_knows_with_every_kind_in_the_legend() -> None:
    from plotly.graph_objects import Figure

    picture = picture_of([f"text {number}" for number in range(len(Kind))])
    dreamed = Memory(
        id="dreamed",
        text="all of it",
        kind=Kind.SUMMARY,
        origin=Origin.DREAM,
        context={"dreamed": {"level": 1, "by": "quotation"}},
        happened_at=NOW,
        stored_at=NOW,
    )
    nodes = [*picture.nodes, GraphNode(memory=dreamed, priority=0.5)]
    lines = [*picture.lines, *choose_lines([edge("m0", "dreamed", 0.2)])]
    page = make_page(
        Picture(
            nodes=nodes,
            lines=lines,
            starts=frozenset(),
            left_out=0,
            made_at=NOW,
            zone=None,
        )
    )
    traces = Elements(page).data()["traces"]
    Figure(data=traces)
    names = [trace["name"] for trace in traces if trace.get("showlegend", True)]
    assert names[:2] == ["computed relation", "stored link"]
    kinds = {kind.value.replace("_", " ") for kind in Kind}
    assert sorted(names[2:]) == sorted({*kinds, "topic summary"})
    looks = [
        (trace["marker"]["color"], trace["marker"]["symbol"])
        for trace in traces
        if trace["meta"] == "memories"
    ]
    assert len(set(looks)) == len(looks)


def test_what_a_mark_and_a_line_say() -> None:
    traces = Elements(make_page(picture_of("ab", starts=["m1"]))).data()["traces"]
    said = [rows for trace in traces for rows in trace.get("customdata", ())]
    assert said == [
        ["a", "b", "↓ intent, 0.90; b; by <i>me</i> on 2026-03-04"],
        ["b", "note, 2026-03-04, b", "#b", "where the walk began"],
        ["a", "message, 2026-03-04, a", "#a"],
    ]


def test_widths_follow_the_weights_and_rings_show_where_the_walk_began() -> None:
    memories = [
        Memory(id=name, text=name, happened_at=NOW, stored_at=NOW) for name in ("a", "b", "c")
    ]
    lines = choose_lines([stored("a", "b", 0.2), stored("b", "c", 1.0), edge("a", "c", 0.7)])
    picture = Picture(
        nodes=[GraphNode(memory=memory, priority=0.5) for memory in memories],
        lines=lines,
        starts=frozenset({"b"}),
        left_out=0,
        made_at=NOW,
        zone=None,
    )
    traces = Elements(make_page(picture)).data()["traces"]
    drawn = {
        (trace["meta"], trace["line"]["dash"]): trace["line"]["width"]
        for trace in traces
        if trace["mode"] == "lines"
    }
    widths = [trace["line"]["width"] for trace in traces if trace["meta"] == "stored"]
    assert widths == sorted(widths)
    assert len(widths) == 2
    assert widths[0] < drawn["computed", "dot"] < widths[1]
    (marks,) = [trace for trace in traces if trace["meta"] == "memories"]
    assert marks["marker"]["line"]["width"] == [1, 1, 3]


def test_every_link_is_drawn_and_of_the_relations_the_three_strongest_of_each_memory() -> None:
    around = [edge("hub", f"x{number}", 0.1 + number / 100) for number in range(9)]
    links = [stored("x0", "x1", 0.05), stored("x1", "x0", 0.4, type="semantic")]
    lines = choose_lines([*around, *links, edge("x0", "x1", 0.9), stored("x0", "x0", 1.0)])
    assert [line.ends for line in lines] == [
        ("x1", "x0"),
        *(("hub", f"x{n}") for n in range(8, -1, -1)),
    ]
    assert lines[0].weight == 0.9
    assert [each.type for each in lines[0].edges] == ["semantic", "intent", "meaning"]
    hubs = [edge(a, b, 0.5) for a, b in combinations("abcdefgh", 2)]
    drawn = choose_lines(hubs)
    assert len(drawn) < len(hubs)
    assert {end for line in drawn for end in line.ends} == set("abcdefgh")


@pytest.mark.parametrize("number", [0, 1, 2, 3, 20, 150, 300])
def test_memories_stand_apart_within_the_picture_and_always_at_the_same_place(number: int) -> None:
    ids = [f"m{each}" for each in range(number)]
    # Five groups, one of them a star, and memories alone.
    lines = choose_lines(
        stored(ids[each % 5 if each % 7 else 0], ids[each], 0.9)
        for each in range(number)
        if each >= 5 and each % 11
    )
    places = find_places(ids, lines)
    assert list(places) and set(places) == set(ids) if number else places == {}
    assert places == find_places(ids, lines)
    assert all(0 <= value <= 1 for place in places.values() for value in place)
    nearest = min((math.dist(a, b) for a, b in combinations(places.values(), 2)), default=1.0)
    assert nearest > 0.2 / math.sqrt(number or 1)


def test_a_picture_says_what_does_not_fit_and_one_memory_and_none_have_a_page() -> None:
    words = "".join(Elements(make_page(picture_of("ab", left_out=1200))).words)
    assert "2 memories, 1 line." in words
    assert "1,200 memories do not fit: these are the strongest." in words
    one = Elements(make_page(picture_of(["alone"], starts=["m0"])))
    assert "Around “alone”" in "".join(one.words)
    assert "The lines" not in "".join(one.words)
    assert [(each["x"], each["y"]) for each in one.data()["labels"]] == [(0.5, 0.5)]
    none = make_page(picture_of([]))
    assert "There is no memory to draw." in none
    assert "<script" not in none
    assert "script-src 'none'" in none


def test_a_picture_of_a_store_has_computed_relations_and_stays_in_its_scopes(
    open_store: Open, tmp_path: Path
) -> None:
    path = tmp_path / "graph.html"
    with open_store() as store:
        for name, scope in (("a", "work"), ("b", "work"), ("c", "home"), ("d", "diary")):
            store.remember(
                f"word{name}", id=name, scope=scope, happened_at=NOW, similar=False, title=name * 5
            )
        store.scopes.update("diary", sensitivity="private")
        exported = store.graph.export(path)
        assert (exported.memories, exported.links, exported.left_out_scopes) == (3, 1, ("diary",))
        page = path.read_text("utf-8")
        assert "at the same time" in page
        assert "aaaaa" in page
        assert "ddddd" not in page
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with store.confine(scopes="home") as handle:
            assert handle.graph.export(path, force=True).memories == 1
        around = store.graph.export(path, "a", force=True)
        assert (around.memories, around.links) == (2, 1)
        assert "ccccc" not in path.read_text("utf-8")
        assert store.graph.export(path, "a", limit=1, force=True).left_out == 1
        with pytest.raises(InvalidInput, match="limit"):
            store.graph.export(path, limit=301, force=True)


def test_without_the_package_the_extra_is_named_and_nothing_is_written(
    monkeypatch: pytest.MonkeyPatch, store: MemoryStore, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(
        ConfigurationError, match=r"the extra insights .* or choose the format graphml or json"
    ):
        store.graph.export(tmp_path / "graph.html")
    assert list(tmp_path.glob("graph*")) == []


# What the script is changed into, so that it points at the first mark that says something.
_POINT = """  draw();
  setTimeout(() => Plotly.Fx.hover(chart, [{
    curveNumber: traces.findIndex((trace) => trace.meta === "memories"), pointNumber: 0,
  }]), 1000);
"""


@pytest.mark.skipif(CHROMIUM is None, reason="there is no browser")
def test_a_browser_draws_the_picture_shows_texts_as_they_are_and_runs_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "  draw();\n" in page_module.DRAWING
    pointing = page_module.DRAWING.replace("  draw();\n", _POINT, 1)
    monkeypatch.setattr(page_module, "DRAWING", pointing)
    path = tmp_path / "graph.html"
    texts = [HOSTILE[1], HOSTILE[0], *HOSTILE[2:]]
    path.write_text(make_page(picture_of(texts, starts=["m0"])), "utf-8")
    done = subprocess.run(
        [
            str(CHROMIUM),
            *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
            *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
            *("--enable-logging=stderr", "--log-level=0", "--dump-dom", "--window-size=1280,900"),
            "--virtual-time-budget=8000",
            f"--user-data-dir={tmp_path / 'profile'}",
            path.as_uri(),
        ],
        capture_output=True,
        timeout=180,
        check=False,
    )
    page = done.stdout.decode(errors="replace")
    assert '<div class="chart js-plotly-plot"' in page, done.stderr[-2000:]
    assert "CONSOLE" not in done.stderr.decode(errors="replace")
    drawn = page[page.index("js-plotly-plot") : page.index('id="told"')]
    assert page.count("<title>Around “&lt;img src=x") == 1
    assert not re.search(r"<(img|a|script|iframe)\b", drawn)
    # The labels, and what the mark says that is pointed at.
    assert len(re.findall(r'class="annotation"', drawn)) == len(texts)
    (hover,) = re.findall(r'<g class="hovertext".*?</g>', drawn, flags=re.DOTALL)
    assert "&lt;/script&gt;" in hover
