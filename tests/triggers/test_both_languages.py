"""Both languages of conditions judge alike."""

from __future__ import annotations

import json
from typing import Any

import pytest

from infinite_memory.features.reminders.triggers.builtin import RulesEvaluator
from infinite_memory.features.reminders.triggers.javascript.evaluator import JavaScriptEvaluator
from tests.triggers.cases import CONVERSATION, KEYWORDS, QUESTIONS, holds, occasion


@pytest.mark.parametrize(("keyword", "text", "occurs"), KEYWORDS)
def test_a_keyword_occurs_in_a_message_or_not(
    rules: RulesEvaluator,
    shared_javascript: JavaScriptEvaluator,
    keyword: str,
    text: str,
    occurs: bool,
) -> None:
    said = occasion(("user", text))
    source = f"match_keys(context.messages, {json.dumps([keyword])}, 'any')"
    assert holds(rules, {"any_of": [keyword]}, said) is occurs
    assert holds(shared_javascript, source, said) is occurs


@pytest.mark.parametrize(("as_rules", "as_javascript", "expected"), QUESTIONS)
def test_a_condition_means_the_same_in_both_languages(
    rules: RulesEvaluator,
    shared_javascript: JavaScriptEvaluator,
    as_rules: dict[str, Any],
    as_javascript: str,
    expected: bool,
) -> None:
    said = occasion(*CONVERSATION, participants={"Alice": {"role": "friend"}})
    assert holds(rules, as_rules, said) is expected
    assert holds(shared_javascript, as_javascript, said) is expected


def test_without_messages_no_keyword_occurs(
    rules: RulesEvaluator, shared_javascript: JavaScriptEvaluator
) -> None:
    assert not holds(rules, {"any_of": ["a"]}, occasion())
    assert not holds(rules, {"all_of": ["a"]}, occasion())
    assert holds(rules, {"none_of": ["a"]}, occasion())
    assert not holds(shared_javascript, "match_keys(context.messages, ['a'])", occasion())
    assert not holds(shared_javascript, "match_keys_all(context.messages, ['a'])", occasion())


def test_the_beginning_of_a_very_long_message_is_seen(
    rules: RulesEvaluator, shared_javascript: JavaScriptEvaluator
) -> None:
    said = occasion(("user", "early " + "x" * 1_000_000 + " late"))
    for evaluator, condition in (
        (rules, {"any_of": ["%s"]}),
        (shared_javascript, "match_keys(context.messages, ['%s'])"),
    ):
        for word, is_seen in (("early", True), ("late", False)):
            text = json.loads(json.dumps(condition).replace("%s", word))
            assert holds(evaluator, text, said) is is_seen


def test_messages_beyond_200_000_characters_are_not_seen(
    rules: RulesEvaluator, shared_javascript: JavaScriptEvaluator
) -> None:
    said = occasion(("user", "early"), ("user", "x" * 150_000), ("user", "y" * 50_000))
    assert not holds(rules, {"any_of": ["early"]}, said)
    assert holds(shared_javascript, "context.messages.length === 2", said)
