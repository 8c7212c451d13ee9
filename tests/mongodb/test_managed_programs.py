"""The command line and the MCP server on a managed store."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from managed_processes import environment, left_over, server, servers, starts
from mongo_servers import Deployment
from pymongo import MongoClient

from benchmarks.raw_server import RawServer, patient_command

pytestmark = pytest.mark.slow("mongodb")

COMMAND = [sys.executable, "-m", "infinite_memory.apps.cli.main"]


def run(home: Path, *arguments: str, code: int = 0, **settings: str) -> Any:
    """Run a command with --json, on a managed store unless `settings` says otherwise."""
    settings = {"INFINITE_MEMORY_STORAGE": "managed", **settings}
    done = subprocess.run(
        [*COMMAND, "--home", str(home), *arguments, "--json"],
        env=environment(**settings),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (code, ""), done.stdout + done.stderr
    return json.loads(done.stdout)


def findings(document: Any) -> dict[str, tuple[str, str]]:
    return {check["about"]: (check["state"], check["sentence"]) for check in document["checks"]}


def test_what_one_command_stores_the_next_one_finds(managed_home: Path) -> None:
    stored = run(managed_home, "remember", "Alice's birthday is January 20")
    assert left_over(managed_home) == []
    found = run(managed_home, "search", "when was Alice born?")
    assert [hit["id"] for hit in found["hits"]] == [stored["id"]]
    assert left_over(managed_home) == []
    assert not (managed_home / "memory.db").exists()
    assert run(managed_home, "verify")["sound"]


def test_the_doctor_makes_no_managed_store(managed_home: Path) -> None:
    looked = findings(run(managed_home, "doctor"))
    assert looked["store"] == ("ok", f"There is no store in {managed_home} yet.")
    assert "mongod" in looked["mongod"][1]
    assert not managed_home.exists()


def test_the_doctor_looks_at_a_managed_store_and_leaves_no_server(managed_home: Path) -> None:
    run(managed_home, "remember", "one")
    looked = findings(run(managed_home, "doctor"))
    assert looked["records"][0] == "ok"
    assert looked["records"][1].startswith("mongodb+managed:// opens: 1 memory in ")
    assert looked["embeddings"] == ("ok", "Every memory can be found by meaning.")
    assert left_over(managed_home) == []


def test_the_doctor_says_where_to_get_a_program_that_is_missing(managed_home: Path) -> None:
    missing = str(managed_home.parent / "no-mongod")
    document = run(managed_home, "doctor", code=1, INFINITE_MEMORY_MONGOD=missing)
    state, sentence = findings(document)["store"]
    assert (state, missing in sentence) == ("problem", True)
    assert servers(managed_home) == []


def test_the_doctor_makes_no_store_on_a_server_either(
    managed_home: Path, single: Deployment
) -> None:
    address = single.address("doctor_looked_here")
    looked = findings(run(managed_home, "doctor", INFINITE_MEMORY_STORE=address))
    assert looked["store"] == ("ok", f"There is no store in {address} yet.")
    with MongoClient(address) as client:
        assert "doctor_looked_here" not in client.list_database_names()


def test_an_mcp_server_that_ends_leaves_no_mongod(managed_home: Path) -> None:
    command = ["env", "INFINITE_MEMORY_STORAGE=managed", *patient_command(managed_home)]
    with RawServer(command) as mcp:
        mcp.handshake()
        stored = mcp.call("store_memory", text="Alice's birthday is January 20")
        found = mcp.call("retrieve_memory", query="when was Alice born?")
        assert [hit["id"] for hit in found["hits"]] == [stored["id"]]
        assert server(managed_home)
        assert mcp.end_input() == (b"", b"")
        assert mcp.process.returncode == 0
    assert left_over(managed_home) == []
    assert starts(managed_home) == 1


def test_the_configuration_file_can_ask_for_it_too(managed_home: Path) -> None:
    managed_home.mkdir(mode=0o700)
    settings = '{"storage": "managed"}'
    (managed_home / "infinite_memory_config.json").write_text(settings)
    with RawServer(patient_command(managed_home)) as mcp:
        mcp.handshake()
        mcp.call("store_memory", text="one", id="one")
        assert mcp.signal(15) == (b"", b"")
        assert mcp.process.returncode == 0
    assert left_over(managed_home) == []
    assert [each["id"] for each in run(managed_home, "list")["memories"]] == ["one"]
