"""What is durable is never an error: closing beside calls, and failing after a commit."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from infinite_memory import Config, InfiniteMemoryError, MemoryStore, Status, StoreClosed
from infinite_memory.core.values.commit import Commit
from infinite_memory.core.values.record import Usage
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.storage.sqlite import storage as sqlite_storage
from infinite_memory.store import lifetime
from infinite_memory.testing.embedders import HashingEmbedder


class EndsAfterCommit(SqliteStorage):
    """Is closed by somebody else as soon as a change is durable, once it is armed."""

    armed = False

    def commit(self, commit: Commit) -> int:
        position = super().commit(commit)
        if self.armed and commit.entry is not None:
            self.close()
        return position

    def count_usage(self, used: Mapping[str, Usage]) -> None:
        if self.armed:
            self.close()
        super().count_usage(used)


@contextmanager
def ending_after_commit(home: Path) -> Iterator[tuple[MemoryStore, EndsAfterCommit]]:
    storage = EndsAfterCommit.open(home)
    assert isinstance(storage, EndsAfterCommit)
    config = Config(home=home)
    with (
        closing(storage),
        MemoryStore.open(storage=storage, config=config, embedder=HashingEmbedder()) as store,
    ):
        yield store, storage


def opened(home: Path, embedder: HashingEmbedder | None = None) -> MemoryStore:
    return MemoryStore.open(home, embedder=embedder or HashingEmbedder())


def remember_one(store: MemoryStore) -> None:
    receipt = store.remember("a new fact", id="new")
    assert (receipt.outcome, receipt.searchable) == ("stored", "meaning")


def remember_by_key(store: MemoryStore) -> None:
    assert store.remember("Rome", id="new", key="city").superseded == ("berlin",)


def remember_several(store: MemoryStore) -> None:
    receipts = store.remember_many([{"text": "one", "id": "new"}, {"text": "one"}, {"text": "two"}])
    outcomes = [str(receipt.outcome) for receipt in receipts]
    assert outcomes == ["stored", "strengthened", "stored"]


def repeat(store: MemoryStore) -> None:
    receipt = store.remember("Paris is large")
    assert (receipt.outcome, receipt.id) == ("strengthened", "last")


def revise_text(store: MemoryStore) -> None:
    receipt = store.revise("berlin", revision=1, text="Oslo")
    assert (receipt.revision, receipt.searchable) == (2, "words")


def revise_tags(store: MemoryStore) -> None:
    assert store.revise("berlin", revision=1, tags=["a"]).revision == 2


def forget_softly(store: MemoryStore) -> None:
    assert store.forget("berlin").outcome == "forgotten"


def forget_for_good(store: MemoryStore) -> None:
    receipt = store.forget("berlin", hard=True)
    assert receipt.outcome == "erased"
    assert any("forget it once more" in step for step in receipt.pending)


def change_profile(store: MemoryStore) -> None:
    profile = store.profile.update({"name": "Ann", "contacts": None, "facts": ["tall"]})
    assert profile.fields == {"name": "Ann", "facts": ["tall"], "notes": ["short"]}


def create_scope(store: MemoryStore) -> None:
    assert store.scopes.create("Apollo").name == "Apollo"


def update_scope(store: MemoryStore) -> None:
    assert store.scopes.update("Old", description="x").description == "x"


CHECKS: dict[Callable[[MemoryStore], None], Callable[[MemoryStore], bool]] = {
    remember_one: lambda store: store.get("new").text == "a new fact",
    remember_by_key: lambda store: store.get("berlin").status is Status.SUPERSEDED,
    remember_several: lambda store: store.get("new").text == "one",
    repeat: lambda store: store.get("last").text == "Paris is large",
    revise_text: lambda store: store.get("berlin").text == "Oslo",
    revise_tags: lambda store: store.get("berlin").tags == ("a",),
    forget_softly: lambda store: store.get("berlin").status is Status.FORGOTTEN,
    forget_for_good: lambda store: "Berlin" not in {m.text for m in store.browse().memories},
    change_profile: lambda store: store.profile.get().fields["name"] == "Ann",
    create_scope: lambda store: store.scopes["Apollo"].name == "Apollo",
    update_scope: lambda store: store.scopes["Old"].description == "x",
}


@pytest.mark.parametrize("change", CHECKS, ids=lambda change: change.__name__)
def test_what_fails_after_the_commit_makes_no_error(
    tmp_path: Path, change: Callable[[MemoryStore], None]
) -> None:
    with ending_after_commit(tmp_path) as (store, storage):
        store.scopes.create("Old")
        store.profile.update({"notes": ["short"], "contacts": {"Bob": "x"}})
        store.remember("Berlin", id="berlin", key="city")
        store.remember("Paris is large", id="last")
        storage.armed = True
        change(store)
        with pytest.raises(StoreClosed):
            store.get("last")
    with opened(tmp_path) as store:
        assert CHECKS[change](store)
        assert store.verify().sound


class Failing(HashingEmbedder):
    """Does something first, once it is told what."""

    def __init__(self) -> None:
        super().__init__()
        self.first: Callable[[], object] = lambda: None

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        first, self.first = self.first, lambda: None
        first()
        return super().embed(texts)


def in_another_thread(work: Callable[[], object]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def by_a_signal(work: Callable[[], object]) -> None:
    before = signal.signal(signal.SIGUSR1, lambda *_: work())
    try:
        os.kill(os.getpid(), signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)


def here(work: Callable[[], object]) -> None:
    work()


@pytest.mark.parametrize(
    ("way", "searchable"),
    [(here, "meaning"), (by_a_signal, "meaning"), (in_another_thread, "words")],
)
def test_a_store_that_is_closed_while_it_embeds_has_stored(
    tmp_path: Path, way: Callable[[Callable[[], object]], None], searchable: str
) -> None:
    embedder = Failing()
    store = opened(tmp_path, embedder)
    embedder.first = lambda: way(store.close)
    receipt = store.remember("a fact", id="a")
    assert (receipt.outcome, receipt.searchable) == ("stored", searchable)
    assert not (tmp_path / "memory.db-wal").stat().st_size  # it is closed by now
    with pytest.raises(StoreClosed):
        store.remember("another", id="b")
    with opened(tmp_path) as store:
        assert store.get("a").text == "a fact"
        assert store.models.catch_up() == (searchable == "words")


def test_a_signal_that_closes_the_store_in_the_middle_of_a_commit_hangs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opened(tmp_path)
    honest = sqlite_storage.refuse_changes

    def signalling(commit: Commit, present: Any) -> None:
        monkeypatch.setattr(sqlite_storage, "refuse_changes", honest)
        by_a_signal(store.close)
        honest(commit, present)

    monkeypatch.setattr(sqlite_storage, "refuse_changes", signalling)
    assert store.remember("a fact", id="a").outcome == "stored"
    assert not (tmp_path / "memory.db-wal").stat().st_size
    with opened(tmp_path) as store:
        assert store.get("a").text == "a fact"


def test_closing_waits_for_what_is_under_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifetime, "_LAST_CALLS_SECONDS", 60.0)
    embedder, begun, refused = Failing(), threading.Event(), threading.Event()
    store = opened(tmp_path, embedder)

    def wait() -> None:
        begun.set()
        assert refused.wait(60)

    embedder.first = wait
    receipts: list[Any] = []
    writer = threading.Thread(target=lambda: receipts.append(store.remember("a fact", id="a")))
    writer.start()
    assert begun.wait(60)
    closer = threading.Thread(target=store.close)
    closer.start()
    while True:
        try:
            store.stats()
        except StoreClosed:
            break
    refused.set()
    writer.join()
    closer.join()
    assert [receipt.searchable for receipt in receipts] == ["meaning"]


def test_closing_in_the_progress_of_many_says_how_many_are_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The real limit of a commit takes long to exceed.
    monkeypatch.setattr("infinite_memory.engine.writes.remember._COMMIT_MEMORIES", 256)
    drafts = [{"text": f"fact {number}", "id": f"m{number}"} for number in range(600)]
    store = opened(tmp_path)
    with pytest.raises(StoreClosed, match="the first 256 of 600 memories are stored"):
        store.remember_many(drafts, progress=lambda *_: store.close())
    with opened(tmp_path) as store:
        assert store.stats().memories == 256
        outcomes = [str(receipt.outcome) for receipt in store.remember_many(drafts)]
        assert outcomes == ["unchanged"] * 256 + ["stored"] * 344


def write(store: MemoryStore, worker: int, done: list[tuple[str, bool]]) -> None:
    """Change one thing after the other until the store is closed; note which calls returned."""
    number = 0
    while True:
        name = f"w{worker}-{number}"
        calls: list[Callable[[], object]] = [
            lambda name=name: store.remember(name, id=name),
            lambda name=name: store.remember_many([{"text": name, "id": name}]),
            lambda name=name: store.revise(f"old-{name}", revision=1, text=name),
            lambda name=name: store.forget(f"old-{name}"),
            lambda name=name: store.forget(f"old-{name}", hard=True),
            lambda name=name: store.profile.update({"preferences": {name: name}}),
            lambda name=name: store.scopes.create(name),
        ]
        call = (number + worker) % len(calls)
        try:
            if 2 <= call <= 4:
                store.remember(f"before {name}", id=f"old-{name}")
            calls_made = f"{call} {name}"
        except InfiniteMemoryError:
            return
        try:
            calls[call]()
        except InfiniteMemoryError:
            done.append((calls_made, False))
            return
        done.append((calls_made, True))
        number += 1


def was_done(store: MemoryStore, call: int, name: str) -> bool:
    found = {memory.id: memory for memory in store.browse(limit=1000, statuses=[]).memories}
    if call <= 1:
        return name in found
    if call == 2:
        return found[f"old-{name}"].text == name
    if call == 3:
        return found[f"old-{name}"].status is Status.FORGOTTEN
    if call == 4:
        return f"old-{name}" not in found
    if call == 5:
        return name in dict(store.profile.get().fields.get("preferences", {}))  # type: ignore[arg-type]
    return any(scope.name == name for scope in store.scopes)


@pytest.mark.thorough
@pytest.mark.parametrize("seconds", [0.0, 1.0])
def test_beside_closing_each_call_that_raised_did_nothing_and_each_other_was_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    monkeypatch.setattr(lifetime, "_LAST_CALLS_SECONDS", seconds)
    wrong, raised = [], 0
    for turn in range(12):
        home = tmp_path / str(turn)
        store = opened(home)
        done: list[list[tuple[str, bool]]] = [[] for _ in range(7)]
        threads = [
            threading.Thread(target=write, args=(store, worker, done[worker]))
            for worker in range(7)
        ]
        for thread in threads:
            thread.start()
        while sum(map(len, done)) < 14 + turn:
            threading.Event().wait(0.001)
        store.close()
        for thread in threads:
            thread.join()
        calls = [each for worker in done for each in worker]
        with opened(home) as store:
            for made, returned in calls:
                raised += not returned
                call, name = made.split()
                if was_done(store, int(call), name) is not returned:
                    wrong.append((made, returned))
            assert store.verify().sound
    assert wrong == []
    assert raised
