"""Puts the parts of a store together when it is opened."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, TypedDict

from infinite_memory.core.clock import Clock, system_clock
from infinite_memory.core.config import Config
from infinite_memory.core.errors import StoreDamaged
from infinite_memory.core.observe.recorder import Recorder
from infinite_memory.core.values.access.scope_pattern import EVERYTHING, check_scope_patterns
from infinite_memory.core.values.checks import check_label
from infinite_memory.core.values.entry import Actor
from infinite_memory.core.values.ids import RandomBytes
from infinite_memory.core.values.scope import Scope
from infinite_memory.engine.active_model import Model, Models
from infinite_memory.engine.services import Services
from infinite_memory.engine.usage import UsageCounter
from infinite_memory.storage.open import (
    Place,
    describe_place,
    open_storage,
    resolve,
    snapshot_folder,
)
from infinite_memory.store.lifetime import Lifetime

if TYPE_CHECKING:
    from infinite_memory.core.observe.reads import ReadLog
    from infinite_memory.core.protocols import (
        Embedder,
        Judge,
        SearchFactory,
        Segmenter,
        Storage,
        Summariser,
        TriggerEvaluator,
    )

# What a person may have set for the model.
_OF_THE_MODEL = {"embedder", "query_prefix", "document_prefix", "execution_providers"}


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
    project: str | os.PathLike[str] | None,
    parts: Parts,
) -> Lifetime:
    """Open the store at `target`, see `MemoryStore.open`; a failure leaves nothing open.

    Raises:
        TypeError: there is no part of a name.
    """
    _check_parts(parts)
    storage = parts.get("storage")
    effective, address = resolve(target, config)
    names = None if scopes is None else check_scope_patterns(scopes)
    with ExitStack() as owned:
        # Entered first, so that the embedder is closed last, although it may be opened much later.
        open_embedder = _choose_embedder(effective, parts, owned.enter_context(ExitStack()))
        place = describe_place(address, home=effective.home) if storage is None else Place()
        storage, folder = _open_storage(effective, address, owned, given=storage)
        reads = _open_read_log(effective, place, storage)
        whole = storage
        if names is not None and EVERYTHING not in names:
            storage = _confine_storage(storage, names)
        models = _open_models(effective, parts, storage, whole, folder, open_embedder)
        owned.callback(models.close)
        recorder, evaluators = Recorder(), owned.enter_context(ExitStack())
        services = Services(
            storage=storage,
            models=models,
            config=effective,
            clock=parts.get("clock", system_clock),
            random_bytes=parts.get("random_bytes", os.urandom),
            actor=Actor(client=check_label(client, "client"), process=_name_process(os.getpid())),
            usage=owned.enter_context(closing(UsageCounter(storage))) if counts_usage else None,
            backend=place.backend,
            find_project_scope=_find_project(project, effective, place.folder),
            data_folder=place.folder,
            reads=reads,
            recorder=recorder,
            open_evaluators=_choose_evaluators(effective, parts, recorder, evaluators),
            **_choose_plugged_in(parts),
        )
        return Lifetime(services, owned.pop_all())


def _find_project(
    folder: str | os.PathLike[str] | None, config: Config, data_folder: Path | None
) -> Callable[[], Scope | None]:
    """Return a function that returns the scope of the repository that holds `folder`, if any."""

    @cache
    def find_scope() -> Scope | None:
        if folder is None:
            return None
        from infinite_memory.features.sessions.repository import find_project

        return find_project(folder, config, data_folder)

    return find_scope


def _choose_embedder(config: Config, parts: Parts, owned: ExitStack) -> Callable[[], Embedder]:
    """Return a function that returns the embedder of the store; `owned` closes what it opens.

    The model that comes with the package is loaded, with all that runs it, when it is first needed.
    A model that the configuration names is opened now, so that nothing is made if it is not usable.
    """
    given = parts.get("embedder")

    def open_configured() -> Embedder:
        from infinite_memory.search.embedding import configured_embedder

        return owned.enter_context(closing(configured_embedder(config)))

    if given is None and not config.model_fields_set & _OF_THE_MODEL:
        return open_configured
    embedder = open_configured() if given is None else given
    return lambda: embedder


def _choose_evaluators(
    config: Config, parts: Parts, recorder: Recorder, owned: ExitStack
) -> Callable[[], Mapping[str, TriggerEvaluator]]:
    """Return a function that returns the evaluators of the store; `owned` closes what it opens.

    The built-in ones are loaded when a condition is first checked.

    Raises:
        InvalidInput: there is no language of the name of a given evaluator.
    """
    lock, given = Lock(), parts.get("evaluators")

    @cache
    def open_all() -> Mapping[str, TriggerEvaluator]:
        from infinite_memory.features.reminders.triggers.builtin import open_evaluators

        return open_evaluators(owned, given, config, recorder)

    def open_once() -> Mapping[str, TriggerEvaluator]:
        with lock:  # a cache alone lets two threads open them
            return open_all()

    if given:
        open_once()
    return open_once


def _open_models(
    config: Config,
    parts: Parts,
    storage: Storage,
    whole: Storage,
    folder: Path | None,
    open_embedder: Callable[[], Embedder],
) -> Models:
    """Return the models over `storage`, which shows `whole` or a part of it.

    The index is that of `whole`. A plugged-in search is made now, of `storage`, see `make_search`.
    """
    search = parts.get("search")

    def build(
        storage: Storage, embedder: Embedder, folder: Path | None, whole: Model | None
    ) -> Model:
        from infinite_memory.engine.model_building import build_model

        model = build_model(storage, embedder, folder, whole, search=search)
        if config.search.engine is None or search is not None:
            return model
        from infinite_memory.engine.retrieval.search_engine import search_by_engine

        return search_by_engine(model, storage, config.search.engine, whole)

    def open_former(active: str) -> AbstractContextManager[Embedder] | None:
        from infinite_memory.engine.model_building import open_former_model

        former, is_given = parts.get("former_embedder"), parts.get("embedder") is not None
        return open_former_model(config, active, given=former, plugged_in=is_given)

    searched = whole if search is None else storage
    models = Models(searched, open_embedder, build=build, open_former=open_former, folder=folder)
    if search is not None or parts.get("embedder") is not None:
        _ = models.configured
    return models if searched is storage else models.confine(storage)


class _PluggedIn(TypedDict):
    """The parts of `Services` that are None unless the caller gives them."""

    segmenter: Segmenter | None
    judge: Judge | None
    summariser: Summariser | None


def _choose_plugged_in(parts: Parts) -> _PluggedIn:
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
        from infinite_memory.features.archive.recovery import describe_way_back

        raise StoreDamaged(f"{error}.{describe_way_back(config, address)}") from error
    owned.enter_context(closing(storage))
    return storage, snapshot_folder(address, storage, home=config.home)


def _open_read_log(config: Config, place: Place, storage: Storage) -> ReadLog | None:
    """Return where reads are recorded, None if they are not."""
    if not config.audit.reads:
        return None
    from infinite_memory.core.observe.reads import FileReadLog, MemoryReadLog

    if place.folder is None:
        return MemoryReadLog()
    name = "reads.jsonl" if place.is_own else f"reads-{storage.identity}.jsonl"
    return FileReadLog(place.folder / "logs" / name, config.audit)


def _confine_storage(storage: Storage, scopes: Sequence[str]) -> Storage:
    """Return the storage of a store in which only `scopes` exist."""
    from infinite_memory.storage.confined import ConfinedStorage

    return ConfinedStorage(storage, scopes)


@cache
def _name_process(number: int) -> str:
    """Return the name of this process, see `Actor`; the same for every handle in it.

    The system gives the number of a process again after its end, so a random part goes with it.
    """
    # Cached by the number, since a forked child is a process of its own.
    return f"{platform.node() or 'localhost'} {number}-{os.urandom(4).hex()}"
