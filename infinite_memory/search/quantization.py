"""Vectors in two planes of bytes: one that a search reads whole, one for the best of what it found.

A component is (256 high + low) scale, where `high` and `low` are signed bytes and the scale is that
of the vector: 16 bits, of which the upper 8 alone are off by at most half a step of their own. This
is scalar quantization with its residual kept beside it.
"""

from __future__ import annotations

import os
import weakref
from typing import IO

import numpy as np
from numpy.typing import NDArray

from infinite_memory.errors import StorageUnavailable

__all__ = ["RowsInFile", "quantize"]

Bytes = NDArray[np.int8]
Scores = NDArray[np.float32]

# 127 * 256 + 127: what is greater would round to a `high` of 128.
_GREATEST = 32_639
# A vector with a smaller scale counts as 0: there would be no digits left for it.
_NOTHING = np.float32(1e-34)


def quantize(vectors: NDArray[np.floating]) -> tuple[Bytes, Bytes, Scores]:
    """Return `high` and `low`, int8, shape (v, dimensions), and `scale`, float32, shape (v,).

    `vectors` are finite, shape (v, dimensions). What each has depends on itself alone.
    """
    vectors = vectors.astype(np.float32, copy=False)
    scale = np.abs(vectors).max(axis=1, initial=0)
    scale /= np.float32(_GREATEST)
    scale[scale < _NOTHING] = 1
    steps = np.rint(vectors / scale[:, np.newaxis]).astype(np.int32)
    # Half a step of `high` is added, so that what is left lies on both sides of 0.
    high = (steps + 128) >> 8
    low = steps - (high << 8)
    return high.astype(np.int8), low.astype(np.int8), scale


class RowsInFile:
    """The rows of an array in a file, read without mapping them.

    Rows from all over a mapped array would have the system map what lies around each of them as
    well, in every process that searches.
    """

    def __init__(self, file: IO[bytes], *, offset: int, width: int) -> None:
        """Read from `file`, which may be closed afterwards: rows of `width` bytes at `offset`."""
        self._descriptor = os.dup(file.fileno())
        self._offset = offset
        self._width = width
        weakref.finalize(self, os.close, self._descriptor)

    def take(self, rows: NDArray[np.integer]) -> Bytes:
        """Return these rows, int8, shape (k, width).

        Raises:
            StorageUnavailable: the file cannot be read, or ends before one of them.
        """
        width = self._width
        places = (rows.astype(np.int64) * width + self._offset).tolist()
        try:
            read = b"".join([os.pread(self._descriptor, width, place) for place in places])
        except OSError as error:
            raise StorageUnavailable(f"the index cannot be read ({error.strerror})") from error
        if len(read) != len(rows) * width:
            raise StorageUnavailable("the file of the index was cut short while it was open")
        return np.frombuffer(read, np.int8).reshape(len(rows), width)
