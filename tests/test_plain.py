"""`to_dict` of what a store returns: plain data, as `json.dumps` takes it."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest
from attrs import fields_dict, has
from hypothesis import given

import infinite_memory
from infinite_memory import Draft, Kind, Memory, MemoryStore, Occasion
from infinite_memory.core.config import Effective
from infinite_memory.core.plain import PlainData, to_plain
from infinite_memory.core.values.codec import to_json
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory.testing.strategies import memories
from tests.harness.reference import list_names_in_modules


@given(memories())
def test_a_memory_is_what_the_command_line_prints_of_it(memory: Memory) -> None:
    assert memory.to_dict() == to_json(memory)
    assert json.loads(json.dumps(memory.to_dict())) == memory.to_dict()


def test_every_public_value_can_be_given_as_plain_data() -> None:
    names = {f"infinite_memory.{name}" for name in infinite_memory.__all__}
    values = [resolve_name(name) for name in names | list_names_in_modules()]
    kinds = [kind for kind in values if isinstance(kind, type) and has(kind)]
    # Callers give drafts, and evaluators are given occasions; the configuration in force is for the
    # command line.
    others = {Draft, Effective, Occasion}
    assert {kind for kind in kinds if not issubclass(kind, PlainData)} == others


def test_what_a_person_prints_first_fits_a_line_and_says_what_it_is(tmp_path: Path) -> None:
    store = MemoryStore.open(tmp_path / "home", embedder=HashingEmbedder(32))
    receipt = store.remember("The ferry leaves at ten " * 20, id="ferry", scope="travel")
    (hit,) = store.search("when does the ferry leave?", scope="travel")
    assert (hit.text, hit.id) == (hit.memory.text, "ferry")
    assert repr(receipt) == "Receipt('stored', id='ferry', scope='travel')"
    assert repr(hit).startswith("Hit('The ferry leaves at ten The")
    assert repr(hit).endswith("scope='travel', id='ferry')")
    assert repr(store) == f"<MemoryStore open, {str(tmp_path / 'home')!r}>"
    assert len(repr(hit)) <= 120
    store.close()
    assert repr(store) == "<MemoryStore closed>"


def test_everything_that_a_store_returns_is_one_step_from_json() -> None:
    with MemoryStore.open("memory://", embedder=HashingEmbedder(32)) as store:
        first = store.remember("Alice lives in Oslo", key="alice/home", scope="people")
        second = store.remember("Alice lives in Bergen", key="alice/home", scope="people")
        store.profile.update({"name": "Ann", "facts": ["likes tea"]})
        hits = store.search("where does Alice live?", scope="people", mode="history", explain=True)
        returned: list[Any] = [
            first,
            second,
            hits,
            hits[0],
            store.get(first.id),
            store.why_not("where?", first.id, scope="people"),
            store.browse(scope="ALL"),
            store.recall_by_time(when="today", scope="ALL"),
            store.stats(),
            store.verify(),
            store.scopes["people"],
            store.journal[1],
            store.profile.get(),
            store.bulk.preview_forget(scope="people"),
            store.usage(first.id),
            store.undo(),
        ]
        for value in returned:
            document = value.to_dict()
            assert json.loads(json.dumps(document)) == document, value


def test_a_hit_has_the_fields_of_its_memory_beside_its_own() -> None:
    with MemoryStore.open("memory://", embedder=HashingEmbedder(32)) as store:
        store.remember("Alice lives in Oslo", id="a", tags=["home"])
        hits = store.search("Alice")
    document = hits.to_dict()
    assert document["likely"] is hits.likely
    assert document["hits"] == [hits[0].to_dict()]
    assert document["hits"][0]["id"] == "a"
    assert document["hits"][0]["tags"] == ["home"]
    assert document["hits"][0]["score"] == hits[0].score
    assert set(document["hits"][0]) == {*fields_dict(Memory), *fields_dict(type(hits[0]))} - {
        "memory"
    }


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (datetime(2026, 3, 1, 9, tzinfo=timezone(timedelta(hours=2))), "2026-03-01T07:00:00Z"),
        (datetime(2026, 3, 1, 9, 0, 0, 5, tzinfo=UTC), "2026-03-01T09:00:00.000005Z"),
        (date(2026, 3, 1), "2026-03-01"),
        (timedelta(minutes=1), 60.0),
        (Kind.NOTE, "note"),
        (b"\x01\xff", "01ff"),
        ({date(2026, 3, 1): (1, Kind.FACT)}, {"2026-03-01": [1, "fact"]}),
        (frozenset({"one"}), ["one"]),
    ],
)
def test_each_kind_of_value_has_a_plain_form(value: object, plain: object) -> None:
    result = to_plain(value)
    assert result == plain
    assert json.loads(json.dumps(result)) == plain
    assert type(result) is type(plain)


def test_what_has_no_plain_form_is_refused() -> None:
    with pytest.raises(TypeError, match="has no plain form"):
        to_plain({"a": [object()]})


def test_an_access_key_is_given_without_its_digest() -> None:
    with MemoryStore.open("memory://", embedder=HashingEmbedder(32)) as store:
        created = store.keys.create("laptop", rights=["write"], scopes=["team/*"])
        document = created.to_dict()
    assert document["secret"] == created.secret
    assert document["key"]["rights"] == ["read", "write"]
    assert "digest" not in document["key"]
    assert json.loads(json.dumps(document)) == document
