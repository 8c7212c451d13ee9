"""The evaluator of conditions in JavaScript."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import sys
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from difflib import get_close_matches
from importlib.util import find_spec
from weakref import WeakSet

from attrs import define, field, frozen

from infinite_memory.core.clock import Deadline, current_deadline
from infinite_memory.core.errors import ConfigurationError, InvalidInput, OutOfTime, requiring
from infinite_memory.core.values.conversation.message import ChatMessage
from infinite_memory.core.values.conversation.trigger import Occasion, Verdict
from infinite_memory.core.values.memory import JsonValue
from infinite_memory.core.values.timestamps import in_zone
from infinite_memory.features.reminders.triggers.javascript.worker import (
    Worker,
    WorkerEnded,
    WorkerLate,
)
from infinite_memory.features.reminders.triggers.messages import choose_messages

CLOSED = "the store is closed"
NO_START = (
    "the process for conditions in JavaScript does not start: run `python -m pip check` to see"
    " whether the installation is complete"
)
_PATIENCE_SECONDS = 0.05
"""How long a call waits for the process of another before it starts its own."""
_MOST_IDLE = 4
_log = logging.getLogger(__name__)

_SECONDS = 0.5
_LEAST_SECONDS = 0.25
"""A condition that ran for less when the time of a call was over was not late."""
_ATTEMPTS = 2
_MOST_CHARS = 20_000
_MISSING = re.compile(r"ReferenceError: (\S+) is not defined")
_KNOWN = (
    *("match_keys", "match_keys_all", "context", "Date", "Math", "RegExp", "JSON", "String"),
    *("Number", "Boolean", "Array", "Object", "Set", "Map", "parseInt", "parseFloat"),
)
_ALWAYS = {
    "function": "it is a function, which would always hold: write the expression itself, such as"
    " match_keys(context.messages, ['birthday'], 'any'), without => or function",
    "promise": "it is a promise, which would always hold: write an expression without async",
    "other": "it answers neither true nor false, nor a count: compare the value, as in"
    " text.indexOf('party') >= 0, or write !! before it",
}
_TOO_LATE = "it took longer than half a second"
_ENDED = "it ended its process"
_ALARM = -int(getattr(signal, "SIGALRM", 0))
"""The exit code of a process that the system ended at its alarm."""
_SAMPLE = (ChatMessage(role="user", content="a message to try the condition on"),)


_STRIKES = 3
_REST_SECONDS = 3600.0
_MOST_CONDITIONS = 10_000


@define(eq=False)
class LateConditions:
    """Counts how often in a row a condition took too long, in this process. It is not thread-safe.

    After three times it rests for an hour; then it is tried again, and rests again at once if it
    still takes too long.
    """

    _clock: Callable[[], float]
    _strikes: OrderedDict[str, int] = field(factory=OrderedDict, init=False)
    _rests_until: dict[str, float] = field(factory=dict, init=False)

    def note(self, source: str, *, is_late: bool) -> None:
        """Note how a condition did."""
        if not is_late:
            self._strikes.pop(source, None)
            return
        strikes = self._strikes.get(source, 0) + 1
        self._strikes[source] = strikes
        self._strikes.move_to_end(source)
        if strikes >= _STRIKES:
            self._rests_until[source] = self._clock() + _REST_SECONDS
        if len(self._strikes) > _MOST_CONDITIONS:
            oldest, _ = self._strikes.popitem(last=False)
            self._rests_until.pop(oldest, None)

    def minutes_left(self, source: str) -> float | None:
        """Return for how many minutes a condition rests, None if it does not."""
        until = self._rests_until.get(source)
        if until is None:
            return None
        left = until - self._clock()
        if left > 0:
            return left / 60
        del self._rests_until[source]
        return None


@frozen(kw_only=True)
class Prepared:
    """A condition that was tried."""

    source: str


class JavaScriptEvaluator:
    """Checks expressions in JavaScript; see `TriggerEvaluator`.

    They run in a child process, which is started at the first condition, has 32 MB for a condition,
    and is ended if a condition takes longer than half a second; a new process goes on with the
    rest. Calls that run at the same time have a process each, so that none waits for another.
    Every condition has a fresh context, in which no earlier condition left a trace. It sees
    `context`, `match_keys` and `match_keys_all`, and no files, network, processes or environment.
    `Date` is at the moment of the occasion in its time zone, and `Math.random` is the same for the
    same condition and moment.
    """

    def __init__(
        self, *, zone: str | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Start nothing yet.

        `zone` is the time zone of most occasions, None for that of the machine: the process need
        not be replaced for them. `clock` returns seconds, and measures how long a condition rests.
        """
        self._zone = zone
        self._late = LateConditions(clock)
        self._workers = Workers()
        _evaluators.add(self)

    def prepare(self, condition: JsonValue) -> object:
        """Try a condition on a message, and return it.

        Whatever it says about that message, it must be an expression, know every name that it uses
        on the way, and end in time.

        Raises:
            InvalidInput: it cannot be used; the message shows the place and the way out.
            ConfigurationError: the extra `triggers` is not installed, or no process can be started.
            OutOfTime: the call was over before the condition had its time.
        """
        if not isinstance(condition, str) or not condition.strip():
            raise InvalidInput(f"the condition {condition!r:.100} is no text in JavaScript")
        if len(condition) > _MOST_CHARS:
            raise InvalidInput(
                f"the condition has {len(condition):,} characters and the limit is {_MOST_CHARS:,}:"
                " shorten it"
            )
        _check_installed()
        now = in_zone(datetime.now(UTC), self._zone)
        sample = Occasion(now=now, messages=_SAMPLE, participants={})
        # The zone makes no difference here, and the process need not be replaced.
        verdicts = list(self._judge_conditions([condition], sample, in_any_zone=True))
        if not verdicts:
            raise OutOfTime(
                f"the condition {condition!r:.200} was not tried, since the time of the call was"
                " over: try again"
            )
        problem = _find_problem(verdicts[0])
        if verdicts[0].is_timeout or problem is not None:
            raise InvalidInput(f"the condition {condition!r:.200} cannot be used: {problem}")
        return Prepared(source=condition)

    def evaluate(self, prepared: Mapping[str, object], occasion: Occasion) -> dict[str, Verdict]:
        """Return the verdict on every condition; see `TriggerEvaluator`.

        A condition that took too long three times in a row rests for an hour in this process, and
        does not hold meanwhile. Without conditions, only the child process is started.
        """
        if not prepared:
            with suppress(ConfigurationError):
                self._workers.give_back(self._workers.take(occasion.now))
            return {}
        verdicts: dict[str, Verdict] = {}
        awake: dict[str, str] = {}
        for name, condition in prepared.items():
            if not isinstance(condition, Prepared):
                verdicts[name] = _make_failure("it was not prepared by this evaluator")
            elif (minutes := self._late.minutes_left(condition.source)) is not None:
                verdicts[name] = _make_failure(
                    f"it rests for {minutes:.0f} minutes, since it took longer than half a second"
                    " three times in a row"
                )
            else:
                awake[name] = condition.source
        judged: list[Verdict] = []
        try:
            judged.extend(self._judge_conditions(list(awake.values()), occasion))
        except ConfigurationError as error:
            judged += [_make_failure(str(error))] * (len(awake) - len(judged))
        # Those without a verdict were not checked, because the time of the call was over.
        for (name, source), verdict in zip(awake.items(), judged, strict=False):
            self._late.note(source, is_late=verdict.is_timeout)
            verdicts[name] = verdict
            if verdict.error is not None:
                _log.debug("the condition %r failed: %s", source, verdict.error)
        _log_failures(verdicts)
        return {name: verdicts[name] for name in prepared if name in verdicts}

    def close(self) -> None:
        """End the processes; what they are checking does not hold. Never waits for them."""
        self._workers.close()
        _evaluators.discard(self)

    def _judge_conditions(
        self, sources: Sequence[str], occasion: Occasion, *, in_any_zone: bool = False
    ) -> Iterator[Verdict]:
        """Yield the verdicts in order, until the time is over; a process that fails is replaced.

        Raises:
            ConfigurationError: no process can be started.
        """
        deadline: Deadline | None = None
        seconds = current_deadline().seconds_left
        context = _write_context(occasion)
        remaining = list(sources)
        while remaining and seconds and not (deadline and deadline.is_over):
            worker = self._ask_worker(remaining, context, occasion.now, in_any_zone=in_any_zone)
            # The time that the process takes to start is no fault of the conditions.
            deadline = deadline or current_deadline().moved_to(seconds)
            for verdict in self._receive_verdicts(worker, len(remaining), deadline):
                remaining.pop(0)
                yield verdict
        if remaining:
            self._workers.start_ahead(occasion.now)

    def _ask_worker(
        self, sources: Sequence[str], context: str, now: datetime, *, in_any_zone: bool
    ) -> Worker:
        """Return a process that was asked for the verdicts of conditions.

        Raises:
            ConfigurationError: there is none, and none can be started.
        """
        for _ in range(_ATTEMPTS):
            worker = self._workers.take(now, in_any_zone=in_any_zone)
            try:
                worker.send(sources, context=context, now=now)
            except WorkerEnded:
                # Something else ended it since the last condition.
                self._workers.end(worker)
            except BaseException:
                self._workers.end(worker)
                raise
            else:
                return worker
        raise ConfigurationError(NO_START)

    def _receive_verdicts(
        self, worker: Worker, count: int, deadline: Deadline
    ) -> Iterator[Verdict]:
        """Yield verdicts until the process fails or the time is over, and take the process back."""
        failure: Verdict | None = None
        is_done = False
        begun = time.perf_counter()
        try:
            for _ in range(count):
                begun = time.perf_counter()
                reply = worker.receive(min(_SECONDS, deadline.seconds_left))
                yield _read_reply(reply, time.perf_counter() - begun)
            is_done = True
        except WorkerLate:
            seconds = time.perf_counter() - begun
            # One that began just before the end of the time was not late: it comes first next time.
            if seconds >= _LEAST_SECONDS:
                failure = _make_failure(_TOO_LATE, seconds=seconds, is_timeout=True)
        except WorkerEnded:
            seconds = time.perf_counter() - begun
            is_late = self._workers.end(worker) == _ALARM
            reason = _TOO_LATE if is_late else _ENDED
            if self._workers.is_closed:
                is_late, reason = False, CLOSED
            failure = _make_failure(reason, seconds=seconds, is_timeout=is_late)
        finally:
            if is_done:
                self._workers.give_back(worker)
            else:
                # Its replies to whoever was interrupted must not be taken for those to another.
                self._workers.end(worker)
        if failure is not None:
            yield failure

    def _cross_fork(self) -> None:
        """Leave the processes to the parent of a fork; this child starts its own if need be."""
        self._workers.cross_fork()


