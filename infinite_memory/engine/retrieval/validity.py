"""Turns the parameters `mode` and `as_of` into conditions on status and validity."""

from __future__ import annotations

from attrs import evolve

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.checks import check_choice
from infinite_memory.core.values.criteria import Criteria, Depth, Mode, Tense
from infinite_memory.core.values.memory import Status
from infinite_memory.core.values.timestamps import TimeLike
from infinite_memory.engine.services import Services

_CURRENT = frozenset({Status.CURRENT})
_EVER = _CURRENT | {Status.SUPERSEDED}
_KEPT = frozenset(Status) - {Status.FORGOTTEN}


def tense_of(services: Services, mode: str | None, as_of: TimeLike | None) -> Tense:
    """Return the validated form of `mode` and `as_of`, by default the mode `CURRENT`.

    Raises:
        InvalidInput: a value cannot be read, or the values contradict each other.
    """
    now = services.clock()
    chosen = Mode.CURRENT if mode is None else check_choice(mode, Mode, "mode")
    if as_of is None:
        return Tense(mode=chosen, now=now)
    if chosen is not Mode.CURRENT:
        raise InvalidInput(
            f"mode {str(chosen)!r} cannot go together with as_of {str(as_of)!r:.100}: leave mode"
            " out for what held at that moment, or as_of for what holds now or ever held"
        )
    return Tense(mode=chosen, now=now, as_of=services.read_time(as_of, "as_of"))


def in_tense(criteria: Criteria, tense: Tense, depth: Depth, *, statuses_given: bool) -> Criteria:
    """Return `criteria` with the conditions of a tense at a depth.

    Statuses that the caller gave are kept. If they are not `current` alone, the mode `CURRENT`
    includes memories whose validity is over: superseded memories could not be found otherwise.
    """
    statuses = criteria.statuses if statuses_given else _statuses(tense, depth)
    is_strict = tense.mode is Mode.STRICT
    is_current = tense.mode is Mode.CURRENT and tense.as_of is None and statuses == _CURRENT
    return evolve(
        criteria,
        tense=tense,
        statuses=statuses,
        as_of=tense.as_of,
        begun_at=tense.now if is_strict else None,
        unended_at=tense.now if is_strict or is_current else None,
    )


def _statuses(tense: Tense, depth: Depth) -> frozenset[Status]:
    if tense.mode is Mode.STRICT:
        return _CURRENT
    if depth is Depth.EXHAUSTIVE:
        return _KEPT
    return _CURRENT if tense.mode is Mode.CURRENT and tense.as_of is None else _EVER
