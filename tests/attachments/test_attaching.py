"""Attachments are stored with their memories, found by their words, and never stored twice."""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from infinite_memory import (
    Config,
    Conflict,
    InvalidInput,
    Kind,
    MemoryStore,
    NotFound,
    Outcome,
    Receipt,
    Status,
)
from infinite_memory.core.values.conversation.attachment import AttachmentContent
from infinite_memory.core.values.receipt import Searchable
from infinite_memory.features.attachments.attaching import attach_all
from infinite_memory.testing.embedders import HashingEmbedder

OpenStore = Callable[..., MemoryStore]
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20
DATA_URI = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
PHOTO = "https://example.org/photos/tabby-cat.jpg"


def contents_of(store: MemoryStore) -> list[str]:
    """Return the ids of the stored bytes that are not forgotten."""
    page = store.browse(statuses=["archived"], limit=100)
    return [memory.id for memory in page.memories if "content" in memory.context]


def test_a_reference_is_found_by_its_description_and_its_tags(store: MemoryStore) -> None:
    owner = store.remember("We met the neighbours", speaker="Ann", conversation_id="talk")
    receipt = store.attachments.attach(
        owner.id, uri=PHOTO, description="A tabby cat on a red sofa", tags=["pets"]
    )
    assert receipt.outcome is Outcome.STORED
    assert receipt.searchable is Searchable.MEANING
    assert store.search("red sofa")[0].memory.id == receipt.id
    assert receipt.id in [memory.id for memory in store.browse(tags=["pets"]).memories]
    memory = store.get(receipt.id)
    assert (memory.kind, memory.speaker, memory.conversation_id) == (
        Kind.ATTACHMENT,
        "Ann",
        "talk",
    )
    assert memory.happened_at == store.get(owner.id).happened_at
    assert store.get(owner.id).attachments == (receipt.id,)
    (attachment,) = store.attachments.list(owner.id)
    assert (attachment.type, attachment.media_type, attachment.uri) == (
        "image",
        "image/jpeg",
        PHOTO,
    )
    assert store.attachments.read(receipt.id) == AttachmentContent(
        id=receipt.id, media_type="image/jpeg", uri=PHOTO
    )


def test_the_bytes_of_a_data_uri_come_back_and_no_search_or_list_shows_them(
    store: MemoryStore,
) -> None:
    owner = store.remember("We met the neighbours")
    receipt = store.attachments.attach(owner.id, uri=DATA_URI, description="A tabby cat")
    content = store.attachments.read(receipt.id)
    assert (content.media_type, content.data, content.uri) == ("image/png", PNG, None)
    (attachment,) = store.attachments.list(owner.id)
    assert (attachment.size_bytes, attachment.uri) == (len(PNG), None)
    assert {memory.id for memory in store.browse().memories} == {owner.id, receipt.id}
    for word in ("base64", "content", "iVBORw0KGgo"):
        found = store.search(word, depth="exhaustive", arms=["words"])
        assert attachment.content_id not in [hit.memory.id for hit in found]
    assert store.models.pending() == 0


def test_the_same_bytes_are_stored_once_in_a_scope_and_apart_in_another(
    store: MemoryStore,
) -> None:
    for number in range(3):
        owner = store.remember(f"evening number {number}", kind="message")
        store.attachments.attach(owner.id, uri=DATA_URI, description=f"the cat, {number}")
    assert len(contents_of(store)) == 1
    owner = store.remember("at work", scope="work")
    receipt = store.attachments.attach(owner.id, uri=DATA_URI, description="the cat at work")
    assert len(contents_of(store)) == 2
    assert receipt.scope == "work"
    inside = store.confine(scopes=["work"])
    assert inside.attachments.read(receipt.id).data == PNG


def test_the_same_call_again_changes_nothing(store: MemoryStore) -> None:
    owner = store.remember("We met the neighbours")
    fields: dict[str, Any] = {
        "description": "A tabby cat",
        "tags": ["pets"],
        "embedding": [0.1, 0.2],
        "model": "clip",
    }
    first = store.attachments.attach(owner.id, uri=DATA_URI, **fields)
    entries = len(list(store.journal))
    again = store.attachments.attach(owner.id, uri=DATA_URI, **fields)
    assert (again.id, again.outcome, again.revision) == (first.id, Outcome.UNCHANGED, 1)
    assert len(list(store.journal)) == entries
    assert store.get(owner.id).revision == 2


