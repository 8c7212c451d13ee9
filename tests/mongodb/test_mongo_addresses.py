"""Addresses that are malformed, weak or wrong: said so, and never with the password."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator

import pytest
from mongo_servers import Deployment, deployment
from pymongo import MongoClient

from infinite_memory.core.errors import (
    ConfigurationError,
    SchemaTooNew,
    StorageUnavailable,
    StoreDamaged,
)
from infinite_memory.core.values.address import masked
from infinite_memory.core.values.commit import Commit
from infinite_memory.storage.mongodb import open_mongodb
from infinite_memory.storage.mongodb.connection import version_of
from infinite_memory.storage.mongodb.schema import SCHEMA_VERSION
from infinite_memory.testing.storage_contract import put

SECRET = "hunter2"
# What a server answers to `buildInfo`, shortened.
ANSWER = {"version": "6.0.5", "versionArray": [6, 0, 5, 0], "gitVersion": "c9a99c1", "ok": 1.0}


@pytest.mark.parametrize(
    "address",
    [
        f"mongodb://user:{SECRET}/x@127.0.0.1:1/db",
        f"mongodb://user:{SECRET}@@127.0.0.1:1/db",
        f"mongodb://user:x@{SECRET}@127.0.0.1:1/db",
        f"mongodb://us/er:{SECRET}@127.0.0.1:1/db",
        f"mongodb://us@er:{SECRET}@127.0.0.1:1/db",
        f"mongodb://user:{SECRET}%@127.0.0.1:1/db",
        f"mongodb://user:a:{SECRET}@127.0.0.1:1/db",
        f"mongodb://user:{SECRET}?x@127.0.0.1:1/db",
        f"mongodb://user:#{SECRET}@127.0.0.1:1/db",
        f"mongodb://:{SECRET}@127.0.0.1:1/db",
        f"mongodb://user:{SECRET}@127.0.0.1:port/db",
        f"mongodb://user:{SECRET}@127.0.0.1:99999/db",
        f"mongodb://user:{SECRET}@/db",
        f"mongodb://user:{SECRET}@127.0.0.1:1/a b",
        f"mongodb://user:{SECRET}@127.0.0.1:1/a$b",
        f"mongodb://user:{SECRET}@127.0.0.1:1/db.collection",
        f"mongodb://user:{SECRET}@127.0.0.1:1/admin",
        f"mongodb://user:{SECRET}@127.0.0.1:1/local",
        f"mongodb://user:{SECRET}@127.0.0.1:1/db?nonsense=1",
        f"mongodb://user:{SECRET}@127.0.0.1:1/db?w",
        f"mongodb://user:{SECRET}@127.0.0.1:1/db?&&&",
        f"mongodb://127.0.0.1:1/db?tls=true&tlsCertificateKeyFilePassword={SECRET}&x=y",
        f"mongodb+srv://user:{SECRET}@127.0.0.1/db",
        f"mongodb+srv://user:{SECRET}@a.b.example:27017/db",
        "mongodb://",
        "mongodb:///",
        "mongodb:",
        "",
        "mongo://127.0.0.1/db",
    ],
)
@pytest.mark.parametrize("option", ["", "w=1", "journal=false"])
def test_an_address_that_cannot_be_used_is_refused_without_its_password(
    address: str, option: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    if option:
        address += ("&" if "?" in address else "?") + option
    with pytest.raises(ConfigurationError) as caught:
        open_mongodb(address)
    said = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert SECRET not in said.replace(f'"{address}"', "")
    assert SECRET not in caplog.text


@pytest.mark.parametrize(
    "option",
    [
        *("w=0", "w=1", "w=2", "journal=false", "readConcernLevel=local", "retryWrites=false"),
        *("readConcernLevel=available", "readPreference=secondary", "retryReads=false"),
        *("readPreference=nearest", "readPreference=primaryPreferred", "W=1", "JOURNAL=false"),
        *("readPreference=secondaryPreferred", "j=false", "w=0&journal=false"),
    ],
)
def test_an_address_that_weakens_what_is_acknowledged_is_refused(option: str) -> None:
    with pytest.raises(ConfigurationError, match=r"leave it out|cannot be used"):
        open_mongodb(f"mongodb://127.0.0.1:1/db?{option}")


def test_an_address_that_asks_for_what_is_done_anyway_is_taken(single: Deployment) -> None:
    strong = "&w=majority&journal=true&readConcernLevel=majority&retryWrites=true"
    with_options = single.address("strong") + strong + "&readPreference=primary"
    storage = open_mongodb(with_options)
    storage.commit(Commit(puts=[put("a")]))
    storage.close()
    with MongoClient(single.address("strong")) as client:
        client.drop_database("strong")


def test_a_password_is_masked_however_it_is_written() -> None:
    assert masked("mongodb://u:p@h/d") == "mongodb://u:***@h/d"
    assert masked("mongodb://u:p/q@r:s@h/d") == "mongodb://u:***@h/d"
    assert masked("mongodb://h:1/d") == "mongodb://h:1/d"
    assert masked("mongodb://h/d?proxyPassword=p&x=y") == "mongodb://h/d?proxyPassword=***&x=y"


@pytest.mark.parametrize(
    ("version", "numbers"),
    [("4.4.29", [4, 4, 29, 0]), ("4.0.0", [4, 0, 0, 0]), ("3.6.23", [3, 6, 23, 0])],
)
def test_an_old_server_is_refused_with_the_reason(version: str, numbers: list[int]) -> None:
    with pytest.raises(
        StorageUnavailable, match=rf"runs MongoDB {version}.*version 5.0 or newer: upgrade"
    ):
        version_of({**ANSWER, "version": version, "versionArray": numbers}, "place")


@pytest.mark.parametrize("numbers", [None, "6.0", [], [5], ["6", "0"], {}, [None, 0, 0]])
def test_what_is_no_version_is_refused(numbers: object) -> None:
    with pytest.raises(StorageUnavailable):
        version_of({**ANSWER, "versionArray": numbers}, "place")
    with pytest.raises(StorageUnavailable):
        version_of({}, "place")


def test_new_servers_are_accepted() -> None:
    assert version_of(ANSWER, "place") == (6, 0, 5)
    assert version_of({**ANSWER, "versionArray": [8, 2, 0, 0]}, "place") == (8, 2, 0)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Give a server with access control, a user who may write and one who may read."""
    key = tmp_path_factory.mktemp("guarded") / "keyfile"
    key.write_text("c2VjcmV0c2VjcmV0")
    key.chmod(0o600)
    with deployment(1, extra=("--auth", "--keyFile", str(key))) as servers:
        with servers.members[0].client() as client:
            client.admin.command("createUser", "root", pwd=SECRET, roles=["root"])
        with MongoClient(_as("root", servers, "admin") + "?authSource=admin") as client:
            for user, role in (("writer", "readWrite"), ("reader", "read")):
                client["guarded"].command("createUser", user, pwd=SECRET, roles=[role])
        yield servers


