"""No answer exceeds its budget, and a long text shows the sentence that was found."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from mcp import Client
from talking import text

from benchmarks.answers import Tally, check_store
from infinite_memory import MemoryStore
from infinite_memory.search.text.token_estimate import estimate_tokens
from infinite_memory_mcp.budget import cut_data, cut_text, estimate_data


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
def test_no_answer_exceeds_its_budget_and_the_planted_sentence_is_seen(seed: int) -> None:
    tally = Tally()
    check_store(seed, tally, max_chars=10**5)
    assert tally.answers
    assert tally.faults == []


@pytest.mark.anyio
async def test_the_last_sentence_of_a_long_text_is_seen_and_the_rest_can_be_read(
    store: MemoryStore, connect: Callable[[], Client]
) -> None:
    long = "The river is quiet today. " * 2000
    memory_id = store.remember(f"{long}The vault combination is 8812.").id
    async with connect() as client:
        found = await text(client, "retrieve_memory", query="the vault combination")
        first = await text(client, "retrieve_memory", ids=[memory_id])
        last = await text(client, "retrieve_memory", ids=[memory_id], offset=len(long))
    assert "The vault combination is 8812." in found
    assert "ids with offset 0 begins it" in found
    assert "8812" not in first
    assert "cut: characters 0 to " in first
    assert "> …The vault combination is 8812." in last


@pytest.mark.parametrize("piece", ["word ", "字", "x", "\n", "😀"])
def test_what_is_cut_fits(piece: str) -> None:
    assert estimate_tokens(cut_text(piece * 50_000, 1000)) <= 1000
    data = {"hits": [{"text": piece * 3000}] * 30}
    assert estimate_data(cut_data(data, 1000)) <= 1000
