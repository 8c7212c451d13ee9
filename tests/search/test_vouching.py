"""Who verifies a snapshot that several processes map: the first one, as long as it lives."""

from __future__ import annotations

import gc
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from infinite_memory.model.commit import Commit, Put
from infinite_memory.model.memory import Memory
from infinite_memory.search import snapshot as snapshots
from infinite_memory.search import vouching
from infinite_memory.search.index import SearchIndex
from infinite_memory.search.snapshot import Snapshot
from infinite_memory.search.vouching import is_vouched_for
from infinite_memory.storage.inmemory.storage import InMemoryStorage
from infinite_memory.testing.embedders import HashingEmbedder
from tests.search.test_index import filled, snapshot_for

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no such locks there")

MAY = datetime(2026, 5, 1, tzinfo=UTC)
FIELDS = {"identity": "one", "model": "a model", "dimensions": 64}
_HOLDER = """
import sys
from pathlib import Path
from infinite_memory.search.snapshot import Snapshot
fields = {"identity": "one", "model": "a model", "dimensions": 64}
view = Snapshot(Path(sys.argv[1]), **fields).read()
print(len(view), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def written(tmp_path: Path) -> Snapshot:
    storage = InMemoryStorage()
    texts = [f"tea number {number}" for number in range(20)]
    storage.commit(
        Commit(
            puts=[
                Put(memory=Memory(id=text, text=text, happened_at=MAY, stored_at=MAY), expected=0)
                for text in texts
            ]
        )
    )
    snapshot = Snapshot(tmp_path, **FIELDS)
    assert snapshot.write(SearchIndex(storage, HashingEmbedder()).refresh().compact())
    return snapshot


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the arrays whose checksums were computed."""
    sizes: list[int] = []
    real = snapshots.crc32

    def counting(data: memoryview) -> int:
        sizes.append(data.nbytes)
        return real(data)

    monkeypatch.setattr(snapshots, "crc32", counting)
    return sizes


def test_what_one_has_verified_is_not_read_again_while_it_is_mapped(
    written: Snapshot, tmp_path: Path, looks: list[int]
) -> None:
    first = written.read()
    assert first is not None
    verified = len(looks)
    assert verified > 5
    second = Snapshot(tmp_path, **FIELDS).read()
    assert second is not None
    assert len(second) == len(first) == 20
    assert len(looks) == verified
    del first
    gc.collect()
    third = written.read()  # the second one vouches for it now
    assert len(looks) == verified
    del second, third
    gc.collect()
    assert written.read() is not None
    assert len(looks) == 2 * verified


def test_another_process_vouches_until_it_is_killed(
    written: Snapshot, tmp_path: Path, looks: list[int]
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "20\n"
        assert written.read() is not None
        gc.collect()
        assert looks == []
        holder.kill()
    assert written.read() is not None
    assert looks != []


def test_nobody_trusts_what_is_being_verified(
    written: Snapshot, tmp_path: Path, looks: list[int]
) -> None:
    with written._path.open("rb") as file:
        assert not is_vouched_for(file)  # from now on it is looked at
        assert written.read() is not None
        assert looks != []


def test_a_damaged_file_is_vouched_for_by_nobody(written: Snapshot, tmp_path: Path) -> None:
    content = bytearray(written._path.read_bytes())
    content[content.index(b"\n") + 64] ^= 1
    written._path.write_bytes(content)
    other = Snapshot(tmp_path, **FIELDS)
    with pytest.raises(ValueError, match="damaged"):
        other.verified(whole=False)
    gc.collect()
    with pytest.raises(ValueError, match="damaged"):
        written.verified(whole=False)


def test_a_vector_that_is_not_finite_is_seen_in_what_was_verified(tmp_path: Path) -> None:
    storage = filled(20)
    snapshot = snapshot_for(storage, tmp_path)
    snapshot.write(SearchIndex(storage, HashingEmbedder()).refresh().compact())
    first = snapshot.read()
    assert first is not None
    scale = first.parts[0].segment.scale.tobytes()
    assert scale
    place = snapshot._path.read_bytes().index(scale)
    with snapshot._path.open("r+b") as file:
        file.seek(place)
        file.write(np.float32(np.nan).tobytes())
    with pytest.raises(ValueError, match="not finite"):
        snapshot_for(storage, tmp_path).verified(whole=False)


def test_a_look_at_all_of_it_asks_nobody(
    written: Snapshot, tmp_path: Path, looks: list[int]
) -> None:
    first = written.read()
    verified = len(looks)
    whole = Snapshot(tmp_path, **FIELDS).verified(whole=True)
    assert whole is not None
    assert first is not None
    assert len(looks) == 2 * verified


def test_without_locks_each_process_verifies_for_itself(
    written: Snapshot, tmp_path: Path, looks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusing(file: object, kind: int) -> None:
        raise OSError("no locks on this file system")

    monkeypatch.setattr(vouching.fcntl, "flock", refusing)
    first = written.read()
    verified = len(looks)
    assert verified > 5
    second = Snapshot(tmp_path, **FIELDS).read()
    assert first is not None
    assert second is not None
    assert len(looks) == 2 * verified
