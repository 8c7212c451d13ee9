"""A server that is stopped while it writes: each error answer is of what was not stored."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from benchmarks.raw_server import INITIALIZE, RawServer, environment, server_command
from infinite_memory import MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder

_CALLS = 40
_SLOW = """
import sys, time
from pathlib import Path
from infinite_memory import MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory_mcp import command, lazy_store, stdio

lazy_store._LAST_STEP_SECONDS = stdio._GRACE_SECONDS = stdio._LAST_ANSWERS_SECONDS = 300.0
folder = Path(sys.argv[1])

class Slow(HashingEmbedder):
    def embed(self, texts):
        (folder / "begun").touch()
        while not (folder / "gate").exists():
            time.sleep(0.01)
        return super().embed(texts)

command.open_store = lambda _: MemoryStore.open(folder / "home", embedder=Slow())
sys.exit(command.main([]))
"""


def _send(process: subprocess.Popen[bytes], message: dict[str, Any]) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    process.stdin.flush()


def _stopped_in_flight(
    home: Path, stop: Callable[[subprocess.Popen[bytes]], None], after: int
) -> tuple[dict[int, bool], int]:
    """Store many memories at once, `stop` the server after some answers; return its answers.

    Those are, by the number of the memory, whether it was stored; and the exit code.
    """
    process = subprocess.Popen(
        server_command(home),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(),
    )
    assert process.stdout is not None
    _send(process, {"id": 0, "method": INITIALIZE[0], "params": INITIALIZE[1]})
    process.stdout.readline()
    _send(process, {"method": "notifications/initialized"})

    def ask() -> None:
        for number in range(1, _CALLS + 1):
            arguments = {"text": f"memory number {number}", "id": f"m{number}"}
            params = {"name": "store_memory", "arguments": arguments}
            try:
                _send(process, {"id": number, "method": "tools/call", "params": params})
            except (BrokenPipeError, ValueError):
                return

    asking = threading.Thread(target=ask)
    asking.start()
    answers: dict[int, bool] = {}
    for line in process.stdout:
        answer = json.loads(line)
        answers[answer["id"]] = "result" in answer and not answer["result"].get("isError")
        if len(answers) == after:
            if stop is _end_input:
                asking.join()
            stop(process)
    asking.join()
    process.stdout.close()
    # What could not be delivered to a server that is gone is of no interest.
    with suppress(BrokenPipeError):
        _end_input(process)
    return answers, process.wait(120)


def _end_input(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.close()


def _terminate(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
@pytest.mark.parametrize("stop", [_terminate, _end_input])
@pytest.mark.parametrize(
    "after",
    [*(pytest.param(n, marks=pytest.mark.slow("server-endurance")) for n in (1, 5)), 15],
)
def test_each_answer_says_what_was_stored(
    tmp_path: Path, stop: Callable[[subprocess.Popen[bytes]], None], after: int
) -> None:
    answers, code = _stopped_in_flight(tmp_path, stop, after)
    assert code in (0, 1)  # 1 where a busy machine took longer than it has
    with MemoryStore.open(tmp_path) as store:
        stored = {memory.id for memory in store.browse(limit=100).memories}
        assert store.verify().sound
    said = {number: f"m{number}" in stored for number in answers}
    assert answers == said
    if stop is _end_input:
        assert stored == {f"m{number}" for number in range(1, _CALLS + 1)}


def _ask(server: RawServer, number: int, tool: str, **arguments: Any) -> None:
    params = {"name": tool, "arguments": arguments}
    _send(server.process, {"id": number, "method": "tools/call", "params": params})


def _answer(server: RawServer) -> tuple[int, dict[str, Any]]:
    assert server.process.stdout is not None
    answer = json.loads(server.process.stdout.readline())
    return answer["id"], answer["result"]


def _refusal(result: dict[str, Any]) -> str | None:
    return str(result["content"][0]["text"]) if result.get("isError") else None


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_a_call_that_is_under_way_is_finished_and_answered_and_later_ones_are_refused(
    tmp_path: Path,
) -> None:
    with RawServer([sys.executable, "-c", _SLOW, str(tmp_path)]) as server:
        server.handshake()
        _ask(server, 100, "store_memory", text="under way", id="early")
        while not (tmp_path / "begun").exists():
            time.sleep(0.01)
        server.process.send_signal(signal.SIGTERM)
        number = 101
        while True:
            _ask(server, number, "search_by_scope")
            if (refusal := _refusal(_answer(server)[1])) is not None:
                break
            number += 1
        assert refusal == "the server is stopping: nothing was changed"
        _ask(server, number + 1, "store_memory", text="too late", id="late")
        assert _refusal(_answer(server)[1]) == refusal
        (tmp_path / "gate").touch()
        answered, result = _answer(server)
        assert answered == 100
        assert "found by meaning and by words from now on" in result["content"][0]["text"]
        assert server.process.wait(120) == 0
    with MemoryStore.open(tmp_path / "home", embedder=HashingEmbedder()) as store:
        assert [memory.id for memory in store.browse().memories] == ["early"]
