from __future__ import annotations

import time

from infinite_memory.engine.retry import attempts


def test_the_last_of_twenty_attempts_is_told_where_there_is_no_time() -> None:
    assert list(attempts(0)) == [False] * 19 + [True]


def test_attempts_go_on_as_long_as_there_is_time() -> None:
    start = time.monotonic()
    tried = list(attempts(0.3))
    assert time.monotonic() - start >= 0.3
    assert len(tried) >= 20
    assert tried == [False] * (len(tried) - 1) + [True]
