"""Documents of memories that were written before a field was added; no server is needed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from attrs import NOTHING, evolve

from infinite_memory.core.values.fields import MEMORY_FIELDS
from infinite_memory.core.values.memory import Kind, Memory, Origin, Status
from infinite_memory.storage.mongodb.documents import decode_memory, encode_memory, sealed

MEMORY = Memory(
    id="a",
    text="The office is in Milan",
    kind=Kind.FACT,
    title="Office",
    scope="work",
    tags=("place",),
    context={"city": "Milan"},
    conversation_id="chat",
    speaker="Alice",
    origin=Origin.IMPORT,
    happened_at=datetime(2026, 1, 1, tzinfo=UTC),
    stored_at=datetime(2026, 1, 2, tzinfo=UTC),
    valid_from=datetime(2026, 1, 3, tzinfo=UTC),
    valid_to=datetime(2026, 1, 4, tzinfo=UTC),
    key="office.city",
    status=Status.SUPERSEDED,
    important=True,
    sources=("b",),
    attachments=("map",),
    revision=3,
)
DEFAULTS = {field.name: field.default for field in MEMORY_FIELDS if field.default is not NOTHING}


def document_without(name: str) -> dict[str, Any]:
    document = encode_memory(MEMORY, content_hash=bytes(32), sequence=7, stored=())
    del document[name]
    return document


@pytest.mark.parametrize("name", sorted(DEFAULTS))
def test_a_field_that_was_added_after_a_document_was_written_has_its_default(name: str) -> None:
    document = document_without(name)
    del document["checksum"]
    earlier = sealed(b"memory", "memory 'a'", document)
    assert decode_memory(earlier) == evolve(MEMORY, **{name: DEFAULTS[name]})


@pytest.mark.parametrize("name", sorted(DEFAULTS))
def test_a_document_that_lost_a_field_does_not_fit_its_checksum(name: str) -> None:
    assert decode_memory(document_without(name)) is None
