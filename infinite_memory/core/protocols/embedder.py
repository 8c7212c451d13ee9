"""The protocol of an embedding model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


__all__ = ["Embedder"]


class Embedder(Protocol):
    """A model that turns text into unit vectors; the vector of a text does not depend on its batch.

    Every method may be called from any thread. `model`, `dimensions` and `embed` are required.
    Optional members replace their defaults:

    - `embed_query(text) -> vector`: the unit vector of a question, shape (dimensions,), for a model
      that treats questions unlike texts. By default `embed([text])[0]`.
    - `spans(text) -> array`: the overlapping passages of `text` that fit the window of the model,
      as half-open character ranges, int32, shape (passages, 2), at least one. By default passages
      of at most 192 words and signs, on sentence boundaries.
    - `understands(text) -> bool`: whether the model was made for the language of `text`. By default
      True.
    - `background`: the cosine that two unrelated texts have on average; models differ widely in it.
      By default it is measured on sixteen sentences when it is first needed.
    - `second_length`: for vectors of two models, whose first part is 0 in texts that only the
      second knows: the length of the second part in all other vectors. By default None, one model.

    A vector with a wrong shape or type, with values that are not finite, or with a length that
    differs from 1 by more than 0.001 is refused: the text is stored and found by its words, and the
    receipt names the fault.
    """

    @property
    def model(self) -> str:
        """The name of the model with a digest of its files; vectors of two models never mix."""

    @property
    def dimensions(self) -> int:
        """The length of a vector."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the unit vectors of `texts`, float32, shape (len(texts), dimensions).

        Raises:
            EmbedderError: the model cannot be loaded or run.
        """
