"""A journal that is damaged is noticed, entry by entry; so are links and usage."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import apsw
import pytest
from attrs import evolve

from infinite_memory.core.errors import InvalidInput, StoreDamaged
from infinite_memory.core.values.commit import Commit, Erase
from infinite_memory.core.values.entry import Action, MemoryStep, Operation, entry_digest
from infinite_memory.core.values.link import Link, LinkKey, LinkType
from infinite_memory.core.values.record import Usage
from infinite_memory.core.values.verification import RecordKind
from infinite_memory.engine.verification import journal as verify_journal
from infinite_memory.engine.verification.journal import check_journal
from infinite_memory.storage.hash_chain import EntryDamaged
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.testing.storage_contract.base import NOW, make_link, put
from infinite_memory.testing.storage_contract.journal import make_action

_ENTRIES = 9


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[SqliteStorage]:
    """Return a store of as many memories as entries, each by one, that are linked in a row."""
    storage = SqliteStorage.open(tmp_path)
    for number in range(1, _ENTRIES + 1):
        storage.commit(Commit(puts=[put(f"m{number}")], entry=make_action(f"m{number}")))
    storage.commit(Commit(links=[_link(number) for number in range(1, _ENTRIES)]))
    storage.count_usage({"m1": Usage(count=3, last=NOW), "m2": Usage(count=1, last=NOW)})
    yield storage
    storage.close()


def _link(number: int) -> Link:
    return make_link(f"m{number}", f"m{number + 1}", reason="next")


def _alter(storage: SqliteStorage, sql: str, *bindings: object) -> None:
    connection = apsw.Connection(str(storage._database.path))
    connection.execute(sql, bindings)  # type: ignore[arg-type]
    connection.close()


def _found(storage: SqliteStorage) -> list[str]:
    return [finding.what for finding in check_journal(storage)[1]]


@pytest.fixture(params=[1000, 3, 1])
def batch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Walk in steps of several lengths: what is found must not depend on them."""
    monkeypatch.setattr(verify_journal, "_BATCH", request.param)


def test_a_sound_journal_is_read_whole(storage: SqliteStorage, batch: None) -> None:
    assert check_journal(storage) == (_ENTRIES, [])


_CHANGED = "is damaged, or does not continue the chain"
_UNCHECKED = "cannot be checked, since entry {} before it is missing"
_END = f"the last entry is recorded as {_ENTRIES}"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (
            "UPDATE journal SET body = replace(body, 'remember', 'forget') WHERE number = 5",
            [f"entry 5 of the journal {_CHANGED}"],
        ),
        (
            "UPDATE journal SET body = '' WHERE number IN (1, 9)",
            [f"entry {n} of the journal {_CHANGED}" for n in (9, 1)],
        ),
        (
            "UPDATE journal SET digest = zeroblob(32) WHERE number = 5",
            [f"entry {n} of the journal {_CHANGED}" for n in (6, 5)],
        ),
        (
            "UPDATE journal SET digest = x'00' WHERE number = 9",
            [f"entry 9 of the journal {_CHANGED}"],
        ),
        (
            "DELETE FROM journal WHERE number = 5",
            [f"entry 6 of the journal {_UNCHECKED.format(5)}", "entry 5 of the journal is missing"],
        ),
        (
            "DELETE FROM journal WHERE number BETWEEN 2 AND 7",
            [
                f"entry 8 of the journal {_UNCHECKED.format(7)}",
                "entries 2 to 7 of the journal are missing",
            ],
        ),
        ("DELETE FROM journal WHERE number = 9", ["entry 9 of the journal is missing"]),
        ("DELETE FROM journal WHERE number > 2", ["entries 3 to 9 of the journal are missing"]),
        ("DELETE FROM journal", ["entries 1 to 9 of the journal are missing"]),
        (
            "DELETE FROM journal WHERE number = 1",
            [f"entry 2 of the journal {_UNCHECKED.format(1)}", "entry 1 of the journal is missing"],
        ),
        (
            "INSERT INTO journal SELECT number + 9, body, digest FROM journal "
            "WHERE number IN (1, 3)",
            [
                "entry 12 does not belong to the journal, which ends with entry 9",
                "entry 10 does not belong to the journal, which ends with entry 9",
            ],
        ),
        (
            "INSERT INTO journal SELECT number - 9, body, digest FROM journal WHERE number > 7",
            [
                "entry 0 does not belong to the journal, which ends with entry 9",
                "entry -1 does not belong to the journal, which ends with entry 9",
            ],
        ),
        (
            "UPDATE journal SET number = number + 100 WHERE number = 4;"
            "UPDATE journal SET number = 4 WHERE number = 6;"
            "UPDATE journal SET number = 6 WHERE number = 104",
            [f"entry {n} of the journal {_CHANGED}" for n in (7, 6, 5, 4)],
        ),
    ],
)
def test_whatever_was_done_to_the_journal_is_found_with_the_numbers(
    storage: SqliteStorage, batch: None, sql: str, expected: list[str]
) -> None:
    _alter(storage, sql)
    assert _found(storage) == expected
    assert all(finding.part is RecordKind.JOURNAL for finding in check_journal(storage)[1])


