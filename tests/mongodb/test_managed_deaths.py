"""The server is killed, between calls and in the middle of them, and its users hardly notice."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from managed_processes import kill_server, server, servers, users
from pymongo.errors import AutoReconnect

from infinite_memory import Config, MemoryStore, StoreClosed
from infinite_memory.storage.mongodb.managed.binary import find_mongod
from infinite_memory.storage.mongodb.managed.open import open_managed
from infinite_memory.storage.mongodb.managed.server import Server
from infinite_memory.storage.mongodb.managed.sharing import hold_start_lock
from infinite_memory.testing.embedders import HashingEmbedder

pytestmark = pytest.mark.slow("mongodb")

KILLS = 3
AFTER = 6


def opened(home: Path) -> MemoryStore:
    config = Config(home=home, storage="managed")
    return MemoryStore.open(config=config, embedder=HashingEmbedder())


def test_each_call_after_a_kill_starts_the_server_again(managed_home: Path) -> None:
    with opened(managed_home) as store:
        store.remember("the first word", id="one")
        kill_server(managed_home)
        assert [hit.memory.id for hit in store.search("first word")] == ["one"]
        kill_server(managed_home)
        store.remember("the second word", id="two")
        kill_server(managed_home)
        assert store.get("two").text == "the second word"
        kill_server(managed_home)
        store.revise("one", revision=1, text="the third word")
        kill_server(managed_home)
        assert [each.revision for each in store.journal.history("one")] == [1, 2]
        kill_server(managed_home)
        assert [memory.id for memory in store.browse().memories] == ["two", "one"]
        kill_server(managed_home)
        assert store.stats().by_scope == {"Global": 2}
        kill_server(managed_home)
        assert sum(store.stats().by_scope.values()) == 2
        assert server(managed_home)


def test_closing_after_a_kill_leaves_nothing(managed_home: Path) -> None:
    store = opened(managed_home)
    store.remember("the first word", id="one")
    kill_server(managed_home)
    store.close()
    assert servers(managed_home) == []


@pytest.mark.slow("mongodb-endurance")
def test_closing_does_not_wait_for_a_server_that_hangs(managed_home: Path) -> None:
    store = opened(managed_home)
    store.remember("the first word", id="one")
    assert store.search("first word")
    os.kill(server(managed_home), signal.SIGSTOP)
    began = time.monotonic()
    store.close()
    took = time.monotonic() - began
    # It was more than a minute.
    assert took < 30, f"{took:.1f} s"
    assert servers(managed_home) == []


def test_what_fails_while_the_store_is_closed_starts_no_server(managed_home: Path) -> None:
    storage = open_managed(managed_home)

    class Lost(list[str]):
        """Ids that are read when another thread has just closed the store."""

        def __iter__(self) -> Iterator[str]:
            storage.close()
            raise AutoReconnect("connection closed")

    with pytest.raises(StoreClosed):
        storage.get(Lost())
    assert servers(managed_home) == []


@pytest.mark.slow("mongodb-endurance")
def test_kills_in_the_middle_of_writes_and_searches_lose_nothing(managed_home: Path) -> None:
    with users(managed_home, 3) as (one, two, reader):
        assert [user.answer() for user in (one, two, reader)] == ["opened"] * 3
        one.send("stream", "a", "word")
        two.send("stream", "b", "word")
        told: list[str] = []
        reader.send("watch", "word")
        seen = [0]
        for _ in range(KILLS):
            kill_server(managed_home)
            for _ in range(AFTER):
                told += [one.answer(), two.answer()]
                seen.append(reader.answer())
        for user in (one, two, reader):
            user.kill()
        told += [each for user in (one, two) for each in user.rest()]
        seen += reader.rest()
    assert [each for each in (*told, *seen) if isinstance(each, dict)] == []
    # What was found once is found for ever after, and so is what was acknowledged.
    assert seen == sorted(seen)
    with users(managed_home, 1) as (last,):
        assert last.answer() == "opened"
        found = last.ask("found", "word")
        assert set(told) <= set(found)
        assert len(found) <= len(told) + 2
        assert last.ask("close") is None


@pytest.mark.slow("mongodb-endurance")
def test_kills_while_a_store_is_opened_are_survived(managed_home: Path) -> None:
    with users(managed_home, 1) as (first,):
        assert first.answer() == "opened"
        with users(managed_home, 4, wait=True) as others:
            assert [user.answer() for user in others] == ["waits"] * 4
            for user in others:
                user.send("go")
                kill_server(managed_home)
                assert first.ask("count") == 0
            assert [user.answer() for user in others] == ["opened"] * 4
            assert [user.ask("close") for user in others] == [None] * 4
        assert first.ask("close") is None


@pytest.mark.slow("mongodb-endurance")
def test_a_server_that_hangs_is_started_anew(
    managed_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "infinite_memory.storage.mongodb.managed.server"
    monkeypatch.setattr(f"{module}._PATIENCE_SECONDS", 0.5)
    monkeypatch.setattr(f"{module}._HUNG_SECONDS", 0.5)
    with opened(managed_home) as store:
        store.remember("the first word", id="one")
        hung = server(managed_home)
        os.kill(hung, signal.SIGSTOP)
        another = Server(managed_home, find_mongod())
        with hold_start_lock(another.folder):
            another.ensure()
        assert hung not in servers(managed_home)
        assert store.get("one").text == "the first word"
