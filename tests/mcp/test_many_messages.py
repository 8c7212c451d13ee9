"""What stores many texts in a call is answered at once; their vectors come after the answer."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from http_server import HttpServer, call_body, wait_for

from benchmarks.raw_server import RawServer
from infinite_memory import MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder

COUNT = 400
_SLOW = """
import sys, time
from pathlib import Path
from infinite_memory import MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory_mcp import command

folder = Path(sys.argv.pop(1))

class Slow(HashingEmbedder):
    def embed(self, texts):
        if any("of the plan" in text for text in texts):
            (folder / "begun").touch()
            time.sleep(0.3 * len(texts))
        return super().embed(texts)

command.open_store = lambda *_, **__: MemoryStore.open(folder / "home", embedder=Slow())
sys.exit(command.main())
"""

Call = Callable[..., dict[str, Any]]
Stop = Callable[[], int]


@contextmanager
def serve(folder: Path, way: str) -> Iterator[tuple[Call, Stop]]:
    """Give the call of a tool, and the end, of a server whose vectors would take two minutes."""
    program = (sys.executable, "-c", _SLOW, str(folder), "--toolsets", "all", "--structured")
    if way == "stdio":
        with RawServer(program) as raw:
            raw.handshake()

            def call(tool: str, **arguments: Any) -> dict[str, Any]:
                return dict(raw.request("tools/call", {"name": tool, "arguments": arguments}))

            def stop() -> int:
                raw.signal(signal.SIGTERM)
                return int(raw.process.returncode)

            yield call, stop
        return
    with HttpServer(folder / "home", "--toolsets", "all", program=program[:4]) as server:
        yield (
            lambda tool, **arguments: dict(
                json.loads(server.ask(call_body(tool, **arguments)).body)["result"]
            ),
            server.stop,
        )


@pytest.mark.thorough
@pytest.mark.parametrize("way", ["stdio", "http"])
def test_many_messages_are_answered_and_found_by_words_and_a_signal_waits_for_no_vector(
    tmp_path: Path, way: str
) -> None:
    messages = [
        {"role": "user", "content": f"message {number} about w{number}x of the plan"}
        for number in range(COUNT)
    ]
    with serve(tmp_path, way) as (call, stop):
        logged = call("log_conversation", conversation_id="c", messages=messages)
        assert not logged.get("isError"), logged
        assert logged["structuredContent"]["stored"] == COUNT
        assert logged["structuredContent"]["unembedded"] == COUNT
        assert f"by meaning as soon as they are embedded: {COUNT}" in logged["content"][0]["text"]
        for number in (0, COUNT // 2, COUNT - 1):
            found = call("retrieve_memory", query=f"w{number}x", limit=1)
            assert f"message {number} about" in found["content"][0]["text"]
        again = call("log_conversation", conversation_id="c", messages=messages)
        assert again["structuredContent"]["known"] == COUNT
        # In the middle of the vectors.
        wait_for(tmp_path / "begun")
        assert stop() == 0
    with MemoryStore.open(tmp_path / "home", embedder=HashingEmbedder()) as store:
        assert store.stats().memories == COUNT
        assert store.models.pending() > COUNT // 2


@pytest.mark.thorough
@pytest.mark.parametrize("way", ["stdio", "http"])
def test_a_few_texts_have_their_vectors_with_the_answer(tmp_path: Path, way: str) -> None:
    messages = [{"role": "user", "content": f"a word on w{n}x"} for n in range(20)]
    with serve(tmp_path, way) as (call, stop):
        logged = call("log_conversation", conversation_id="c", messages=messages)
        assert logged["structuredContent"]["unembedded"] == 0
        long = call("store_memory", content="many words " * 2000)
        assert long["structuredContent"]["searchable"] == "words"
        short = call("store_memory", content="few words")
        assert short["structuredContent"]["searchable"] == "meaning"
        assert stop() == 0
