"""Checks of an open store that `doctor` and `MemoryStore.health` share."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from infinite_memory.core.errors import StorageUnavailable
from infinite_memory.core.protocols import Storage, SupportsDamage
from infinite_memory.core.protocols.candidates import CandidateEngine
from infinite_memory.core.values.memory import Status
from infinite_memory.core.values.messages import format_count, format_size
from infinite_memory.core.values.record import Size
from infinite_memory.core.values.verification import Diagnosis, State
from infinite_memory.search.candidates.search import MOST_INSTEAD

_SCARCE_BYTES, _TOO_FEW_BYTES = 200_000_000, 10_000_000
_MOST_PENDING = 100_000


def measure_free_bytes(folder: Path) -> int:
    """Return how many bytes are free on the disk of `folder`.

    Raises:
        OSError: the folder does not exist.
    """
    return shutil.disk_usage(folder).free


def check_space(free_bytes: int) -> Diagnosis:
    """Return whether enough bytes are free."""
    free = format_size(free_bytes)
    if free_bytes < _TOO_FEW_BYTES:
        return Diagnosis("disk", State.PROBLEM, f"Only {free} are free: make room.")
    if free_bytes < _SCARCE_BYTES:
        return Diagnosis("disk", State.WARNING, f"{free} are free, which is little: make room.")
    return Diagnosis("disk", State.OK, f"{free} are free.")


def count_memories(size: Size) -> int:
    """Return the number of memories that are not forgotten."""
    return sum(
        number for (_, _, status), number in size.memories.items() if status != Status.FORGOTTEN
    )


def check_damage(storage: Storage) -> Diagnosis:
    """Return whether the calls so far met a damaged record; `verify` looks at every record."""
    findings = storage.damage() if isinstance(storage, SupportsDamage) else ()
    if findings:
        number = format_count(len(findings), "record is", "records are")
        example = min(" ".join(filter(None, (finding.part, finding.id))) for finding in findings)
        return Diagnosis(
            "damage",
            State.PROBLEM,
            f"{number} damaged, such as {example!r}: run infinite-memory verify.",
        )
    return Diagnosis(
        "damage",
        State.OK,
        "These checks met no damaged record; infinite-memory verify looks at every record.",
    )


def check_engine(engine: CandidateEngine[Any, Any]) -> Diagnosis:
    """Return whether the search engine answers."""
    try:
        engine.position()
    except StorageUnavailable as error:
        return Diagnosis(
            "search engine",
            State.WARNING,
            f"{error}: the built-in index answers, if there are at most {MOST_INSTEAD:,} memories.",
        )
    return Diagnosis("search engine", State.OK, "The search engine answers.")


def count_pending(storage: Storage, model: str) -> int:
    """Return how many memories have no embedding by `model`, at most 100,000."""
    return len(storage.pending(model, limit=_MOST_PENDING))


def check_pending(
    pending: int,
    model: str,
    size: Size,
    answers: Callable[[], tuple[str, str | None]],
) -> Diagnosis:
    """Return whether memories are pending, and whether vectors by former models are left.

    `pending` is the result of `count_pending`. `answers` is called if memories are pending. It
    returns the model that answers, and why the active model cannot.
    """
    if not pending:
        sentence = "Every memory can be found by meaning."
        other_models = sorted(name for name in size.embedded if name != model)
        if other_models:
            sentence += (
                f" There are vectors by {', '.join(other_models)} as well, which"
                " infinite-memory embed --drop-others removes."
            )
        return Diagnosis("embeddings", State.OK, sentence)
    answering, failure = answers()
    if answering != model:
        return Diagnosis(
            "embeddings",
            State.WARNING,
            f"A change of the model is under way: {size.embedded.get(model, 0):,} of"
            f" {count_memories(size):,} memories are embedded by {model}, and {answering} answers"
            " meanwhile: run infinite-memory embed.",
        )
    number = format_count(pending, "memory is", "memories are")
    if pending == _MOST_PENDING:
        number = f"At least {number}"
    return Diagnosis(
        "embeddings",
        State.WARNING,
        f"{number} found by words alone: run infinite-memory embed."
        + (f" {failure}" if failure else ""),
    )
