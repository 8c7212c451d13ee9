"""Conditions that are rules: what each part means, and how mistakes are answered."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinite_memory import InvalidInput
from infinite_memory.core.values.conversation.trigger import Occasion
from infinite_memory.features.reminders.triggers.builtin import RulesEvaluator
from tests.triggers.cases import NOON, holds, judge, occasion

BERLIN = ZoneInfo("Europe/Berlin")


def at(text: str, **fields: Any) -> Occasion:
    return Occasion(now=datetime.fromisoformat(text).replace(tzinfo=BERLIN), **fields)


@pytest.mark.parametrize(
    ("condition", "now", "expected"),
    [
        ({"on": "07-17"}, "2026-07-17T00:00", True),
        ({"on": "07-17"}, "2031-07-17T23:59", True),
        ({"on": "7-17"}, "2031-07-17T23:59", True),
        ({"on": "--07-17"}, "2031-07-17T23:59", True),
        ({"on": "07-17"}, "2026-07-18T00:00", False),
        ({"on": "02-29"}, "2028-02-29T12:00", True),
        ({"on": ["2026-07-17", "12-24"]}, "2026-12-24T12:00", True),
        ({"on": ["2026-07-17", "12-24"]}, "2027-07-17T12:00", False),
        ({"since": "2026-12-01"}, "2026-11-30T23:59", False),
        ({"since": "2026-12-01"}, "2026-12-01T00:00", True),
        ({"until": "2026-12-01"}, "2026-12-01T23:59", True),
        ({"until": "2026-12-01"}, "2026-12-02T00:00", False),
        ({"since": "2026-12-01T18:00"}, "2026-12-01T17:59", False),
        ({"since": "2026-12-01T18:00"}, "2026-12-01T18:00", True),
        ({"until": "2026-12-01T18:00"}, "2026-12-01T18:00", False),
        ({"since": "2026-12-01T18:00Z"}, "2026-12-01T18:59", False),
        ({"since": "2026-12-01T18:00Z"}, "2026-12-01T19:00", True),
        ({"since": "2026-12-01", "until": "2026-12-24"}, "2026-12-25T00:00", False),
        ({"between": "09:00-17:30"}, "2026-07-17T09:00", True),
        ({"between": "09:00-17:30"}, "2026-07-17T17:30", False),
        ({"between": "9:00 to 17:30"}, "2026-07-17T17:29", True),
        ({"between": ["09:00", "17:30"]}, "2026-07-17T17:29", True),
        ({"between": ["09:00-10:00", "14:00-15:00"]}, "2026-07-17T14:59", True),
        ({"between": ["09:00-10:00", "14:00-15:00"]}, "2026-07-17T13:59", False),
        ({"between": "22:00-06:00"}, "2026-07-17T23:00", True),
        ({"between": "22:00-06:00"}, "2026-07-17T05:59", True),
        ({"between": "22:00-06:00"}, "2026-07-17T06:00", False),
        ({"between": "22:00-24:00"}, "2026-07-17T23:59", True),
        ({"weekdays": ["Friday"]}, "2026-07-17T12:00", True),
        ({"weekdays": "thu"}, "2026-07-17T12:00", False),
        ({"weekdays": "weekdays"}, "2026-07-17T12:00", True),
        ({"weekdays": "weekend"}, "2026-07-17T12:00", False),
        ({"weekdays": ["mon", "weekend"]}, "2026-07-19T12:00", True),
    ],
)
def test_a_part_about_time_holds_on_the_clock_of_the_zone(
    rules: RulesEvaluator, condition: dict[str, Any], now: str, expected: bool
) -> None:
    assert holds(rules, condition, at(now)) is expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"participants": "alice"}, True),
        ({"participants": ["Zoe", "Bob"]}, True),
        ({"participants": ["Carol"]}, True),
        ({"participants": ["王芳"]}, True),
        ({"participants": ["Ali"]}, False),
        ({"scope": "team/*"}, True),
        ({"scope": ["home", "TEAM/apollo"]}, True),
        ({"scope": "team"}, False),
        ({"scope": "*"}, True),
    ],
)
def test_a_part_about_the_surroundings_compares_names(
    rules: RulesEvaluator, condition: dict[str, Any], expected: bool
) -> None:
    said = occasion(
        scope="team/Apollo",
        participants={"Alice": {"name": "Bob"}, "guests": ["Carol", "王芳"], "count": 4},
    )
    assert holds(rules, condition, said) is expected


def test_without_participants_and_scope_nothing_matches(rules: RulesEvaluator) -> None:
    assert not holds(rules, {"participants": ["Alice"]}, occasion())
    assert not holds(rules, {"scope": "*"}, occasion())


@pytest.mark.parametrize(
    ("regex", "expected"),
    [
        (r"INC-\d+", True),
        (r"inc-\d+", True),
        (r"(?-i)inc-\d+", False),
        (r"(?-i)INC-\d+", True),
        (r"^see inc", True),
        (r"^inc", False),
        ("开会", False),
        ("開會", True),
        (r"\bn\d+\b", False),
    ],
)
def test_a_regular_expression_is_searched_in_each_message_as_it_was_written(
    rules: RulesEvaluator, regex: str, expected: bool
) -> None:
    said = occasion(("user", "see INC-42"), ("assistant", "明天開會 n42x"))
    assert holds(rules, {"regex": regex}, said) is expected


def test_all_parts_of_an_object_must_hold(rules: RulesEvaluator) -> None:
    said = occasion(("user", "the deadline"))
    assert holds(rules, {"any_of": "deadline", "weekdays": "fri"}, said)
    assert not holds(rules, {"any_of": "deadline", "weekdays": "sat"}, said)
    assert not holds(rules, {"any_of": "birthday", "weekdays": "fri"}, said)
    assert holds(rules, {"any_of": "deadline", "none_of": "birthday", "from": "user"}, said)


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("any", [False, True], True),
        ("any", [False, False], False),
        ("all", [True, True], True),
        ("all", [True, False], False),
        ("none", [False, False], True),
        ("none", [False, True], False),
    ],
)
def test_conditions_are_combined(
    rules: RulesEvaluator, name: str, values: list[bool], expected: bool
) -> None:
    parts = [{"on": "07-17" if value else "07-18"} for value in values]
    assert holds(rules, {name: parts}, occasion()) is expected
    assert holds(rules, {"all": {name: parts}}, occasion()) is expected


@pytest.mark.parametrize(
    ("condition", "hint"),
    [
        ({}, "there is nothing to check"),
        (None, "give an object"),
        ("birthday", "give an object"),
        ([{"on": "07-17"}], "give an object"),
        ({"anyof": ["a"]}, "no part 'anyof': the nearest is 'any_of'"),
        ({"keywords": ["a"]}, "no part 'keywords': there are any, all, none, any_of,"),
        ({"any_of": ["a"], "scope": "user"}, 'whose messages count is "from": "user"'),
        ({"any": ["birthday", "生日"]}, 'for keywords use any_of, such as {"any_of": ["birthday"'),
        ({"all": "birthday"}, "for keywords use all_of"),
        ({"any": []}, "give a list of conditions"),
        ({"any": [{"on": "07-17"}, {}]}, "any[1]: there is nothing to check"),
        ({"all": [{"any": [{"onn": "x"}]}]}, "all[0].any[0]: there is no part 'onn'"),
        ({"any_of": []}, "give a list of texts"),
        ({"any_of": [3]}, "any_of: 3 cannot be used"),
        ({"any_of": ["  "]}, "give a text"),
        ({"any_of": {"a": 1}}, "give a list of texts"),
        ({"any_of": ["x" * 501]}, "1 to 500"),
        ({"any_of": ["a"] * 1001}, "the limit is 1,000"),
        ({"any_of": ["a"], "from": "robot"}, "give one of any, user, assistant, system"),
        ({"any_of": ["a"], "depth": 0}, "1 to 10000, the number of last messages"),
        ({"any_of": ["a"], "depth": "4"}, "number of last messages"),
        ({"any_of": ["a"], "depth": True}, "number of last messages"),
        ({"depth": 3}, "depth has no effect here: put it into the same object as any_of"),
        ({"from": "user", "any": [{"any_of": "a"}]}, "from has no effect here"),
        ({"start": "2026-01-05", "on": "07-17"}, "same object as recurs"),
        ({"regex": "("}, "missing"),
        ({"regex": "(?=a)b"}, "neither back references nor looks ahead"),
        ({"regex": r"(a)\1"}, "neither back references"),
        ({"regex": ""}, "1 to 1,000"),
        ({"regex": "((((a{100}){100}){100}){100})"}, "regex"),
        ({"regex": ["a"]}, "give a regular expression"),
        ({"on": "July 17"}, "write a day as 2026-07-17"),
        ({"on": "02-30"}, "write a day as 2026-07-17"),
        ({"on": "2026-02-29"}, "write a day as 2026-07-17"),
        ({"on": 717}, "give a list of texts"),
        ({"since": "tomorrow"}, "write a day as 2026-12-24"),
        ({"until": 2026}, "write a day as 2026-12-24"),
        ({"between": "9-17"}, "write two times as 09:00-17:30"),
        ({"between": "09:00-09:00"}, "write two times"),
        ({"between": "09:00-25:00"}, "write two times"),
        ({"between": "09:70-10:00"}, "write two times"),
        ({"weekdays": "t"}, "no day of the week"),
        ({"weekdays": "Freitag"}, "no day of the week"),
        ({"participants": []}, "give a list of texts"),
        ({"scope": "ALL"}, "scope"),
        ({"scope": "a*b"}, "scope"),
        ({"cooldown_minutes": 5, "on": "07-17"}, "stands at the top of the trigger only"),
        ({"any": [{"javascript": "true"}]}, "stands at the top of the trigger only"),
        ({"any_of": ["x" * 400] * 200}, "the limit is 50,000"),
        ({"any_of": {1, 2}}, "not JSON"),
    ],
)
def test_a_mistake_is_answered_with_what_would_do(
    rules: RulesEvaluator, condition: object, hint: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        rules.prepare(condition)  # type: ignore[arg-type]
    assert hint in str(refused.value)


def test_nesting_is_bounded(rules: RulesEvaluator) -> None:
    condition: dict[str, Any] = {"on": "07-17"}
    for _ in range(11):
        condition = {"any": [condition]}
    assert holds(rules, condition, occasion())
    with pytest.raises(InvalidInput, match="nested deeper than 12 levels"):
        rules.prepare({"any": [condition]})
    for _ in range(100_000):
        condition = {"any": [condition]}
    with pytest.raises(InvalidInput, match="not JSON"):
        rules.prepare(condition)


def test_a_condition_that_cannot_be_evaluated_takes_no_other_with_it(rules: RulesEvaluator) -> None:
    prepared = {"bad": object(), "good": rules.prepare({"any_of": ["deadline"]})}
    verdicts = rules.evaluate(prepared, occasion(("user", "the deadline")))
    assert verdicts["good"].holds
    assert not verdicts["bad"].holds
    assert verdicts["bad"].error == "TypeError: it was not prepared by this evaluator"


def test_a_catastrophic_expression_takes_linear_time(rules: RulesEvaluator) -> None:
    said = occasion(("user", "a" * 100_000 + "b"))
    verdict = judge(rules, {"regex": "(a+)+$"}, said)
    assert not verdict.holds
    assert verdict.seconds < 1


NAMES = st.sampled_from(
    [
        *("any", "all", "none", "any_of", "all_of", "none_of", "regex", "on", "since", "until"),
        *("between", "weekdays", "participants", "scope", "recurs", "start", "lasts_minutes"),
        *("from", "depth"),
    ]
)
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20),
    st.sampled_from(["07-17", "2026-07-17", "09:00-10:00", "mon", "user", "FREQ=DAILY", "a+"]),
)  # fmt: skip
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=12,
)


@given(ANYTHING)
def test_whatever_is_given_is_refused_or_can_be_evaluated(condition: object) -> None:
    rules = RulesEvaluator()
    try:
        prepared = rules.prepare(condition)  # type: ignore[arg-type]
    except InvalidInput:
        return
    said = occasion(("user", "a message"), now=NOON, scope="team", participants=["a"])
    assert rules.evaluate({"it": prepared}, said)["it"].error is None
