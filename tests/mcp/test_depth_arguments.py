"""The depths of `retrieve_memory`, and how what they cut is shown whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from talking import call, refusal, server, text

from infinite_memory import MemoryStore

pytestmark = pytest.mark.anyio
Connect = Callable[[], Client]
WEATHER = "The weather report of that day spoke of wind from the west and of clouds. " * 20
QUESTION = "what about the Apollo deadline"


@pytest.fixture
def filled(store: MemoryStore) -> MemoryStore:
    store.remember("The Apollo deadline is June 5", id="deadline")
    store.remember(f"{WEATHER}Alice leads Apollo.\n{WEATHER}", id="diary", title="Diary")
    store.remember("Apollo was due in May", id="old", title="First · plan")
    store.revise("old", revision=1, status="superseded")
    store.remember(
        "Apollo is led by Alice and its deadline is June 5",
        id="summary",
        kind="summary",
        sources=["deadline"],
    )
    return store


def by_id(data: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {hit["id"]: hit for hit in data["hits"]}


async def test_an_overview_has_summaries_and_highlights_in_both_forms(
    filled: MemoryStore, connect: Connect
) -> None:
    asked = {"query": QUESTION, "depth": "overview", "threshold": 0}
    async with connect() as client:
        data = await call(client, "retrieve_memory", **asked)
        said = await text(client, "retrieve_memory", **asked)
        whole = await call(client, "retrieve_memory", ids=["diary"])
    hits = by_id(data)
    assert data["depth"] == "overview"
    assert list(hits) == ["summary", "diary", "deadline"]
    assert hits["summary"]["covers"] == ["deadline"]
    assert hits["deadline"]["covered_by"] == "summary"
    shown = hits["diary"]["text"]
    assert "Alice leads Apollo." in shown
    assert (shown[0], shown[-1], hits["diary"]["cut"]) == ("…", "…", True)
    assert len(shown) <= 302
    assert "cut" not in hits["summary"]
    head, *blocks = said.split("\n\n")
    assert head.startswith("3 memories, summaries first. Call with ids to see memories whole.")
    assert blocks[0].splitlines()[1:] == [
        "> Apollo is led by Alice and its deadline is June 5",
        "covers: deadline",
    ]
    assert f"> {shown.splitlines()[0]}" in blocks[1]
    assert "title: Diary" in blocks[1]
    assert " · a source of summary\n> The Apollo deadline is June 5" in blocks[2]
    assert whole["hits"][0]["text"] == filled.get("diary").text


async def test_an_exhaustive_search_has_headings_with_their_status_in_both_forms(
    filled: MemoryStore, connect: Connect
) -> None:
    asked = {"query": QUESTION, "depth": "exhaustive"}
    async with connect() as client:
        data = await call(client, "retrieve_memory", **asked)
        said = await text(client, "retrieve_memory", **asked)
        few = await text(client, "retrieve_memory", **asked, limit=3)
        rest = await call(client, "retrieve_memory", **asked, limit=3, offset=3)
        numbered = await text(client, "retrieve_memory", **asked, offset=3)
        beyond = await text(client, "retrieve_memory", **asked, offset=4)
    hits = by_id(data)
    assert {name: hit["status"] for name, hit in hits.items()} == {
        **dict.fromkeys(("deadline", "diary", "summary"), "current"),
        "old": "superseded",
    }
    assert (hits["diary"]["text"], hits["diary"]["cut"]) == ("Diary", True)
    assert data["matches"] == 4
    head, *blocks = said.split("\n\n")
    assert "4 match in all." in head
    assert ["status superseded" in block for block in blocks].count(True) == 1
    assert "status superseded" in next(b for b in blocks if "id old" in b)
    assert next(b for b in blocks if "id old" in b).splitlines()[1:] == ["> First · plan"]
    assert all(len(block.splitlines()) == 2 for block in blocks)
    assert "1 more match: raise limit to see them, or give offset 3." in few
    assert list(by_id(rest)) == list(hits)[3:]
    assert numbered.split("\n\n")[1].startswith("[4] ")
    assert beyond == "Nothing follows: 4 match in all."


async def test_an_exhaustive_search_says_from_where_links_lead_to_a_memory(
    filled: MemoryStore, connect: Connect
) -> None:
    filled.remember("租约", id="lease")
    filled.remember("Miete", id="rent")
    filled.graph.link("deadline", "lease", type="intent", weight=0.9)
    filled.graph.link("rent", "lease", type="context", weight=0.5)
    asked = {"query": QUESTION, "depth": "exhaustive", "explain": True}
    async with connect() as client:
        hits = by_id(await call(client, "retrieve_memory", **asked))
        said = await text(client, "retrieve_memory", **asked)
    assert hits["lease"]["reached"] == {"match": "deadline", "links": ["intent"], "weight": 0.9}
    assert hits["rent"]["reached"]["links"] == ["intent", "context"]
    assert "reached" not in hits["deadline"]
    block = next(b for b in said.split("\n\n") if "id rent" in b)
    assert "\nreached by two links (intent, context) from deadline\n" in block
    assert "links lead to it from a better match" in block


async def test_a_normal_search_is_as_before_and_says_how_many_match(
    filled: MemoryStore, connect: Connect
) -> None:
    async with connect() as client:
        data = await call(client, "retrieve_memory", query=QUESTION, threshold=0, limit=2)
    assert (data["depth"], data["matches"], data["more"], data["next"]) == ("normal", 3, 1, 2)
    for name, hit in by_id(data).items():
        assert hit["text"] == filled.get(name).text
        assert not {"cut", "covers", "covered_by"} & hit.keys()


async def test_only_a_tool_that_takes_an_offset_speaks_of_one(
    filled: MemoryStore, connect: Connect
) -> None:
    asked = {"query": QUESTION, "scope": "Global", "limit": 1}
    assert filled.search(**asked).next == 1
    async with connect() as client:
        for tool in ("retrieve_memory", "search_by_scope", "recall_memory"):
            data = await call(client, tool, **asked)
            said = await text(client, tool, **asked)
            assert data["more"] >= 1
            assert ("next" in data) == ("offset" in said) == (tool == "retrieve_memory")


async def test_an_outdated_summary_is_said_to_be_so(filled: MemoryStore, connect: Connect) -> None:
    filled.revise("deadline", revision=1, text="The Apollo deadline is July 1")
    asked = {"query": QUESTION, "depth": "overview"}
    async with connect() as client:
        data = await call(client, "retrieve_memory", **asked)
        said = await text(client, "retrieve_memory", **asked)
    assert by_id(data)["summary"]["outdated"] == ["deadline"]
    assert "outdated, since these were changed or replaced: deadline" in said
    assert "> The Apollo deadline is July 1" in said


async def test_why_not_names_the_depth(filled: MemoryStore, connect: Connect) -> None:
    async with connect() as client:
        data = await call(client, "retrieve_memory", query=QUESTION, why_not="old")
        deep = await text(
            client, "retrieve_memory", query=QUESTION, why_not="old", depth="exhaustive"
        )
    assert filled.get("old").status == "superseded"
    assert data["why_not"]["found_at"] == "exhaustive"
    assert deep.startswith("old is found: the search returns it")


async def test_memories_are_shown_whole_by_their_ids(filled: MemoryStore, connect: Connect) -> None:
    async with connect() as client:
        said = await text(client, "retrieve_memory", ids=["old", "deadline", "old"])
        one = await call(client, "retrieve_memory", ids="old")
    assert said.startswith("2 memories, whole. Scope Global unless named; times are local. What")
    assert " · status superseded · " in said
    assert "> Apollo was due in May" in said
    assert "> The Apollo deadline is June 5" in said
    assert one["hits"][0]["status"] == filled.get("old").status


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"query": "x", "depth": "exaustive"}, "depth 'exaustive' is unknown: the nearest is 'exh"),
        ({"query": "x", "depth": 3}, "depth 3 cannot be used: give a text"),
        ({"query": "x", "offset": -1}, "offset -1 cannot be used"),
        ({}, "query and ids are both missing"),
        ({"query": "x", "ids": ["old"]}, "leave one out"),
        ({"ids": ["nobody"]}, "there is no memory 'nobody'"),
        ({"ids": ["gone"]}, "the memory 'gone' is forgotten: update_memory with status current"),
        ({"ids": [f"{i}" for i in range(101)]}, "ids has 101 entries and the limit is 100"),
    ],
)
async def test_what_cannot_be_shown_is_refused_with_the_way_out(
    filled: MemoryStore, connect: Connect, arguments: dict[str, Any], said: str
) -> None:
    filled.remember("a secret", id="gone")
    filled.forget("gone")
    async with connect() as client:
        assert said in await refusal(client, "retrieve_memory", **arguments)


@pytest.mark.thorough
async def test_a_server_of_its_own_answers_at_every_depth(tmp_path: Path, era: str) -> None:
    async with Client(server(tmp_path), mode=era) as client:
        for values in (
            {"id": "born", "text": f"{WEATHER}Her birthday is January 20. {WEATHER}"},
            {"id": "tea", "text": "Alice drinks green tea"},
            {"id": "all", "text": "Alice: birthday January 20, green tea", "kind": "summary"},
        ):
            await call(client, "store_memory", **values)
        await call(client, "update_memory", id="tea", status="archived")
        overview = await call(
            client, "retrieve_memory", query="when was she born", depth="overview", threshold=0
        )
        exhaustive = await call(
            client, "retrieve_memory", query="what does Alice drink", depth="exhaustive"
        )
        said = await text(
            client, "retrieve_memory", query="what does Alice drink", depth="exhaustive"
        )
    shown = by_id(overview)
    assert next(iter(shown)) == "all"
    assert "Her birthday is January 20." in shown["born"]["text"]
    assert len(shown["born"]["text"]) <= 302
    assert by_id(exhaustive)["tea"]["status"] == "archived"
    assert "status archived" in said
