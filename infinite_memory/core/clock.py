"""The time, passed in so that a test can set it, time zones, and when a call must be over."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from attrs import evolve, field, frozen

from infinite_memory.core.errors import ConfigurationError, OutOfTime

Clock = Callable[[], datetime]
"""Returns the present moment as an aware datetime in UTC."""


def system_clock() -> datetime:
    """Return the present moment of the operating system's clock, in UTC."""
    return datetime.now(UTC)


def find_zone(name: str) -> tzinfo:
    """Return the time zone of an IANA name; UTC needs no database of time zones.

    Raises:
        ConfigurationError: no zone has the name, or this machine has no such database.
    """
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        if name == "UTC":
            return UTC
        if isinstance(error, ZoneInfoNotFoundError) and not available_timezones():
            raise ConfigurationError(
                "this machine has no database of time zones: run `pip install tzdata`, or use UTC"
            ) from error
        # A value in the wrong place may be an address with a password.
        raise ConfigurationError(
            "no such time zone: use an IANA name such as Europe/Berlin"
        ) from error


def _answer_no() -> bool:
    return False


@frozen(kw_only=True)
class Deadline:
    """The moment at which a call must be over, or before it, when its server stops.

    Whoever works through what a caller gave or stored looks at it between two items, leaves the
    rest, and says how much was left. A call that has changed nothing ends at its next read of the
    storage, too. `changes` has how many memories each commit of the call changed, by the number of
    its entry, so that nothing that was committed is told as unknown. `at` is in the seconds of
    `clock`, which never goes back. `is_stopping` returns whether the server stops.
    """

    at: float = math.inf
    clock: Callable[[], float] = time.monotonic
    is_stopping: Callable[[], bool] = _answer_no
    changes: dict[int, int] = field(factory=dict, eq=False)

    @property
    def is_awaited(self) -> bool:
        """Whether a client waits for the end of the call; nobody waits for a call without one."""
        return self.at < math.inf

    @property
    def seconds_left(self) -> float:
        """How long the call may still take, 0 at its end."""
        return 0.0 if self.is_stopping() else max(0.0, self.at - self.clock())

    @property
    def is_over(self) -> bool:
        """Whether the call must end now."""
        return not self.seconds_left

    def check(self) -> None:
        """End a call that has changed nothing, and whose time is over.

        A call that is under way when the server stops may still end by itself.

        Raises:
            OutOfTime: it is.
        """
        if not self.changes and self.clock() >= self.at:
            raise OutOfTime(
                "the call took too long and was ended; nothing was changed: narrow it, by a scope"
                " or a time, or give it less at once"
            )

    def shortened_to(self, seconds: float) -> Deadline:
        """Return the deadline of a part of the call that may take `seconds` at most."""
        return evolve(self, at=min(self.at, self.clock() + seconds))

    def moved_to(self, seconds: float) -> Deadline:
        """Return the deadline that is over in `seconds`."""
        return evolve(self, at=self.clock() + seconds)


_ENDLESS = Deadline()
_deadline: ContextVar[Deadline] = ContextVar("deadline", default=_ENDLESS)


def current_deadline() -> Deadline:
    """Return the deadline of the call that runs in this thread; by default it never ends."""
    return _deadline.get()


@contextmanager
def within(deadline: Deadline) -> Iterator[Deadline]:
    """Let a deadline hold for what runs in the block."""
    token = _deadline.set(deadline)
    try:
        yield deadline
    finally:
        _deadline.reset(token)
