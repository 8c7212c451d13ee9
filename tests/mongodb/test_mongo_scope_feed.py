"""The feed of one scope in MongoDB."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from confined_lives import Life, answer, calls, check_same, open_sides
from mongo_deaths import Steps, open_listening
from mongo_servers import Deployment
from scope_feeds import check_scope_feed

from infinite_memory.core.protocols import Storage, SupportsReplacement, SupportsScopeFeed
from infinite_memory.core.values.commit import Commit, Erase
from infinite_memory.search.confined import index as confined
from infinite_memory.storage.mongodb import open_mongodb
from infinite_memory.testing.storage_contract import put


@pytest.mark.thorough
def test_the_feed_of_a_scope_tells_what_the_whole_feed_tells_of_it(
    either: Deployment, tmp_path: Path
) -> None:
    with closing(open_mongodb(either.address_of(tmp_path))) as storage:
        check_scope_feed(storage)
    either.drop(tmp_path)


@pytest.mark.thorough
def test_a_handle_answers_by_indexes_of_scopes_as_a_store_of_its_scopes_alone(
    either: Deployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confined, "_LARGE_STORE", 0)
    monkeypatch.setattr(confined, "_SMALL_PART", 0)
    storage = open_mongodb(either.address_of(tmp_path))
    with closing(storage), open_sides(storage, tmp_path) as sides:
        life = Life(sides.store, 5)
        for _ in range(2):
            life.go_on(60)
            for call in calls():
                check_same(answer(call, sides.handle), answer(call, sides.alone))
    either.drop(tmp_path)


@pytest.mark.thorough
def test_a_reader_of_a_scope_outlives_a_restore_in_the_middle(
    either: Deployment, tmp_path: Path
) -> None:
    """The restore comes between two requests of the reader, and renames what it reads."""
    address = either.address_of(tmp_path)
    for at in range(1, 12):
        steps = Steps(at, lambda: replace(other))
        with (
            closing(open_mongodb(address)) as other,
            closing(open_listening(address, steps)) as one,
        ):
            assert isinstance(one, SupportsScopeFeed)
            other.commit(Commit(erases=[Erase(id="a")], puts=[put("a", scope="s")]))
            steps.armed = True
            changes, held = one.changes_in("s", 0, limit=9)
            steps.armed = False
            assert (held, {change.id for change in changes.items}) in ((1, {"a"}), (1, {"b"}))
        either.drop(tmp_path)


def replace(storage: Storage) -> None:
    assert isinstance(storage, SupportsReplacement)
    with storage.replacement() as new:
        new.storage.commit(Commit(puts=[put("b", scope="s")]))
        new.swap(position=storage.position(), entries=0)
