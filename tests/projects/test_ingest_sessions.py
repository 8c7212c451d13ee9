from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from infinite_memory import MemoryStore, NotFound
from infinite_memory.core.config import Config
from infinite_memory.features.projects.watching import SessionWatch
from infinite_memory.features.sessions.events.event import EventKind
from infinite_memory.features.sessions.events.reading import find_session_files, read_session
from infinite_memory.testing.embedders import HashingEmbedder
from tests.harness.streams import FOLDER

RECORDED = FOLDER / "recorded"
LOCAL = "repo/local/ada/apollo"


def record(number: int, kind: str, content: Any, **fields: Any) -> str:
    values = {
        "type": kind,
        "uuid": f"u{number}",
        "sessionId": "s1",
        "cwd": "/srv/ada/apollo",
        "gitBranch": "main",
        "timestamp": f"2026-03-04T09:{number:02}:00Z",
        "message": {"role": kind, "content": content},
        **fields,
    }
    return json.dumps(values) + "\n"


def call(number: int, tool: str, **arguments: Any) -> str:
    block = {"type": "tool_use", "id": f"c{number}", "name": tool, "input": arguments}
    return record(number, "assistant", [block])


def edit(number: int, file: str, before: str, after: str) -> str:
    path = f"/srv/ada/apollo/{file}"
    return call(number, "Edit", file_path=path, old_string=before, new_string=after)


def answer(number: int, text: str, of: int, *, is_error: bool = False) -> str:
    block = {"type": "tool_result", "tool_use_id": f"c{of}", "content": text, "is_error": is_error}
    return record(number, "user", [block])


@pytest.fixture
def session(tmp_path: Path) -> Path:
    path = tmp_path / "s1.jsonl"
    path.write_text(
        record(1, "user", "Skip empty rows in the import please")
        + edit(2, "read.py", "a", "b")
        + answer(3, "done", 2)
        + call(4, "Bash", command="pytest")
        + answer(5, "2 passed", 4)
        + record(6, "assistant", [{"type": "text", "text": "Empty rows are skipped."}])
    )
    return path


def test_every_recorded_session_of_the_three_clients_is_read(store: MemoryStore) -> None:
    files = find_session_files(RECORDED)
    assert {file.client for file in files} == {"claude-code", "codex", "gemini"}
    for file in files:
        events = read_session(file)
        assert any(event.is_request for event in events), file.path
        assert any(event.kind is not EventKind.MESSAGE for event in events), file.path
        assert len({event.name for event in events}) == len(events), file.path
        assert {event.session for event in events} != {""}
    report = store.projects.ingest_sessions(RECORDED)
    assert report.files == len(files)
    assert report.count("stored") == len(report.chunks) >= len(files)


def test_a_second_reading_stores_nothing(store: MemoryStore, session: Path) -> None:
    first = store.projects.ingest_sessions(session)
    again = store.projects.ingest_sessions(session.parent)
    assert [chunk.outcome for chunk in first.chunks] == ["stored"]
    assert [chunk.outcome for chunk in again.chunks] == ["unchanged"]
    assert store.stats().memories == 1


def test_a_dry_run_reports_the_same_and_stores_nothing(store: MemoryStore, session: Path) -> None:
    report = store.projects.ingest_sessions(session, dry_run=True)
    assert [(chunk.outcome, chunk.kind) for chunk in report.chunks] == [("new", "code_change")]
    assert store.stats().memories == 0
    assert [scope.name for scope in store.scopes] == ["Global"]


def test_a_chunk_is_revised_when_its_session_goes_on(store: MemoryStore, session: Path) -> None:
    (chunk,) = store.projects.ingest_sessions(session).chunks
    with session.open("a") as file:
        file.write(record(7, "user", "and blank lines too"))
        file.write(edit(8, "read.py", "b", "c"))
        file.write(answer(9, "done", 8))
    (revised,) = store.projects.ingest_sessions(session).chunks
    assert (revised.id, revised.outcome) == (chunk.id, "revised")
    memory = store.get(chunk.id)
    assert memory.revision == 2
    assert "blank lines" in memory.text


def test_what_a_person_changed_or_forgot_stays(store: MemoryStore, session: Path) -> None:
    (chunk,) = store.projects.ingest_sessions(session).chunks
    store.revise(chunk.id, revision=1, text="My own words")
    with session.open("a") as file:
        file.write(record(7, "user", "and blank lines too"))
    assert [c.outcome for c in store.projects.ingest_sessions(session).chunks] == ["kept"]
    assert store.get(chunk.id).text == "My own words"
    store.forget(chunk.id)
    assert [c.outcome for c in store.projects.ingest_sessions(session).chunks] == ["kept"]
    store.forget(chunk.id, hard=True)
    assert [c.outcome for c in store.projects.ingest_sessions(session).chunks] == ["kept"]
    assert store.stats().memories == 0


