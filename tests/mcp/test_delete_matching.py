"""`delete_memory` without an id: a preview with a token, then one change."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from mcp import Client
from talking import call, refusal, text

from infinite_memory import MemoryStore

pytestmark = pytest.mark.anyio
Connect = Callable[[], Client]


@pytest.fixture
def filled(store: MemoryStore) -> MemoryStore:
    for number in range(12):
        store.remember(f"Draft {number}", id=f"d{number}", scope="apollo", tags=["draft"])
    store.remember("Draft for all", id="all", tags=["draft"])
    return store


def left(store: MemoryStore) -> int:
    return len(store.browse(scope="ALL", limit=100).memories)


async def test_the_first_call_shows_and_the_call_in_it_forgets(
    filled: MemoryStore, connect: Connect
) -> None:
    async with connect() as client:
        shown = await text(client, "delete_memory", tags=["draft"], scope="apollo")
        assert "Nothing is forgotten yet. 12 memories would be: apollo 12." in shown
        assert "id d11" in shown
        assert "and 2 more" in shown
        assert left(filled) == 13
        arguments = json.JSONDecoder().raw_decode(shown.partition("call delete_memory with ")[2])[0]
        done = await call(client, "delete_memory", **arguments)
        assert done == {"outcome": "forgotten", "count": 12}
        assert left(filled) == 1
        await call(client, "undo")
    assert left(filled) == 13


async def test_the_preview_as_data(filled: MemoryStore, connect: Connect) -> None:
    async with connect() as client:
        data = await call(client, "delete_memory", tag="draft", scope="apollo")
    assert (data["outcome"], data["count"], data["by_scope"]) == ("preview", 12, {"apollo": 12})
    assert [hit["id"] for hit in data["hits"]] == [f"d{n}" for n in range(11, 1, -1)]
    assert set(data["hits"][0]) >= {"id", "text", "happened_at", "scope", "status"}
    assert data["token"] in data["advice"]


async def test_a_changed_set_is_answered_with_a_new_preview(
    filled: MemoryStore, connect: Connect
) -> None:
    async with connect() as client:
        data = await call(client, "delete_memory", scope="apollo")
        filled.remember("One more", scope="apollo")
        again = await call(client, "delete_memory", scope="apollo", confirm=data["token"])
        assert (again["outcome"], again["count"]) == ("preview", 13)
        assert "does not confirm what matches now" in again["refused"]
        assert left(filled) == 14
        await call(client, "delete_memory", scope="apollo", confirm=again["token"])
    assert left(filled) == 1


async def test_a_token_that_was_used_is_answered_without_a_preview_to_look_at(
    filled: MemoryStore, connect: Connect
) -> None:
    async with connect() as client:
        token = (await call(client, "delete_memory", scope="apollo"))["token"]
        await call(client, "delete_memory", scope="apollo", confirm=token)
        said = await text(client, "delete_memory", scope="apollo", confirm=token)
        filled.remember("One more", scope="apollo")
        later = await text(client, "delete_memory", scope="apollo", confirm=token)
    assert said.startswith("Nothing matches any more, and nothing was forgotten.")
    assert "preview" not in said
    assert later.startswith(f"Token '{token}' does not confirm what matches now")
    assert later.count("othing was forgotten") == 1


async def test_nothing_that_matches_says_where_it_would(
    filled: MemoryStore, connect: Connect
) -> None:
    filled.forget("all")
    async with connect() as client:
        shown = await text(client, "delete_memory", tags=["draft"])
        assert "other scopes hold what matches, apollo 12" in shown
        shown = await text(client, "delete_memory", query="quantum chromodynamics")
        assert "Nothing matches" in shown
    assert left(filled) == 12


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, "nothing says what to forget"),
        ({"confirm": "abc"}, "nothing says what to forget"),
        ({"tags": ["draft"], "permanently": True}, "permanently erases one memory at a time"),
        ({"scope": "apollo", "confirm": "abc", "permanently": True}, "one memory at a time"),
        ({"permanently": True}, "one memory at a time"),
        ({"id": "all", "tags": ["draft"]}, "cannot go together with tags"),
        ({"id": "all", "scope": "apollo", "confirm": "x"}, "go together with scope, confirm"),
        ({"scope": "apolo"}, "the nearest is 'apollo'"),
        ({"confirme": "x", "scope": "apollo"}, "there is no argument 'confirme'"),
    ],
)
async def test_no_wrong_call_forgets_anything(
    filled: MemoryStore, connect: Connect, arguments: dict[str, Any], sentence: str
) -> None:
    async with connect() as client:
        said = await refusal(client, "delete_memory", **arguments)
    assert sentence in said
    assert "permanently" not in said or "permanently" in arguments
    assert "nearest is 'confirm'" not in said
    assert left(filled) == 13
