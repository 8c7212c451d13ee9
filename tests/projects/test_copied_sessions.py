"""A client copies a session when it is resumed or forked: the work in it was done once."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from infinite_memory import MemoryStore
from infinite_memory.core.values.ids import import_id
from tests.projects.test_ingest_sessions import LOCAL, answer, call, edit, record

FIRST = record(1, "user", "Skip empty rows in the import please") + edit(2, "read.py", "a", "b")
FIRST += answer(3, "done", 2) + record(4, "assistant", "Empty rows are skipped.")
NEXT = record(5, "user", "and blank lines too") + edit(6, "read.py", "b", "c")
OTHER = record(7, "user", "Try it with tabs instead") + edit(8, "tabs.py", "a", "b")
OTHER += answer(9, "done", 8)


def write(path: Path, content: str, session: str, changed: int) -> Path:
    path.write_text(content.replace('"s1"', f'"{session}"'))
    os.utime(path, (changed, changed))
    return path


def texts(store: MemoryStore) -> list[str]:
    return [memory.text for memory in reversed(store.browse(scope="ALL").memories)]


@pytest.mark.parametrize("together", [True, False])
def test_a_resumed_session_gives_the_work_that_is_new_in_it(
    store: MemoryStore, tmp_path: Path, together: bool
) -> None:
    paths = [
        write(tmp_path / "z.jsonl", FIRST, "s1", 1),
        write(tmp_path / "a.jsonl", FIRST + OTHER, "s2", 2),
    ]
    for _ in range(2):
        store.projects.ingest_sessions(*([tmp_path] if together else paths))
        first, second = texts(store)
        assert ("empty rows" in first, "empty rows" in second) == (True, False)
    assert [chunk.minutes for chunk in store.projects.get_history(LOCAL).chunks] == [1.0, 3.0]


def test_two_branches_of_a_session_that_both_go_on_keep_their_work(
    store: MemoryStore, tmp_path: Path
) -> None:
    write(tmp_path / "a.jsonl", FIRST, "s1", 1)
    fork = write(tmp_path / "b.jsonl", FIRST + OTHER, "s2", 2)
    store.projects.ingest_sessions(tmp_path)
    write(tmp_path / "a.jsonl", FIRST + NEXT, "s1", 3)
    for path in (tmp_path, fork, tmp_path):
        report = store.projects.ingest_sessions(path)
        first, second = texts(store)
        assert "blank lines" in first
        assert second.startswith("Asked: Try it with tabs")
    assert report.count("unchanged") == 2


def test_a_fork_alone_is_a_session_like_any_other(store: MemoryStore, tmp_path: Path) -> None:
    report = store.projects.ingest_sessions(write(tmp_path / "b.jsonl", FIRST + OTHER, "s2", 2))
    assert sum(chunk.events for chunk in report.chunks) == 5
    assert "empty rows" in texts(store)[0]


def test_sessions_that_begin_alike_are_not_taken_for_copies(
    store: MemoryStore, tmp_path: Path
) -> None:
    hello = {"type": "message", "role": "user", "content": [{"text": "Go on"}]}
    for session in "ab":
        lines = [{"type": "session_meta", "payload": {"id": session, "cwd": "/srv/ada/apollo"}}]
        lines += [{"type": "response_item", "payload": hello}]
        path = tmp_path / f"{session}.jsonl"
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert store.projects.ingest_sessions(tmp_path).count("stored") == 2


def test_what_the_person_took_back_is_no_work(store: MemoryStore, tmp_path: Path) -> None:
    back = record(5, "user", "Rewrite all of it", parentUuid="u4")
    back += call(6, "Bash", command="rm -r src").replace('"uuid"', '"parentUuid": "u5", "uuid"')
    again = record(7, "user", "Only the reader", parentUuid="u4")
    store.projects.ingest_sessions(write(tmp_path / "a.jsonl", FIRST + back + again, "s1", 1))
    assert "rm -r" not in "".join(texts(store))
    assert "Rewrite" not in "".join(texts(store))


def test_a_piece_that_an_earlier_version_named_by_its_line_is_not_stored_again(
    store: MemoryStore, tmp_path: Path
) -> None:
    said = {"type": "message", "role": "user", "content": [{"text": "Light the kiln"}]}
    lines = [{"type": "session_meta", "payload": {"id": "c1", "cwd": "/srv/ada/apollo"}}]
    lines += [{"type": "response_item", "payload": said}]
    path = tmp_path / "rollout.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    earlier = import_id(["chunk", "codex", "c1", "2"])
    store.remember("Asked: Light the kiln", id=earlier, scope=LOCAL, kind="discussion")
    (chunk,) = store.projects.ingest_sessions(path).chunks
    assert (chunk.id, chunk.outcome) == (earlier, "kept")
    assert store.stats().memories == 1


def test_a_piece_that_an_earlier_version_began_elsewhere_gives_way_to_the_present_one(
    store: MemoryStore, tmp_path: Path
) -> None:
    path = write(tmp_path / "a.jsonl", FIRST, "s1", 1)
    (chunk,) = store.projects.ingest_sessions(path).chunks
    earlier, stored = "import:an-earlier-begin", store.get(chunk.id)
    store.remember(
        stored.text,
        id=earlier,
        scope=LOCAL,
        kind=stored.kind,
        happened_at=stored.happened_at,
        title=stored.title,
        context=stored.context,
        origin="tool",
    )
    store.projects.ingest_sessions(path)
    assert (store.get(earlier).status, store.get(chunk.id).status) == ("forgotten", "current")


def test_a_fork_from_the_middle_of_a_piece_is_known_by_the_log(
    store: MemoryStore, tmp_path: Path
) -> None:
    for name, content in (("s1", FIRST + NEXT), ("s2", FIRST + OTHER)):
        path = write(tmp_path / f"{name}.jsonl", content, name, 1)
        store.exchange.import_from(path)
        store.projects.ingest_sessions(path)
    chunks = store.projects.get_history(LOCAL).chunks
    assert [(chunk.session, chunk.minutes) for chunk in chunks] == [("s2", 1.0), ("s1", 5.0)]


def test_a_copy_of_forgotten_work_does_not_bring_it_back(
    store: MemoryStore, tmp_path: Path
) -> None:
    (chunk,) = store.projects.ingest_sessions(write(tmp_path / "a.jsonl", FIRST, "s1", 1)).chunks
    store.forget(chunk.id)
    store.projects.ingest_sessions(write(tmp_path / "b.jsonl", FIRST + OTHER, "s2", 2))
    (text,) = texts(store)
    assert "empty rows" not in text
