"""The first answer to a question in another language names the model for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp import Client
from talking import call, server, text

pytestmark = pytest.mark.anyio

HINT = "`infinite-memory model use bundled` adds a model for other languages"


@pytest.mark.thorough
async def test_a_server_gives_the_hint_once(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir(mode=0o700)
    (tmp_path / "home" / "infinite_memory_config.json").write_text('{"embedder": "english"}')
    async with Client(server(tmp_path / "home"), mode="auto") as client:
        await call(client, "store_memory", text="Anna hat am 20. Januar Geburtstag")
        assert HINT not in str(await call(client, "retrieve_memory", query="Anna's birthday"))
        question = "wann hat Anna Geburtstag?"
        assert (await text(client, "retrieve_memory", query=question)).count(HINT) == 1
        assert HINT not in await text(client, "retrieve_memory", query=question)
