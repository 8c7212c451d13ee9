"""What a refusal of arguments says, and how much of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from mcp import Client
from talking import refusal

pytestmark = pytest.mark.anyio


async def test_a_list_of_thousands_of_wrong_entries_is_refused_briefly(
    connect: Callable[[], Client],
) -> None:
    async with connect() as client:
        said = await refusal(client, "store_memory", text="x", tags=list(range(20_000)))
    assert "tags 0 cannot be used" in said
    assert said.endswith("and 19995 more problems")
    assert len(said) < 1000


async def test_a_few_wrong_arguments_are_all_named(connect: Callable[[], Client]) -> None:
    async with connect() as client:
        said = await refusal(client, "store_memory", text=1, important="?", title=[])
    assert [part.split()[0] for part in said.split("; ")] == ["text", "title", "important"]


async def test_an_unknown_name_of_ten_million_characters_is_refused_briefly(
    connect: Callable[[], Client],
) -> None:
    async with connect() as client:
        said = await refusal(client, "delete_memory", **{"id": "x", "permanent" * 1_111_111: True})
    assert "the nearest is 'permanently'" in said
    assert len(said) < 300
