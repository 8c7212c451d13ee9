from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest
from mcp import Client
from talking import call, refusal, text

from infinite_memory import MemoryStore

pytestmark = pytest.mark.anyio
Connect = Callable[[], Client]


async def test_recall_memory_reads_words_of_time_and_says_how(
    store: MemoryStore, connect: Connect
) -> None:
    for name, moment in (("march", "2026-03-15T12:00+00:00"), ("april", "2026-04-15T12:00+00:00")):
        store.remember(f"tea in {name}", id=name, happened_at=datetime.fromisoformat(moment))
    async with connect() as client:
        data = await call(client, "recall_memory", query="tea", when="March 2026")
        assert [hit["id"] for hit in data["hits"]] == ["march"]
        assert data["when"]["words"] == "March 2026"
        answer = await text(client, "recall_memory", query="tea", when="March 2026")
        assert data["when"]["read_as"] in answer
        nothing = await text(client, "recall_memory", query="tea", when="1999")
        assert "1999: " in nothing
        said = await refusal(client, "recall_memory", query="tea", when="every Friday")
        assert "cannot be read" in said
        both = await refusal(client, "recall_memory", query="tea", when="1999", since="2026-01-01")
        assert "cannot go together" in both
