"""What was recalled is counted, beside the memory and off the path of whoever recalls it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from infinite_memory import MemoryStore, NotFound
from infinite_memory.core.values.commit import Commit
from infinite_memory.core.values.record import Usage
from infinite_memory.engine.usage import UsageCounter
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory.testing.storage_contract import put
from tests.harness.failing import FailingStorage

NOW = datetime(2026, 6, 5, tzinfo=UTC)


def counted(store: MemoryStore, memory_id: str) -> int:
    usage = store.usage(memory_id)
    return 0 if usage is None else usage.count


def test_what_a_search_returns_is_counted_and_dated(store: MemoryStore) -> None:
    store.remember("the red harbour", id="a")
    store.remember("an unrelated green meadow", id="b")
    assert store.usage("a") is None
    position = store._services.storage.position()
    store.search("harbour", limit=1)
    before = store.usage("a")
    store.search("harbour", limit=1, depth="overview")
    after = store.usage("a")
    assert before is not None
    assert after is not None
    assert (before.count, after.count, counted(store, "b")) == (1, 2, 0)
    assert after.last > before.last
    assert store._services.storage.position() == position
    assert store.get("a").revision == 1
    with pytest.raises(NotFound):
        store.usage("none")


def test_listing_and_looking_are_no_use(store: MemoryStore) -> None:
    store.remember("the red harbour", id="a", happened_at=NOW)
    store.browse()
    store.get("a")
    store.journal.history("a")
    store.why_not("harbour", "a")
    store.search("harbour", depth="exhaustive")
    store.verify()
    assert counted(store, "a") == 0
    store.recall_by_time(when="June 2026")
    assert counted(store, "a") == 1


def test_an_activation_is_shown_and_is_no_recall(store: MemoryStore) -> None:
    store.remember("the red harbour", id="a")
    activation = Usage(count=0, activation=5.0, activated_at=NOW)
    store._services.storage.count_usage({"a": activation})
    assert store.usage("a") == activation
    store.search("harbour")
    both = store.usage("a")
    assert both is not None
    assert (both.count, both.activation, both.activated_at) == (1, 5.0, NOW)


def test_a_store_that_does_not_count_counts_nothing(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path, embedder=HashingEmbedder(), counts_usage=False) as store:
        store.remember("the red harbour", id="a")
        store.search("harbour")
        assert counted(store, "a") == 0


def test_a_closed_store_has_stored_its_counts(tmp_path: Path) -> None:
    for _ in range(3):
        with MemoryStore.open(tmp_path, embedder=HashingEmbedder()) as store:
            store.remember("the red harbour", id="a")
            store.search("harbour")
    with MemoryStore.open(tmp_path, embedder=HashingEmbedder()) as store:
        assert counted(store, "a") == 3


def test_counts_of_many_threads_are_exact(store: MemoryStore) -> None:
    store.remember("the red harbour", id="a")
    threads = [
        threading.Thread(target=lambda: [store.search("harbour") for _ in range(20)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counted(store, "a") == 80


def test_counts_are_stored_within_seconds_without_being_asked() -> None:
    storage = InMemoryStorage()
    storage.commit(Commit(puts=[put("a")]))
    counter = UsageCounter(storage, seconds=0.01)
    counter.note(["a", "a", "none"], NOW)
    deadline = time.monotonic() + 120
    while not storage.usage(["a"]) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert storage.usage(["a", "none"]) == {"a": Usage(count=2, last=NOW)}
    counter.note(["a"], NOW + timedelta(days=1))
    counter.close()
    counter.close()
    assert storage.usage(["a"]) == {"a": Usage(count=3, last=NOW + timedelta(days=1))}


def test_what_cannot_be_counted_disturbs_nobody() -> None:
    inner = InMemoryStorage()
    inner.commit(Commit(puts=[put("a")]))
    counter = UsageCounter(FailingStorage(inner, fail_at=1), seconds=60)
    counter.note(["a"], NOW)
    counter.flush()
    counter.note(["a"], NOW)
    counter.close()
    assert inner.usage(["a"]) == {"a": Usage(count=1, last=NOW)}


def test_the_memories_used_last_are_those_that_wait() -> None:
    storage = InMemoryStorage()
    storage.commit(Commit(puts=[put("old"), put("new")]))
    counter = UsageCounter(storage, seconds=600)
    counter.note(["old", *(f"m{n}" for n in range(10_000)), "new"], NOW)
    counter.close()
    assert list(storage.usage(["old", "new"])) == ["new"]


KILLED = """
import sys, time
from infinite_memory import MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder
store = MemoryStore.open(sys.argv[1], embedder=HashingEmbedder())
store.remember("the red harbour", id="a")
store.search("harbour")
print("searched", flush=True)
time.sleep(600)
"""


@pytest.mark.process
@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_counts_survive_a_kill_but_for_the_last_seconds(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    with process.stdout, MemoryStore.open(tmp_path, embedder=HashingEmbedder()) as store:
        try:
            assert process.stdout.readline() == "searched\n"
            deadline = time.monotonic() + 120
            while not counted(store, "a") and time.monotonic() < deadline:
                time.sleep(0.05)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert counted(store, "a") == 1
        assert store.verify().findings == ()


def test_the_open_store_is_left_by_its_thread(open_store: Callable[..., MemoryStore]) -> None:
    others = set(threading.enumerate())
    store = open_store()
    store.remember("the red harbour", id="a")
    store.search("harbour")
    own = [thread for thread in set(threading.enumerate()) - others if thread.name == "usage"]
    assert own
    store.close()
    assert not [thread for thread in own if thread.is_alive()]
