"""A store in partitions: one commit in one of them, one order of all, and what is refused."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from mongo_deaths import connected, databases
from mongo_servers import Deployment
from pymongo.monitoring import (
    CommandFailedEvent,
    CommandListener,
    CommandStartedEvent,
    CommandSucceededEvent,
)

from infinite_memory import Config, MemoryStore
from infinite_memory.core.clock import Deadline, within
from infinite_memory.core.errors import (
    ConfigurationError,
    Conflict,
    SchemaTooNew,
    StorageUnavailable,
    StoreDamaged,
)
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.commit import Commit, Expect, ExpectContent, ExpectKey
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.entry import entry_digest
from infinite_memory.core.values.memory import Status
from infinite_memory.core.values.scope import Scope
from infinite_memory.storage.mongodb import open_existing_mongodb, open_mongodb
from infinite_memory.storage.mongodb.metadata import HELD, refuse_newer
from infinite_memory.storage.mongodb.partitions.order import Ends
from infinite_memory.storage.mongodb.partitions.placement import partition_of, partition_of_scope
from infinite_memory.storage.mongodb.partitions.view import View
from infinite_memory.storage.mongodb.schema import MEMORIES, METADATA, SCHEMA_VERSION, STORE, STRAYS
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory.testing.storage_contract import put
from infinite_memory.testing.storage_contract.journal import make_action

COUNT = 3
PEOPLE = [f"people/{name}" for name in ("anna", "berta", "carla", "dora", "emma")]


class _Commands(CommandListener):
    """Notes database and collection of each command, and the transaction that it is a part of."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, Any]] = []

    def started(self, event: CommandStartedEvent) -> None:
        if event.database_name != "admin":
            transaction = event.command.get("txnNumber") if "autocommit" in event.command else None
            collection = str(event.command.get(event.command_name))
            self.seen.append((event.database_name, collection, transaction))

    def succeeded(self, event: CommandSucceededEvent) -> None:
        pass

    def failed(self, event: CommandFailedEvent) -> None:
        pass

    def databases(self) -> set[str]:
        return {database for database, _, _ in self.seen}

    def transactions(self) -> list[set[str]]:
        """Return the databases of each transaction."""
        found: dict[Any, set[str]] = {}
        for database, _, transaction in self.seen:
            if transaction is not None:
                found.setdefault(transaction, set()).add(database)
        return list(found.values())


@pytest.fixture
def commands() -> _Commands:
    return _Commands()


@pytest.fixture
def address(partitioned: Deployment, tmp_path: Path) -> Iterator[str]:
    yield partitioned.address_of(tmp_path)
    partitioned.drop(tmp_path)


@pytest.fixture
def storage(address: str, commands: _Commands) -> Iterator[Storage]:
    with closing(open_mongodb(address, event_listeners=[commands])) as storage:
        yield storage


@pytest.fixture
def store(storage: Storage, tmp_path: Path) -> Iterator[MemoryStore]:
    config = Config(home=tmp_path / "home")
    with MemoryStore.open(storage=storage, config=config, embedder=HashingEmbedder(64)) as store:
        for scope in PEOPLE:
            store.remember(f"The first that {scope} said.", scope=scope)
        yield store


def _database_of(address: str, partition: int) -> str:
    name = address.partition("?")[0].rpartition("/")[2]
    return f"{name}-p{partition}" if partition else name


def _check_strays(address: str) -> int:
    """Check that each memory outside of the partition of its scope is noted there, no other one.

    Return how many there are.
    """
    noted, real = {}, {}
    with connected(address) as client:
        for number in range(COUNT):
            database = client[_database_of(address, number)]
            noted |= {(number, stray["_id"]): stray for stray in database[STRAYS].find()}
            for memory in database[MEMORIES].find():
                home = partition_of_scope(memory["scope"], COUNT)
                names = ("_id", "scope", "key", "status", "content_hash")
                if home != number:
                    told = {name: memory[name] for name in names}
                    real[home, memory["_id"]] = {**told, "partition": number}
    assert noted == real
    return len(real)


