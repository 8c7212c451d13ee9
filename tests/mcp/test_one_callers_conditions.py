"""The conditions of a key hold no call of another key."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from http_server import HttpServer, call_body

from infinite_memory import MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder

HANGS = "context.messages[0].content === 'go' ? (() => {{ while (true); }})() : {n} < 0"
GO = [{"role": "user", "content": "go"}]
HANGING = 20
CALLS = 12


@pytest.mark.thorough
def test_twenty_conditions_of_a_key_that_hang_are_named_and_hold_no_search_of_another(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    with MemoryStore.open(home, embedder=HashingEmbedder()) as store:
        for scope in ("a", "b"):
            store.scopes.create(scope)
        for n in range(HANGING):
            store.triggers.add(f"hangs {n}", "never", HANGS.format(n=n), scope="a")
        store.triggers.add("cake", "bake it", "match_keys(context.messages, ['go'])", scope="b")
        keys = {name: store.keys.create(name, rights=["write"], scopes=[name]) for name in "ab"}

    def search(name: str) -> dict[str, Any]:
        body = call_body("search_long_term_memories", recent_messages=GO, scope=name)
        answer = server.ask(body, headers={"x-memory-key": keys[name].secret})
        result = json.loads(answer.body)["result"]
        assert not result.get("isError"), result
        return dict(result)

    answers: list[dict[str, Any]] = []
    with HttpServer(home, "--toolsets", "all") as server:
        search("b")
        other = threading.Thread(
            target=lambda: answers.extend(search("a") for _ in range(CALLS)), daemon=True
        )
        other.start()
        for _ in range(3):
            found = search("b")["structuredContent"]
            assert [memory["name"] for memory in found["activated"]] == ["cake"]
            assert found["unchecked"] == []
        # Those of the other key are far from done.
        assert other.is_alive()
        other.join()
        assert server.stop() == 0
        assert "Traceback" not in server.log
    assert len(answers) == CALLS
    for answer in answers:
        found = answer["structuredContent"]
        assert found["conditions"] == HANGING
        # One took all the time, or began just before its end.
        assert len(found["unchecked"]) >= HANGING - 1
        said = f"{len(found['unchecked'])} of 20 conditions were not checked"
        assert said in answer["content"][0]["text"]
    # Each has its turn; in every third call those that were late come first.
    late = [
        failure["name"]
        for answer in answers
        for failure in answer["structuredContent"]["failures"]
        if failure["name"] not in answer["structuredContent"]["unchecked"]
    ]
    assert len(set(late)) >= CALLS // 2