def test_a_chunk_whose_events_join_an_earlier_piece_is_forgotten(
    store: MemoryStore, session: Path
) -> None:
    with session.open("a") as file:
        file.write(record(8, "user", "Write the guide"))
        file.write(call(9, "Write", file_path="/srv/ada/apollo/guide.md", content="x"))
        file.write(answer(10, "done", 9))
    first = store.projects.ingest_sessions(session)
    assert len(first.chunks) == 2
    with session.open("a") as file:
        file.write(edit(11, "read.py", "b", "c"))
        file.write(answer(12, "done", 11))
    (chunk,) = store.projects.ingest_sessions(session).chunks
    assert (chunk.id, chunk.outcome) == (first.chunks[0].id, "revised")
    assert store.get(first.chunks[1].id).status == "forgotten"


def test_a_chunk_knows_its_work(store: MemoryStore, session: Path) -> None:
    store.projects.ingest_sessions(session)
    (chunk,) = store.projects.get_history(LOCAL, limit=5).chunks
    assert chunk.scope == LOCAL
    assert (chunk.kind, chunk.outcome, chunk.difficulty) == ("code_change", "success", "simple")
    assert (chunk.files, chunk.branch, chunk.session) == (("read.py",), "main", "s1")
    assert chunk.parts == {"before": "a", "after": "b"}
    assert chunk.minutes == 5.0


def test_excluded_files_and_their_contents_are_not_stored(
    store: MemoryStore, tmp_path: Path
) -> None:
    path = tmp_path / "s2.jsonl"
    path.write_text(
        record(1, "user", "Set the key in deploy/prod.env")
        + call(2, "Read", file_path="/srv/ada/apollo/deploy/prod.env")
        + answer(3, "TOKEN=hunter2", 2)
        + call(
            4,
            "Edit",
            file_path="/srv/ada/apollo/deploy/prod.env",
            old_string="TOKEN=hunter2",
            new_string="TOKEN=3",
        )
        + answer(5, "done", 4)
        + call(6, "Bash", command="cat deploy/prod.env")
        + answer(7, "TOKEN=hunter2", 6, is_error=True)
    )
    (chunk,) = store.projects.ingest_sessions(path).chunks
    stored = repr(store.get(chunk.id))
    assert "hunter2" not in stored
    assert "prod.env" not in stored


def test_a_repository_that_is_not_enabled_is_left_out(session: Path) -> None:
    rules = {"projects": {"repositories": {"local/ada/apollo": {"enabled": False}}}}
    config = Config.model_validate(rules)
    with MemoryStore.open("memory://", config=config, embedder=HashingEmbedder()) as store:
        report = store.projects.ingest_sessions(session)
        assert (report.chunks, report.skipped) == ((), (f"{LOCAL} is not enabled",))
        assert store.stats().memories == 0


def test_a_path_without_anything_is_refused(store: MemoryStore, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="nothing at"):
        store.projects.ingest_sessions(tmp_path / "gone")


def test_files_that_are_no_sessions_are_passed_over(store: MemoryStore, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "a memory"}\nno JSON\n')
    (tmp_path / "b.json").write_text("[1]")
    (tmp_path / "c.jsonl").write_bytes(b"\xff\xfe\0")
    assert store.projects.ingest_sessions(tmp_path).files == 0


def test_a_damaged_line_hides_no_other(store: MemoryStore, session: Path) -> None:
    lines = session.read_text().splitlines(keepends=True)
    session.write_text("".join([*lines[:2], "{broken\n", '{"type": "user"}\n', *lines[2:]]))
    (chunk,) = store.projects.ingest_sessions(session).chunks
    assert chunk.events == 4


def test_the_watch_gives_what_was_written_to(session: Path) -> None:
    watch = SessionWatch([session.parent])
    assert watch.changed() == [session]
    assert watch.changed() == []
    with session.open("a") as file:
        file.write(record(7, "user", "go on"))
    assert watch.changed() == [session]
    watch.forget(session)
    assert watch.changed() == [session]
    session.unlink()
    assert watch.changed() == []


def test_a_session_that_names_no_folder_is_left_out(store: MemoryStore, tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    messages = [{"id": "m1", "type": "user", "content": "Fix it"}]
    path.write_text(json.dumps({"sessionId": "g1", "projectHash": "h", "messages": messages}))
    report = store.projects.ingest_sessions(path)
    assert (report.files, report.chunks) == (1, ())
    assert report.skipped == ("the session g1 names no folder",)


def test_the_file_of_a_subagent_is_left_out(store: MemoryStore, tmp_path: Path) -> None:
    source = {"subagent": {"thread_spawn": {"parent_thread_id": "c0"}}}
    meta = {"id": "c1", "cwd": "/srv/ada/apollo", "source": source}
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go"}]}
    lines = [{"type": "session_meta", "payload": meta}, {"type": "response_item", "payload": said}]
    path = tmp_path / "rollout.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert store.projects.ingest_sessions(path).chunks == ()
