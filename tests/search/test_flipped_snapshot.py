"""A damaged snapshot gives the right results or a rebuild: never a wrong answer, crash or error."""

from __future__ import annotations

from pathlib import Path

import pytest

from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.question import Question, Ranking
from infinite_memory.search.index import SearchIndex
from infinite_memory.testing.embedders import HashingEmbedder
from tests.search.test_index import filled, snapshot_for

STORAGE = filled(40)
EMBEDDER = HashingEmbedder()
QUESTION = Question(text="number 7", criteria=Criteria(), limit=10, threshold=0.0, explain=True)


def ranking_with(folder: Path) -> Ranking:
    snapshot = snapshot_for(STORAGE, folder)
    return SearchIndex(STORAGE, EMBEDDER, snapshot=snapshot).search(QUESTION)


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    snapshot = snapshot_for(STORAGE, tmp_path_factory.mktemp("index"))
    assert snapshot.write(SearchIndex(STORAGE, EMBEDDER).refresh().compact())
    return snapshot._path.read_bytes()


@pytest.mark.parametrize(
    "bit", [0, *(pytest.param(bit, marks=pytest.mark.slow("index-walks")) for bit in (3, 7))]
)
def test_a_flipped_bit_anywhere_in_the_snapshot_changes_no_ranking(
    tmp_path: Path, intact: bytes, bit: int
) -> None:
    expected = SearchIndex(STORAGE, EMBEDDER).search(QUESTION)
    path = snapshot_for(STORAGE, tmp_path)._path
    rebuilt = 0
    places = range(0, len(intact), max(1, len(intact) // 250))
    for place in places:
        content = bytearray(intact)
        content[place] ^= 1 << bit
        path.write_bytes(content)
        assert ranking_with(tmp_path) == expected, place
        rebuilt += not path.exists()
    # The bytes between the header and the arrays, and between the arrays, mean nothing.
    assert rebuilt > 0.8 * len(places)


def test_a_snapshot_of_any_other_length_changes_no_ranking(tmp_path: Path, intact: bytes) -> None:
    expected = SearchIndex(STORAGE, EMBEDDER).search(QUESTION)
    path = snapshot_for(STORAGE, tmp_path)._path
    for length in [0, 1, *range(50, len(intact), len(intact) // 60), len(intact) - 1]:
        path.write_bytes(intact[:length])
        assert ranking_with(tmp_path) == expected, length
        assert not path.exists()
    path.write_bytes(intact + b"more")
    assert ranking_with(tmp_path) == expected


def test_bytes_of_chance_in_place_of_the_arrays_change_no_ranking(
    tmp_path: Path, intact: bytes
) -> None:
    expected = SearchIndex(STORAGE, EMBEDDER).search(QUESTION)
    path = snapshot_for(STORAGE, tmp_path)._path
    header = intact[: intact.index(b"\n") + 1]
    path.write_bytes(header + bytes(number * 151 % 256 for number in range(len(intact))))
    assert ranking_with(tmp_path) == expected
    assert not path.exists()


def test_every_process_checks_the_whole_snapshot_for_itself(tmp_path: Path, intact: bytes) -> None:
    path = snapshot_for(STORAGE, tmp_path)._path
    path.write_bytes(intact)
    holding = snapshot_for(STORAGE, tmp_path).read()
    assert holding is not None
    content = bytearray(intact)
    content[-5] ^= 1
    path.with_suffix(".tmp").write_bytes(content)
    path.with_suffix(".tmp").replace(path)
    with pytest.raises(ValueError, match="its arrays are damaged"):
        snapshot_for(STORAGE, tmp_path).load_verified()
    assert len(holding) == 40
