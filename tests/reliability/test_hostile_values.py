"""Whatever a caller of the library gives comes back exactly, or was refused with a reason."""

from __future__ import annotations

import json
from random import Random

import pytest

from infinite_memory import InfiniteMemoryError, InvalidInput, MemoryStore
from infinite_memory.core.values.messages import suggest_name
from tests.harness.hostile import (
    NUMBERS,
    RAW,
    TEXTS,
    Raw,
    encode,
    hostile_text,
    hostile_value,
    huge_text,
)

FIELDS = ("text", "title", "scope", "speaker", "conversation_id", "key", "id")
PYTHON_NUMBERS = [
    float(n.json) if isinstance(n, Raw) and len(n.json) < 30 else n
    for n in NUMBERS
    if not isinstance(n, Raw) or len(n.json) < 30
]


def is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def test_every_hostile_text_is_stored_exactly_or_refused(store: MemoryStore) -> None:
    stored: dict[str, str] = {}
    refused: dict[str, str] = {}
    for text in TEXTS:
        try:
            stored[store.remember(text).id] = text
        except InvalidInput as error:
            refused[text] = str(error)
    assert len(stored) > len(TEXTS) / 2
    assert all(not text.strip() or "\0" in text or not is_unicode(text) for text in refused)
    "".join(refused.values()).encode()
    assert {id_: store.get(id_).text for id_ in stored} == stored
    assert store.stats().memories == len(stored)


@pytest.mark.thorough
@pytest.mark.parametrize("field", [*FIELDS, "tags", "context", "sources", "attachments"])
def test_no_hostile_text_in_any_field_is_a_defect(store: MemoryStore, field: str) -> None:
    wrapped = {"tags": list, "sources": list, "attachments": list, "context": dict}
    count = 0
    for text in TEXTS:
        value: object = text
        if wrapped.get(field) is list:
            value = [text]
        elif field == "context":
            value = {text: [text]}
        try:
            receipt = store.remember(**{"text": "x", field: value})  # type: ignore[arg-type]
        except InfiniteMemoryError as error:
            str(error).encode()
            continue
        count += 1
        kept = getattr(store.get(receipt.id), field)
        if field == "context":
            assert kept == value
    assert len(store.browse(scope="ALL", limit=1000).memories) <= max(count, 1)


@pytest.mark.parametrize("number", PYTHON_NUMBERS, ids=lambda number: str(number)[:20])
def test_a_number_in_a_context_is_kept_exactly_or_refused(
    store: MemoryStore, number: float
) -> None:
    try:
        receipt = store.remember("x", context={"n": [number]})
    except InvalidInput:
        assert store.stats().memories == 0
        return
    (kept,) = store.get(receipt.id).context["n"]
    assert (type(kept), repr(kept)) == (type(number), repr(number))


def test_every_hostile_question_is_answered_or_refused(store: MemoryStore) -> None:
    store.remember("The deadline of Apollo is June 5")
    for text in TEXTS:
        try:
            hits = store.search(text)
        except InvalidInput as error:
            str(error).encode()
        else:
            assert {hit.memory.text for hit in hits} <= {"The deadline of Apollo is June 5"}


def test_every_hostile_text_is_sent_as_json_that_says_the_same() -> None:
    for text in TEXTS:
        assert json.loads(encode({text: [text]})) == {text: [text]}
        wide = encode({text: [text]}, ascii_only=False)
        wide.encode()
        assert json.loads(wide) == {text: [text]}


def test_a_piece_of_raw_json_is_sent_as_it_is() -> None:
    assert encode({"a": [Raw("1e400"), Raw("NaN")], "b": None}) == '{"a": [1e400, NaN], "b": null}'
    for raw in RAW:
        assert encode([raw]) == f"[{raw.json}]"


def test_the_same_seed_makes_the_same_hostile_values() -> None:
    made = [[hostile_value(random) for _ in range(500)] for random in (Random(5), Random(5))]
    assert made[0] == made[1]
    assert len({type(value) for value in made[0]}) > 6
    texts = [hostile_text(Random(seed)) for seed in range(300)]
    assert sum(not is_unicode(text) for text in texts) > 10
    for value in made[0]:
        encode(value).encode()


@pytest.mark.parametrize("chars", [0, 1, 1_000_001])
def test_a_huge_text_has_as_many_characters_as_asked_for(chars: int) -> None:
    assert len(huge_text(Random(1), chars)) == chars


def test_the_nearest_of_a_huge_name_is_found_by_its_beginning() -> None:
    assert suggest_name("titel" + " " * 10_000_000, ["text", "title"]) == "title"
    assert suggest_name(5, ["a", "b"]) in ("a", "b")
