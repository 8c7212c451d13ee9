"""Health: whether an open store works, what it lacks, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from enum import StrEnum

from attrs import frozen

from infinite_memory.core.errors import InfiniteMemoryError
from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.entry import Actor
from infinite_memory.core.values.messages import format_count, format_size
from infinite_memory.core.values.record import Size
from infinite_memory.core.values.verification import Diagnosis, State
from infinite_memory.engine.active_model import Model
from infinite_memory.engine.retrieval.language_hint import (
    OTHER_LANGUAGES,
    needs_multilingual,
)
from infinite_memory.engine.services import Services
from infinite_memory.engine.verification.checks import (
    check_damage,
    check_engine,
    check_pending,
    check_space,
    count_memories,
    count_pending,
    measure_free_bytes,
)
from infinite_memory.search.candidates.search import CandidateSearch
from infinite_memory.search.embedding import BUNDLED, MULTILINGUAL
from infinite_memory.search.index import SearchIndex

_MOST_BEHIND = 10_000


class HealthStatus(StrEnum):
    """Whether a store works: as it should, with something lacking, or not."""

    OK = "ok"
    DEGRADED = "degraded"
    FAILING = "failing"


@frozen(kw_only=True)
class ModelHealth(PlainData):
    """The embedding model: `name` embeds new memories, `answering` is used by searches.

    `is_loaded` and `is_multilingual` are None for a custom model that does not tell.
    """

    name: str
    answering: str
    is_loaded: bool | None
    is_multilingual: bool | None


@frozen(kw_only=True)
class Health(PlainData):
    """The state of a store, as this process sees it.

    `findings` has a sentence for everything that was looked at, and says the way out where
    something is wrong; the worst decides the `status`. A value is None where it could not be read,
    or does not exist: `free_bytes` without a folder on this machine, and `index_behind` with a
    custom search, and both for a handle of some scopes alone.

    `index_behind` counts memories that changed since the index last read the store; the next search
    reads them. `pending` counts memories that are found by words alone. `clients` are the handles
    that are open on this store in this process. `last_backup` is the time of the newest backup of
    this store in the folder of the backups, None without one and for a handle of some scopes.
    `worker` says which process does the upkeep in the background, None if none does, and for a
    handle of some scopes or one that may only read.
    """

    status: HealthStatus
    checked_at: datetime
    findings: tuple[Diagnosis, ...]
    backend: str
    memories: int | None = None
    size_bytes: int | None = None
    free_bytes: int | None = None
    index_behind: int | None = None
    pending: int | None = None
    model: ModelHealth | None = None
    clients: tuple[Actor, ...] = ()
    worker: str | None = None
    last_backup: datetime | None = None


_STATUS = {
    State.OK: HealthStatus.OK,
    State.WARNING: HealthStatus.DEGRADED,
    State.PROBLEM: HealthStatus.FAILING,
}


def check_health(
    services: Services,
    clients: Sequence[Actor],
    *,
    last_backup: datetime | None = None,
    others: Sequence[Diagnosis] = (),
) -> Health:
    """Return the state of the store. Nothing is changed, and no model is loaded.

    A store that cannot be read is no error, but a finding. `others` are findings of the caller.
    """
    findings: list[Diagnosis] = []
    size = model = pending = behind = None
    try:
        size = services.storage.measure()
        findings.append(_check_records(services, size))
        findings.append(check_damage(services.storage))
        answering = services.models.answering()
        model = _describe_model(services, answering)
        findings.append(_check_model(model))
        pending = count_pending(services.storage, model.name)
        findings.append(
            check_pending(
                pending, model.name, size, lambda: (answering.name, services.models.failure)
            )
        )
        behind = _count_behind(services, answering)
        findings.extend(_check_index(services, answering, behind))
    except InfiniteMemoryError as error:
        findings.append(Diagnosis("storage", State.PROBLEM, f"{error}."))
    free = _measure_free_bytes(services)
    if free is not None:
        findings.append(check_space(free))
    findings.extend(_check_reads(services))
    findings.extend(others)
    worst = max((finding.state for finding in findings), key=list(State).index)
    return Health(
        status=_STATUS[worst],
        checked_at=services.clock(),
        findings=tuple(findings),
        backend=services.backend,
        memories=None if size is None else count_memories(size),
        size_bytes=None if size is None else size.size_bytes,
        free_bytes=free,
        index_behind=behind,
        pending=pending,
        model=model,
        clients=tuple(clients),
        last_backup=last_backup,
    )


def _check_records(services: Services, size: Size) -> Diagnosis:
    number = format_count(count_memories(size), "memory", "memories")
    sentence = f"The store ({services.backend}) can be read: {number} in"
    return Diagnosis("storage", State.OK, f"{sentence} {format_size(size.size_bytes)}.")


def _describe_model(services: Services, answering: Model) -> ModelHealth:
    configured = services.models.configured
    is_multilingual = None
    if needs_multilingual(answering.name):
        is_multilingual = False
    elif answering is configured and services.config.embedder in (BUNDLED, MULTILINGUAL):
        is_multilingual = True
    return ModelHealth(
        name=configured.name,
        answering=answering.name,
        is_loaded=answering.embedder.is_loaded,
        is_multilingual=is_multilingual,
    )


def _check_model(model: ModelHealth) -> Diagnosis:
    loaded = {True: " is loaded", False: " is loaded by the first search", None: " answers"}
    sentence = f"{model.answering}{loaded[model.is_loaded]}."
    if model.is_multilingual is False:
        sentence += f" It was made for English: {OTHER_LANGUAGES}."
    return Diagnosis("model", State.OK, sentence)


def _count_behind(services: Services, answering: Model) -> int | None:
    """Return how many changes the index has not read; None for a search without an index.

    The index belongs to the whole store, so it is None for a handle of some scopes.
    """
    index = answering.index
    if services.confinement is not None or not isinstance(index, SearchIndex):
        return None
    return index.count_behind(limit=_MOST_BEHIND)


def _check_index(services: Services, answering: Model, behind: int | None) -> Iterator[Diagnosis]:
    if services.confinement is not None:
        return
    if isinstance(answering.index, CandidateSearch):
        yield check_engine(answering.index.engine)
        return
    number = format_count(behind or 0, "changed memory", "changed memories")
    state, sentence = State.OK, f"The next search reads {number} into the index."
    if behind is None:
        sentence = "The search that was plugged in keeps no index here."
    elif not behind:
        sentence = "The index has read every change."
    elif behind >= _MOST_BEHIND:
        state = State.WARNING
        sentence = (
            f"The index lacks at least {number}, so the next search takes longer: search once."
        )
    yield Diagnosis("index", state, sentence)


def _measure_free_bytes(services: Services) -> int | None:
    folder = services.data_folder
    # The disk belongs to the whole store.
    if folder is None or services.confinement is not None:
        return None
    try:
        return measure_free_bytes(folder)
    except OSError:
        return None  # The folder of a database elsewhere need not exist here.


def _check_reads(services: Services) -> Iterator[Diagnosis]:
    if services.reads is None or services.confinement is not None:
        return
    if services.reads.failure is None:
        yield Diagnosis("audit", State.OK, "Reads are recorded.")
    else:
        sentence = f"Reads are not recorded: {services.reads.failure}; make room, or give access."
        yield Diagnosis("audit", State.WARNING, sentence)
