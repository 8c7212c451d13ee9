"""What a server does with the lines of a client that keeps no rules, and how its session ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from benchmarks.raw_server import RawServer, patient_command, server_command
from infinite_memory import MemoryStore


def tell(server: RawServer, *lines: bytes) -> None:
    assert server.process.stdin is not None
    server.process.stdin.write(b"".join(line + b"\n" for line in lines))
    server.process.stdin.flush()


def answer(server: RawServer) -> dict[str, Any]:
    assert server.process.stdout is not None
    said: dict[str, Any] = json.loads(server.process.stdout.readline())
    return said


def storing(number: int, text: str) -> bytes:
    params = {"name": "store_memory", "arguments": {"text": text, "id": f"m{number}"}}
    request = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
    return json.dumps(request).encode()


@pytest.mark.thorough
def test_each_line_that_is_no_message_is_answered_and_the_server_goes_on(tmp_path: Path) -> None:
    with RawServer(server_command(tmp_path)) as server:
        server.handshake()
        for bad in (
            b"nonsense",
            b"[]",
            b"\xff",
            b"{}",
            b'{"jsonrpc":"2.0","id":null,"method":"x"}',
        ):
            tell(server, b"", b" \r", bad)
            said = answer(server)
            assert said["id"] is None
            assert said["error"]["code"] in (-32700, -32600)
        assert server.call("store_memory", text="still here", id="one")["id"] == "one"


@pytest.mark.process
def test_a_text_that_is_not_utf_8_is_refused_instead_of_being_altered(tmp_path: Path) -> None:
    with RawServer(server_command(tmp_path)) as server:
        server.handshake()
        tell(server, storing(7, "caf?").replace(b"?", b"\xe9"))
        assert "not UTF-8 (byte 0xe9" in answer(server)["error"]["message"]
        assert server.call("recall_memory_by_time", when="always")["hits"] == []


@pytest.mark.thorough
def test_half_of_a_surrogate_pair_is_refused_by_the_tool(tmp_path: Path) -> None:
    with RawServer(server_command(tmp_path)) as server:
        server.handshake()
        tell(server, storing(7, "half \ud83d of an emoji"))
        said = answer(server)
        assert said["id"] == 7
        assert said["result"]["isError"]
        assert "surrogate" in said["result"]["content"][0]["text"]
        tell(server, storing(8, "fine").replace(b"store_memory", b"\\ud83d"))
        assert answer(server)["id"] == 8


@pytest.mark.process
def test_what_was_asked_before_the_end_of_input_is_answered(tmp_path: Path) -> None:
    with RawServer(patient_command(tmp_path)) as server:
        server.handshake()
        tell(server, *(storing(10 + i, f"memory number {i}") for i in range(30)))
        out, err = server.end_input()
    answers = {json.loads(line)["id"]: json.loads(line) for line in out.splitlines()}
    assert sorted(answers) == list(range(10, 40))
    assert all(said["result"]["structuredContent"]["id"] for said in answers.values())
    assert (server.process.returncode, err) == (0, b"")
    with MemoryStore.open(tmp_path) as store:
        assert {store.get(f"m{10 + i}").text for i in range(30)} == {
            f"memory number {i}" for i in range(30)
        }


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform == "win32", reason="Windows tells only when something is written")
def test_a_server_that_nobody_reads_ends_though_its_input_stays_open(tmp_path: Path) -> None:
    with RawServer(patient_command(tmp_path)) as server:
        server.handshake()
        tell(server, storing(7, "asked before the client hung up"))
        assert server.process.stdout is not None
        server.process.stdout.close()
        assert server.process.wait(120) == 0
        assert not server.has_left_overs()


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="needs a fork that keeps a pipe open")
def test_a_server_ends_with_its_client_though_another_process_holds_its_input(
    tmp_path: Path,
) -> None:
    client = textwrap.dedent(
        """
        import subprocess, sys
        server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        end = server.stdin.fileno()
        holder = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  pass_fds=[end])
        print(server.pid, holder.pid, flush=True)
        server.wait()
        """
    )
    with RawServer([sys.executable, "-c", client, *server_command(tmp_path)]) as started:
        assert started.process.stdout is not None
        server, holder = map(int, started.process.stdout.readline().split())
        started.process.kill()
        started.process.wait()
        # The server holds the other end of this pipe, so it ends when the server does.
        assert started.process.stderr is not None
        assert started.process.stderr.read() == b""
        os.kill(holder, 0)
        os.killpg(started.process.pid, 9)
    assert server != holder


@pytest.mark.thorough
@pytest.mark.parametrize("count", [5, pytest.param(20, marks=pytest.mark.slow("server-endurance"))])
def test_servers_started_at_once_all_serve_and_leave_nothing_behind(
    tmp_path: Path, count: int
) -> None:
    home = tmp_path / "home"
    servers = [RawServer(patient_command(home)) for _ in range(count)]
    try:
        for number, server in enumerate(servers):
            handshake_and_store(server, 100 + number)
        for number, server in enumerate(servers):
            assert [answer(server).get("id") for _ in range(2)] == [1, 100 + number]
        ended = [server.end_input() for server in servers]
        assert [server.process.returncode for server in servers] == [0] * count
        assert ended == [(b"", b"")] * count
        assert not any(server.has_left_overs() for server in servers)
    finally:
        for server in servers:
            server.__exit__(None, None, None)
    with MemoryStore.open(home) as store:
        assert store.stats().memories == count
    assert (home / "memory.db-wal").stat().st_size == 0
    assert not [path for path in home.rglob("*") if path.is_file() and "tmp" in path.name]
    # A folder may be removed at once: nothing holds a file in it.
    assert subprocess.run(["rm", "-r", str(home)], check=False).returncode == 0


def handshake_and_store(server: RawServer, number: int) -> None:
    opening = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "raw-server", "version": "1"},
        },
    }
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    tell(
        server,
        json.dumps(opening).encode(),
        json.dumps(ready).encode(),
        storing(number, f"said to server {number}"),
    )