def test_another_description_of_the_same_file_revises_its_attachment(store: MemoryStore) -> None:
    owner = store.remember("We met the neighbours")
    first = store.attachments.attach(
        owner.id, uri=PHOTO, description="A cat", tags=["pets"], embedding=[1, 0]
    )
    again = store.attachments.attach(owner.id, uri=PHOTO, description="A tabby cat on a sofa")
    assert (again.id, again.outcome, again.revision) == (first.id, Outcome.REVISED, 2)
    (attachment,) = store.attachments.list(owner.id)
    assert (attachment.description, attachment.tags) == ("A tabby cat on a sofa", ("pets",))
    assert attachment.dimensions == 2
    assert [memory.text for memory in store.journal.history(first.id)] == [
        "A cat",
        "A tabby cat on a sofa",
    ]


def test_an_attachment_stands_alone_without_a_memory(store: MemoryStore) -> None:
    receipt = store.attachments.attach(
        uri="file:///home/ann/voice.mp3",
        title="Voice memo",
        scope="work",
        conversation_id="talk",
    )
    memory = store.get(receipt.id)
    assert (memory.scope, memory.conversation_id, memory.text) == ("work", "talk", "Voice memo")
    assert store.attachments.read(receipt.id).media_type == "audio/mpeg"
    again = store.attachments.attach(uri="file:///home/ann/voice.mp3", scope="work")
    assert again.id != receipt.id  # in no conversation
    assert again.outcome is Outcome.STORED


@pytest.mark.parametrize(
    ("uri", "text"),
    [
        (PHOTO, "tabby-cat.jpg"),
        ("C:\\photos\\cat.png", "cat.png"),
        ("photos/%E7%8C%AB.png", "猫.png"),
        ("https://example.org/", "https://example.org/"),
    ],
)
def test_the_name_of_the_file_describes_what_nobody_described(
    store: MemoryStore, uri: str, text: str
) -> None:
    receipt = store.attachments.attach(uri=uri)
    assert store.get(receipt.id).text == text
    assert store.attachments.read(receipt.id).uri == uri


def test_two_pictures_with_one_description_are_two_hits(store: MemoryStore) -> None:
    ids = {store.attachments.attach(uri=f"{n}.png", description="The same cat").id for n in "ab"}
    assert {hit.memory.id for hit in store.search("the same cat")} == ids


def test_a_chinese_description_is_found(store: MemoryStore) -> None:
    receipt = store.attachments.attach(uri=PHOTO, description="沙发上的橘猫", tags=["宠物"])
    assert [hit.memory.id for hit in store.search("橘猫")] == [receipt.id]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"uri": ""}, "neither a uri nor data"),
        ({"uri": 7}, "uri must be a text"),
        ({"uri": DATA_URI}, "needs a description"),
        ({"uri": "data:image/png;base64"}, "has no comma"),
        ({"uri": "data:image/png;base64,@@@", "description": "x"}, "is no base64"),
        ({"uri": "data:image/png;base64,", "description": "x"}, "the data is empty"),
        ({"uri": "data:nonsense;base64,AAAA", "description": "x"}, "media_type 'nonsense'"),
        (
            {"uri": DATA_URI.replace("png", "jpeg"), "description": "x"},
            "said to be image/jpeg and begins like image/png: give image/png",
        ),
        ({"uri": PHOTO, "description": 7}, "description must be a text"),
        ({"uri": PHOTO, "description": "   "}, "description is empty"),
        ({"uri": PHOTO, "tags": "pets"}, "tags must be a list"),
        ({"uri": PHOTO, "embedding": "[1, 2]"}, "embedding is a list of numbers"),
        ({"uri": PHOTO, "embedding": []}, "at least one"),
        ({"uri": PHOTO, "embedding": [0, 0]}, "only zeros"),
        ({"uri": PHOTO, "embedding": [1, float("nan")]}, "nan at position 1"),
        ({"uri": PHOTO, "embedding": [1e300]}, "not finite as a float32"),
        ({"uri": PHOTO, "embedding": [[1], [2]]}, "give one list of numbers"),
        ({"uri": PHOTO, "embedding": ["1", "2"]}, "holds texts"),
        ({"uri": PHOTO, "embedding": [1.0] * 30_000}, "limits.max_context_bytes"),
        ({"uri": PHOTO, "model": "x", "embedding": [1], "size": 3}, "the nearest is"),
        ({"uri": PHOTO, "metadata": [1]}, "metadata is an object"),
        ({"uri": PHOTO, "scope": "work"}, "is not that of memory"),
        ({"uri": "x" * 3000}, "1 to 2048 characters"),
    ],
)
def test_what_cannot_be_used_is_refused_and_changes_nothing(
    store: MemoryStore, fields: dict[str, Any], message: str
) -> None:
    owner = store.remember("We met the neighbours")
    with pytest.raises(InvalidInput, match=message):
        store.attachments.attach(owner.id, **fields)
    assert store.get(owner.id).revision == 1
    assert len(store.browse(statuses=[]).memories) == 1


