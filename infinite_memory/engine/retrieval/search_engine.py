"""A model whose search has its candidates from the engine that the configuration names."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from attrs import evolve

from infinite_memory.search.candidates.postgres import PostgresCandidates
from infinite_memory.search.candidates.search import CandidateSearch

if TYPE_CHECKING:
    from infinite_memory.core.protocols import Embedder, Storage
    from infinite_memory.engine.active_model import Model
    from infinite_memory.storage.confined import ConfinedStorage


def make_engine(url: str, identity: str, embedder: Embedder) -> PostgresCandidates:
    """Return the engine at `url` for the store with `identity`, without connecting yet."""
    return PostgresCandidates(url, identity, embedder)


def search_by_engine(model: Model, storage: Storage, url: str, whole: Model | None) -> Model:
    """Return `model` with a search by the engine at `url`; while it is away, the index answers.

    `whole` is the model of the whole store if `storage` shows a part of it, otherwise None.
    """
    if whole is not None and isinstance(whole.index, CandidateSearch):
        allows = cast("ConfinedStorage", storage).confinement.allows
        return evolve(model, index=whole.index.confine(storage, allows, model.index))
    engine = make_engine(url, storage.identity, model.embedder)
    return evolve(model, index=CandidateSearch(storage, model.embedder, engine, model.index))
