"""Damage inside a sound database file: a damaged record is never returned, the others are."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import apsw
import numpy as np
import pytest
from attrs import evolve

from infinite_memory.core.errors import InvalidInput, StoreDamaged
from infinite_memory.core.values.codec import to_json
from infinite_memory.core.values.commit import Attach, Commit, Detach, Erase
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import GLOBAL
from infinite_memory.core.values.record import Record
from infinite_memory.core.values.scope import Scope
from infinite_memory.core.values.verification import RecordKind
from infinite_memory.storage.integrity import seal, seal_fits
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.storage.sqlite.creation import PAGE_BYTES
from infinite_memory.storage.sqlite.records import seal_revision
from infinite_memory.storage.sqlite.vectors import decode_embedding, encode_embedding
from infinite_memory.testing.storage_contract import (
    make_access_key,
    make_embedding,
    make_memory,
    put,
)
from infinite_memory.testing.storage_contract.base import NOW

_COLUMNS = [
    "revision",
    "kind",
    "status",
    "scope",
    "title",
    "text",
    "tags",
    "context",
    "conversation_id",
    "speaker",
    "origin",
    "happened_at",
    "stored_at",
    "valid_from",
    "valid_to",
    "key",
    "important",
    "sources",
    "attachments",
    "embedded_by",
    "content_hash",
    "checksum",
]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def storage(home: Path) -> Iterator[SqliteStorage]:
    storage = SqliteStorage.open(home)
    storage.commit(
        Commit(puts=[put("a", embedding=make_embedding(1)), put("b", embedding=make_embedding(2))])
    )
    yield storage
    storage.close()


def _alter(home: Path, sql: str) -> None:
    connection = apsw.Connection(str(home / "memory.db"))
    connection.execute(sql)
    connection.close()


def _unlike(storage: SqliteStorage) -> list[str]:
    """Return the damage; the vectors of the tests are made of chance."""
    found = [finding.what for finding in storage.verify().findings]
    return [what for what in found if "is not valid" not in what]


@pytest.mark.parametrize("column", _COLUMNS)
def test_a_change_to_any_column_is_noticed(storage: SqliteStorage, home: Path, column: str) -> None:
    value = "x'00'" if column in ("checksum", "content_hash") else "7777"
    _alter(home, f"UPDATE memories SET \"{column}\" = {value} WHERE id = 'a'")
    with pytest.raises(StoreDamaged, match=r"'a' in .*memory\.db is damaged"):
        storage.get(["a"])
    assert storage.damaged == {"a"}
    with pytest.raises(StoreDamaged):
        storage.history("a")
    assert list(storage.get(["b"])) == ["b"]


@pytest.mark.parametrize("byte", range(0, 32, 31))
def test_one_flipped_byte_of_a_content_hash_is_found(
    storage: SqliteStorage, home: Path, byte: int
) -> None:
    content_hash = bytearray(put("a").content_hash)
    content_hash[byte] ^= 1
    _alter(home, f"UPDATE memories SET content_hash = x'{content_hash.hex()}' WHERE id = 'a'")
    assert "memory 'a' is damaged" in _unlike(storage)
    assert list(storage.get(["b"])) == ["b"]


def test_a_damaged_memory_is_left_out_of_every_list(
    storage: SqliteStorage, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    _alter(home, "UPDATE memories SET text = CAST(x'ff00fe' AS TEXT) WHERE id = 'a'")
    with caplog.at_level(logging.WARNING):
        assert [change.id for change in storage.changes(0, limit=1).items] == ["b"]
        assert storage.changes(0, limit=9).cursor == storage.position()
    assert [record.message for record in caplog.records] == [
        f"{home / 'memory.db'}: the record 'a' is damaged: it is left out of every result"
    ]
    assert [memory.id for memory in storage.find(Criteria(), limit=9).memories] == ["b"]
    assert storage.pending("another model", limit=9) == ["b"]
    assert storage.damaged == {"a"}
    assert sum(storage.measure().memories.values()) == 2


def test_an_altered_sequence_is_noticed(storage: SqliteStorage, home: Path) -> None:
    _alter(home, "UPDATE memories SET sequence = 1000 WHERE id = 'a'")
    assert [change.id for change in storage.changes(0, limit=9).items] == ["b"]
    assert storage.damaged == {"a"}


def test_swapped_rows_are_noticed(storage: SqliteStorage, home: Path) -> None:
    _alter(
        home,
        "UPDATE memories SET id = 'c' WHERE id = 'a'; UPDATE memories SET id = 'a' WHERE id = 'b';"
        "UPDATE memories SET id = 'b' WHERE id = 'c'",
    )
    for memory_id in "ab":
        with pytest.raises(StoreDamaged):
            storage.get([memory_id])


def test_a_damaged_memory_cannot_pass_into_the_history_and_can_be_erased(
    storage: SqliteStorage, home: Path
) -> None:
    _alter(home, "UPDATE memories SET text = 'forged' WHERE id = 'a'")
    with pytest.raises(StoreDamaged):
        storage.commit(Commit(puts=[put("c"), put("a", revision=2)]))
    with pytest.raises(StoreDamaged):
        storage.commit(Commit(attaches=[Attach(id="a", revision=1, embedding=make_embedding())]))
    assert storage.get(["c"]) == {}
    storage.commit(Commit(erases=[Erase(id="a")]))
    assert storage.damaged == frozenset()
    storage.commit(Commit(puts=[put("a", text="restored")]))
    assert storage.get(["a"])["a"].memory.text == "restored"


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE embeddings SET vectors = zeroblob(64) WHERE number = 1",
        "UPDATE embeddings SET vectors = zeroblob(63) WHERE number = 1",
        "UPDATE embeddings SET spans = zeroblob(16) WHERE number = 1",
        "UPDATE embeddings SET dimensions = 4 WHERE number = 1",
        "UPDATE embeddings SET model = 'model-b' WHERE number = 1",
        "UPDATE embeddings SET checksum = zeroblob(16) WHERE number = 1",
        "DELETE FROM embeddings WHERE number = 1",
        "UPDATE embeddings SET number = number + 10;"
        " UPDATE embeddings SET number = 1 WHERE number = 12",
    ],
)
def test_a_damaged_embedding_counts_as_none_and_waits_to_be_made_anew(
    storage: SqliteStorage, home: Path, damage: str
) -> None:
    _alter(home, damage)
    record = storage.get(["a"])["a"]
    assert record == Record(memory=make_memory("a"))
    assert storage.pending("model-a", limit=1) == ["a"]
    assert storage.damaged == frozenset()
    storage.commit(Commit(attaches=[Attach(id="a", revision=1, embedding=make_embedding(3))]))
    assert storage.get(["a"])["a"].embeddings == (make_embedding(3),)
    assert "a" not in storage.pending("model-a", limit=9)


def test_of_two_embeddings_only_the_damaged_one_counts_as_none(
    storage: SqliteStorage, home: Path
) -> None:
    one, two = make_embedding(1), make_embedding(5, model="model-b")
    storage.commit(Commit(attaches=[Attach(id="a", revision=1, embedding=two)]))
    _alter(
        home, "UPDATE embeddings SET vectors = zeroblob(64) WHERE number = 1 AND model = 'model-a'"
    )
    assert storage.get(["a"])["a"].embeddings == (two,)
    assert storage.pending("model-a", limit=9) == ["a"]
    assert storage.pending("model-b", limit=9) == ["b"]
    storage.commit(
        Commit(attaches=[Attach(id="a", revision=1, embedding=make_embedding(6, model="model-b"))])
    )
    assert storage.pending("model-a", limit=9) == ["a"]
    assert _unlike(storage) == ["the embedding of memory 'a' by model-a is damaged"]
    storage.commit(Commit(attaches=[Attach(id="a", revision=1, embedding=one)]))
    assert storage.pending("model-a", limit=9) == []
    assert _unlike(storage) == []


def test_a_damaged_embedding_of_a_model_that_is_given_up_is_taken_away(
    storage: SqliteStorage, home: Path
) -> None:
    storage.commit(
        Commit(attaches=[Attach(id="a", revision=1, embedding=make_embedding(5, model="model-b"))])
    )
    _alter(home, "UPDATE embeddings SET vectors = zeroblob(64) WHERE model = 'model-a'")
    storage.commit(
        Commit(detaches=[Detach(id="a", keep="model-b"), Detach(id="b", keep="model-b")])
    )
    assert _unlike(storage) == []
    assert storage.pending("model-b", limit=9) == ["b"]


def test_an_embedding_that_its_memory_does_not_know_of_is_not_returned(
    storage: SqliteStorage, home: Path
) -> None:
    _alter(
        home,
        "INSERT INTO embeddings SELECT number, 'model-x', dimensions, spans, vectors, checksum "
        "FROM embeddings WHERE number = 1",
    )
    assert storage.get(["a"])["a"].embeddings == (make_embedding(1),)
    assert _unlike(storage) == ["memory 'a' has an embedding that its record does not list"]


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_vectors_that_are_not_finite_are_not_returned_even_with_a_good_checksum(
    number: float,
) -> None:
    whole = np.full((2, 8), number, "<f4").tobytes()
    steps = np.ones((2, 8), "<i2").tobytes() + np.full(2, number, "<f4").tobytes()
    for vectors in (whole, steps, steps[4:], whole[4:]):
        assert decode_embedding("a", 1, _seal_vectors(vectors)) is None


def test_the_greatest_vectors_come_back_and_too_few_do_not() -> None:
    huge = evolve(make_embedding(), vectors=np.full((2, 8), 3e38, dtype=np.float32))
    short = evolve(make_embedding(), vectors=np.zeros((1, 8), dtype=np.float32))
    for embedding, expected in ((short, None), (huge, huge)):
        model, *rest = encode_embedding("a", 1, embedding)
        assert decode_embedding("a", 1, (model.encode(), *rest)) == expected


def _seal_vectors(vectors: bytes) -> tuple[bytes, int, bytes, bytes, bytes]:
    """Return a row of two passages, sealed by a faulty writer."""
    spans = np.zeros((2, 2), "<i4").tobytes()
    return b"m", 8, spans, vectors, seal(b"embedding", (1, 8), (b"a", b"m", spans, vectors))


def test_a_damaged_revision_is_not_returned(storage: SqliteStorage, home: Path) -> None:
    storage.commit(Commit(puts=[put("a", revision=2)]))
    _alter(home, "UPDATE revisions SET body = replace(body, 'text of', 'lies of')")
    with pytest.raises(StoreDamaged, match="revision 1 in the history of memory 'a'"):
        storage.history("a")
    assert storage.get(["a"])["a"].memory.revision == 2


def test_an_earlier_revision_from_before_a_field_has_its_default(
    storage: SqliteStorage, home: Path
) -> None:
    storage.commit(Commit(puts=[put("a", revision=2)]))
    values = to_json(make_memory("a"))
    del values["important"]
    body = json.dumps(values)
    connection = apsw.Connection(str(home / "memory.db"))
    update = "UPDATE revisions SET body = ?, checksum = ? WHERE id = 'a'"
    connection.execute(update, (body, seal_revision("a", 1, body)))
    assert storage.history("a")[0] == make_memory("a")
    assert _unlike(storage) == []
    shorter = body.replace('"title": null, ', "")
    connection.execute("UPDATE revisions SET body = ? WHERE id = 'a'", (shorter,))
    connection.close()
    assert shorter != body
    with pytest.raises(StoreDamaged, match="revision 1 in the history of memory 'a'"):
        storage.history("a")


def test_a_damaged_scope_and_a_damaged_tombstone_are_left_out(
    storage: SqliteStorage, home: Path
) -> None:
    storage.commit(Commit(scopes=[Scope(name="s"), Scope(name="t")]))
    storage.commit(Commit(erases=[Erase(id="a")]))
    _alter(home, "UPDATE scopes SET parent = 'x' WHERE name = 's'; UPDATE erased SET id = 'b'")
    assert set(storage.scopes()) == {GLOBAL, "t"}
    assert [change.id for change in storage.changes(0, limit=9).items] == ["b"]
    assert storage.damaged == {"scope s", "b"}


@pytest.mark.parametrize(
    "change",
    [
        "digest = x'00'",
        "rights = '[\"admin\"]'",
        "scopes = '[\"*\"]'",
        "name = 'other'",
        "expires_at = NULL",
        "revoked_at = NULL",
        "created_at = 0",
        "created_by = 'nobody'",
        "id = 'cccccccc'",
        "checksum = x'00'",
    ],
)
def test_an_access_key_that_was_altered_opens_nothing(
    storage: SqliteStorage, home: Path, change: str
) -> None:
    sound = make_access_key("bbbbbbbb")
    ended = {"expires_at": NOW, "revoked_at": NOW}
    limited = make_access_key("aaaaaaaa", scopes=("team/*",), **ended)
    storage.commit(Commit(access_keys=[limited, sound]))
    _alter(home, f"UPDATE access_keys SET {change} WHERE id = 'aaaaaaaa'")
    key_id = "cccccccc" if change.startswith("id") else "aaaaaaaa"
    assert storage.access_keys([key_id]) == {}
    assert storage.access_keys() == {"bbbbbbbb": sound}
    assert storage.damaged == {f"access key {key_id}"}
    assert f"the access key {key_id!r} is damaged" in _unlike(storage)
    finding = storage.damage()[0]
    assert (finding.part, finding.id) == (RecordKind.ACCESS_KEY, key_id)
    storage.commit(Commit(access_keys=[make_access_key(key_id)]))
    assert _unlike(storage) == []
    assert storage.damaged == frozenset()


def test_a_change_counter_that_was_altered_stops_reading_the_feed_and_writing(
    storage: SqliteStorage, home: Path
) -> None:
    _alter(home, "UPDATE ledger SET sequence = 1")
    for call in (storage.position, lambda: storage.changes(0, limit=1)):
        with pytest.raises(StoreDamaged, match="counts its changes"):
            call()
    with pytest.raises(StoreDamaged, match="counts its changes"):
        storage.commit(Commit(puts=[put("c")]))
    assert list(storage.get(["a", "c"])) == ["a"]


def test_what_no_database_can_keep_is_refused_before_anything_is_written(
    storage: SqliteStorage,
) -> None:
    before = storage.position()
    for bad in (
        Commit(puts=[put("x", text="lone \ud800")]),
        Commit(puts=[put("x", tags=("\udfff",))]),
        Commit(puts=[put("x", context={"n": float("nan")})]),
        Commit(scopes=[Scope(name="s", description="\ud800")]),
    ):
        with pytest.raises(InvalidInput, match="cannot be stored"):
            storage.commit(evolve(bad, puts=[put("y"), *bad.puts]))
    assert storage.position() == before
    assert storage.get(["x", "y"]) == {}


def test_a_malformed_page_ends_all_writing_and_the_files_are_left_alone(home: Path) -> None:
    storage = SqliteStorage.open(home)
    storage.commit(Commit(puts=[put(f"m{number}", text="y" * 3000) for number in range(50)]))
    storage.close()
    with (home / "memory.db").open("r+b") as file:  # no store is open now
        file.seek(-PAGE_BYTES * 40, 2)
        file.write(b"\xee" * PAGE_BYTES * 40)
    before = (home / "memory.db").read_bytes()
    storage = SqliteStorage.open(home)
    with pytest.raises(StoreDamaged, match="is damaged"):
        storage.changes(0, limit=100)
    with pytest.raises(StoreDamaged, match="this process writes nothing more"):
        storage.commit(Commit(puts=[put("late")]))
    storage.close()
    assert (home / "memory.db").read_bytes() == before


@pytest.mark.parametrize("numbers", [("one",), (1.5,), (2**64,)])
def test_a_value_of_a_wrong_type_never_fits_a_checksum(numbers: tuple[object, ...]) -> None:
    assert not seal_fits(b"memory", numbers, (), seal(b"memory", (1,), ()))
    assert not seal_fits(b"memory", (1,), ("text",), seal(b"memory", (1,), (b"text",)))
    assert not seal_fits(b"memory", (1,), (b"text",), None)
