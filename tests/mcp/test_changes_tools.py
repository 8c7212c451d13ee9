from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from mcp import Client
from talking import call, refusal, server, text

from infinite_memory import MemoryStore
from infinite_memory_mcp.lazy_store import LazyStore
from infinite_memory_mcp.server import build_server
from infinite_memory_mcp.validation import client_name

pytestmark = pytest.mark.anyio
Connect = Callable[[], Client]


async def test_a_fact_is_replaced_traced_and_brought_back(connect: Connect) -> None:
    async with connect() as client:
        old = await call(client, "store_memory", text="Alice works at Acme", key="alice/job")
        new = await call(client, "store_memory", text="Alice works at Globex", key="alice/job")
        found = await call(client, "retrieve_memory", query="where does Alice work")
        history = await call(client, "memory_history", id_or_key="alice/job")
        said = await text(client, "memory_history", id_or_key=new["id"])
        undone = await call(client, "undo")
        back = await call(client, "retrieve_memory", query="where does Alice work")
    assert new["superseded"] == [old["id"]]
    assert [hit["id"] for hit in found["hits"]] == [new["id"]]
    assert [(each["id"], each["status"]) for each in history["hits"]] == [
        (old["id"], "superseded"),
        (new["id"], "current"),
    ]
    assert said.index("Acme") < said.index("Globex")
    assert undone["undone"]["number"] == 2
    assert [hit["id"] for hit in back["hits"]] == [old["id"]]


async def test_the_receipt_says_what_was_told_late_and_what_disagrees(connect: Connect) -> None:
    async with connect() as client:
        given = {"key": "deadline", "happened_at": "2026-03-01"}
        now = await call(client, "store_memory", text="July 1", **given)
        late = await call(
            client, "store_memory", text="June 5", key="deadline", happened_at="2026-01-01"
        )
        other = await call(client, "store_memory", text="August 9", **given)
        said = await text(client, "store_memory", text="May 7", **given)
    assert late["superseded_by"] == now["id"]
    assert other["conflicts"] == [now["id"]]
    assert f"It conflicts with {now['id'][-8:]}, " in said or other["id"][-8:] in said


async def test_a_decision_replaces_another_by_its_id(connect: Connect) -> None:
    async with connect() as client:
        old = await call(client, "store_memory", text="We use REST", kind="decision")
        new = await call(
            client, "store_memory", text="We use gRPC", kind="decision", supersedes=old["id"]
        )
        assert new["superseded"] == [old["id"]]
        assert "no such memory" in await refusal(
            client, "store_memory", text="We use SOAP", supersedes=["missing"]
        )


async def test_the_log_lists_who_did_what(store: MemoryStore, connect: Connect) -> None:
    async with connect() as client:
        assert await text(client, "memory_log") == "There is nothing in the journal."
        await call(client, "store_memory", text="one", id="a", scope="apollo")
        await call(client, "update_memory", id="a", text="two")
        await call(client, "undo")
        entries = (await call(client, "memory_log"))["entries"]
        first = await call(client, "memory_log", before=2, id="a")
        said = await text(client, "memory_log", limit=1)
        refused = await refusal(client, "undo", entry=2)
    assert [entry["operation"] for entry in entries] == ["undo", "revise", "remember"]
    assert entries[0]["undoes"] == 2
    assert [entry["number"] for entry in first["entries"]] == [1]
    assert said.startswith("entry 3 · ")
    assert " · python · undo of entry 2 · memory a" in said
    assert "undone already, by entry 3" in refused
    assert store.get("a").text == "one"


@pytest.mark.parametrize(("number", "listed"), [(1, 1), (5, 5), (6, 5), (7, 5)])
async def test_five_ids_are_listed_and_the_rest_is_counted(
    store: MemoryStore, connect: Connect, number: int, listed: int
) -> None:
    ids = [f"m{position}" for position in range(number)]
    drafts = [
        {"text": f"text {name}", "id": name, "scope": f"s{place % 2}"}
        for place, name in enumerate(ids)
    ]
    store.remember_many(drafts)
    async with connect() as client:
        said = await text(client, "memory_log")
        entry = (await call(client, "memory_log"))["entries"][0]
        shown = await text(client, "undo", dry_run=True)
        done = await call(client, "undo")
    noun = "memory" if number == 1 else "memories"
    scopes = "1 scope" if number == 1 else "2 scopes"
    rest = number - listed
    more = f" and {rest} more" if rest else ""
    assert said.endswith(f" · {noun} {', '.join(ids[:listed])}{more} · {scopes}")
    assert entry["memories"] == [{"id": name, "before": 0, "after": 1} for name in ids]
    assert shown.splitlines()[0].startswith("Nothing was changed. Would be undone: entry 1 · ")
    assert f" · {noun} {', '.join(ids[:listed])}{more} · {scopes}" in shown
    assert shown.count(" · current to forgotten\n> text m") == listed
    counted = {0: "", 1: "and 1 more memory\n", 2: "and 2 more memories\n"}[rest]
    assert f"> text m{listed - 1}\n{counted}scope" in shown
    assert done["memories"] == ids
    assert len(store.journal.entries()) == 2


