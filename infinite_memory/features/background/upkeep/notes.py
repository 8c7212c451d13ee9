"""The notes that jobs leave for their next run."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime

from infinite_memory.core.errors import StorageError
from infinite_memory.core.protocols import SupportsLease
from infinite_memory.engine.services import Services

_log = logging.getLogger(__name__)


def read_notes(services: Services) -> dict[str, str]:
    """Return the notes of the store; none for a storage that keeps none."""
    storage = services.storage
    return storage.upkeep_notes() if isinstance(storage, SupportsLease) else {}


def write_notes(services: Services, notes: Mapping[str, str], *, quiet: bool = False) -> bool:
    """Keep notes, and return whether they are kept; if not, the next run looks at the same again.

    A failure is logged, unless `quiet`.
    """
    storage = services.storage
    if not isinstance(storage, SupportsLease):
        return True
    try:
        storage.note_upkeep(notes)
    except StorageError as error:
        if not quiet:
            _log.warning("the notes of the upkeep could not be kept: %s", error)
        return False
    return True


def last_run_note(job: str) -> str:
    """Return the name of the note that says when a job last ran."""
    return f"{job}/ran"


def last_run(notes: Mapping[str, str], job: str) -> datetime | None:
    """Return when a job last ran, None if there is no readable note."""
    return _read_moment(notes.get(last_run_note(job), ""))


def waiting_note(job: str) -> str:
    """Return the name of the note that says since when a job waits for its first quiet hour."""
    return f"{job}/waits"


def waiting_since(notes: Mapping[str, str], job: str) -> datetime | None:
    """Return since when a job waits for its first quiet hour, None without a readable note."""
    return _read_moment(notes.get(waiting_note(job), ""))


def failure_note(job: str) -> str:
    """Return the name of the note that says when and why a job was last given up, "" if it ran."""
    return f"{job}/failed"


def _read_moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if moment.tzinfo is None else moment
