"""The graph in a file: networkx reads every node and edge back, whatever the texts hold."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infinite_memory import Conflict, InvalidInput, Link, LinkType, Memory, MemoryStore, NotFound
from infinite_memory.features.archive.exchange.graphs.exporting import graphml, node_link
from infinite_memory.features.archive.exchange.graphs.values import GraphEdge, GraphNode

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
FORMATS = ("graphml", "json")
Open = Callable[..., MemoryStore]


def read(path: Path) -> nx.MultiDiGraph:
    if path.suffix == ".graphml":
        graph = nx.read_graphml(path, force_multigraph=True)
        assert isinstance(graph, nx.MultiDiGraph)
        return graph
    return nx.node_link_graph(json.loads(path.read_text("utf-8")), edges="edges")


def edges_of(graph: nx.MultiDiGraph) -> list[tuple[str, str, str, float]]:
    return sorted(
        (source, target, data["type"], data["weight"])
        for source, target, data in graph.edges(data=True)
    )


def tell(store: MemoryStore, memory_id: str, text: str, **fields: Any) -> None:
    moment = NOON + timedelta(days=30 * len(store.browse(scope="ALL").memories))
    store.remember(text, id=memory_id, happened_at=moment, similar=False, **fields)


@pytest.fixture
def filled(store: MemoryStore) -> MemoryStore:
    """Return a store with links in two scopes, and memories of every status."""
    tell(store, "a", "The lease ends", tags=["rent", "Lyon"], speaker="Ann", important=True)
    tell(store, "c", "We stay in Paris", kind="decision")
    tell(store, "b", "We move to Lyon", kind="decision")
    tell(store, "d", "A secret", scope="diary")
    tell(store, "e", "Another secret", scope="diary")
    store.graph.link("a", "b", type="intent", weight=0.9, reason="why we move")
    store.graph.link("b", "a", type="semantic", weight=0.5)
    store.graph.link("a", "b", type="semantic", weight=0.25)
    store.graph.link("d", "e")
    store.revise("b", revision=1, supersedes=["c"])
    store.scopes.update("diary", sensitivity="private")
    tell(store, "f", "Never mind")
    store.forget("f")
    return store


@pytest.mark.parametrize("ending", FORMATS)
def test_the_whole_graph_has_every_memory_and_link_but_the_forgotten_and_private(
    ending: str, filled: MemoryStore, tmp_path: Path
) -> None:
    path = tmp_path / f"graph.{ending}"
    exported = filled.graph.export(path)
    assert exported.to_dict() == {
        "path": str(path),
        "format": ending,
        "memories": 3,
        "links": 4,
        "left_out": 0,
        "left_out_scopes": ["diary"],
    }
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    graph = read(path)
    assert sorted(graph) == ["a", "b", "c"]
    assert edges_of(graph) == [
        ("a", "b", "intent", 0.9),
        ("a", "b", "semantic", 0.25),
        ("b", "a", "semantic", 0.5),
        ("b", "c", "supersedes", 1.0),
    ]
    assert graph.nodes["c"]["status"] == "superseded"
    node = dict(graph.nodes["a"])
    assert 0 < node.pop("priority") < 1
    assert node.pop("stored_at").endswith("Z")
    assert node == {
        "label": "The lease ends",
        "text": "The lease ends",
        "kind": "note",
        "scope": "Global",
        "status": "current",
        "origin": "user",
        "speaker": "Ann",
        "tags": "rent, Lyon",
        "happened_at": "2026-03-02T12:00:00Z",
        "important": True,
    }
    (intent,) = (data for *_, data in graph.edges(data=True) if data["type"] == "intent")
    assert (intent["reason"], intent["stored"]) == ("why we move", True)
    assert intent["made_at"].endswith("Z")


def test_scopes_and_statuses_choose_and_a_private_scope_is_exported_if_it_is_named(
    filled: MemoryStore, tmp_path: Path
) -> None:
    path = tmp_path / "graph.json"
    for choice, ids in (
        ({"scope": "diary"}, ["d", "e"]),
        ({"private": True}, ["a", "b", "c", "d", "e"]),
        ({"statuses": "superseded"}, ["c"]),
        ({"statuses": ["current", "archived"]}, ["a", "b"]),
        ({"scope": ["Global", "diary"], "statuses": ["current"]}, ["a", "b", "d", "e"]),
    ):
        filled.graph.export(path, force=True, **choice)  # type: ignore[arg-type]
        assert sorted(read(path)) == ids, choice


@pytest.mark.parametrize("ending", FORMATS)
def test_a_neighbourhood_has_its_computed_relations_and_never_leaves_its_scope(
    ending: str, filled: MemoryStore, tmp_path: Path
) -> None:
    filled.remember("Said at the same time", id="g", happened_at=NOON, similar=False)
    filled.remember("A secret too", id="h", happened_at=NOON, scope="diary", similar=False)
    path = tmp_path / f"graph.{ending}"
    exported = filled.graph.export(path, "a", types=["intent", "time"], depth=1)
    graph = read(path)
    assert (sorted(graph), exported.memories, exported.links) == (["a", "b", "g"], 3, 4)
    (near,) = [data for *_, data in graph.edges(data=True) if data["type"] == "time"]
    assert {"stored": False, "weight": 0.3}.items() <= near.items()
    assert "made_at" not in near
    assert ("a", "b", "semantic", 0.25) in edges_of(graph)


def test_of_more_memories_than_the_limit_the_strongest_are_kept(
    store: MemoryStore, tmp_path: Path
) -> None:
    for name in "abcdefgh":
        tell(store, name, f"{name} alone")
    for other, weight in (("b", 0.4), ("c", 0.9), ("d", 0.6)):
        store.graph.link("a", other, weight=weight)
    store.graph.link("g", "h", weight=0.95)
    path = tmp_path / "graph.json"
    for limit, ids in ((1, "a"), (3, "acd"), (6, "abcdgh"), (7, "abcdfgh"), (9, "abcdefgh")):
        exported = store.graph.export(path, limit=limit, force=True)
        assert "".join(sorted(read(path))) == ids
        assert exported.left_out == 8 - len(ids)
    exported = store.graph.export(path, "a", types="semantic", limit=3, force=True)
    assert (sorted(read(path)), exported.left_out) == (["a", "c", "d"], 1)


def test_a_confined_handle_exports_nothing_else(open_store: Open, tmp_path: Path) -> None:
    with open_store() as store:
        for name, scope in (("a", "work"), ("b", "work"), ("c", "home"), ("d", "home")):
            store.remember(f"{name} of {scope}", id=name, scope=scope, similar=False)
        store.graph.link("a", "b")
        store.graph.link("c", "d")
        path = tmp_path / "graph.json"
        with store.confine(scopes="work") as handle:
            exported = handle.graph.export(path)
            assert (sorted(read(path)), exported.links) == (["a", "b"], 1)
            with pytest.raises(NotFound):
                handle.graph.export(tmp_path / "other.json", "c")
    assert not (tmp_path / "other.json").exists()


def test_an_empty_store_has_an_empty_graph(store: MemoryStore, tmp_path: Path) -> None:
    for ending in FORMATS:
        path = tmp_path / f"graph.{ending}"
        assert store.graph.export(path).memories == 0
        assert len(read(path)) == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"to": "graph.txt"}, "end it with .graphml or .json"),
        ({"to": "graph.HTML"}, "`infinite-memory web` shows the graph"),
        ({"to": "graph.htm"}, "end the name with .graphml or .json for a file"),
        ({"to": "g.json", "format": "html"}, "`infinite-memory web` shows the graph"),
        ({"to": "graph"}, "does not say in which format"),
        ({"to": ""}, "is no path"),
        ({"to": "g.json", "format": "gexf"}, "gexf"),
        ({"to": "g.json", "limit": 0}, "limit"),
        ({"to": "g.json", "ids": "a", "limit": 1001}, "limit"),
        ({"to": "g.json", "ids": "a", "depth": 5}, "depth"),
        ({"to": "g.json", "ids": ["a"] * 17}, "17 ids were given"),
        ({"to": "g.json", "ids": 5}, "ids must be a text or a list"),
        ({"to": "g.json", "ids": [5]}, "5"),
        ({"to": "g.json", "ids": "a", "types": ["friend"]}, "friend"),
        ({"to": "g.json", "ids": "a", "scope": "Global"}, "scope 'Global' cannot be used here"),
        ({"to": "g.json", "ids": "a", "statuses": ["current"]}, "statuses"),
        ({"to": "g.json", "ids": "a", "private": True}, "private"),
        ({"to": "g.json", "depth": 2}, "a walk begins at ids"),
        ({"to": "g.json", "types": "time"}, "a walk begins at ids"),
        ({"to": "g.json", "statuses": "forgotten"}, "forgotten memories are not exported"),
        ({"to": "g.json", "statuses": "lost"}, "lost"),
        ({"to": "g.json", "scope": "nowhere"}, "nowhere"),
        ({"to": "g.json", "force": "yes"}, "force"),
    ],
)
def test_what_cannot_be_exported_is_refused_and_writes_nothing(
    arguments: dict[str, Any], sentence: str, filled: MemoryStore, tmp_path: Path
) -> None:
    arguments = dict(arguments)
    name = arguments.pop("to")
    with pytest.raises((InvalidInput, LookupError), match=sentence):
        filled.graph.export(tmp_path / name if name else "", **arguments)
    assert list(tmp_path.glob("g*")) == []


def test_a_file_that_is_there_is_kept_unless_it_is_to_be_replaced(
    filled: MemoryStore, tmp_path: Path
) -> None:
    path = tmp_path / "graph.json"
    path.write_text("mine")
    with pytest.raises(Conflict):
        filled.graph.export(path)
    with pytest.raises(NotFound):
        filled.graph.export(path, "nothing", force=True)
    assert path.read_text() == "mine"
    filled.graph.export(path, force=True)
    assert len(read(path)) == 3


def in_xml(character: str) -> str:
    """Return a character as it is, or escaped if no document of XML 1.0 can hold it."""
    code = ord(character)
    if code in (9, 10, 13) or 0x20 <= code <= 0xFFFD or code >= 0x10000:
        return character
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1), st.text())
def test_whatever_a_text_holds_networkx_reads_it_back(text: str, reason: str) -> None:
    memory = Memory(id="a.b:c/d-e", text=text, happened_at=NOON, stored_at=NOON)
    link = Link(
        source=memory.id,
        target=memory.id,
        type=LinkType.CONTEXT,
        weight=1 / 3,
        reason=reason,
        made_at=NOON,
    )
    nodes, edges = [GraphNode(memory=memory, priority=0.5)], [GraphEdge.of(link)]
    document = json.loads("".join(node_link(nodes, edges)))
    graph = nx.node_link_graph(document, edges="edges")
    assert graph.nodes[memory.id]["text"] == text
    assert graph.edges[memory.id, memory.id, "context"].get("reason", "") == reason
    xml = nx.parse_graphml("".join(graphml(nodes, edges)), force_multigraph=True)
    assert xml.nodes[memory.id]["text"] == "".join(map(in_xml, text))
    assert xml.edges[memory.id, memory.id, "e0"].get("reason", "") == "".join(map(in_xml, reason))


def test_forbidden_characters_of_xml_are_shown_and_long_texts_are_whole() -> None:
    text = "\x00\x1b[31m\ufffe & <b>]]> \r\n\t😀 " + "long " * 200_000
    memory = Memory(id="a", text=text, happened_at=NOON, stored_at=NOON)
    document = "".join(graphml([GraphNode(memory=memory, priority=0.5)], []))
    shown = nx.parse_graphml(document).nodes["a"]["text"]
    assert shown == text.replace("\x00", "\\x00").replace("\x1b", "\\x1b").replace(
        "\ufffe", "\\ufffe"
    )


def test_a_priority_in_a_file_is_that_of_an_overview(store: MemoryStore, tmp_path: Path) -> None:
    store.remember("The budget is 10", id="old", similar=False)
    store.remember("The budget is 20", id="new", supersedes=["old"], similar=False)
    store.graph.export(tmp_path / "graph.json")
    (highlight,) = store.what_do_i_know("budget").highlights
    priority = read(tmp_path / "graph.json").nodes["new"]["priority"]
    assert priority == pytest.approx(highlight.priority, abs=1e-3)
