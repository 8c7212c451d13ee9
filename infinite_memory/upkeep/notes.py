"""The notes that jobs leave for their next run."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime

from infinite_memory.errors import StorageError
from infinite_memory.operations.services import Services
from infinite_memory.protocols import SupportsLease

__all__ = ["last_run", "last_run_note", "read_notes", "write_notes"]

_log = logging.getLogger(__name__)


def read_notes(services: Services) -> dict[str, str]:
    """Return the notes of the store; none for a storage that keeps none."""
    storage = services.storage
    return storage.upkeep_notes() if isinstance(storage, SupportsLease) else {}


def write_notes(services: Services, notes: Mapping[str, str]) -> None:
    """Keep notes; if that fails, the next run looks at the same again."""
    storage = services.storage
    if not isinstance(storage, SupportsLease):
        return
    try:
        storage.note_upkeep(notes)
    except StorageError as error:
        _log.warning("the notes of the upkeep could not be kept: %s", error)


def last_run_note(job: str) -> str:
    """Return the name of the note that says when a job last ran."""
    return f"{job}/ran"


def last_run(notes: Mapping[str, str], job: str) -> datetime | None:
    """Return when a job last ran, None if there is no readable note."""
    try:
        return datetime.fromisoformat(notes[last_run_note(job)])
    except (KeyError, ValueError):
        return None
