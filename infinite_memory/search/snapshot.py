"""The index as a file that a process maps into memory instead of building the index again.

The file begins with a header, a line of JSON: format, version of the canonical form of texts,
identity of the store, model, cursor, names, the type, shape and offset of every array, a checksum
of all arrays, and a digest of the header. The arrays follow, aligned to 64 bytes. All data in the
file is derived from the store. If the file is missing, damaged, of a different store, model or
format, the index is rebuilt from the store. A process verifies the whole file before it maps the
file, at 0.2 s per gigabyte.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from infinite_memory.core.errors import StorageUnavailable
from infinite_memory.core.files.locks import FileLock
from infinite_memory.core.files.regular import open_regular
from infinite_memory.search.document import hash_id
from infinite_memory.search.quantization import RowsInFile
from infinite_memory.search.reader import Reader, SegmentReader
from infinite_memory.search.segment import ARRAYS, Segment
from infinite_memory.search.text.canonical import CANONICAL_VERSION

_log = logging.getLogger(__name__)
_FORMAT = 19
_ALIGN = 64
_SUFFIXES = {".index", ".tmp"}
# The folders of the snapshots of single scopes.
_CONFINED = "confined-"
# A smaller file of a scope is read: each mapped file keeps a descriptor open.
_MAPPED_FROM = 16 << 20
_MAX_HEADER_BYTES = 64 << 20
# A smaller plane is mapped: its rows are read ten times as fast, and it needs little memory.
_READ_FROM_FILE = 64 << 20
_BLOCK_BYTES = 1 << 20
_DTYPES = {"uint64", "int64", "int32", "uint16", "int8", "uint8", "float32"}


class Snapshot:
    """The snapshot of the index of a store and a model, in a folder that may be deleted."""

    def __init__(self, folder: Path, *, identity: str, model: str, dimensions: int) -> None:
        self._folder = folder
        self._identity = identity
        self._model = model
        self._dimensions = dimensions
        self._mapped_from = 0
        self._path = folder / f"{_name(model)}.index"

    def of_scope(self, scope: str) -> Snapshot:
        """Return the snapshot of the memories in `scope` alone, in a folder of its own."""
        one = Snapshot(
            self._folder / f"{_CONFINED}{_name(scope)}",
            identity=f"{self._identity}\n{scope}",
            model=self._model,
            dimensions=self._dimensions,
        )
        one._mapped_from = _MAPPED_FROM
        return one

    def has_scopes(self) -> bool:
        """Return whether there are snapshots of single scopes, of this model."""
        return any(self._folder.glob(f"{_CONFINED}*/{self._path.name}"))

    def remove_other_scopes(self, scopes: Iterable[str]) -> None:
        """Remove the snapshots of scopes that were deleted or renamed; `scopes` are the present."""
        kept = {f"{_CONFINED}{_name(scope)}" for scope in scopes}
        for folder in self._folder.glob(f"{_CONFINED}*"):
            if folder.name not in kept:
                # A file that stays costs space alone: a later process tries again.
                with suppress(OSError, StorageUnavailable):
                    _delete(_snapshots_in(folder))
                    folder.rmdir()

    def read(self) -> Reader | None:
        """Map the snapshot; return None if there is no usable snapshot.

        A damaged snapshot is deleted, because its header could still look up to date.
        """
        try:
            return self.load_verified()
        except ValueError as error:
            _log.warning("the snapshot %s is damaged and will be rebuilt: %s", self._path, error)
            with suppress(OSError):
                self._path.unlink()
            return None

    def load_verified(self) -> Reader | None:
        """Verify and map the snapshot; return None if this store and model have no snapshot.

        Raises:
            ValueError: the snapshot is damaged; the message says how.
        """
        try:
            with open_regular(self._path) as file:
                header = json.loads(file.readline(_MAX_HEADER_BYTES))
                if header.pop("digest") != _digest(header):
                    raise ValueError("its header is damaged")
                if not self._is_ours(header):
                    return None
                start = _align(file.tell())
                file.seek(start)
                if _checksum_of(file) != header["checksum"]:
                    raise ValueError("its arrays are damaged")
                return self._map(header, file, start)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(str(error)) from error

    def cursor(self) -> int:
        """Return the cursor of the snapshot, 0 without a snapshot; reads only the header."""
        try:
            with open_regular(self._path) as file:
                header = json.loads(file.readline(_MAX_HEADER_BYTES))
            sound = self._is_ours(header) and header.pop("digest") == _digest(header)
            return int(header["cursor"]) if sound else 0
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return 0

    def write(self, reader: Reader) -> bool:
        """Write a compact reader for the next process; return whether the file was written.

        The file replaces the former file atomically; a process that has mapped the former file
        keeps it. The result is False if the disk refuses the write, if another process is writing a
        snapshot, or if the temporary file was removed meanwhile.
        """
        if len(reader.segment_readers) != 1:
            return False
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            temporary = self._path.with_suffix(".tmp")
            with _lock_own(temporary) as lock:
                if lock is None:
                    return False
                try:
                    self._write_file(lock.fileno(), reader)
                    if sys.platform == "win32":
                        lock.release()  # an open file keeps its name, also if another opens it
                    temporary.replace(self._path)
                except OSError:
                    lock.remove()
                    raise
        except OSError as error:
            _log.warning("the snapshot %s could not be written: %s", self._path, error)
            return False
        return True

    def _write_file(self, descriptor: int, reader: Reader) -> None:
        header = self._encode_header(reader.segment_readers[0].segment, reader.cursor)
        if sys.platform != "win32":
            os.fchmod(descriptor, 0o600)
        with open(descriptor, "wb", closefd=False) as file:
            file.truncate(0)
            file.write(header)
            for _, array in _arrays_of(reader.segment_readers[0].segment):
                file.write(bytes(_align(file.tell()) - file.tell()))
                file.write(array.data)
            file.flush()
            os.fsync(descriptor)

    def remove(self, *, others: bool = False, holding: Collection[str] = ()) -> None:
        """Delete every snapshot in the folder, of any model or scope, and incomplete files.

        With `others` those of this model stay. If there are ids in `holding`, those of scopes stay
        that have none of these memories.

        Raises:
            StorageUnavailable: a file cannot be deleted.
        """
        hashes = set(map(hash_id, holding))
        of_scopes = (
            path
            for folder in self._folder.glob(f"{_CONFINED}*")
            for path in _snapshots_in(folder)
            if not hashes or _may_hold(path, hashes)
        )
        _delete(
            path
            for path in (*_snapshots_in(self._folder), *of_scopes)
            if not (others and path.stem == self._path.stem)
        )

    def _is_ours(self, header: Any) -> bool:
        return isinstance(header, dict) and (
            header.get("format"),
            header.get("canonical"),
            header.get("identity"),
            header.get("model"),
            header.get("dimensions"),
        ) == (_FORMAT, CANONICAL_VERSION, self._identity, self._model, self._dimensions)

    def _encode_header(self, segment: Segment, cursor: int) -> bytes:
        layout, offset, checksum = [], 0, 0
        for name, array in _arrays_of(segment):
            padding = _align(offset) - offset
            checksum = crc32(array.data, crc32(bytes(padding), checksum))
            offset += padding
            layout.append([name, str(array.dtype), list(array.shape), offset])
            offset += array.nbytes
        header: dict[str, Any] = {
            "format": _FORMAT,
            "canonical": CANONICAL_VERSION,
            "identity": self._identity,
            "model": self._model,
            "dimensions": self._dimensions,
            "cursor": cursor,
            "names": segment.names,
            "arrays": layout,
            "checksum": checksum,
        }
        header["digest"] = _digest(header)
        return json.dumps(header).encode() + b"\n"

    def _map(self, header: dict[str, Any], file: IO[bytes], start: int) -> Reader:
        """Map the arrays of `file`, which begin at `start`."""
        # Map from this descriptor: the path may lead to a newer file by now.
        # Windows neither deletes nor replaces a mapped file.
        if sys.platform != "win32" and os.fstat(file.fileno()).st_size >= self._mapped_from:
            mapped: NDArray[np.uint8] = np.memmap(file, np.uint8, "r")
        else:
            file.seek(0)
            mapped = np.frombuffer(file.read(), np.uint8)
        arrays: dict[str, Any] = {}
        for name, dtype, shape, offset in header["arrays"]:
            if dtype not in _DTYPES:
                raise ValueError(f"it has an array of the type {dtype!r}")
            position = start + offset
            length = int(np.prod(shape, dtype=object)) * np.dtype(dtype).itemsize
            if position + length > len(mapped):
                raise ValueError("it is cut short")
            # A plain array, because operations on the class `memmap` are slower.
            arrays[name] = np.asarray(
                mapped[position : position + length].view(dtype).reshape(shape)
            )
            if name == "low" and length >= _READ_FROM_FILE and sys.platform != "win32":
                rows = RowsInFile(file, offset=position, width=self._dimensions)
                arrays["low_in_file"] = rows
        segment = Segment(names=tuple(header["names"]), **arrays)
        _check_shapes(segment, self._dimensions)
        live_docs = np.ones(len(segment), np.bool_)
        return Reader(
            segment_readers=(SegmentReader(segment=segment, live_docs=live_docs),),
            cursor=int(header["cursor"]),
        )


def _arrays_of(segment: Segment) -> Iterator[tuple[str, NDArray[np.generic]]]:
    for name in ARRAYS:
        yield name, np.ascontiguousarray(getattr(segment, name))


def _checksum_of(file: IO[bytes]) -> int:
    """Return the checksum of the rest of `file`, read without mapping it into memory."""
    checksum, block = 0, memoryview(bytearray(_BLOCK_BYTES))
    while length := file.readinto(block):  # type: ignore[attr-defined]
        checksum = crc32(block[:length], checksum)
    return checksum


def _may_hold(path: Path, hashes: Collection[int]) -> bool:
    """Return whether a snapshot has a memory with any of the hashes, True for a damaged one."""
    try:
        with open_regular(path) as file:
            arrays = json.loads(file.readline(_MAX_HEADER_BYTES))["arrays"]
            (shape, offset) = next(rest for name, _, *rest in arrays if name == "id_hash")
            file.seek(_align(file.tell()) + offset)
            held = np.frombuffer(file.read(8 * shape[0]), np.uint64)
            return not set(hashes).isdisjoint(held.tolist())
    except (OSError, ValueError, KeyError, TypeError, StopIteration, RecursionError):
        return True


def _snapshots_in(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if path.suffix in _SUFFIXES]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _delete(paths: Iterable[Path]) -> None:
    for path in paths:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise StorageUnavailable(
                f"{path} cannot be deleted ({error.strerror}) and may hold traces of what was"
                " erased: delete it by hand"
            ) from error


@contextmanager
def _lock_own(path: Path) -> Iterator[FileLock | None]:
    """Lock a file that only one process writes at a time; yield None while it is locked.

    The file may contain the bytes of a process that was killed.
    """
    lock = FileLock(path)
    if not lock.try_acquire():
        yield None
        return
    try:
        # The previous holder may have renamed the file: then this is the snapshot in use.
        is_ours = path.exists() and path.stat().st_ino == os.fstat(lock.fileno()).st_ino
        yield lock if is_ours else None
    finally:
        lock.release()


def _name(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()


def _align(offset: int) -> int:
    return -(-offset // _ALIGN) * _ALIGN


def _digest(body: dict[str, Any]) -> str:
    return blake2b(json.dumps(body).encode(), digest_size=16).hexdigest()


_DOCUMENT_COLUMNS = (
    *("id_order", "scope", "speaker", "conversation", "kind", "status", "happened", "stored"),
    *("held_from", "held_to", "is_question", "important", "length"),
    *("canonical_hash", "canonical_order", "conversation_order"),
)


def _check_shapes(segment: Segment, dimensions: int) -> None:
    documents, passages = len(segment), len(segment.scale)
    lengths = {
        **dict.fromkeys(_DOCUMENT_COLUMNS, documents),
        "id_start": documents + 1,
        "passage_start": documents + 1,
        "term_start": len(segment.term_hash) + 1,
        "posting_count": len(segment.posting_doc),
        "spans": passages,
    }
    if (
        any(len(getattr(segment, name)) != length for name, length in lengths.items())
        or segment.high.shape != (passages, dimensions)
        or segment.low.shape != (passages, dimensions)
        or segment.passage_start[-1] != passages
        or segment.id_start[-1] != len(segment.id_bytes)
        or segment.term_start[-1] != len(segment.posting_doc)
    ):
        raise ValueError("its arrays do not fit together")
    if not np.isfinite(segment.scale).all():
        raise ValueError("its vectors are not finite")