def test_data_beyond_the_limit_is_refused_with_the_way_out() -> None:
    config = Config.model_validate({"attachments": {"max_bytes": 1000}})
    with MemoryStore.open("memory://", config=config, embedder=HashingEmbedder()) as store:
        with pytest.raises(InvalidInput, match=r"limit is 1,000: give a\s+reference"):
            store.attachments.attach(uri=DATA_URI, description="A cat")
        fits = f"data:;base64,{base64.b64encode(PNG[:1000]).decode()}"
        receipt = store.attachments.attach(uri=fits, description="A cat", media_type="image/png")
        assert store.attachments.read(receipt.id).data == PNG[:1000]


def test_the_largest_data_fits_into_a_text(store: MemoryStore) -> None:
    data = bytes(700 << 10)
    uri = f"data:application/octet-stream;base64,{base64.b64encode(data).decode()}"
    receipt = store.attachments.attach(uri=uri, description="nothing but zeros")
    assert store.attachments.read(receipt.id).data == data


def test_attaching_to_what_is_not_there_is_refused(store: MemoryStore) -> None:
    with pytest.raises(NotFound):
        store.attachments.attach("nobody", uri=PHOTO)
    owner = store.remember("We met the neighbours")
    store.forget(owner.id)
    with pytest.raises(Conflict, match="was forgotten"):
        store.attachments.attach(owner.id, uri=PHOTO)
    with pytest.raises(InvalidInput, match="is no attachment"):
        store.attachments.read(owner.id)


def test_what_a_tool_gives_with_a_message_is_attached_in_one_commit(store: MemoryStore) -> None:
    owner = store.remember("Look at this", kind="message", id="m1")
    given = [
        {"type": "image", "data": base64.b64encode(PNG).decode(), "mimeType": "image/png",
         "alt": "A tabby cat", "features": {"embedding": [1, 2, 3], "tags": ["pets"]}},
        {"type": "Audio", "url": "https://example.org/a.ogg", "transcript": "good morning",
         "metadata": {"seconds": 3}},
    ]  # fmt: skip
    entries = len(list(store.journal))
    receipts = attach_all(store._services, owner.id, given)
    assert len(list(store.journal)) == entries + 1
    image, audio = store.attachments.list("m1")
    assert [image.id, audio.id] == [receipt.id for receipt in receipts]
    assert (image.description, image.tags, image.dimensions) == ("A tabby cat", ("pets",), 3)
    assert (audio.type, audio.description, dict(audio.metadata)) == (
        "audio",
        "good morning",
        {"seconds": 3},
    )
    again = attach_all(store._services, owner.id, given)
    assert [receipt.outcome for receipt in again] == [Outcome.UNCHANGED] * 2
    assert attach_all(store._services, owner.id, None) == []
    with pytest.raises(InvalidInput, match=r"entry 2 of 2 in attachments: .*neither a uri"):
        attach_all(store._services, owner.id, [given[0], {"type": "image"}])
    with pytest.raises(InvalidInput, match="attachments is a list"):
        attach_all(store._services, owner.id, "photo.png")


def test_threads_that_attach_the_same_store_it_once(open_store: OpenStore) -> None:
    store = open_store()
    owners = [store.remember(f"evening {n}", kind="message").id for n in range(4)]
    barrier = threading.Barrier(8)

    def attach(number: int) -> Receipt:
        barrier.wait()
        return store.attachments.attach(
            owners[number % 4], uri=DATA_URI, description=f"cat {number % 4}"
        )

    with ThreadPoolExecutor(8) as pool:
        receipts = list(pool.map(attach, range(8)))
    assert len({receipt.id for receipt in receipts}) == 4
    assert len(contents_of(store)) == 1
    for owner in owners:
        assert len(store.attachments.list(owner)) == 1


def test_an_undo_takes_the_attachment_back_and_leaves_bytes_that_others_have(
    store: MemoryStore,
) -> None:
    first, second = (store.remember(text, kind="message").id for text in ("one", "two"))
    store.attachments.attach(first, uri=DATA_URI, description="cat one")
    entry = store.journal.entries(limit=1)[0].number
    kept = store.attachments.attach(second, uri=DATA_URI, description="cat two")
    store.undo(entry)
    assert store.attachments.list(first) == ()
    assert store.get(first).attachments == ()
    assert store.attachments.read(kept.id).data == PNG
    assert len(contents_of(store)) == 1
    store.undo(store.journal.entries(limit=1)[0].number)
    assert [a.description for a in store.attachments.list(first)] == ["cat one"]
    assert all(hit.memory.status is Status.CURRENT for hit in store.search("cat one"))
