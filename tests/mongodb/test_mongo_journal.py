"""The journal, links and usage in a database: altered by others, and in a race."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from multiprocessing import get_context
from multiprocessing.synchronize import Event
from typing import Any

import pytest
from mongo_deaths import KILLED, Steps, abort_transactions, open_listening
from mongo_servers import Deployment
from pymongo import MongoClient
from pymongo.database import Database

from infinite_memory import MemoryStore
from infinite_memory.core.errors import StoreDamaged
from infinite_memory.core.values.commit import Commit, Erase
from infinite_memory.core.values.entry import JournalEnd, entry_digest
from infinite_memory.core.values.record import Usage
from infinite_memory.core.values.verification import RecordKind
from infinite_memory.storage.mongodb import MongoStorage, open_mongodb
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory.testing.storage_contract import put
from infinite_memory.testing.storage_contract.base import NOW, make_link
from infinite_memory.testing.storage_contract.journal import make_action

pytestmark = pytest.mark.slow("mongodb")

Raw = Database[dict[str, Any]]
WRITERS = 3
COMMITS = 30
LINKED = '["a", "b", "semantic"]'


@pytest.fixture
def servers(single: Deployment) -> Deployment:
    return single


@pytest.fixture
def raw(servers: Deployment) -> Iterator[Raw]:
    with MongoClient(servers.address("journal"), timeoutMS=30_000) as client:
        yield client["journal"]
        client.drop_database("journal")


@pytest.fixture
def address(servers: Deployment, raw: Raw) -> str:
    return servers.address(raw.name)


@pytest.fixture
def storage(address: str) -> Iterator[MongoStorage]:
    storage = open_mongodb(address)
    storage.commit(Commit(puts=[put("a"), put("b")], entry=make_action("a", "b")))
    storage.commit(Commit(links=[make_link("a", "b")], entry=make_action("b")))
    storage.commit(Commit(puts=[put("a", revision=2)], entry=make_action("a")))
    storage.count_usage({"a": Usage(count=2, last=NOW), "b": Usage(count=1, last=NOW)})
    yield storage
    storage.close()


ALTERED = [
    {"$set": {"body": "{}"}},
    {"$set": {"body": 5}},
    {"$unset": {"body": 1}},
    {"$set": {"digest": bytes(32)}},
    {"$set": {"digest": "x"}},
    {"$set": {"client": "somebody else"}},
    {"$set": {"memory_ids": ["b", "c"]}},
    {"$set": {"extra": 1}},
]


@pytest.mark.parametrize("change", ALTERED, ids=str)
def test_an_altered_entry_is_named_and_not_returned(
    storage: MongoStorage, raw: Raw, change: dict[str, Any]
) -> None:
    raw["journal"].update_one({"_id": 2}, change)
    with pytest.raises(StoreDamaged, match="entry 2 of the journal"):
        storage.journal(limit=9)
    with pytest.raises(StoreDamaged, match="entry 2 of the journal"):
        storage.journal(limit=1, before=3, memory_id="b")
    assert [entry.number for entry in storage.journal(before=2, limit=9)] == [1]
    storage.commit(Commit(entry=make_action("c")))
    assert [entry.number for entry in storage.journal(limit=1)] == [4]


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_missing_entry_is_named(storage: MongoStorage, raw: Raw, number: int) -> None:
    raw["journal"].delete_one({"_id": number})
    with pytest.raises(StoreDamaged, match=f"entry {number} of the journal .* is missing"):
        storage.journal(limit=9)


def test_a_journal_written_anew_does_not_end_as_it_was_noted(
    storage: MongoStorage, raw: Raw
) -> None:
    """Whoever can compute digests can make a chain, and it still ends in another one."""
    previous = storage.journal(before=3, limit=1)[0].digest
    last = raw["journal"].find_one({"_id": 3})
    assert last is not None
    body = last["body"].replace("remember", "forget")
    raw["journal"].update_one(
        {"_id": 3},
        {"$set": {"body": body, "operation": "forget", "digest": entry_digest(previous, 3, body)}},
    )
    with pytest.raises(StoreDamaged, match="entry 3"):
        storage.journal(limit=1)


@pytest.mark.parametrize("change", [{"$unset": {"journal": 1}}, {"$set": {"journal.number": "3"}}])
def test_a_store_that_lost_the_end_of_its_journal_is_not_written(
    storage: MongoStorage, raw: Raw, change: dict[str, Any]
) -> None:
    raw["metadata"].update_one({"_id": "infinite-memory"}, change)
    with pytest.raises(StoreDamaged, match=r"end of its journal.*backup"):
        storage.journal_end()
    with pytest.raises(StoreDamaged, match=r"end of its journal.*backup"):
        storage.commit(Commit(puts=[put("more")]))
    assert storage.get(["more"]) == {}


def test_an_altered_link_is_left_out_and_can_be_put_again(storage: MongoStorage, raw: Raw) -> None:
    storage.commit(Commit(links=[make_link("b", "a")]))
    assert raw["links"].update_one({"_id": LINKED}, {"$set": {"weight": 0.5}}).modified_count
    raw["links"].insert_one({"_id": 5, "source": "a", "target": "b"})
    assert storage.links(["a"]) == [make_link("b", "a")]
    assert {each.part for each in storage.damage()} == {RecordKind.LINK}
    raw["links"].delete_one({"_id": 5})
    storage.commit(Commit(links=[make_link("a", "b")]))
    assert storage.links(["b"]) == [make_link("a", "b"), make_link("b", "a")]


def test_an_altered_usage_is_left_out_and_counted_anew(storage: MongoStorage, raw: Raw) -> None:
    raw["usage"].update_one({"_id": "a"}, {"$set": {"count": 900}})
    assert storage.usage(["a", "b"]) == {"b": Usage(count=1, last=NOW)}
    assert [(each.part, each.id) for each in storage.damage()] == [(RecordKind.USAGE, "a")]
    storage.count_usage({"a": Usage(count=1, last=NOW)})
    assert storage.usage(["a"]) == {"a": Usage(count=1, last=NOW)}
    assert storage.damage() == ()


def test_an_activation_is_a_field_only_where_there_is_one_and_is_checked(
    storage: MongoStorage, raw: Raw
) -> None:
    activation = Usage(count=0, activation=5.1, activated_at=NOW)
    storage.commit(Commit(puts=[put("new")]))
    storage.count_usage({"a": activation, "new": activation})
    fields = {each["_id"]: set(each) for each in raw["usage"].find()}
    assert fields == {
        "a": {"_id", "count", "last", "activation", "activated_at", "checksum"},
        "b": {"_id", "count", "last", "checksum"},
        "new": {"_id", "count", "activation", "activated_at", "checksum"},
    }
    raw["usage"].update_one({"_id": "new"}, {"$set": {"activation": 6.0}})
    assert storage.usage(["new"]) == {}
    assert [(each.part, each.id) for each in storage.damage()] == [(RecordKind.USAGE, "new")]
    storage.count_usage({"new": activation})
    assert storage.usage(["new"]) == {"new": activation}


def test_verify_names_what_is_damaged_beside_the_memories(address: str, raw: Raw) -> None:
    with closing(open_mongodb(address)) as storage:
        storage.commit(Commit(puts=[put("a"), put("b")], links=[make_link("a", "b")]))
        storage.commit(Commit(entry=make_action("a", "b")))
        storage.count_usage({each: Usage(count=1, last=NOW) for each in "ab"})
        with MemoryStore.open(storage=storage, embedder=HashingEmbedder()) as store:
            sound = store.verify()
            counted = {name: sound.counts[name] for name in ("links", "usage", "entries")}
            assert (sound.findings, counted) == ((), {"links": 1, "usage": 2, "entries": 1})
            raw["links"].update_one({"_id": LINKED}, {"$set": {"reason": "by hand"}})
            raw["usage"].update_one({"_id": "a"}, {"$inc": {"count": 1}})
            raw["journal"].update_one({"_id": 1}, {"$set": {"client": "by hand"}})
            parts = sorted(each.part for each in store.verify().findings)
            assert parts == [RecordKind.JOURNAL, RecordKind.LINK, RecordKind.USAGE]


def write(address: str, name: str, start: Event) -> None:
    storage = open_mongodb(address)
    start.wait()
    for number in range(COMMITS):
        memory_id = f"{name}-{number}"
        storage.commit(Commit(puts=[put(memory_id)], entry=make_action(memory_id)))
        storage.count_usage({"shared": Usage(count=1, last=NOW)})
    storage.close()


def test_processes_that_commit_at_once_leave_one_unbroken_chain(address: str) -> None:
    spawn = get_context("forkserver")
    with closing(open_mongodb(address)) as storage:
        storage.commit(Commit(puts=[put("shared")]))
        start = spawn.Event()
        names = [f"w{number}" for number in range(WRITERS)]
        writers = [spawn.Process(target=write, args=(address, name, start)) for name in names]
        for process in writers:
            process.start()
        start.set()
        for process in writers:
            process.join()
        assert [process.exitcode for process in writers] == [0] * WRITERS
        entries = storage.journal(limit=1000)[::-1]
        assert [entry.number for entry in entries] == list(range(1, WRITERS * COMMITS + 1))
        digest = bytes(32)
        for entry in entries:
            digest = entry_digest(digest, entry.number, entry.action.to_text())
            assert entry.digest == digest
        assert storage.journal_end() == JournalEnd(number=WRITERS * COMMITS, digest=digest)
        wanted = {f"{name}-{number}" for name in names for number in range(COMMITS)}
        assert {step.id for entry in entries for step in entry.action.memories} == wanted
        assert storage.usage(["shared"]) == {"shared": Usage(count=WRITERS * COMMITS, last=NOW)}


def count_and_die(address: str, at: int) -> None:
    storage = open_listening(address, steps := Steps(at, lambda: os._exit(KILLED)))
    steps.armed = True
    storage.count_usage({"a": Usage(count=5, last=NOW), "b": Usage(count=7, last=NOW)})
    steps.reach()
    steps.armed = False
    storage.close()


def test_a_count_that_was_killed_at_any_step_is_whole_or_not_there(
    single: Deployment,
) -> None:
    address = single.address("killed_counts")
    spawn = get_context("forkserver")
    seen = []
    try:
        for step in range(1, 60):
            with closing(open_mongodb(address)) as storage:
                storage.commit(
                    Commit(
                        erases=[Erase(id="a"), Erase(id="b")],
                        puts=[put("a"), put("b")],
                    )
                )
                child = spawn.Process(target=count_and_die, args=(address, step))
                child.start()
                child.join()
                if step % 8:
                    abort_transactions(address)
                with closing(open_mongodb(address)) as other:
                    found = other.usage(["a", "b"])
                    assert storage.usage(["a", "b"]) == found
                assert [usage.count for usage in found.values()] in ([], [5, 7])
                seen.append(bool(found))
            if child.exitcode == 0:
                break
    finally:
        with MongoClient(address, timeoutMS=30_000) as client:
            client.drop_database("killed_counts")
    assert child.exitcode == 0, "the count has no end"
    assert min(seen.count(True), seen.count(False)) >= 2
