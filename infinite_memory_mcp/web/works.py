"""Work that takes longer than a client waits: it goes on at the server, and says how far it is."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
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
    many memories each of its commits changed, by the number of the entry. `outcome` is the answer
    or the error; None while it runs. `when_over` is called in the loop of the server after its end.
    """

    method: str
    owner: str
    is_stopping: Callable[[], bool] = bool
    about: str = ""
    id: str = field(factory=lambda: secrets.token_urlsafe(12))
    changes: dict[int, int] = field(factory=dict)
    outcome: bytes | Exception | None = None
    has_begun: bool = False
    when_over: Callable[[], None] | None = None
    _begun_at: datetime = field(factory=lambda: datetime.now(UTC))
    _progress: tuple[str, int, int | None] = ("", 0, None)

    @property
    def is_running(self) -> bool:
        """Whether it has begun and not ended."""
        return self.has_begun and self.outcome is None

    def result(self) -> bytes | Work:
        """Return the answer, or this work if it goes on.

        Raises:
            Exception: the error that the call ended with.
        """
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self if self.outcome is None else self.outcome

    def note(self, *progress: Any) -> None:
        """Note how far the call is: perhaps a phase, what is done, and the total.

        Raises:
            StoreClosed: the server stops.
        """
        *phase, done, total = progress
        self._progress = str(*phase), done, total
        if self.is_stopping():
            raise StoreClosed(f"the server stopped in the middle of {self.method}: do it again")

    def run(self, call: Callable[[], bytes], loop: asyncio.AbstractEventLoop) -> bytes:
        """Make the call in this thread, and keep its outcome."""
        self.has_begun = True
        try:
            self.outcome = call()
        except Exception as error:
            self.outcome = error
            raise
        finally:
            # The loop may have ended meanwhile.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._end)
        return self.outcome

    def _end(self) -> None:
        if self.when_over is not None:
            self.when_over()

    def describe(self) -> dict[str, Any]:
        """Return what the client is told of it."""
        phase, done, total = self._progress
        is_failure = isinstance(self.outcome, Exception)
        return {
            "id": self.id,
            "method": self.method,
            "about": self.about,
            "state": "running" if self.outcome is None else "failed" if is_failure else "done",
            "phase": phase,
            "done": done,
            "total": total,
            "begun_at": self._begun_at.isoformat(),
        }


@define
class Works:
    """The work of a server that runs, and the latest that has ended; it ends with the server."""

    _works: dict[str, Work] = field(factory=dict, init=False)

    @contextmanager
    def beginning(self, work: Work) -> Iterator[None]:
        """Keep work that begins in the block, unless it could not begin.

        Raises:
            Refusal: too much runs already (429).
        """
        if sum(each.outcome is None for each in self._works.values()) >= _MAX_RUNNING:
            raise Refusal(
                429, "two long pieces of work, such as an import, run already: wait for their end"
            )
        self._works[work.id] = work
        for each in list(self._works.values())[:-_MAX_KEPT]:
            if each.outcome is not None:
                del self._works[each.id]
        try:
            yield
        except BaseException:
            if not work.has_begun:
                del self._works[work.id]
            raise

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
