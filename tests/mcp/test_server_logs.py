"""What real servers write to their logs: a line for every call, and never a text."""

from __future__ import annotations

import json
import re
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from http_server import HttpServer, call_body
from mcp import Client, MCPError

from benchmarks.raw_server import RawServer, server_command
from infinite_memory import MemoryStore
from infinite_memory_mcp.lazy_store import LazyStore
from infinite_memory_mcp.server import build_server

MARK = "zzmark"
PLANTED: list[tuple[str, dict[str, Any]]] = [
    ("store_memory", {"text": f"a {MARK} text", "tags": [f"{MARK}-tag"], "key": f"{MARK}/key"}),
    ("store_memory", {"text": f"another {MARK}", "key": f"{MARK}/key", "speaker": f"{MARK} Ann"}),
    ("store_memory", {"text": f"{MARK}", "happened_at": f"{MARK} o'clock"}),
    ("store_memory", {"text": [f"{MARK}"]}),
    ("store_memory", {f"{MARK}": f"{MARK}"}),
    ("retrieve_memory", {"query": f"what is {MARK}?", "tags": [f"{MARK}-tag"]}),
    ("retrieve_memory", {"query": f"{MARK}", "scope": f"{MARK}"}),
    ("retrieve_memory", {"query": f"{MARK}", "limit": f"{MARK}"}),
    ("recall_memory_by_time", {"when": f"{MARK}"}),
    ("update_memory", {"id": f"{MARK}-nobody", "text": f"{MARK}"}),
    ("update_user_profile", {"changes": {"name": f"{MARK}"}}),
    (f"{MARK}_tool", {"text": f"{MARK}"}),
]
# A store whose calls fail in ways that nobody foresaw, with the text in the message.
_DEFECTIVE = """
import runpy
from infinite_memory.store.memory_store import MemoryStore

def search(self, query, **given):
    raise ValueError(f"cannot read {query}")

MemoryStore.search = search
runpy.run_module("infinite_memory_mcp", run_name="__main__", alter_sys=True)
"""


def configure(home: Path, **settings: Any) -> Path:
    home.mkdir(parents=True)
    (home / "infinite_memory_config.json").write_text(json.dumps(settings))
    return home


def lines_of(log: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.splitlines()]


