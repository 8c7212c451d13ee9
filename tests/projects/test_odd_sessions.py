"""Session files that are damaged, hostile or very long: each is taken in as far as it goes."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from infinite_memory import EmbedderError, MemoryStore, NotFound
from infinite_memory.core.config import Chunking, Config
from infinite_memory.features.projects.chunking.cutting import cut_session
from infinite_memory.features.projects.chunking.describing import describe_piece
from infinite_memory.features.sessions.events.event import Event, EventKind
from infinite_memory.features.sessions.events.reading import SessionFile, read_session
from infinite_memory.testing.embedders import HashingEmbedder
from tests.harness.costs import count_calls
from tests.projects.test_ingest_sessions import answer, call, edit, record

REQUEST = "Skip empty rows in the import please"


@pytest.mark.parametrize(
    "fields",
    [
        {"sessionId": "s" * 300},
        {"sessionId": "s\0"},
        {"sessionId": "s\n"},
        {"gitBranch": "b\0"},
        {"uuid": "u\0"},
        {"uuid": "\ud800"},
        {"timestamp": "0001-01-01T00:00:00Z"},
        {"timestamp": "9999-12-31T23:59:59.999999Z"},
        {"timestamp": "yesterday"},
    ],
)
def test_a_field_that_cannot_be_stored_as_it_is_loses_no_work(
    store: MemoryStore, tmp_path: Path, fields: dict[str, Any]
) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_text(record(1, "user", REQUEST, **fields))
    for outcome in ("stored", "unchanged"):
        (chunk,) = store.projects.ingest_sessions(path).chunks
        assert chunk.outcome == outcome
    assert store.projects.get_history(chunk.scope).chunks[0].summary == REQUEST
    assert len(store.projects.search_similar_problems(REQUEST)) == 0
    assert store.projects.identify_patterns(chunk.scope).chunks == 1


@pytest.mark.parametrize("file", ["a\nb/read.py", "a" * 2000 + ".py", "folder/" * 40 + "read.py"])
def test_a_path_that_cannot_be_stored_is_left_out(
    store: MemoryStore, tmp_path: Path, file: str
) -> None:
    path = tmp_path / "s1.jsonl"
    work = edit(2, file, "a", "b") + edit(3, "src/read.py", "a", "b")
    path.write_text(record(1, "user", REQUEST) + work + answer(4, "", 2) + answer(5, "", 3))
    (chunk,) = store.projects.ingest_sessions(path).chunks
    assert "src/read.py" in store.get(chunk.id).context["files"]


def test_deep_arguments_of_a_tool_are_cut(store: MemoryStore, tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    deep = call(2, "Tool", value=1).replace('"value": 1', f'"value": {"[" * 900}{"]" * 900}')
    path.write_text(record(1, "user", REQUEST) + deep)
    (chunk,) = store.projects.ingest_sessions(path).chunks
    assert (chunk.outcome, chunk.events) == ("stored", 2)


def test_a_relative_folder_is_not_taken_for_one_of_the_process(
    store: MemoryStore, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = checkout / "s1.jsonl"
    path.write_text(record(1, "user", REQUEST, cwd="ada/hermes"))
    monkeypatch.chdir(checkout)
    (chunk,) = store.projects.ingest_sessions(path).chunks
    assert chunk.scope == "repo/local/ada/hermes"


def test_a_chunk_whose_last_call_was_answered_later_is_brought_up_to_date_again(
    store: MemoryStore, tmp_path: Path
) -> None:
    path = tmp_path / "s1.jsonl"
    parts = [
        record(1, "user", REQUEST) + edit(2, "read.py", "a", "b") + answer(3, "", 2),
        call(4, "Bash", command="pytest"),
        answer(5, "1 failed", 4, is_error=True),
        call(6, "Bash", command="pytest -x"),
    ]
    outcomes = []
    for end in range(1, len(parts) + 1):
        path.write_text("".join(parts[:end]))
        outcomes += [chunk.outcome for chunk in store.projects.ingest_sessions(path).chunks]
    assert outcomes == ["stored", "revised", "revised", "revised"]


def test_an_older_copy_of_a_session_takes_nothing_back(store: MemoryStore, tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    first = record(1, "user", REQUEST) + edit(2, "read.py", "a", "b") + answer(3, "", 2)
    later = record(4, "assistant", "Empty rows are skipped now.")
    path.write_text(first + later)
    (chunk,) = store.projects.ingest_sessions(path).chunks
    stored = store.get(chunk.id)
    for content in (first, first[: len(first) // 2], first):
        path.write_text(content)
        (again,) = store.projects.ingest_sessions(path).chunks
        assert (again.outcome, store.get(chunk.id)) == ("unchanged", stored)
    path.write_text(first + later + record(5, "assistant", "The tests pass."))
    assert store.projects.ingest_sessions(path).count("revised") == 1


@pytest.mark.parametrize("path", ["nowhere", "~nobody-at-all/x", "x" * 5000, "a\0b"])
def test_a_path_that_stands_for_nothing_is_refused(store: MemoryStore, path: str) -> None:
    with pytest.raises(NotFound, match="there is nothing at"):
        store.projects.ingest_sessions(path)


def test_a_piece_that_cannot_be_stored_now_keeps_what_was_stored_of_it(tmp_path: Path) -> None:
    path, home = tmp_path / "s1.jsonl", str(tmp_path / "memory.db")
    first = record(1, "user", REQUEST) + edit(2, "read.py", "a", "b") + answer(3, "", 2)
    second = record(50, "user", "Now write the docs of it") + edit(51, "guide.md", "a", "b")
    path.write_text(first + second)
    with MemoryStore.open(home, embedder=HashingEmbedder()) as store:
        one, two = store.projects.ingest_sessions(path).chunks
    path.write_text(first + second + record(52, "assistant", "The docs say it. " * 100))
    config = Config.model_validate({"limits": {"max_text_bytes": 600}})
    with MemoryStore.open(home, config=config, embedder=HashingEmbedder()) as store:
        report = store.projects.ingest_sessions(path)
        assert ([chunk.id for chunk in report.chunks], len(report.skipped)) == ([one.id], 1)
        assert store.get(two.id).status == "current"


@pytest.mark.thorough
@pytest.mark.parametrize("speaker", ["user", "assistant"])
def test_cutting_a_session_costs_as_much_for_each_event_of_a_long_one(speaker: str) -> None:
    noon = datetime(2026, 3, 4, 12, tzinfo=UTC)
    kinds = (EventKind.MESSAGE, EventKind.EDIT, EventKind.TOOL, EventKind.TODO)
    events = [
        Event(
            kind=kinds[number % 4],
            at=noon + timedelta(seconds=number),
            position=number,
            folder="/srv/ada/apollo",
            files=("read.py",) if number % 4 == 1 else (),
            speaker=speaker if number % 4 == 0 else "",
            text="go on",
        )
        for number in range(8_000)
    ]

    def cut(session: list[Event]) -> None:
        pieces = cut_session(session, Chunking())
        for piece in pieces:
            describe_piece(piece, session)
        assert sum(len(piece.piece.events) for piece in pieces) == len(session)

    half = count_calls(lambda: cut(events[:4_000]))
    assert count_calls(lambda: cut(events)) < 2.2 * half


def test_white_space_in_outputs_and_commands_takes_no_long_time(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    commands = ["x" + "\n" * 19_000 + "y", "git checkout " * 1500]
    calls = [call(n, "Bash", command=text) + answer(n, "", n) for n, text in enumerate(commands, 2)]
    path.write_text(record(1, "user", "x" + ".\n" * 40_000) + "".join(calls))
    start = time.perf_counter()
    events = read_session(SessionFile(path=path, client="claude-code"))
    for piece in cut_session(events, Chunking()):
        describe_piece(piece)
    assert time.perf_counter() - start < 5


def test_without_a_working_model_a_session_is_taken_in_all_the_same(tmp_path: Path) -> None:
    class Broken(HashingEmbedder):
        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            raise EmbedderError(f"{len(texts)} texts cannot be embedded")

    path = tmp_path / "s1.jsonl"
    path.write_text(record(1, "user", REQUEST))
    with MemoryStore.open("memory://", embedder=Broken()) as store:
        (chunk,) = store.projects.ingest_sessions(path).chunks
        assert chunk.outcome == "stored"


def test_pipes_folders_and_loops_with_the_name_of_a_session_are_passed_over(
    store: MemoryStore, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "loop.jsonl").symlink_to(tmp_path / "loop.jsonl")
    (tmp_path / "around").symlink_to(tmp_path)
    (tmp_path / "s1.jsonl").write_text(record(1, "user", REQUEST))
    report = store.projects.ingest_sessions(tmp_path)
    assert (report.files, report.skipped) == (1, ())
