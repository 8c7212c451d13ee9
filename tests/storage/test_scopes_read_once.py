"""A scope is decoded once after each of its changes, whichever process makes it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import apsw
import pytest

from infinite_memory.core.values.commit import Commit
from infinite_memory.core.values.memory import GLOBAL
from infinite_memory.core.values.scope import Scope, Sensitivity
from infinite_memory.storage.sqlite import SqliteStorage

ALWAYS = Scope(name=GLOBAL)
A, B = Scope(name="a"), Scope(name="b", keywords=("bee",))


def _commit(home: Path, commit: Commit) -> None:
    storage = SqliteStorage.open(home)
    storage.commit(commit)
    storage.close()


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[SqliteStorage]:
    storage = SqliteStorage.open(tmp_path)
    yield storage
    storage.close()


def _named(*scopes: Scope) -> dict[str, Scope]:
    return {scope.name: scope for scope in (ALWAYS, *scopes)}


def test_what_another_process_does_to_scopes_is_seen_at_the_next_read(
    storage: SqliteStorage, tmp_path: Path
) -> None:
    changed = Scope(name="a", sensitivity=Sensitivity.PRIVATE)
    inactive = Scope(name="a", active=False)
    told = Scope(name=GLOBAL, description="of everybody")
    steps: list[tuple[Commit, dict[str, Scope]]] = [
        (Commit(scopes=[A]), _named(A)),
        (Commit(scopes=[changed]), _named(changed)),
        (Commit(scopes=[inactive]), _named(inactive)),
        # The row of the one takes the number of the row of the other.
        (Commit(erased_scopes=["a"], scopes=[B]), _named(B)),
        (Commit(erased_scopes=["b"], scopes=[A]), _named(A)),
        (Commit(erased_scopes=["a"]), _named()),
        (Commit(scopes=[A, B]), _named(A, B)),
        # One is erased, and the row of `Global` is stored for the first time.
        (Commit(erased_scopes=["a"], scopes=[told]), {**_named(B), GLOBAL: told}),
        (Commit(erased_scopes=[GLOBAL]), _named(B)),
    ]
    assert storage.scopes() == _named()
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as elsewhere:
        for commit, expected in steps:
            elsewhere.submit(_commit, tmp_path, commit).result()
            assert storage.scopes() == expected


def test_a_scope_that_goes_in_the_millisecond_in_which_it_came_is_gone(
    storage: SqliteStorage, tmp_path: Path
) -> None:
    storage.commit(Commit(scopes=[B]))
    # The clock counts no further than the numbers of the rows.
    with apsw.Connection(str(tmp_path / "memory.db")) as connection:
        connection.execute("UPDATE scopes SET rowid = rowid + 1000000000000000")
    storage.commit(Commit(scopes=[A]))
    assert storage.scopes() == _named(A, B)
    storage.commit(Commit(erased_scopes=["a"]))
    assert storage.scopes() == _named(B)


def test_a_scope_is_not_decoded_again_while_others_change(storage: SqliteStorage) -> None:
    storage.commit(Commit(scopes=[A]))
    before = storage.scopes()["a"]
    storage.commit(Commit(scopes=[B]))
    storage.commit(Commit(erased_scopes=["nowhere"]))
    assert storage.scopes() == _named(A, B)
    assert storage.scopes()["a"] is before
    changed = Scope(name="a", description="changed")
    storage.commit(Commit(scopes=[changed]))
    assert storage.scopes() == _named(B, changed)


def test_an_answer_stays_as_it_was_when_scopes_change(storage: SqliteStorage) -> None:
    storage.commit(Commit(scopes=[A]))
    before = storage.scopes()
    storage.commit(Commit(erased_scopes=["a"], scopes=[B]))
    assert before == _named(A)
    assert storage.scopes() == _named(B)


def test_scopes_that_are_erased_and_stored_again_between_two_reads_are_read_anew(
    storage: SqliteStorage, tmp_path: Path
) -> None:
    storage.commit(Commit(scopes=[A]))
    storage.commit(Commit(scopes=[B]))
    assert storage.scopes() == _named(A, B)
    private = Scope(name="a", sensitivity=Sensitivity.PRIVATE)
    other = SqliteStorage.open(tmp_path)
    for commit in (Commit(erased_scopes=["a", "b"]), Commit(scopes=[private]), Commit(scopes=[B])):
        other.commit(commit)
    other.close()
    assert storage.scopes() == _named(private, B)


def test_a_scope_that_is_damaged_later_is_found_by_verify_and_by_who_reads_it_again(
    storage: SqliteStorage, tmp_path: Path
) -> None:
    storage.commit(Commit(scopes=[A, B]))
    assert storage.scopes() == _named(A, B)
    elsewhere = apsw.Connection(str(tmp_path / "memory.db"))
    elsewhere.execute("UPDATE scopes SET parent = 'b' WHERE name = 'a'")
    elsewhere.close()
    assert [finding.id for finding in storage.verify().findings] == ["a"]
    # Known from before, it is undamaged.
    assert storage.scopes() == _named(A, B)
    again = SqliteStorage.open(tmp_path)
    assert again.scopes() == _named(B)
    assert again.damaged == {"scope a"}
    again.close()


def test_a_scope_that_lost_its_checksum_is_left_out_and_global_stays(
    storage: SqliteStorage, tmp_path: Path
) -> None:
    storage.commit(Commit(scopes=[A]))
    elsewhere = apsw.Connection(str(tmp_path / "memory.db"))
    elsewhere.execute("UPDATE scopes SET checksum = x''")
    elsewhere.close()
    assert storage.scopes() == _named()
    assert storage.damaged == {"scope a"}
