"""Conditions in JavaScript: what they see, what they give, and how mistakes are answered."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from infinite_memory import ConfigurationError, InvalidInput
from infinite_memory.core.values.conversation.message import ChatMessage
from infinite_memory.core.values.conversation.trigger import Occasion
from infinite_memory.features.reminders.triggers.javascript.evaluator import JavaScriptEvaluator
from tests.triggers.cases import holds, judge, occasion

FOREVER = "context.conversation_id === 'slow' ? (() => { while (true); })() : true"
"""A condition that is stored, and takes too long in the conversation "slow"."""


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("match_keys(context.messages, ['birthday', '生日'], 'any')", True),
        (
            "match_keys(context.messages, ['anniversary'], 'any') ||"
            " (new Date().getMonth() === 6 && new Date().getDate() === 17)",
            True,
        ),
        ("match_keys_all(context.messages, ['project', 'deadline'], 'user')", False),
        ("match_keys(context.messages, ['birthday', '生日'], 'any') === 2", True),
        ("match_keys(context.messages, 'birthday')", True),
        ("match_keys(context.messages, /BIRTH/)", False),
        ("match_keys(context.messages, [/BIRTH/i, '生日']) === 2", True),
        # The place of a sticky or global expression is not kept from one message to the next.
        ("const key = /birthday/g; match_keys(context.messages, [key, key]) === 2", True),
        ("match_keys_all(context.messages, [/my birthday.*生日/, 'cake'])", True),
        ("match_keys(context.messages.filter(m => m.name === 'Bob'), ['cake'])", True),
        ("match_keys([{ role: 'user', content: 'Made Up' }], ['made up'], 'user', 1)", True),
        ("context.messages.length === 2 && context.messages[0].role === 'user'", True),
        ("context.messages[0].timestamp === Date.UTC(2026, 6, 17, 9)", True),
        ("context.messages[0].name === undefined && context.messages[1].name === 'Bob'", True),
        ("context.messages[1].timestamp === undefined", True),
        ("context.conversation_id === 'c1'", True),
        ("context.participants.Alice.age > 30", True),
        ("const a = 1; let b = 2; a < b", True),
        ("// a comment\nmatch_keys(context.messages, ['cake']) // and another", True),
        ("if (context.messages.length > 1) { true } else { false }", True),
        ("/\\p{Unified_Ideograph}/u.test(context.messages[1].content)", True),
        ("JSON.stringify({ a: [1] }) === '{\"a\":[1]}' && parseInt('7', 10) === 7", True),
        ("0", False),
        ("match_keys(context.messages, ['cake'], 'user')", False),
        ("match_keys(context.messages, ['cake'], 'both')", True),
        ("match_keys([{ role: 'system', content: 'cake' }], ['cake'], 'both')", False),
        ("match_keys_all(context.messages, ['cake', 'birthday'], 'both')", True),
    ],
)
def test_a_condition_gives_what_it_gives_in_javascript(
    shared_javascript: JavaScriptEvaluator, source: str, expected: bool
) -> None:
    said = Occasion(
        now=datetime(2026, 7, 17, 12, tzinfo=ZoneInfo("Europe/Berlin")),
        messages=(
            ChatMessage(
                role="user",
                content="my birthday",
                said_at=datetime(2026, 7, 17, 9, tzinfo=UTC),
            ),
            ChatMessage(role="assistant", content="生日 cake", name="Bob"),
        ),
        conversation_id="c1",
        participants={"Alice": {"age": 31}},
    )
    assert holds(shared_javascript, source, said) is expected


@pytest.mark.parametrize(
    "source",
    [
        "NaN",
        "-1",
        "0.5",
        "0n",
        "''",
        "null",
        "undefined",
        "[]",
        "'false'",
        "10n ** 30n",
        "Symbol('x')",
    ],
)
def test_what_is_neither_true_nor_false_nor_a_count_is_refused(
    shared_javascript: JavaScriptEvaluator, source: str
) -> None:
    with pytest.raises(InvalidInput, match=r"answers neither true nor false.*write !! before it"):
        shared_javascript.prepare(source)


def test_an_answer_that_is_no_boolean_later_is_an_error_and_does_not_hold(
    shared_javascript: JavaScriptEvaluator,
) -> None:
    source = "context.conversation_id === 'c1' ? ['party'] : false"
    verdict = judge(shared_javascript, source, occasion(conversation_id="c1"))
    assert (verdict.holds, verdict.is_timeout) == (False, False)
    assert "answers neither true nor false" in str(verdict.error)


@pytest.mark.parametrize("name", ["match_keys", "match_keys_all"])
def test_an_unknown_scope_word_is_refused_with_those_that_there_are(
    shared_javascript: JavaScriptEvaluator, name: str
) -> None:
    with pytest.raises(InvalidInput, match=r"no scope 'usr': give any, both, user, assistant"):
        shared_javascript.prepare(f"{name}(context.messages, ['cake'], 'usr') > 0")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("zone", "source"),
    [
        (UTC, "new Date().getHours() === 22 && new Date().getTimezoneOffset() === 0"),
        (ZoneInfo("Europe/Berlin"), "new Date().getDate() === 18 && new Date().getHours() === 0"),
        (ZoneInfo("Europe/Berlin"), "new Date(2026, 0, 1).getTimezoneOffset() === -60"),
        (ZoneInfo("Europe/Berlin"), "new Date(2026, 6, 1).getTimezoneOffset() === -120"),
        (ZoneInfo("America/New_York"), "new Date(2026, 0, 1).getTimezoneOffset() === 300"),
        (ZoneInfo("Asia/Kolkata"), "new Date().getHours() === 4 && new Date().getMinutes() === 0"),
        (ZoneInfo("Europe/London"), "new Date(2026, 6, 1).getTimezoneOffset() === -60"),
        (timezone(timedelta(hours=5, minutes=45)), "new Date().getTimezoneOffset() === -345"),
        (timezone(timedelta(hours=-3)), "new Date().getTimezoneOffset() === 180"),
        (timezone(timedelta(0)), "new Date().toISOString() === '2026-07-17T22:30:00.000Z'"),
    ],
)
def test_the_time_is_that_of_the_occasion_in_its_zone(
    javascript: JavaScriptEvaluator, zone: timezone, source: str
) -> None:
    moment = datetime(2026, 7, 17, 22, 30, tzinfo=UTC)
    assert holds(javascript, source, Occasion(now=moment.astimezone(zone)))


@pytest.mark.thorough
@pytest.mark.parametrize(
    "source",
    [
        "Date.now() === 1784284200000 && new Date().getTime() === Date.now()",
        "new Date() instanceof Date && new Date().constructor === Date && Date.name === 'Date'",
        "class Later extends Date {}; new Later().getTime() === Date.now()",
        "typeof Date() === 'string' && Date().includes('2026')",
        "new Date(0).getTime() === 0 && new Date('2026-01-01T00:00:00Z').getUTCFullYear() === 2026",
        "new Date(2026, 1, 3).getDate() === 3 && Date.UTC(1970, 0) === 0",
        "new (new Date().constructor)().getTime() === Date.now()",
        "typeof performance === 'undefined'",
    ],
)
def test_a_condition_cannot_learn_another_time(
    shared_javascript: JavaScriptEvaluator, source: str
) -> None:
    moment = datetime(2026, 7, 17, 10, 30, tzinfo=UTC)
    assert holds(shared_javascript, source, Occasion(now=moment))


def test_random_numbers_are_the_same_for_the_same_condition_and_moment(
    shared_javascript: JavaScriptEvaluator,
) -> None:
    source = "const a = Math.random(), b = Math.random(); a >= 0 && a < 1 && a !== b && a < 0.5"
    moments = [datetime(2026, 7, 17, tzinfo=UTC) + timedelta(minutes=n) for n in range(200)]
    first = [holds(shared_javascript, source, Occasion(now=moment)) for moment in moments]
    assert first == [holds(shared_javascript, source, Occasion(now=moment)) for moment in moments]
    assert 70 < sum(first) < 130


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("condition", "hint"),
    [
        ("", "is no text in JavaScript"),
        (None, "is no text in JavaScript"),
        (True, "is no text in JavaScript"),
        ({"any_of": ["a"]}, "is no text in JavaScript"),
        ("x" * 20_001, "has 20,001 characters and the limit is 20,000"),
        ("match_keys(context.messages, ['a'", "at line 1, column"),
        ("true &&\n  (false", "at line 2, column"),
        ("return true", "without return"),
        ("let let = 3", "SyntaxError"),
        ("import os from 'os'", "SyntaxError"),
        ("matchKeys(context.messages, ['a'])", "the nearest is 'match_keys'"),
        ("messages.length", "nothing called 'messages'"),
        ("require('fs')", "there are match_keys, match_keys_all, context"),
        ("birthday", 'or rules such as {"any_of": ["birthday"]}'),
        ("() => true", "it is a function, which would always hold"),
        ("(context) => match_keys(context.messages, ['a'])", "it is a function"),
        ("(async () => true)()", "it is a promise"),
        ("while (true);", "longer than half a second on a short message"),
        ("'x'.repeat(2 ** 29)", "out of memory on a short message"),
    ],
)
def test_a_condition_that_cannot_work_is_refused_with_what_would_do(
    shared_javascript: JavaScriptEvaluator, condition: object, hint: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        shared_javascript.prepare(condition)  # type: ignore[arg-type]
    assert hint in str(refused.value)


def test_a_condition_that_fails_on_some_messages_only_is_accepted(
    shared_javascript: JavaScriptEvaluator,
) -> None:
    source = "context.participants.Alice.age > 30"
    assert holds(shared_javascript, source, occasion(participants={"Alice": {"age": 31}}))
    verdict = judge(shared_javascript, source, occasion())
    assert not verdict.holds
    assert verdict.error == "TypeError: cannot read property 'age' of undefined"


def test_a_failing_condition_takes_no_other_with_it(
    shared_javascript: JavaScriptEvaluator, caplog: pytest.LogCaptureFixture
) -> None:
    sources = {
        "first": "match_keys(context.messages, ['cake'])",
        "failing": "context.participants.secret.x",
        "slow": "context.messages.length > 1 ? (() => { while (true); })() : true",
        "last": "match_keys(context.messages, ['cake'])",
    }
    prepared = {name: shared_javascript.prepare(source) for name, source in sources.items()}
    prepared["foreign"] = object()
    verdicts = shared_javascript.evaluate(prepared, occasion(("user", "a"), ("user", "cake")))
    assert [name for name, verdict in verdicts.items() if verdict.holds] == ["first", "last"]
    assert [name for name, verdict in verdicts.items() if verdict.is_timeout] == ["slow"]
    assert verdicts["slow"].error == "it took longer than half a second"
    assert verdicts["foreign"].error == "it was not prepared by this evaluator"
    assert caplog.messages == [
        "3 of 5 conditions in JavaScript failed: 1 other, 1 TypeError, 1 too late"
    ]


@pytest.mark.thorough
def test_a_condition_that_is_late_three_times_in_a_row_rests_for_an_hour() -> None:
    now = 0.0
    evaluator = JavaScriptEvaluator(clock=lambda: now)
    slow, quick = occasion(conversation_id="slow"), occasion(conversation_id="quick")
    prepared = {
        "it": evaluator.prepare(FOREVER),
        "other": evaluator.prepare("true"),
    }
    try:
        for _ in range(2):
            assert evaluator.evaluate(prepared, slow)["it"].is_timeout
        # A time that is not too long ends the row.
        assert evaluator.evaluate(prepared, quick)["it"].holds
        for _ in range(3):
            assert evaluator.evaluate(prepared, slow)["it"].is_timeout
        resting = evaluator.evaluate(prepared, quick)
        assert resting["other"].holds
        assert not resting["it"].holds
        assert resting["it"].error == (
            "it rests for 60 minutes, since it took longer than half a second three times in a row"
        )
        now = 3601.0
        assert evaluator.evaluate(prepared, slow)["it"].is_timeout
        assert not evaluator.evaluate(prepared, quick)["it"].holds
        now = 7202.0
        assert evaluator.evaluate(prepared, quick)["it"].holds
    finally:
        evaluator.close()


def test_without_the_extra_the_error_names_it(
    javascript: JavaScriptEvaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "_quickjs", None)
    with pytest.raises(ConfigurationError, match=r"\[triggers\]"):
        javascript.prepare("true")


def test_the_texts_of_conditions_and_messages_are_in_no_log(
    shared_javascript: JavaScriptEvaluator, caplog: pytest.LogCaptureFixture
) -> None:
    said = occasion(("user", "s3cret-message"))
    judge(shared_javascript, "context.participants.s3cret.x.y", said)
    judge(shared_javascript, "throw context.messages[0].content", said)
    assert len(caplog.records) == 2
    assert "s3cret" not in caplog.text


def test_a_closed_evaluator_starts_nothing(javascript: JavaScriptEvaluator) -> None:
    prepared = {"it": javascript.prepare("true")}
    javascript.close()
    javascript.close()
    verdict = javascript.evaluate(prepared, occasion())["it"]
    assert (verdict.holds, verdict.error) == (False, "the store is closed")
    with pytest.raises(ConfigurationError, match="the store is closed"):
        javascript.prepare("true")
