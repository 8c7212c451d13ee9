"""Check the conditions of many long-term memories on an occasion."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

from attrs import frozen

from infinite_memory.conversations.long_term.book import TrackedMemory, find_evaluator
from infinite_memory.conversations.long_term.firing import is_limited, may_fire, read_firings
from infinite_memory.model.conversation.trigger import Language, Occasion, Verdict
from infinite_memory.operations.services import Services

__all__ = ["Checked", "check_conditions", "find_resting"]


@frozen(kw_only=True)
class Checked:
    """The long-term memories that were checked on an occasion, by the result.

    `holding` are memories whose condition holds and that may come up; `resting` are memories whose
    condition holds during their cooldown, or after their last firing. The triggers of `disabled`
    are not enabled, and the conditions of `failing` could not be checked.
    """

    holding: Sequence[TrackedMemory]
    resting: Sequence[TrackedMemory]
    disabled: Sequence[TrackedMemory]
    failing: Sequence[TrackedMemory]


def check_conditions(
    services: Services,
    tracked: Sequence[TrackedMemory],
    occasion: Occasion,
    *,
    code_until: float | None = None,
) -> Checked:
    """Check the conditions of the enabled memories among `tracked` on an occasion.

    A condition that nobody approved is never run. Conditions that are code are checked one after
    another, and none is begun after the moment `code_until` of the monotonic clock; None means that
    all are checked together.
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
    for language, entries in groups.items():
        verdicts = (
            _evaluate(services, language, entries, occasion)
            if code_until is None or language is Language.RULES
            else _evaluate_until(services, language, entries, occasion, code_until)
        )
        for memory_id, verdict in verdicts.items():
            entries[memory_id].error = verdict.error
            if verdict.holds:
                held.add(memory_id)
    holding = [entry for entry in tracked if entry.memory.id in held]
    resting = find_resting(services, holding, occasion.now)
    return Checked(
        holding=[entry for entry in holding if entry.memory.id not in resting],
        resting=[entry for entry in holding if entry.memory.id in resting],
        disabled=disabled,
        failing=[
            entry
            for entry in tracked
            if entry.error is not None and entry.disabled_because(services) is None
        ],
    )


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


def _evaluate(
    services: Services,
    language: Language,
    entries: Mapping[str, TrackedMemory],
    occasion: Occasion,
) -> dict[str, Verdict]:
    """Return the verdicts on the conditions that can be prepared."""
    prepared = {
        memory_id: entry.prepared for memory_id, entry in entries.items() if entry.prepare(services)
    }
    return find_evaluator(services, language).evaluate(prepared, occasion) if prepared else {}


def _evaluate_until(
    services: Services,
    language: Language,
    entries: Mapping[str, TrackedMemory],
    occasion: Occasion,
    moment: float,
) -> dict[str, Verdict]:
    """Check conditions one by one until a moment, those that failed before last."""
    verdicts: dict[str, Verdict] = {}
    for memory_id, entry in sorted(entries.items(), key=lambda pair: pair[1].error is not None):
        if time.monotonic() >= moment:
            break
        verdicts |= _evaluate(services, language, {memory_id: entry}, occasion)
    return verdicts