@pytest.mark.parametrize("scope", PEOPLE)
def test_what_a_person_stores_is_written_in_one_partition(
    store: MemoryStore, commands: _Commands, address: str, scope: str
) -> None:
    own = _database_of(address, partition_of_scope(scope, COUNT))
    person = store.confine(scopes=[scope])
    for text in ("The blue ladder hangs in the garage.", "The red kettle is in the kitchen."):
        commands.seen.clear()
        receipt = person.remember(text, tags=["things"])
        assert partition_of(receipt.id, COUNT) == partition_of_scope(scope, COUNT)
        writes = commands.transactions()
        assert writes[0] == {own}
        # What follows gives the changes their numbers in the whole order, in the first partition.
        assert all(databases == {_database_of(address, 0)} for databases in writes[1:])


@pytest.mark.parametrize("scope", PEOPLE)
def test_memories_that_lie_elsewhere_do_not_make_their_scope_take_all_partitions(
    store: MemoryStore, commands: _Commands, address: str, scope: str
) -> None:
    person = store.confine(scopes=[scope])
    ids = [f"given-{number}" for number in range(4 * COUNT)]
    for number, memory_id in enumerate(ids):
        said = f"Message {number} of a session."
        person.remember(said, id=memory_id, key=f"message {number}")
        # What lies elsewhere is known in its scope, as a repeat and below as the holder of a key.
        assert person.remember(said, key=f"message {number}").id == memory_id
    commands.seen.clear()
    person.remember("The blue ladder hangs in the garage.", key="ladder")
    assert commands.transactions()[0] == {_database_of(address, partition_of_scope(scope, COUNT))}
    for number, memory_id in enumerate(ids):
        newer = person.remember(f"Another message {number}.", key=f"message {number}")
        assert newer.superseded == (memory_id,)
    assert _check_strays(address) > COUNT


def test_one_partition_refuses_a_commit_that_did_not_see_what_lies_elsewhere(
    storage: Any, address: str
) -> None:
    """What another process moved there after the expectation was read."""
    own = [i for i in map(str, range(99)) if storage.keeps_together(i, "here")]
    job = {"key": "job", "text": "She is a baker."}
    moved = put("given-3", revision=2, scope="here", **job)
    assert not storage.keeps_together("given-3", "here")
    hashes = frozenset({moved.content_hash})
    unseen = [
        Expect(keys=[ExpectKey(scope="here", key="job", ids=frozenset())]),
        Expect(contents=[ExpectContent(scopes=frozenset({"here"}), content_hashes=hashes)]),
    ]

    def commit_expecting(expect: Expect) -> None:
        storage.commit(Commit(puts=[put(own.pop(), scope="here")], expect=expect))

    storage.commit(Commit(puts=[put("given-3", scope="there", **job)]))
    for expect in unseen:
        commit_expecting(expect)
    storage.commit(Commit(puts=[moved]))
    for expect, problem in zip(unseen, ("who holds the key", "have the same content"), strict=True):
        with pytest.raises(Conflict, match=problem):
            commit_expecting(expect)
    assert _check_strays(address) == 1
    superseded = put("given-3", revision=3, scope="here", status=Status.SUPERSEDED, **job)
    storage.commit(Commit(puts=[superseded]))
    for expect in unseen:
        commit_expecting(expect)
    storage.commit(Commit(puts=[put("given-3", revision=4, scope="there", **job)]))
    assert _check_strays(address) == 0


def test_an_erased_memory_that_lay_elsewhere_leaves_nothing_in_its_scope(
    store: MemoryStore, address: str
) -> None:
    for number in range(4 * COUNT):
        store.remember(f"Message {number}.", id=f"given-{number}", scope="people/anna")
        store.forget(f"given-{number}", hard=True)
    assert _check_strays(address) == 0


