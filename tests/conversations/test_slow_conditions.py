"""Conditions that are slow share the time of a call, and do not keep the others from it."""

from __future__ import annotations

import pytest

from infinite_memory import MemoryStore
from infinite_memory.core.clock import Deadline, within
from infinite_memory.features.reminders.long_term.values import Activation
from infinite_memory.testing.embedders import HashingEmbedder

FOR_EVER = "(() => { while (true); })()"
SAYS_GO = "context.messages.length && context.messages[0].content === 'go'"
LATER = f"!context.messages.length && new Date() && {FOR_EVER}"
GO = [{"role": "user", "content": "go"}]


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore.open("memory://", embedder=HashingEmbedder())


def add_hanging(store: MemoryStore, count: int) -> None:
    for n in range(count):
        store.triggers.add(f"hangs {n}", "never comes up", f"{SAYS_GO} ? {FOR_EVER} : {n} < 0")


def names_of_failures(activation: Activation) -> set[str]:
    return {failure.name for failure in activation.failures}


@pytest.mark.thorough
def test_what_there_is_no_time_for_is_named_and_comes_first_in_the_next_call(
    store: MemoryStore,
) -> None:
    with store:
        add_hanging(store, 4)
        store.triggers.add("cake", "bake it", "match_keys(context.messages, ['go'])")
        first = store.triggers.activate(GO)
        assert first.conditions == 5
        assert len(first.unchecked) == 4
        assert names_of_failures(first) == {"hangs 0"}
        assert "cake" in first.unchecked
        calls = [first, *(store.triggers.activate(GO) for _ in range(4))]
        # Each that hangs has its turn, and then the other.
        late = [names_of_failures(call) for call in calls]
        assert late == [{"hangs 0"}, {"hangs 1"}, {"hangs 2"}, {"hangs 3"}, {"hangs 0"}]
        assert [bool(call.activated) for call in calls] == [False] * 4 + [True]


@pytest.mark.thorough
def test_conditions_that_hang_rest_in_the_end_and_hold_no_call_up(store: MemoryStore) -> None:
    with store:
        add_hanging(store, 2)
        store.triggers.add("cake", "bake it", "match_keys(context.messages, ['go'])")
        activations = [store.triggers.activate(GO) for _ in range(9)]
        # Late three times each, and in no more than every third call before the others.
        assert not activations[-1].unchecked
        assert all("it rests for" in failure.error for failure in activations[-1].failures)
        assert sum("cake" in activation.unchecked for activation in activations) <= 4
        assert store.triggers.due().unchecked == ()


def test_a_call_whose_time_is_over_checks_no_condition_and_says_so(store: MemoryStore) -> None:
    with store:
        store.triggers.add("cake", "bake it", "match_keys(context.messages, ['go'])")
        store.triggers.add("rule", "bake it too", {"any_of": ["go"]})
        with within(Deadline(at=0.0)):
            activation = store.triggers.activate(GO)
        assert activation.unchecked == ("cake", "rule")
        assert activation.conditions == 2
        assert not activation.activated
        assert {memory.name for memory in store.triggers.activate(GO).activated} == {"cake", "rule"}


@pytest.mark.thorough
def test_a_look_ahead_names_what_it_did_not_check(store: MemoryStore) -> None:
    with store:
        for n in range(3):
            store.triggers.add(f"hangs {n}", "never", f"{LATER} || {n} < 0")
        due = store.triggers.due()
        assert due.conditions == 3
        assert len(due.unchecked) == 2
        assert due == ()
        store.remember("Without it there is nothing to tell")
        assert "of 3 conditions of reminders were not checked" in store.briefing().text
