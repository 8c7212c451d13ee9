"""A server without transactions is refused, with the commands that give it transactions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from mongo_servers import Deployment, Member, reserved_ports, scratch
from pymongo import MongoClient, WriteConcern

from infinite_memory.core.errors import StorageUnavailable
from infinite_memory.core.values.commit import Commit
from infinite_memory.storage.mongodb import open_existing_mongodb, open_mongodb
from infinite_memory.storage.mongodb.connection import connect, refuse_standalone
from infinite_memory.storage.mongodb.managed.open import open_managed
from infinite_memory.testing.storage_contract import put

pytestmark = pytest.mark.slow("mongodb")

RESTART = "`mongod --replSet rs0`"


@pytest.fixture
def folder() -> Iterator[Path]:
    with scratch("im-alone-") as path:
        yield path / "data"


@pytest.fixture
def port() -> Iterator[int]:
    with reserved_ports(1) as (port,):
        yield port


def start(folder: Path, port: int, replica_set: str | None) -> Member:
    member = Member(folder, port, replica_set=replica_set, extra=())
    member.start()
    return member


def contents(member: Member) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Return every document of the databases of users."""
    with member.client() as client:
        names = [n for n in client.list_database_names() if n not in ("admin", "config", "local")]
        return {
            name: {each: list(client[name][each].find()) for each in collections}
            for name in names
            for collections in [client[name].list_collection_names()]
        }


def refusal(address: str) -> str:
    with pytest.raises(StorageUnavailable) as caught:
        open_mongodb(address)
    return str(caught.value)


def initiate(member: Member, sentence: str) -> None:
    """Do what the second command of the sentence does, and wait for the primary."""
    command = re.search(r"`mongosh (\S+) --eval 'rs\.initiate\(\)'`", sentence)
    assert command is not None, sentence
    with MongoClient(f"mongodb://{command[1]}/?directConnection=true") as client:
        client.admin.command("replSetInitiate", {})
    assert command[1] == member.host
    Deployment([member], "rs0").primary()


def test_a_standalone_server_is_refused_and_accepted_after_the_two_commands(
    folder: Path, port: int
) -> None:
    address = f"mongodb://127.0.0.1:{port}/claude_memory"
    member = start(folder, port, None)
    try:
        with member.client() as client:
            # Journaled: a server that is stopped at once may lose any other write.
            journaled = client.get_database("theirs", write_concern=WriteConcern(j=True))
            journaled["notes"].insert_one({"_id": 1, "text": "kept"})
        before = contents(member)
        sentence = refusal(address)
        assert RESTART in sentence
        assert "nothing was changed" in sentence
        with pytest.raises(StorageUnavailable, match="standalone server"):
            open_existing_mongodb(address)
        assert contents(member) == before
        member.stop()
        member = start(folder, port, "rs0")
        initiate(member, sentence)
        with closing(open_mongodb(address)) as storage:
            storage.commit(Commit(puts=[put("a")]))
            assert list(storage.get(["a"])) == ["a"]
        assert contents(member)["theirs"] == before["theirs"]
    finally:
        member.stop()


def test_a_store_whose_server_was_started_alone_opens_again_as_a_replica_set(
    folder: Path, port: int
) -> None:
    address = f"mongodb://127.0.0.1:{port}/claude_memory"
    member = start(folder, port, "rs0")
    try:
        initiate(member, refusal(address))
        with closing(open_mongodb(address)) as storage:
            storage.commit(Commit(puts=[put("a")]))
            identity = storage.identity
        member.stop()
        member = start(folder, port, None)
        before = contents(member)
        assert RESTART in refusal(address)
        assert contents(member) == before
        member.stop()
        member = start(folder, port, "rs0")
        with closing(open_mongodb(address)) as storage:
            assert storage.identity == identity
            assert list(storage.get(["a"])) == ["a"]
    finally:
        member.stop()


@pytest.mark.parametrize("option", ["", "?directConnection=true"])
def test_a_member_whose_replica_set_was_never_initiated_is_refused_with_the_command(
    folder: Path, port: int, option: str
) -> None:
    member = start(folder, port, "rs0")
    try:
        address = f"mongodb://127.0.0.1:{port}/claude_memory"
        sentence = refusal(address + option)
        assert "not initiated" in sentence
        assert "--replSet" not in sentence
        initiate(member, sentence)
        with closing(open_mongodb(address)) as storage:
            storage.commit(Commit(puts=[put("a")]))
    finally:
        member.stop()


def test_the_managed_server_is_a_replica_set_of_one(managed_home: Path) -> None:
    with closing(open_managed(managed_home)) as storage:
        hello = storage._connection.client.admin.command("hello")
        assert hello["setName"]
        assert hello["isWritablePrimary"]
        assert len(hello["hosts"]) == 1
        storage.commit(Commit(puts=[put("a")]))


@pytest.mark.parametrize(
    ("node", "command"),
    [
        (("localhost", 27017), "`mongosh --eval 'rs.initiate()'`"),
        (("127.0.0.1", 27017), "`mongosh --eval 'rs.initiate()'`"),
        (("127.0.0.1", 27018), "`mongosh 127.0.0.1:27018 --eval 'rs.initiate()'`"),
        (("db1.example.org", 27017), "`mongosh db1.example.org:27017 --eval 'rs.initiate()'`"),
        (("::1", 27017), "`mongosh mongodb://[::1]:27017 --eval 'rs.initiate()'`"),
        (("/tmp/m.sock", None), "`mongosh mongodb://%2Ftmp%2Fm.sock --eval 'rs.initiate()'`"),
    ],
)
def test_the_command_names_the_server_unless_it_is_where_mongosh_looks(
    node: tuple[str, int | None], command: str
) -> None:
    with pytest.raises(StorageUnavailable, match=re.escape(command)):
        refuse_standalone({"isWritablePrimary": True}, "place", [node])


def test_a_replica_set_and_a_sharded_cluster_are_accepted(single: Deployment) -> None:
    connect(single.address("any")).client.close()
    refuse_standalone({"msg": "isdbgrid"}, "place", [])
