"""The log of conversations: stored once, in order, told apart by id, deleted as a whole."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from infinite_memory import Config, IdTaken, InvalidInput, MemoryStore, NotFound, Status
from infinite_memory.engine.trivial import is_trivial
from infinite_memory.features.chats.log.writing import count_known
from infinite_memory.testing.embedders import HashingEmbedder

OpenStore = Callable[..., MemoryStore]

TALK: list[dict[str, Any]] = [
    {"role": "user", "content": "My sister Ann moves to Bergen in May."},
    {"role": "assistant", "content": "Noted. Shall I remind you of the move?"},
    {"role": "user", "content": "ok, thanks!"},
]


def texts(store: MemoryStore, conversation_id: str, **options: Any) -> list[str]:
    read = store.conversations.read(conversation_id, **options)
    return [memory.text for memory in read.messages]


def test_messages_are_read_back_in_order_with_speaker_and_time(store: MemoryStore) -> None:
    logged = store.conversations.log(TALK, "talk-1")
    assert (logged.stored, logged.known, logged.trivial) == (3, 0, 1)
    read = store.conversations.read("talk-1")
    assert [memory.text for memory in read.messages] == [message["content"] for message in TALK]
    assert [memory.id for memory in read.messages] == list(logged.ids)
    assert [memory.speaker for memory in read.messages] == ["user", "assistant", "user"]
    assert [str(memory.origin) for memory in read.messages] == ["user", "assistant", "user"]
    moments = [memory.happened_at for memory in read.messages]
    assert moments == sorted(set(moments))


def test_a_message_may_have_a_name_and_a_time(store: MemoryStore) -> None:
    message = {"role": "user", "name": "Zoë", "content": "I am off", "timestamp": 1_700_000_000_000}
    store.conversations.log([message], "talk-1")
    (memory,) = store.conversations.read("talk-1").messages
    assert memory.speaker == "Zoë"
    assert memory.happened_at == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert memory.context["role"] == "user"


def test_the_calls_of_tools_in_a_chat_are_left_out_and_counted(store: MemoryStore) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "sum", "arguments": "{}"}}
    asked = {"role": "assistant", "content": None, "refusal": None, "tool_calls": [call, call]}
    told = {"role": "assistant", "content": "I look it up", "tool_calls": [call]}
    answer = {"role": "tool", "tool_call_id": "c1", "name": "sum", "content": "42"}
    logged = store.conversations.log(iter([*TALK, asked, told, answer]), "talk-1")
    assert (logged.stored, logged.known, logged.calls) == (5, 0, 3)
    assert texts(store, "talk-1")[3:] == ["I look it up", "42"]
    assert store.conversations.log([asked], "talk-1").ids == ()
    assert store.conversations.log([*TALK, asked, told, answer], "talk-1").known == 5
    with pytest.raises(InvalidInput, match="a message has no field 'mood'"):
        store.conversations.log([{"role": "user", "content": "hi", "mood": "good"}], "talk-1")


@pytest.mark.parametrize(
    ("calls", "total"),
    [
        # The same call again.
        ([TALK, TALK], 3),
        # The conversation so far, each time.
        ([TALK[:1], TALK[:2], TALK], 3),
        # The new messages alone.
        ([TALK[:1], TALK[1:2], TALK[2:]], 3),
        # An overlap.
        ([TALK[:2], TALK[1:]], 3),
        # A late repeat of an earlier call.
        ([TALK[:2], TALK[2:], TALK[:2]], 3),
        # The same words said again, with something in between.
        ([TALK[2:], TALK[1:2], TALK[2:]], 3),
        # Two times "ok" in one call are two messages.
        ([[TALK[2], TALK[2]]], 2),
    ],
)
def test_repeated_calls_store_nothing_twice(
    store: MemoryStore, calls: list[list[dict[str, Any]]], total: int
) -> None:
    for messages in calls:
        store.conversations.log(messages, "talk-1")
    assert store.conversations.read("talk-1").total == total


def test_the_same_words_an_hour_later_were_said_again(store: MemoryStore, clock: Any) -> None:
    greeting = [{"role": "user", "content": "good morning, what is on today?"}]
    store.conversations.log(greeting, "talk-1")
    assert store.conversations.log(greeting, "talk-1").known == 1
    clock.now += timedelta(hours=2)
    assert store.conversations.log(greeting, "talk-1").stored == 1
    assert store.conversations.read("talk-1").total == 2


def test_messages_with_a_time_or_an_id_are_known_by_it(store: MemoryStore) -> None:
    at = [{**TALK[0], "timestamp": "2026-05-01T09:00:00Z"}]
    store.conversations.log(at, "talk-1")
    store.conversations.log(TALK[1:], "talk-1")
    assert store.conversations.log(at, "talk-1").known == 1
    later = [{**TALK[0], "timestamp": "2026-05-02T09:00:00Z"}]
    assert store.conversations.log(later, "talk-1").stored == 1
    named = [{**TALK[0], "id": "m-1"}]
    assert store.conversations.log(named, "talk-1").stored == 1
    assert store.conversations.log(named, "talk-1").known == 1
    with pytest.raises(IdTaken):
        store.conversations.log([{**TALK[1], "role": "user", "id": "m-1"}], "talk-1")


def test_messages_that_say_nothing_are_kept_and_not_found(store: MemoryStore) -> None:
    store.conversations.log(TALK, "talk-1")
    assert texts(store, "talk-1")[-1] == "ok, thanks!"
    found = [hit.memory.text for hit in store.search("ok thanks", limit=50)]
    assert "ok, thanks!" not in found
    assert TALK[0]["content"] in [hit.memory.text for hit in store.search("Bergen")]


@pytest.mark.parametrize(
    "text",
    [
        *(
            "ok",
            "OK!",
            "Thanks :)",
            "yes please",
            *("Noted.", "Got it.", "Agreed.", "understood", "thanks, looks good"),
            "haha",
            "👍",
            "...",
            "嗯",
            "好的",
            "好的，谢谢！",
        ),
        *("好的，谢谢！", "哈哈哈", "收到", "你好", "謝謝", "ＯＫ", "so it is", "hm", "no"),
        *(
            "太好了",
            "那好吧",
            "谢谢您",
            "辛苦啦",
            "哈哈哈哈哈哈",
            "好好好",
            "嗯，明白了，辛苦了",
            "没关系",
        ),
        *("好的呀～", "原來如此", "真不错！"),
    ],
)
def test_a_message_that_says_nothing_is_trivial(text: str) -> None:
    assert is_trivial(text)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "ok, at 5",
            "Ann",
            "cat",
            "生日",
            "好的，周五见",
            "no sugar",
            "thanks to Ann",
            "42",
            "猫",
            "ja",
        ),
        *("C++", "ok " * 20, "yes: the deadline is June 5", "はい、分かりました"),
        *(
            "八",
            "一个",
            "第二个",
            "好的，改成蓝色",
            "可以，预算五千",
            "不要香菜",
            "没有孩子",
            "对，就是张伟",
        ),
    ],
)
def test_a_message_with_a_name_a_number_or_a_subject_is_not(text: str) -> None:
    assert not is_trivial(text)


def test_conversations_are_told_apart_by_their_ids(store: MemoryStore) -> None:
    store.conversations.log(TALK[:1], "talk")
    store.conversations.log(TALK[1:2], "Talk")
    assert texts(store, "talk") == [TALK[0]["content"]]
    assert texts(store, "Talk") == [TALK[1]["content"]]
    with pytest.raises(NotFound, match="'TALK'"):
        store.conversations.read("TALK")


def test_a_conversation_is_read_page_by_page_and_from_its_end(store: MemoryStore) -> None:
    messages = [{"role": "user", "content": f"message number {n}"} for n in range(25)]
    store.conversations.log(messages, "talk-1")
    first = store.conversations.read("talk-1", start=0, limit=10)
    assert (first.total, first.next) == (25, 10)
    second = store.conversations.read("talk-1", start=first.next, limit=10)
    last = store.conversations.read("talk-1", limit=5)
    assert second.messages[0].text == "message number 10"
    assert [memory.text for memory in last.messages] == [
        f"message number {n}" for n in range(20, 25)
    ]
    assert last.next is None


def test_conversations_are_listed_the_latest_first(store: MemoryStore) -> None:
    store.conversations.log(TALK, "talk-1")
    store.conversations.log([{"role": "user", "content": "今天天气怎么样？"}], "talk-2")
    listed = store.conversations.list()
    assert [(c.id, c.messages, c.heading) for c in listed] == [
        ("talk-2", 1, "今天天气怎么样？"),
        ("talk-1", 3, TALK[1]["content"]),
    ]


def test_a_conversation_is_deleted_as_a_whole_and_one_undo_brings_it_back(
    store: MemoryStore,
) -> None:
    store.conversations.log(TALK, "talk-1")
    store.conversations.log(TALK[:1], "talk-2")
    receipt = store.conversations.delete("talk-1")
    assert len(receipt.ids) == 3
    with pytest.raises(NotFound):
        store.conversations.read("talk-1")
    assert texts(store, "talk-2") == [TALK[0]["content"]]
    store.undo()
    assert len(texts(store, "talk-1")) == 3


def test_a_conversation_of_another_scope_is_neither_read_nor_deleted(store: MemoryStore) -> None:
    store.conversations.log(TALK[:1], "default")
    store.conversations.log(TALK[1:], "default", scope="Work")
    store.conversations.add_short_term(TALK[1:], "default", scope="Work")
    store.conversations.log(TALK, "plans", scope="Work")
    assert texts(store, "default") == [TALK[0]["content"]]
    assert len(texts(store, "default", scope="Work")) == 2
    assert store.conversations.stats("default").short_term.count == 0
    assert store.conversations.stats("default", scope="ALL").short_term.count == 1
    assert len(store.conversations.delete("default").ids) == 1
    assert len(texts(store, "default", scope="Work")) == 2
    for call in (store.conversations.read, store.conversations.delete):
        with pytest.raises(NotFound, match="it is in 'Work': give the scope"):
            call("plans")
    inside = store.confine(scopes=["Home"])
    with pytest.raises(NotFound, match="letter by letter"):
        inside.conversations.read("plans")


def test_a_conversation_can_be_erased_for_good(store: MemoryStore) -> None:
    store.conversations.log(TALK, "talk-1")
    store.conversations.add_short_term(TALK[:2], "talk-1")
    gone = store.conversations.log(TALK[:1], "talk-2").ids
    store.forget(store.conversations.log([{"role": "user", "content": "a slip"}], "talk-1").ids[0])
    receipt = store.conversations.delete("talk-1", hard=True)
    assert len(receipt.ids) == 5
    for memory_id in receipt.ids:
        with pytest.raises(NotFound):
            store.get(memory_id)
    assert store.conversations.read("talk-2").messages[0].id == gone[0]
    assert store.verify().findings == ()


def test_to_erase_a_message_erases_the_short_term_memory_that_quotes_it(
    store: MemoryStore,
) -> None:
    logged = store.conversations.log(TALK, "talk-1")
    quoting = store.conversations.add_short_term(TALK[:2], "talk-1")
    other = store.conversations.add_short_term(TALK[1:], "talk-1")
    assert store.get(other.id).sources == logged.ids[1:2]
    receipt = store.forget(logged.ids[0], hard=True)
    assert f"short-term memory {quoting.id}, which quoted it" in receipt.erased
    with pytest.raises(NotFound):
        store.get(quoting.id)
    assert store.get(other.id).text.startswith("assistant: Noted.")


def test_to_erase_a_message_erases_a_short_term_memory_from_before_it_was_logged(
    store: MemoryStore,
) -> None:
    quoting = store.conversations.add_short_term(TALK, "talk-1")
    elsewhere = store.conversations.add_short_term(TALK, "talk-2")
    logged = store.conversations.log(TALK, "talk-1")
    store.forget(logged.ids[0], hard=True)
    with pytest.raises(NotFound):
        store.get(quoting.id)
    assert store.get(elsewhere.id).text


def test_a_message_that_was_forgotten_is_not_logged_again(store: MemoryStore) -> None:
    logged = store.conversations.log(TALK, "talk-1")
    store.forget(logged.ids[0])
    again = store.conversations.log(TALK, "talk-1")
    assert (again.stored, again.known) == (0, 3)
    assert store.get(logged.ids[0]).status is Status.FORGOTTEN
    assert len(texts(store, "talk-1")) == 2


def test_two_that_log_the_same_at_once_store_it_once(open_store: OpenStore) -> None:
    stores = [open_store(), open_store()]
    if stores[0]._services.storage.identity != stores[1]._services.storage.identity:
        stores[1] = stores[0]
    threads = [
        threading.Thread(target=store.conversations.log, args=(TALK, "talk-1"))
        for store in stores * 3
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(texts(stores[0], "talk-1")) == 3


@pytest.mark.parametrize(
    ("messages", "conversation_id", "sentence"),
    [
        ([], "talk-1", "messages is empty"),
        (TALK, "", "conversation_id"),
        (TALK, "a\nb", "conversation_id"),
        (TALK, None, "conversation_id"),
        ([*TALK, {"role": "user", "content": " "}], "talk-1", "message 4 of 4"),
        ([*TALK, {"role": "user", "content": 5}], "talk-1", "message 4 of 4"),
    ],
)
def test_a_call_that_cannot_be_used_stores_nothing(
    store: MemoryStore, messages: Any, conversation_id: Any, sentence: str
) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        store.conversations.log(messages, conversation_id)
    assert store.conversations.list() == ()


def test_a_conversation_may_have_a_scope_of_its_own(open_store: OpenStore) -> None:
    store = open_store(conversation_scopes=True)
    logged = store.conversations.log(TALK, "talk-1")
    assert logged.scope == "conversations/talk-1"
    assert store.conversations.log(TALK, "talk-1").known == 3
    assert len(texts(store, "talk-1")) == 3
    inside = store.confine(scopes=["conversations/talk-2"])
    with pytest.raises(NotFound):
        inside.conversations.read("talk-1")


@pytest.mark.parametrize(
    ("logged", "given", "known"),
    [
        ("", "ab", 0),
        ("abc", "abc", 3),
        ("abc", "abcd", 3),
        ("abc", "bcd", 2),
        ("abc", "cde", 1),
        ("abc", "de", 0),
        ("abcd", "bc", 2),
        ("abc", "c", 1),
        ("abc", "b", 0),
        ("aaa", "aaaa", 3),
    ],
)
def test_the_known_beginning_of_a_call_is_counted(logged: str, given: str, known: int) -> None:
    assert count_known(logged, given, recent_from=0) == known
    if len(given) == 1:
        assert count_known(logged, given, recent_from=len(logged)) == 0


def test_a_short_row_that_is_not_recent_was_said_again() -> None:
    assert count_known("abcd", "bc", recent_from=2) == 0
    assert count_known("abcdef", "bcde", recent_from=6) == 4


def test_words_said_again_after_thousands_of_messages_are_kept(store: MemoryStore) -> None:
    greeting = {"role": "user", "content": "good morning, what is on today?"}
    store.conversations.log([greeting], "talk-1")
    filler = [{"role": "user", "content": "ok"}] * 2100
    store.conversations.log(filler, "talk-1")
    assert store.conversations.log([greeting], "talk-1").stored == 1
    assert store.conversations.read("talk-1").total == 2102
    # The whole conversation once more, of which more was logged than is compared.
    again = store.conversations.log([greeting, *filler, greeting, TALK[0]], "talk-1")
    assert (again.stored, again.known) == (1, 2102)


def test_messages_follow_one_of_the_last_moment_of_the_calendar(store: MemoryStore) -> None:
    last = {**TALK[0], "timestamp": "9999-12-31T23:59:59.999999Z"}
    store.conversations.log([last], "talk-1")
    assert store.conversations.log(TALK[1:], "talk-1").stored == 2
    assert store.conversations.read("talk-1").total == 3


def test_a_conversation_given_again_is_known_after_a_message_was_changed(
    store: MemoryStore,
) -> None:
    for conversation, begin in (("talk-1", 0), ("talk-2", 1), ("talk-3", 0)):
        opening = {"role": "user", "content": "Let us begin."}
        talk = [opening, *TALK]
        logged = store.conversations.log(talk, conversation)
        if conversation == "talk-3":
            store.forget(logged.ids[1], hard=True)
        else:
            store.revise(logged.ids[2], revision=1, text="It was something else.")
        further = {"role": "user", "content": "And now for the garden."}
        again = store.conversations.log([*talk[begin:], further], conversation)
        assert (again.stored, again.known) == (1, len(talk) - begin)


@pytest.mark.parametrize("erased", [[0], [2], [0, 1], [1, 2], [0, 2]])
def test_a_conversation_that_went_on_after_an_erasure_is_known(
    store: MemoryStore, erased: list[int]
) -> None:
    logged = store.conversations.log(TALK, "talk-1")
    for position in erased:
        store.forget(logged.ids[position], hard=True)
    further = [{"role": "user", "content": f"We talk about {topic}."} for topic in ("bees", "ice")]
    for count in (1, 2):
        store.conversations.log(further[count - 1 : count], "talk-1")
        assert store.conversations.log([*TALK, *further[:count]], "talk-1").stored == 0
    assert store.conversations.read("talk-1").total == 5 - len(erased)


def test_a_conversation_with_a_damaged_message_is_known(tmp_path: Path) -> None:
    home = tmp_path / "home"
    config = Config(home=home)
    with MemoryStore.open(home, config=config, embedder=HashingEmbedder()) as store:
        ids = store.conversations.log(TALK, "talk-1").ids
    with closing(sqlite3.connect(home / "memory.db")) as connection, connection:
        connection.execute("UPDATE memories SET text = 'else' WHERE id = ?", [ids[1]])
    with MemoryStore.open(home, config=config, embedder=HashingEmbedder()) as store:
        further = {"role": "user", "content": "And now for the garden."}
        assert store.conversations.log([*TALK, further], "talk-1").stored == 1
        assert store.conversations.read("talk-1").total == 3
        assert store.conversations.list()[0].messages == 3


def test_an_erased_message_can_be_said_again(store: MemoryStore) -> None:
    logged = store.conversations.log(TALK, "talk-1")
    for _ in range(2):
        store.forget(logged.ids[-1], hard=True)
        # The conversation so far does not bring it back.
        assert store.conversations.log(TALK, "talk-1").stored == 0
        logged = store.conversations.log(TALK[-1:], "talk-1")
        assert logged.stored == 1