def test_a_tail_that_was_written_anew_in_a_sound_chain_is_found(storage: SqliteStorage) -> None:
    digest = storage.journal(before=8, limit=1)[0].digest
    text = make_action("forged").to_text()
    for number in (8, 9, 10):
        digest = entry_digest(digest, number, text)
        row = (number, text, digest)
        _alter(
            storage, "INSERT OR REPLACE INTO journal (number, body, digest) VALUES (?, ?, ?)", *row
        )
    assert _found(storage) == [
        "entry 10 does not belong to the journal, which ends with entry 9",
        f"entry 9 of the journal {_CHANGED}",
    ]
    with pytest.raises(EntryDamaged, match=rf"entry 10 .*does not belong to it \({_END}\)"):
        storage.commit(Commit(puts=[put("x")], entry=make_action("x")))
    assert storage.get(["x"]) == {}


def test_the_end_that_was_noted_is_under_the_checksum_of_the_ledger(storage: SqliteStorage) -> None:
    _alter(storage, "DELETE FROM journal WHERE number = 9")
    _alter(storage, "UPDATE ledger SET entries = 8")
    with pytest.raises(StoreDamaged, match="counts its changes"):
        storage.journal_end()
    (finding,) = check_journal(storage)[1]
    assert "counts its changes" in finding.what


def test_an_entry_that_is_not_as_it_was_written_is_not_returned(storage: SqliteStorage) -> None:
    _alter(storage, "UPDATE journal SET body = body || ' ' WHERE number = 5")
    with pytest.raises(
        EntryDamaged, match=r"entry 5 of the journal in .*memory\.db is damaged"
    ) as raised:
        storage.journal(limit=9)
    assert raised.value.number == 5
    assert [entry.number for entry in storage.journal(limit=4)] == [9, 8, 7, 6]
    assert [entry.number for entry in storage.journal(before=5, limit=9)] == [4, 3, 2, 1]
    assert [entry.number for entry in storage.journal(limit=9, memory_id="m4")] == [4]
    with pytest.raises(EntryDamaged):
        storage.journal(limit=9, memory_id="m5")


@pytest.mark.parametrize(
    ("sql", "number", "name"),
    [
        ("UPDATE memories SET entry = NULL WHERE id = 'm5'", 5, "m5"),
        ("UPDATE memories SET entry = 6 WHERE id = 'm5'", 6, "m5"),
        ("INSERT INTO journal_memories VALUES ('m5', 5)", 5, "m5"),
        ("INSERT INTO journal_memories VALUES ('m5', 6)", 6, "m5"),
        ("INSERT INTO journal_memories VALUES ('m5', 60)", 60, "m5"),
        ("INSERT INTO journal_memories VALUES ('other', 5)", 5, "other"),
    ],
)
def test_the_list_of_what_changed_a_memory_is_compared_with_the_journal(
    storage: SqliteStorage, sql: str, number: int, name: str
) -> None:
    assert RecordKind.JOURNAL not in [finding.part for finding in storage.verify().findings]
    _alter(storage, sql)
    what = f"the list of what changed {name!r} does not agree with entry {number}"
    found = [each for each in storage.verify().findings if each.part is RecordKind.JOURNAL]
    assert (name, what) in [(each.id, each.what) for each in found]
    if "NULL" not in sql and "('m5', 5)" not in sql:
        with pytest.raises(EntryDamaged, match=str(number)):
            storage.journal(limit=9, memory_id=name)


