"""What an assistant stores again is kept, also where it has just retrieved what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.raw_server import RawServer, patient_command
from tests.engine.test_told_again import STATEMENTS


@pytest.mark.thorough
@pytest.mark.parametrize("retrieve", [False, True])
def test_what_an_assistant_stores_in_turns_is_kept(tmp_path: Path, *, retrieve: bool) -> None:
    with RawServer(patient_command(tmp_path, "--toolsets", "core,admin")) as server:
        server.handshake()
        for _ in range(2):
            for text in STATEMENTS:
                if retrieve:
                    server.call("retrieve_memory", query=text)
                assert server.call("store_memory", text=text)["outcome"] == "stored"
        assert server.call("get_memory_stats")["memories"] == 2 * len(STATEMENTS)
        if retrieve:
            server.call("retrieve_memory", query=STATEMENTS[-1])
        again = server.call("store_memory", text=STATEMENTS[-1])
        assert again["outcome"] == ("echo" if retrieve else "strengthened")


@pytest.mark.process
def test_an_answer_that_changes_back_is_what_holds(tmp_path: Path) -> None:
    texts = ["The user prefers short answers", "The user prefers long answers"]
    with RawServer(patient_command(tmp_path, "--toolsets", "core,admin")) as server:
        server.handshake()
        ids = []
        for text in [*texts, texts[0]]:
            ids.append(server.call("store_memory", text=text)["id"])
            server.call("retrieve_memory", query="which answers does the user prefer?")
        found = server.call("retrieve_memory", query="which answers does the user prefer?")
    newest = max(found["hits"], key=lambda memory: memory["happened_at"])
    assert (newest["id"], newest["text"]) == (ids[2], texts[0])
