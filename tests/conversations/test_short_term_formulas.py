"""The formulas of short-term memory, against figures worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from infinite_memory.core.config import ShortTerm
from infinite_memory.core.values.conversation.message import ChatMessage
from infinite_memory.features.chats.short_term.adding import DocumentFrequencies, find_keywords
from infinite_memory.features.chats.short_term.choosing import Candidate
from infinite_memory.features.chats.short_term.cleanup import find_faded
from infinite_memory.features.chats.short_term.relevance import (
    flashback_weight,
    overlap,
    relevance,
    time_penalty,
    vitality,
)

NOW = datetime(2026, 7, 17, 12, tzinfo=UTC)
CONSTANTS = ShortTerm()


class Blanks:
    """A segmenter for words between blanks."""

    def segment(self, text: str) -> list[str]:
        return text.split()


def say(content: str, role: str = "user") -> ChatMessage:
    return ChatMessage(role=role, content=content)


def keywords_of(
    *messages: ChatMessage,
    frequencies: DocumentFrequencies | None = None,
    weights: Mapping[str, float] | None = None,
    **constants: float,
) -> dict[str, float]:
    frequencies = frequencies or DocumentFrequencies()
    return find_keywords(messages, Blanks(), frequencies, ShortTerm(**constants), weights)


# ln 1000 = 6.907755: the inverse document frequency of a new word in a new conversation.
@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        # 5 · 1/1 · 6.907755 · 2.7
        ([say("apollo")], {"apollo": 93.2547}),
        # 5 · 1/2 · 6.907755 · 2.7
        ([say("apollo launch")], {"apollo": 46.6273, "launch": 46.6273}),
        # 5 · 2/3 · 6.907755 · 2.7, and half of it
        ([say("apollo launch apollo")], {"apollo": 62.1698, "launch": 31.0849}),
        ([say("apollo", "assistant")], {"apollo": 69.0776}),
        ([say("apollo", "system")], {"apollo": 34.5388}),
        # A further role counts 1.
        ([say("apollo", "tool")], {"apollo": 34.5388}),
        # The weights of two messages are added.
        ([say("apollo"), say("apollo", "assistant")], {"apollo": 162.3322}),
        ([say("")], {}),
    ],
)
def test_a_keyword_weighs_tf_idf_times_five_times_its_role(
    messages: list[ChatMessage], expected: dict[str, float]
) -> None:
    assert keywords_of(*messages) == expected


def test_a_word_of_a_long_message_counts_as_one_of_thirty() -> None:
    long = " ".join(f"w{number}" for number in range(60))
    # 5 · 1/30 · 6.907755 · 2.7 = 3.1085, although the message has 60 words.
    assert set(keywords_of(say(long)).values()) == {3.1085}


def test_however_long_a_message_is_a_word_counts_by_its_share() -> None:
    pasted = " ".join(["apollo", *(f"w{number}" for number in range(9))] * 100)
    # 5 · 1/10 · 6.907755 · 2.7, as in a message of ten words.
    assert keywords_of(say(pasted))["apollo"] == 9.3255
    pasted = " ".join([*(f"w{number:03}" for number in range(200)), "zebra", "zebra"])
    assert list(keywords_of(say(pasted)))[:2] == ["zebra", "w000"]


def test_messages_that_say_nothing_have_no_keywords() -> None:
    assert keywords_of(say("ok, thanks!"), say("好的", "assistant")) == {}
    assert set(keywords_of(say("ok thanks"), say("apollo"))) == {"apollo"}


def test_the_inverse_document_frequency_falls_with_the_memories_that_have_the_word() -> None:
    frequencies = DocumentFrequencies.of([["apollo"], ["apollo", "moon"], ["moon"], ["sun"]])
    assert frequencies.inverse("apollo", 1000) == pytest.approx(math.log(1004 / 3))
    assert frequencies.inverse("sun", 1000) == pytest.approx(math.log(1004 / 2))
    assert frequencies.inverse("new", 1000) == pytest.approx(math.log(1004 / 1))
    # 5 · 1/2 · ln(1004/3) · 2.7 = 39.2387 and 5 · 1/2 · ln(1004/1) · 2.7 = 46.6543
    assert keywords_of(say("apollo new"), frequencies=frequencies) == {
        "new": 46.6543,
        "apollo": 39.2387,
    }


def test_at_most_72_keywords_of_weight_0_8_and_more_are_kept() -> None:
    many = " ".join(f"w{number:03}" for number in range(100))
    kept = keywords_of(say(many))
    assert list(kept) == [f"w{number:03}" for number in range(72)]
    # 5 · 1/30 · 6.907755 · 0.6 = 0.6908 is too little.
    assert keywords_of(say(many, "system"), weights={"system": 0.6}) == {}


def test_a_caller_may_replace_the_weight_of_a_role() -> None:
    assert keywords_of(say("apollo"), weights={"user": 1.0}) == {"apollo": 34.5388}
    mixed = keywords_of(say("apollo", "assistant"), weights={"user": 1.0})
    assert mixed == {"apollo": 69.0776}


@pytest.mark.parametrize(
    ("age", "penalty"),
    [
        (timedelta(0), 0.0),
        (timedelta(hours=1), 0.10761),
        # 15 · (1 − e^(−0.1728))
        (timedelta(days=1), 2.38041),
        (timedelta(days=7), 10.52525),
        # 15 · (1 − e^(−5.184))
        (timedelta(days=30), 14.91592),
        (timedelta(days=365), 15.0),
        # The future has no penalty.
        (timedelta(days=-1), 0.0),
    ],
)
def test_the_penalty_grows_with_the_age(age: timedelta, penalty: float) -> None:
    assert time_penalty(NOW - age, NOW, CONSTANTS) == pytest.approx(penalty, abs=5e-6)


def test_the_overlap_adds_both_weights_of_the_shared_keywords() -> None:
    assert overlap({"a": 3.0, "b": 1.5}, {"a": 2.0, "c": 9.0}) == 5.0
    assert overlap({}, {"a": 2.0}) == 0.0
    assert overlap({"a": 1.0, "b": 2.0}, {"b": 4.0, "a": 8.0}) == 15.0


def test_relevance_is_overlap_less_penalty_plus_activation() -> None:
    day = NOW - timedelta(days=1)
    value = relevance(
        {"a": 3.0}, {"a": 2.0}, happened_at=day, activation=7.0, now=NOW, constants=CONSTANTS
    )
    assert value == pytest.approx(5.0 - 2.38041 + 7.0, abs=5e-6)
    left = vitality(happened_at=day, activation=7.0, now=NOW, constants=CONSTANTS)
    assert left == pytest.approx(7.0 - 2.38041, abs=5e-6)


def test_a_flashback_weighs_activation_plus_age_in_days() -> None:
    assert flashback_weight(happened_at=NOW - timedelta(days=3), activation=5.0, now=NOW) == 8.0
    assert flashback_weight(happened_at=NOW - timedelta(hours=12), activation=0.0, now=NOW) == 0.5
    assert flashback_weight(happened_at=NOW + timedelta(days=1), activation=2.0, now=NOW) == 2.0


def memory(name: str, age: timedelta, activation: float = 0.0) -> Candidate:
    return Candidate(id=name, happened_at=NOW - age, keywords={}, activation=activation)


# −15 · (1 − e^(−2e-9 · Δt)) is −5 at Δt = ln 1.5 / 2e-9 ms = 56 hours 18 minutes 53 seconds.
@pytest.mark.parametrize(
    ("age", "activation", "fades"),
    [
        (timedelta(hours=56, minutes=18), 0.0, False),
        (timedelta(hours=56, minutes=19), 0.0, True),
        (timedelta(days=7), 5.0, True),
        (timedelta(days=7), 6.0, False),
        (timedelta(days=364), 10.0, False),
        (timedelta(days=364), 9.9, True),
        (timedelta(days=365), 100.0, False),
        (timedelta(days=365, seconds=1), 100.0, True),
    ],
)
def test_a_memory_fades_by_its_vitality_and_after_a_year(
    age: timedelta, activation: float, fades: bool
) -> None:
    faded = find_faded([memory("a", age, activation)], NOW, ShortTerm(keep=0))
    assert faded == (("a",) if fades else ())


def test_a_cleanup_always_keeps_512() -> None:
    old = [memory(f"old-{n:04}", timedelta(days=10, minutes=n)) for n in range(1000)]
    young = [memory(f"young-{n:04}", timedelta(minutes=n)) for n in range(100)]
    faded = find_faded([*old, *young], NOW, CONSTANTS)
    assert len(faded) == 1000 - (512 - 100)
    # The most alive of the old ones stay: the youngest.
    assert set(faded) == {f"old-{n:04}" for n in range(412, 1000)}
    # The least alive comes first.
    assert faded[0] == "old-0999"
    assert find_faded(old[:512], NOW, CONSTANTS) == ()
    many = [memory(f"m-{n}", timedelta(minutes=n)) for n in range(600)]
    assert find_faded([*old, *many], NOW, CONSTANTS)[::-1][0] == "old-0000"
    assert len(find_faded([*old, *many], NOW, CONSTANTS)) == 1000
