"""Copying between storages: nothing is lost, nothing is mixed, and it goes on where it ended."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import apsw
import numpy as np
import pytest
from attrs import evolve

from infinite_memory import Conflict, InvalidInput, Memory, StorageUnavailable, copy_store
from infinite_memory.core.values.archive.copying import CopyStep
from infinite_memory.core.values.commit import Attach, Commit, Detach, Erase, Put
from infinite_memory.core.values.record import Embedding
from infinite_memory.core.values.scope import Scope
from infinite_memory.core.values.verification import RecordKind
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.storage.sqlite import SqliteStorage
from tests.harness.everything import dump, fill

NOW = datetime(2026, 6, 5, tzinfo=UTC)
copy_all = partial(copy_store, with_keys=True)


def memory(memory_id: str, text: str = "Some text.", revision: int = 1) -> Memory:
    return Memory(id=memory_id, text=text, happened_at=NOW, stored_at=NOW, revision=revision)


def lines(folder: Path) -> list[str]:
    with closing(SqliteStorage.open(folder)) as storage:
        return list(dump(storage))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    with closing(SqliteStorage.open(folder)) as storage:
        fill(storage, plain=600)
    return folder


def change(folder: Path, commit: Commit) -> None:
    with closing(SqliteStorage.open(folder)) as storage:
        storage.commit(commit)


class Interrupted(Exception):
    pass


def test_a_copy_holds_everything_to_the_byte(source: Path, tmp_path: Path) -> None:
    copied = copy_all(source, tmp_path / "target")

    assert copied.whole
    assert copied.compared == {
        "memories": 610,
        "erased": 1,
        "embeddings": 604,
        "revisions": 5,
        "scopes": 4,
        "access_keys": 2,
        "links": 14,
        "usage": 2,
        "entries": 3,
    }
    assert lines(tmp_path / "target") == lines(source)
    with (
        closing(SqliteStorage.open(source)) as one,
        closing(SqliteStorage.open(tmp_path / "target")) as other,
    ):
        assert one.identity != other.identity
        assert other.verify().sound


def test_storages_that_are_open_are_copied_and_stay_open() -> None:
    with closing(InMemoryStorage()) as one, closing(InMemoryStorage()) as other:
        fill(one)
        assert copy_all(one, other).whole
        assert list(dump(other)) == list(dump(one))
        # Nothing says whose copy it is, so it is not gone on with.
        with pytest.raises(Conflict, match="holds memories or scopes already"):
            copy_all(one, other)


@pytest.mark.thorough
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_a_copy_that_was_cut_short_leaves_the_target_as_it_was(
    source: Path, tmp_path: Path, at: int, after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = at
    commit = SqliteStorage.commit

    def interrupt(storage: SqliteStorage, wanted: Commit) -> int:
        nonlocal left
        left -= 1
        if left == 0 and not after:
            raise Interrupted
        position = commit(storage, wanted)
        if left == 0:
            raise Interrupted
        return position

    empty = lines(tmp_path / "empty")
    with monkeypatch.context() as patched:
        patched.setattr(SqliteStorage, "commit", interrupt)
        with pytest.raises(Interrupted):
            copy_all(source, tmp_path / "target")
    assert lines(tmp_path / "target") == empty
    assert not (tmp_path / "target" / "store.restoring").exists()

    assert copy_all(source, tmp_path / "target").whole
    assert lines(tmp_path / "target") == lines(source)


def test_a_copy_that_is_repeated_has_what_is_new(source: Path, tmp_path: Path) -> None:
    copy_all(source, tmp_path / "target")
    assert copy_all(source, tmp_path / "target").copied == 610

    vectors = np.ones((1, 4), np.float32) / 2
    embedding = Embedding(model="c/3", spans=np.array([[0, 2]], np.int32), vectors=vectors)
    change(
        source,
        Commit(
            erases=[Erase(id="plain"), Erase(id="plain-000003")],
            puts=[
                Put(memory=memory("new"), expected=0),
                Put(memory=memory("history", "Another end.", 21), expected=20),
                Put(memory=memory("plain-000003", "Another life."), expected=0),
            ],
            attaches=[Attach(id="plain-000001", revision=1, embedding=embedding)],
            detaches=[Detach(id="plain-000002", keep="none")],
            scopes=[Scope(name="new scope")],
            active_model="c/3",
        ),
    )
    copied = copy_all(source, tmp_path / "target")

    assert copied.copied == 610
    assert copied.whole
    assert lines(tmp_path / "target") == lines(source)


def test_the_progress_of_both_steps_is_told(source: Path, tmp_path: Path) -> None:
    told: list[tuple[CopyStep, int, int]] = []
    copy_all(source, tmp_path / "target", progress=lambda *now: told.append(now))
    for step in CopyStep:
        mine = [(done, total) for each, done, total in told if each is step]
        assert [done for done, _ in mine] == sorted(done for done, _ in mine)
        assert mine[-1] == (610, 610)


def test_what_is_written_meanwhile_comes_over_too(source: Path, tmp_path: Path) -> None:
    begun = threading.Event()

    def write() -> None:
        begun.wait(30)
        with closing(SqliteStorage.open(source)) as storage:
            for number in range(60):
                storage.commit(
                    Commit(
                        erases=[Erase(id=f"plain-{number + 100:06}")],
                        puts=[
                            Put(memory=memory(f"late-{number}"), expected=0),
                            Put(
                                memory=memory(f"plain-{number:06}", f"Revised {number}.", 2),
                                expected=1,
                            ),
                        ],
                        scopes=[Scope(name=f"scope {number}")],
                    )
                )

    writer = threading.Thread(target=write)
    writer.start()
    try:
        copied = copy_all(source, tmp_path / "target", progress=lambda *_: begun.set())
    finally:
        begun.set()
        writer.join()
    assert not copied.different
    assert copy_all(source, tmp_path / "target").whole
    assert lines(tmp_path / "target") == lines(source)


def test_two_copies_into_one_target_at_once_end_with_the_same(source: Path, tmp_path: Path) -> None:
    SqliteStorage.open(tmp_path / "target").close()
    copy_all(source, tmp_path / "target")
    change(source, Commit(puts=[Put(memory=memory(f"late-{n}"), expected=0) for n in range(2000)]))
    failed: list[BaseException] = []

    def copy() -> None:
        try:
            copy_all(source, tmp_path / "target")
        except (Conflict, StorageUnavailable):
            pass  # the other one had begun or finished first
        except BaseException as error:  # noqa: BLE001 -- shown by the thread that asserts
            failed.append(error)

    threads = [threading.Thread(target=copy) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert failed == []
    assert lines(tmp_path / "target") == lines(source)


def nothing_changed(folder: Path, call: Callable[[], object], error: type[Exception]) -> str:
    before = lines(folder)
    with pytest.raises(error) as raised:
        call()
    assert lines(folder) == before
    return str(raised.value)


def test_a_target_that_holds_something_else_is_refused(source: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    change(other, Commit(puts=[Put(memory=memory("mine"), expected=0)]))
    said = nothing_changed(other, lambda: copy_all(source, other), Conflict)
    assert "holds memories or scopes already" in said
    only_scopes = tmp_path / "scopes"
    change(only_scopes, Commit(scopes=[Scope(name="mine")]))
    nothing_changed(only_scopes, lambda: copy_all(source, only_scopes), Conflict)


def test_the_copy_of_another_source_is_refused(source: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    change(other, Commit(puts=[Put(memory=memory("other"), expected=0)]))
    copy_all(other, tmp_path / "target")
    said = nothing_changed(
        tmp_path / "target", lambda: copy_all(source, tmp_path / "target"), Conflict
    )
    assert "is a copy of the store" in said


def test_a_whole_copy_that_was_written_since_is_refused(source: Path, tmp_path: Path) -> None:
    copy_all(source, tmp_path / "target")
    change(tmp_path / "target", Commit(puts=[Put(memory=memory("mine"), expected=0)]))
    said = nothing_changed(
        tmp_path / "target", lambda: copy_all(source, tmp_path / "target"), Conflict
    )
    assert "now a separate store" in said


def test_what_others_write_into_the_target_meanwhile_is_not_lost(
    source: Path, tmp_path: Path
) -> None:
    target = tmp_path / "target"

    def write(step: CopyStep, *_: int) -> None:
        if step is CopyStep.VERIFYING and not lines(target)[0].startswith('{"id": "mine"'):
            change(target, Commit(puts=[Put(memory=memory("mine"), expected=0)]))

    with pytest.raises(Conflict, match="was written while its new content was prepared"):
        copy_all(source, target, progress=write)
    with closing(SqliteStorage.open(target)) as storage:
        assert storage.get(["mine"])
        assert storage.position() == 1


def test_a_store_is_not_copied_into_itself(source: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(source)
    for place in (source, tmp_path / "link", f"{tmp_path}/nowhere/../source"):
        nothing_changed(source, lambda p=place: copy_all(source, p), InvalidInput)  # type: ignore[misc]
    with closing(SqliteStorage.open(source)) as storage:
        nothing_changed(source, lambda: copy_all(storage, source), InvalidInput)


def test_a_source_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(StorageUnavailable, match="there is no store at"):
        copy_all(tmp_path / "typo", tmp_path / "target")
    assert not (tmp_path / "typo").exists()
    assert not (tmp_path / "target").exists()
    with pytest.raises(InvalidInput, match="cannot be copied"):
        copy_all("memory://", tmp_path / "target")


def test_a_target_that_cannot_be_opened_is_named(source: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StorageUnavailable, match="file"):
        copy_all(source, tmp_path / "file")


def test_an_older_source_is_not_copied_over_a_newer_one(source: Path, tmp_path: Path) -> None:
    older = tmp_path / "older"
    with closing(SqliteStorage.open(source)) as storage:
        identity = storage.identity
    older.mkdir()
    for path in source.iterdir():
        if path.is_file():
            (older / path.name).write_bytes(path.read_bytes())
    change(source, Commit(puts=[Put(memory=memory("newer"), expected=0)]))
    copy_all(source, tmp_path / "target")
    with closing(SqliteStorage.open(older)) as storage:
        assert storage.identity == identity
    said = nothing_changed(
        tmp_path / "target", lambda: copy_all(older, tmp_path / "target"), Conflict
    )
    assert "is it an older copy" in said


def spoil(folder: Path, statement: str) -> None:
    connection = apsw.Connection(str(folder / "memory.db"))
    connection.execute(statement)
    assert connection.changes() == 1
    connection.close()


def test_what_is_damaged_is_left_out_and_named_and_the_rest_is_copied(
    source: Path, tmp_path: Path
) -> None:
    spoil(source, "UPDATE memories SET text = 'Spoilt.' WHERE id = 'plain'")
    spoil(source, "UPDATE revisions SET body = '{}' WHERE id = 'history' AND revision = 2")
    spoil(
        source,
        "UPDATE embeddings SET vectors = zeroblob(length(vectors)) WHERE number ="
        " (SELECT number FROM memories WHERE id = 'plain-000007')",
    )
    spoil(source, "UPDATE scopes SET description = 'Spoilt.' WHERE name = 'diary'")

    copied = copy_all(source, tmp_path / "target")

    assert not copied.whole
    assert sorted((str(each.part), each.id) for each in copied.left_out) == [
        ("embedding", "plain-000007"),
        # Those from and to the damaged memory.
        *6 * [("link", None)],
        ("memory", "plain"),
        ("revision", "history"),
        ("scope", "diary"),
    ]
    assert copied.different == ()
    with closing(SqliteStorage.open(tmp_path / "target")) as storage:
        assert storage.verify().sound
        assert sum(storage.measure().memories.values()) == 609
        assert [each.revision for each in storage.history("history")] == [20]


def test_a_target_that_was_altered_is_found_out(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The comparison can fail: a vector is altered by the least that a number can be."""
    commit = SqliteStorage.commit

    def alter(put: Put) -> Put:
        (one,) = put.embeddings
        return evolve(
            put, embeddings=(evolve(one, vectors=np.nextafter(one.vectors, np.float32(2))),)
        )

    def commit_altered(storage: SqliteStorage, wanted: Commit) -> int:
        puts = [alter(put) if put.memory.id == "plain-000001" else put for put in wanted.puts]
        return commit(storage, evolve(wanted, puts=puts))

    empty = lines(tmp_path / "target")
    with monkeypatch.context() as patched:
        patched.setattr(SqliteStorage, "commit", commit_altered)
        copied = copy_all(source, tmp_path / "target")
    assert [each.part for each in copied.different] == [RecordKind.MEMORY]
    assert not copied.whole
    assert lines(tmp_path / "target") == empty


