"""Attachments come with what is told in a conversation, and are searched with it."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from infinite_memory import InvalidInput, MemoryStore, Outcome, Status

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
SAID = [{"role": "user", "content": "Look, this is our cat Tiger"}]
CAT: dict[str, Any] = {
    "type": "image",
    "data": f"data:image/png;base64,{base64.b64encode(PNG).decode()}",
    "alt": "A tabby cat",
    "embedding": [0.9, 0.1],
    "model": "clip",
}
RULE = {"any_of": ["cat"]}


def test_a_logged_message_has_what_was_attached_to_it_once(store: MemoryStore) -> None:
    messages = [{"role": "assistant", "content": "Show me your cat, please"}, *SAID]
    logged = store.conversations.log(messages, "chat", attachments=[CAT])
    again = store.conversations.log(messages, "chat", attachments=[CAT])
    assert again.stored == 0
    assert again.attachments == logged.attachments
    assert store.attachments.list(logged.ids[0]) == ()
    (attachment,) = store.attachments.list(logged.ids[1])
    assert (attachment.id,) == logged.attachments
    assert attachment.conversation_id == "chat"
    assert store.attachments.read(attachment.id).data == PNG
    assert store.search("tabby")[0].memory.id == attachment.id
    assert [memory.text for memory in store.conversations.read("chat").messages] == [
        message["content"] for message in messages
    ]


def test_nothing_is_logged_with_an_attachment_that_cannot_be_used(store: MemoryStore) -> None:
    with pytest.raises(InvalidInput, match=r"entry 1 of 1 in attachments: .*neither a uri"):
        store.conversations.log(SAID, "chat", attachments=[{"type": "image"}])
    with pytest.raises(InvalidInput, match="entry 1 of 1"):
        store.conversations.add_short_term(SAID, "chat", attachments=[{"uri": 7}])
    with pytest.raises(InvalidInput, match="entry 1 of 1"):
        store.triggers.add("cat", "It is Tiger", RULE, attachments=[{}])
    assert store.browse(scope="ALL", statuses=[]).memories == ()


def test_a_forgotten_message_gets_no_attachment(store: MemoryStore) -> None:
    logged = store.conversations.log(SAID, "chat")
    store.forget(logged.ids[0])
    assert store.conversations.log(SAID, "chat", attachments=[CAT]).attachments == ()
    store.forget(logged.ids[0], hard=True)
    # After that, the same words are another message.
    again = store.conversations.log(SAID, "chat", attachments=[CAT])
    assert (again.stored, len(again.attachments)) == (1, 1)
    assert again.ids != logged.ids


def test_memories_of_both_terms_are_found_by_their_pictures(store: MemoryStore) -> None:
    short = store.conversations.add_short_term(SAID, "chat", attachments=[CAT])
    again = store.conversations.add_short_term(SAID, "chat", attachments=[CAT])
    assert (again.id, again.outcome, again.revision) == (short.id, Outcome.UNCHANGED, 2)
    sound = {"uri": "purr.ogg", "embedding": [-1, 0.2], "model": "clip"}
    long = store.triggers.add("Tiger", "Feed him", RULE, conversation_id="chat", attachments=[CAT])
    store.triggers.add("Noise", "Close it", RULE, conversation_id="chat", attachments=[sound])
    store.conversations.add_short_term([{**SAID[0], "content": "The rain"}], "chat")
    hits = store.conversations.search("chat", embedding=[1, 0], model="clip")
    assert {hit.memory.id for hit in hits} == {short.id, long.id}
    assert hits[0].similarity == pytest.approx(0.9939, abs=1e-4)
    assert hits[0].relevance == pytest.approx(9.939, abs=1e-3)
    hits = store.conversations.search("chat", embedding=[1, 0], model="clip", keywords=["rain"])
    assert len(hits) == 3
    with pytest.raises(InvalidInput, match="has 3 numbers"):
        store.conversations.search("chat", embedding=[1, 0, 0], model="clip")


def test_a_long_term_memory_with_a_picture_still_comes_up(store: MemoryStore) -> None:
    receipt = store.triggers.add("Tiger", "Feed him", RULE, attachments=[CAT])
    again = store.triggers.add("Tiger", "Feed him", RULE, attachments=[CAT])
    assert (again.id, again.outcome) == (receipt.id, Outcome.UNCHANGED)
    activation = store.triggers.activate([{"role": "user", "content": "the cat is here"}])
    assert [memory.id for memory in activation.activated] == [receipt.id]
    (attachment,) = store.attachments.list(receipt.id)
    store.triggers.delete("Tiger")
    assert store.get(attachment.id).status is Status.FORGOTTEN


def test_a_conversation_is_erased_with_its_pictures(store: MemoryStore) -> None:
    store.conversations.log(SAID, "chat", attachments=[CAT])
    store.conversations.add_short_term(SAID, "chat", attachments=[CAT])
    store.conversations.delete("chat")
    assert not any(
        memory.status is not Status.FORGOTTEN for memory in store.browse(statuses=[]).memories
    )
    store.undo()
    assert len(store.conversations.search("chat", embedding=[1, 0], model="clip")) == 1
    store.conversations.delete("chat", hard=True)
    assert store.browse(statuses=[]).memories == ()
