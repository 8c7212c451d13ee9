"""What the server acknowledged, and whether the store holds exactly that at the end."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from infinite_memory import MemoryStore
from infinite_memory.core.values.memory import Status
from infinite_memory.search.text.quotation import disarm_tags

_CURSORS = 20


class Ledger:
    """The texts that must be stored, by id, and what later calls may use of earlier answers."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._erased: set[str] = set()
        self._usable: list[str] = []
        self._cursors: deque[str] = deque(maxlen=_CURSORS)
        self._busy: set[str] = set()
        self._unsure: set[str] = set()
        self._unacknowledged = 0

    @property
    def ids(self) -> Sequence[str]:
        """The ids of memories that exist and that no call in flight may change."""
        return self._usable

    @property
    def cursors(self) -> Sequence[str]:
        """The latest cursors."""
        return self._cursors

    def is_busy(self, memory_id: str) -> bool:
        """Tell whether a call in flight may change that memory."""
        return memory_id in self._busy

    def begin(self, memory_id: str) -> None:
        """Note that a call that may change that memory is in flight."""
        self._busy.add(memory_id)
        if memory_id in self._texts:
            self._usable.remove(memory_id)

    def finish(self, memory_id: str) -> None:
        """Note that the call was answered."""
        self._busy.discard(memory_id)
        if memory_id in self._texts:
            self._usable.append(memory_id)

    def lose(self, tool: object, memory_id: str | None) -> None:
        """Note that a call that may have changed something was never answered."""
        if memory_id is not None:
            self._unsure.add(memory_id)
            self.finish(memory_id)
        elif tool == "store_memory":
            self._unacknowledged += 1

    def acknowledge(self, given: dict[str, Any], data: dict[str, Any]) -> str | None:
        """Note what an answer says was done; return what is wrong with that, if anything."""
        if "cursor" in data:
            self._cursors.append(data["cursor"])
        outcome, memory_id = data.get("outcome"), data.get("id")
        if memory_id is None or outcome is None:
            return None
        if outcome == "stored":
            if memory_id in self._texts:
                return f"{memory_id!r:.100} was stored, and had been before"
            self._texts[memory_id] = given["text"]
            if memory_id not in self._busy:
                self._usable.append(memory_id)
            return None
        if memory_id in self._erased and outcome == "unchanged":
            return None
        if memory_id not in self._texts and memory_id not in self._unsure:
            return f"{memory_id!r:.100} was {outcome}, and was never stored"
        if outcome == "erased":
            self._texts.pop(memory_id, None)
            self._erased.add(memory_id)
        elif outcome == "revised" and given.get("text") is not None:
            self._texts[memory_id] = given["text"]
        return None

    def check_hit(self, hit: dict[str, Any]) -> str | None:
        """Return what is wrong with a memory that was found while no call was changing any."""
        memory_id = hit["id"]
        if memory_id in self._unsure or self._unacknowledged:
            return None
        if memory_id not in self._texts:
            return f"{memory_id!r:.100} was found, and is not stored"
        if not _shows(hit, self._texts[memory_id]):
            return f"{memory_id!r:.100} was found with another text, {hit['text']!r:.100}"
        return None

    def differences(self, home: Path) -> Iterator[str]:
        """Yield how the store in `home` differs from what was acknowledged, and its damages."""
        with MemoryStore.open(home) as store:
            found = dict(_everything(store))
            yield from (str(finding) for finding in store.verify().findings)
        for memory_id, text in self._texts.items():
            if memory_id in self._unsure:
                continue
            if memory_id not in found:
                yield f"{memory_id!r:.100} was acknowledged and is not stored"
            elif found[memory_id] != text:
                yield (
                    f"{memory_id!r:.100} has the text {found[memory_id]!r:.100},"
                    f" and {text!r:.100} was acknowledged"
                )
        strangers = found.keys() - self._texts.keys() - self._unsure
        if len(strangers) > self._unacknowledged:
            some = sorted(strangers)[:3]
            yield f"{len(strangers)} are stored and were never acknowledged: {some}"


def _shows(hit: dict[str, Any], stored: str) -> bool:
    """Tell whether a hit has the stored text, the tags disarmed, or the part that it names."""
    stored = disarm_tags(stored)
    if not hit.get("cut") or "length" not in hit:
        return bool(hit["text"] == stored)
    if hit["length"] != len(stored):
        return False
    if "start" in hit:
        return hit["text"].strip("…") in stored
    return " ".join(hit["text"].strip("…").split()) in " ".join(stored.split())


def _everything(store: MemoryStore) -> Iterator[tuple[str, str]]:
    cursor = None
    while True:
        page = store.browse(scope="ALL", statuses=list(Status), limit=1000, after=cursor)
        yield from ((memory.id, memory.text) for memory in page.memories)
        cursor = page.next
        if cursor is None:
            return
