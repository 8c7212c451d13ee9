"""Every query uses an index by its prefix, and says by its filter which shard it would ask.

The last column of the table is the truth for decision 112: a query without a scope would ask every
shard of a cluster whose shard key begins with the scope. That is why a cluster gets a store in
partitions, which `test_mongo_partitions` tells apart by their databases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen
from mongo_servers import Deployment
from pymongo.monitoring import (
    CommandFailedEvent,
    CommandListener,
    CommandStartedEvent,
    CommandSucceededEvent,
)

from infinite_memory.core.values.commit import (
    Commit,
    Erase,
    Expect,
    ExpectContent,
    ExpectKey,
)
from infinite_memory.core.values.content_hash import content_hash
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.link import LinkKey, LinkType
from infinite_memory.core.values.memory import Kind, Status
from infinite_memory.core.values.record import Usage
from infinite_memory.core.values.scope import Scope
from infinite_memory.storage.mongodb import MongoStorage, open_mongodb
from infinite_memory.storage.mongodb.partitions.storage import PartitionedStorage
from infinite_memory.testing.storage_contract.base import make_embedding, make_link, put
from infinite_memory.testing.storage_contract.journal import make_action

pytestmark = pytest.mark.slow("mongodb")

IDS = ["m1", "m2", "m3"]
SINCE = datetime(2020, 1, 1, tzinfo=UTC)
_FILTERS = {
    "find": "filter",
    "delete": "q",
    "update": "q",
    "findAndModify": "query",
    "distinct": "query",
}
_SCANS = {"IXSCAN", "COUNT_SCAN", "DISTINCT_SCAN"}
_READ_WHOLE = {"scopes", "access_keys"}
"""Collections of some hundred documents, which a call reads as a whole."""

AnyStorage = MongoStorage | PartitionedStorage
Plans = dict[str, set[str]]


def _all(storage: AnyStorage, **conditions: Any) -> object:
    return storage.find(Criteria(**conditions), limit=5)


def _commit(storage: AnyStorage) -> object:
    memory = put("m1").memory
    expect = Expect(
        keys=[ExpectKey(scope="s1", key="k41", ids=frozenset())],
        contents=[
            ExpectContent(
                scopes=frozenset({"s1"}), content_hashes=frozenset({content_hash(memory)})
            )
        ],
        unused=frozenset({"s9"}),
    )
    return storage.commit(
        Commit(
            expect=expect,
            erases=[Erase(id="m40")],
            puts=[put("new", embedding=make_embedding()), put("m3", revision=2)],
            erased_links=[LinkKey(source="m1", target="m2", type=LinkType.SEMANTIC)],
            entry=make_action("new"),
        )
    )


@frozen
class Row:
    """A call, the indexes that each collection may use, and whether each filter has a scope."""

    call: Callable[[AnyStorage], object]
    indexes: Mapping[str, str]
    by_scope: bool = False


STORE = {"metadata": "_id_"}
CALLS: dict[str, Row] = {
    "get": Row(lambda s: s.get(IDS), {"memories": "_id_", "passages": "by_memory"}),
    "find, a scope": Row(
        lambda s: _all(s, scopes=frozenset({"s1"})), {"memories": "by_scope"}, by_scope=True
    ),
    "find, all": Row(lambda s: _all(s), {"memories": "by_time"}),
    "find, since": Row(lambda s: _all(s, since=SINCE), {"memories": "by_time"}),
    "find, a kind": Row(lambda s: _all(s, kinds=frozenset({Kind.FACT})), {"memories": "by_kind"}),
    "find, a tag": Row(lambda s: _all(s, tags=("t1",)), {"memories": "by_tag"}),
    "find, a conversation": Row(
        lambda s: _all(s, conversation_id="c1"), {"memories": "by_conversation"}
    ),
    "find, a key in a scope": Row(
        lambda s: _all(s, key="k1", scopes=frozenset({"s1"})), {"memories": "by_key"}, by_scope=True
    ),
    "history": Row(lambda s: s.history("m2"), {"memories": "_id_", "revisions": "by_memory"}),
    "erased": Row(lambda s: s.erased(IDS), {"erased": "_id_"}),
    "find_ids": Row(lambda s: s.find_ids(["m1"]), {"memories": "by_ending"}),
    "keys": Row(lambda s: s.keys(["s1"], limit=5), {"memories": "by_key by_scope"}, by_scope=True),
    "changes": Row(
        lambda s: s.changes(10, limit=5),
        {**STORE, "memories": "by_sequence", "erased": "by_sequence", "passages": "by_memory"},
    ),
    "changes of a scope": Row(
        lambda s: s.changes_in("s1", 10, limit=5),
        {**STORE, "memories": "by_scope by_sequence", "passages": "by_memory"},
        by_scope=True,
    ),
    "ids of a scope": Row(
        lambda s: s.ids_in("s1"), {**STORE, "memories": "by_scope"}, by_scope=True
    ),
    "pending": Row(lambda s: s.pending("another", limit=5), {"memories": "by_embedding"}),
    "links": Row(lambda s: s.links(IDS), {"links": "by_source by_target"}),
    "usage": Row(lambda s: s.usage(IDS), {"usage": "_id_"}),
    "journal": Row(lambda s: s.journal(limit=5), {**STORE, "journal": "_id_"}),
    "journal of a memory": Row(
        lambda s: s.journal(limit=5, memory_id="m1"), {**STORE, "journal": "by_memory _id_"}
    ),
    "access_keys": Row(lambda s: s.access_keys(["a"]), {"access_keys": "_id_"}),
    "count_usage": Row(
        lambda s: s.count_usage({"m1": Usage(count=1, last=SINCE)}),
        {**STORE, "memories": "_id_", "usage": "_id_"},
    ),
    "commit": Row(
        _commit,
        {
            **STORE,
            **{"memories": "_id_ by_key by_content by_scope", "revisions": "_id_ by_memory"},
            **{"passages": "_id_ by_memory", "links": "_id_ by_source by_target"},
            **{"usage": "_id_", "erased": "_id_", "journal": "_id_"},
        },
    ),
}


class _Commands(CommandListener):
    def __init__(self) -> None:
        self.seen: list[tuple[str, dict[str, Any]]] = []

    def started(self, event: CommandStartedEvent) -> None:
        self.seen.append((event.database_name, dict(event.command)))

    def succeeded(self, event: CommandSucceededEvent) -> None:
        pass

    def failed(self, event: CommandFailedEvent) -> None:
        pass


@pytest.fixture(scope="module")
def commands() -> _Commands:
    return _Commands()


@pytest.fixture(scope="module")
def storage(
    either: Deployment, commands: _Commands, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[AnyStorage]:
    folder: Path = tmp_path_factory.mktemp("plans")
    storage = open_mongodb(either.address_of(folder), event_listeners=[commands])
    storage.commit(Commit(scopes=[Scope(name=f"s{n}") for n in range(10)]))
    puts = [
        put(
            f"m{n}",
            scope=f"s{n % 7}",
            kind=list(Kind)[n % 3],
            tags=(f"t{n % 9}",),
            conversation_id=f"c{n % 11}",
            key=f"k{n}" if n % 2 else None,
            status=list(Status)[n % 2],
            embedding=make_embedding(),
        )
        for n in range(300)
    ]
    storage.commit(Commit(puts=puts, entry=make_action(*IDS)))
    links = [make_link(f"m{n}", f"m{n + 1}") for n in range(200)]
    storage.commit(Commit(links=links, puts=[put("m2", revision=2)], entry=make_action("m2")))
    storage.commit(Commit(erases=[Erase(id="m299")]))
    yield storage
    storage.close()
    either.drop(folder)


def _queries(command: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any], Any]]:
    """Yield the collection, a command that can be explained, and the filter, for each query."""
    name = next(iter(command))
    collection = str(command[name])
    if name in ("update", "delete"):
        for part in command[f"{name}s"]:
            yield collection, {name: collection, f"{name}s": [part]}, part["q"]
    elif name == "aggregate" and "$match" in command["pipeline"][0]:
        kept = {key: command[key] for key in ("aggregate", "pipeline", "hint") if key in command}
        yield collection, {**kept, "cursor": {}}, command["pipeline"][0]["$match"]
        for stage in command["pipeline"]:
            if "$lookup" in stage:
                found = stage["$lookup"]["pipeline"][0]["$match"]
                yield (
                    stage["$lookup"]["from"],
                    {"find": stage["$lookup"]["from"], "filter": found},
                    found,
                )
    elif name in _FILTERS:
        parts = ("filter", "key", "sort", "limit", "hint", "query", "update", "projection")
        kept = {key: command[key] for key in (name, *parts) if key in command}
        yield collection, kept, command.get(_FILTERS[name], {})


def _stages(plan: Any) -> Iterator[Mapping[str, Any]]:
    """Yield every stage of the plan that won, and not of those that were refused."""
    if isinstance(plan, list):
        for part in plan:
            yield from _stages(part)
    elif isinstance(plan, dict):
        if isinstance(plan.get("stage"), str):
            yield plan
        for name, part in plan.items():
            if name not in ("rejectedPlans", "command", "parsedQuery"):
                yield from _stages(part)


def _has_scope(condition: Any) -> bool:
    """Return whether a filter names scopes outside of an alternative."""
    if "scope" in condition:
        return True
    return any(_has_scope(part) for part in condition.get("$and", ()))


def _uses_prefix(stage: Mapping[str, Any]) -> bool:
    """Return whether the first field of an index is bounded, or gives the order."""
    first = next(iter(stage["indexBounds"].values()))
    return first != ["[MinKey, MaxKey]"] and first != ["[MaxKey, MinKey]"]


@pytest.mark.parametrize("name", CALLS)
def test_each_query_uses_an_index_by_its_prefix(
    name: str, storage: AnyStorage, commands: _Commands
) -> None:
    row = CALLS[name]
    commands.seen.clear()
    row.call(storage)
    queries = [
        (database, *query)
        for database, command in list(commands.seen)
        for query in _queries(command)
    ]
    assert queries
    is_partitioned = isinstance(storage, PartitionedStorage)
    client = (storage._first if is_partitioned else storage)._connection.client
    used: Plans = {}
    for database, collection, command, condition in queries:
        if collection in _READ_WHOLE and not condition:
            continue
        stages = list(
            _stages(client[database].command("explain", command, verbosity="queryPlanner"))
        )
        kinds = {stage["stage"] for stage in stages}
        assert "COLLSCAN" not in kinds, (collection, condition)
        scans = [stage for stage in stages if stage["stage"] == "IXSCAN"]
        # A count and a distinct name the bounds of their index in another way, and have them.
        named = [stage for stage in stages if stage["stage"] in _SCANS]
        names = {"_id_"} if "IDHACK" in kinds else {scan["indexName"] for scan in named}
        assert names, (collection, condition, kinds)
        used.setdefault(collection, set()).update(names)
        ordered = "sort" in command and not condition
        assert ordered or all(_uses_prefix(scan) for scan in scans), (condition, scans)
    if is_partitioned:
        return
    allowed = {key: set(value.split()) for key, value in row.indexes.items()}
    assert used.keys() == allowed.keys()
    assert all(used[collection] <= allowed[collection] for collection in used), used
    own = [condition for _, collection, _, condition in queries if collection == "memories"]
    assert bool(own and all(map(_has_scope, own))) is row.by_scope
