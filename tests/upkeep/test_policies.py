"""The policies of the upkeep: what they would do with a memory, and why."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from infinite_memory.core.config import Retention, ScopeRules, Upkeep
from infinite_memory.core.values.memory import Kind, Memory, Status
from infinite_memory.core.values.record import Usage
from infinite_memory.features.background.upkeep.jobs.archive import (
    judge_expired,
    judge_noise,
    judge_unused,
)
from infinite_memory.features.background.upkeep.jobs.backup import choose_outdated
from infinite_memory.features.background.upkeep.jobs.limit import value_of
from infinite_memory.features.background.upkeep.jobs.link_duplicates import (
    are_near_duplicates,
    is_long_enough,
)
from infinite_memory.features.background.upkeep.policies.ages import ages_of
from infinite_memory.features.background.upkeep.policies.protected import is_protected
from infinite_memory.features.background.upkeep.report import StepAction

NOW = datetime(2026, 6, 1, tzinfo=UTC)
MODERATE, AGGRESSIVE = (
    ages_of(Upkeep(retention=retention), "work")
    for retention in (Retention.MODERATE, Retention.AGGRESSIVE)
)


ACTIVATED = Usage(count=0, activation=50.0, activated_at=NOW)
"""The usage of a memory that searches of conversations have activated, and nobody has recalled."""


def memory(text: str = "The crane is broken", *, days: int = 0, **fields: Any) -> Memory:
    """Return a memory that happened and was stored so many days ago."""
    then = NOW - timedelta(days=days)
    given_fields = {"id": "a", "scope": "work", "happened_at": then, "stored_at": then, **fields}
    return Memory(text=text, **given_fields)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, False),
        ({"kind": Kind.MESSAGE}, False),
        ({"kind": Kind.PROBLEM}, False),
        ({"kind": Kind.FACT}, True),
        ({"kind": Kind.DECISION}, True),
        ({"kind": Kind.LESSON}, True),
        ({"kind": Kind.REMINDER}, True),
        ({"kind": Kind.SUMMARY}, True),
        ({"important": True}, True),
        ({"key": "alice/job"}, True),
    ],
)
def test_what_people_rely_on_is_protected(fields: dict[str, Any], expected: bool) -> None:
    assert is_protected(memory(**fields)) is expected


@pytest.mark.parametrize(
    ("retention", "conversation", "unused"),
    [
        (Retention.KEEP_ALL, None, None),
        (Retention.MODERATE, 26, 52),
        (Retention.AGGRESSIVE, 4, 12),
    ],
)
def test_a_retention_says_at_which_age(
    retention: Retention, conversation: int | None, unused: int | None
) -> None:
    ages = ages_of(Upkeep(retention=retention), "work")
    weeks = [None if age is None else age.days // 7 for age in (ages.conversation, ages.unused)]
    assert weeks == [conversation, unused]


def test_the_configured_weeks_are_the_lowest_age_and_a_scope_may_have_its_own_retention() -> None:
    settings = Upkeep(
        retention=Retention.AGGRESSIVE,
        min_age_weeks=20,
        scopes={"keep": ScopeRules(retention=Retention.KEEP_ALL)},
    )
    assert ages_of(settings, "work").conversation == timedelta(weeks=20)
    assert ages_of(settings, "work").noise == timedelta(weeks=20)
    assert ages_of(settings, "keep").unused is None


def test_what_nobody_recalled_for_long_is_archived() -> None:
    old = memory(days=400)
    verdict = judge_unused(old, None, MODERATE, NOW)
    assert verdict is not None
    assert verdict.action is StepAction.ARCHIVE
    assert verdict.reason == "never recalled in 57 weeks"
    assert judge_unused(old, Usage(count=1, last=NOW), MODERATE, NOW) is None
    assert judge_unused(old, ACTIVATED, MODERATE, NOW) == verdict
    assert judge_unused(memory(days=300), None, MODERATE, NOW) is None
    assert judge_unused(memory(days=300), None, AGGRESSIVE, NOW) is not None
    assert judge_unused(memory(days=4000, important=True), None, AGGRESSIVE, NOW) is None
    # Imported yesterday, or brought back yesterday.
    young = memory(days=4000, stored_at=NOW - timedelta(days=1))
    assert judge_unused(young, None, AGGRESSIVE, NOW) is None


@pytest.mark.parametrize(
    ("text", "same", "reason"),
    [
        ("I am", 1, "a message of function words alone"),
        ("👍", 1, "a message of function words alone"),
        ("好的", 1, "a message of function words alone"),
        ("ok", 5, "a short message that work has 5 times"),
        ("ok", 4, None),
        ("谢谢你", 7, "a short message that work has 7 times"),
        ("yes, do it", 9, "a short message that work has 9 times"),
        ("yes, please do it", 9, None),
        ("42", 9, None),
        ("at 9", 9, None),
        ("我们明天去杭州的西湖看荷花", 9, None),
    ],
)
def test_short_messages_that_say_nothing_are_noise(
    text: str, same: int, reason: str | None
) -> None:
    said = memory(text, kind=Kind.MESSAGE, days=60)
    verdict = judge_noise(said, lambda _memory: same, MODERATE, NOW)
    assert (None if verdict is None else verdict.reason) == reason


@pytest.mark.parametrize(
    "fields", [{"kind": Kind.NOTE}, {"days": 3}, {"important": True}, {"text": "the " * 40}]
)
def test_only_old_short_messages_are_noise(fields: dict[str, Any]) -> None:
    said = memory(**{"text": "the", "kind": Kind.MESSAGE, "days": 60, **fields})
    assert judge_noise(said, lambda _memory: 99, MODERATE, NOW) is None
    quiet = ages_of(Upkeep(retention=Retention.KEEP_ALL), "work")
    assert judge_noise(memory("the", kind=Kind.MESSAGE, days=60), lambda _: 9, quiet, NOW) is None


def test_a_time_to_live_archives_and_erases_only_where_the_rule_says_so() -> None:
    archives, erases = ScopeRules(keep_days=30), ScopeRules(keep_days=30, erase=True)
    old = memory(days=30, important=True, kind=Kind.FACT)
    verdicts = [judge_expired(old, rules, NOW) for rules in (archives, erases, ScopeRules())]
    actions = [None if verdict is None else verdict.action for verdict in verdicts]
    assert actions == [StepAction.ARCHIVE, StepAction.ERASE, None]
    assert verdicts[0] is not None
    assert verdicts[0].reason == "older than the 30 days that work keeps"
    assert judge_expired(memory(days=29), erases, NOW) is None
    for status in (Status.ARCHIVED, Status.SUPERSEDED, Status.FORGOTTEN):
        gone = memory(days=31, status=status)
        assert judge_expired(gone, archives, NOW) is None
        assert judge_expired(gone, erases, NOW) is not None


def test_a_rule_that_erases_without_an_age_is_refused() -> None:
    with pytest.raises(ValidationError, match="erase needs keep_days"):
        ScopeRules(erase=True)


@given(
    count=st.integers(0, 1000),
    used=st.integers(0, 4000),
    days=st.integers(0, 4000),
    kind=st.sampled_from(Kind),
)
def test_a_recall_never_lowers_the_value_and_age_never_raises_it(
    count: int, used: int, days: int, kind: Kind
) -> None:
    one = memory(days=days, kind=kind)
    usage = Usage(count=count + 1, last=NOW - timedelta(days=used))
    less = Usage(count=count, last=usage.last) if count else None
    assert 0 <= value_of(one, less, [], NOW) <= value_of(one, usage, [], NOW)
    assert value_of(one, usage.plus(ACTIVATED), [], NOW) == value_of(one, usage, [], NOW)
    assert value_of(one, ACTIVATED, [], NOW) == value_of(one, None, [], NOW)
    assert value_of(memory(days=days + 1, kind=kind), None, [], NOW) < value_of(one, None, [], NOW)
    assert value_of(one, usage, [0.5], NOW) > value_of(one, usage, [], NOW)


@pytest.mark.parametrize(
    ("first", "second", "cosine", "expected"),
    [
        ("The train leaves at 9:30", "The train departs at 9:30", 0.98, True),
        ("The train leaves at 9:30", "The train leaves at 9:40", 0.99, False),
        ("The train leaves at 9:30", "The train departs at 9:30", 0.96, False),
        ("Room 12, floor 3", "Room 3, floor 12", 0.99, False),
    ],
)
def test_near_duplicates_mean_the_same_and_have_the_same_numbers(
    first: str, second: str, cosine: float, expected: bool
) -> None:
    assert are_near_duplicates(first, second, cosine) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Thanks a lot!", False),
        ("The crane is broken", True),
        ("好的谢谢", False),
        ("我们明天去杭州的西湖", True),
    ],
)
def test_short_texts_are_no_duplicates(text: str, expected: bool) -> None:
    assert is_long_enough(text) is expected


def test_the_newest_backup_of_each_day_and_week_is_kept() -> None:
    noon = datetime(2026, 6, 3, 12, tzinfo=UTC)  # a Wednesday
    backups = [(number, noon - timedelta(days=number)) for number in range(40)]
    kept = {number for number, _ in backups} - {*choose_outdated(backups, daily=3, weekly=3)}
    assert kept == {0, 1, 2, 3, 10}  # the last Sundays are 3 and 10 days ago
    twice = [*backups, ("late", noon + timedelta(hours=1))]
    assert 0 in choose_outdated(twice, daily=3, weekly=3)


@given(
    days=st.lists(st.integers(0, 100), max_size=30),
    daily=st.integers(0, 5),
    weekly=st.integers(0, 5),
)
def test_of_scheduled_backups_the_newest_is_kept_if_any_is(
    days: list[int], daily: int, weekly: int
) -> None:
    backups = [(number, NOW - timedelta(days=day)) for number, day in enumerate(days)]
    outdated = choose_outdated(backups, daily=daily, weekly=weekly)
    assert len(backups) - len(outdated) <= daily + weekly
    if backups and daily + weekly:
        newest = max(moment for _, moment in backups)
        assert any(moment == newest and n not in outdated for n, moment in backups)
