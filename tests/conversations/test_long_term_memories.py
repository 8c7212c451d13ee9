"""Long-term memories are stored under a name, replaced, updated, deleted and read by it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from infinite_memory import (
    Conflict,
    InvalidInput,
    MemoryStore,
    NotFound,
    Outcome,
    ReadOnly,
    UnknownScope,
)
from infinite_memory.core.values.entry import Operation
from infinite_memory.testing.embedders import HashingEmbedder

Open = Callable[..., MemoryStore]
RULE = {"any_of": ["birthday", "生日"]}
OTHER_RULE = {"any_of": ["deadline"]}
NAMES = ["生日提醒", "C++", "C#", "...", "!?", "deadline.reminder", "a/b:c", "提醒 3:30", "🎂"]


def say(*texts: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text} for text in texts]


def activated(store: MemoryStore, text: str, conversation_id: str = "default") -> list[str]:
    found = store.triggers.activate(say(text), conversation_id)
    return [memory.name for memory in found.activated]


def test_a_memory_that_was_added_comes_up_when_its_condition_holds(store: MemoryStore) -> None:
    receipt = store.triggers.add("birthday", "Alice was born on January 20", RULE)
    assert receipt.outcome is Outcome.STORED
    assert activated(store, "whose BIRTHDAY is it?") == ["birthday"]
    assert activated(store, "what is new?") == []
    memory = store.triggers.get("birthday")
    assert (memory.prompt, memory.enabled, memory.disabled_because, memory.error) == (
        "Alice was born on January 20",
        True,
        None,
        None,
    )
    assert memory.trigger.condition == RULE


def test_it_is_an_ordinary_memory_that_a_search_finds(store: MemoryStore) -> None:
    receipt = store.triggers.add("birthday", "Alice was born on January 20", RULE, tags=["family"])
    (hit,) = store.search("when was Alice born?")
    memory = hit.memory
    assert (memory.id, memory.kind, memory.title) == (receipt.id, "reminder", "birthday")
    assert (memory.tags, memory.conversation_id) == (("family",), "default")


def test_a_name_that_exists_is_replaced_and_the_old_text_stays(store: MemoryStore) -> None:
    first = store.triggers.add("Birthday", "Alice: January 20", RULE, created_context="at lunch")
    second = store.triggers.add(" birthday ", "Alice: January 21", OTHER_RULE)
    assert (second.id, second.outcome, second.revision) == (first.id, Outcome.REVISED, 2)
    (memory,) = store.triggers.list("default")
    assert (memory.name, memory.prompt, memory.created_context) == (
        "birthday",
        "Alice: January 21",
        None,
    )
    assert [old.text for old in store.journal.history(first.id)] == [
        "Alice: January 20",
        "Alice: January 21",
    ]
    assert activated(store, "the deadline") == ["birthday"]
    assert activated(store, "a birthday") == []


def test_the_same_call_again_changes_nothing(store: MemoryStore) -> None:
    store.triggers.add("birthday", "Alice: January 20", RULE, created_context="at lunch")
    again = store.triggers.add("birthday", "Alice: January 20", RULE, created_context="at lunch")
    assert (again.outcome, again.revision) == (Outcome.UNCHANGED, 1)


def test_a_prompt_that_was_just_recalled_is_stored_all_the_same(store: MemoryStore) -> None:
    store.remember("Alice: January 20")
    store.search("Alice")
    assert store.triggers.add("a", "Alice: January 20", RULE).outcome is Outcome.STORED
    assert store.triggers.add("b", "Alice: January 20", RULE).outcome is Outcome.STORED


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_any_script_and_signs_is_a_name_of_its_own(store: MemoryStore, name: str) -> None:
    for known in NAMES:
        store.triggers.add(known, f"text of {known}", RULE)
    assert store.triggers.get(name).prompt == f"text of {name}"
    assert len(store.triggers.list()) == len(NAMES)


def test_names_are_compared_without_letter_case_and_in_a_normal_form(store: MemoryStore) -> None:
    first = store.triggers.add("CAFÉ", "one", RULE)
    assert store.triggers.add("cafe\u0301", "two", RULE).id == first.id
    assert store.triggers.get("Café").prompt == "two"


def test_conversations_have_names_of_their_own_and_are_isolated(store: MemoryStore) -> None:
    store.triggers.add("birthday", "of Alice", RULE, conversation_id="a")
    store.triggers.add("birthday", "of Bob", RULE, conversation_id="b")
    for conversation, prompt in (("a", "of Alice"), ("b", "of Bob")):
        found = store.triggers.activate(say("birthday"), conversation)
        assert [memory.prompt for memory in found.activated] == [prompt]
        assert (found.total, found.random) == (1, ())
    assert activated(store, "birthday", "c") == []
    with pytest.raises(NotFound, match="the conversation 'a' has one of that name"):
        store.triggers.get("birthday")


def test_a_conversation_scope_holds_the_memories_of_its_conversation(open_store: Open) -> None:
    store = open_store(conversation_scopes=True)
    receipt = store.triggers.add("birthday", "of Alice", RULE, conversation_id="c1")
    assert receipt.scope == "conversations/c1"
    assert activated(store, "birthday", "c1") == ["birthday"]
    assert list(store.search("Alice", scope="Global")) == []
    assert [memory.scope for memory in store.triggers.list()] == ["conversations/c1"]


def test_a_scope_holds_memories_and_is_created(store: MemoryStore) -> None:
    store.triggers.add("deadline", "June 5", OTHER_RULE, scope="apollo")
    store.triggers.add("deadline", "none", OTHER_RULE)
    found = store.triggers.activate(say("deadline"), scope="apollo")
    assert [memory.prompt for memory in found.activated] == ["June 5", "none"]
    assert [m.prompt for m in store.triggers.activate(say("deadline")).activated] == ["none"]
    assert store.triggers.get("deadline").prompt == "none"
    with pytest.raises(InvalidInput, match="2 long-term memories are named 'deadline': give an id"):
        store.triggers.get("deadline", scope="apollo")
    with pytest.raises(UnknownScope):
        store.triggers.activate([], scope="apolo")
    store.triggers.add("only there", "text", RULE, scope="apollo")
    with pytest.raises(NotFound, match="the scope 'apollo' has one of that name"):
        store.triggers.delete("only there")


def test_an_update_changes_what_is_given_and_keeps_the_rest(store: MemoryStore) -> None:
    store.triggers.add("birthday", "January 20", RULE, created_context="at lunch", tags=["family"])
    receipt = store.triggers.update("BIRTHDAY", prompt="January 21", updated_context="Bob said so")
    assert receipt.outcome is Outcome.REVISED
    memory = store.triggers.get("birthday")
    assert (memory.prompt, memory.created_context, memory.updated_context, memory.tags) == (
        "January 21",
        "at lunch",
        "Bob said so",
        ("family",),
    )
    assert (memory.enabled, memory.trigger.condition) == (True, RULE)
    assert memory.updated_at is not None
    store.triggers.update("birthday", trigger=OTHER_RULE)
    assert activated(store, "deadline") == ["birthday"]
    with pytest.raises(InvalidInput, match="nothing to update"):
        store.triggers.update("birthday")


def test_a_deleted_memory_is_gone_can_be_undone_and_added_again(store: MemoryStore) -> None:
    store.triggers.add("birthday", "January 20", RULE)
    assert store.triggers.delete("birthday").outcome is Outcome.FORGOTTEN
    assert activated(store, "birthday") == []
    with pytest.raises(NotFound, match="nor any other: add it first"):
        store.triggers.delete("birthday")
    store.undo()
    assert activated(store, "birthday") == ["birthday"]
    store.triggers.delete("birthday")
    receipt = store.triggers.add("birthday", "January 22", RULE)
    assert receipt.outcome is Outcome.REVISED
    assert store.triggers.get("birthday").prompt == "January 22"


def test_what_was_erased_for_good_is_gone_and_its_name_free(store: MemoryStore) -> None:
    receipt = store.triggers.add("birthday", "January 20", RULE)
    activated(store, "birthday")
    store.forget(receipt.id, hard=True)
    assert store.triggers.list() == ()
    assert activated(store, "birthday") == []
    assert store.triggers.add("birthday", "January 23", RULE).outcome is Outcome.STORED
    assert store.triggers.get("birthday").firings == 0


def test_an_undo_of_the_addition_takes_it_back_and_a_redo_brings_it(store: MemoryStore) -> None:
    store.triggers.add("birthday", "January 20", RULE)
    assert store.journal.entries(limit=1)[0].action.operation is Operation.TRIGGER
    store.undo()
    assert store.triggers.list() == ()
    store.undo(store.journal.entries(limit=1)[0].number)
    assert activated(store, "birthday") == ["birthday"]


def test_recent_messages_become_a_short_context(store: MemoryStore) -> None:
    messages = [*say("one", "two", "three"), {"role": "assistant", "content": "four " * 400}]
    messages.append({"role": "user", "name": "Bob", "content": "five"})
    store.triggers.add("a", "text", RULE, recent_messages=messages)
    context = store.triggers.get("a").created_context
    assert context is not None
    lines = context.splitlines()
    assert lines[:2] == ["user: two", "user: three"]
    assert lines[2].startswith("assistant: four four")
    assert len(lines[2]) < 250
    assert lines[3] == "Bob: five"
    store.triggers.add("b", "text", RULE, recent_messages=messages, created_context="at lunch")
    assert store.triggers.get("b").created_context == "at lunch"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"name": ""}, "name '' cannot be used"),
        ({"name": None}, "name must be a text"),
        ({"name": "a\nb"}, "on one line"),
        ({"name": "x" * 300}, "1 to 256 characters"),
        ({"prompt": "  "}, "prompt is empty"),
        ({"prompt": 5}, "prompt must be a text"),
        ({"trigger": ""}, "trigger"),
        ({"trigger": 7}, "trigger 7 cannot be used"),
        ({"trigger": {"anyof": ["x"]}}, "any_of"),
        ({"conversation_id": ""}, "conversation_id ''"),
        ({"conversation_id": 7}, "conversation_id must be a text"),
        ({"recent_messages": "hello"}, "recent_messages is a list of messages"),
        ({"recent_messages": [{"role": "user"}]}, "message 1 of 1 in recent_messages: content"),
        ({"created_context": 7}, "created_context must be a text"),
        ({"created_context": "x" * 100_000}, "created_context has 100,000 bytes"),
        ({"tags": "family"}, "tags must be a list"),
        ({"scope": "ALL"}, "ALL stands for every scope"),
    ],
)
def test_a_value_that_cannot_be_used_is_shown_and_nothing_is_stored(
    store: MemoryStore, arguments: dict[str, object], sentence: str
) -> None:
    values = {"name": "a", "prompt": "text", "trigger": RULE, **arguments}
    with pytest.raises(InvalidInput, match=sentence):
        store.triggers.add(**values)  # type: ignore[arg-type]
    assert store.journal.entries(limit=1) == []


def test_a_name_that_nobody_has_is_answered_with_the_nearest(store: MemoryStore) -> None:
    store.triggers.add("生日提醒", "text", RULE)
    for call in (
        lambda: store.triggers.get("生日提示"),
        lambda: store.triggers.update("生日提示", prompt="x"),
        lambda: store.triggers.delete("生日提示"),
    ):
        with pytest.raises(NotFound, match="the nearest is '生日提醒'"):
            call()


def test_a_handle_that_only_reads_activates_and_changes_nothing(store: MemoryStore) -> None:
    store.triggers.add("birthday", "January 20", RULE)
    reader = store.confine(scopes="*", read_only=True)
    assert activated(reader, "birthday") == ["birthday"]
    for call in (
        lambda: reader.triggers.add("b", "text", RULE),
        lambda: reader.triggers.add("birthday", "text", RULE),
        lambda: reader.triggers.update("birthday", prompt="text"),
        lambda: reader.triggers.delete("birthday"),
        lambda: reader.triggers.disable("birthday"),
    ):
        with pytest.raises(ReadOnly):
            call()


def test_a_confined_handle_has_the_memories_of_its_scopes_alone(store: MemoryStore) -> None:
    store.triggers.add("birthday", "outside", RULE)
    store.triggers.add("birthday", "inside", RULE, scope="work")
    handle = store.confine(scopes=["work"])
    found = handle.triggers.activate(say("birthday"))
    assert [memory.prompt for memory in found.activated] == ["inside"]
    assert (found.total, found.random) == (1, ())
    handle.triggers.add("deadline", "of the handle", OTHER_RULE)
    assert activated(handle, "deadline") == ["deadline"]
    found = store.triggers.activate(say("deadline"), scope="work")
    assert [memory.prompt for memory in found.activated] == ["of the handle"]


def test_a_memory_that_was_moved_leaves_its_name_free(store: MemoryStore) -> None:
    receipt = store.triggers.add("birthday", "moved", RULE, scope="work")
    store.revise(receipt.id, revision=1, scope="elsewhere")
    for handle in (store, store.confine(scopes=["work"])):
        again = handle.triggers.add("birthday", "new", RULE, scope="work")
        assert again.id != receipt.id
    assert store.get(receipt.id).text == "moved"


_ADD = """
import sys
from infinite_memory import MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder

with MemoryStore.open(sys.argv[1], embedder=HashingEmbedder()) as store:
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(20):
        receipt = store.triggers.add(f"name {number}", f"by {sys.argv[2]}", {"any_of": ["x"]})
        print(receipt.id, flush=True)
"""


@pytest.mark.thorough
def test_two_processes_that_add_a_name_at_once_leave_one_memory(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path / "home", embedder=HashingEmbedder()) as store:
        store.remember("a note")
        processes = [
            subprocess.Popen(
                [sys.executable, "-c", _ADD, str(tmp_path / "home"), name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for name in ("one", "two")
        ]
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        printed = []
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        for process in processes:
            output, _ = process.communicate(timeout=120)
            assert process.returncode == 0
            printed.append(output.split())
        assert printed[0] == printed[1]
        memories = store.triggers.list()
        assert sorted(memory.id for memory in memories) == sorted(printed[0])
        assert all(memory.enabled for memory in memories)
        # A search in this process sees what the others have stored.
        found = store.triggers.activate(say("x"))
        assert len(found.activated) == 20


def test_the_values_are_plain_data(store: MemoryStore) -> None:
    store.triggers.add("birthday", "January 20", RULE)
    found = store.triggers.activate(say("birthday"))
    data = json.loads(json.dumps(found.to_dict()))
    assert data["activated"][0]["trigger"]["condition"] == RULE


def test_a_change_in_between_is_no_loss(store: MemoryStore) -> None:
    receipt = store.triggers.add("birthday", "January 20", RULE)
    with pytest.raises(Conflict):
        store.revise(receipt.id, revision=7, text="x")
    store.revise(receipt.id, revision=1, text="January 24")
    store.triggers.update("birthday", updated_context="later")
    assert store.triggers.get("birthday").prompt == "January 24"
