"""What one open store has found damaged: remembered, said once, and never returned."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from infinite_memory.errors import StoreDamaged
from infinite_memory.model.commit import Commit
from infinite_memory.model.findings import Finding, RecordKind

__all__ = ["USAGE", "DamageLog", "RecordDamaged", "link_name", "name_of", "unlogged"]

USAGE = "usage of "
"""Begins the name of a damaged record that says how often a memory was used."""

_PARTS = {"scope ": RecordKind.SCOPE, "link ": RecordKind.LINK, USAGE: RecordKind.USAGE}

_logger = logging.getLogger("infinite_memory.storage")
_silent: ContextVar[bool] = ContextVar("silent", default=False)


class RecordDamaged(StoreDamaged):
    """One memory that was asked for by its id is damaged; the others can still be read."""


@contextmanager
def unlogged() -> Iterator[None]:
    """Keep the damage that is met meanwhile, in this thread, out of the log.

    The log names damaged records, and not everybody who reads may know of every record.
    """
    token = _silent.set(True)
    try:
        yield
    finally:
        _silent.reset(token)


def name_of(value: object) -> str:
    """Return the name in a row that may be damaged, where it can even be of another type."""
    if isinstance(value, bytes):
        return str(value, errors="replace")
    return "without a name" if value is None else str(value)


def link_name(source: str, target: str, kind: str) -> str:
    """Return the name of a damaged link."""
    return f"link {source!r} {kind} {target!r}"


class DamageLog:
    """Ids of damaged memories, and of sound ones with a damaged embedding. Thread-safe."""

    def __init__(self, place: str) -> None:
        """Speak of the store as `place`, its path or its address."""
        self._place = place
        self._lock = threading.Lock()
        self._records: set[str] = set()
        self._embeddings: set[tuple[str, str]] = set()

    @property
    def records(self) -> frozenset[str]:
        """Names of the damaged records, each the id of its memory, or `scope` and its name.

        Likewise `link` with its ends, and `usage of` with the id.
        """
        with self._lock:
            return frozenset(self._records)

    def embeddings(self, model: str) -> list[str]:
        """Return the ids of memories that lost their embedding by `model`, in order.

        They can be embedded again from their text.
        """
        with self._lock:
            return sorted(memory_id for memory_id, by in self._embeddings if by == model)

    def findings(self) -> tuple[Finding, ...]:
        """Return what was found so far, in the order of the names."""
        with self._lock:
            records, embeddings = sorted(self._records), sorted(self._embeddings)
        lost = [
            Finding(
                part=RecordKind.EMBEDDING,
                id=memory_id,
                what=f"the vectors of memory {memory_id!r} by {model} are not as they were written",
                way_out="they are made anew from its text: infinite-memory verify --mend",
            )
            for memory_id, model in embeddings
        ]
        return (*map(_finding, records), *lost)

    def skip_record(self, name: str) -> None:
        """Remember a damaged record that the others are returned without."""
        with self._lock:
            known = name in self._records
            self._records.add(name)
        if not known:
            self._say(name, "was not written like this: it is left out of every result")

    def skip_embedding(self, memory_id: str, model: str) -> None:
        """Remember a damaged embedding, whose memory counts as one that has none by `model`."""
        with self._lock:
            known = (memory_id, model) in self._embeddings
            self._embeddings.add((memory_id, model))
        if not known:
            self._say(memory_id, f"has a damaged embedding by {model}: it will be embedded anew")

    def refuse_record(self, name: str) -> RecordDamaged:
        """Remember a damaged record that was asked for by name, and return the error to raise."""
        self.skip_record(name)
        return RecordDamaged(
            f"memory {name!r} in {self._place} is not as it was written, so it is not returned; "
            "everything else still works. Restore it from a backup, or forget it for good"
        )

    def note_commit(self, commit: Commit) -> None:
        """Forget what was noted of memories that are erased, and of embeddings made anew."""
        with self._lock:
            if not self._records and not self._embeddings:
                return
            for erase in commit.erases:
                self._records -= {erase.id, USAGE + erase.id}
                self._renew(erase.id, None)
            for put in commit.puts:
                self._renew(put.memory.id, None)
            for attach in commit.attaches:
                self._renew(attach.id, attach.embedding.model)
            for key in [*commit.erased_links, *(link.key for link in commit.links)]:
                self._records.discard(link_name(*key))

    def replaced(self, name: str) -> None:
        """Forget what was noted of a record, not a memory, that was written anew or removed."""
        with self._lock:
            self._records.discard(name)

    def _renew(self, memory_id: str, model: str | None) -> None:
        if self._embeddings:
            self._embeddings = {
                noted
                for noted in self._embeddings
                if noted[0] != memory_id or model not in (None, noted[1])
            }

    def _say(self, name: str, finding: str) -> None:
        if _silent.get():
            return
        _logger.warning("%s: the record %r %s", self._place, name, finding)


def _finding(name: str) -> Finding:
    part = next((p for prefix, p in _PARTS.items() if name.startswith(prefix)), RecordKind.MEMORY)
    what = f"memory {name!r}" if part is RecordKind.MEMORY else f"the {name}"
    return Finding(
        part=part,
        id=_subject(name, part),
        what=f"{what} is not as it was written",
        way_out="restore it from a backup, or forget it for good",
    )


def _subject(name: str, part: RecordKind) -> str | None:
    if part is RecordKind.LINK:
        return None
    prefix = next((prefix for prefix, p in _PARTS.items() if p is part), "")
    return name.removeprefix(prefix)
