"""A server takes in what hooks have noted, in its background."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import pytest
from mcp import Client
from talking import call, server

from infinite_memory.features.sessions.spool import append_line

pytestmark = pytest.mark.anyio

_TOOLSETS = ("--toolsets", "core,admin")


@pytest.mark.thorough
async def test_a_server_takes_in_the_sessions_before_it(tmp_path: Path, era: str) -> None:
    home, transcript = tmp_path / "home", tmp_path / "s.jsonl"
    write(transcript, "the cat is called Tom", "the dog is called Rex")
    note(home, transcript)
    async with Client(server(home, *_TOOLSETS), mode=era) as client:
        await call(client, "retrieve_memory", query="warm up")
        assert await wait_for(client, 2)
        data = await call(client, "retrieve_memory", query="what is the dog called?")
    assert data["hits"][0]["text"] == "the dog is called Rex"
    assert not list((home / "spool").glob("*.jsonl"))


@pytest.mark.thorough
async def test_a_server_that_is_confined_leaves_the_sessions_to_another(
    tmp_path: Path, era: str
) -> None:
    home, transcript = tmp_path / "home", tmp_path / "s.jsonl"
    write(transcript, "the cat is called Tom")
    note(home, transcript)
    async with Client(server(home, *_TOOLSETS, "--scopes", "work"), mode=era) as client:
        await call(client, "store_memory", text="a note")
        assert not await wait_for(client, 2, seconds=2)
    assert (home / "spool" / "spool.jsonl").exists()


def write(path: Path, *texts: str) -> None:
    records = [
        {"type": "user", "uuid": str(number), "sessionId": "s", "message": {"content": text}}
        for number, text in enumerate(texts)
    ]
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))


def note(home: Path, transcript: Path) -> None:
    append_line(home, {"client": "claude-code", "transcript": str(transcript), "folder": "/"})


async def wait_for(client: Client, memories: int, *, seconds: float = 60) -> bool:
    """Return whether the store holds so many memories, after a while at most."""
    with anyio.move_on_after(seconds):
        while True:
            stats = await call(client, "get_memory_stats")
            if stats["memories"] >= memories:
                return True
            await anyio.sleep(0.2)
    return False
