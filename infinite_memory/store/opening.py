"""Puts the parts of a store together when it is opened."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, closing
from functools import cache
from pathlib import Path

from infinite_memory.archive.recovery import describe_way_back
from infinite_memory.clock import Clock
from infinite_memory.config import Config
from infinite_memory.embedding import configured_embedder
from infinite_memory.errors import StoreDamaged
from infinite_memory.model.access.scope_pattern import EVERYTHING, check_scope_patterns
from infinite_memory.model.checks import check_label
from infinite_memory.model.entry import Actor
from infinite_memory.model.ids import RandomBytes
from infinite_memory.observe.reads import FileReadLog, MemoryReadLog, ReadLog
from infinite_memory.operations.active_model import Models, former_opener
from infinite_memory.operations.services import Services
from infinite_memory.operations.usage import UsageCounter
from infinite_memory.protocols import Embedder, SearchFactory, Storage
from infinite_memory.search.snapshot import confined_folder
from infinite_memory.storage.confined import ConfinedStorage
from infinite_memory.storage.open import (
    Place,
    describe_place,
    open_storage,
    resolve,
    snapshot_folder,
)
from infinite_memory.store.confining import confine_config
from infinite_memory.store.lifetime import Lifetime

__all__ = ["open_lifetime"]


def open_lifetime(
    target: str | os.PathLike[str] | None,
    *,
    config: Config | None,
    storage: Storage | None,
    embedder: Embedder | None,
    former_embedder: Embedder | None,
    search: SearchFactory | None,
    client: str,
    counts_usage: bool,
    clock: Clock,
    random_bytes: RandomBytes,
    scopes: Iterable[str] | None,
) -> Lifetime:
    """Open the store at `target`, see `MemoryStore.open`; a failure leaves nothing open."""
    effective, address = resolve(target, config)
    names = None if scopes is None else check_scope_patterns(scopes)
    with ExitStack() as owned:
        open_former = former_opener(
            effective, given=former_embedder, plugged_in=embedder is not None
        )
        if embedder is None:
            embedder = owned.enter_context(closing(configured_embedder(effective)))
        place = describe_place(address, home=effective.home) if storage is None else Place()
        storage, folder = _open_storage(effective, address, owned, given=storage)
        reads = _open_read_log(effective, place, storage)
        if names is not None and EVERYTHING not in names:
            storage, folder, effective = _confine(storage, folder, effective, names)
        models = Models(storage, embedder, open_former=open_former, folder=folder, search=search)
        owned.callback(models.close)
        services = Services(
            storage=storage,
            models=models,
            config=effective,
            clock=clock,
            random_bytes=random_bytes,
            actor=Actor(client=check_label(client, "client"), process=_name_process(os.getpid())),
            usage=owned.enter_context(closing(UsageCounter(storage))) if counts_usage else None,
            backend=place.backend,
            data_folder=place.folder,
            reads=reads,
        )
        return Lifetime(services, owned.pop_all())


def _open_storage(
    config: Config, address: str, owned: ExitStack, *, given: Storage | None
) -> tuple[Storage, Path | None]:
    """Return the storage at `address` and the folder of its snapshots; `owned` closes it.

    A `given` storage takes its place, stays open, and has no snapshots.
    """
    if given is not None:
        return given, None
    try:
        storage = open_storage(address, home=config.home, mongod=config.mongod)
    except StoreDamaged as error:
        raise StoreDamaged(f"{error}.{describe_way_back(config, address)}") from error
    owned.enter_context(closing(storage))
    return storage, snapshot_folder(address, storage, home=config.home)


def _open_read_log(config: Config, place: Place, storage: Storage) -> ReadLog | None:
    """Return where reads are recorded, None if they are not."""
    if not config.audit.reads:
        return None
    if place.folder is None:
        return MemoryReadLog()
    name = "reads.jsonl" if place.is_own else f"reads-{storage.identity}.jsonl"
    return FileReadLog(place.folder / "logs" / name, config.audit)


def _confine(
    storage: Storage, folder: Path | None, config: Config, scopes: Sequence[str]
) -> tuple[Storage, Path | None, Config]:
    """Return storage, snapshots and configuration of a store in which only `scopes` exist."""
    confined = ConfinedStorage(storage, scopes)
    if folder is not None:
        folder = confined_folder(folder, confined.confinement.digest)
    return confined, folder, confine_config(config, confined.confinement)


@cache
def _name_process(number: int) -> str:
    """Return the name of this process, see `Actor`; the same for every handle in it.

    The system gives the number of a process again after its end, so a random part goes with it.
    """
    # Cached by the number, since a forked child is a process of its own.
    return f"{platform.node() or 'localhost'} {number}-{os.urandom(4).hex()}"
