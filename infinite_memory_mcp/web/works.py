"""Work that takes longer than a client waits: it goes on at the server, and says how far it is."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from attrs import define, field

from infinite_memory import NotFound, StoreClosed
from infinite_memory_mcp.http.responses import Refusal

LONG = frozenset({"import", "verify", "backups.create", "backups.verify", "backups.restore"})
"""The methods whose calls go on when their client has waited for a moment."""

_MAX_RUNNING = 2
_MAX_KEPT = 20


@define(eq=False, kw_only=True)
class Work:
    """A call of a method.

    `owner` stands for who made it, `about` is the name of the file that it reads. `changes` has how
    many memories each of its commits changed, by the number of the entry. `task` carries out long
    work; it has the answer in the end.
    """

    method: str
    owner: str
    is_stopping: Callable[[], bool]
    about: str = ""
    id: str = field(factory=lambda: secrets.token_urlsafe(12))
    changes: dict[int, int] = field(factory=dict)
    task: asyncio.Task[bytes] | None = None
    begun_at: datetime = field(factory=lambda: datetime.now(UTC))
    _progress: tuple[str, int, int | None] = ("", 0, None)

    def note(self, *progress: Any) -> None:
        """Note how far the call is: perhaps a phase, what is done, and the total.

        Raises:
            StoreClosed: the server stops.
        """
        *phase, done, total = progress
        self._progress = str(*phase), done, total
        if self.is_stopping():
            raise StoreClosed(f"the server stopped in the middle of {self.method}: do it again")

    def describe(self) -> dict[str, Any]:
        """Return what the client is told of it."""
        task, (phase, done, total) = self.task, self._progress
        is_over = task is not None and task.done()
        return {
            "id": self.id,
            "method": self.method,
            "about": self.about,
            "state": "over" if is_over else "running",
            "phase": phase,
            "done": done,
            "total": total,
            "begun_at": self.begun_at.isoformat(),
        }


@define
class Works:
    """The long work of a server that runs, and the latest that has ended; it ends with it."""

    _works: dict[str, Work] = field(factory=dict, init=False)

    @contextmanager
    def beginning(self, work: Work) -> Iterator[None]:
        """Keep long work that begins in the block.

        Raises:
            Refusal: too much runs already (429).
        """
        running = [
            each for each in self._works.values() if each.task is None or not each.task.done()
        ]
        if len(running) >= _MAX_RUNNING:
            raise Refusal(
                429, "two long pieces of work, such as an import, run already: wait for their end"
            )
        own = [each for each in self.list(work.owner) if each not in running]
        for each in own[_MAX_KEPT - 1 :]:
            del self._works[each.id]
        self._works[work.id] = work
        try:
            yield
        finally:
            if work.task is None:
                self._works.pop(work.id, None)

    def list(self, owner: str) -> list[Work]:
        """Return the work of an owner, the newest first."""
        return [each for each in reversed(self._works.values()) if each.owner == owner]

    def find(self, owner: str, work_id: str) -> Work:
        """Return work of an owner by its id.

        Raises:
            NotFound: there is none.
        """
        work = self._works.get(work_id)
        if work is None or work.owner != owner:
            raise NotFound(
                "this work is not known any more, since the server stopped meanwhile, or long ago:"
                " the activity shows what it changed. Begin it again if something is missing"
            )
        return work
