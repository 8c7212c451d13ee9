"""Which memories are topic summaries, written by the dreamer."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from attrs import evolve

from infinite_memory import Memory
from infinite_memory.core.values.memory import Kind, Origin

_MAY = datetime(2026, 5, 1, tzinfo=UTC)
_TOPIC = Memory(
    id="topic",
    text="We move in May. The lease ends in June.",
    kind=Kind.SUMMARY,
    origin=Origin.DREAM,
    context={"dreamed": {"level": 1, "by": "quotation"}},
    happened_at=_MAY,
    stored_at=_MAY,
)


def test_a_summary_that_the_dreamer_wrote_is_a_topic_summary() -> None:
    assert _TOPIC.is_dreamed


@pytest.mark.parametrize(
    "changed",
    [
        evolve(_TOPIC, kind=Kind.NOTE),
        evolve(_TOPIC, origin=Origin.ASSISTANT),
        evolve(_TOPIC, context={}),
        evolve(_TOPIC, context={"dreamed": True}),
    ],
    ids=["kind", "origin", "no context", "no mapping"],
)
def test_no_other_memory_is_a_topic_summary(changed: Memory) -> None:
    assert not changed.is_dreamed