def calls_in(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [line for line in lines if "tool" in line]


@pytest.mark.process
def test_over_http_every_call_is_a_line_and_no_text_is_in_any(tmp_path: Path) -> None:
    file = tmp_path / "logs" / "server.log"
    home = configure(tmp_path / "home", logging={"level": "debug", "file": str(file)})
    with MemoryStore.open(home) as store:
        secret = store.keys.create("laptop", rights="admin").secret
    with HttpServer(home) as server:
        headers = {"x-memory-key": secret}
        for tool, arguments in PLANTED:
            server.ask(call_body(tool, **arguments), headers=headers)
        on_page = {**headers, "content-type": "application/json"}
        for path in ("search", "position", MARK):
            server.ask(f'{{"query": "{MARK}"}}'.encode(), path=f"/api/{path}", headers=on_page)
        server.ask(f'{{"{MARK}": '.encode(), headers=headers)
        server.ask(path=f"/{MARK}?key={secret}")
        server.ask(path="/mcp", method="DELETE", headers={**headers, "x": MARK})
        server.ask(call_body("health_check"), headers={"x-memory-key": f"im_{MARK}"})
        assert server.stop() == 0
        log = server.log
    lines = lines_of(log)
    written = file.read_text()
    for text in (log, written):
        assert MARK not in text
        assert secret[12:] not in text
    calls = calls_in(lines)
    assert calls_in(lines_of(written)) == calls
    on_page = [line for line in calls if line.get("route") == "/api"]
    told = [(line["tool"], line["level"], line["outcome"], line["key"]) for line in on_page]
    assert told == [
        ("page.search", "info", "ok", "laptop"),
        ("page.position", "info", "refused", "laptop"),
        ("unknown", "info", "refused", "laptop"),
    ]
    calls = [line for line in calls if line not in on_page]
    assert [line["tool"] for line in calls] == [
        tool if MARK not in tool else "unknown" for tool, _ in PLANTED
    ]
    assert [line["outcome"] for line in calls[:3]] == ["ok", "ok", "error"]
    assert calls[-1]["error"] == "MCPError -32602"
    for line in calls:
        assert datetime.fromisoformat(line["time"]).tzinfo is not None
        assert (line["key"], line["request_id"]) == ("laptop", "1")
        assert line["duration_ms"] > 0
    refused = [(line["route"], line["status"]) for line in lines if "status" in line]
    assert {("unknown", 404), ("/mcp", 405), ("/mcp", 400), ("/mcp", 401)} <= set(refused)


@pytest.mark.thorough
def test_a_defect_is_logged_with_its_place_and_without_its_text(tmp_path: Path) -> None:
    home = configure(tmp_path / "home")
    program = [sys.executable, "-c", _DEFECTIVE]
    with HttpServer(home, program=program) as server:
        answer = server.ask(call_body("retrieve_memory", query=f"{MARK} question"))
        assert "defect of the server (ValueError)" in answer.text
        assert server.stop() == 0
        lines = lines_of(server.log)
    assert MARK not in json.dumps(lines)
    defect = next(line for line in lines if "exception" in line)
    assert (defect["level"], defect["exception"]) == ("error", "ValueError")
    assert any(re.search(r"tool\.py:\d+ _run_tool$", place) for place in defect["trace"])
    assert calls_in(lines)[0]["error"] == "ValueError"


@pytest.mark.thorough
def test_texts_are_logged_only_if_asked_for(tmp_path: Path) -> None:
    home = configure(tmp_path / "home", logging={"texts": True})
    with HttpServer(home) as server:
        server.ask(call_body("store_memory", text=f"a {MARK} text"))
        assert server.stop() == 0
        calls = calls_in(lines_of(server.log))
    assert calls[0]["arguments"] == {"text": f"a {MARK} text"}


@pytest.mark.thorough
def test_over_standard_output_a_line_a_call_is_written_if_asked(tmp_path: Path) -> None:
    home = configure(tmp_path / "home")
    with RawServer(server_command(home, "--log-level", "info")) as server:
        server.handshake()
        known = [(tool, arguments) for tool, arguments in PLANTED if MARK not in tool]
        for tool, arguments in known:
            server.request("tools/call", {"name": tool, "arguments": arguments})
        assert server.process.stdin is not None
        server.process.stdin.close()
        assert server.process.stderr is not None
        log = server.process.stderr.read().decode()
    assert MARK not in log
    assert [line["tool"] for line in calls_in(lines_of(log))] == [tool for tool, _ in known]


@pytest.mark.anyio
async def test_a_caller_who_errs_is_no_warning_and_a_defect_is(
    store: MemoryStore, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level("INFO")
    with LazyStore(lambda: store, quiet_seconds=600) as memory:
        async with Client(build_server(memory)) as client:
            await client.call_tool("retrieve_memory", {"ids": ["nobody"]})
            with pytest.raises(MCPError):
                await client.call_tool("nothing", {})

            def fail(*_: object, **__: object) -> None:
                raise OSError(28, "no space left")

            monkeypatch.setattr(MemoryStore, "search", fail)
            await client.call_tool("retrieve_memory", {"query": "ferry"})
    records = [record for record in caplog.records if record.name.endswith("observe.requests")]
    shown = [
        (record.levelname, record.fields["error"])  # type: ignore[attr-defined]
        for record in records
        if record.fields["tool"]  # type: ignore[attr-defined]
    ]
    assert shown == [("INFO", "NotFound"), ("INFO", "MCPError -32602"), ("WARNING", "OSError")]
