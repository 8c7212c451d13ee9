"""Which documents of a segment a search looks at, so that no arithmetic is spent on the others."""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

__all__ = ["DocFilter"]

_Scalar = TypeVar("_Scalar", bound=np.generic)

# Below this share of the documents it is quicker to look them up than to count all places.
_LOOK_UP_BELOW = 0.02


@frozen(kw_only=True, eq=False)
class DocFilter:
    """Some of the `size` documents of one segment. Scores are arrays of its length, in its order.

    `docs` are their numbers, ascending, int32, shape (k,), and `mask` says the same as bool, shape
    (size,); both are None where every document is selected.
    """

    size: int
    docs: NDArray[np.int32] | None = None
    mask: NDArray[np.bool_] | None = None

    @classmethod
    def of(cls, mask: NDArray[np.bool_]) -> DocFilter:
        """Return the selection of the documents that are true in `mask`."""
        if np.count_nonzero(mask) == len(mask):
            return cls(size=len(mask))
        return cls(size=len(mask), docs=np.flatnonzero(mask).astype(np.int32), mask=mask)

    def __len__(self) -> int:
        return self.size if self.docs is None else len(self.docs)

    def doc_at(self, position: int) -> int:
        """Return the number of the document at a place of the selection."""
        return position if self.docs is None else int(self.docs[position])

    def docs_at(self, positions: NDArray[np.intp]) -> NDArray[np.int32]:
        """Return the numbers of the documents at these places of the selection."""
        return (positions if self.docs is None else self.docs[positions]).astype(np.int32)

    def take(self, column: NDArray[_Scalar]) -> NDArray[_Scalar]:
        """Return the values of the selected documents in a column of the segment, shape (k,)."""
        return column if self.docs is None else column[self.docs]

    def contains(self, docs: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return which of these documents are selected: bool, of the same shape."""
        return np.ones(len(docs), np.bool_) if self.mask is None else self.mask[docs]

    def positions_of(self, docs: NDArray[np.int32]) -> NDArray[Any]:
        """Return the places of documents that are selected, all of them, in the selection."""
        if self.docs is None:
            return docs
        if len(docs) < _LOOK_UP_BELOW * self.size:
            return np.searchsorted(self.docs, docs)
        return self._positions[docs]

    @cached_property
    def _positions(self) -> NDArray[np.int32]:
        mask = np.ones(self.size, np.bool_) if self.mask is None else self.mask
        counted: NDArray[np.int32] = np.cumsum(mask, dtype=np.int32)
        counted -= 1
        return counted
