"""Check the conditions of many long-term memories on an occasion."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from attrs import frozen

from infinite_memory.core.clock import Deadline, current_deadline, within
from infinite_memory.core.errors import ConfigurationError, OutOfTime, ReadOnly, StorageError
from infinite_memory.core.protocols import SupportsLease
from infinite_memory.core.values.conversation.trigger import Language, Occasion, Verdict
from infinite_memory.engine.services import Services
from infinite_memory.features.reminders.long_term.book import TrackedMemory, find_evaluator
from infinite_memory.features.reminders.long_term.firing import is_limited, may_fire, read_firings

CODE_SECONDS = 0.5
"""How long the conditions that are code may take in a call, all together."""
_LATE_FIRST = 3
"""In one of so many calls, conditions that were late come before the others."""
_LATE_NOTE = "late condition/"
_NOTED = timedelta(hours=1)


@frozen(kw_only=True)
class Checked:
    """The long-term memories that were checked on an occasion, by the result.

    `holding` are memories whose condition holds and that may come up; `resting` are memories whose
    condition holds during their cooldown, or after their last firing. The triggers of `disabled`
    are not enabled, and the conditions of `failing` could not be checked. `unchecked` are the rest
    of the `count` conditions that there were to check: the time of the call was over before.
    """

    holding: Sequence[TrackedMemory]
    resting: Sequence[TrackedMemory]
    disabled: Sequence[TrackedMemory]
    failing: Sequence[TrackedMemory]
    unchecked: Sequence[TrackedMemory] = ()
    count: int = 0


def is_code(tracked: TrackedMemory) -> bool:
    """Return whether the condition of a memory is code."""
    return tracked.trigger is not None and tracked.trigger.language is Language.JAVASCRIPT


def begin_code(
    services: Services, tracked: Iterable[TrackedMemory], now: datetime, *, seconds: float
) -> Deadline:
    """Return the deadline of the conditions among `tracked` that are code, `seconds` from now.

    Their process is started before, which may take longer and is no fault of theirs.
    """
    if any(is_code(entry) and entry.disabled_because(services) is None for entry in tracked):
        with suppress(ConfigurationError):
            find_evaluator(services, Language.JAVASCRIPT).evaluate({}, Occasion(now=now))
    return current_deadline().shortened_to(seconds)


def prepare_conditions(services: Services, tracked: Iterable[TrackedMemory]) -> frozenset[str]:
    """Prepare the enabled conditions among `tracked`; return the ids that had no time for it."""
    enabled = {
        entry.memory.id: entry for entry in tracked if entry.disabled_because(services) is None
    }
    now = services.clock()
    with within(begin_code(services, enabled.values(), now, seconds=CODE_SECONDS)):
        return frozenset(set(enabled) - set(_prepare_conditions(services, _order_by_turn(enabled))))


def check_conditions(
    services: Services, tracked: Sequence[TrackedMemory], occasion: Occasion, *, code: Deadline
) -> Checked:
    """Check the conditions of the enabled memories among `tracked` on an occasion.

    A condition that nobody approved is never run. `code` is the deadline of those that are code,
    see `begin_code`. Conditions for which the time does not suffice come first in the next call.
    """
    groups: defaultdict[Language, dict[str, TrackedMemory]] = defaultdict(dict)
    disabled: list[TrackedMemory] = []
    for entry in tracked:
        assert entry.trigger is not None
        if entry.disabled_because(services) is not None:
            disabled.append(entry)
        elif not entry.memory.ended_by(occasion.now):
            groups[entry.trigger.language][entry.memory.id] = entry
    held: set[str] = set()
    unchecked: list[TrackedMemory] = []
    for language, entries in groups.items():
        with within(current_deadline() if language is Language.RULES else code):
            verdicts = _evaluate_conditions(services, language, _order_by_turn(entries), occasion)
        held |= {memory_id for memory_id, verdict in verdicts.items() if verdict.holds}
        _note_late(services, [entries[name] for name in verdicts if verdicts[name].is_timeout])
        unchecked += [entry for memory_id, entry in entries.items() if memory_id not in verdicts]
    holding = [entry for entry in tracked if entry.memory.id in held]
    resting = find_resting(services, holding, occasion.now)
    left = {id(entry) for entry in (*unchecked, *disabled)}
    return Checked(
        holding=[entry for entry in holding if entry.memory.id not in resting],
        resting=[entry for entry in holding if entry.memory.id in resting],
        disabled=disabled,
        failing=[entry for entry in tracked if entry.error is not None and id(entry) not in left],
        unchecked=unchecked,
        count=sum(map(len, groups.values())),
    )


def _note_late(services: Services, late: Sequence[TrackedMemory]) -> None:
    """Note in the store that conditions took too long, for `find_late` in any process."""
    storage = services.storage
    if not late or not isinstance(storage, SupportsLease):
        return
    now = services.clock()
    with suppress(ReadOnly, StorageError):
        over = [
            name
            for name, at in storage.upkeep_notes().items()
            if name.startswith(_LATE_NOTE) and at <= _write_moment(now - _NOTED)
        ]
        noted = {_name_note(entry): _write_moment(now) for entry in late}
        storage.note_upkeep({**dict.fromkeys(over, ""), **noted})


def find_late(services: Services, tracked: Iterable[TrackedMemory]) -> dict[str, str]:
    """Return why conditions that this process has not checked may rest elsewhere, by id.

    They took too long in another process, within the last hour.
    """
    storage, since = services.storage, _write_moment(services.clock() - _NOTED)
    notes = storage.upkeep_notes() if isinstance(storage, SupportsLease) else {}
    named = [(entry, notes.get(_name_note(entry), "")) for entry in tracked if not entry.turn]
    return {
        entry.memory.id: f"in another process it took longer than half a second, at {at}"
        for entry, at in named
        if at > since
    }


def _name_note(entry: TrackedMemory) -> str:
    return f"{_LATE_NOTE}{entry.memory.id}/{entry.memory.revision}"


def _write_moment(moment: datetime) -> str:
    """Return a moment in a form whose order is that of time."""
    return moment.astimezone(UTC).isoformat(timespec="seconds")


def find_resting(
    services: Services, tracked: Sequence[TrackedMemory], now: datetime
) -> frozenset[str]:
    """Return the ids of the memories that may not come up at `now`, whatever their condition."""
    limited = {
        entry.memory.id: (entry.memory, entry.trigger)
        for entry in tracked
        if entry.trigger is not None and is_limited(entry.trigger)
    }
    if not limited:
        return frozenset()
    firings = read_firings(services, [memory for memory, _ in limited.values()])
    return frozenset(
        memory_id
        for memory_id, (_, trigger) in limited.items()
        if not may_fire(trigger, firings[memory_id], now)
    )


def _order_by_turn(entries: Mapping[str, TrackedMemory]) -> dict[str, TrackedMemory]:
    """Return the memories in the order in which they are checked, as there may not be time for all.

    First those that were never checked, then those that were checked the longest ago. Those that
    were late come after the others, so that the others have their time, but in every third call
    before them.
    """
    late_first = (_count_turns(entries) + 1) % _LATE_FIRST == 0

    def place(item: tuple[str, TrackedMemory]) -> tuple[bool, int]:
        entry = item[1]
        return bool(entry.turn) and entry.was_late != late_first, entry.turn

    return dict(sorted(entries.items(), key=place))


def _count_turns(entries: Mapping[str, TrackedMemory]) -> int:
    return max((entry.turn for entry in entries.values()), default=0)


def _evaluate_conditions(
    services: Services,
    language: Language,
    entries: Mapping[str, TrackedMemory],
    occasion: Occasion,
) -> dict[str, Verdict]:
    """Return the verdicts on the conditions, as far as the time suffices, in this order."""
    verdicts = _prepare_conditions(services, entries)
    prepared = {
        memory_id: entries[memory_id].prepared
        for memory_id, verdict in verdicts.items()
        if verdict is None
    }
    checked = {memory_id: verdict for memory_id, verdict in verdicts.items() if verdict is not None}
    if prepared:
        turn = _count_turns(entries) + 1
        checked |= find_evaluator(services, language).evaluate(prepared, occasion)
        for memory_id in prepared.keys() & checked.keys():
            entry, verdict = entries[memory_id], checked[memory_id]
            entry.error, entry.turn, entry.was_late = verdict.error, turn, verdict.is_timeout
    return checked


def _prepare_conditions(
    services: Services, entries: Mapping[str, TrackedMemory]
) -> dict[str, Verdict | None]:
    """Prepare conditions as far as the time suffices.

    Return None under the id of each that is prepared, and a verdict for one that cannot be.
    """
    turn = _count_turns(entries) + 1
    verdicts: dict[str, Verdict | None] = {}
    for memory_id, entry in entries.items():
        if entry.prepared is None and current_deadline().is_over:
            continue
        with suppress(OutOfTime):
            if entry.prepare(services):
                verdicts[memory_id] = None
            else:
                # It may have taken long, and is tried again.
                entry.turn, entry.was_late = turn, True
                verdicts[memory_id] = Verdict(holds=False, seconds=0.0, error=entry.error)
    return verdicts