async def test_an_undo_says_what_it_took_back_and_what_it_skipped(
    store: MemoryStore, connect: Connect
) -> None:
    store.scopes.create("health", sensitivity="private")
    store.remember("the blood test", id="secret", scope="health")
    store.remember_many([{"text": "one", "id": "a"}, {"text": "two", "id": "b"}])
    for number in range(6):
        store.remember(f"gone {number}", id=f"gone{number}", key=f"key {number}")
        store.forget(f"gone{number}", hard=True)
    store.forget("b", hard=True)
    async with connect() as client:
        said = await text(client, "undo")
        private = await text(client, "undo")
        entries = (await call(client, "memory_log", limit=2))["entries"]
        refused = await refusal(client, "undo", entry=4)
    assert "Undone by entry 17: entry 3 · " in said
    assert "memory a · current to forgotten\n> one\n" in said
    assert "Erased for good since, and left out: memory b" in said
    assert "Skipped entry 16: entry 16 erased memory 'b' for good" in said
    assert said.endswith("Skipped 8 more entries")
    assert "memory secret · current to forgotten" in private
    assert "blood" not in private
    assert [entry["undoes"] for entry in entries] == [2, 3]
    assert "memory 'gone0' was erased since" in refused


@pytest.mark.thorough
async def test_undo_never_means_the_change_of_another_window(tmp_path: Path, era: str) -> None:
    flags = ("--toolsets", "core,admin")
    async with (
        Client(server(tmp_path, *flags), mode=era) as mine,
        Client(server(tmp_path, *flags), mode=era) as other,
    ):
        await call(mine, "store_memory", text="mine", id="mine")
        await call(other, "store_memory", text="theirs", id="theirs")
        undone = await call(mine, "undo")
        refused = await refusal(mine, "undo")
    async with Client(server(tmp_path, *flags), mode=era) as restarted:
        after_restart = await refusal(restarted, "undo")
        named = await call(restarted, "undo", entry=2)
    assert undone["memories"] == ["mine"]
    for said in (refused, after_restart):
        assert "this process has nothing left to undo" in said
        assert "is entry 2, remember of theirs at 20" in said
        assert "give entry=2" in said
    assert named["memories"] == ["theirs"]


async def test_a_tool_of_another_toolset_is_answered_though_it_is_not_listed(
    store: MemoryStore,
) -> None:
    memory_id = store.remember("The cat is called Tom").id
    with LazyStore(lambda: store, quiet_seconds=600) as memory:
        async with Client(build_server(memory, structured=True)) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert "memory_history" not in names
            shown = await call(client, "memory_history", id_or_key=memory_id)
    assert [hit["id"] for hit in shown["hits"]] == [memory_id]


@pytest.mark.thorough
async def test_a_real_server_offers_the_toolsets_it_was_started_with(tmp_path: Path) -> None:
    async with Client(server(tmp_path, "--toolsets", "core,admin")) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        await call(client, "store_memory", text="one", id="a")
        entries = (await call(client, "memory_log"))["entries"]
    assert {"undo", "store_memory"} <= names
    assert "get_user_profile" not in names
    with MemoryStore.open(tmp_path) as opened:
        assert opened.journal.entries()[0].action.actor.client == entries[0]["client"]
        assert entries[0]["client"] not in ("", "python", "infinite-memory-mcp")


@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        (
            "initialize",
            {"clientInfo": {"name": "Claude Desktop", "version": "1"}},
            "Claude Desktop",
        ),
        ("initialize", {"clientInfo": {"name": " a\nb\x1b[31m "}}, "a"),
        ("initialize", {"clientInfo": {"name": "x" * 300}}, "x" * 100),
        ("initialize", {"clientInfo": {"name": " "}}, None),
        ("initialize", {"clientInfo": "Claude"}, None),
        ("initialize", None, None),
        ("tools/call", {"clientInfo": {"name": "Eve"}}, None),
        (
            "tools/call",
            {"_meta": {"io.modelcontextprotocol/clientInfo": {"name": "Cursor"}}},
            "Cursor",
        ),
        ("tools/call", {"_meta": 3}, None),
    ],
)
async def test_a_client_is_known_by_the_name_it_gives(
    method: str, params: dict[str, object] | None, name: str | None
) -> None:
    found = client_name(method, params)
    assert found == name or (name == "a" and found is not None and found.startswith("a"))
    assert found is None or found.isprintable()