def _as(user: str, servers: Deployment, database: str, password: str = SECRET) -> str:
    return f"mongodb://{user}:{password}@{servers.members[0].host}/{database}"


@pytest.mark.parametrize(
    ("user", "password"),
    [("writer", "wrong" + SECRET), ("nobody", SECRET), ("root", SECRET)],
)
def test_a_wrong_user_or_password_is_refused(
    guarded: Deployment, user: str, password: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(StorageUnavailable, match=r"user or the password.*authSource") as caught:
        open_mongodb(_as(user, guarded, "guarded", password))
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    assert SECRET not in caplog.text


def test_no_user_where_one_is_needed_is_refused(guarded: Deployment) -> None:
    with pytest.raises(StorageUnavailable, match="readWrite"):
        open_mongodb(f"mongodb://{guarded.members[0].host}/guarded")


def test_a_user_who_may_only_read_reads(guarded: Deployment) -> None:
    with pytest.raises(StorageUnavailable, match="role readWrite"):
        open_mongodb(_as("reader", guarded, "guarded"))
    writer = open_mongodb(_as("writer", guarded, "guarded"))
    writer.commit(Commit(puts=[put("a")]))
    reader = open_mongodb(_as("reader", guarded, "guarded"))
    assert reader.get(["a"]) == writer.get(["a"])
    assert reader.position() == writer.position() == 1
    with pytest.raises(StorageUnavailable, match=r"role readWrite .* nothing was changed"):
        reader.commit(Commit(puts=[put("b")]))
    assert [change.id for change in writer.changes(0, limit=9).items] == ["a"]
    writer.commit(Commit(puts=[put("c")]))
    for storage in (writer, reader):
        storage.close()


@pytest.mark.parametrize(
    ("collection", "document"),
    [
        ("memories", {"_id": "theirs", "text": "not ours"}),
        ("passages", {"_id": 1}),
        ("scopes", {"_id": "theirs"}),
        ("metadata", {"_id": "theirs"}),
        ("erased", {"_id": "theirs"}),
    ],
)
def test_a_database_of_somebody_else_is_left_alone(
    single: Deployment, collection: str, document: dict[str, object]
) -> None:
    with single.members[0].client() as client:
        client["foreign"][collection].insert_one(document)
        try:
            with pytest.raises(StorageUnavailable, match=r"of another program.*another database"):
                open_mongodb(single.address("foreign"))
            assert client["foreign"].list_collection_names() == [collection]
            assert list(client["foreign"][collection].find()) == [document]
        finally:
            client.drop_database("foreign")


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"$set": {"version": SCHEMA_VERSION + 1}}, SchemaTooNew),
        ({"$set": {"version": "x"}}, StoreDamaged),
        ({"$unset": {"version": 1}}, StoreDamaged),
        ({"$set": {"identity": 7}}, StoreDamaged),
    ],
)
def test_a_store_of_another_version_is_left_alone(
    single: Deployment, change: dict[str, object], error: type[Exception]
) -> None:
    address = single.address("another_version")
    storage = open_mongodb(address)
    storage.commit(Commit(puts=[put("a")]))
    storage.close()
    with single.members[0].client() as client:
        database = client["another_version"]
        try:
            database["metadata"].update_one({"_id": "infinite-memory"}, change)
            before = database["metadata"].find_one({"_id": "infinite-memory"})
            with pytest.raises(error):
                open_mongodb(address)
            assert database["metadata"].find_one({"_id": "infinite-memory"}) == before
        finally:
            client.drop_database("another_version")
