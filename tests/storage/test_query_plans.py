"""Nothing that is asked for one memory reads a whole table: a search does so for each hit."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import apsw
import numpy as np
import pytest
from attrs import evolve

from infinite_memory.core.values.commit import (
    Attach,
    Commit,
    Detach,
    Erase,
    Expect,
    ExpectContent,
    ExpectKey,
    Put,
)
from infinite_memory.core.values.content_hash import content_hash
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.link import Link, LinkKey, LinkType
from infinite_memory.core.values.memory import Kind, Memory, Status
from infinite_memory.core.values.record import Embedding, Usage
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.testing.storage_contract.journal import make_action
from tests.harness.costs import collect_statements

_AT = datetime(2026, 1, 1, tzinfo=UTC)
_MODELS = ("first", "second")


def _embedding(model: str) -> Embedding:
    return Embedding(model=model, spans=np.zeros((1, 2), np.int32), vectors=np.eye(1, 4, 0, "f4"))


def _memory(number: int) -> Memory:
    key = f"key {number}"
    return Memory(id=f"m{number}", text="x", key=key, happened_at=_AT, stored_at=_AT)


def _fill(storage: SqliteStorage) -> None:
    for number in range(50):
        memory = _memory(number)
        embeddings = tuple(map(_embedding, _MODELS))
        put = Put(memory=memory, expected=0, embeddings=embeddings)
        entry = make_action(memory.id)
        storage.commit(Commit(puts=[put], links=[_link(number)], entry=entry))


def _link(number: int) -> Link:
    return Link(source="m0", target=f"m{number}", type=LinkType.CONTEXT, made_at=_AT)


_HASHES = frozenset({bytes(32), *(content_hash(_memory(number)) for number in range(50))})
_CONTENT = ExpectContent(
    scopes=frozenset({"Global"}),
    content_hashes=_HASHES,
    ids=frozenset(f"m{number}" for number in range(50)),
)
_CALLS: dict[str, Callable[[SqliteStorage], object]] = {
    "get": lambda storage: storage.get(["m7"]),
    "get without vectors": lambda storage: storage.get(["m7"], models=()),
    "get by one model": lambda storage: storage.get(["m7"], models=_MODELS[:1]),
    "get by two models": lambda storage: storage.get(["m7"], models=_MODELS),
    "history": lambda storage: storage.history("m7"),
    "find ids": lambda storage: storage.find_ids(["m7"]),
    "keys": lambda storage: storage.keys(["Global"], limit=3),
    "erased": lambda storage: storage.erased(["m7"]),
    "changes": lambda storage: storage.changes(45, limit=3),
    "changes without vectors": lambda storage: storage.changes(45, limit=3, models=()),
    "changes by one model": lambda storage: storage.changes(45, limit=3, models=_MODELS[:1]),
    "changes in a scope": lambda storage: storage.changes_in("Global", 45, limit=3),
    "changes in a scope from the first": lambda storage: storage.changes_in("few", 0, limit=3),
    "position": lambda storage: storage.position(),
    "attach": lambda storage: storage.commit(
        Commit(attaches=[Attach(id="m7", revision=1, embedding=_embedding("third"))])
    ),
    "detach": lambda storage: storage.commit(Commit(detaches=[Detach(id="m7", keep="first")])),
    "erase": lambda storage: storage.commit(
        Commit(erases=[Erase(id="m7")], entry=make_action("m7"))
    ),
    "links": lambda storage: storage.links(["m7"]),
    "erase a link": lambda storage: storage.commit(
        Commit(erased_links=[LinkKey("m0", "m7", LinkType.CONTEXT)])
    ),
    "journal": lambda storage: storage.journal(before=40, limit=3),
    "journal of one memory": lambda storage: storage.journal(limit=3, memory_id="m7"),
    "journal end": lambda storage: storage.journal_end(),
    "usage": lambda storage: storage.usage(["m7"]),
    "count usage": lambda storage: storage.count_usage({"m7": Usage(count=1, last=_AT)}),
    "expect a key": lambda storage: storage.commit(
        Commit(expect=Expect(keys=[ExpectKey(scope="Global", key="key 7", ids=frozenset({"m7"}))]))
    ),
    "expect a content": lambda storage: storage.commit(Commit(expect=Expect(contents=[_CONTENT]))),
    "find a content": lambda storage: storage.find(
        Criteria(content_hashes=_HASHES, scopes=frozenset({"Global"})), limit=3
    ),
    "find a key": lambda storage: storage.find(Criteria(key="key 7", as_of=_AT), limit=3),
}


def test_a_key_is_found_by_its_index_whatever_else_is_asked_for(tmp_path: Path) -> None:
    scopes = frozenset({"Global"})
    with collect_statements() as statements:
        storage = SqliteStorage.open(tmp_path)
        statements.clear()
        storage.find(Criteria(key="k", scopes=scopes, tags=("t",), conversation_id="c"), limit=1)
        storage.commit(
            Commit(expect=Expect(keys=[ExpectKey(scope="Global", key="k", ids=frozenset())]))
        )
        storage.close()
    asked = [each for each in statements if '"key" = ?' in each[0]]
    connection = apsw.Connection(str(tmp_path / "memory.db"))
    plans = [
        next(connection.execute(f"EXPLAIN QUERY PLAN {sql}", bindings))[3]
        for sql, bindings in asked
    ]
    connection.close()
    assert len(plans) == 2
    assert all("memories_by_key (key=?)" in plan for plan in plans), plans


def test_what_is_of_a_rare_kind_is_found_by_an_index(tmp_path: Path) -> None:
    with collect_statements() as statements:
        storage = SqliteStorage.open(tmp_path)
        statements.clear()
        storage.find(Criteria(kinds=frozenset({Kind.FACT})), limit=1)
        storage.find(Criteria(kinds=frozenset({Kind.FACT, Kind.DECISION})), limit=1)
        storage.find(Criteria(kinds=frozenset({Kind.FACT, Kind.NOTE})), limit=1)
        storage.find(Criteria(kinds=frozenset({Kind.FACT}), conversation_id="c"), limit=1)
        storage.close()
    asked = [each for each in statements if "kind" in each[0]]
    connection = apsw.Connection(str(tmp_path / "memory.db"))
    plans = [
        next(connection.execute(f"EXPLAIN QUERY PLAN {sql}", bindings))[3]
        for sql, bindings in asked
    ]
    connection.close()
    assert "memories_by_kind (kind=?)" in plans[0], plans
    assert "memories_by_kind (kind=?)" in plans[1], plans
    assert "memories_by_time" in plans[2], plans
    assert "memories_by_conversation (conversation_id=?)" in plans[3], plans


def test_many_memories_are_read_by_one_statement_in_the_order_of_their_ids(tmp_path: Path) -> None:
    with collect_statements() as statements:
        storage = SqliteStorage.open(tmp_path)
        _fill(storage)
        statements.clear()
        ids = ["m7", "m3", "none", "m30", "a\0b", "m3"]
        assert list(storage.get(ids)) == ["m7", "m3", "m30"]
        assert storage.erased(ids) == frozenset()
        storage.close()
    assert len([sql for sql, _ in statements if "memories m" in sql]) == 1
    assert len([sql for sql, _ in statements if "erased" in sql]) == 1


def test_a_change_sets_the_columns_that_differ_alone(tmp_path: Path) -> None:
    with collect_statements() as statements:
        storage = SqliteStorage.open(tmp_path)
        _fill(storage)
        statements.clear()
        after = evolve(_memory(7), status=Status.ARCHIVED, revision=2)
        storage.commit(Commit(puts=[Put(memory=after, expected=1)]))
        assert storage.get(["m7"])["m7"].memory == after
        storage.close()
    (update,) = [sql for sql, _ in statements if sql.startswith("UPDATE memories")]
    names = [part.split('"')[1] for part in update.split("WHERE")[0].split(",")]
    assert names == ["status", "embedded_by", "sequence", "revision", "checksum"]


@pytest.mark.parametrize("name", _CALLS)
def test_no_table_is_read_whole(name: str, tmp_path: Path) -> None:
    storage = SqliteStorage.open(tmp_path)
    _fill(storage)
    storage.close()
    with collect_statements() as statements:
        storage = SqliteStorage.open(tmp_path)
        statements.clear()
        _CALLS[name](storage)
        storage.close()
    asked = [each for each in statements if each[0].split()[0] in ("SELECT", "UPDATE", "DELETE")]
    assert asked
    connection = apsw.Connection(str(tmp_path / "memory.db"))
    plans = [
        (sql, row[3])
        for sql, bindings in asked
        for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", bindings)
    ]
    connection.close()
    # The table `ledger` has one row, and that of `json_each` the ids that are asked for.
    scans = [e for e in plans if e[1].startswith("SCAN") and "VIRTUAL TABLE" not in e[1]]
    assert [e for e in scans if e[1] != "SCAN ledger"] == []
