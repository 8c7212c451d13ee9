"""Memories as JSON objects: what `to_json` wrote is read back, now and after a field was added."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from attrs import NOTHING, evolve
from hypothesis import given

from infinite_memory.core.values.codec import from_json, to_json
from infinite_memory.core.values.fields import MEMORY_FIELDS
from infinite_memory.core.values.memory import Memory
from infinite_memory.testing.strategies import memories

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DEFAULTS = {field.name: field.default for field in MEMORY_FIELDS if field.default is not NOTHING}


@given(memories())
def test_a_memory_survives_the_way_to_json_and_back(memory: Memory) -> None:
    assert from_json(to_json(memory)) == memory


@pytest.mark.thorough
@pytest.mark.parametrize("name", sorted(DEFAULTS))
@given(memory=memories())
def test_a_field_that_was_added_after_the_object_was_written_has_its_default(
    name: str, memory: Memory
) -> None:
    values = to_json(memory)
    del values[name]
    assert from_json(values) == evolve(memory, **{name: DEFAULTS[name]})


@pytest.mark.parametrize("name", ["id", "text", "happened_at", "stored_at"])
def test_an_object_without_a_field_that_every_memory_has_is_refused(name: str) -> None:
    values = to_json(Memory(id="a", text="The office is in Milan", happened_at=NOW, stored_at=NOW))
    del values[name]
    with pytest.raises(TypeError, match=name):
        from_json(values)


def test_two_memories_do_not_share_a_default() -> None:
    values = to_json(Memory(id="a", text="The office is in Milan", happened_at=NOW, stored_at=NOW))
    del values["context"]
    assert from_json(values).context is not from_json(values).context
