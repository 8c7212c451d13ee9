"""The messages of a year: sessions on a few subjects, in English, German and Chinese."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from attrs import frozen

BEGIN = datetime(2025, 1, 1, 7, 0, tzinfo=UTC)
_DAY = timedelta(days=1)
_TURNS_IN_SESSION = (4, 16)
# One sentence pattern for each language; each subject has its words in that language.
_SUBJECTS: Sequence[tuple[str, Sequence[str]]] = (
    ("en", "aquarium pump filter heater shrimp algae plants gravel".split()),
    ("en", "invoice tax receipt refund accountant deadline ledger bank".split()),
    ("en", "marathon shoes knee training pace hill stretching race".split()),
    ("en", "Apollo rocket budget milestone contract Dana review launch".split()),
    ("en", "parser token grammar regression branch commit release rollback".split()),
    ("en", "recipe dough yeast oven sourdough flour crust salt".split()),
    ("de", "Garten Tomaten Gewächshaus Gießkanne Schnecken Kompost Beete Rosen".split()),
    ("de", "Wohnung Miete Umzug Vermieter Kaution Keller Heizung Vertrag".split()),
    ("de", "Fahrrad Kette Bremse Reifen Sattel Werkstatt Licht Schaltung".split()),
    ("zh", "妈妈 生日 礼物 蛋糕 餐厅 花店 照片 聚会".split()),
    ("zh", "北京 火车票 酒店 行李 护照 航班 签证 博物馆".split()),
    ("zh", "吉他 练习 和弦 老师 音乐会 歌曲 节奏 录音".split()),
)
_PATTERNS = {
    "en": "The {0} and the {1} are on my mind, because of {2} number {3}",
    "de": "Ich denke an {0} und {1}, wegen {2} Nummer {3}",
    "zh": "我在想{0}和{1}，因为{2}第{3}号",
}
_ANSWERS = {
    "en": "Then look at the {0} first, and at {1} after {3} days",
    "de": "Dann zuerst {0} ansehen, und {1} nach {3} Tagen",
    "zh": "那么先看{0}，{3}天后再看{1}",
}


@frozen(kw_only=True)
class Turn:
    """What a user says and an assistant answers, at a moment, in one of the conversations."""

    at: datetime
    conversation: str
    messages: Sequence[dict[str, Any]]


def make_turns(count: int, conversations: Sequence[str], seed: int) -> Iterator[Turn]:
    """Yield turns over a year, in sessions of some minutes; the first conversation has most."""
    chance = random.Random(seed)
    weights = [9, *[1] * (len(conversations) - 1)]
    # A turn that is told word for word again within the hour would be a call that was repeated.
    numbers = itertools.count(1)
    sessions = _cut(count, chance)
    for number, size in enumerate(sessions):
        at = BEGIN + 365 * _DAY * number / len(sessions)
        at += timedelta(minutes=chance.randint(0, 60))
        language, words = chance.choice(_SUBJECTS)
        for _ in range(size):
            at += timedelta(seconds=chance.randint(20, 240))
            conversation = chance.choices(conversations, weights)[0]
            filled = [*chance.sample(words, 3), next(numbers)]
            said = ("user", _PATTERNS), ("assistant", _ANSWERS)
            yield Turn(
                at=at,
                conversation=conversation,
                messages=[
                    {"role": role, "content": patterns[language].format(*filled)}
                    for role, patterns in said
                ],
            )


def _cut(count: int, chance: random.Random) -> list[int]:
    """Return the sizes of sessions that have `count` turns together."""
    sizes = []
    while (left := count - sum(sizes)) > 0:
        sizes.append(min(left, chance.randint(*_TURNS_IN_SESSION)))
    return sizes
