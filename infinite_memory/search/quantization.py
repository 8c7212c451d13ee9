"""Scalar quantization of vectors to 16 bits, stored as two planes of bytes.

A component is (256 high + low) scale, where `high` and `low` are signed bytes and every vector has
its own scale. A search compares all vectors by `high` alone, with an error of at most half a step
of `high` per component, and reads `low`, the residual, only for the best candidates.
"""

from __future__ import annotations

import os
import weakref
from typing import IO

import numpy as np
from numpy.typing import NDArray

from infinite_memory.core.errors import StorageUnavailable
from infinite_memory.core.values.record import to_steps

Bytes = NDArray[np.int8]
Scores = NDArray[np.float32]


def quantize(vectors: NDArray[np.floating]) -> tuple[Bytes, Bytes, Scores]:
    """Return `high` and `low`, int8, shape (v, dimensions), and `scale`, float32, shape (v,).

    `vectors` must be finite, shape (v, dimensions). The planes of a vector do not depend on the
    rest of the batch.
    """
    steps, scale = to_steps(vectors)
    # Half a step of `high` is added, so that the residual lies on both sides of 0.
    high = (steps + 128) >> 8
    low = steps - (high << 8)
    return high.astype(np.int8), low.astype(np.int8), scale


class RowsInFile:
    """The rows of an array in a file, read without mapping the array into memory.

    Reading scattered rows of a mapped array would make the system load the pages around every row,
    in every process that searches.
    """

    def __init__(self, file: IO[bytes], *, offset: int, width: int) -> None:
        """Read rows of `width` bytes from `offset` on; `file` may be closed afterwards."""
        self._descriptor = os.dup(file.fileno())
        self._offset = offset
        self._width = width
        weakref.finalize(self, os.close, self._descriptor)

    def take(self, rows: NDArray[np.integer]) -> Bytes:
        """Return `rows` of the array, int8, shape (k, width).

        Raises:
            StorageUnavailable: the file cannot be read, or is too short.
        """
        width = self._width
        offsets = (rows.astype(np.int64) * width + self._offset).tolist()
        pread = vars(os)["pread"]  # not on Windows, where all rows are in memory
        try:
            read = b"".join([pread(self._descriptor, width, offset) for offset in offsets])
        except OSError as error:
            raise StorageUnavailable(f"the index cannot be read ({error.strerror})") from error
        if len(read) != len(rows) * width:
            raise StorageUnavailable("the file of the index was cut short while it was open")
        return np.frombuffer(read, np.int8).reshape(len(rows), width)
