from __future__ import annotations

from collections.abc import Callable

import pytest

from infinite_memory import InvalidInput, MemoryStore


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda s: s.remember("x", tag="a"), "no field 'tag'; the nearest is 'tags'"),
        (lambda s: s.remember("x", convrsation="a"), "the nearest is 'conversation_id'"),
        (lambda s: s.remember_many([{"text": "x", "contxt": {}}]), "the nearest is 'context'"),
        (lambda s: s.revise("m", revision=1, txt="y"), "no field 'txt'; the nearest is 'text'"),
        (lambda s: s.search("x", kind="note"), "no condition 'kind'; the nearest is 'kinds'"),
        (lambda s: s.search("x", conversation="c"), "the nearest is 'conversation_id'"),
        (lambda s: s.browse(untill=None), "no condition 'untill'; the nearest is 'until'"),
        (lambda s: s.browse(bogus=1), "no condition 'bogus'"),
    ],
)
def test_a_name_that_is_unknown_is_refused_with_the_nearest_one(
    store: MemoryStore, call: Callable[[MemoryStore], object], sentence: str
) -> None:
    store.remember("one", id="m")
    with pytest.raises(InvalidInput, match=sentence):
        call(store)
    assert store.stats().memories == 1
