"""How much scopes keep: counted once, and then followed by the feed of changes."""

from __future__ import annotations

import json
import threading
from typing import Any

from attrs import field, frozen

from infinite_memory.core.errors import QuotaExceeded
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.access.key import CALLS, Kept
from infinite_memory.core.values.commit import Commit
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import Memory, get_count, is_content
from infinite_memory.core.values.scope import ScopeTable, fold_name, names_spelled

# A stored file may have megabytes.
_PAGE = 32
_MAX_SCOPES = 1000
_MOST_HEAD = 200
_NAMES = frozenset({"indexed", "content", "media_type", "bytes", "sha256"})


class Ledger:
    """What each of the scopes keeps that were asked for last; any thread may ask.

    The first question about a scope reads its memories, later ones what changed since, once for
    all scopes.
    """

    def __init__(self, storage: Storage) -> None:
        """Count what is in `storage`."""
        self._storage = storage
        self._lock = threading.Lock()
        self._cursor = -1
        self._sizes: dict[str, dict[str, Kept]] = {}
        self._totals: dict[str, Kept] = {}
        self._scope_of: dict[str, str] = {}

    def read(self, scope: str) -> Kept:
        """Return what a scope keeps now."""
        with self._lock:
            return self._read(fold_name(scope))

    def add(self, scope: str, commit: Commit) -> tuple[Kept, Kept]:
        """Return what a scope keeps, and what it will keep after a commit."""
        folded = fold_name(scope)
        with self._lock:
            before = after = self._read(folded)
            sizes = self._sizes[folded]
            gone = {erase.id for erase in commit.erases}
            new = {put.memory.id: put.memory for put in commit.puts}
            for memory_id in gone | new.keys():
                after = after.plus(sizes.get(memory_id, Kept()), -1)
            for memory in new.values():
                if fold_name(memory.scope) == folded:
                    after = after.plus(_measure(memory))
            return before, after

    def _read(self, folded: str) -> Kept:
        self._follow()
        if folded not in self._totals:
            self._count(folded)
        # The scope that was asked for the longest ago is the first.
        self._totals[folded] = self._totals.pop(folded)
        if len(self._totals) > _MAX_SCOPES:
            self._drop(next(iter(self._totals)))
        return self._totals[folded]

    def _follow(self) -> None:
        if not self._totals:
            self._cursor = self._storage.position()
        while self._cursor != self._storage.position():
            changes = self._storage.changes(self._cursor, limit=_PAGE, models=())
            for change in changes.items:
                self._set(change.id, None if change.record is None else change.record.memory)
            if changes.cursor == self._cursor:
                return
            self._cursor = changes.cursor

    def _count(self, folded: str) -> None:
        self._totals[folded], self._sizes[folded] = Kept(), {}
        try:
            self._count_memories(folded)
        except BaseException:
            # Half of a count would be taken for the whole by every later question.
            self._drop(folded)
            raise

    def _drop(self, folded: str) -> None:
        del self._totals[folded]
        for memory_id in self._sizes.pop(folded):
            del self._scope_of[memory_id]

    def _count_memories(self, folded: str) -> None:
        spelled = names_spelled(folded, ScopeTable.of(self._storage.scopes()))
        criteria, after = Criteria(scopes=frozenset(spelled)), None
        while spelled:
            page = self._storage.find(criteria, limit=_PAGE, after=after)
            for memory in page.memories:
                self._set(memory.id, memory)
            after = page.next
            if after is None:
                return

    def _set(self, memory_id: str, memory: Memory | None) -> None:
        """Take the place of a memory, if the scope that it was in or is in is counted."""
        former = self._scope_of.pop(memory_id, None)
        if former is not None:
            size = self._sizes[former].pop(memory_id)
            self._totals[former] = self._totals[former].plus(size, -1)
        folded = None if memory is None else fold_name(memory.scope)
        if memory is not None and folded in self._totals:
            size = self._sizes[folded][memory_id] = _measure(memory)
            self._totals[folded] = self._totals[folded].plus(size)
            self._scope_of[memory_id] = folded


@frozen(kw_only=True)
class QuotaCheck:
    """Refuses what would exceed the quota of a key, which is read anew for every commit.

    `storage` is the whole store, whose keys are there. `lock` is held from the check to the end of
    the commit, so that no two commits of a handle pass together.
    """

    storage: Storage
    ledger: Ledger
    key: str
    scope: str
    lock: threading.Lock = field(factory=threading.Lock)

    def check(self, commit: Commit) -> None:
        """Refuse a commit that adds more than the key may keep.

        Raises:
            QuotaExceeded: it does; what makes less of what is kept passes.
        """
        key = self.storage.access_keys([self.key]).get(self.key)
        if key is None or not key.quota.limits_what_is_kept:
            return
        before, after = self.ledger.add(self.scope, commit)
        for name, limit in key.quota.given().items():
            if name == CALLS:
                continue
            noun = name.removeprefix("max_")
            kept, wanted = getattr(before, noun), getattr(after, noun)
            if wanted > limit and wanted > kept:
                raise QuotaExceeded.of(key.name, noun, limit=limit, kept=kept, more=wanted - kept)


def _measure(memory: Memory) -> Kept:
    if (size := _measure_file(memory)) is not None:
        return Kept(attachment_bytes=size)
    context = json.dumps(dict(memory.context), ensure_ascii=False) if memory.context else ""
    texts = (memory.text, memory.title or "", context)
    return Kept(memories=1, bytes=sum(len(text.encode()) for text in texts))


def _measure_file(memory: Memory) -> int | None:
    """Return the size of a stored file, None for what only says that it is one, as anybody may."""
    if not is_content(memory):
        return None
    stored: Any = memory.context["content"]
    size = get_count(stored, "bytes") or 0
    head, _, data = memory.text.partition(";base64,")
    is_sound = head.startswith("data:") and len(head) <= _MOST_HEAD
    is_sound = is_sound and len(data) == 4 * ((size + 2) // 3)
    names = {*memory.context, *stored}
    return size if is_sound and names <= _NAMES and len(str(stored)) <= _MOST_HEAD * 2 else None
