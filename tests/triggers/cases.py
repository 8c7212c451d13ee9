"""A table of keywords and messages, which conditions of both languages must judge alike."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from infinite_memory.core.protocols import TriggerEvaluator
from infinite_memory.core.values.conversation.message import ChatMessage
from infinite_memory.core.values.conversation.trigger import Occasion, Verdict

NOON = datetime(2026, 7, 17, 12, tzinfo=ZoneInfo("Europe/Berlin"))
"""A Friday."""

# The keyword, the message, and whether the keyword occurs in it.
KEYWORDS: list[tuple[str, str, bool]] = [
    ("birthday", "When is her Birthday?", True),
    ("birthday", "happy birthdays", False),
    ("art", "start the party", False),
    ("art", "Art, and nothing else", True),
    ("art", "state-of-the-art", True),
    ("api", "the api_key", False),
    ("api", "the API-key", True),
    ("apple", "买apple吗", True),
    ("apple", "买pineapple吗", False),
    ("apple", "Ａｐｐｌｅ", True),
    ("ＡＰＰＬＥ", "an apple", True),
    ("生日", "我的生日快到了", True),
    ("生日", "我的生 日", False),
    ("开会", "明天開會", True),
    ("開會", "明天开会", True),
    ("微信", "用ＷｅＣｈａｔ微信联系", True),
    ("wechat", "用ＷｅＣｈａｔ微信联系", True),
    ("iphone手机", "我的iPhone手机丢了", True),
    ("cafe", "at the Café", True),
    ("Café", "at the cafe", True),
    ("straße", "in der STRASSE", True),
    ("i", "Istanbul", False),
    ("İstanbul", "istanbul", True),
    ("σας", "ΓΕΙΆ ΣΑΣ", True),
    ("дом", "пошёл домой", False),
    ("дом", "мой дом", True),
    ("생일", "오늘은 생일이야", True),
    ("c++", "I write C++ daily", True),
    ("c", "I write C++ daily", True),
    (".net", "on .NET 8", True),
    ("$5", "it costs $5", True),
    ("$5", "it costs $50", False),
    ("#ai", "about #AI today", True),
    ("v2", "the v2 release", True),
    ("v2", "the v21 release", False),
    ("don't", "I don't know", True),
    ("project deadline", "the project  deadline", True),
    ("project deadline", "the project\ndeadline", True),
    ("a.b", "axb", False),
    ("[x]", "tick [x] here", True),
    ("誕生日", "お誕生日おめでとう", True),
    ("ｶﾌｪ", "カフェで会う", True),
    ("🎂", "a 🎂 for you", True),
    ("नमस्ते", "नमस्तेजी", False),
    ("नमस्ते", "नमस्ते जी", True),
]

# The newest message is the last.
CONVERSATION = [
    ("user", "alpha"),
    ("system", "beta"),
    ("assistant", "gamma"),
    ("user", "delta gamma"),
    ("assistant", "epsilon"),
    ("user", "zeta"),
]

# The rules, the same in JavaScript, and whether they hold in the conversation.
QUESTIONS: list[tuple[dict[str, Any], str, bool]] = [
    ({"any_of": ["zeta"]}, "match_keys(context.messages, ['zeta'])", True),
    ({"any_of": ["gamma"]}, "match_keys(context.messages, ['gamma'], 'any')", True),
    ({"any_of": ["beta"]}, "match_keys(context.messages, ['beta'])", False),
    ({"any_of": ["beta"], "depth": 5}, "match_keys(context.messages, ['beta'], 'any', 5)", True),
    ({"any_of": ["beta"], "depth": 99}, "match_keys(context.messages, ['beta'], 'any', 99)", True),
    (
        {"any_of": ["epsilon"], "from": "user"},
        "match_keys(context.messages, ['epsilon'], 'user')",
        False,
    ),
    (
        {"any_of": ["epsilon"], "from": "assistant"},
        "match_keys(context.messages, ['epsilon'], 'assistant')",
        True,
    ),
    (
        # The depth counts messages of every role.
        {"any_of": ["gamma"], "from": "assistant", "depth": 3},
        "match_keys(context.messages, ['gamma'], 'assistant', 3)",
        False,
    ),
    (
        {"any_of": ["beta"], "from": "system", "depth": 6},
        "match_keys(context.messages, ['beta'], 'system', 6)",
        True,
    ),
    (
        {"all_of": ["gamma", "zeta"]},
        "match_keys_all(context.messages, ['gamma', 'zeta'], 'any')",
        True,
    ),
    (
        {"all_of": ["delta", "zeta"], "from": "user"},
        "match_keys_all(context.messages, ['delta', 'zeta'], 'user')",
        True,
    ),
    (
        {"all_of": ["delta", "epsilon"], "from": "user"},
        "match_keys_all(context.messages, ['delta', 'epsilon'], 'user')",
        False,
    ),
    (
        # A keyword of several words stands in a single message.
        {"all_of": ["epsilon zeta"]},
        "match_keys_all(context.messages, ['epsilon zeta'])",
        False,
    ),
    ({"none_of": ["alpha"]}, "!match_keys(context.messages, ['alpha'])", True),
    (
        {"none_of": ["alpha"], "depth": 6},
        "!match_keys(context.messages, ['alpha'], 'any', 6)",
        False,
    ),
    (
        {"regex": "d.lta|x"},
        "match_keys(context.messages, [/d.lta|x/i], 'user')",
        True,
    ),
    (
        {"any": [{"any_of": ["nothing"]}, {"on": "07-17"}]},
        "match_keys(context.messages, ['nothing'], 'any') ||"
        " (new Date().getMonth() === 6 && new Date().getDate() === 17)",
        True,
    ),
    (
        {"all": [{"any_of": ["zeta"]}, {"on": "2026-07-18"}]},
        "match_keys(context.messages, ['zeta']) && new Date().getDate() === 18",
        False,
    ),
    ({"weekdays": "fri"}, "new Date().getDay() === 5", True),
    ({"between": "11:00-13:00"}, "new Date().getHours() === 12", True),
    ({"participants": ["Alice"]}, "'Alice' in context.participants", True),
]


def say(*messages: tuple[str, str]) -> tuple[ChatMessage, ...]:
    return tuple(ChatMessage(role=role, content=content) for role, content in messages)


def occasion(*messages: tuple[str, str], now: datetime = NOON, **fields: Any) -> Occasion:
    return Occasion(now=now, messages=say(*messages), **fields)


def judge(evaluator: TriggerEvaluator, condition: object, said: Occasion) -> Verdict:
    """Return the verdict of a condition."""
    prepared = evaluator.prepare(condition)  # type: ignore[arg-type]
    return evaluator.evaluate({"condition": prepared}, said)["condition"]


def holds(evaluator: TriggerEvaluator, condition: object, said: Occasion) -> bool:
    """Return whether a condition holds; it must not fail."""
    verdict = judge(evaluator, condition, said)
    assert verdict.error is None
    return verdict.holds
