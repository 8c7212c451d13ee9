"""The damage that an open store has found: logged once, and left out of every result."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from infinite_memory.core.errors import StoreDamaged
from infinite_memory.core.values.commit import Commit
from infinite_memory.core.values.verification import Finding, RecordKind

ACCESS_KEY = "access key "
"""The prefix of the name of a damaged access key; its id follows."""

USAGE = "usage of "
"""The prefix of the name of a damaged usage record; the id of its memory follows."""

_PARTS = {
    "scope ": RecordKind.SCOPE,
    "link ": RecordKind.LINK,
    ACCESS_KEY: RecordKind.ACCESS_KEY,
    USAGE: RecordKind.USAGE,
}

LOST_KEY = "it opens nothing any more: create another key, or restore a backup"
"""What to do about a damaged access key."""

_logger = logging.getLogger("infinite_memory.storage")
_silent: ContextVar[bool] = ContextVar("silent", default=False)


class RecordDamaged(StoreDamaged):
    """A memory that was requested by its id is damaged; all sound memories can still be read."""


@contextmanager
def silence_damage_log() -> Iterator[None]:
    """Log no damage that this thread finds within the block.

    The log names damaged records, and not every reader may know of every record.
    """
    token = _silent.set(True)
    try:
        yield
    finally:
        _silent.reset(token)


def name_of(value: object) -> str:
    """Return the name in a row that may be damaged, even where it is not a text."""
    if isinstance(value, bytes):
        return str(value, errors="replace")
    return "without a name" if value is None else str(value)


def link_name(source: str, target: str, kind: str) -> str:
    """Return the name of a damaged link."""
    return f"link {source!r} {kind} {target!r}"


class DamageLog:
    """The names of damaged records, and the ids of damaged embeddings. Thread-safe."""

    def __init__(self, place: str) -> None:
        """Make an empty log; messages name the store as `place`, its path or its address."""
        self._place = place
        self._lock = threading.Lock()
        self._records: set[str] = set()
        self._embeddings: set[tuple[str, str]] = set()

    @property
    def records(self) -> frozenset[str]:
        """The names of the damaged records.

        A memory has its id as the name, a scope `scope` and its name, a link `link` with its ends,
        a usage record `usage of` and the id of its memory, and an access key `access key` and its
        id.
        """
        with self._lock:
            return frozenset(self._records)

    def embeddings(self, model: str) -> list[str]:
        """Return the ids of memories whose embedding by `model` is damaged, in order.

        A memory can be embedded again from its text.
        """
        with self._lock:
            return sorted(memory_id for memory_id, by in self._embeddings if by == model)

    def findings(self) -> tuple[Finding, ...]:
        """Return a finding for every damaged record and embedding so far, in the order of names."""
        with self._lock:
            records, embeddings = sorted(self._records), sorted(self._embeddings)
        lost = [
            Finding(
                part=RecordKind.EMBEDDING,
                id=memory_id,
                what=f"the vectors of memory {memory_id!r} by {model} are damaged",
                way_out="rebuild them from the text with infinite-memory verify --mend",
            )
            for memory_id, model in embeddings
        ]
        return (*map(_make_finding, records), *lost)

    def skip_record(self, name: str) -> None:
        """Note a damaged record, which results leave out."""
        with self._lock:
            known = name in self._records
            self._records.add(name)
        if not known:
            self._warn_of(name, "is damaged: it is left out of every result")

    def skip_embedding(self, memory_id: str, model: str) -> None:
        """Note a damaged embedding, so that its memory counts as not embedded by `model`."""
        with self._lock:
            known = (memory_id, model) in self._embeddings
            self._embeddings.add((memory_id, model))
        if not known:
            self._warn_of(
                memory_id, f"has a damaged embedding by {model}: it will be embedded again"
            )

    def refuse_record(self, name: str) -> RecordDamaged:
        """Note a damaged memory that was requested by id, and return the error to raise."""
        self.skip_record(name)
        return RecordDamaged(
            f"memory {name!r} in {self._place} is damaged, so it is not returned; "
            "everything else still works. Restore it from a backup, or forget it for good"
        )

    def clear(self) -> None:
        """Drop every note, since the whole content of the store was replaced."""
        with self._lock:
            self._records.clear()
            self._embeddings.clear()

    def note_commit(self, commit: Commit) -> None:
        """Drop the notes about erased memories and about embeddings that `commit` replaces."""
        with self._lock:
            if not self._records and not self._embeddings:
                return
            for erase in commit.erases:
                self._records -= {erase.id, USAGE + erase.id}
                self._renew_sums(erase.id, None)
            for put in commit.puts:
                self._renew_sums(put.memory.id, None)
            for attach in commit.attaches:
                self._renew_sums(attach.id, attach.embedding.model)
            for key in [*commit.erased_links, *(link.key for link in commit.links)]:
                self._records.discard(link_name(*key))
            for access_key in commit.access_keys:
                self._records.discard(ACCESS_KEY + access_key.id)

    def discard_record(self, name: str) -> None:
        """Drop the note about a scope, link or usage record that was rewritten or removed."""
        with self._lock:
            self._records.discard(name)

    def _renew_sums(self, memory_id: str, model: str | None) -> None:
        if self._embeddings:
            self._embeddings = {
                embedding
                for embedding in self._embeddings
                if embedding[0] != memory_id or model not in (None, embedding[1])
            }

    def _warn_of(self, name: str, finding: str) -> None:
        if _silent.get():
            return
        _logger.warning("%s: the record %r %s", self._place, name, finding)


def _make_finding(name: str) -> Finding:
    part = next((p for prefix, p in _PARTS.items() if name.startswith(prefix)), RecordKind.MEMORY)
    what = f"memory {name!r}" if part is RecordKind.MEMORY else f"the {name}"
    way_out = "restore it from a backup, or forget it for good"
    if part is RecordKind.ACCESS_KEY:
        way_out = LOST_KEY
    return Finding(
        part=part,
        id=_find_subject(name, part),
        what=f"{what} is damaged",
        way_out=way_out,
    )


def _find_subject(name: str, part: RecordKind) -> str | None:
    if part is RecordKind.LINK:
        return None
    prefix = next((prefix for prefix, p in _PARTS.items() if p is part), "")
    return name.removeprefix(prefix)
