from __future__ import annotations

import json
import signal
import subprocess
import sys
import textwrap
from contextlib import suppress
from pathlib import Path

import pytest

from benchmarks.raw_server import (
    DISCOVER,
    RawServer,
    environment,
    patient_command,
    server_command,
)
from benchmarks.soak import server_kills
from infinite_memory import MemoryStore


def kept_files(home: Path) -> set[str]:
    return {path.name for path in home.rglob("*") if path.is_file()}


@pytest.fixture
def ordinary_files(tmp_path: Path) -> set[str]:
    """The files that a store leaves which was opened, written and closed in the plainest way."""
    home = tmp_path / "ordinary"
    with MemoryStore.open(home) as store:
        store.remember("one", id="one")
    # A server that has been at rest for a moment does the upkeep.
    return kept_files(home) | {"store.upkeep", "store.upkeep.lock"}


@pytest.mark.process
@pytest.mark.parametrize("used", [False, True], ids=["idle", "used"])
def test_the_end_of_input_ends_the_server(
    tmp_path: Path, ordinary_files: set[str], used: bool
) -> None:
    home = tmp_path / "home"
    with RawServer(patient_command(home)) as server:
        server.handshake()
        if used:
            server.call("store_memory", text="one", id="one")
        out, err = server.end_input()
        assert (server.process.returncode, out, err) == (0, b"", b"")
        assert not server.has_left_overs()
    assert kept_files(home) <= ordinary_files
    if used:
        with MemoryStore.open(home) as store:
            assert store.get("one").text == "one"


@pytest.mark.thorough
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("used", [False, True], ids=["idle", "used"])
def test_a_signal_ends_the_server_while_its_input_stays_open(
    tmp_path: Path, ordinary_files: set[str], number: int, used: bool
) -> None:
    home = tmp_path / "home"
    with RawServer(patient_command(home)) as server:
        server.handshake()
        if used:
            server.call("store_memory", text="one", id="one")
        out, err = server.signal(number)
        assert (server.process.returncode, out, err) == (0, b"", b"")
        assert not server.has_left_overs()
    assert kept_files(home) <= ordinary_files
    if used:
        with MemoryStore.open(home) as store:
            assert store.get("one").text == "one"


@pytest.mark.thorough
def test_the_end_of_input_without_a_single_request_ends_the_server(tmp_path: Path) -> None:
    with RawServer(patient_command(tmp_path / "home")) as server:
        assert server.end_input() == (b"", b"")
        assert server.process.returncode == 0


@pytest.mark.thorough
def test_a_client_that_no_longer_reads_ends_the_server(tmp_path: Path) -> None:
    with RawServer(patient_command(tmp_path / "home")) as server:
        server.handshake()
        assert server.process.stdout is not None
        assert server.process.stdin is not None
        server.process.stdout.close()
        request = {"jsonrpc": "2.0", "id": 9, "method": "tools/list", "params": {}}
        # It may have noticed by itself, and be gone by now.
        with suppress(BrokenPipeError):
            server.process.stdin.write(json.dumps(request).encode() + b"\n")
            server.process.stdin.close()
        assert server.process.wait(120) == 0


@pytest.mark.thorough
def test_a_server_whose_closing_hangs_ends_all_the_same_and_says_so_by_its_code(
    tmp_path: Path,
) -> None:
    script = textwrap.dedent(
        """
        import sys, threading
        from infinite_memory_mcp import command, lazy_store, stdio
        stdio._GRACE_SECONDS = 2.0
        lazy_store.LazyStore.close = lambda self: threading.Event().wait()
        sys.exit(command.main())
        """
    )
    with RawServer(
        [sys.executable, "-c", script, "--structured", "--home", str(tmp_path / "home")]
    ) as server:
        server.handshake()
        assert server.signal(signal.SIGTERM) == (b"", b"")
        assert server.process.returncode == 1


@pytest.mark.thorough
def test_a_server_outlives_no_client_that_was_killed(tmp_path: Path) -> None:
    parent = textwrap.dedent(
        """
        import subprocess, sys
        server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        print(server.pid, flush=True)
        server.wait()
        """
    )
    command = [sys.executable, "-c", parent, *server_command(tmp_path / "home")]
    with RawServer(command) as client:
        assert client.process.stdout is not None
        assert client.process.stdout.readline().strip().isdigit()
        client.process.kill()
        # The server holds the other end of this pipe, so it ends when the server does.
        assert client.process.stderr is not None
        assert client.process.stderr.read() == b""


@pytest.mark.thorough
def test_what_is_printed_by_mistake_does_not_reach_the_wire(tmp_path: Path) -> None:
    script = textwrap.dedent(
        """
        import os, sys
        from infinite_memory_mcp import command
        honest = command.open_store
        def chatty(settings):
            print("stray", flush=True)
            os.write(1, b"stray\\n")
            return honest(settings)
        command.open_store = chatty
        sys.exit(command.main(sys.argv[1:]))
        """
    )
    command = [sys.executable, "-c", script, "--structured", "--home", str(tmp_path / "home")]
    with RawServer(command) as server:
        server.handshake()
        assert server.call("store_memory", text="one", id="one")["id"] == "one"
        out, err = server.end_input()
    assert out == b""
    assert err.count(b"stray") == 2


@pytest.mark.process
@pytest.mark.parametrize(
    ("kills", "writes"),
    [(3, 30), pytest.param(20, 300, marks=pytest.mark.slow("server-endurance"))],
)
def test_killed_servers_lose_nothing_that_was_acknowledged(
    tmp_path: Path, kills: int, writes: int
) -> None:
    outcome = server_kills.run(tmp_path, kills=kills, writes=writes, servers=2)
    assert outcome.acknowledged >= writes
    assert outcome.faults == ()


@pytest.mark.slow("broken-servers")
def test_servers_that_answer_before_they_write_are_caught(tmp_path: Path) -> None:
    outcome = server_kills.run(
        tmp_path, kills=4, writes=20, servers=2, command=server_kills.broken_command
    )
    assert any("is lost or altered" in fault for fault in outcome.faults)


@pytest.mark.process
def test_the_first_answers_need_nothing_heavy() -> None:
    script = textwrap.dedent(
        """
        import sys
        import infinite_memory_mcp.command
        assert "mcp" not in sys.modules
        import anyio
        from mcp import Client
        from infinite_memory_mcp.server import build_server
        from infinite_memory_mcp.lazy_store import LazyStore
        async def main():
            with LazyStore(lambda: 1 / 0, quiet_seconds=600) as memory:
                for mode in ("auto", "legacy"):
                    async with Client(build_server(memory, structured=True), mode=mode) as client:
                        assert (await client.list_tools()).tools
        anyio.run(main)
        heavy = {"numpy", "onnxruntime", "tokenizers", "apsw", "pymongo", "rjieba", "Stemmer"}
        print(sorted(heavy & set(sys.modules)))
        """
    )
    ran = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env=environment(),
        check=True,
    )
    assert ran.stdout.strip() == "[]"


@pytest.mark.thorough
def test_the_first_request_may_be_of_the_era_without_a_handshake(tmp_path: Path) -> None:
    with RawServer(server_command(tmp_path / "home")) as server:
        result = server.request(*DISCOVER)
        server.end_input()
    assert "2026-07-28" in result["supportedVersions"]