_evaluators: WeakSet[JavaScriptEvaluator] = WeakSet()


def _cross_fork() -> None:
    for evaluator in list(_evaluators):
        evaluator._cross_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_cross_fork)


def _read_reply(reply: Mapping[str, str], seconds: float) -> Verdict:
    """Return the verdict that a reply of the process tells."""
    if "error" in reply:
        return _make_failure(reply["error"], seconds=seconds)
    if reply["value"] in _ALWAYS:
        return _make_failure(_ALWAYS[reply["value"]], seconds=seconds)
    return Verdict(holds=reply["value"] == "true", seconds=seconds)


def _check_installed() -> None:
    otherwise = 'write the condition as rules such as {"any_of": ["birthday"]}'
    with requiring("triggers", "to use conditions in JavaScript", otherwise):
        # Not imported: the child process alone runs it.
        if find_spec("_quickjs") is None:
            raise ModuleNotFoundError("No module named '_quickjs'")


def _write_context(occasion: Occasion) -> str:
    """Return the `context` of conditions, as JSON."""
    messages = []
    for message in choose_messages(occasion.messages):
        fields: dict[str, JsonValue] = {"role": message.role, "content": message.content}
        if message.name is not None:
            fields["name"] = message.name
        if message.said_at is not None:
            fields["timestamp"] = round(message.said_at.timestamp() * 1000)
        messages.append(fields)
    participants = {} if occasion.participants is None else occasion.participants
    return json.dumps(
        {
            "messages": messages,
            "conversation_id": occasion.conversation_id,
            "participants": participants,
        }
    )


