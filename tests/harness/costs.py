"""What a call costs in counts, which never vary: calls of functions, and statements of SQL."""

from __future__ import annotations

import cProfile
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

import apsw
from attrs import frozen

Statement = tuple[str, tuple[Any, ...]]

_MOST_GROWTH = 2.2
# What the sizes of pages and of buffers add here and there.
_SLACK = 500
_STATEMENT_SLACK = 20


@frozen
class Costs:
    """Calls of functions of Python and of C, and statements of SQL."""

    calls: int
    statements: int


@contextmanager
def collect_statements() -> Iterator[list[Statement]]:
    """Collect what is run, with its bindings, by every connection that is opened meanwhile."""
    found: list[Statement] = []

    def trace(_cursor: apsw.Cursor, sql: str, bindings: Any) -> bool:
        found.append((sql, tuple(bindings or ())))
        return True

    def hook(connection: apsw.Connection) -> None:
        connection.exec_trace = trace

    apsw.connection_hooks.append(hook)
    try:
        yield found
    finally:
        apsw.connection_hooks.remove(hook)


def count_calls(work: Callable[[], object], *, builtins: bool = True) -> int:
    """Return how many calls `work` takes, those of functions of C only with `builtins`."""
    profile = cProfile.Profile(builtins=builtins)
    profile.enable()
    try:
        work()
    finally:
        profile.disable()
    return sum(entry.callcount for entry in profile.getstats())


def measure(work: Callable[[], object], statements: Sequence[Statement]) -> Costs:
    """Return what `work` costs, where `statements` collects those of the connections it uses."""
    before = len(statements)
    calls = count_calls(work)
    return Costs(calls, len(statements) - before)


def find_constant(plain: Costs, half: Costs, once: Costs) -> Costs:
    """Return what a call costs whatever its input, at most what the `plain` call costs.

    A plain call that finds something may cost more than one whose large input finds nothing; then
    it is what is left if the costs of half the input and of the input lie on a line.
    """
    calls, statements = 2 * half.calls - once.calls, 2 * half.statements - once.statements
    return Costs(max(0, min(plain.calls, calls)), max(0, min(plain.statements, statements)))


def find_excess(plain: Costs, once: Costs, twice: Costs) -> str | None:
    """Return how twice an input costs more than 2.2 times as much, None if it does not.

    What a `plain` call costs is taken off, so that it does not hide the growth, unless it costs
    more than the input: then it is no part of the rest.
    """
    for name, slack in (("calls", _SLACK), ("statements", _STATEMENT_SLACK)):
        before, small, large = (getattr(cost, name) for cost in (plain, once, twice))
        before = before if before < small else 0
        if large - before > _MOST_GROWTH * max(0, small - before) + slack:
            return f"{name}: {before:,} before, {small:,} once, {large:,} twice"
    return None


def count_steps(work: Callable[[], object]) -> int:
    """Return how many lines of Python `work` runs through: loops within a function count too."""
    steps = 0

    def trace(_frame: FrameType, event: str, _value: Any) -> Any:
        nonlocal steps
        steps += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return steps
