"""Builds the models of a store: the configured model and the former one, each with its index."""

from __future__ import annotations

from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, cast

from infinite_memory.core.config import Config
from infinite_memory.core.protocols import Embedder, SearchFactory, Storage
from infinite_memory.engine.active_model import Model
from infinite_memory.engine.retrieval.custom_search import make_search
from infinite_memory.search.embedding import (
    BUNDLED,
    ENGLISH,
    CheckedEmbedder,
    configured_embedder,
)
from infinite_memory.search.embedding.models import find_model
from infinite_memory.search.index import SearchIndex
from infinite_memory.search.snapshot import Snapshot
from infinite_memory.storage.damage import silence_damage_log

if TYPE_CHECKING:
    from infinite_memory.storage.confined import ConfinedStorage


def build_model(
    storage: Storage,
    given: Embedder,
    folder: Path | None,
    whole: Model | None = None,
    *,
    search: SearchFactory | None = None,
) -> Model:
    """Return a model with the index over `storage`, or with what `search` makes.

    Snapshots of the index are in `folder`, None for no snapshots. If `storage` shows some scopes of
    the storage of the model `whole`, the index is that of `whole`, confined to these.

    Raises:
        ConfigurationError: `search` does not make a search.
    """
    # A shared embedder has measured its background already.
    embedder = given if isinstance(given, CheckedEmbedder) else CheckedEmbedder(given)
    if search is not None:
        return Model(embedder=embedder, index=make_search(search, storage, embedder))
    if whole is not None and isinstance(whole.index, SearchIndex):
        from infinite_memory.search.confined.index import ConfinedIndex

        choose = cast("ConfinedStorage", storage).confinement.choose
        index = ConfinedIndex(whole.index, storage, choose=choose, quietly=silence_damage_log)
        return Model(embedder=embedder, index=index)
    snapshot = None
    if folder is not None:
        snapshot = Snapshot(
            folder,
            identity=storage.identity,
            model=embedder.model,
            dimensions=embedder.dimensions,
        )
    return Model(embedder=embedder, index=SearchIndex(storage, embedder, snapshot=snapshot))


def open_former_model(
    config: Config,
    active: str,
    *,
    given: Embedder | None = None,
    plugged_in: bool = False,
    keep: bool = True,
) -> AbstractContextManager[Embedder] | None:
    """Open the former model, None if it is the configured model itself.

    A `given` embedder stays open; without it the configuration names the former model, or it is a
    model of the package: the English one if that is named `active`, otherwise both. `plugged_in`
    says that the current embedder does not come from the configuration. With `keep`, measurements
    of the former model are written to disk for the next time.

    Raises:
        EmbedderError: the former model cannot be opened.
    """
    if given is not None:
        return nullcontext(given)
    is_english = find_model(ENGLISH).manifest.identity == active
    prefixes = (config.former_query_prefix, config.former_document_prefix)
    former = config.model_copy(
        update={
            "embedder": config.former_embedder or (ENGLISH if is_english else BUNDLED),
            "query_prefix": prefixes[0] if config.former_embedder else None,
            "document_prefix": prefixes[1] if config.former_embedder else None,
        }
    )
    if former == config and not plugged_in:
        return None
    return closing(configured_embedder(former, keep=keep))
