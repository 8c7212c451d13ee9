"""How a server over HTTP starts, refuses to start, and ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from http_server import (
    WAYS,
    Answer,
    HttpServer,
    call_body,
    connect,
    held_program,
    post_head,
    wait_for,
)
from talking import call

from benchmarks.raw_server import environment
from infinite_memory import MemoryStore


def refuse(*flags: str) -> subprocess.CompletedProcess[str]:
    """Start a server that must not start."""
    return subprocess.run(
        [sys.executable, "-m", "infinite_memory_mcp", *flags],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=60,
        check=False,
    )


@pytest.mark.thorough
@pytest.mark.anyio
@pytest.mark.parametrize("way", WAYS)
async def test_at_a_signal_running_calls_are_answered_and_later_ones_refused(
    tmp_path: Path, way: str
) -> None:
    home, later = tmp_path / "home", []
    with HttpServer(home, program=held_program(tmp_path)) as server:

        def stop_in_the_middle() -> None:
            wait_for(tmp_path / "begun")
            server.process.send_signal(signal.SIGTERM)
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline:
                later.append(server.ask(call_body("store_memory", text="too late")))
                if later[-1].status == 503:
                    break
            later.append(server.ask(path="/healthz"))
            later.append(server.ask(path="/readyz"))
            (tmp_path / "go").touch()

        stopping = threading.Thread(target=stop_in_the_middle)
        stopping.start()
        async with connect(server, way) as client:
            # Otherwise the client looks up the schema of the answer after the call.
            await client.list_tools()
            stored = await call(client, "store_memory", text="In the last moment")
            stopping.join()
        assert server.wait() == 0
        assert "Traceback" not in server.log
    assert [answer.status for answer in later[-3:]] == [503, 200, 503]
    assert later[-3].headers["retry-after"] == "1"
    assert "stopping" in later[-3].message
    with MemoryStore.open(home) as store:
        assert store.get(stored["id"]).text == "In the last moment"
        assert store.stats().memories == 1


@pytest.mark.thorough
def test_open_streams_and_idle_connections_do_not_hold_a_server_up(tmp_path: Path) -> None:
    with HttpServer(tmp_path / "home") as server, server.connect() as stream, server.connect():
        stream.sendall(f"GET /sse HTTP/1.1\r\nhost: {server.host}\r\n\r\n".encode())
        assert stream.recv(100).startswith(b"HTTP/1.1 200")
        started = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - started < 15
        assert "Traceback" not in server.log
        assert "without completing" not in server.log


@pytest.mark.thorough
def test_a_second_signal_ends_a_server_at_once(tmp_path: Path) -> None:
    with HttpServer(tmp_path / "home", program=held_program(tmp_path)) as server:
        body = call_body("store_memory", text="Never stored")
        with server.connect() as connection:
            connection.sendall(post_head(server, len(body)) + body)
            wait_for(tmp_path / "begun")
            server.process.send_signal(signal.SIGTERM)
            while server.ask(path="/readyz").status != 503:
                time.sleep(0.01)
            server.process.send_signal(signal.SIGTERM)
            assert server.wait() == 1


@pytest.mark.thorough
def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = refuse("--home", str(tmp_path), "--http", f"127.0.0.1:{port}")
    assert result.returncode == 1
    assert f"port {port} of 127.0.0.1 is in use" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.thorough
def test_without_keys_no_other_machine_is_served(tmp_path: Path) -> None:
    result = refuse("--home", str(tmp_path), "--http", "0.0.0.0:0")
    assert result.returncode == 2
    assert "keys create" in result.stderr
    assert "--require-keys" in result.stderr


@pytest.mark.thorough
def test_with_keys_other_machines_are_served(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with HttpServer(home, "--require-keys", address="0.0.0.0:0") as server:
        assert server.ask(call_body("get_user_profile")).status == 401
        assert server.stop() == 0
    with MemoryStore.open(home) as store:
        secret = store.keys.create("other machine", scopes="*").secret
    with HttpServer(home, "--allow-host", "memory.example", address="0.0.0.0:0") as server:
        headers = {"x-memory-key": secret, "host": "memory.example"}
        assert server.ask(call_body("get_user_profile"), headers=headers).status == 200
        assert server.ask(call_body("get_user_profile")).status == 401
        headers["host"] = "other.example"
        assert server.ask(call_body("get_user_profile"), headers=headers).status == 421


@pytest.mark.thorough
def test_a_setting_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "infinite_memory_config.json").write_text('{"limits": {"call_seconds": 0}}')
    result = refuse("--home", str(tmp_path), "--http", "127.0.0.1:0")
    assert result.returncode == 3
    assert "call_seconds" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.thorough
@pytest.mark.parametrize("text", ["8765", "localhost", "localhost:", "a:b", "::1:80", "h:99999"])
def test_what_is_no_address_is_refused(text: str) -> None:
    result = refuse("--http", text)
    assert result.returncode == 2
    assert "HOST:PORT" in result.stderr


@pytest.mark.thorough
def test_the_options_of_http_need_http() -> None:
    result = refuse("--require-keys")
    assert result.returncode == 2
    assert "--http" in result.stderr


@pytest.mark.thorough
def test_a_store_that_cannot_be_opened_is_not_ready(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    home = tmp_path / "home"
    with HttpServer(home, "--log-level", "error") as server:
        assert server.ask(path="/readyz").status == 200
    os.truncate(home / "memory.db", 0)
    with HttpServer(home, "--log-level", "error") as server:
        assert server.ask(path="/healthz").status == 200
        answer: Answer = server.ask(path="/readyz")
        assert (answer.status, answer.headers["retry-after"]) == (503, "5")
        assert str(home) not in answer.message
        refused = server.ask(call_body("get_user_profile"), headers={"x-memory-key": "im_x"})
        assert refused.status == 503
        assert server.stop() == 0
