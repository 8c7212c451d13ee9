"""A server that is gone, or hangs: calls end when the address says so, and closing never waits.

The limits are generous, and far below the half minute that each of these took when it was a defect.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from mongo_deaths import Steps
from mongo_servers import Deployment, deployment

from infinite_memory import Config, MemoryStore, StorageUnavailable, StoreClosed
from infinite_memory.core.values.commit import Commit
from infinite_memory.storage.mongodb import MongoStorage, open_mongodb
from infinite_memory.storage.mongodb.connection import connect
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory.testing.storage_contract import put

pytestmark = pytest.mark.slow("mongodb")

SOON = 15.0
SHORT = ("serverSelectionTimeoutMS=500", "socketTimeoutMS=1000", "connectTimeoutMS=1000")
SIGNALS = [signal.SIGKILL, signal.SIGSTOP]


@pytest.fixture
def own() -> Iterator[Deployment]:
    """Give a server that may be killed: nobody else uses it."""
    with deployment(1) as servers:
        yield servers


@contextmanager
def soon(what: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    took = time.monotonic() - began
    assert took < SOON, f"{what} took {took:.1f} s"


def address_of(servers: Deployment, *options: str) -> str:
    address = servers.address("gone")
    separator = "&" if "?" in address else "?"
    return address + (separator + "&".join(options) if options else "")


def open_store(address: str, home: Path) -> MemoryStore:
    return MemoryStore.open(config=Config(home=home, store=address), embedder=HashingEmbedder())


def stop(servers: Deployment, number: signal.Signals) -> None:
    process = servers.members[0].process
    assert process is not None
    process.send_signal(number)
    if number == signal.SIGKILL:
        process.wait()


@pytest.mark.parametrize("number", SIGNALS)
def test_every_call_gives_up_when_the_address_says_so_and_closing_does_not_wait(
    own: Deployment, tmp_path: Path, number: signal.Signals
) -> None:
    store = open_store(address_of(own, *SHORT), tmp_path)
    store.remember("Alice was born on January 20", id="alice")
    assert store.search("when was Alice born?")[0].memory.id == "alice"
    stop(own, number)
    for what, call in {
        "search": lambda: store.search("Alice"),
        "get": lambda: store.get("alice"),
        "remember": lambda: store.remember("Bob was born in May"),
        "forget": lambda: store.forget("alice"),
        "stats": lambda: store.stats(),
    }.items():
        with soon(what), pytest.raises(StorageUnavailable, match=own.members[0].host):
            call()
    with soon("close"):
        store.close()
    with soon("open"), pytest.raises(StorageUnavailable, match=own.members[0].host):
        open_store(address_of(own, *SHORT), tmp_path)


@pytest.mark.parametrize("number", SIGNALS)
def test_closing_does_not_wait_whatever_the_address_says(
    own: Deployment, tmp_path: Path, number: signal.Signals
) -> None:
    store = open_store(address_of(own), tmp_path)
    store.remember_many([{"text": f"Number {i} is {i * i}"} for i in range(20)])
    # Uses that wait to be stored, and a session that waits to be ended.
    assert store.search("Number 3")
    stop(own, number)
    with soon("close"):
        store.close()
    with pytest.raises(StoreClosed):
        store.search("Number 3")


@pytest.mark.slow("mongodb-endurance")
@pytest.mark.parametrize("number", SIGNALS)
def test_closing_does_not_wait_for_a_call_that_waits(
    own: Deployment, tmp_path: Path, number: signal.Signals
) -> None:
    store = open_store(address_of(own), tmp_path)
    store.remember("Alice was born on January 20")
    stop(own, number)
    began = threading.Event()

    def wait() -> None:
        began.set()
        with suppress(StorageUnavailable, StoreClosed):
            store.remember("Bob was born in May")

    thread = threading.Thread(target=wait)
    thread.start()
    began.wait()
    with soon("close"):
        store.close()
    thread.join()


@pytest.mark.parametrize("option", ["serverSelectionTimeoutMS=500", "timeoutMS=1500"])
def test_one_option_alone_is_enough_where_the_server_is_gone(own: Deployment, option: str) -> None:
    storage = open_mongodb(address_of(own, option))
    storage.commit(Commit(puts=[put("a")]))
    stop(own, signal.SIGKILL)
    with soon("get"), pytest.raises(StorageUnavailable):
        storage.get(["a"])
    with soon("commit"), pytest.raises(StorageUnavailable):
        storage.commit(Commit(puts=[put("b")]))
    with soon("close"):
        storage.close()


@pytest.mark.slow("mongodb-endurance")
@pytest.mark.parametrize("number", SIGNALS)
def test_a_commit_that_meets_the_end_of_the_server_gives_up(
    own: Deployment, number: signal.Signals
) -> None:
    address = address_of(own, *SHORT)
    steps = Steps(3, lambda: stop(own, number))
    storage = MongoStorage(connect(address, event_listeners=[steps]))
    storage.commit(Commit(puts=[put("a")]))
    steps.armed = True
    with soon("commit"), pytest.raises(StorageUnavailable, match=own.members[0].host):
        storage.commit(Commit(puts=[put("b")]))
    steps.armed = False
    with soon("close"):
        storage.close()


@pytest.mark.slow("mongodb-endurance")
def test_without_an_option_a_call_gives_up_while_a_person_would_still_wait(own: Deployment) -> None:
    storage = open_mongodb(address_of(own))
    storage.commit(Commit(puts=[put("a")]))
    stop(own, signal.SIGKILL)
    for what, call in {
        "get": lambda: storage.get(["a"]),
        "commit": lambda: storage.commit(Commit(puts=[put("b")])),
    }.items():
        began = time.monotonic()
        with pytest.raises(StorageUnavailable):
            call()
        took = time.monotonic() - began
        assert took < 20, f"{what} took {took:.1f} s"
    storage.close()


_PROGRAM = """
import os, signal, sys
from infinite_memory import Config, MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder
store = MemoryStore.open(
    config=Config(home=sys.argv[1], store=sys.argv[2]), embedder=HashingEmbedder()
)
store.remember("Alice was born on January 20")
store.search("Alice")
print("ready", flush=True)
sys.stdin.readline()
if sys.argv[3] == "close":
    store.close()
"""


@pytest.mark.slow("mongodb-endurance")
@pytest.mark.parametrize("way", ["close", "leave open"])
@pytest.mark.parametrize("number", SIGNALS)
def test_a_process_ends_soon_without_the_server(
    own: Deployment, tmp_path: Path, number: signal.Signals, way: str
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, str(tmp_path), address_of(own), way],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        stop(own, number)
        with soon("the end of the process"):
            process.communicate("\n")
    assert process.returncode == 0


@pytest.mark.slow("mongodb-endurance")
def test_calls_outlive_an_election(tmp_path: Path) -> None:
    with deployment(3) as servers:
        storage = open_mongodb(servers.address("election"))
        storage.commit(Commit(puts=[put("a")]))
        primary = servers.primary()
        primary.kill()
        assert list(storage.get(["a"])) == ["a"]
        storage.commit(Commit(puts=[put("b")]))
        assert list(storage.get(["a", "b"])) == ["a", "b"]
        # Another election, which a write meets first.
        primary.start()
        servers.primary().kill()
        storage.commit(Commit(puts=[put("c")]))
        assert list(storage.get(["c"])) == ["c"]
        storage.close()
