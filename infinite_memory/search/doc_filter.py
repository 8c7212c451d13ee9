"""The documents of a segment that a search considers; it scores no further documents."""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

_Scalar = TypeVar("_Scalar", bound=np.generic)

# Below this share of the documents, looking them up is faster than numbering all positions.
_LOOK_UP_BELOW = 0.02
# From this share of the documents on, numpy takes values by a mask faster than by numbers.
_MASK_FROM = 0.125


@frozen(kw_only=True, eq=False)
class DocFilter:
    """A selection of k of the `size` documents of a segment; scores are arrays of shape (k,).

    `docs` are the document numbers, ascending, int32, shape (k,). `mask` is the same selection as
    bool, shape (size,). Both are None if every document is selected.
    """

    size: int
    docs: NDArray[np.int32] | None = None
    mask: NDArray[np.bool_] | None = None

    @classmethod
    def of(cls, mask: NDArray[np.bool_]) -> DocFilter:
        """Select the documents that are true in `mask`."""
        if np.count_nonzero(mask) == len(mask):
            return cls(size=len(mask))
        return cls(size=len(mask), docs=mask.nonzero()[0].astype(np.int32), mask=mask)

    def __len__(self) -> int:
        return self.size if self.docs is None else len(self.docs)

    def doc_at(self, position: int) -> int:
        """Return the number of the document at a position of the selection."""
        return position if self.docs is None else int(self.docs[position])

    def docs_at(self, positions: NDArray[np.intp]) -> NDArray[np.int32]:
        """Return the numbers of the documents at `positions` of the selection."""
        return (positions if self.docs is None else self.docs[positions]).astype(np.int32)

    def take(self, column: NDArray[_Scalar]) -> NDArray[_Scalar]:
        """Return the values of the selected documents in a column of the segment, shape (k,)."""
        if self.docs is None or self.mask is None:
            return column
        if len(self.docs) >= _MASK_FROM * self.size:
            return column[self.mask]
        return column[self.docs]

    def contains(self, docs: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return for every document whether it is selected: bool, of the same shape."""
        return np.ones(len(docs), np.bool_) if self.mask is None else self.mask[docs]

    def positions_of(self, docs: NDArray[np.int32]) -> NDArray[Any]:
        """Return the positions of `docs` in the selection; every document must be selected."""
        if self.docs is None:
            return docs
        if len(docs) < _LOOK_UP_BELOW * self.size:
            return self.docs.searchsorted(docs)
        return self._positions[docs]

    @cached_property
    def _positions(self) -> NDArray[np.int32]:
        mask = np.ones(self.size, np.bool_) if self.mask is None else self.mask
        counted: NDArray[np.int32] = mask.cumsum(dtype=np.int32)
        counted -= 1
        return counted
