"""The feed of one scope in MongoDB."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from mongo_servers import Deployment
from scope_feeds import check_scope_feed

from infinite_memory.storage.mongodb import MongoStorage


@pytest.mark.thorough
def test_the_feed_of_a_scope_tells_what_the_whole_feed_tells_of_it(
    single: Deployment, tmp_path: Path
) -> None:
    with closing(MongoStorage.open(single.address_of(tmp_path))) as storage:
        check_scope_feed(storage)
    single.drop(tmp_path)