def test_what_the_target_refuses_is_named_and_the_rest_is_copied(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = SqliteStorage.commit

    def refuse(storage: SqliteStorage, wanted: Commit) -> int:
        put = {(put.memory.id, put.memory.revision) for put in wanted.puts}
        if put & {("plain-000010", 1), ("history", 3)}:
            raise InvalidInput("too large")
        return commit(storage, wanted)

    with monkeypatch.context() as patched:
        patched.setattr(SqliteStorage, "commit", refuse)
        copied = copy_all(source, tmp_path / "target")
    assert {each.id for each in copied.left_out} == {"plain-000010", "history"}
    assert copied.different == ()
    assert copied.copied == 608
    with closing(SqliteStorage.open(tmp_path / "target")) as storage:
        # An earlier revision must not pass for the current one.
        assert storage.history("history") == []


def test_an_earlier_copy_is_not_replaced_by_one_that_lacks_something(
    source: Path, tmp_path: Path
) -> None:
    copy_all(source, tmp_path / "target")
    before = lines(tmp_path / "target")
    spoil(source, "UPDATE memories SET text = 'Spoilt.' WHERE id = 'plain'")
    copied = copy_all(source, tmp_path / "target")
    assert copied.kept
    assert not copied.whole
    assert lines(tmp_path / "target") == before


def test_a_first_copy_may_lack_something_and_the_next_that_lacks_more_is_not_kept(
    source: Path, tmp_path: Path
) -> None:
    """The first is better than none; once there is a copy, only a whole one takes its place."""
    target = tmp_path / "target"
    spoil(source, "UPDATE memories SET text = 'Spoilt.' WHERE id = 'plain'")
    first = copy_store(source, target)
    assert (first.whole, first.kept) == (False, False)
    before = lines(target)
    assert before
    again = copy_store(source, target)
    assert (again.whole, again.kept) == (False, True)
    assert lines(target) == before
