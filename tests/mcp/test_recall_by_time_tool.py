"""The tool `recall_memory_by_time`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from mcp import Client
from talking import call, refusal, text

from infinite_memory import MemoryStore

pytestmark = pytest.mark.anyio
Connect = Callable[[], Client]
START = datetime(2026, 3, 2, 23, 30, tzinfo=UTC)


@pytest.fixture
def diary(store: MemoryStore) -> MemoryStore:
    store.remember_many(
        {"text": f"tea {n}", "id": f"t{n}", "happened_at": START + timedelta(days=n)}
        for n in range(3)
    )
    return store


@pytest.mark.usefixtures("diary")
async def test_a_time_is_told_in_its_order_with_a_digest_and_a_cursor(connect: Connect) -> None:
    asked = {"when": "March 2026", "limit": 2}
    async with connect() as client:
        data = await call(client, "recall_memory_by_time", **asked)
        assert [hit["id"] for hit in data["hits"]] == ["t0", "t1"]
        assert (data["order"], data["total"]) == ("oldest first", 3)
        assert data["when"]["words"] == "March 2026"
        # They happened after midnight in Berlin.
        assert data["digest"]["by_day"] == {"2026-03-03": 1, "2026-03-04": 1, "2026-03-05": 1}
        assert data["digest"]["first"]["id"] == "t0"
        assert data["digest"]["by_scope"] == {"Global": 3}
        answer = await text(client, "recall_memory_by_time", **asked)
        assert data["when"]["read_as"] in answer
        assert "2 of 3 memories, oldest first." in answer
        assert f"call again with cursor {data['cursor']!r}" in answer
        assert 'last: 2026-03-05 00:30 · id t2 · "tea 2"' in answer
        assert "by day, in the user's time zone: 2026-03-03 1, 2026-03-04 1" in answer
        rest = await call(client, "recall_memory_by_time", **asked, cursor=data["cursor"])
        assert [hit["id"] for hit in rest["hits"]] == ["t2"]
        assert "digest" not in rest
        assert "cursor" not in rest
        newest = await call(client, "recall_memory_by_time", when="always", newest_first=True)
        assert [hit["id"] for hit in newest["hits"]] == ["t2", "t1", "t0"]


@pytest.mark.usefixtures("diary")
async def test_an_empty_time_names_its_neighbours(connect: Connect) -> None:
    async with connect() as client:
        data = await call(client, "recall_memory_by_time", when="2025")
        assert (data["hits"], data["total"], data["after"]["id"]) == ([], 0, "t0")
        assert "before" not in data
        answer = await text(client, "recall_memory_by_time", when="2025")
        assert "Nothing of that time is stored there" in answer
        assert 'nearest after: 2026-03-03 00:30 · id t0 · "tea 0"' in answer


async def test_many_scopes_and_days_cost_few_tokens(store: MemoryStore, connect: Connect) -> None:
    store.remember_many(
        {"text": f"tea {n}", "scope": f"s{n}", "happened_at": START + timedelta(days=n)}
        for n in range(50)
    )
    async with connect() as client:
        data = await call(client, "recall_memory_by_time", when="2026", scope="ALL", limit=1)
        assert len(data["digest"]["by_scope"]) == 31
        assert data["digest"]["in_other_scopes"] == 19
        assert data["digest"]["by_month"] == {"2026-03": 29, "2026-04": 21}
        answer = await text(client, "recall_memory_by_time", when="2026", scope="ALL", limit=1)
        assert "by month, in the user's time zone: 2026-03 29, 2026-04 21" in answer
        assert ", all others 19\n" in answer


@pytest.mark.usefixtures("diary")
async def test_what_cannot_be_read_is_refused_with_the_way_out(connect: Connect) -> None:
    async with connect() as client:
        assert "'when' is missing" in await refusal(client, "recall_memory_by_time")
        said = await refusal(client, "recall_memory_by_time", when="3/4/2026")
        assert "write YYYY-MM-DD" in said


@pytest.mark.usefixtures("diary")
async def test_retrieve_memory_takes_words_of_time_and_says_how_they_were_read(
    connect: Connect,
) -> None:
    async with connect() as client:
        data = await call(client, "retrieve_memory", query="tea", when="4 March 2026")
        assert [hit["id"] for hit in data["hits"]] == ["t1"]
        assert data["when"]["read_as"].startswith("4 March 2026: 2026-03-04 00:00+01:00")
        kept = await call(client, "retrieve_memory", query="tea", when="4 March 2026", why_not="t0")
        assert kept["why_not"]["unmet"] == ["since"]
