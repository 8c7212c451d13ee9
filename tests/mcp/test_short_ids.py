"""Text names a memory by the ending of its id, and every tool takes that ending."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from mcp import Client
from talking import call, refusal, text

from infinite_memory import MemoryStore
from infinite_memory.search.text.token_estimate import estimate_tokens

pytestmark = pytest.mark.anyio

Connect = Callable[[], Client]
PLAIN = "The Apollo deadline moved to the fifth of June 2027."


async def test_every_argument_for_an_id_takes_the_ending_that_was_shown(
    store: MemoryStore, connect: Connect
) -> None:
    async with connect() as client:
        said = await text(client, "store_memory", text="Alice lives in Rome")
        ending = said.split("id ")[1].split(" ")[0]
        assert len(ending) == 8
        assert "Alice lives in Rome" in await text(client, "retrieve_memory", ids=[ending])
        assert f"id {ending}" in await text(client, "retrieve_memory", query="Alice")
        absent = await text(client, "retrieve_memory", query="Alice", why_not=ending)
        assert absent.startswith(f"{ending} is found")
        assert f"id {ending} · revision 2" in await text(
            client, "update_memory", id=ending, title="Home"
        )
        assert "title: Home" in await text(client, "memory_history", id_or_key=ending)
        assert f"memory {ending}" in await text(client, "memory_log", id=ending)
        said = await text(client, "store_memory", text="Alice lives in Oslo", supersedes=[ending])
        assert f"It supersedes {ending}." in said
        assert "Forgotten" in await text(client, "delete_memory", id=ending)
        newer = said.split("id ")[1].split(" ")[0]
        other = await call(client, "store_memory", text="Bob has a dog")
        settled = await call(client, "update_memory", id=other["id"][-8:], supersedes=newer)
        assert [memory_id[-8:] for memory_id in settled["superseded"]] == [newer]


async def test_erasing_for_good_asks_for_the_whole_id(store: MemoryStore, connect: Connect) -> None:
    memory_id = store.remember("Alice lives in Rome").id
    async with connect() as client:
        refused = await refusal(client, "delete_memory", id=memory_id[-8:], permanently=True)
        assert f"erasing for good needs the whole id, and '{memory_id[-8:]}'" in refused
        assert memory_id in refused
        assert store.get(memory_id).text == "Alice lives in Rome"
        erased = await call(client, "delete_memory", id=memory_id, permanently=True)
    assert erased["outcome"] == "erased"


async def test_an_ambiguous_ending_changes_nothing(store: MemoryStore, connect: Connect) -> None:
    for number in (1, 2):
        store.remember(f"note {number}", id=f"{number}-12345678")
    async with connect() as client:
        refused = await refusal(client, "update_memory", id="12345678", text="x")
    assert "2 ids end with '12345678': 1-12345678" in refused
    assert [store.get(f"{number}-12345678").revision for number in (1, 2)] == [1, 1]


async def test_a_usual_hit_costs_at_most_45_tokens(store: MemoryStore, connect: Connect) -> None:
    store.remember(PLAIN)
    async with connect() as client:
        said = await text(client, "retrieve_memory", query="when is the Apollo deadline?")
    _, block = said.split("\n\n")
    assert PLAIN in block
    assert estimate_tokens(block) <= 45


async def test_near_hits_of_one_day_show_which_came_later_in_a_few_tokens(
    store: MemoryStore, connect: Connect
) -> None:
    store.remember(PLAIN)
    store.remember("The Apollo deadline was the first of May for a while.")
    async with connect() as client:
        said = await text(client, "retrieve_memory", query="when is the Apollo deadline?")
    _, *blocks = said.split("\n\n")
    assert len(blocks) == 2
    assert all(":" in block.splitlines()[0] for block in blocks)
    assert ["told earlier" in block for block in blocks] == [True, False]
    assert max(map(estimate_tokens, blocks)) <= 70