CALLS: dict[str, Callable[[Any, str, Criteria], object]] = {
    "get": lambda s, memory_id, _: s.get([memory_id]),
    "history": lambda s, memory_id, _: s.history(memory_id),
    "erased": lambda s, memory_id, _: s.erased([memory_id]),
    "find_ids": lambda s, memory_id, _: s.find_ids([memory_id[-8:]]),
    "links": lambda s, memory_id, _: s.links([memory_id]),
    "usage": lambda s, memory_id, _: s.usage([memory_id]),
    "find": lambda s, _, here: s.find(here, limit=5),
    "find a key": lambda s, _, here: s.find(evolve(here, key="job"), limit=5),
    "keys": lambda s, _, here: s.keys(here.scopes, limit=5),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_is_asked_of_a_scope_or_of_an_id_asks_one_partition(
    store: MemoryStore, storage: Storage, commands: _Commands, address: str, name: str
) -> None:
    for scope in PEOPLE:
        here = Criteria(scopes=frozenset({scope}))
        memory_id = next(iter(storage.find(here, limit=1))).id
        commands.seen.clear()
        CALLS[name](storage, memory_id, here)
        assert commands.databases() == {_database_of(address, partition_of_scope(scope, COUNT))}


def test_the_feed_of_a_scope_reads_the_memories_of_one_partition(
    store: MemoryStore, storage: Any, commands: _Commands, address: str
) -> None:
    first = _database_of(address, 0)
    for scope in PEOPLE:
        for call in (partial(storage.changes_in, after=0, limit=9), storage.ids_in):
            commands.seen.clear()
            call(scope)
            own = _database_of(address, partition_of_scope(scope, COUNT))
            assert {d for d, name, _ in commands.seen if name == "memories"} == {own}
            # Of every other partition only the end is read.
            assert {name for d, name, _ in commands.seen if d not in (own, first)} == {"metadata"}


def test_a_memory_that_lies_elsewhere_is_found_in_its_scope(storage: Storage) -> None:
    """An id that was given, or a scope that changed, makes a stray of its scope."""
    ids = {f"given-{number}" for number in range(12)}
    storage.commit(Commit(scopes=[Scope(name="here")]))
    for memory_id in sorted(ids):
        storage.commit(Commit(puts=[put(memory_id, scope="here")], entry=make_action(memory_id)))
    assert {partition_of(memory_id, COUNT) for memory_id in ids} == set(range(COUNT))
    found = storage.find(Criteria(scopes=frozenset({"here"})), limit=99)
    assert {memory.id for memory in found} == ids
    storage.commit(Commit(puts=[put("given-3", revision=2, scope="there")]))
    found = storage.find(Criteria(scopes=frozenset({"there"})), limit=99)
    assert [memory.id for memory in found] == ["given-3"]


def _write_alone(address: str, name: str, count: int) -> None:
    with closing(open_mongodb(address)) as storage:
        scopes = [f"{name} {number}" for number in range(5)]
        for number in range(count):
            scope = scopes[number % len(scopes)]
            ids = (f"{name}-{number}-{tried}" for tried in range(999))
            own = next(i for i in ids if storage.keeps_together(i, scope))  # type: ignore[attr-defined]
            assert storage.commit(Commit(puts=[put(own, scope=scope)], entry=make_action(own))) == 0


@pytest.mark.thorough
def test_processes_that_write_alone_get_one_order_and_one_chain(
    storage: Storage, address: str
) -> None:
    forkserver = get_context("forkserver")
    writers = [forkserver.Process(target=_write_alone, args=(address, name, 40)) for name in "xyz"]
    for process in writers:
        process.start()
    seen: list[str] = []
    cursor, alive, numbers = 0, True, set[int]()
    while alive:
        alive = any(process.is_alive() for process in writers)
        changes = storage.changes(cursor, limit=9)
        seen += [change.id for change in changes.items]
        assert changes.cursor >= cursor
        cursor = changes.cursor
        end = storage.journal_end().number
        assert end >= max(numbers, default=0)
        numbers.add(end)
    seen += [change.id for change in storage.changes(cursor, limit=999).items]
    assert [process.exitcode for process in writers] == [0, 0, 0]
    assert len(set(seen)) == storage.position() == 120
    assert len(numbers) > 2, "it was read while they wrote"
    entries = storage.journal(limit=999)[::-1]
    assert [entry.number for entry in entries] == list(range(1, 121))
    digest = bytes(32)
    for entry in entries:
        digest = entry_digest(digest, entry.number, entry.action.to_text())
        assert entry.digest == digest
    assert storage.journal_end().digest == digest
    for name in "xyz":
        own = [e.action.memories[0].id for e in entries if e.action.memories[0].id[0] == name]
        assert len(own) == 40
        per_partition = [[i for i in own if partition_of(i, COUNT) == n] for n in range(COUNT)]
        for listed in per_partition:
            assert listed == sorted(listed, key=lambda i: int(i.split("-")[1]))


@contextmanager
def _writers_without_a_pause(storage: Storage, address: str) -> Iterator[None]:
    """Let three processes store 400 memories each, which go on until the end of the context."""
    forkserver = get_context("forkserver")
    writers = [forkserver.Process(target=_write_alone, args=(address, name, 400)) for name in "xyz"]
    for process in writers:
        process.start()
    while storage.position() < 3:
        time.sleep(0.01)
    yield
    assert any(process.is_alive() for process in writers), "they wrote all the while"
    for process in writers:
        process.join()
    assert [process.exitcode for process in writers] == [0, 0, 0]


@pytest.mark.thorough
def test_commits_of_all_partitions_come_through_beside_writers_without_a_pause(
    storage: Storage, address: str
) -> None:
    """Each writer alone would be quicker to take a turn than one that takes a turn in each."""
    with _writers_without_a_pause(storage, address):
        for number in range(20):
            scope = Scope(name=f"new {number}")
            storage.commit(Commit(scopes=[scope], puts=[put(f"a{number}"), put(f"b{number}")]))
    assert storage.position() == 1240


@pytest.mark.thorough
def test_a_snapshot_beside_writers_without_a_pause_has_an_entry_for_each_memory(
    storage: Any, address: str
) -> None:
    with _writers_without_a_pause(storage, address):
        for _ in range(10):
            with storage.snapshot() as snapshot:
                noted = {
                    step.id for e in snapshot.journal(limit=9999) for step in e.action.memories
                }
                assert {m.id for m in snapshot.find(Criteria(), limit=9999)} == noted
    assert storage.position() == 1200


def test_a_snapshot_lets_the_others_go_on_and_waits_behind_no_dead_process(
    storage: Any, address: str
) -> None:
    with connected(address) as client, client.start_session() as dead:
        stores = [client[_database_of(address, number)][METADATA] for number in range(COUNT)]

        def list_held() -> list[bool]:
            return [
                bool(place.count_documents({"_id": STORE, HELD: {"$ne": None}})) for place in stores
            ]

        dead.start_transaction()
        stores[1].update_one({"_id": STORE}, {"$inc": {"turns": 1}}, session=dead)
        with storage._committer.hold_others():
            assert list_held() == [True, False, True]
        assert list_held() == [False, False, False]
        dead.abort_transaction()


def test_a_snapshot_that_is_never_whole_is_refused(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As beside writers who store after each look at the ends."""
    storage.commit(Commit(puts=[put("a")], entry=make_action("a")))
    earlier = (Ends(0, 0),) * COUNT
    monkeypatch.setattr(View, "ends", property(lambda _: earlier, lambda *_: None), raising=False)
    with pytest.raises(StorageUnavailable, match="without a pause"), storage.snapshot():  # type: ignore[attr-defined]
        pytest.fail("it is not whole")


@pytest.mark.parametrize("is_dead", [False, True])
def test_a_commit_waits_while_one_of_all_partitions_takes_its_turns(
    storage: Storage, address: str, *, is_dead: bool
) -> None:
    own = next(i for i in map(str, range(99)) if storage.keeps_together(i, "s"))  # type: ignore[attr-defined]
    with connected(address) as client:
        place = client[_database_of(address, partition_of(own, COUNT))][METADATA]
        place.update_one({"_id": STORE}, {"$set": {HELD: "somebody"}})
        with ThreadPoolExecutor() as pool:
            waiting = pool.submit(storage.commit, Commit(puts=[put(own, scope="s")]))
            while not is_dead and place.find_one({"_id": STORE, "turns": {"$gt": 0}}) is None:
                assert not waiting.done()
                with closing(open_mongodb(address)) as other:
                    other.commit(Commit(scopes=[Scope(name="new")]))
            waiting.result()
        found = place.find_one({"_id": STORE})
        assert found is not None
        assert HELD not in found
    assert set(storage.get([own])) == {own}


@pytest.mark.thorough
def test_a_reader_that_comes_late_orders_thousands_of_entries(storage: Storage) -> None:
    scope, ids = "many", []
    for number in range(5000):
        memory_id = f"late-{number}"
        if storage.keeps_together(memory_id, scope):  # type: ignore[attr-defined]
            ids.append(memory_id)
    for memory_id in ids[:700]:
        storage.commit(Commit(puts=[put(memory_id, scope=scope)], entry=make_action(memory_id)))
    assert storage.journal_end().number == storage.position() == 700
    assert [e.action.memories[0].id for e in storage.journal(limit=700)] == ids[699::-1]


@pytest.mark.parametrize("lost", range(4))
def test_an_order_that_lost_a_part_is_refused_and_not_passed_over(
    storage: Storage, address: str, lost: int
) -> None:
    for number in range(9):
        storage.commit(Commit(puts=[put(f"m{number}")], entry=make_action(f"m{number}")))
    with connected(address) as client:
        runs = client.get_default_database()["feed_order"]
        chosen = list(runs.find(sort=[("_id", 1)]))
        assert len(chosen) > 3
        runs.delete_one(chosen[[0, 1, 2, -1][lost]])
    with pytest.raises(StoreDamaged, match="a part of the order of its changes"):
        storage.changes(0, limit=99)
    assert len(storage.get([f"m{number}" for number in range(9)])) == 9


@pytest.mark.parametrize("field", ["digest", "number", "partition", None])
def test_an_entry_that_another_program_moved_is_refused(
    storage: Storage, address: str, field: str | None
) -> None:
    for number in range(5):
        storage.commit(Commit(entry=make_action(f"m{number}")))
    assert storage.journal_end().number == 5
    with connected(address) as client:
        numbers = client.get_default_database()["journal_order"]
        if field is None:
            numbers.delete_one({"_id": 3})
        else:
            other = numbers.find_one({"_id": 4})
            assert other is not None
            value = other[field] if field == "digest" else 99
            numbers.update_one({"_id": 3}, {"$set": {field: value}})
    with pytest.raises(StoreDamaged, match=r"entry [34] of the journal"):
        storage.journal(limit=9)
    assert [entry.number for entry in storage.journal(limit=1)] == [5]


def test_a_partition_that_was_put_back_alone_is_refused(storage: Storage, address: str) -> None:
    for number in range(9):
        storage.commit(Commit(puts=[put(f"m{number}")], entry=make_action(f"m{number}")))
    position = storage.position()
    with connected(address) as client:
        store = client[_database_of(address, 1)][METADATA]
        ended = store.find_one({"_id": STORE})
        assert ended is not None
        store.update_one({"_id": STORE}, {"$set": {"sequence": 0}})
        for call in (storage.position, lambda: storage.commit(Commit(entry=make_action()))):
            with pytest.raises(StoreDamaged, match=r"partition 1 of .* is older than the others"):
                call()
        store.update_one({"_id": STORE}, {"$set": {"sequence": ended["sequence"]}})
    assert storage.position() == position


def test_a_store_that_lost_its_first_database_is_not_made_anew(address: str) -> None:
    with closing(open_mongodb(address)) as storage:
        storage.commit(Commit(puts=[put(f"m{number}") for number in range(9)]))
    with connected(address) as client:
        client.drop_database(_database_of(address, 0))
    with pytest.raises(StorageUnavailable, match="holds another store"):
        open_mongodb(address)


def test_a_partition_of_another_store_is_refused(address: str, partitioned: Deployment) -> None:
    open_mongodb(address).close()
    with connected(address) as client:
        store = client[_database_of(address, 2)][METADATA]
        store.update_one({"_id": STORE}, {"$set": {"identity": "another"}})
    with pytest.raises(StorageUnavailable, match="does not hold partition 2 of this store"):
        open_mongodb(address)


def test_a_change_counts_as_made_though_nothing_can_be_read_after_it(
    storage: Storage, commands: _Commands
) -> None:
    """The time of the call is over when the change is durable: it must not be made twice."""
    clock = iter([0.0, *[9.0] * 99])
    deadline = Deadline(at=5, clock=lambda: next(clock))
    own = next(i for i in map(str, range(99)) if storage.keeps_together(i, "s"))  # type: ignore[attr-defined]
    with within(deadline):
        storage.commit(Commit(puts=[put(own, scope="s")], entry=make_action(own)))
    assert sum(deadline.changes.values()) == 1
    assert set(storage.get([own])) == {own}


WRONG = ["1", "0", "-3", "x", "", "999", "2.5", "4&partitions=8"]


@pytest.mark.parametrize("number", WRONG)
def test_a_number_of_partitions_that_cannot_be_is_refused(single: Deployment, number: str) -> None:
    address = single.address("wrong") + f"&partitions={number}"
    shown = number.replace("&partitions=", ",")
    with pytest.raises(ConfigurationError, match=re.escape(f"partitions={shown!r}")):
        open_mongodb(address)
    with connected(single.address("wrong")) as client:
        assert databases(client) == []


def test_a_store_keeps_its_number_of_partitions(storage: Storage, address: str) -> None:
    storage.commit(Commit(puts=[put("a")]))
    plain = address.replace("&partitions=3", "")
    for other in (plain, plain + "&partitions=3"):
        with closing(open_mongodb(other)) as again:
            assert (again.identity, set(again.get(["a"]))) == (storage.identity, {"a"})
    with pytest.raises(ConfigurationError, match="has 3 partitions, not partitions=4"):
        open_mongodb(plain + "&partitions=4")
    part = plain.replace("?", "-p1?")
    with pytest.raises(ConfigurationError, match="a part of another store"):
        open_existing_mongodb(part)


def test_a_store_in_one_database_is_not_divided_unasked(single: Deployment, tmp_path: Path) -> None:
    address = single.address_of(tmp_path)
    open_mongodb(address).close()
    with pytest.raises(ConfigurationError, match="is in one database, not partitions=3"):
        open_mongodb(address + "&partitions=3")
    single.drop(tmp_path)


def test_a_partition_with_something_else_in_it_is_left_alone(
    partitioned: Deployment, tmp_path: Path
) -> None:
    address = partitioned.address_of(tmp_path)
    other = address.replace("?", "-p2?").replace("&partitions=3", "")
    with closing(open_mongodb(other)) as storage:
        storage.commit(Commit(puts=[put("theirs")]))
        with pytest.raises(StorageUnavailable, match="holds another store"):
            open_mongodb(address)
        assert set(storage.get(["theirs"])) == {"theirs"}
    assert open_existing_mongodb(address) is None
    partitioned.drop(tmp_path)


def test_an_earlier_version_refuses_a_store_in_partitions(storage: Storage, address: str) -> None:
    with connected(address) as client:
        found = [each[METADATA].find_one({"_id": STORE}) for each in databases(client)]
    assert len(found) == COUNT
    for document in found:
        assert document is not None
        document.pop("partitions")
        with pytest.raises(SchemaTooNew, match=f"its schema is {SCHEMA_VERSION + 1}"):
            refuse_newer(document, "the store")


@pytest.mark.thorough
def test_a_store_moves_into_partitions_and_back_by_one_command(
    address: str, tmp_path: Path
) -> None:
    home, back = str(tmp_path / "home"), str(tmp_path / "back")

    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "infinite_memory", "--home", home, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    for scope in PEOPLE:
        run("remember", f"The cellar key of {scope} is under the mat.", "--scope", scope)
    for source, target in ((home, address), (address, back)):
        run("copy", source, target)
        for scope in PEOPLE:
            asked = ("search", "where is the cellar key?", "--scope", scope, "--store", target)
            hits = json.loads(run(*asked, "--json"))["hits"]
            assert [hit["scope"] for hit in hits[:1]] == [scope]
        assert "No damage" in run("verify", "--store", target)