def _about(storage: SqliteStorage | InMemoryStorage) -> list[tuple[str | None, str]]:
    return [(finding.id, finding.what) for finding in check_journal(storage)[1]]


def test_a_memory_that_is_not_as_the_journal_left_it_is_found(storage: SqliteStorage) -> None:
    storage.commit(Commit(puts=[put("m2", revision=2)]))
    storage.commit(Commit(erases=[Erase(id="m3")]))
    storage.commit(Commit(puts=[put("foreign")]))
    storage.commit(Commit(erases=[Erase(id="m4")], entry=make_action("m5")))
    assert sorted(_about(storage), key=str) == [
        ("foreign", "memory 'foreign' is at revision 1, but no entry of the journal names it"),
        ("m2", "memory 'm2' is at revision 2, but the journal left it at revision 1"),
        ("m3", "memory 'm3' does not exist, but the journal left it at revision 1"),
        ("m4", "memory 'm4' does not exist, but the journal left it at revision 1"),
    ]


def test_a_memory_that_came_back_after_it_was_erased_is_found() -> None:
    storage = InMemoryStorage()
    storage.commit(Commit(puts=[put("a")], entry=make_action("a")))
    step = MemoryStep(id="a", before=1, after=0)
    erasing = Action(at=NOW, operation=Operation.ERASE, memories=(step,))
    storage.commit(Commit(erases=[Erase(id="a")], entry=erasing))
    assert check_journal(storage) == (2, [])
    storage.commit(Commit(puts=[put("a")]))
    assert _about(storage) == [("a", "memory 'a' is at revision 1, but the journal erased it")]


def test_a_memory_is_not_suspected_for_what_a_lost_entry_may_have_done(
    storage: SqliteStorage,
) -> None:
    storage.commit(Commit(puts=[put("m2", revision=2)], entry=_revised("m2")))
    storage.commit(Commit(puts=[put("m3", revision=2)], entry=_revised("m3")))
    _alter(storage, "DELETE FROM journal WHERE number = 10")
    assert [what for what in _found(storage) if "memory" in what] == []
    _alter(storage, "UPDATE memories SET revision = 1 WHERE id = 'm3'")
    assert [what for what in _found(storage) if "memory" in what] == []  # damaged: found elsewhere


def _revised(memory_id: str) -> Action:
    step = MemoryStep(id=memory_id, before=1, after=2)
    return Action(at=NOW, operation=Operation.REVISE, memories=(step,))


def test_a_memory_needs_no_entry_where_the_store_is_older_than_its_journal() -> None:
    storage = InMemoryStorage()
    storage.commit(Commit(puts=[put("older")]))
    assert check_journal(storage) == (0, [])
    storage.commit(Commit(entry=make_action(operation=Operation.BEGIN)))
    storage.commit(Commit(puts=[put("a")], entry=make_action("a")))
    assert check_journal(storage) == (2, [])


@pytest.mark.parametrize(
    "change",
    [
        "weight = 0.5",
        "reason = ''",
        "made_by = 'x'",
        "made_at = 0",
        "type = 'intent'",
        "target = 'm7'",
        "checksum = x''",
    ],
)
def test_an_altered_link_is_left_out_and_named(storage: SqliteStorage, change: str) -> None:
    _alter(storage, f"UPDATE links SET {change} WHERE source = 'm3'")
    assert storage.links(["m3"]) == [_link(2)]
    (name,) = storage.damaged
    assert name.startswith("link 'm3' ")
    (noted,) = storage.damage()
    assert (noted.part, noted.id) == (RecordKind.LINK, None)
    found = [each for each in storage.verify().findings if each.part is RecordKind.LINK]
    assert [each.what for each in found] == [f"the {name} is damaged"]