def _make_failure(error: str, *, seconds: float = 0.0, is_timeout: bool = False) -> Verdict:
    return Verdict(holds=False, seconds=seconds, error=error, is_timeout=is_timeout)


def _find_problem(verdict: Verdict) -> str | None:
    """Return why a condition is refused that gave a verdict on the sample, None if it is not."""
    error = verdict.error or ""
    missing = _MISSING.match(error)
    if missing:
        near = get_close_matches(missing[1][:60], _KNOWN, n=1)
        known = f"the nearest is {near[0]!r}" if near else f"there are {', '.join(_KNOWN[:3])}"
        return (
            f"there is nothing called {missing[1]!r:.60}; {known}. For keywords, write"
            " match_keys(context.messages, ['birthday'], 'any'), or rules such as"
            ' {"any_of": ["birthday"]}'
        )
    if error.startswith("SyntaxError"):
        return (
            f"{error}; write an expression such as match_keys(context.messages, ['birthday'],"
            " 'any') || new Date().getMonth() === 6, without return"
        )
    if error.startswith("RangeError: there is no scope"):
        return error
    if verdict.is_timeout or error.startswith("InternalError: out of memory"):
        return f"{error} on a short message; make it do less"
    # Whatever else went wrong may be due to the message that it was tried on.
    return error if error in (*_ALWAYS.values(), _ENDED) else None


