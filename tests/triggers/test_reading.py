"""Triggers as callers write them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinite_memory import InvalidInput
from infinite_memory.core.values.conversation.trigger import Language, Trigger
from infinite_memory.features.reminders.triggers.reading import (
    read_trigger,
    trigger_from_json,
    trigger_to_json,
)

BIRTHDAY = "match_keys(context.messages, ['birthday'], 'any')"


@pytest.mark.parametrize(
    ("value", "trigger"),
    [
        (
            {"any_of": ["birthday"]},
            Trigger(language=Language.RULES, condition={"any_of": ["birthday"]}),
        ),
        (
            ' {"any_of": ["生日"], "cooldown_minutes": 60, "most_firings": 3}',
            Trigger(
                language=Language.RULES,
                condition={"any_of": ["生日"]},
                cooldown_minutes=60,
                most_firings=3,
            ),
        ),
        (BIRTHDAY, Trigger(language=Language.JAVASCRIPT, condition=BIRTHDAY)),
        ("true", Trigger(language=Language.JAVASCRIPT, condition="true")),
        ("[1]", Trigger(language=Language.JAVASCRIPT, condition="[1]")),
        (
            {"javascript": BIRTHDAY, "cooldown_minutes": 0.5},
            Trigger(language=Language.JAVASCRIPT, condition=BIRTHDAY, cooldown_minutes=0.5),
        ),
        (
            json.dumps({"javascript": BIRTHDAY, "most_firings": None}),
            Trigger(language=Language.JAVASCRIPT, condition=BIRTHDAY),
        ),
    ],
)
def test_a_trigger_is_rules_or_javascript(value: object, trigger: Trigger) -> None:
    assert read_trigger(value) == trigger
    assert read_trigger(trigger) == trigger
    assert trigger_from_json(json.loads(json.dumps(trigger_to_json(trigger)))) == trigger


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("", "the trigger is empty"),
        ("  \n", "the trigger is empty"),
        (None, "cannot be used: give rules such as"),
        (7, "cannot be used: give rules such as"),
        ([{"any_of": ["a"]}], "cannot be used: give rules such as"),
        ('{"any_of": ["a"', "not valid JSON"),
        ('{"a": ' * 100_000, "not valid JSON"),
        ({"javascript": ""}, "give the text of an expression"),
        ({"javascript": ["true"]}, "give the text of an expression"),
        ({"javascript": "true", "cooldown": 3}, "the nearest is 'cooldown_minutes'"),
        ({"on": "07-17", "cooldown_minutes": "60"}, "give a number of minutes"),
        ({"on": "07-17", "cooldown_minutes": -1}, "give a number of minutes"),
        ({"on": "07-17", "cooldown_minutes": True}, "give a number of minutes"),
        ({"on": "07-17", "cooldown_minutes": float("nan")}, "give a number of minutes"),
        ({"on": "07-17", "most_firings": 0}, "give a whole number"),
        ({"on": "07-17", "most_firings": 1.5}, "give a whole number"),
    ],
)
def test_whatever_is_no_trigger_is_refused_with_what_would_do(value: object, hint: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_trigger(value)
    assert hint in str(refused.value)


@pytest.mark.parametrize(
    "value",
    [
        None,
        "true",
        {},
        {"language": "rules"},
        {"language": "rules", "condition": "true"},
        {"language": "javascript", "condition": {"on": "07-17"}},
        {"language": "python", "condition": "True"},
        {"language": ["rules"], "condition": {}},
        {"language": "rules", "condition": {"on": "07-17"}, "color": "red"},
        {"language": "rules", "condition": {"on": "07-17"}, "most_firings": "many"},
    ],
)
def test_whatever_was_not_kept_as_a_trigger_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput):
        trigger_from_json(value)


JSON: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
    max_leaves=8,
)


@given(JSON)
def test_any_json_is_read_or_refused(value: object) -> None:
    for given_value in (value, json.dumps(value)):
        try:
            trigger = read_trigger(given_value)
        except InvalidInput:
            continue
        assert trigger_from_json(json.loads(json.dumps(trigger_to_json(trigger)))) == trigger
