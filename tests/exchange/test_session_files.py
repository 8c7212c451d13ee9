"""An import of session files: what was said, once, whatever the client copied or took back."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infinite_memory import MemoryStore
from infinite_memory.core.values.draft import Draft
from infinite_memory.core.values.ids import import_id
from infinite_memory.testing.embedders import HashingEmbedder


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open("memory://", embedder=HashingEmbedder()) as opened:
        yield opened


def write(path: Path, *records: object) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


def claude(name: str, minute: int, text: object, *, session: str, **fields: Any) -> dict[str, Any]:
    return {
        **{"type": "user", "uuid": name, "sessionId": session},
        **{"timestamp": f"2026-04-05T08:{minute:02}:00Z", "message": {"content": text}},
        **fields,
    }


def meta(session: str, **fields: Any) -> dict[str, Any]:
    return {"type": "session_meta", "payload": {"id": session, "cwd": "/srv/kiln", **fields}}


def codex(minute: int, text: str, role: str = "user", **fields: Any) -> dict[str, Any]:
    content = [{"type": "input_text", "text": text}]
    payload = {"type": "message", "role": role, "content": content, **fields}
    stamp = f"2026-04-05T08:{minute:02}:00Z"
    return {"type": "response_item", "timestamp": stamp, "payload": payload}


def gemini(name: str, text: str) -> dict[str, Any]:
    return {"id": name, "type": "user", "content": [{"text": text}]}


def said(store: MemoryStore) -> list[tuple[str | None, str]]:
    """Return the conversation and the text of each message, in the order of time."""
    memories = reversed(store.browse(limit=100).memories)
    return [(memory.conversation_id, memory.text) for memory in memories]


def test_a_first_line_of_any_length_hides_no_client(store: MemoryStore, tmp_path: Path) -> None:
    image = {"type": "image", "source": {"data": "A" * 200_000}}
    text = {"type": "text", "text": "Read the dial"}
    write(tmp_path / "a.jsonl", claude("u1", 0, [text, image], session="s1"))
    assert store.exchange.import_from(tmp_path / "a.jsonl").format == "claude-code"
    rollout = write(tmp_path / "b.jsonl", meta("c1", base="x" * 200_000), codex(1, "Light it"))
    assert store.exchange.import_from(rollout).format == "codex"
    chat = {"messages": [gemini("m1", "y" * 200_000)], "sessionId": "g1", "projectHash": "h"}
    assert store.exchange.import_from(write(tmp_path / "c.json", chat)).format == "gemini-cli"
    assert len(said(store)) == 3


@pytest.mark.parametrize("together", [True, False])
def test_a_resumed_session_adds_what_is_new_in_it(
    store: MemoryStore, tmp_path: Path, together: bool
) -> None:
    texts = ["Which glaze is it?", "Mix it thinner", "Write that down"]
    lines = [[claude(f"u{n}", n, text, session=s) for n, text in enumerate(texts)] for s in "pr"]
    # The name of the later file sorts before that of the earlier one.
    paths = [write(tmp_path / "z.jsonl", *lines[0][:2]), write(tmp_path / "a.jsonl", *lines[1])]
    os.utime(paths[0], (1, 1))
    added = [store.exchange.import_from(path).added for path in ([tmp_path] if together else paths)]
    assert sum(added) == 3
    assert said(store) == list(zip("ppr", texts, strict=True))
    assert store.exchange.import_from(tmp_path).added == 0


@pytest.mark.parametrize("named", [True, False])
def test_a_fork_of_codex_loses_and_doubles_nothing(
    store: MemoryStore, tmp_path: Path, named: bool
) -> None:
    texts = ["Which pump?", "Go on", "Go on", "And the upper one?", "Good"]
    names = [{"id": f"msg{n}"} if named else {} for n in range(9)]
    old = [codex(n, text, **names[n]) for n, text in enumerate(texts)]
    new = [codex(20, "Does it leak?", **names[7]), codex(21, "Go on", **names[8])]
    write(tmp_path / "1.jsonl", meta("p"), *old)
    os.utime(tmp_path / "1.jsonl", (1, 1))
    write(tmp_path / "2.jsonl", meta("f", forked_from_id="p"), meta("p"), *old[:3], *new)
    assert store.exchange.import_from(tmp_path).added == 7
    assert said(store) == [*(("p", text) for text in texts), ("f", "Does it leak?"), ("f", "Go on")]


def test_an_earlier_line_that_goes_away_moves_no_message(
    store: MemoryStore, tmp_path: Path
) -> None:
    lines = [meta("c1"), codex(1, "One"), codex(2, "Two")]
    store.exchange.import_from(write(tmp_path / "a.jsonl", *lines))
    again = write(tmp_path / "a.jsonl", lines[0], lines[2], codex(3, "Three"))
    assert store.exchange.import_from(again).added == 1
    assert [text for _, text in said(store)] == ["One", "Two", "Three"]


def test_messages_without_a_time_or_a_name_are_all_kept(store: MemoryStore, tmp_path: Path) -> None:
    plain = [{key: codex(0, "Go on")["payload"][key] for key in ("type", "role", "content")}] * 2
    for session in "ab":
        head = {"id": session, "timestamp": "2025-05-01T08:00:00Z", "instructions": None}
        write(tmp_path / f"{session}.jsonl", head, *plain)
    assert store.exchange.import_from(tmp_path).added == 4
    assert store.exchange.import_from(tmp_path).added == 0


def test_a_chat_of_gemini_holds_what_was_set_and_not_what_was_taken_back(
    store: MemoryStore, tmp_path: Path
) -> None:
    path = write(
        tmp_path / "chat.jsonl",
        {"sessionId": "g1", "projectHash": "h"},
        gemini("m0", "<session_context>\nToday is Monday.\n</session_context>"),
        {"$set": {"messages": [gemini("m1", "Which fan?")]}},
        gemini("m2", "Delete it"),
        {**gemini("m3", "It is deleted"), "type": "gemini"},
        {"$rewindTo": "m2"},
        {"$rewindTo": "unknown"},
        gemini("m4", "Show it"),
    )
    store.exchange.import_from(path)
    assert [text for _, text in said(store)] == ["Which fan?", "Show it"]


def test_requests_of_codex_that_were_taken_back_are_left_out_with_what_followed(
    store: MemoryStore, tmp_path: Path
) -> None:
    back = {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 2}}
    texts = ["One", "Two", "Three"]
    lines = [codex(n, text) for n, text in enumerate(texts)]
    answer = codex(4, "Three is done", "assistant")
    path = write(tmp_path / "a.jsonl", meta("c1"), *lines, answer, back, codex(5, "Four"), back)
    store.exchange.import_from(path)
    assert said(store) == []
    lines = [meta("c2"), *lines, answer, back, codex(6, "Five")]
    store.exchange.import_from(write(tmp_path / "b.jsonl", *lines))
    assert [text for _, text in said(store)] == ["One", "Five"]


def test_what_a_client_added_is_no_message(store: MemoryStore, tmp_path: Path) -> None:
    opened = {"type": "text", "text": "<ide_opened_file>a.py is open</ide_opened_file>"}
    wanted = {"type": "text", "text": "Rename it"}
    synthetic = {"content": "No response requested.", "model": "<synthetic>"}
    write(
        tmp_path / "a.jsonl",
        claude("u1", 1, [opened, wanted], session="s1"),
        claude("u2", 2, [opened], session="s1"),
        claude("a1", 3, "", session="s1", type="assistant", message=synthetic),
    )
    store.exchange.import_from(tmp_path / "a.jsonl")
    turned = codex(4, "<turn_aborted>The person stopped it</turn_aborted>")
    store.exchange.import_from(write(tmp_path / "b.jsonl", meta("c1"), turned, codex(5, "Stop")))
    assert [text for _, text in said(store)] == ["Rename it", "Stop"]


def test_messages_that_an_earlier_version_stored_are_not_stored_again(
    store: MemoryStore, tmp_path: Path
) -> None:
    earlier = {"Ask": ["claude-code", "s1", "u1", 0], "Light it": ["codex", "c1", "line 2", 0]}
    for text, name in earlier.items():
        store.remember_many([Draft(id=import_id([*name]), text=text, kind="message")])
    ids = {memory.id for memory in store.browse().memories}
    store.forget(import_id([*earlier["Ask"]]), hard=True)
    paths = [
        write(tmp_path / "a.jsonl", claude("u1", 0, "Ask", session="s1")),
        write(tmp_path / "b.jsonl", meta("c1"), codex(1, "Light it")),
    ]
    assert [store.exchange.import_from(path).added for path in paths] == [0, 0]
    assert {memory.id for memory in store.browse().memories} < ids


def test_a_copy_of_what_was_erased_does_not_bring_it_back(
    store: MemoryStore, tmp_path: Path
) -> None:
    first = write(tmp_path / "a.jsonl", claude("u1", 0, "My name is Mara", session="s1"))
    store.exchange.import_from(first)
    store.forget(store.browse().memories[0].id, hard=True)
    copy = write(tmp_path / "b.jsonl", claude("u1", 0, "My name is Mara", session="s2"))
    assert store.exchange.import_from(copy).added == 0
    assert said(store) == []
