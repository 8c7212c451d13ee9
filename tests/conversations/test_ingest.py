"""What hooks have noted is taken in: once, whole, and where it belongs."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from transcript_lines import FIXTURE, SESSION, record, write_transcript

from infinite_memory import Config, MemoryStore, StorageUnavailable
from infinite_memory.core.files.locks import FileLock
from infinite_memory.features.sessions import session_messages as ingesting
from infinite_memory.features.sessions.diagnosis import diagnose_hooks
from infinite_memory.features.sessions.ingested import Ingested
from infinite_memory.features.sessions.spool import append_line
from infinite_memory.features.sessions.spool_reader import READER_LOCK
from infinite_memory.testing.embedders import HashingEmbedder

Open = Callable[..., MemoryStore]
RECORDED = Path(__file__).parent.parent / "projects" / "streams" / "recorded"
APOLLO = "repo/github.com/alice/apollo"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def open_home(home: Path) -> Iterator[Open]:
    opened = []

    def open_store(*, scopes: Any = None, **settings: Any) -> MemoryStore:
        config = Config(home=home, **settings)
        store = MemoryStore.open(home, config=config, embedder=HashingEmbedder(), scopes=scopes)
        opened.append(store)
        return store

    yield open_store
    for store in opened:
        store.close()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "apollo"
    (folder / ".git").mkdir(parents=True)
    config = '[remote "origin"]\n url = git@github.com:alice/apollo.git\n'
    (folder / ".git" / "config").write_text(config)
    return folder


def note(home: Path, transcript: Path | str, folder: Path | str = "", **fields: str) -> None:
    line = {"client": "claude-code", "event": "Stop", "session": SESSION, "at": "", **fields}
    append_line(home, {**line, "transcript": str(transcript), "folder": str(folder)})


def messages_of(store: MemoryStore, scope: str = "ALL") -> list[str]:
    page = store.browse(scope=scope, kinds=["message"], limit=1000)
    return [memory.text for memory in reversed(page.memories)]


def test_a_session_becomes_messages_with_speaker_time_and_conversation(
    open_home: Open, home: Path, project: Path
) -> None:
    note(home, FIXTURE, project)
    store = open_home()
    assert store.conversations.ingest_spool() == Ingested(messages=4, conversations=1)
    memories = store.browse(scope=APOLLO, kinds=["message"]).memories
    first = memories[-1]
    assert first.text == "What is my cat called?"
    assert (first.kind, first.speaker, first.origin) == ("message", "user", "user")
    assert (first.conversation_id, first.scope) == (SESSION, APOLLO)
    assert first.happened_at == datetime(2026, 11, 24, 22, 49, 47, 809000, UTC)
    assert first.context == {"client": "claude-code", "branch": "master"}
    assert [memory.speaker for memory in memories] == ["assistant", "user"] * 2
    assert store.scopes[APOLLO].parent == "Projects"
    assert store.search("what is the cat called", scope=APOLLO)[0].memory.conversation_id == SESSION


@pytest.mark.parametrize(("client", "product"), [("codex", "codex"), ("gemini", "gemini-cli")])
def test_the_sessions_of_every_client_become_messages_as_an_import_makes_them(
    open_home: Open, home: Path, client: str, product: str
) -> None:
    for path in sorted(RECORDED.glob(f"{client}-*.jsonl"))[:2]:
        note(home, path, client=client)
    store = open_home()
    ingested = store.conversations.ingest_spool()
    assert (ingested.conversations, ingested.failed, ingested.skipped) == (2, (), ())
    memories = store.browse(scope="ALL", kinds=["message"], limit=1000).memories
    assert len(memories) == ingested.messages > 4
    assert {memory.context["client"] for memory in memories} == {product}
    assert store.exchange.import_from(path).added == 0


def test_what_is_taken_in_is_a_change_of_the_client_and_no_undo_of_the_last_change_takes_it_back(
    open_home: Open, home: Path
) -> None:
    store = open_home()
    note(home, FIXTURE)
    mine = store.remember("Kiki eats fish.")
    store.conversations.ingest_spool()
    assert store.journal.entries()[0].action.actor.client == "claude-code"
    for last_of in ("process", "machine"):
        assert store.undo(last_of=last_of, dry_run=True).memories == (mine.id,)


def test_a_session_that_was_resumed_adds_only_what_is_new(
    open_home: Open, home: Path, tmp_path: Path
) -> None:
    lines = [record(str(n), f"message {n}") for n in range(3)]
    copies = [record(str(n), f"message {n}", sessionId="resumed") for n in range(4)]
    note(home, write_transcript(tmp_path / "s.jsonl", *lines))
    note(home, write_transcript(tmp_path / "t.jsonl", *copies))
    store = open_home()
    assert store.conversations.ingest_spool().messages == 4
    assert len(store.browse(conversation_id="resumed").memories) == 1


def test_taking_in_again_adds_nothing(open_home: Open, home: Path) -> None:
    store = open_home()
    for _ in range(2):
        note(home, FIXTURE)
        store.conversations.ingest_spool()
        note(home, FIXTURE)
        note(home, FIXTURE)
        assert store.conversations.ingest_spool() == Ingested()
    assert len(messages_of(store)) == 4


def test_a_session_that_goes_on_gives_only_what_is_new(
    open_home: Open, home: Path, tmp_path: Path
) -> None:
    path = write_transcript(tmp_path / "s.jsonl", record("1", "one"))
    store = open_home()
    note(home, path)
    assert store.conversations.ingest_spool().messages == 1
    write_transcript(path, record("1", "one"), record("2", "two"))
    note(home, path)
    assert store.conversations.ingest_spool().messages == 1
    # Another file of the same name is read from its start.
    path.unlink()
    write_transcript(tmp_path / "new", record("3", "three"), record("4", "four" * 50)).rename(path)
    note(home, path)
    assert store.conversations.ingest_spool().messages == 2
    assert len(messages_of(store)) == 4


def test_what_was_revised_forgotten_or_erased_stays_so(
    open_home: Open, home: Path, tmp_path: Path
) -> None:
    lines = [record(str(n), f"message {n}") for n in range(4)]
    path = write_transcript(tmp_path / "s.jsonl", *lines)
    store = open_home()
    note(home, path)
    store.conversations.ingest_spool()
    ids = [memory.id for memory in store.browse(limit=10).memories]
    store.forget(ids[0])
    store.forget(ids[1], hard=True)
    store.revise(ids[2], revision=1, text="corrected")
    note(home, path)
    assert store.conversations.ingest_spool() == Ingested()
    assert sorted(messages_of(store)) == ["corrected", "message 0"]


def test_a_transcript_that_is_gone_is_skipped_and_said(
    open_home: Open, home: Path, tmp_path: Path
) -> None:
    note(home, tmp_path / "gone.jsonl")
    note(home, FIXTURE)
    ingested = open_home().conversations.ingest_spool()
    assert ingested.messages == 4
    assert ingested.skipped == (f"{tmp_path / 'gone.jsonl'} does not exist any more",)
    assert open_home().conversations.ingest_spool() == Ingested()


@pytest.mark.parametrize("transcript", ["relative.jsonl", "/dev/null", "/"])
def test_what_is_no_transcript_is_skipped(open_home: Open, home: Path, transcript: str) -> None:
    note(home, transcript)
    (said,) = open_home().conversations.ingest_spool().skipped
    assert said.endswith("is no file with a full path")


def test_a_client_without_a_reader_is_skipped_and_said(open_home: Open, home: Path) -> None:
    note(home, FIXTURE, client="cursor")
    (said,) = open_home().conversations.ingest_spool().skipped
    assert said.endswith("transcripts of 'cursor' cannot be read")


def test_a_transcript_that_cannot_be_read_is_kept_said_by_the_doctor_and_tried_again(
    open_home: Open, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_transcript(tmp_path / "s.jsonl", record("1", "one"))

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    store = open_home()
    note(home, path)
    with monkeypatch.context() as patched:
        patched.setattr(ingesting, "read_session", refuse)
        assert store.conversations.ingest_spool().failed == (f"{path}: Permission denied",)
    (diagnosis,) = diagnose_hooks(home)
    assert f"such as {path} (Permission denied)" in diagnosis.sentence
    note(home, FIXTURE)
    assert store.conversations.ingest_spool().messages == 5
    (diagnosis,) = diagnose_hooks(home)
    assert diagnosis.sentence == "Everything that hooks have noted is taken in."


def test_a_reader_that_dies_leaves_everything_to_the_next_one(
    open_home: Open, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise StorageUnavailable("the server is away")

    store = open_home()
    note(home, FIXTURE)
    with monkeypatch.context() as patched:
        patched.setattr(ingesting, "remember_many", die)
        with pytest.raises(StorageUnavailable):
            store.conversations.ingest_spool()
    (diagnosis,) = diagnose_hooks(home)
    assert diagnosis.sentence.startswith("1 transcript waits")
    assert store.conversations.ingest_spool().messages == 4
    assert list((home / "spool").glob("*.jsonl")) == []


def test_a_stop_keeps_the_rest(
    open_home: Open, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingesting, "_BATCH", 2)
    lines = [record(str(n), f"message {n}") for n in range(7)]
    note(home, write_transcript(tmp_path / "s.jsonl", *lines))
    note(home, FIXTURE)
    store = open_home()
    asked = iter([False, True])
    first = store.conversations.ingest_spool(stop=lambda: next(asked, True))
    assert (first.messages, first.finished) == (2, False)
    rest = store.conversations.ingest_spool()
    assert (rest.messages, rest.conversations, rest.finished) == (9, 2, True)
    assert len(messages_of(store)) == 11


def test_one_reads_at_a_time(open_home: Open, home: Path) -> None:
    store = open_home()
    note(home, FIXTURE)
    lock = FileLock(home / "spool" / READER_LOCK)
    assert lock.try_acquire()
    assert store.conversations.ingest_spool() == Ingested()
    lock.release()
    results: list[Ingested] = []
    threads = [
        threading.Thread(target=lambda: results.append(store.conversations.ingest_spool()))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(result.messages for result in results) == 4


def test_a_store_that_is_confined_or_ends_with_the_process_takes_nothing_in(
    open_home: Open, home: Path
) -> None:
    note(home, FIXTURE)
    assert open_home(scopes=["work"]).conversations.ingest_spool() == Ingested()
    with MemoryStore.open("memory://", config=Config(home=home)) as passing:
        assert passing.conversations.ingest_spool() == Ingested()
    assert open_home().conversations.ingest_spool().messages == 4


def test_a_session_outside_of_a_repository_goes_to_the_default_scope(
    open_home: Open, home: Path, tmp_path: Path
) -> None:
    note(home, FIXTURE, tmp_path)
    store = open_home(default_scope="mine")
    store.conversations.ingest_spool()
    assert {memory.scope for memory in store.browse(scope="ALL").memories} == {"mine"}


def test_strict_scopes_are_not_added_to_and_an_inactive_one_takes_nothing(
    open_home: Open, home: Path, project: Path
) -> None:
    note(home, FIXTURE, project)
    store = open_home(strict_scopes=True)
    store.conversations.ingest_spool()
    assert {memory.scope for memory in store.browse(scope="ALL").memories} == {"Global"}
    store.scopes.create(APOLLO)
    store.scopes.update(APOLLO, active=False)
    note(home, FIXTURE, project)
    (said,) = store.conversations.ingest_spool().skipped
    assert said.endswith(f"the scope {APOLLO!r} is inactive")


def test_a_message_that_is_too_long_is_stored_in_parts_and_none_is_lost(
    open_home: Open, home: Path, tmp_path: Path
) -> None:
    said = "x" * 70
    path = write_transcript(tmp_path / "s.jsonl", record("1", said), record("2", "short"))
    note(home, path)
    store = open_home(limits={"max_text_bytes": 128})
    assert store.conversations.ingest_spool().messages == 4
    assert messages_of(store) == ["x" * 32, "x" * 32, "x" * 6, "short"]


def test_a_message_that_cannot_be_stored_does_not_keep_back_the_others(
    open_home: Open, home: Path, tmp_path: Path
) -> None:
    path = write_transcript(
        tmp_path / "s.jsonl",
        record("1", "one"),
        record("2", "a \ud800 surrogate"),
        record("3", "bad", gitBranch="b" * 100),
    )
    note(home, path)
    store = open_home(limits={"max_context_bytes": 64})
    assert store.conversations.ingest_spool().messages == 2
    assert messages_of(store) == ["one", "a ? surrogate"]


def test_a_line_that_a_full_disk_has_cut_does_not_spoil_the_next(
    open_home: Open, home: Path
) -> None:
    note(home, FIXTURE)
    with (home / "spool" / "spool.jsonl").open("a") as spool:
        spool.write(json.dumps({"client": "claude-code", "transcript": "/x"})[:-5])
    note(home, FIXTURE)
    assert open_home().conversations.ingest_spool() == Ingested(messages=4, conversations=1)
