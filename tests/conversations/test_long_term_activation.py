"""Which long-term memories come up: cooldown, most firings, two at random, failing conditions."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinite_memory import Config, ConfigurationError, InvalidInput, MemoryStore
from infinite_memory.features.reminders.long_term.activating import draw
from infinite_memory.features.reminders.long_term.values import Activation
from infinite_memory.testing.embedders import HashingEmbedder
from tests.stopped_clock import StoppedClock

Open = Callable[..., MemoryStore]
NOW = datetime(2026, 7, 17, 9, tzinfo=UTC)
RULE = {"any_of": ["birthday"]}
QUIET = {"any_of": ["a word that nobody says"]}


@pytest.fixture
def noon() -> StoppedClock:
    return StoppedClock(NOW)


@pytest.fixture
def timed(tmp_path: Path, noon: StoppedClock) -> MemoryStore:
    config = Config(home=tmp_path / "home", time_zone="Europe/Berlin")
    return MemoryStore.open(
        tmp_path / "home", config=config, embedder=HashingEmbedder(), clock=noon
    )


def ask(store: MemoryStore, text: str = "birthday", **arguments: object) -> Activation:
    return store.triggers.activate([{"role": "user", "content": text}], **arguments)  # type: ignore[arg-type]


def names(activation: Activation) -> list[str]:
    return [memory.name for memory in activation.activated]


def test_a_memory_rests_for_its_cooldown(timed: MemoryStore, noon: StoppedClock) -> None:
    timed.triggers.add("a", "text", {**RULE, "cooldown_minutes": 30})
    assert names(ask(timed)) == ["a"]
    noon.now += timedelta(minutes=29, seconds=59)
    rests = ask(timed)
    assert (names(rests), rests.resting, rests.random) == ([], 1, ())
    noon.now += timedelta(seconds=1)
    assert names(ask(timed)) == ["a"]
    memory = timed.triggers.get("a")
    assert (memory.firings, memory.last_fired_at) == (2, noon.now)


def test_a_memory_comes_up_as_often_as_it_may(timed: MemoryStore) -> None:
    timed.triggers.add("a", "text", {**RULE, "most_firings": 2})
    assert [names(ask(timed)) for _ in range(4)] == [["a"], ["a"], [], []]
    assert timed.triggers.get("a").firings == 2


def test_a_new_trigger_is_counted_anew(timed: MemoryStore) -> None:
    timed.triggers.add("a", "text", {**RULE, "most_firings": 1})
    assert [names(ask(timed)) for _ in range(2)] == [["a"], []]
    timed.triggers.update("a", prompt="another text")
    assert names(ask(timed)) == []
    timed.triggers.update("a", trigger={**RULE, "most_firings": 1, "cooldown_minutes": 5})
    assert timed.triggers.get("a").firings == 0
    assert [names(ask(timed)) for _ in range(2)] == [["a"], []]
    timed.triggers.delete("a")
    timed.triggers.add("a", "text", {**RULE, "most_firings": 1, "cooldown_minutes": 5})
    assert [names(ask(timed)) for _ in range(2)] == [["a"], []]


def test_firings_are_seen_by_another_store_at_once(timed: MemoryStore, tmp_path: Path) -> None:
    timed.triggers.add("a", "text", {**RULE, "most_firings": 1})
    with MemoryStore.open(tmp_path / "home", embedder=HashingEmbedder()) as other:
        assert names(ask(other)) == ["a"]
    assert names(ask(timed)) == []


def test_recalls_are_no_firings(timed: MemoryStore) -> None:
    receipt = timed.triggers.add("a", "Alice was born in May", {**RULE, "most_firings": 1})
    timed.triggers.add("b", "Bob was born in June", QUIET)
    for seed in range(5):
        ask(timed, "nothing of it", seed=seed)
        assert timed.search("when was Alice born?")
    usage = timed.usage(receipt.id)
    assert usage is not None
    assert usage.count > 5
    assert timed.triggers.get("a").firings == 0
    assert names(ask(timed)) == ["a"]


def test_a_firing_is_a_recall(timed: MemoryStore) -> None:
    receipt = timed.triggers.add("a", "text", RULE)
    ask(timed)
    usage = timed.usage(receipt.id)
    assert usage is not None
    assert (usage.count, usage.last) == (1, NOW)


def test_the_briefing_and_what_is_due_count_no_firing(timed: MemoryStore) -> None:
    timed.triggers.add("a", "text", {"on": "2026-07-17", "most_firings": 1})
    assert [reminder.id for reminder in timed.triggers.due()]
    assert "a: text" in timed.briefing().text
    assert timed.triggers.get("a").firings == 0
    assert names(ask(timed)) == ["a"]
    assert timed.triggers.due(within=timedelta(0)) == ()
    assert "a: text" not in timed.briefing().text


def drawn_by_hand(values: Sequence[str], seed: int) -> list[str]:
    """Return the values in the order of a shuffle from the front, by a second implementation."""
    numbers, left, order = random.Random(seed), list(values), []
    while left:
        place = int(numbers.random() * len(left))
        order.append(left[place])
        # The first of the rest takes the place of the value that was drawn.
        left[place] = left[0]
        left.pop(0)
    return order


@given(st.lists(st.text(max_size=3), unique=True, max_size=12), st.integers(0, 2**53))
def test_the_draw_is_a_shuffle_that_the_seed_decides(values: list[str], seed: int) -> None:
    assert list(draw(values, seed)) == drawn_by_hand(values, seed)


@pytest.mark.parametrize(
    ("seed", "drawn"), [(0, ["e", "a"]), (1, ["a", "e"]), (7, ["b", "a"]), (2**53, ["d", "e"])]
)
def test_the_same_seed_draws_the_same_two(seed: int, drawn: list[str]) -> None:
    assert list(draw(["a", "b", "c", "d", "e"], seed))[:2] == drawn


def test_two_others_are_drawn_of_the_conversation(timed: MemoryStore) -> None:
    ids = {
        timed.triggers.add(f"quiet {number}", "text", QUIET).id: f"quiet {number}"
        for number in range(6)
    }
    timed.triggers.add("loud", "text", RULE)
    timed.triggers.add("elsewhere", "text", QUIET, conversation_id="another")
    timed.triggers.add("off", "text", QUIET)
    timed.triggers.disable("off")
    for seed in range(20):
        found = ask(timed, seed=seed)
        assert names(found) == ["loud"]
        expected = drawn_by_hand(sorted(ids), seed)[:2]
        assert [memory.id for memory in found.random] == expected
        assert found.seed == seed
    assert (found.total, found.disabled) == (8, 1)
    drawn = {memory.name for _ in range(40) for memory in ask(timed).random}
    assert drawn == set(ids.values())


def test_what_rests_or_is_over_is_not_drawn(timed: MemoryStore) -> None:
    for number in range(4):
        timed.triggers.add(f"once {number}", "text", {**RULE, "most_firings": 1})
    timed.triggers.add("rests", "text", {**RULE, "cooldown_minutes": 60})
    timed.triggers.add("quiet", "text", {**QUIET, "most_firings": 1})
    assert len(names(ask(timed))) == 5
    for seed in range(10):
        found = ask(timed, "nothing of it", seed=seed)
        assert [memory.name for memory in found.random] == ["quiet"]


def test_a_memory_whose_time_is_over_comes_up_no_more(
    timed: MemoryStore, noon: StoppedClock
) -> None:
    receipt = timed.triggers.add("a", "text", RULE)
    timed.revise(receipt.id, revision=1, valid_to=NOW + timedelta(days=1))
    assert names(ask(timed)) == ["a"]
    noon.now += timedelta(days=2)
    assert names(ask(timed)) == []


def test_a_condition_on_the_scope_looks_at_the_scope_of_the_call(timed: MemoryStore) -> None:
    timed.triggers.add("at work", "text", {**RULE, "scope": "work*"}, scope="work")
    timed.triggers.add("anywhere", "text", {**RULE, "scope": "Global"}, scope="work")
    assert names(ask(timed, scope="work")) == ["at work"]
    assert names(ask(timed, scope=["Work", "Global"])) == ["at work"]
    assert names(ask(timed, scope="ALL")) == ["anywhere"]


@pytest.mark.parametrize("seed", [-1, 2**53 + 1, "1", 1.5, True])
def test_a_seed_that_is_none_is_refused(timed: MemoryStore, seed: object) -> None:
    with pytest.raises(InvalidInput, match="seed"):
        ask(timed, seed=seed)


@pytest.mark.parametrize(
    ("messages", "sentence"),
    [
        ("hello", "messages is a list"),
        ({"role": "user", "content": "x"}, "messages is a list"),
        ([{"role": "user"}], "message 1 of 1 in messages: content is missing"),
        ([{"role": "user", "content": "x", "contents": "y"}], "the nearest is 'content'"),
        (7, "messages is a list"),
    ],
)
def test_messages_that_cannot_be_used_are_refused_and_nothing_fires(
    timed: MemoryStore, messages: object, sentence: str
) -> None:
    timed.triggers.add("a", "text", {**RULE, "most_firings": 1})
    with pytest.raises(InvalidInput, match=sentence):
        timed.triggers.activate(messages)  # type: ignore[arg-type]
    assert timed.triggers.get("a").firings == 0


def test_participants_are_bounded_data(timed: MemoryStore) -> None:
    for participants in ({"user": "Alice"}, ["Alice"], "Alice", None):
        assert ask(timed, participants=participants).failures == ()
    with pytest.raises(InvalidInput, match="context"):
        ask(timed, participants={"user": object()})


def test_a_condition_in_a_language_that_is_missing_takes_no_other_with_it(
    tmp_path: Path,
) -> None:
    class Refusing:
        """An evaluator of a language that is not installed here any more."""

        def prepare(self, condition: object) -> object:
            raise ConfigurationError(f"install the extra for {condition}")

        def evaluate(self, prepared: object, occasion: object) -> dict[str, object]:
            assert not prepared, occasion
            return {}

        def close(self) -> None:
            pass

    home = tmp_path / "home"
    with MemoryStore.open(home, embedder=HashingEmbedder()) as store:
        store.triggers.add("code", "text", "true")
        store.triggers.add("rules", "text", RULE)
        assert names(ask(store)) == ["code", "rules"]
    evaluators = {"javascript": Refusing()}
    with MemoryStore.open(home, embedder=HashingEmbedder(), evaluators=evaluators) as store:  # type: ignore[arg-type]
        found = ask(store)
        assert names(found) == ["rules"]
        assert [(f.name, f.error) for f in found.failures] == [
            ("code", "install the extra for true")
        ]
        assert [m.error for m in store.triggers.list()] == [
            "install the extra for true",
            None,
        ]


def test_messages_in_chinese_and_names_in_chinese(timed: MemoryStore) -> None:
    timed.triggers.add("生日提醒", "小明的生日是七月十七日", {"any_of": ["生日"]})
    found = ask(timed, "今天是谁的生日？")
    assert [(memory.name, memory.prompt) for memory in found.activated] == [
        ("生日提醒", "小明的生日是七月十七日")
    ]


def test_ten_thousand_rules_are_read_once(timed: MemoryStore) -> None:
    """The second search neither reads the memories again nor looks up an approval."""
    for number in range(200):
        timed.triggers.add(f"name {number}", "text", {"any_of": [f"word{number}"]})
    assert names(ask(timed, "word7")) == ["name 7"]
    storage = timed._services.storage
    calls: list[str] = []
    for method in ("find", "journal", "history", "get"):
        inner = getattr(storage, method)

        def counted(*args: object, _inner: object = inner, _name: str = method, **kw: object):  # type: ignore[no-untyped-def]
            calls.append(_name)
            return _inner(*args, **kw)  # type: ignore[operator]

        setattr(storage, method, counted)
    try:
        assert names(ask(timed, "word8")) == ["name 8"]
    finally:
        for method in ("find", "journal", "history", "get"):
            delattr(storage, method)
    assert calls == []
