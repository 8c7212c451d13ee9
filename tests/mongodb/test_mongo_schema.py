"""Stores of another schema, and of the development versions before there was one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from multiprocessing import get_context
from typing import Any

import pytest
from mongo_servers import Deployment
from pymongo import MongoClient
from pymongo.client_session import ClientSession
from pymongo.database import Database

from infinite_memory.core.errors import SchemaTooNew, SchemaTooOld, StoreDamaged
from infinite_memory.core.values.commit import Commit
from infinite_memory.core.values.record import Usage
from infinite_memory.storage.mongodb import migrations, open_existing_mongodb, open_mongodb
from infinite_memory.storage.mongodb.connection import connect
from infinite_memory.storage.mongodb.schema import SCHEMA_VERSION
from infinite_memory.testing.storage_contract import make_access_key, put
from infinite_memory.testing.storage_contract.base import NOW
from infinite_memory.testing.storage_contract.journal import make_action

Raw = Database[dict[str, Any]]
TARGET = SCHEMA_VERSION + 2


@pytest.fixture
def raw(single: Deployment) -> Iterator[Raw]:
    with MongoClient[dict[str, Any]](single.address("schema"), timeoutMS=60_000) as client:
        yield client["schema"]
        client.drop_database("schema")


@pytest.fixture
def address(single: Deployment, raw: Raw) -> str:
    return single.address(raw.name)


def contents(raw: Raw) -> dict[str, list[dict[str, Any]]]:
    return {name: list(raw[name].find()) for name in sorted(raw.list_collection_names())}


def make_earlier(raw: Raw, version: object) -> None:
    """Leave what a development version wrote, as far as it can be told apart by it."""
    raw["metadata"].insert_many(
        [
            {"_id": "writer", "owner": None, "commit": None},
            {
                "_id": "store",
                "identity": "0f1c9a4e-3f5b-4a57-9a0e-6d2f5e6b7c8d",
                "version": version,
                "sequence": 2,
            },
        ]
    )
    raw["scopes"].insert_one({"_id": "Global", "description": ""})
    raw["memories"].insert_one({"_id": "a", "text": "The office is in Milan", "sequence": 2})
    raw["logged_writes"].insert_one({"_id": 1})


@pytest.mark.parametrize("version", [1, 2, 99, "x"])
def test_an_earlier_store_is_refused_with_how_to_move_it_and_left_alone(
    address: str, raw: Raw, version: object
) -> None:
    make_earlier(raw, version)
    before = contents(raw)
    for open_store in (open_mongodb, open_existing_mongodb):
        with pytest.raises(SchemaTooOld) as caught:
            open_store(address)
        sentence = str(caught.value)
        assert f"--json --store {address} > memories.json`" in sentence
        assert "name another database in the address" in sentence
        assert "`infinite-memory remember --from memories.json`" in sentence
        assert "drop the database 'schema'" in sentence
    assert contents(raw) == before


def test_a_new_store_goes_into_another_database_of_the_same_server(
    single: Deployment, address: str, raw: Raw
) -> None:
    make_earlier(raw, 2)
    other = single.address("schema_new")
    try:
        with closing(open_mongodb(other)) as storage:
            storage.commit(Commit(puts=[put("a")]))
        with pytest.raises(SchemaTooOld):
            open_mongodb(address)
    finally:
        single.drop_database("schema_new")


def keep_kinds(database: Raw, session: ClientSession) -> None:
    for memory in database["memories"].find(session=session):
        kind = {"_id": memory["_id"], "kind": memory["kind"]}
        database["kinds"].insert_one(kind, session=session)


def count_memories(database: Raw, session: ClientSession) -> None:
    held = len(list(database["kinds"].find(session=session)))
    database["counted"].insert_one({"held": held}, session=session)


STEPS = {SCHEMA_VERSION: keep_kinds, SCHEMA_VERSION + 1: count_memories}


@pytest.fixture
def schema_1(address: str, raw: Raw) -> str:
    """Return the address of a store as schema 1 left it: without access keys."""
    with closing(open_mongodb(address)) as storage:
        storage.commit(Commit(puts=[put("a")], entry=make_action("a")))
    raw.drop_collection("access_keys")
    raw["metadata"].update_one({"_id": "infinite-memory"}, {"$set": {"version": 1}})
    return address


def _open_and_count(address: str) -> None:
    with closing(open_mongodb(address)) as storage:
        assert storage.access_keys() == {}


def test_a_store_of_schema_1_gets_its_access_keys_whoever_opens_it_first(
    schema_1: str, raw: Raw
) -> None:
    spawn = get_context("forkserver")
    openers = [spawn.Process(target=_open_and_count, args=(schema_1,)) for _ in range(4)]
    for process in openers:
        process.start()
    for process in openers:
        process.join()
    assert [process.exitcode for process in openers] == [0] * 4
    assert raw["metadata"].find_one({"version": SCHEMA_VERSION}) is not None
    assert "access_keys" in raw.list_collection_names()
    key = make_access_key("aaaaaaaa")
    with closing(open_mongodb(schema_1)) as storage:
        assert list(storage.get(["a"])) == ["a"]
        assert [entry.action for entry in storage.journal(limit=9)] == [make_action("a")]
        storage.commit(Commit(access_keys=[key]))
        assert storage.access_keys() == {"aaaaaaaa": key}


_RECALLED = Usage(count=3, last=NOW)


@pytest.fixture
def schema_2(address: str, raw: Raw) -> str:
    """Return the address of a store as schema 2 left it: without activations."""
    with closing(open_mongodb(address)) as storage:
        storage.commit(Commit(puts=[put("a")], entry=make_action("a")))
        storage.count_usage({"a": _RECALLED})
    assert set(raw["usage"].find_one() or {}) == {"_id", "count", "last", "checksum"}
    raw["metadata"].update_one({"_id": "infinite-memory"}, {"$set": {"version": 2}})
    return address


def _open_and_read_usage(address: str) -> None:
    with closing(open_mongodb(address)) as storage:
        assert storage.usage(["a"]) == {"a": _RECALLED}


def test_a_store_of_schema_2_keeps_its_recalls_and_takes_activations(
    schema_2: str, raw: Raw
) -> None:
    spawn = get_context("forkserver")
    openers = [spawn.Process(target=_open_and_read_usage, args=(schema_2,)) for _ in range(4)]
    for process in openers:
        process.start()
    for process in openers:
        process.join()
    assert [process.exitcode for process in openers] == [0] * 4
    assert raw["metadata"].find_one({"version": SCHEMA_VERSION}) is not None
    activation = Usage(count=0, activation=5.0, activated_at=NOW)
    with closing(open_mongodb(schema_2)) as storage:
        storage.count_usage({"a": activation})
        assert storage.usage(["a"]) == {"a": _RECALLED.plus(activation)}
        assert [entry.action for entry in storage.journal(limit=9)] == [make_action("a")]


def test_a_program_of_schema_2_counts_nothing_in_a_store_brought_forward(
    address: str, raw: Raw
) -> None:
    """It would write the usage of a memory without the activation."""
    with closing(open_mongodb(address)) as storage:
        storage.commit(Commit(puts=[put("a")]))
        raw["metadata"].update_one({}, {"$set": {"version": SCHEMA_VERSION + 1}})
        with pytest.raises(SchemaTooNew, match="upgrade infinite-memory"):
            storage.count_usage({"a": _RECALLED})
        assert list(raw["usage"].find()) == []


@pytest.fixture
def older(address: str) -> str:
    """Return the address of a store of today, which is an older one to the next versions."""
    with closing(open_mongodb(address)) as storage:
        storage.commit(Commit(puts=[put("a"), put("b")]))
    return address


def bring_forward(address: str, steps: Mapping[int, migrations.Step] = STEPS) -> bool:
    """Do what a program of a newer version does when it opens the store."""
    connection = connect(address)
    try:
        return migrations.migrate(connection, steps=steps, target=TARGET)
    finally:
        connection.client.close()


def test_an_older_store_is_brought_forward_once_whoever_opens_it(older: str, raw: Raw) -> None:
    spawn = get_context("forkserver")
    openers = [spawn.Process(target=bring_forward, args=(older,)) for _ in range(4)]
    for process in openers:
        process.start()
    for process in openers:
        process.join()
    assert [process.exitcode for process in openers] == [0] * 4
    assert [each["held"] for each in raw["counted"].find()] == [2]
    assert raw["metadata"].find_one({"version": TARGET}) is not None
    assert not bring_forward(older)


def test_a_step_that_fails_leaves_the_schema_before_it(older: str, raw: Raw) -> None:
    def fail(database: Raw, session: ClientSession) -> None:
        count_memories(database, session)
        raise KeyError("no such kind")

    with pytest.raises(KeyError):
        bring_forward(older, {**STEPS, SCHEMA_VERSION + 1: fail})
    assert raw["metadata"].find_one({"version": SCHEMA_VERSION + 1}) is not None
    assert list(raw["counted"].find()) == []
    assert bring_forward(older)
    assert [each["held"] for each in raw["counted"].find()] == [2]


def test_an_older_program_is_refused_from_then_on(older: str) -> None:
    with closing(open_mongodb(older)) as storage:
        assert bring_forward(older)
        with pytest.raises(SchemaTooNew, match=f"its schema is {TARGET}"):
            storage.commit(Commit(puts=[put("late")]))
        with pytest.raises(SchemaTooNew, match="upgrade infinite-memory"):
            open_mongodb(older)


def test_a_schema_without_a_step_is_damage(older: str, raw: Raw) -> None:
    raw["metadata"].update_one({}, {"$set": {"version": -3}})
    with pytest.raises(StoreDamaged, match="has schema -3, which no version of this package wrote"):
        bring_forward(older)
