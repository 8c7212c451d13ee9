"""Who does the upkeep of a store, and when its jobs last ran."""

from __future__ import annotations

from collections.abc import Mapping

from infinite_memory.core.errors import StorageError
from infinite_memory.core.protocols import SupportsLease
from infinite_memory.core.values.timestamps import show_moment
from infinite_memory.core.values.verification import Diagnosis, State
from infinite_memory.engine.services import Services
from infinite_memory.features.background.upkeep.notes import failure_note, last_run, read_notes
from infinite_memory.features.background.worker.optimize import available_jobs


def check_upkeep(services: Services) -> tuple[str | None, list[Diagnosis]]:
    """Return who holds the lease of the worker, None if nobody does, and a finding about it.

    A handle of some scopes, or for reading alone, learns neither.
    """
    storage = services.storage
    if not isinstance(storage, SupportsLease):
        return None, []
    try:
        holder = storage.lease_holder()
        notes = read_notes(services)
    except StorageError as error:
        return None, [Diagnosis("upkeep", State.WARNING, f"{error}.")]
    sentence = (
        "No process does the upkeep now: a server does it in the background, and infinite-memory"
        " worker does it without one."
        if holder is None
        else f"The upkeep is done by {holder}."
    )
    sentence = f"{sentence} {_describe_runs(services, notes)}"
    given_up = [
        Diagnosis(f"job {job.name}", State.WARNING, f"It was given up at {failed}.")
        for job in available_jobs(services)
        if (failed := notes.get(failure_note(job.name)))
    ]
    return holder, [Diagnosis("upkeep", State.OK, sentence), *given_up]


def _describe_runs(services: Services, notes: Mapping[str, str]) -> str:
    zone = services.config.time_zone
    runs = []
    for job in available_jobs(services):
        ran = last_run(notes, job.name)
        runs.append(f"{job.name} {'never' if ran is None else show_moment(ran, zone)}")
    return f"Last runs: {', '.join(runs)}."
