"""Folding: what has changed comes together in the background, and every search stays right."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import evolve

from infinite_memory.core.errors import StorageUnavailable
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.commit import Attach, Commit, Detach, Erase, Put
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.question import Question
from infinite_memory.core.values.record import Changes, Embedding, Record
from infinite_memory.search import index as index_module
from infinite_memory.search.document import describe
from infinite_memory.search.index import SearchIndex
from infinite_memory.search.reader import Reader
from infinite_memory.search.snapshot import Snapshot
from infinite_memory.storage.inmemory.storage import InMemoryStorage
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.testing.embedders import HashingEmbedder
from tests.search.test_index import is_mapped

MAY = datetime(2023, 5, 8, tzinfo=UTC)
EMBEDDER = HashingEmbedder()


@pytest.fixture(autouse=True)
def folds_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "_FOLD_CHANGES", 50)
    monkeypatch.setattr(index_module, "_SEGMENT_DOCUMENTS", 16)
    monkeypatch.setattr(index_module, "_FEED_BATCH", 8)


def memory(number: int) -> Memory:
    moment = MAY + timedelta(minutes=number)
    return Memory(id=f"m{number}", text=f"tea {number}", happened_at=moment, stored_at=moment)


def embedding(number: int) -> Embedding:
    vectors = EMBEDDER.embed([f"tea {number}"])
    return Embedding(model=EMBEDDER.model, spans=np.array([[0, 4]], np.int32), vectors=vectors)


def store(storage: Storage, numbers: Sequence[int]) -> None:
    storage.commit(
        Commit(
            puts=[Put(memory=memory(n), expected=0, embeddings=(embedding(n),)) for n in numbers]
        )
    )


def snapshot_for(storage: Storage, folder: Path) -> Snapshot:
    return Snapshot(
        folder,
        identity=storage.identity,
        model=EMBEDDER.model,
        dimensions=EMBEDDER.dimensions,
    )


def found(index: SearchIndex, text: str) -> set[str]:
    question = Question(text=text, criteria=Criteria(), limit=1000, threshold=0.0)
    return {candidate.id for candidate in index.search(question).candidates}


def names(numbers: Sequence[int]) -> set[str]:
    return {f"m{number}" for number in numbers}


def test_many_changes_become_one_mapped_snapshot_while_the_store_is_open(tmp_path: Path) -> None:
    storage = InMemoryStorage()
    store(storage, range(120))
    index = SearchIndex(storage, EMBEDDER, snapshot=snapshot_for(storage, tmp_path))
    assert found(index, "tea") == names(range(120))
    index._wait_for_folding()
    (segment_reader,) = index.refresh().segment_readers
    assert is_mapped(segment_reader.segment.high)
    assert snapshot_for(storage, tmp_path).cursor() == storage.position()
    store(storage, range(120, 130))
    assert found(index, "tea") == names(range(130))


def test_without_a_folder_the_segments_are_folded_in_memory() -> None:
    storage = InMemoryStorage()
    store(storage, range(120))
    index = SearchIndex(storage, EMBEDDER)
    index.refresh()
    index._wait_for_folding()
    assert [len(segment_reader.segment) for segment_reader in index.refresh().segment_readers] == [
        120
    ]
    assert found(index, "tea") == names(range(120))


def test_what_another_process_has_folded_is_mapped_and_not_written_again(tmp_path: Path) -> None:
    storage = InMemoryStorage()
    store(storage, range(120))
    one = SearchIndex(storage, EMBEDDER, snapshot=snapshot_for(storage, tmp_path))
    one.refresh()
    one._wait_for_folding()
    (file,) = tmp_path.iterdir()
    written = file.stat().st_ino
    other = SearchIndex(storage, EMBEDDER)
    other.refresh()
    other._snapshot = snapshot_for(storage, tmp_path)
    other._wait_for_folding()
    other._fold()
    assert file.stat().st_ino == written
    assert is_mapped(other.refresh().segment_readers[0].segment.high)


def test_what_changes_during_a_fold_is_not_lost() -> None:
    reader = Reader()
    for first in range(0, 60, 20):
        documents = [
            describe(_record(number), model=EMBEDDER.model, dimensions=64)
            for number in range(first, first + 20)
        ]
        reader = reader.apply_changes(documents, [], cursor=first + 20, dimensions=64)
    before = evolve(reader, sealed=len(reader.segment_readers))
    compact = before.compact()
    late = [describe(_record(number), model=EMBEDDER.model, dimensions=64) for number in (5, 99)]
    now = before.apply_changes(late, ["m7"], cursor=63, dimensions=64)
    folded = now.replace_folded(before, compact)
    assert len(folded) == len(now) == 60
    assert folded.cursor == 63
    assert folded.sealed == 0
    assert [len(segment_reader.segment) for segment_reader in folded.segment_readers] == [60, 2]
    assert reader.replace_folded(before, compact) is reader


def _record(number: int) -> Record:
    return Record(memory=memory(number))


def test_a_search_does_not_wait_for_a_fold(tmp_path: Path) -> None:
    storage = InMemoryStorage()
    store(storage, range(120))
    reached, released = threading.Event(), threading.Event()

    class Slow(Snapshot):
        def write(self, reader: Reader) -> bool:
            reached.set()
            return released.wait(60) and super().write(reader)

    snapshot = Slow(
        tmp_path, identity=storage.identity, model=EMBEDDER.model, dimensions=EMBEDDER.dimensions
    )
    index = SearchIndex(storage, EMBEDDER, snapshot=snapshot)
    index.refresh()
    assert reached.wait(60)
    storage.commit(Commit(erases=[Erase(id="m7")]))
    store(storage, range(120, 125))
    expected = names(range(125)) - {"m7"}
    assert found(index, "tea") == expected
    released.set()
    index._wait_for_folding()
    assert snapshot.cursor() == 0  # it would have held what was erased meanwhile
    assert found(index, "tea") == expected


def test_a_fold_that_meets_a_storage_out_of_reach_leaves_the_index_as_it_was(
    tmp_path: Path,
) -> None:
    class Gone(InMemoryStorage):
        broken = False

        def changes(self, after: int, **options: Any) -> Changes:
            if self.broken:
                raise StorageUnavailable("gone")
            return super().changes(after, **options)

    storage = Gone()
    store(storage, range(20))
    index = SearchIndex(storage, EMBEDDER)
    assert found(index, "tea") == names(range(20))
    storage.broken = True
    index._snapshot = snapshot_for(storage, tmp_path)
    index._fold_quietly()
    assert found(index, "tea") == names(range(20))


def test_what_has_changed_since_the_snapshot_is_read_once(tmp_path: Path) -> None:
    class Counting(InMemoryStorage):
        read = 0

        def changes(self, after: int, **options: Any) -> Changes:
            changes = super().changes(after, **options)
            self.read += len(changes.items)
            return changes

    storage = Counting()
    store(storage, range(600))
    SearchIndex(storage, EMBEDDER, snapshot=snapshot_for(storage, tmp_path)).save()
    store(storage, range(600, 640))
    storage.read = 0
    index = SearchIndex(storage, EMBEDDER, snapshot=snapshot_for(storage, tmp_path))
    assert found(index, "tea") == names(range(640))
    assert storage.read == 40


def test_a_snapshot_with_an_erased_memory_is_removed_by_whoever_maps_it(tmp_path: Path) -> None:
    storage = InMemoryStorage()
    store(storage, range(40))
    assert snapshot_for(storage, tmp_path).write(SearchIndex(storage, EMBEDDER).refresh().compact())
    storage.commit(Commit(erases=[Erase(id="m7")]))
    index = SearchIndex(storage, EMBEDDER, snapshot=snapshot_for(storage, tmp_path))
    assert found(index, "tea") == names(range(40)) - {"m7"}
    assert list(tmp_path.iterdir()) == []


def test_an_erased_memory_costs_no_rebuilding_of_the_index(tmp_path: Path) -> None:
    storage = InMemoryStorage()
    store(storage, range(600))
    writer = SearchIndex(storage, EMBEDDER, snapshot=snapshot_for(storage, tmp_path))
    writer.save()
    index = SearchIndex(storage, EMBEDDER, snapshot=snapshot_for(storage, tmp_path))
    storage.commit(Commit(erases=[Erase(id="m7")]))
    index.discard()
    assert list(tmp_path.iterdir()) == []
    index.save()
    reader = snapshot_for(storage, tmp_path).read()
    assert reader is not None
    assert len(reader) == 599
    assert reader.segment_readers[0].segment.find("m7") is None


def test_a_vector_that_comes_or_goes_is_not_taken_for_an_erasure(tmp_path: Path) -> None:
    storage = SqliteStorage.open(tmp_path / "store")
    store(storage, range(60))
    other = evolve(embedding(7), model="another")
    folder = tmp_path / "index"
    assert snapshot_for(storage, folder).write(SearchIndex(storage, EMBEDDER).refresh().compact())
    storage.commit(Commit(attaches=[Attach(id="m7", revision=1, embedding=other)]))
    storage.commit(Commit(attaches=[Attach(id="m8", revision=1, embedding=other)]))
    storage.commit(Commit(detaches=[Detach(id="m8", keep=EMBEDDER.model)]))
    assert len(SearchIndex(storage, EMBEDDER, snapshot=snapshot_for(storage, folder)).refresh())
    assert snapshot_for(storage, folder).cursor() == 60
    storage.commit(Commit(erases=[Erase(id="m7")]))
    anew = evolve(memory(7), stored_at=MAY + timedelta(days=1))
    storage.commit(Commit(puts=[Put(memory=anew, expected=0)]))
    assert len(SearchIndex(storage, EMBEDDER, snapshot=snapshot_for(storage, folder)).refresh())
    # What is read anew may have been folded by now.
    assert snapshot_for(storage, folder).cursor() in (0, storage.position())
    storage.close()


def test_a_damaged_first_line_counts_as_no_snapshot(tmp_path: Path) -> None:
    storage = InMemoryStorage()
    store(storage, range(60))
    snapshot = snapshot_for(storage, tmp_path)
    assert snapshot.cursor() == 0
    assert snapshot.write(SearchIndex(storage, EMBEDDER).refresh().compact())
    assert snapshot.cursor() == 60
    (file,) = tmp_path.iterdir()
    file.write_bytes(b"{" + file.read_bytes()[2:])
    assert snapshot.cursor() == 0


def test_a_damaged_array_is_replaced_by_the_next_snapshot(tmp_path: Path) -> None:
    storage = InMemoryStorage()
    store(storage, range(600))
    snapshot = snapshot_for(storage, tmp_path)
    assert snapshot.write(SearchIndex(storage, EMBEDDER).refresh().compact())
    (file,) = tmp_path.iterdir()
    content = bytearray(file.read_bytes())
    content[content.index(b"\n") + 100] ^= 1
    file.write_bytes(content)
    index = SearchIndex(storage, EMBEDDER, snapshot=snapshot)
    assert len(index.refresh()) == 600
    index.save()
    assert snapshot.load_verified() is not None
    assert file.read_bytes() != content


def test_one_process_at_a_time_writes_a_snapshot(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    storage = InMemoryStorage()
    store(storage, range(60))
    snapshot = snapshot_for(storage, tmp_path)
    reader = SearchIndex(storage, EMBEDDER).refresh().compact()
    half_made = snapshot._path.with_suffix(".tmp")
    with half_made.open("wb") as other:
        other.write(b"x" * 10**6)
        other.flush()
        fcntl.flock(other, fcntl.LOCK_EX)
        assert not snapshot.write(reader)
        assert snapshot.read() is None
    assert snapshot.write(reader)
    assert len(snapshot.read() or ()) == 60
    assert not half_made.exists()