def test_a_damaged_link_is_made_again_or_removed(storage: SqliteStorage) -> None:
    _alter(storage, "UPDATE links SET reason = '' WHERE source IN ('m3', 'm4')")
    assert storage.links(["m4"]) == []
    assert len(storage.damaged) == 2
    storage.commit(Commit(links=[_link(3)]))
    storage.commit(Commit(erased_links=[LinkKey("m4", "m5", LinkType.SEMANTIC)]))
    assert storage.links(["m4"]) == [_link(3)]
    assert storage.damaged == frozenset()


def test_a_link_without_a_memory_at_an_end_is_found(storage: SqliteStorage) -> None:
    _alter(storage, "DELETE FROM memories WHERE id = 'm5'")
    found = [finding.what for finding in storage.verify().findings]
    assert "a link from 'm5' leads to a memory that does not exist" in found


@pytest.mark.parametrize("change", ["count = 4", "last = 0", "checksum = x''", "number = 3"])
def test_an_altered_usage_counts_as_none_until_it_is_counted_anew(
    storage: SqliteStorage, change: str
) -> None:
    _alter(storage, f"UPDATE usage SET {change} WHERE number = 1")
    name = "m3" if change == "number = 3" else "m1"
    assert storage.usage(["m1", "m2", "m3"]) == {"m2": Usage(count=1, last=NOW)}
    assert storage.damaged == {f"usage of {name}"}
    found = [each for each in storage.verify().findings if each.part is RecordKind.USAGE]
    assert [each.id for each in found] == [each.id for each in storage.damage()] == [name]
    anew = Usage(count=1, last=NOW + timedelta(days=1))
    storage.count_usage({name: anew})
    assert storage.usage([name]) == {name: anew}
    assert storage.damaged == frozenset()


@pytest.mark.parametrize(
    "change", ["activation = 6", "activated_at = 0", "checksum = x''", "number = 3"]
)
def test_an_altered_activation_counts_as_none_until_it_is_counted_anew(
    storage: SqliteStorage, change: str
) -> None:
    recalled = storage.usage(["m1"])
    activation = Usage(count=0, activation=5.0, activated_at=NOW)
    storage.count_usage({"m1": activation, "m9": activation})
    _alter(storage, f"UPDATE activations SET {change} WHERE number = 1")
    name = "m3" if change == "number = 3" else "m1"
    assert storage.usage(["m1", "m3", "m9"]) == {**recalled, "m9": activation}
    assert storage.damaged == {f"usage of {name}"}
    found = [each for each in storage.verify().findings if each.part is RecordKind.USAGE]
    assert [each.id for each in found] == [each.id for each in storage.damage()] == [name]
    storage.count_usage({name: activation})
    anew = recalled[name].plus(activation) if name in recalled else activation
    assert storage.usage([name]) == {name: anew}
    assert storage.damaged == frozenset()
    assert storage.verify().sound


def test_altered_recalls_leave_the_activation_and_both_are_one_finding(
    storage: SqliteStorage,
) -> None:
    activation = Usage(count=0, activation=5.0, activated_at=NOW)
    storage.count_usage({"m1": activation})
    _alter(storage, "UPDATE usage SET count = 4 WHERE number = 1")
    assert storage.usage(["m1"]) == {"m1": activation}
    _alter(storage, "UPDATE activations SET activation = 6")
    assert storage.usage(["m1"]) == {}
    verified = storage.verify()
    assert [each.id for each in verified.findings] == ["m1"]
    assert verified.counts["usage"] == 2


def test_what_no_database_can_keep_is_refused_before_anything_is_written(
    storage: SqliteStorage,
) -> None:
    end = storage.journal_end()
    for bad in (
        Commit(entry=make_action("\ud800")),
        Commit(links=[make_link("m1", "m2", reason="\udfff")]),
    ):
        with pytest.raises(InvalidInput, match="cannot be stored"):
            storage.commit(evolve(bad, puts=[put("x")]))
    assert storage.journal_end() == end
    assert storage.get(["x"]) == {}
