"""Find attachments by the embeddings that their callers gave, one matrix for each model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TypeAlias

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.checks import check_count
from infinite_memory.core.values.conversation.attachment import (
    Attachment,
    AttachmentMatch,
    attachment_of,
)
from infinite_memory.core.values.criteria import Conditions
from infinite_memory.core.values.memory import Kind, Memory, present
from infinite_memory.core.values.messages import suggest_name
from infinite_memory.engine.kind_follower import KindFollower
from infinite_memory.engine.retrieval.search_request import build_criteria
from infinite_memory.engine.services import Services
from infinite_memory.features.attachments.draft import check_embedding, check_model

_MAX_LIMIT = 1000


@frozen(kw_only=True, eq=False)
class _Embedded:
    """An attachment with its embedding as a unit vector, float32; `memory` is without it."""

    memory: Memory
    model: str
    vector: NDArray[np.float32]


@frozen(kw_only=True, eq=False)
class _Matrix:
    """The embeddings of a model with so many dimensions: a row for each attachment, by id."""

    rows: tuple[_Embedded, ...]
    vectors: NDArray[np.float32]

    @classmethod
    def of(cls, rows: Iterable[_Embedded]) -> _Matrix:
        """Return the matrix of `rows`, of which there is at least one."""
        ordered = tuple(sorted(rows, key=lambda row: row.memory.id))
        return cls(rows=ordered, vectors=np.stack([row.vector for row in ordered]))

    def rank(self, query: NDArray[np.float32]) -> Iterator[tuple[_Embedded, float]]:
        """Yield the attachments with their cosines, nearest first; equal ones by id."""
        cosines = np.clip(self.vectors @ query, -1.0, 1.0)
        for row in np.argsort(-cosines, kind="stable"):
            yield self.rows[row], float(cosines[row])


_Key: TypeAlias = tuple[str, int]
"""A model, and the number of dimensions of its embeddings."""


class _Matrices(KindFollower[_Embedded]):
    """The matrices of an open store, built anew after a change by any process. Thread-safe."""

    def __init__(self, storage: Storage) -> None:
        """Follow the attachments of `storage`."""
        super().__init__(storage, {Kind.ATTACHMENT}, _make_embedded)
        self._built: tuple[int, Mapping[_Key, _Matrix]] = (0, {})

    def matrices(self) -> Mapping[_Key, _Matrix]:
        """Return the matrices as of the last commit."""
        known, matrices = self._built
        version, rows = self.read_newer(known)
        if rows is None:
            return matrices
        groups: defaultdict[_Key, list[_Embedded]] = defaultdict(list)
        for row in rows.values():
            groups[row.model, len(row.vector)].append(row)
        matrices = {key: _Matrix.of(group) for key, group in groups.items()}
        self._built = version, matrices
        return matrices


def find_similar(
    services: Services,
    embedding: object,
    *,
    model: str | None,
    limit: int,
    conditions: Conditions,
) -> tuple[AttachmentMatch, ...]:
    """Return attachments by the cosine of their embeddings; see `Attachments.find_similar`.

    Raises:
        InvalidInput: a value cannot be used, or no attachment has an embedding like it.
        UnknownScope: a scope does not exist.
    """
    vector, name = check_embedding(embedding), check_model(model)
    most = check_count(limit, "limit", low=1, high=_MAX_LIMIT)
    criteria = build_criteria(services, "", conditions)
    matrices = _follow_storage(services).matrices()
    _check_known(matrices, name, len(vector))
    matrix = matrices.get((name, len(vector)))
    if matrix is None:
        return ()
    ranked = matrix.rank(normalize(vector))
    admitted = ((row, cosine) for row, cosine in ranked if criteria.admit(row.memory))
    matches = list(islice(admitted, most))
    services.note_returned([row.memory for row, _ in matches], is_recall=True)
    return tuple(
        [
            AttachmentMatch(attachment=_show_attachment(row), cosine=cosine)
            for row, cosine in matches
        ]
    )


def compare_all(services: Services, embedding: object, model: str | None) -> dict[str, float]:
    """Return the cosine of an embedding with each attachment that has one by that model, by id.

    Raises:
        InvalidInput: as for `find_similar`.
    """
    vector, name = check_embedding(embedding), check_model(model)
    matrices = _follow_storage(services).matrices()
    _check_known(matrices, name, len(vector))
    matrix = matrices.get((name, len(vector)))
    if matrix is None:
        return {}
    return {row.memory.id: cosine for row, cosine in matrix.rank(normalize(vector))}


def check_dimensions(services: Services, model: str, dimensions: int) -> None:
    """Refuse an embedding that cannot be compared with those that the store has by its model.

    Raises:
        InvalidInput: it has another number of dimensions.
    """
    matrices = _follow_storage(services).matrices()
    known = sorted(number for name, number in matrices if name == model)
    if known and dimensions not in known:
        raise _make_wrong_dimensions_error(model, dimensions, known)


def normalize(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the unit vector of the direction of `vector`, which is finite and not zero."""
    wide = vector.astype(np.float64)
    unit: NDArray[np.float32] = (wide / np.linalg.norm(wide)).astype(np.float32)
    return unit


def _follow_storage(services: Services) -> _Matrices:
    follower = services.followers.get("attachments", partial(_Matrices, services.storage))
    assert isinstance(follower, _Matrices)
    return follower


def _make_embedded(memory: Memory) -> _Embedded | None:
    """Return an attachment that has a usable embedding, None for any other."""
    attachment, values = attachment_of(memory), memory.context.get("attachment")
    if attachment is None or attachment.model is None or not isinstance(values, Mapping):
        return None
    try:
        vector = check_embedding(values.get("embedding"))
    except InvalidInput:
        # Somebody changed the context by hand; the attachment is still found by its words.
        return None
    return _Embedded(memory=present(memory), model=attachment.model, vector=normalize(vector))


def _show_attachment(row: _Embedded) -> Attachment:
    shown = attachment_of(row.memory)
    assert shown is not None
    return evolve(shown, model=row.model, dimensions=len(row.vector))


def _check_known(matrices: Mapping[_Key, _Matrix], model: str, dimensions: int) -> None:
    """Refuse a model that no attachment has an embedding by, unless none has any."""
    known = sorted(number for name, number in matrices if name == model)
    if known and dimensions not in known:
        raise _make_wrong_dimensions_error(model, dimensions, known)
    if matrices and not known:
        names = sorted({name for name, _ in matrices})
        raise InvalidInput(
            f"no attachment has an embedding by the model {model!r:.100}; the nearest name is"
            f" {suggest_name(model, names)!r}"
        )


def _make_wrong_dimensions_error(model: str, dimensions: int, known: Sequence[int]) -> InvalidInput:
    numbers = " or ".join(f"{number:,}" for number in known)
    return InvalidInput(
        f"embedding has {dimensions:,} numbers, and those by the model {model!r:.100} have"
        f" {numbers}: give one by the same model, or name the model that made it"
    )
