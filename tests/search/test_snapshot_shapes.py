"""What a snapshot has to satisfy whose every checksum is right: one test for each clause."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import evolve

from infinite_memory.search.index import SearchIndex
from infinite_memory.search.reader import Reader, SegmentReader
from infinite_memory.search.segment import Segment
from infinite_memory.search.snapshot import Snapshot
from infinite_memory.testing.embedders import HashingEmbedder
from tests.search.test_index import filled, snapshot_for

STORAGE = filled(20)
OF_EACH_DOCUMENT = (
    *("id_order", "scope", "speaker", "conversation", "kind", "status", "happened", "stored"),
    *(
        "held_from",
        "held_to",
        "is_question",
        "important",
        "canonical_hash",
        "canonical_order",
        "conversation_order",
    ),
    *("length", "id_start", "passage_start"),
)
Change = Callable[[Segment], dict[str, Any]]


def _one_more(array: Any) -> Any:
    """Return an array of offsets whose last one lies one further."""
    changed = array.copy()
    changed[-1] += 1
    return changed


CHANGES: dict[str, Change] = {
    **{
        f"{name} of one document less": lambda s, name=name: {name: getattr(s, name)[1:]}
        for name in OF_EACH_DOCUMENT
    },
    "high of one passage less": lambda s: {"high": s.high[1:]},
    "high of one dimension less": lambda s: {"high": s.high[:, 1:]},
    "low of one passage less": lambda s: {"low": s.low[1:]},
    "low of one dimension less": lambda s: {"low": s.low[:, 1:]},
    "spans of one passage less": lambda s: {"spans": s.spans[1:]},
    "passages that end beyond the last": lambda s: {"passage_start": _one_more(s.passage_start)},
    "ids that end beyond the last": lambda s: {"id_start": _one_more(s.id_start)},
    "postings that end beyond the last": lambda s: {"term_start": _one_more(s.term_start)},
    "terms that start nowhere": lambda s: {"term_start": s.term_start[1:]},
    "counts of one posting less": lambda s: {"posting_count": s.posting_count[1:]},
    "no offsets at all": lambda s: {"id_start": s.id_start[:0]},
}


def _write(folder: Path, **changed: Any) -> Snapshot:
    """Write the snapshot of an index, some arrays of which are changed, with its checksums."""
    segment = SearchIndex(STORAGE, HashingEmbedder()).refresh().compact().segment_readers[0].segment
    segment_reader = SegmentReader(
        segment=evolve(segment, **changed), live_docs=np.ones(len(segment), np.bool_)
    )
    snapshot = snapshot_for(STORAGE, folder)
    assert snapshot.write(Reader(segment_readers=(segment_reader,), cursor=STORAGE.position()))
    return snapshot


@pytest.fixture(scope="module")
def segment() -> Segment:
    return SearchIndex(STORAGE, HashingEmbedder()).refresh().compact().segment_readers[0].segment


def test_a_snapshot_whose_arrays_fit_together_is_mapped(tmp_path: Path) -> None:
    reader = _write(tmp_path).load_verified()
    assert reader is not None
    assert len(reader) == 20


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_snapshot_is_built_anew_that_has(
    tmp_path: Path, segment: Segment, change: Change
) -> None:
    snapshot = _write(tmp_path, **change(segment))
    with pytest.raises(ValueError, match="do not fit together"):
        snapshot.load_verified()
    assert snapshot.read() is None
    assert not snapshot._path.exists()
    index = SearchIndex(STORAGE, HashingEmbedder(), snapshot=snapshot)
    assert len(index.refresh()) == 20


def test_a_snapshot_with_a_vector_that_is_not_finite_is_built_anew(
    tmp_path: Path, segment: Segment
) -> None:
    for value in (np.nan, np.inf, -np.inf):
        scale = segment.scale.copy()
        scale[3] = value
        with pytest.raises(ValueError, match="not finite"):
            _write(tmp_path, scale=scale).load_verified()
