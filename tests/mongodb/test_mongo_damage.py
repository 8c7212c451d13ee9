"""What others change behind our back is named, left out, and does not spoil the rest."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import bson
import pytest
from bson.raw_bson import RawBSONDocument
from mongo_servers import Deployment
from pymongo import MongoClient
from pymongo.database import Database

from infinite_memory import MemoryStore
from infinite_memory.core.errors import Conflict, StorageUnavailable, StoreDamaged
from infinite_memory.core.protocols import Storage, SupportsDamage
from infinite_memory.core.values.commit import Attach, Commit, Erase
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.scope import Scope
from infinite_memory.core.values.verification import RecordKind
from infinite_memory.storage.mongodb import open_mongodb
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory.testing.storage_contract import make_access_key, make_embedding, put

pytestmark = pytest.mark.slow("mongodb")

Raw = Database[dict[str, Any]]


@pytest.fixture
def raw(single: Deployment) -> Iterator[Raw]:
    with single.members[0].client() as client:
        yield client["damage"]
        client.drop_database("damage")


@pytest.fixture
def storage(single: Deployment, raw: Raw) -> Iterator[Storage]:
    storage = open_mongodb(single.address(raw.name))
    storage.commit(
        Commit(puts=[put("good", embedding=make_embedding(1)), put("bad", text="before")])
    )
    storage.commit(Commit(puts=[put("bad", revision=2, text="after", embedding=make_embedding(2))]))
    yield storage
    storage.close()


@pytest.mark.parametrize(
    "change",
    [
        {"$set": {"text": "edited by an administrator"}},
        {"$set": {"scope": {"$literal": 1}}},
        {"$set": {"revision": 7}},
        {"$set": {"note": "an extra field"}},
        {"$set": {"content_hash": bytes(32)}},
        {"$set": {"embeddings": 3}},
        {"$set": {"embedded_by": 5}},
        {"$set": {"checksum": "none"}},
        {"$set": {"happened_at": "yesterday"}},
        {"$unset": {"checksum": 1}},
        {"$unset": {"embedded_by": 1}},
        {"$unset": {"status": 1}},
        {"$unset": {"sequence": 1}},
        {"$set": {"sequence": 2.5}},
        {"$set": {"sequence": None}},
        {"$set": {"tags": [{"$ref": "x", "$id": 1}]}},
    ],
    ids=str,
)
def test_an_edited_memory_is_refused_by_its_id_and_left_out_of_lists(
    storage: Storage, raw: Raw, change: dict[str, Any]
) -> None:
    raw["memories"].update_one({"_id": "bad"}, change)
    with pytest.raises(StoreDamaged, match=r"memory 'bad'.*backup"):
        storage.get(["good", "bad"])
    _others_go_on(storage)


def _others_go_on(storage: Storage) -> None:
    assert list(storage.get(["good"])) == ["good"]
    assert [m.id for m in storage.find(Criteria(), limit=9).memories] == ["good"]
    assert [change.id for change in storage.changes(0, limit=9).items] == ["good"]
    assert storage.changes(0, limit=1).cursor > 0
    assert storage.pending("other model", limit=9) == ["good"]
    assert sum(storage.measure().memories.values()) in (1, 2)
    with pytest.raises((StoreDamaged, Conflict)):
        storage.commit(Commit(puts=[put("other"), put("bad", revision=3)]))
    assert storage.get(["other"]) == {}
    storage.commit(Commit(erases=[Erase(id="bad")], puts=[put("more")]))
    assert storage.erased(["bad"]) == frozenset(["bad"])
    storage.commit(Commit(puts=[put("bad", text="again")]))
    assert storage.get(["bad"])["bad"].memory.text == "again"


def test_a_text_that_is_no_unicode_spoils_only_its_own_memory(storage: Storage, raw: Raw) -> None:
    document = raw["memories"].find_one({"_id": "bad"})
    spoilt = bson.encode(document).replace(b"after", b"af\xff\xfer")  # type: ignore[arg-type]
    raw["memories"].delete_one({"_id": "bad"})
    raw["memories"].insert_one(RawBSONDocument(spoilt))
    with pytest.raises(StoreDamaged, match="memory 'bad'"):
        storage.get(["bad"])
    _others_go_on(storage)


@pytest.mark.parametrize(
    "change",
    [
        None,
        {"$set": {"embedding": b"short"}},
        {"$set": {"embedding": [0.5] * 8}},
        {"$set": {"embedding": "x"}},
        {"$unset": {"embedding": 1}},
        {"$set": {"start": "x"}},
        {"$set": {"start": 2**40}},
        {"$unset": {"number": 1}},
        {"$set": {"number": "one"}},
        {"$set": {"stamp": {"a": [1]}}},
        {"$unset": {"stamp": 1}},
        {"$set": {"model": 5}},
        {"$set": {"memory_id": "elsewhere"}},
    ],
    ids=str,
)
def test_an_altered_passage_costs_the_embedding_alone_and_it_is_made_anew(
    storage: Storage, raw: Raw, change: dict[str, Any] | None
) -> None:
    where = {"memory_id": "bad", "number": 0}
    if change is None:
        raw["passages"].delete_one(where)
    else:
        raw["passages"].update_one(where, change)
    record = storage.get(["bad"])["bad"]
    assert (record.memory.text, record.embeddings) == ("after", ())
    assert storage.get(["good"])["good"].embeddings == (make_embedding(1),)
    assert {change.id for change in storage.changes(0, limit=9).items} == {"good", "bad"}
    assert storage.pending("model-a", limit=9) == ["bad"]
    storage.commit(Commit(attaches=[Attach(id="bad", revision=2, embedding=make_embedding(3))]))
    assert storage.get(["bad"])["bad"].embeddings == (make_embedding(3),)
    assert storage.pending("model-a", limit=9) == []


@pytest.mark.parametrize("change", [{"$set": {"text": "edited"}}, {"$unset": {"sequence": 1}}])
def test_verify_names_what_is_damaged_and_mends_what_can_be_made_anew(
    single: Deployment, raw: Raw, change: dict[str, Any]
) -> None:
    storage = open_mongodb(single.address(raw.name))
    embedder = HashingEmbedder()
    with closing(storage), MemoryStore.open(storage=storage, embedder=embedder) as store:
        for name in ("edited", "without", "good"):
            store.remember(f"the text of {name}", id=name)
        store.scopes.create("altered")
        assert store.verify().sound
        raw["memories"].update_one({"_id": "edited"}, change)
        raw["passages"].delete_many({"memory_id": "without"})
        raw["scopes"].update_one({"_id": "altered"}, {"$set": {"description": "by hand"}})
        found = store.verify()
        assert {(each.part, each.id) for each in found.findings} == {
            (RecordKind.MEMORY, "edited"),
            (RecordKind.EMBEDDING, "without"),
            (RecordKind.SCOPE, "altered"),
        }
        assert not found.sound
        assert store.verify(mend=True).mended == 1
        assert {each.part for each in store.verify().findings} == {
            RecordKind.MEMORY,
            RecordKind.SCOPE,
        }
        assert storage.get(["without"])["without"].embedding_by(embedder.model) is not None


def test_a_memory_that_somebody_deletes_is_gone_and_no_damage(storage: Storage, raw: Raw) -> None:
    raw["memories"].delete_one({"_id": "bad"})
    assert list(storage.get(["good", "bad"])) == ["good"]
    assert storage.pending("model-a", limit=9) == []
    storage.commit(Commit(puts=[put("bad", text="again")]))


def test_a_document_that_is_not_ours_is_left_out(storage: Storage, raw: Raw) -> None:
    raw["memories"].insert_one({"_id": 7, "sequence": 2, "happened_at": 5, "text": "theirs"})
    assert {c.id for c in storage.changes(0, limit=9).items} == {"good", "bad"}
    assert {m.id for m in storage.find(Criteria(), limit=9).memories} == {"good", "bad"}


def test_an_edited_revision_spoils_the_history_alone(storage: Storage, raw: Raw) -> None:
    raw["revisions"].update_one({"memory_id": "bad"}, {"$set": {"body": "{}"}})
    with pytest.raises(StoreDamaged, match="revision 1 in the history of memory 'bad'"):
        storage.history("bad")
    assert storage.get(["bad"])["bad"].memory.text == "after"


def test_an_edited_scope_is_left_out(storage: Storage, raw: Raw) -> None:
    raw["scopes"].insert_one({"_id": "theirs"})
    raw["scopes"].update_one({"_id": "Global"}, {"$set": {"active": False}})
    assert storage.scopes() == {"Global": Scope(name="Global")}


@pytest.mark.parametrize(
    "change", [{"rights": ["admin"]}, {"scopes": ["*"]}, {"revoked_at": None}, {"digest": b""}]
)
def test_an_edited_access_key_opens_nothing(
    storage: Storage, raw: Raw, change: dict[str, Any]
) -> None:
    sound = make_access_key("bbbbbbbb")
    limited = make_access_key("aaaaaaaa", scopes=("team/*",), revoked_at=sound.created_at)
    storage.commit(Commit(access_keys=[limited, sound]))
    raw["access_keys"].update_one({"_id": "aaaaaaaa"}, {"$set": change})
    assert storage.access_keys(["aaaaaaaa"]) == {}
    assert storage.access_keys() == {"bbbbbbbb": sound}
    assert isinstance(storage, SupportsDamage)
    assert [finding.what for finding in storage.damage()] == ["the access key aaaaaaaa is damaged"]


@pytest.mark.parametrize("change", [{"$unset": {"sequence": 1}}, {"$set": {"sequence": "3"}}])
def test_a_store_that_lost_its_count_is_not_written(
    storage: Storage, raw: Raw, change: dict[str, Any]
) -> None:
    raw["metadata"].update_one({"_id": "infinite-memory"}, change)
    with pytest.raises(StoreDamaged, match="backup"):
        storage.position()
    with pytest.raises(StoreDamaged, match="backup"):
        storage.commit(Commit(puts=[put("more")]))
    assert raw["memories"].find_one({"_id": "more"}) is None


def test_a_database_dropped_while_it_is_open_is_said_so(
    single: Deployment, storage: Storage, raw: Raw
) -> None:
    with MongoClient(single.address(raw.name)) as client:
        client.drop_database(raw.name)
    with pytest.raises((StoreDamaged, StorageUnavailable)):
        storage.commit(Commit(puts=[put("more")]))
    with pytest.raises(StoreDamaged):
        storage.position()
