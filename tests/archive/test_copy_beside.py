"""A copy brings links, usage and the journal: what is damaged, different or written meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import apsw
import pytest

from infinite_memory import Conflict, StorageUnavailable, copy_store
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.commit import Commit, Erase
from infinite_memory.core.values.link import LinkKey, LinkType
from infinite_memory.core.values.record import Usage
from infinite_memory.core.values.verification import RecordKind
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.testing.storage_contract.base import NOW, make_link, put
from infinite_memory.testing.storage_contract.journal import make_action
from tests.harness.everything import dump

copy_all = partial(copy_store, with_keys=True)


@pytest.fixture
def source(tmp_path: Path) -> Iterator[SqliteStorage]:
    with closing(SqliteStorage.open(tmp_path / "source")) as storage:
        storage.commit(
            Commit(puts=[put("a"), put("b"), put("c")], entry=make_action("a", "b", "c"))
        )
        storage.commit(Commit(links=[make_link("a", "b"), make_link("b", "b")]))
        for number in range(2, 8):
            storage.commit(Commit(puts=[put("a", revision=number)], entry=make_action("a")))
        storage.count_usage({"a": Usage(count=3, last=NOW), "b": Usage(count=1, last=NOW)})
        storage.count_usage({"c": Usage(count=0, activation=5.0, activated_at=NOW)})
        yield storage


@pytest.fixture
def target(tmp_path: Path) -> Iterator[SqliteStorage]:
    with closing(SqliteStorage.open(tmp_path / "target")) as storage:
        yield storage


def same(one: Storage, other: Storage) -> bool:
    return list(dump(one)) == list(dump(other))


def spoil(storage: SqliteStorage, folder: Path, statement: str) -> None:
    connection = apsw.Connection(str(folder / "memory.db"))
    connection.execute(statement)
    assert connection.changes()
    connection.close()


def test_what_changed_beside_the_memories_alone_comes_over(
    source: SqliteStorage, target: SqliteStorage
) -> None:
    assert copy_all(source, target).compared["entries"] == 7
    source.commit(Commit(erased_links=[LinkKey("a", "b", LinkType.SEMANTIC)]))
    source.commit(Commit(links=[make_link("b", "b", weight=0.5)], entry=make_action()))
    source.count_usage({"a": Usage(count=1, last=NOW), "c": Usage(count=0, last=NOW)})
    copied = copy_all(source, target)
    assert (copied.whole, copied.copied) == (True, 3)
    assert copied.compared == {"memories": 3, "revisions": 6, "scopes": 1} | {
        "links": 1,
        "usage": 3,
        "entries": 8,
    }
    assert same(source, target)


def test_a_memory_that_was_erased_and_stored_again_loses_what_was_beside_it(
    source: SqliteStorage, target: SqliteStorage
) -> None:
    copy_all(source, target)
    source.commit(
        Commit(
            erases=[Erase(id="b")],
            puts=[put("b")],
            entry=make_action("b"),
        )
    )
    # By its record the memory is the one that the target has.
    assert copy_all(source, target).whole
    assert same(source, target)
    assert target.usage(["b"]) == {}


def test_entries_before_a_damaged_one_are_copied_and_it_is_named(
    source: SqliteStorage, target: SqliteStorage, tmp_path: Path
) -> None:
    spoil(source, tmp_path / "source", "UPDATE journal SET body = '{}' WHERE number = 5")
    copied = copy_all(source, target)
    (finding,) = copied.left_out
    assert finding.part is RecordKind.JOURNAL
    assert (
        "entry 5 of the journal is not exported, nor are the later entries, up to 7" in finding.what
    )
    assert copied.compared["entries"] == 4
    assert not copied.different
    assert target.journal(limit=9) == source.journal(before=5, limit=9)


def test_an_entry_that_is_damaged_after_it_was_copied_is_named(
    source: SqliteStorage, target: SqliteStorage, tmp_path: Path
) -> None:
    copy_all(source, target)
    spoil(source, tmp_path / "source", "UPDATE journal SET body = '{}' WHERE number = 5")
    copied = copy_all(source, target)
    assert [each.part for each in copied.left_out] == [RecordKind.JOURNAL]
    assert not copied.different
    assert target.journal_end().number == 7


@pytest.mark.parametrize(
    ("statement", "part", "subject"),
    [
        ("UPDATE links SET weight = 0.3 WHERE source = 'a'", RecordKind.LINK, None),
        ("UPDATE usage SET count = 9 WHERE count = 3", RecordKind.USAGE, "a"),
        ("UPDATE activations SET activation = 9", RecordKind.USAGE, "c"),
    ],
)
def test_what_is_damaged_beside_a_memory_is_named_and_what_was_copied_is_kept(
    source: SqliteStorage,
    target: SqliteStorage,
    tmp_path: Path,
    statement: str,
    part: RecordKind,
    subject: str | None,
) -> None:
    copy_all(source, target)
    before = list(dump(target))
    spoil(source, tmp_path / "source", statement)
    for _ in range(2):
        copied = copy_all(source, target)
        assert [(each.part, each.id) for each in copied.left_out] == [(part, subject)]
        assert not copied.different
    assert list(dump(target)) == before


def test_a_target_with_a_journal_of_its_own_is_refused(
    source: SqliteStorage, target: SqliteStorage
) -> None:
    with closing(InMemoryStorage()) as other:
        other.commit(Commit(entry=make_action()))
        with pytest.raises(Conflict, match="name an empty target"):
            copy_all(source, other)
    copy_all(source, target)
    target.commit(Commit(entry=make_action("mine")))
    with pytest.raises(Conflict, match="now a separate store"):
        copy_all(source, target)


def at_once(*calls: Callable[[], object]) -> None:
    failed: list[BaseException] = []

    def guarded(call: Callable[[], object]) -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001 -- shown by the thread that asserts
            failed.append(error)

    threads = [threading.Thread(target=guarded, args=(call,)) for call in calls]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert failed == []


def test_two_copies_at_once_bring_every_entry_once(
    source: SqliteStorage, target: SqliteStorage
) -> None:
    for number in range(300):
        source.commit(Commit(entry=make_action(f"x{number}")))
    copy_all(source, target)
    for number in range(300):
        source.commit(Commit(entry=make_action(f"y{number}")))

    def copy() -> None:
        with suppress(Conflict, StorageUnavailable):  # the other one had begun or finished first
            copy_all(source, target)

    at_once(*2 * [copy])
    assert copy_all(source, target).whole
    assert same(source, target)


def test_links_and_entries_that_are_written_meanwhile_come_over(
    source: SqliteStorage, target: SqliteStorage
) -> None:
    begun = threading.Event()

    def write() -> None:
        begun.wait(30)
        for number in range(60):
            source.commit(
                Commit(
                    puts=[put(f"late-{number}")],
                    links=[make_link(f"late-{number}", "a")],
                    entry=make_action(f"late-{number}"),
                )
            )
            source.count_usage({"a": Usage(count=1, last=NOW)})

    def copy() -> None:
        assert not copy_all(source, target, progress=lambda *_: begun.set()).different
        begun.set()

    at_once(copy, write)
    # Whatever the journal tells of is there.
    told = {step.id for entry in target.journal(limit=999) for step in entry.action.memories}
    assert target.get(told).keys() == told
    assert copy_all(source, target).whole
    assert same(source, target)
