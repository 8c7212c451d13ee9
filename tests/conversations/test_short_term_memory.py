"""Short-term memory through the store: kept, called to mind, fading, forgotten by a pattern."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from infinite_memory import Config, InvalidInput, MemoryStore, Outcome, ReadOnly, Status
from infinite_memory.core.config import ShortTerm
from infinite_memory.testing.embedders import HashingEmbedder
from tests.harness.costs import count_calls

OpenStore = Callable[..., MemoryStore]
Message = dict[str, Any]


def said(content: str, role: str = "user", **fields: Any) -> list[Message]:
    return [{"role": role, "content": content, **fields}]


def texts(hits: Any) -> list[str]:
    return [hit.memory.text for hit in hits]


def test_a_memory_comes_up_by_its_keywords(store: MemoryStore, clock: Any) -> None:
    receipt = store.conversations.add_short_term(said("The pump of the aquarium rattles"), "chat")
    assert receipt.outcome is Outcome.STORED
    clock.now += timedelta(minutes=21)
    recall = store.conversations.search_short_term(
        said("Do you know a shop for aquarium pumps?"), "chat"
    )
    assert texts(recall.top) == ["user: The pump of the aquarium rattles"]
    assert set(recall.top[0].shared) == {"aquarium", "pump"}
    assert recall.top[0].relevance > 5
    assert recall.searched == 1
    assert recall.next == recall.flashbacks == ()


def test_nothing_of_the_last_twenty_minutes_comes_up(store: MemoryStore, clock: Any) -> None:
    store.conversations.add_short_term(said("The pump of the aquarium rattles"), "chat")
    clock.now += timedelta(minutes=19)
    recall = store.conversations.search_short_term(said("aquarium pump"), "chat")
    assert list(recall) == []
    assert recall.searched == 1


def test_a_timestamp_of_the_last_message_is_the_time_of_the_memory(store: MemoryStore) -> None:
    receipt = store.conversations.add_short_term(
        [
            *said("first", timestamp="2026-04-01T08:00:00Z"),
            *said("last", timestamp=1_775_000_000_000),
        ],
        "chat",
    )
    memory = store.get(receipt.id)
    assert memory.happened_at.isoformat() == "2026-03-31T23:33:20+00:00"
    assert memory.text == "user: first\nuser: last"


def test_what_comes_up_gains_five_and_two(store: MemoryStore, clock: Any) -> None:
    for word in ("aquarium pump", "aquarium filter", "aquarium light", "aquarium"):
        store.conversations.add_short_term(said(word), "chat")
        clock.now += timedelta(minutes=30)
    first = store.conversations.search_short_term(said("aquarium"), "chat", seed=3)
    tiers = [*first.top, *first.next, *first.flashbacks]
    assert [hit.activation for hit in tiers] == [0.0] * 4
    usage = [store.usage(hit.memory.id) for hit in tiers]
    assert [used and (used.count, used.activation) for used in usage] == [
        (1, 5.0),
        (1, 5.0),
        (1, 2.0),
        (1, 0.0),
    ]
    again = store.conversations.search_short_term(said("aquarium"), "chat", seed=3)
    assert {hit.memory.id: hit.activation for hit in again.top} == {
        hit.memory.id: 5.0 for hit in first.top
    }


def test_other_conversations_come_behind_the_own_one(store: MemoryStore, clock: Any) -> None:
    store.conversations.add_short_term(said("The pump of the aquarium rattles"), "chat")
    store.conversations.add_short_term(said("The aquarium has a new pump"), "other")
    clock.now += timedelta(hours=1)
    found = store.conversations.search_short_term(said("aquarium pump"), "other")
    assert [hit.memory.conversation_id for hit in found] == ["other", "chat"]
    assert [hit.memory.conversation_id for hit in found.others] == ["chat"]
    assert store.conversations.delete_short_term("rattles", "other").ids == ()
    assert len(store.conversations.search_short_term(said("aquarium pump"), "chat").top) == 1


def test_nothing_leaves_a_conversation_in_a_private_scope(store: MemoryStore, clock: Any) -> None:
    store.scopes.create("vault", sensitivity="private")
    store.conversations.add_short_term(said("The pump of the aquarium"), "chat", scope="vault")
    clock.now += timedelta(hours=1)
    assert list(store.conversations.search_short_term(said("aquarium pump"), "other")) == []
    assert not store.search("aquarium pump")


def test_nothing_leaves_conversations_that_have_scopes_of_their_own(
    open_store: Callable[..., MemoryStore], clock: Any
) -> None:
    store = open_store(conversation_scopes=True)
    store.conversations.add_short_term(said("The pump of the aquarium rattles"), "chat")
    clock.now += timedelta(hours=1)
    assert list(store.conversations.search_short_term(said("aquarium pump"), "other")) == []
    assert not store.search("aquarium pump")
    assert list(store.conversations.search_short_term(said("aquarium pump"), "chat"))


def test_the_same_messages_again_are_kept_once(store: MemoryStore, clock: Any) -> None:
    first = store.conversations.add_short_term(said("The pump rattles"), "chat")
    again = store.conversations.add_short_term(said("The pump rattles"), "chat")
    assert (again.id, again.outcome) == (first.id, Outcome.UNCHANGED)
    clock.now += timedelta(hours=2)
    assert store.conversations.add_short_term(said("The pump rattles"), "chat").id != first.id


def test_a_call_that_is_repeated_after_another_is_kept_once(store: MemoryStore) -> None:
    first, other = said("The terrarium is full"), said("The aquarium is empty")
    for messages in (first, other, first, other):
        store.conversations.add_short_term(messages, "chat")
    assert store.conversations.stats("chat").short_term.count == 2
    # The same messages in another scope are another memory.
    store.conversations.add_short_term(first, "chat", scope="home")
    store.conversations.add_short_term(first, "chat", scope="HOME")
    assert store.conversations.stats("chat", scope="home").short_term.count == 3


def test_a_word_of_many_memories_weighs_less(store: MemoryStore, clock: Any) -> None:
    ids = []
    for word in ("pump", "filter", "light"):
        receipt = store.conversations.add_short_term(said(f"aquarium {word}"), "chat")
        ids.append(receipt.id)
        clock.now += timedelta(minutes=30)
    weights = [store.get(memory_id).context["short_term"] for memory_id in ids]
    aquarium = [payload["keywords"]["aquarium"] for payload in weights]  # type: ignore[index,call-overload]
    assert aquarium == sorted(aquarium, reverse=True)
    # 5 · 1/2 · ln((2 + 1000) / (2 + 1)) · 2.7
    assert aquarium[2] == pytest.approx(39.2252, abs=1e-3)


def test_roles_and_callers_weigh_differently(store: MemoryStore) -> None:
    messages = [*said("aquarium"), *said("terrarium", "assistant")]
    receipt = store.conversations.add_short_term(messages, "chat", role_weights={"assistant": 27})
    payload = store.get(receipt.id).context["short_term"]
    assert list(payload["keywords"]) == ["terrarium", "aquarium"]  # type: ignore[index,call-overload]


def test_two_character_words_bring_chinese_memories_up(store: MemoryStore, clock: Any) -> None:
    store.conversations.add_short_term(said("下个月是妈妈的生日，要买礼物"), "聊天")
    clock.now += timedelta(minutes=30)
    for question in ("生日怎么过？", "礼物选好了吗", "媽媽喜歡什麼"):
        recall = store.conversations.search_short_term(said(question), "聊天", seed=1)
        assert texts(recall.top) == ["user: 下个月是妈妈的生日，要买礼物"], question


def test_a_long_message_has_keywords(store: MemoryStore, clock: Any) -> None:
    filler = " ".join(f"word{number}" for number in range(300))
    store.conversations.add_short_term(said(f"The zeppelin landed. {filler}. A zeppelin!"), "chat")
    clock.now += timedelta(minutes=30)
    recall = store.conversations.search_short_term(said("a zeppelin?"), "chat")
    assert len(recall.top) == 1


def test_what_has_faded_is_archived_and_can_be_brought_back(
    open_store: OpenStore, clock: Any
) -> None:
    store = open_store(short_term=ShortTerm(keep=2))
    for number in range(5):
        store.conversations.add_short_term(said(f"topic{number} number{number}"), "chat")
        clock.now += timedelta(minutes=30)
    assert store.conversations.clean_up("chat").archived == ()
    clock.now += timedelta(days=10)
    cleanup = store.conversations.clean_up("chat")
    assert (len(cleanup.archived), cleanup.remaining) == (3, 2)
    assert {store.get(memory_id).status for memory_id in cleanup.archived} == {Status.ARCHIVED}
    assert store.conversations.clean_up("chat").archived == ()
    store.undo()
    assert store.conversations.search_short_term(said("x"), "chat").searched == 5


def test_without_an_id_every_conversation_is_searched_and_tidied(
    open_store: OpenStore, clock: Any
) -> None:
    store = open_store(short_term=ShortTerm(keep=1))
    for conversation in ("a", "b"):
        for number in range(3):
            store.conversations.add_short_term(said(f"topic{number} mill"), conversation)
            clock.now += timedelta(minutes=30)
    found = store.conversations.search(keywords=["mill"], term="short_term")
    assert {hit.memory.conversation_id for hit in found} == {"a", "b"}
    assert len(found) == 6
    clock.now += timedelta(days=10)
    cleanup = store.conversations.clean_up()
    assert (len(cleanup.archived), cleanup.remaining) == (4, 2)
    for conversation in ("a", "b"):
        assert store.conversations.search_short_term(said("x"), conversation).searched == 1


def test_the_upkeep_archives_what_has_faded(open_store: OpenStore, clock: Any) -> None:
    store = open_store(short_term=ShortTerm(keep=1))
    for conversation in ("a", "b"):
        for number in range(3):
            store.conversations.add_short_term(said(f"topic{number} number{number}"), conversation)
            clock.now += timedelta(minutes=30)
    clock.now += timedelta(days=10)
    report = store.upkeep.optimize(jobs=["fade"])
    assert [len(job.steps) for job in report.jobs] == [4]
    assert store.conversations.search_short_term(said("x"), "a").searched == 1


def test_a_pattern_forgets_and_one_undo_brings_back(store: MemoryStore, clock: Any) -> None:
    for text in ("The cat sleeps", "The education of a dog", "一只猫"):
        store.conversations.add_short_term(said(text), "chat")
        clock.now += timedelta(minutes=30)
    assert len(store.conversations.delete_short_term("cat", "chat").ids) == 1
    assert len(store.conversations.delete_short_term("/EDUC|貓|猫/i", "chat").ids) == 2
    assert store.conversations.delete_short_term("cat", "chat").ids == ()
    store.undo()
    assert store.conversations.search_short_term(said("x"), "chat").searched == 2


def test_the_constants_are_a_setting(open_store: OpenStore, clock: Any) -> None:
    store = open_store(short_term=ShortTerm(recent_minutes=0, top=1, next=0, flashbacks=0))
    store.conversations.add_short_term(said("aquarium pump"), "chat")
    recall = store.conversations.search_short_term(said("aquarium"), "chat")
    assert len(recall.top) == 1


class Letters:
    """A segmenter whose words are letters."""

    def segment(self, text: str) -> list[str]:
        return [letter for letter in text if letter.isalpha()]


def test_a_segmenter_can_be_plugged_in(clock: Any) -> None:
    config = Config(short_term=ShortTerm(recent_minutes=0))
    with MemoryStore.open(
        "memory://", config=config, embedder=HashingEmbedder(), clock=clock, segmenter=Letters()
    ) as store:
        store.conversations.add_short_term(said("xyz"), "chat")
        recall = store.conversations.search_short_term(said("z-axis"), "chat")
        assert set(recall.top[0].shared) == {"z", "x"}


def test_frequent_stats_and_patterns(store: MemoryStore, clock: Any) -> None:
    assert store.conversations.frequent_conversation() is None
    store.conversations.log(said("The aquarium is empty"), "chat")
    for number in range(3):
        store.conversations.add_short_term(said(f"memories of topic{number}"), "chat")
        clock.now += timedelta(minutes=30)
    store.conversations.add_short_term(said("another subject"), "other")
    store.conversations.search_short_term(said("memories"), "chat")
    assert store.conversations.frequent_conversation() == ("chat", 3)
    stats = store.conversations.stats("chat")
    assert (stats.messages, stats.short_term.count, stats.long_term.count) == (1, 3, 0)
    assert stats.short_term.greatest_activation == 5.0
    patterns = store.conversations.analyze_patterns("chat", top_keywords=1)
    assert [(word.word, word.memories) for word in patterns.keywords] == [("memories", 3)]
    assert sum(patterns.by_hour.values()) == 3
    assert len(patterns.most_recalled) == 3


def test_the_most_frequent_may_have_a_scope_of_its_own(open_store: OpenStore) -> None:
    store = open_store(conversation_scopes=True)
    store.conversations.add_short_term(said("the aquarium"), "chat")
    assert store.conversations.frequent_conversation() == ("chat", 1)
    assert store.conversations.frequent_conversation(scope="Global") is None


def test_a_repeated_call_says_how_the_memory_is_found(store: MemoryStore) -> None:
    first = store.conversations.add_short_term(said("The pump rattles"), "chat")
    again = store.conversations.add_short_term(said("The pump rattles"), "chat")
    assert again.searchable is first.searchable


def test_both_terms_are_searched_by_keywords_dates_and_score(
    store: MemoryStore, clock: Any
) -> None:
    first = clock.now
    for text in ("The aquarium is empty", "The terrarium is full", "我的生日快到了"):
        store.conversations.add_short_term(said(text), "chat")
        clock.now += timedelta(hours=1)
    search = store.conversations.search
    assert texts(search("chat", keywords=["aquariums"])) == ["user: The aquarium is empty"]
    assert texts(search("chat", query="什么时候生日")) == ["user: 我的生日快到了"]
    assert len(search("chat", sort_by="time")) == 3
    assert texts(search("chat", sort_by="time", ascending=True))[0] == "user: The aquarium is empty"
    until = first + timedelta(minutes=30)
    assert texts(search("chat", date_to=until)) == ["user: The aquarium is empty"]
    store.conversations.search_short_term(said("terrarium"), "chat")
    assert texts(search("chat", min_score=1.0)) == ["user: The terrarium is full"]
    assert len(search("chat", max_score=0.5)) == 2
    assert search("chat", term="long_term") == ()
    with pytest.raises(InvalidInput, match="date_from"):
        search("chat", date_from=until, date_to=first)
    for wrong in ({"min_score": "5"}, {"max_score": float("nan")}, {"query": 5}):
        with pytest.raises(InvalidInput, match="cannot be used: give a"):
            store.conversations.search("talk-1", **wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="sort_by"):
        search("chat", sort_by="newest")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"role_weights": {"user": "much"}}, "the weight of the role 'user'"),
        ({"role_weights": {"user": float("nan")}}, "the weight of the role 'user'"),
        ({"role_weights": [2.7]}, "roleWeights is an object"),
        ({"role_weights": {"user": -1}}, "0 to 1000"),
    ],
)
def test_weights_that_cannot_be_used_are_refused(
    store: MemoryStore, options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        store.conversations.add_short_term(said("aquarium"), "chat", **options)
    with pytest.raises(InvalidInput, match=sentence):
        store.conversations.search_short_term(said("aquarium"), "chat", **options)
    assert store.conversations.list() == ()


def test_a_handle_of_some_scopes_sees_its_own_memories_alone(
    store: MemoryStore, clock: Any
) -> None:
    for scope in ("Work", "Home"):
        store.conversations.add_short_term(said(f"aquarium of {scope}"), "chat", scope=scope)
    clock.now += timedelta(hours=1)
    inside = store.confine(scopes=["Work"])
    assert texts(inside.conversations.search_short_term(said("aquarium"), "chat")) == [
        "user: aquarium of Work"
    ]
    reader = store.confine(scopes=["Work"], read_only=True)
    with pytest.raises(ReadOnly):
        reader.conversations.add_short_term(said("more"), "chat")
    (hit,) = reader.conversations.search_short_term(said("aquarium"), "chat")
    used = store.usage(hit.memory.id)
    # A handle that may only read counts what it recalls.
    assert used is not None
    assert used.activation == 10.0


def test_an_imported_weight_out_of_range_is_passed_over(store: MemoryStore, clock: Any) -> None:
    forged = {"short_term": {"keywords": {"aquarium": 1e300, "pump": True, "x": "y", "fish": 3}}}
    store.remember("forged", kind="discussion", conversation_id="chat", context=forged)
    clock.now += timedelta(hours=1)
    recall = store.conversations.search_short_term(said("aquarium"), "chat", seed=1)
    assert recall.top == ()


def test_messages_with_a_time_are_kept_once_whatever_came_between(store: MemoryStore) -> None:
    early = said("The pump rattles", timestamp="2026-04-01T08:00:00Z")
    first = store.conversations.add_short_term(early, "chat")
    store.conversations.add_short_term(said("The lamp is dead"), "chat")
    again = store.conversations.add_short_term(early, "chat")
    assert (again.id, again.outcome) == (first.id, Outcome.UNCHANGED)
    later = said("The pump rattles", timestamp="2026-04-01T08:30:00Z")
    assert store.conversations.add_short_term(later, "chat").id != first.id


def test_a_long_pasted_note_does_not_push_away_what_was_said(
    store: MemoryStore, clock: Any
) -> None:
    pasted = "\n".join(f"Section {n} of the manual is about pump {n} and more" for n in range(300))
    store.conversations.add_short_term(said(pasted), "chat")
    clock.now += timedelta(minutes=30)
    store.conversations.add_short_term(said("The pump of the aquarium rattles"), "chat")
    clock.now += timedelta(minutes=30)
    recall = store.conversations.search_short_term(said("The aquarium pump is loud"), "chat")
    assert texts(recall.top)[0] == "user: The pump of the aquarium rattles"


def test_thanks_call_nothing_to_mind(store: MemoryStore, clock: Any) -> None:
    talk = [*said("The pump rattles"), *said("OK, thanks!", "assistant")]
    store.conversations.add_short_term(talk, "chat")
    clock.now += timedelta(minutes=30)
    recall = store.conversations.search_short_term(said("ok, thanks"), "chat")
    assert (recall.keywords, recall.top, len(recall.flashbacks)) == ({}, (), 1)


def test_a_memory_more_costs_a_search_a_few_calls(tmp_path: Path, clock: Any) -> None:
    def count_for(number: int) -> int:
        home = tmp_path / str(number)
        with MemoryStore.open(home, embedder=HashingEmbedder(), clock=clock) as store:
            store.remember_many(
                {
                    "text": f"user: The pump {each}",
                    "kind": "discussion",
                    "conversation_id": "chat",
                    "happened_at": clock.now - timedelta(hours=each),
                    "context": {"short_term": {"keywords": {f"pump{each}": 2.0}}},
                }
                for each in range(number)
            )

            def search() -> None:
                store.conversations.search_short_term(said("the pump7"), "chat", seed=1)

            search()
            search()
            return count_calls(search)

    few, many = 100, 500
    assert count_for(many) - count_for(few) < 18 * (many - few)
