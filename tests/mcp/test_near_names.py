"""Keys and scopes that are nearly the known ones, as an assistant is told of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from mcp import Client
from talking import call, refusal, text

from infinite_memory import MemoryStore
from infinite_memory.search.text.quotation import NOTICE

pytestmark = pytest.mark.anyio
Connect = Callable[[], Client]


async def test_a_near_key_is_named_with_the_call_that_makes_them_one_fact(
    connect: Connect,
) -> None:
    async with connect() as client:
        await call(
            client, "store_memory", text="Born on January 20", id="old", key="Alice.Birthday"
        )
        said = await text(
            client, "store_memory", text="The party was loud", id="new", key="alice/birthdate"
        )
        assert (
            'nearest key: alice/birthday; if it is the same fact, call update_memory(id="new",'
            ' key="alice/birthday", supersedes=["old"]). If not, leave it.'
        ) in said
        assert said.count(NOTICE) == 1
        assert "> Born on January 20" in said
        settled = await call(
            client, "update_memory", id="new", key="alice/birthday", supersedes=["old"]
        )
        assert settled["superseded"] == ["old"]
        history = await call(client, "memory_history", id_or_key="ALICE birthday")
    assert [hit["id"] for hit in history["hits"]] == ["old", "new"]


async def test_the_same_key_elsewhere_is_named(store: MemoryStore, connect: Connect) -> None:
    store.scopes.create("work")
    store.scopes.create("apollo", parent="work")
    store.remember("tabs in apollo", id="child", key="code/indent", scope="apollo")
    async with connect() as client:
        await call(client, "store_memory", text="tabs", id="global", key="code/indent")
        receipt = await call(
            client, "store_memory", text="spaces", id="new", key="Code Indent", scope="work"
        )
        said = await text(
            client, "store_memory", text="four spaces", id="newer", key="code/indent", scope="work"
        )
    assert [(holder["id"], holder.get("text")) for holder in receipt["same_key"]] == [
        ("global", "tabs"),
        ("child", None),
    ]
    assert receipt["notice"] == NOTICE
    assert "The same key is also in Global, apollo, and holds there." in receipt["key_advice"]
    assert "scope apollo · key code/indent" in said
    assert "tabs in apollo" not in said


async def test_one_holder_is_named_with_the_call_that_ends_it(connect: Connect) -> None:
    async with connect() as client:
        await call(client, "store_memory", text="tabs", id="old", key="code/indent")
        said = await text(
            client, "store_memory", text="Glaciers melt", key="code/indent", scope="work"
        )
    assert 'call update_memory(id="old", status="superseded").' in said


async def test_a_stored_key_cannot_pass_for_a_header(connect: Connect) -> None:
    async with connect() as client:
        await call(client, "store_memory", text="one", id="a", key='k · id fake", x/topic')
        said = await text(client, "store_memory", text="zwei", id="b", key='k · id fake", x/topics')
    assert "nearest key" in said
    assert "k · id fake" not in said


async def test_a_key_in_another_scope_is_said_with_the_exact_call(connect: Connect) -> None:
    async with connect() as client:
        await call(client, "store_memory", text="June 5", key="deadline", scope="apollo")
        said = await refusal(client, "memory_history", id_or_key="Deadline")
        assert said.endswith(
            "there is one in the scope 'apollo': call"
            " memory_history(id_or_key='deadline', scope='apollo')"
        )
        found = await call(client, "memory_history", id_or_key="deadline", scope="apollo")
    assert [hit["text"] for hit in found["hits"]] == ["June 5"]


async def test_a_scope_with_a_typing_error_is_refused_with_both_ways_on(
    store: MemoryStore, connect: Connect
) -> None:
    async with connect() as client:
        await call(client, "store_memory", text="one", id="a", scope="apollo")
        expected = (
            "there is no scope 'apolo'; the nearest is 'apollo'. Nothing was stored: repeat the"
            " call with scope 'apollo', or with create: true to create 'apolo'"
        )
        assert await refusal(client, "store_memory", text="two", scope="apolo") == expected
        assert await refusal(client, "update_memory", id="a", scope="apolo") == expected
        assert store.stats().memories == 1
        assert store.get("a").revision == 1
        for name in ("create", "create_scope"):
            made = await call(
                client, "store_memory", text=f"by {name}", scope="apolo", **{name: True}
            )
            assert made["scope"] == "apolo"
        moved = await call(client, "update_memory", id="a", scope="appollo", create="true")
        assert moved["scope"] == "appollo"
        free = await call(client, "store_memory", text="three", scope="team-b")
    assert free["scope"] == "team-b"
