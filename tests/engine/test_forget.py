"""A hard forget that was cut short, or asked for twice, leaves nothing behind."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from infinite_memory import (
    Conflict,
    MemoryStore,
    NotFound,
    Outcome,
    Status,
    StorageUnavailable,
)
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.commit import Commit
from infinite_memory.search.bm25 import hash_term
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.testing.embedders import HashingEmbedder
from tests.harness.failing import FailingStorage

SECRET = "zanzibarquokka"
TRACES = [SECRET.encode(), hash_term(SECRET).to_bytes(8, "little")]


def traces_in(folder: Path) -> list[str]:
    """Name the files that hold something of the secret; only done while no store is open."""
    return [
        str(path.relative_to(folder))
        for path in sorted(folder.rglob("*"))
        if path.is_file() and any(trace in path.read_bytes() for trace in TRACES)
    ]


def opened(folder: Path, storage: Storage | None = None) -> MemoryStore:
    return MemoryStore.open(folder, storage=storage, embedder=HashingEmbedder())


@pytest.fixture
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Storage]:
    made: Storage = (
        InMemoryStorage() if request.param == "memory" else SqliteStorage.open(tmp_path / "home")
    )
    yield made
    made.close()


both = pytest.mark.parametrize("storage", ["memory", "sqlite"], indirect=True)


@pytest.mark.parametrize(("call", "when"), [(5, "after"), (8, "before")], ids=["commit", "scrub"])
def test_a_hard_forget_that_was_cut_after_erasing_is_finished_by_repeating_it(
    tmp_path: Path, call: int, when: str
) -> None:
    home = tmp_path / "home"
    with opened(home) as store:
        store.remember_many([{"text": f"note {i}"} for i in range(600)])
        store.remember(f"the password is {SECRET}", id="secret")
        store.revise("secret", revision=1, title=f"again {SECRET}")
    (index,) = (home / "index").iterdir()
    old = index.read_bytes()
    failing = FailingStorage(SqliteStorage.open(home))
    failing.commit(Commit())  # nothing is in the log yet
    with opened(home, failing) as store:
        failing.calls, failing.fail_at, failing.when = 0, call, when
        if when == "after":
            with pytest.raises(StorageUnavailable, match="simulated"):
                store.forget("secret", hard=True)
        else:
            erased = store.forget("secret", hard=True)
            assert erased.outcome is Outcome.ERASED
            (pending,) = erased.pending
            assert "files of the store: simulated" in pending
            assert "forget it once more" in pending
        failing.fail_at = 0
    assert failing.inner.get(["secret"]) == {}
    index.write_bytes(old)  # as a process leaves it that was killed here
    with opened(home) as store:
        receipt = store.forget("secret", hard=True)
        assert not list((home / "index").iterdir())
    failing.close()
    assert (receipt.id, receipt.outcome, receipt.erased) == ("secret", Outcome.UNCHANGED, ())
    assert traces_in(home) == []


def test_a_hard_forget_leaves_nothing_of_a_fact_and_its_key_in_the_journal(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with opened(home) as store:
        for place in ("Acme", "Globex"):
            store.remember(f"{SECRET} works at {place}", id=place, key=f"{SECRET}.job")
        store.undo()
        store.undo(3)
        store.search(SECRET)
        for place in ("Acme", "Globex"):
            store.forget(place, hard=True)
        assert [str(entry.action.operation) for entry in store.journal.entries()] == [
            *("erase", "erase", "undo", "undo", "remember", "remember")
        ]
        assert store.verify().sound
    assert traces_in(home) == []


def test_a_repeated_hard_forget_empties_the_log_that_the_first_one_left(tmp_path: Path) -> None:
    storage = SqliteStorage.open(tmp_path / "home")
    failing = FailingStorage(storage, when="before")
    log = tmp_path / "home" / "memory.db-wal"
    with opened(tmp_path / "home", failing) as store:
        store.remember(f"the password is {SECRET}", id="secret")
        failing.calls, failing.fail_at = 0, 8
        assert "scrub" in store.forget("secret", hard=True).pending[0]
        assert log.stat().st_size > 0
        assert store.forget("secret", hard=True).pending == ()
        assert log.stat().st_size == 0
    storage.close()


@both
def test_an_id_that_was_never_known_is_not_found_however_it_is_forgotten(storage: Storage) -> None:
    with opened(Path("unused"), storage) as store:
        for hard in (False, True):
            with pytest.raises(NotFound, match="'nobody'"):
                store.forget("nobody", hard=hard)
        store.remember("one", id="one")
        store.forget("one", hard=True)
        with pytest.raises(NotFound, match="'one'"):
            store.forget("one")


@both
def test_of_hard_forgets_at_once_only_one_says_that_it_erased(storage: Storage) -> None:
    with opened(Path("unused"), storage) as store:
        for number in range(20):
            store.remember("one", id=f"m{number}")
            start = threading.Barrier(4)

            def forget(memory_id: str = f"m{number}", start: threading.Barrier = start) -> Outcome:
                start.wait()
                return store.forget(memory_id, hard=True).outcome

            with ThreadPoolExecutor(4) as pool:
                outcomes = [each.result() for each in [pool.submit(forget) for _ in range(4)]]
            assert sorted(outcomes) == ["erased", "unchanged", "unchanged", "unchanged"]


class _Interrupted(FailingStorage):
    """Lets another client act once, right before a commit."""

    meanwhile: Callable[[], object] | None = None

    def commit(self, commit: Commit) -> int:
        act, self.meanwhile = self.meanwhile, None
        if act is not None:
            act()
        return super().commit(commit)


@both
def test_what_was_revised_at_the_last_moment_is_erased_and_counted(storage: Storage) -> None:
    other = opened(Path("unused"), storage)
    slow = _Interrupted(storage)
    with opened(Path("unused"), slow) as store:
        store.remember("one", id="one")
        slow.meanwhile = lambda: other.revise("one", revision=1, text="two")
        receipt = store.forget("one", hard=True)
        assert (receipt.outcome, receipt.revision) == (Outcome.ERASED, 2)
        assert receipt.erased == ("memory one", "2 revisions", "1 vector")
        store.remember("three", id="three")
        slow.meanwhile = lambda: other.forget("three", hard=True)
        assert store.forget("three", hard=True).outcome is Outcome.UNCHANGED


@both
@pytest.mark.parametrize("hard", [False, True])
def test_a_memory_that_changes_at_every_attempt_is_a_conflict_in_the_end(
    storage: Storage, hard: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("infinite_memory.engine.retry._SECONDS", 0.0)
    other = opened(Path("unused"), storage)
    other.remember("one", id="one")

    class Busy(FailingStorage):
        def commit(self, commit: Commit) -> int:
            revision = other.get("one").revision
            other.revise("one", revision=revision, text=f"text {revision}")
            return super().commit(commit)

    with opened(Path("unused"), Busy(storage)) as store, pytest.raises(Conflict, match="'one'"):
        store.forget("one", hard=hard)
    assert other.get("one").status is Status.CURRENT
