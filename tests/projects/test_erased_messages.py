"""What was erased of a conversation does not stay in the pieces of work that quote it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from infinite_memory import Config, MemoryStore
from infinite_memory.features.sessions.spool import append_line
from infinite_memory.testing.embedders import HashingEmbedder
from tests.harness.streams import FOLDER

SECRET = "The customer of the import is called Nordlys, please skip empty rows"


def record(number: int, speaker: str, text: str, folder: Path) -> str:
    fields = {
        "type": speaker,
        "uuid": f"u{number}",
        "sessionId": "s1",
        "cwd": str(folder),
        "timestamp": f"2026-03-04T09:{number:02}:00Z",
        "message": {"role": speaker, "content": text},
    }
    return json.dumps(fields) + "\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "ada" / "apollo"
    folder.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


@pytest.fixture
def session(tmp_path: Path, checkout: Path) -> Path:
    path = tmp_path / "s1.jsonl"
    path.write_text(
        record(1, "user", SECRET, checkout)
        + record(2, "assistant", "Empty rows are skipped.", checkout)
    )
    return path


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    home = tmp_path / "home"
    with MemoryStore.open(config=Config(home=home), embedder=HashingEmbedder()) as opened:
        yield opened


def note(store: MemoryStore, session: Path, checkout: Path) -> None:
    """Take the session in as a hook does that has noted it."""
    values = {"client": "claude-code", "transcript": str(session), "folder": str(checkout)}
    append_line(store.config.home, values)
    ingested = store.conversations.ingest_spool()
    assert not ingested.failed


def stored(store: MemoryStore) -> dict[str, str]:
    """Return the texts of all messages and pieces of work by kind."""
    memories = store.browse(scope="ALL", limit=50).memories
    return {f"{memory.kind} {memory.speaker or ''}".strip(): memory.text for memory in memories}


def test_a_piece_of_work_names_the_messages_that_it_quotes(
    store: MemoryStore, session: Path, checkout: Path
) -> None:
    note(store, session, checkout)
    memories = store.browse(scope="ALL", limit=50).memories
    messages = {memory.id for memory in memories if memory.kind == "message"}
    (work,) = [memory for memory in memories if memory.kind not in ("message", "fact")]
    assert set(work.sources) == messages
    assert len(messages) == 2


def test_a_hard_forget_of_a_message_erases_the_work_that_quotes_it(
    store: MemoryStore, session: Path, checkout: Path
) -> None:
    note(store, session, checkout)
    memories = store.browse(scope="ALL").memories
    (message,) = [m for m in memories if m.text == SECRET and m.kind == "message"]
    (work,) = [m for m in memories if m.kind not in ("message", "fact")]
    receipt = store.forget(message.id, hard=True)
    assert f"piece of work {work.id}, which quoted it" in receipt.erased
    assert stored(store) == {"message assistant": "Empty rows are skipped."}
    with session.open("a") as file:
        file.write(record(3, "user", "Thanks, and the docs?", checkout))
    note(store, session, checkout)
    assert "Nordlys" not in repr(stored(store))
    assert store.verify().sound


@pytest.mark.parametrize("hard", [False, True])
def test_work_that_is_cut_later_does_not_bring_back_what_was_forgotten(
    store: MemoryStore, session: Path, checkout: Path, hard: bool
) -> None:
    note(store, session, checkout)
    for memory in store.browse(scope="ALL").memories:
        if memory.kind != "message" or memory.text == SECRET:
            store.forget(memory.id, hard=hard)
    with session.open("a") as file:
        file.write(record(59, "user", "Now write the guide please", checkout))
    store.projects.ingest_sessions(session)
    assert "Nordlys" not in repr(store.browse(scope="ALL", limit=50).memories)


@pytest.mark.parametrize(
    "name", ["claude-slow-import", "codex-retry-count", "gemini-config-interval"]
)
def test_the_messages_of_an_import_are_known_as_sources_too(store: MemoryStore, name: str) -> None:
    path = FOLDER / "recorded" / f"{name}.jsonl"
    store.exchange.import_from(path)
    report = store.projects.ingest_sessions(path)
    works = [store.get(chunk.id) for chunk in report.chunks]
    assert all(work.sources for work in works)
    message = next(
        memory
        for memory in map(store.get, works[0].sources)
        if memory.speaker == "user" and memory.text[:40] in works[0].text
    )
    store.forget(message.id, hard=True)
    left = store.browse(scope="ALL", limit=100).memories
    assert works[0].id not in [memory.id for memory in left]
    again = store.projects.ingest_sessions(path)
    assert again.chunks[0].outcome == "kept"


def test_what_an_assistant_stored_with_sources_is_no_copy(store: MemoryStore) -> None:
    source = store.remember("The import skips empty rows")
    decision = store.remember("Skip empty rows", kind="decision", sources=[source.id])
    store.forget(source.id, hard=True)
    assert store.get(decision.id).text == "Skip empty rows"


def test_one_undo_takes_back_the_work_of_a_session_too(
    store: MemoryStore, session: Path, checkout: Path
) -> None:
    note(store, session, checkout)
    own = store.remember("We read with csv.", kind="decision", conversation_id="s1")
    done = store.conversations.undo("s1")
    kinds = sorted(store.get(memory_id).kind for memory_id in done.memories)
    assert kinds == ["discussion", "fact", "message", "message"]
    assert stored(store) == {"decision": store.get(own.id).text}
    with session.open("a") as file:
        file.write(record(59, "user", "Now write the guide please", checkout))
    note(store, session, checkout)
    assert "Nordlys" not in repr(stored(store))
