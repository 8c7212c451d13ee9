"""Puts the parts of a store together when it is opened."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import TypedDict

from infinite_memory.clock import Clock, system_clock
from infinite_memory.config import Config
from infinite_memory.embedding import configured_embedder
from infinite_memory.errors import StoreDamaged
from infinite_memory.model.access.scope_pattern import EVERYTHING, check_scope_patterns
from infinite_memory.model.checks import check_label
from infinite_memory.model.entry import Actor
from infinite_memory.model.ids import RandomBytes
from infinite_memory.observe.reads import FileReadLog, MemoryReadLog, ReadLog
from infinite_memory.observe.recorder import Recorder
from infinite_memory.operations.active_model import Models, former_opener
from infinite_memory.operations.services import Services
from infinite_memory.operations.usage import UsageCounter
from infinite_memory.protocols import (
    Embedder,
    Judge,
    SearchFactory,
    Segmenter,
    Storage,
    Summariser,
    TriggerEvaluator,
)
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
from infinite_memory.triggers.builtin import open_evaluators

__all__ = ["Parts", "open_lifetime"]


class Parts(TypedDict, total=False):
    """The parts of a store that a caller may replace, see `MemoryStore.open`.

    A storage, embedder or evaluator of the caller stays open when the store closes.
    """

    storage: Storage | None
    """Instead of the one at the target."""
    embedder: Embedder | None
    """Instead of the configured one."""
    former_embedder: Embedder | None
    """Instead of the configured one; it answers until everything is embedded."""
    search: SearchFactory | None
    """Makes the search of a storage and an embedder, such as `LinearSearch`; None for the index."""
    segmenter: Segmenter | None
    """Divides texts into the words of short-term memory; None for the built-in one."""
    judge: Judge | None
    """Judges for the dreamer whether two memories belong together; None for the configured one."""
    summariser: Summariser | None
    """Writes summaries, for the upkeep and the dreamer; None for the configured one."""
    evaluators: Mapping[str, TriggerEvaluator] | None
    """Check the conditions of triggers, by language; a language without one has the built-in one"""
    clock: Clock
    """Returns the present time, aware."""
    random_bytes: RandomBytes
    """Returns as many random bytes as it is asked for."""


def open_lifetime(
    target: str | os.PathLike[str] | None,
    *,
    config: Config | None,
    client: str,
    counts_usage: bool,
    scopes: Iterable[str] | None,
    parts: Parts,
) -> Lifetime:
    """Open the store at `target`, see `MemoryStore.open`; a failure leaves nothing open.

    Raises:
        TypeError: there is no part of a name.
    """
    _check_parts(parts)
    storage, embedder = parts.get("storage"), parts.get("embedder")
    effective, address = resolve(target, config)
    names = None if scopes is None else check_scope_patterns(scopes)
    with ExitStack() as owned:
        open_former = former_opener(
            effective, given=parts.get("former_embedder"), plugged_in=embedder is not None
        )
        if embedder is None:
            embedder = owned.enter_context(closing(configured_embedder(effective)))
        place = describe_place(address, home=effective.home) if storage is None else Place()
        storage, folder = _open_storage(effective, address, owned, given=storage)
        reads = _open_read_log(effective, place, storage)
        if names is not None and EVERYTHING not in names:
            storage, folder, effective = _confine(storage, folder, effective, names)
        models = Models(
            storage, embedder, open_former=open_former, folder=folder, search=parts.get("search")
        )
        owned.callback(models.close)
        recorder = Recorder()
        services = Services(
            storage=storage,
            models=models,
            config=effective,
            clock=parts.get("clock", system_clock),
            random_bytes=parts.get("random_bytes", os.urandom),
            actor=Actor(client=check_label(client, "client"), process=_name_process(os.getpid())),
            usage=owned.enter_context(closing(UsageCounter(storage))) if counts_usage else None,
            backend=place.backend,
            data_folder=place.folder,
            reads=reads,
            recorder=recorder,
            evaluators=open_evaluators(owned, parts.get("evaluators"), effective, recorder),
            **_plugged_in(parts),
        )
        return Lifetime(services, owned.pop_all())


class _PluggedIn(TypedDict):
    """The parts of `Services` that are None unless the caller gives them."""

    segmenter: Segmenter | None
    judge: Judge | None
    summariser: Summariser | None


def _plugged_in(parts: Parts) -> _PluggedIn:
    return {
        "segmenter": parts.get("segmenter"),
        "judge": parts.get("judge"),
        "summariser": parts.get("summariser"),
    }


def _check_parts(parts: Parts) -> None:
    for name in parts:
        if name not in Parts.__annotations__:
            near = get_close_matches(name, Parts.__annotations__, n=1, cutoff=0.0)[0]
            raise TypeError(f"MemoryStore.open() has no argument {name!r}; the nearest is {near!r}")


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
        from infinite_memory.archive.recovery import describe_way_back

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
