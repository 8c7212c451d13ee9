"""Sessions that were here before: words at once, pieces of work later, nothing twice."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from transcript_lines import record, write_transcript

from infinite_memory import Config, MemoryStore
from infinite_memory.features.background.upkeep.jobs import pieces
from infinite_memory.features.sessions.existing import note_sessions
from infinite_memory.features.sessions.taken_sessions import TakenSessions
from infinite_memory.testing.embedders import HashingEmbedder
from tests.harness.costs import collect_statements, find_excess, measure

Open = Callable[..., MemoryStore]


@pytest.fixture
def open_home(tmp_path: Path) -> Iterator[Open]:
    opened = []

    def open_store(home: Path = tmp_path / "home", **settings: Any) -> MemoryStore:
        config = Config(home=home, **settings)
        opened.append(MemoryStore.open(home, config=config, embedder=HashingEmbedder()))
        return opened[-1]

    yield open_store
    for store in opened:
        store.close()


def write_sessions(folder: Path, number: int) -> list[Path]:
    """Write sessions of four messages, all of a repository, of which every third is a fork."""
    (folder / "pond" / ".git").mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    for n in range(number):
        lines = [
            record(
                f"{n}-{place}",
                f"Step {place} of filter {n} is done." if place % 2 else f"Clean filter {n} now",
                kind="assistant" if place % 2 else "user",
                sessionId=f"s{n}",
                cwd=str(folder / "pond"),
                timestamp=f"2026-05-{n % 28 + 1:02}T{n // 28 % 24:02}:{15 * place:02}:00.000Z",
            )
            for place in range(4)
        ]
        if n % 3 == 2:
            earlier = (json.loads(line) for line in files[-1].read_bytes().splitlines())
            copied = [json.dumps({**each, "sessionId": f"s{n}"}).encode() for each in earlier]
            lines = [*(line + b"\n" for line in copied), *lines]
        files.append(write_transcript(folder / f"s{n}.jsonl", *lines))
    return files


def take_in(store: MemoryStore, files: list[Path]) -> tuple[int, int]:
    """Take in the words of new sessions; return their number, and that of their messages."""
    new = store.conversations.find_new_sessions(files)
    note_sessions(store.config.home, "claude-code", new)
    return len(new), store.conversations.ingest_spool(pieces=False).messages


def cut(store: MemoryStore) -> list[str]:
    """Cut what waits, and return what is said of it."""
    (job,) = store.upkeep.optimize(jobs=["pieces"]).jobs
    assert job.failure is None
    return list(job.done)


def list_all(store: MemoryStore) -> set[tuple[str, str, str]]:
    memories = store.browse(scope="ALL", limit=1000).memories
    return {(memory.id, str(memory.kind), memory.text) for memory in memories}


def test_words_now_and_pieces_later_leave_what_both_at_once_leave(
    open_home: Open, tmp_path: Path
) -> None:
    files = write_sessions(tmp_path, 9)
    store, other = open_home(), open_home(tmp_path / "other")
    # Of the fork, what it copies is there once.
    assert take_in(store, files) == (9, 36)
    assert store.search("clean filter 3")[0].memory.text.startswith("Clean filter 3")
    note_sessions(other.config.home, "claude-code", files)
    other.conversations.ingest_spool()
    words = list_all(store)
    assert words < list_all(other)
    assert cut(store) == ["Cut 9 sessions into pieces of work."]
    assert list_all(store) == list_all(other)
    assert cut(open_home()) == []
    assert take_in(store, files) == (0, 0)


def test_outside_of_a_repository_there_are_no_pieces_then_or_later(
    open_home: Open, tmp_path: Path
) -> None:
    files = write_sessions(tmp_path, 2)
    (tmp_path / "pond" / ".git").rmdir()
    store, other = open_home(), open_home(tmp_path / "other")
    take_in(store, files)
    cut(store)
    note_sessions(other.config.home, "claude-code", files)
    other.conversations.ingest_spool()
    for each in (store, other):
        memories = each.browse(scope="ALL", limit=100).memories
        assert {(memory.kind, memory.scope) for memory in memories} == {("message", "Global")}


def test_pieces_that_were_left_are_cut_by_the_next_worker(
    open_home: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "_MOST", 4)
    files = write_sessions(tmp_path, 9)
    store = open_home()
    take_in(store, files)
    plan = store.upkeep.optimize(dry_run=True, jobs=["pieces"]).jobs[0]
    assert (plan.done, plan.more) == (("Cut 9 sessions into pieces of work.",), True)
    assert cut(store) == ["Cut 4 sessions into pieces of work."]
    store.close()
    # What a full disk has cut off costs itself alone.
    (taken,) = (tmp_path / "home" / "spool").glob("taken-*.jsonl")
    with taken.open("ab") as file:
        file.write(b'{"transcript": "/x", "sta')
    for said in ("Cut 4 sessions into", "Cut 1 session into"):
        store = open_home()
        assert cut(store)[0].startswith(said)
        store.close()
    store = open_home()
    assert cut(store) == []
    assert len({memory.context["session"] for memory in list_chunks(store)}) == 9


def list_chunks(store: MemoryStore) -> list[Any]:
    memories = store.browse(scope="ALL", limit=1000).memories
    return [memory for memory in memories if memory.kind not in ("message", "fact")]


def test_a_session_is_read_again_when_it_its_store_or_what_is_wanted_changed(
    open_home: Open, tmp_path: Path
) -> None:
    files = write_sessions(tmp_path, 3)
    store = open_home()
    assert take_in(store, files) == (3, 12)
    store.close()
    shutil.copytree(tmp_path / "home", tmp_path / "earlier")
    store = open_home()
    with files[1].open("ab") as file:
        file.write(record("more", "Is the pond clear?", sessionId="s1", cwd=str(tmp_path / "pond")))
    assert take_in(store, files) == (1, 1)
    for memory in store.browse(scope="ALL", kinds=["message"], limit=1000).memories:
        store.forget(memory.id, hard=memory.text.startswith("Clean"))
    assert take_in(store, files) == (0, 0)
    os.utime(files[0])
    assert take_in(store, files) == (1, 0)
    store.close()
    # What says that the sessions were taken in outlives the store that holds them.
    for name in ("memory.db", "memory.db-wal", "memory.db-shm"):
        (tmp_path / "home" / name).unlink(missing_ok=True)
        if (tmp_path / "earlier" / name).exists():
            shutil.copy(tmp_path / "earlier" / name, tmp_path / "home" / name)
    store = open_home()
    assert take_in(store, files) == (1, 1)
    store.close()
    assert take_in(open_home(projects={"exclude": ["*.wet"]}), files) == (3, 0)


def test_a_session_that_is_gone_or_cannot_be_read_holds_up_no_other(
    open_home: Open, tmp_path: Path
) -> None:
    files = write_sessions(tmp_path, 6)
    store = open_home()
    take_in(store, files)
    files[0].unlink()
    files[1].write_bytes(b"\x00\xff not a session")
    assert cut(store) == ["Cut 6 sessions into pieces of work."]
    assert {memory.context["session"] for memory in list_chunks(store)} >= {"s3", "s4", "s5"}
    assert cut(store) == []


def test_an_import_that_was_stopped_goes_on(open_home: Open, tmp_path: Path) -> None:
    files, asked = write_sessions(tmp_path, 6), count()
    store = open_home()
    note_sessions(store.config.home, "claude-code", files)
    stopped = store.conversations.ingest_spool(stop=lambda: next(asked) > 2, pieces=False)
    assert not stopped.finished
    new, messages = take_in(store, files)
    assert new == 3
    assert stopped.messages + messages == 24
    assert cut(store) == ["Cut 6 sessions into pieces of work."]


@pytest.mark.thorough
@pytest.mark.parametrize("again", [False, True])
def test_twice_as_many_sessions_cost_twice_as_much(
    open_home: Open, tmp_path: Path, *, again: bool
) -> None:
    """Of the words, and then of the pieces of work; and of a second import, which adds nothing."""
    costs: list[list[Any]] = [[], []]
    with collect_statements() as statements:
        for place, size in enumerate((1, 1, 20, 40)):
            files = write_sessions(tmp_path / f"{place}", size)
            store = open_home(tmp_path / f"{place}" / "home")
            store.search("warm")
            take_in(store, files) if again else None
            words = measure(lambda: take_in(store, files), statements)  # noqa: B023
            work = measure(lambda: store.upkeep.optimize(jobs=["pieces"]), statements)  # noqa: B023
            costs[0].append(words)
            costs[1].append(work)
    for _, plain, once, twice in costs:
        assert find_excess(plain, once, twice) is None


def test_a_session_that_was_taken_back_leaves_no_pieces(open_home: Open, tmp_path: Path) -> None:
    store, files = open_home(), write_sessions(tmp_path / "sessions", 2)
    take_in(store, files)
    store.conversations.undo("s0")
    assert cut(store) == ["Cut 2 sessions into pieces of work."]
    assert "filter 1" in str(list_chunks(store))
    assert "filter 0" not in str(list_chunks(store))


def test_sessions_wait_while_no_pieces_of_work_are_wanted(open_home: Open, tmp_path: Path) -> None:
    home, files = tmp_path / "home", write_sessions(tmp_path / "sessions", 1)
    with open_home(home, projects={"sessions": False}) as store:
        take_in(store, files)
        assert cut(store) == []
    assert cut(open_home(home)) == ["Cut 1 session into pieces of work."]


def test_a_session_that_grows_while_it_is_cut_waits_again(open_home: Open, tmp_path: Path) -> None:
    store, files = open_home(), write_sessions(tmp_path / "sessions", 1)
    take_in(store, files)
    taken = TakenSessions(store._services)
    (session,) = taken.find_uncut()
    grown = evolve(session, stamp="another")
    taken.add(grown)
    taken.add_pieces([(session, ["id"])])
    assert taken.find_uncut() == [grown]
    taken.add_pieces([(grown, ["id"])])
    assert taken.find_uncut() == []


@pytest.mark.parametrize("odd", [{"last": 5}, {"last": [5]}, {"transcript": 5}, {"more": 1}])
def test_an_odd_line_of_the_ledger_holds_up_nothing(
    open_home: Open, tmp_path: Path, odd: dict[str, Any]
) -> None:
    store, files = open_home(), write_sessions(tmp_path / "sessions", 1)
    take_in(store, files)
    (ledger,) = (store.config.home / "spool").glob("taken-*.jsonl")
    line = json.dumps({"transcript": "/x.jsonl", "stamp": "", "last": [], **odd})
    ledger.write_text(f"{ledger.read_text()}\n{line}\n")
    assert list(store.conversations.find_new_sessions(files)) == []
    assert cut(store) == ["Cut 1 session into pieces of work."]
