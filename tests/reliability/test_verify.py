"""Verify reports all damage, changes nothing, and mends what is derived."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import apsw
import numpy as np
import pytest
from attrs import evolve
from click.testing import CliRunner

from benchmarks.soak.flips import flip_bits, make_store
from infinite_memory import Config, MemoryStore, NotFound, StoreDamaged
from infinite_memory.apps.cli.commands.maintenance import verify_command
from infinite_memory.core.values.commit import Attach, Commit
from infinite_memory.core.values.entry import Action, MemoryStep, Operation
from infinite_memory.core.values.fields import MEMORY_FIELDS, FieldType
from infinite_memory.core.values.link import Link, LinkType
from infinite_memory.core.values.record import Usage
from infinite_memory.core.values.verification import Finding, RecordKind, Verification
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.storage.sqlite.creation import PAGE_BYTES
from infinite_memory.testing.embedders import HashingEmbedder

NO_TABLE = (
    "PRAGMA writable_schema = 1; DELETE FROM sqlite_schema WHERE tbl_name = 'erased'; "
    "PRAGMA schema_version = 99"
)

_AT = datetime(2026, 1, 1, tzinfo=UTC)

Opened = Callable[[], MemoryStore]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def opened(home: Path) -> Opened:
    return lambda: MemoryStore.open(home, config=Config(home=home), embedder=HashingEmbedder())


@pytest.fixture
def store(opened: Opened) -> Iterator[MemoryStore]:
    with opened() as store:
        for number in range(3):
            store.remember(f"memory {number} of the red harbour", id=f"m{number}", tags=["a", "b"])
        store.revise("m0", revision=1, text="the river is blue")
        store.remember("to be erased", id="gone")
        store.forget("gone", hard=True)
        store.scopes.create("work")
        yield store


def alter(home: Path, sql: str) -> None:
    connection = apsw.Connection(str(home / "memory.db"))
    connection.execute(sql)
    connection.close()


def parts_of(verified: Verification) -> list[tuple[RecordKind, str | None]]:
    return [(finding.part, finding.id) for finding in verified.findings]


def test_a_sound_store_is_counted_and_nothing_is_found(store: MemoryStore) -> None:
    told: list[tuple[int, int]] = []
    verified = store.verify(progress=lambda done, total: told.append((done, total)))
    assert verified.sound
    assert told == [(3, 3)]
    counts = dict(verified.counts)
    assert counts.pop("pages") > 10
    assert counts == {
        "memories": 3,
        "embeddings": 3,
        "revisions": 1,
        "tags": 6,
        "erased": 1,
        "scopes": 1,
        "access_keys": 0,
        "links": 0,
        "usage": 0,
        "entries": 7,
        "indexed": 0,
    }


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("UPDATE memories SET text = 'lies' WHERE id = 'm1'", (RecordKind.MEMORY, "m1")),
        ("UPDATE memories SET revision = 7 WHERE id = 'm1'", (RecordKind.MEMORY, "m1")),
        ("UPDATE revisions SET body = '{}'", (RecordKind.REVISION, "m0")),
        ("UPDATE revisions SET id = 'm7'", (RecordKind.REVISION, "m7")),
        (
            "UPDATE embeddings SET vectors = zeroblob(64) WHERE number = 2",
            (RecordKind.EMBEDDING, "m1"),
        ),
        ("DELETE FROM embeddings WHERE number = 2", (RecordKind.EMBEDDING, "m1")),
        ("DELETE FROM memory_tags WHERE id = 'm1' AND folded = 'a'", (RecordKind.TAGS, "m1")),
        (
            "UPDATE memory_tags SET folded = 'z' WHERE id = 'm1' AND folded = 'a'",
            (RecordKind.TAGS, "m1"),
        ),
        ("INSERT INTO memory_tags VALUES ('z', 1, 'm1', 2)", (RecordKind.TAGS, "m1")),
        ("UPDATE scopes SET active = 0 WHERE name = 'work'", (RecordKind.SCOPE, "work")),
        ("UPDATE erased SET id = 'm9'", (RecordKind.ERASED, "m9")),
        ("UPDATE erased SET sequence = 1000", (RecordKind.FEED, "gone")),
        ("UPDATE erased SET sequence = (SELECT sequence FROM memories)", (RecordKind.FEED, "m1")),
        ("UPDATE erased SET id = 'm2'", (RecordKind.FEED, "m2")),
        ("UPDATE ledger SET sequence = 2", (RecordKind.FEED, None)),
        (
            "PRAGMA foreign_keys = 0; DELETE FROM memories WHERE id = 'm1'",
            (RecordKind.DATABASE, None),
        ),
        ("PRAGMA foreign_keys = 0; DELETE FROM memories WHERE id = 'm0'", (RecordKind.FEED, "m0")),
        (
            NO_TABLE,
            (RecordKind.DATABASE, None),
        ),
    ],
)
def test_each_altered_row_is_found_and_the_others_are_read(
    store: MemoryStore, home: Path, sql: str, expected: tuple[RecordKind, str | None]
) -> None:
    alter(home, sql)
    verified = store.verify()
    assert not verified.sound
    assert expected in parts_of(verified)
    assert all(finding.way_out for finding in verified.findings)
    assert store.get("m2").text == "memory 2 of the red harbour"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("UPDATE journal SET body = body || ' ' WHERE number = 1", (RecordKind.JOURNAL, None)),
        ("DELETE FROM journal", (RecordKind.JOURNAL, None)),
        ("DELETE FROM journal_memories", (RecordKind.JOURNAL, "m1")),
        ("UPDATE links SET weight = 0.5", (RecordKind.LINK, None)),
        ("UPDATE usage SET count = 7", (RecordKind.USAGE, "m1")),
        ("UPDATE activations SET activated_at = 7", (RecordKind.USAGE, "m2")),
        (
            "PRAGMA foreign_keys = 0; DELETE FROM memories WHERE number = 2",
            (RecordKind.DATABASE, None),
        ),
        ("UPDATE ledger SET entries = 0", (RecordKind.FEED, None)),
    ],
)
def test_what_is_kept_beside_the_memories_is_looked_at_too(
    store: MemoryStore, home: Path, sql: str, expected: tuple[RecordKind, str | None]
) -> None:
    storage = store._services.storage
    begun = Action(at=_AT, operation=Operation.BEGIN)
    step = MemoryStep(id="m1", before=1, after=1)
    link = Link(source="m1", target="m2", type=LinkType.CONTEXT, made_at=_AT)
    storage.commit(Commit(entry=begun))
    storage.commit(Commit(links=[link], entry=evolve(begun, memories=(step,))))
    storage.count_usage({"m1": Usage(count=2, last=_AT)})
    storage.count_usage({"m2": Usage(count=0, activation=5.0, activated_at=_AT)})
    verified = store.verify()
    assert verified.sound
    assert (verified.counts["links"], verified.counts["usage"]) == (1, 2)
    assert verified.counts["entries"] == storage.journal_end().number >= 2
    alter(home, sql)
    verified = store.verify()
    assert expected in parts_of(verified)
    assert all(finding.way_out for finding in verified.findings)


def test_a_damaged_memory_is_never_good_data_and_can_be_erased(
    store: MemoryStore, home: Path
) -> None:
    alter(home, "UPDATE memories SET text = 'lies of the red harbour' WHERE id = 'm1'")
    assert parts_of(store.verify()) == [(RecordKind.MEMORY, "m1")]
    for call in (
        lambda: store.get("m1"),
        lambda: store.journal.history("m1"),
        lambda: store.revise("m1", revision=1, text="x"),
        lambda: store.forget("m1"),
    ):
        with pytest.raises(StoreDamaged, match="'m1'"):
            call()
    assert "m1" not in [memory.id for memory in store.browse().memories]
    assert "m1" not in [hit.memory.id for hit in store.search("red harbour")]
    assert store.models.catch_up() == 0
    receipt = store.forget("m1", hard=True)
    assert receipt.erased == ("memory m1, which was damaged",)
    with pytest.raises(NotFound):
        store.get("m1")
    assert store.verify().sound
    store.remember("a new one under the old id", id="m1")


def test_columns_of_another_type_are_damage_like_any_other(store: MemoryStore, home: Path) -> None:
    alter(
        home,
        "PRAGMA writable_schema = 1; UPDATE sqlite_schema SET "
        "sql = replace(replace(sql, 'STRICT', ''), 'NOT NULL', '') "
        "WHERE name IN ('memories', 'erased', 'scopes');"
        "PRAGMA schema_version = 99",
    )
    alter(
        home,
        "DROP TRIGGER count_changed;"
        "UPDATE memories SET id = NULL, sequence = NULL, scope = NULL, happened_at = 'then' "
        "WHERE id = 'm1'; UPDATE erased SET id = NULL; UPDATE scopes SET name = NULL",
    )
    verified = store.verify()
    assert (RecordKind.MEMORY, "without a name") in parts_of(verified)
    assert [memory.id for memory in store.browse().memories] == ["m2", "m0"]
    assert store.stats().oldest is not None
    assert store._services.storage.pending("another", limit=9) == ["m2", "m0"]
    assert {hit.memory.id for hit in store.search("red harbour river")} <= {"m0", "m2"}


def test_a_damaged_vector_is_mended_from_the_text(store: MemoryStore, home: Path) -> None:
    good = store._services.storage.get(["m1"])["m1"]
    damage = "UPDATE embeddings SET vectors = zeroblob(64) WHERE number = 2"
    alter(home, damage)
    assert parts_of(store.verify()) == [(RecordKind.EMBEDDING, "m1")]
    assert store.models.catch_up() == 1
    assert store._services.storage.get(["m1"])["m1"] == good
    alter(home, damage)
    verified = store.verify(mend=True)
    assert (verified.sound, verified.mended) == (False, 1)
    assert store._services.storage.get(["m1"])["m1"] == good
    assert store.verify().sound


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("vectors", np.full((1, 256), 0.5, np.float32), "not of length 1"),
        ("spans", np.array([[0, 9999]], np.int32), "outside the text"),
        ("spans", np.array([[5, 2]], np.int32), "ends before it begins"),
    ],
)
def test_vectors_that_cannot_be_right_are_found_and_mended(
    store: MemoryStore, field: str, value: np.ndarray, sentence: str
) -> None:
    storage = store._services.storage
    good = storage.get(["m1"])["m1"].embedding_by(HashingEmbedder().model)
    assert good is not None
    if field == "vectors":
        value = np.full_like(good.vectors, 0.5)
    storage.commit(
        Commit(attaches=[Attach(id="m1", revision=1, embedding=evolve(good, **{field: value}))])
    )
    (finding,) = store.verify(mend=True).findings
    assert (finding.part, finding.id) == (RecordKind.EMBEDDING, "m1")
    assert sentence in finding.what
    assert storage.get(["m1"])["m1"].embeddings == (good,)


@pytest.fixture
def indexed(opened: Opened, home: Path) -> Path:
    """Return the file of the index of a store of 600 memories."""
    with opened() as store:
        store.remember_many({"id": f"m{n}", "text": f"memory {n}"} for n in range(600))
    (snapshot,) = (home / "index").glob("*.index")
    return snapshot


@pytest.mark.parametrize("offset", [5, 3000, -100_000, -3])
def test_a_damaged_index_is_found_and_made_anew(
    opened: Opened, home: Path, indexed: Path, offset: int
) -> None:
    good = indexed.read_bytes()
    place = offset % len(good)
    bad = bytearray(good)
    bad[place] ^= 0x10
    indexed.write_bytes(bad)
    with opened() as store:
        (finding,) = store.verify().findings
        assert finding.part is RecordKind.INDEX
    # A process that could not map it has made it anew when it closed; or else it is as it was.
    if indexed.read_bytes() == bad:
        with opened() as store:
            assert store.verify(mend=True).mended == 1
    with opened() as store:
        assert store.search("memory 77").items[0].memory.id == "m77"
    assert indexed.read_bytes() == good


def test_an_index_that_does_not_agree_with_the_store_is_found(
    opened: Opened, home: Path, indexed: Path
) -> None:
    with opened() as store:
        assert store.verify().counts["indexed"] == 600
        store.revise("m5", revision=1, scope="work")
        assert store.verify().sound
    alter(home, "PRAGMA foreign_keys = 1; DELETE FROM memories WHERE id = 'm9'")
    with opened() as store:
        lost, finding = store.verify().findings
        assert (lost.part, lost.id) == (RecordKind.JOURNAL, "m9")
        assert "1 documents of memories that are not stored" in finding.what


def test_a_record_that_the_index_has_otherwise_is_found(
    opened: Opened, home: Path, indexed: Path
) -> None:
    with opened() as store:
        view = store._services.index.load_snapshot()
        assert view is not None
        segment = evolve(
            view.segment_readers[0].segment, scope=view.segment_readers[0].segment.scope.copy()
        )
        part = evolve(view.segment_readers[0], segment=evolve(segment, stored=segment.stored + 1))
        snapshot = store._services.index._snapshot
        assert snapshot is not None
        assert snapshot.write(evolve(view, segment_readers=(part,)))
        assert len(store.verify().findings) == 600


def test_a_store_in_memory_is_verified_too() -> None:
    with MemoryStore.open("memory://", config=Config(), embedder=HashingEmbedder()) as store:
        store.remember("a", id="a")
        verified = store.verify(progress=lambda *_: None)
        assert verified == Verification(counts={"memories": 1, "entries": 1, "indexed": 0})


def test_a_storage_that_cannot_verify_is_read_through() -> None:
    class Plain:
        """The methods of `Storage` alone."""

        def __init__(self) -> None:
            storage = InMemoryStorage()
            names = "commit get find changes position active_model pending scopes measure journal"
            for name in f"{names} journal_end links usage access_keys".split():
                setattr(self, name, getattr(storage, name))
            self.identity = storage.identity
            self.history_of = storage.history

        def history(self, memory_id: str) -> list[object]:
            if memory_id == "bad":
                raise StoreDamaged("a revision of bad is damaged")
            return list(self.history_of(memory_id))

    told: list[int] = []
    with MemoryStore.open(
        "memory://", config=Config(), storage=Plain(), embedder=HashingEmbedder()
    ) as store:
        store.remember("a", id="a")
        assert store.verify(progress=lambda done, _: told.append(done)).sound
        store.remember("b", id="bad")
        store.revise("bad", revision=1, text="c")
        assert parts_of(store.verify()) == [(RecordKind.REVISION, "bad")]
    assert told == [1]


def test_a_damaged_page_is_found_and_nothing_is_mended(opened: Opened, home: Path) -> None:
    with opened() as store:
        store.remember_many({"id": f"m{n}", "text": f"memory {n} " * 30} for n in range(300))
    with (home / "memory.db").open("r+b") as file:
        file.seek(-PAGE_BYTES * 60, 2)
        file.write(b"\xee" * 2 * PAGE_BYTES)
    before = (home / "memory.db").read_bytes()
    with opened() as store:
        verified = store.verify(mend=True)
        assert RecordKind.DATABASE in {finding.part for finding in verified.findings}
        assert verified.mended == 0
    assert (home / "memory.db").read_bytes() == before


@pytest.mark.parametrize(
    ("flips", "least"),
    [(15, 3), pytest.param(100, 30, marks=pytest.mark.slow("sqlite-endurance"))],
)
def test_single_bits_that_flip_are_reported_and_never_returned(
    quick_folder: Path, flips: int, least: int
) -> None:
    make_store(quick_folder / "home", 300)
    result = flip_bits(quick_folder / "home", quick_folder / "work", flips=flips)
    assert result.changed > least
    assert (result.unreported, result.returned, result.altered) == ([], [], [])


@pytest.mark.parametrize(
    ("flips", "least"),
    [(15, 3), pytest.param(120, 50, marks=pytest.mark.slow("sqlite-endurance"))],
)
def test_a_bit_that_flips_in_the_head_of_a_row_changes_the_type_of_a_field_and_is_reported(
    quick_folder: Path, flips: int, least: int
) -> None:
    make_store(quick_folder / "home", 60)
    content = (quick_folder / "home" / "memory.db").read_bytes()
    texts = [match.start() for match in re.finditer(rb"Memory 3\d: ", content)]
    heads = [
        8 * byte + bit for start in texts for byte in range(start - 90, start) for bit in (0, 5)
    ]
    result = flip_bits(quick_folder / "home", quick_folder / "work", flips=flips, among=heads)
    assert result.changed > least
    assert (result.unreported, result.returned, result.altered) == ([], [], [])


_TEXT_FIELDS = [
    field
    for field in MEMORY_FIELDS
    if field.value_type not in {FieldType.TIME, FieldType.FLAG, FieldType.NUMBER}
]


def _fits_if_it_reads(
    kind: bytes, numbers: list[int | None], blobs: list[bytes | None], checksum: object
) -> bool:
    """Accept whatever row can be decoded, as a build without checksums would."""
    # The last one is the content hash, which is no text; before it the models are named.
    texts = [str(blob or b"", errors="replace") for blob in blobs[:-1]]
    try:
        for field, text in zip(_TEXT_FIELDS, texts[:-1], strict=True):
            if field.value_type in {FieldType.TEXTS, FieldType.OBJECT}:
                expected = list if field.value_type is FieldType.TEXTS else dict
                if not isinstance(json.loads(text), expected):
                    return False
            elif field.choices is not None:
                field.choices(text)
    except ValueError:
        return False
    return "\ufffd" not in "".join(texts) and all(abs(n or 0) < 2**55 for n in numbers)


@pytest.mark.slow("broken-storage")
def test_the_flips_bite_where_nothing_is_verified(
    quick_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_store(quick_folder / "home", 300)
    blind = flip_bits(
        quick_folder / "home", quick_folder / "work", flips=30, broken=frozenset({"verify"})
    )
    assert blind.unreported
    monkeypatch.setattr("infinite_memory.storage.sqlite.rows.seal_fits", _fits_if_it_reads)
    trusting = flip_bits(quick_folder / "home", quick_folder / "work", flips=60)
    assert trusting.returned


def test_the_command_prints_what_was_found_and_exits_with_its_code(
    store: MemoryStore, home: Path
) -> None:
    run = CliRunner()
    sound = run.invoke(verify_command, ["--home", str(home)], standalone_mode=False)
    assert sound.return_value == 0
    assert "No damage was found." in sound.output
    alter(home, "UPDATE memories SET text = 'lies' WHERE id = 'm1'")
    damaged = run.invoke(verify_command, ["--home", str(home), "--json"], standalone_mode=False)
    assert damaged.return_value == 4
    document = json.loads(damaged.stdout)
    assert document["sound"] is False
    first = document["findings"][0]
    assert (first["part"], first["id"]) == ("memory", "m1")
    table = run.invoke(verify_command, ["--home", str(home), "--mend"], standalone_mode=False)
    assert table.return_value == 4
    assert "memory\tmemory 'm1' is damaged\trestore it from a backup" in table.output


def test_the_names_of_the_steps_are_said_when_one_cannot_be_read(
    store: MemoryStore, home: Path
) -> None:
    alter(
        home,
        NO_TABLE,
    )
    findings: tuple[Finding, ...] = store.verify().findings
    assert any("the erased cannot be read" in finding.what for finding in findings)
