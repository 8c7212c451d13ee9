"""The feed of one scope in MongoDB."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from confined_lives import Life, answer, calls, check_same, open_sides
from mongo_servers import Deployment
from scope_feeds import check_scope_feed

from infinite_memory.search.confined import index as confined
from infinite_memory.storage.mongodb import open_mongodb


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