def _log_failures(verdicts: Mapping[str, Verdict]) -> None:
    kinds = Counter(
        _name_failure(verdict) for verdict in verdicts.values() if verdict.error is not None
    )
    if kinds:
        _log.warning(
            "%d of %d conditions in JavaScript failed: %s",
            kinds.total(),
            len(verdicts),
            ", ".join(f"{number} {kind}" for kind, number in kinds.most_common()),
        )


def _name_failure(verdict: Verdict) -> str:
    """Return the kind of failure that a verdict tells, without words of the condition."""
    if verdict.is_timeout:
        return "too late"
    name = (verdict.error or "").split(":")[0]
    return name if name.isalpha() and name.endswith("Error") else "other"


class Workers:
    """Child processes, given to one call at a time. Every method may be called from any thread.

    No lock is held while a process starts, is waited for, or is asked: the conditions of one caller
    do not delay those of another.
    """

    def __init__(self) -> None:
        """Start nothing yet."""
        self._changed = threading.Condition()
        self._idle: list[Worker] = []
        self._used: set[Worker] = set()
        self._is_closed = False

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called."""
        return self._is_closed

    def take(self, now: datetime, *, in_any_zone: bool = False) -> Worker:
        """Return a process whose local time is that of `now`, or any other, ready to be asked.

        Raises:
            ConfigurationError: none can be started.
        """
        worker = self._take_idle(now, in_any_zone=in_any_zone) or self._start_worker(now)
        try:
            worker.wait_ready()
        except (WorkerEnded, WorkerLate) as error:
            self.end(worker)
            raise ConfigurationError(CLOSED if self._is_closed else NO_START) from error
        except BaseException:
            self.end(worker)
            raise
        return worker

    def give_back(self, worker: Worker) -> None:
        """Take back a process that has answered all it was asked."""
        with self._changed:
            is_kept = worker in self._used and len(self._idle) < _MOST_IDLE
            if is_kept:
                self._used.remove(worker)
                self._idle.append(worker)
                self._changed.notify()
        if not is_kept:
            self.end(worker)

    def end(self, worker: Worker) -> int:
        """End a process at once, and return its exit code."""
        code = worker.end()
        with self._changed:
            self._used.discard(worker)
            self._changed.notify()
        return code

    def start_ahead(self, now: datetime) -> None:
        """Start a process if none is free, so that the next call need not wait for its start."""
        if not self._idle:
            # What fails here, the next call says.
            with suppress(ConfigurationError):
                self.give_back(self._start_worker(now))

    def close(self) -> None:
        """End every process, also those that are being asked."""
        with self._changed:
            self._is_closed = True
            workers = [*self._idle, *self._used]
            self._idle.clear()
            self._used.clear()
            self._changed.notify_all()
        for worker in workers:
            worker.end()

    def cross_fork(self) -> None:
        """Leave the processes to the parent of a fork; this child starts its own if need be."""
        workers = [*self._idle, *self._used]
        # Another thread of the parent may have held the lock.
        self._changed = threading.Condition()
        self._idle, self._used = [], set()
        for worker in workers:
            worker.forget()

    def _take_idle(self, now: datetime, *, in_any_zone: bool) -> Worker | None:
        """Return a process that is free now or within a moment, None without one."""
        with self._changed:
            if self._used and not self._idle:
                self._changed.wait(_PATIENCE_SECONDS)
            fitting = [worker for worker in self._idle if in_any_zone or worker.has_zone_of(now)]
            stale = [] if fitting else self._idle[:1]
            for worker in (*fitting[-1:], *stale):
                self._idle.remove(worker)
            self._used.update(fitting[-1:])
        for worker in stale:
            worker.end()
        return fitting[-1] if fitting else None

    def _start_worker(self, now: datetime) -> Worker:
        # A program that was frozen into a file would start itself.
        if not sys.executable or getattr(sys, "frozen", False):
            raise ConfigurationError(
                "conditions in JavaScript run in a process of their own, and this program has no"
                " Python interpreter to start: write them as rules"
            )
        if self.is_closed:
            raise ConfigurationError(CLOSED)
        try:
            worker = Worker(now)
        except OSError as error:
            raise ConfigurationError(
                f"the process for conditions in JavaScript cannot be started: {error}"
            ) from error
        with self._changed:
            is_closed = self._is_closed
            if not is_closed:
                self._used.add(worker)
        if is_closed:
            worker.end()
            raise ConfigurationError(CLOSED)
        return worker
