"""Hypothesis strategies for what a storage keeps."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
from hypothesis import strategies as st

from infinite_memory.model.memory import GLOBAL, JsonValue, Kind, Memory, Origin, Status
from infinite_memory.model.record import Embedding
from infinite_memory.model.scope import Scope, Sensitivity

__all__ = [
    "contexts",
    "embeddings",
    "ids",
    "memories",
    "moments",
    "names",
    "scopes",
    "several_embeddings",
    "texts",
]

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
"""Any text that may be stored, the empty one too."""

names = texts.filter(lambda text: bool(text.strip()))
"""Names of scopes, tags, speakers: texts that are not blank."""

ids = st.one_of(
    st.sampled_from(["a", "b", "c", "d", "e"]),
    st.text("abzAZ09._:/-", min_size=1, max_size=128),
)
"""Ids of memories, of which some come up again and again."""

moments = st.datetimes(timezones=st.just(UTC)) | st.sampled_from(
    [
        datetime.min.replace(tzinfo=UTC),
        datetime.max.replace(tzinfo=UTC),
        datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        datetime(2026, 1, 20, tzinfo=UTC),
    ]
)
"""Aware moments in UTC, from the first to the last that there is."""

contexts: st.SearchStrategy[dict[str, JsonValue]] = st.dictionaries(
    texts,
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | texts,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
        max_leaves=6,
    ),
    max_size=3,
)
"""JSON objects without numbers that are not finite."""


@st.composite
def embeddings(draw: st.DrawFn, models: tuple[str, ...] = ("model-a", "model-b")) -> Embedding:
    """Make embeddings of up to three passages in four dimensions."""
    passages = draw(st.integers(0, 3))
    numbers = st.floats(-1, 1, width=32)
    vectors = draw(st.lists(numbers, min_size=passages * 4, max_size=passages * 4))
    bounds = draw(st.lists(st.integers(0, 2**31 - 1), min_size=passages * 2, max_size=passages * 2))
    return Embedding(
        model=draw(st.sampled_from(models)),
        spans=np.array(bounds, dtype=np.int32).reshape(passages, 2),
        vectors=np.array(vectors, dtype=np.float32).reshape(passages, 4),
    )


several_embeddings = st.lists(
    embeddings(), max_size=2, unique_by=lambda embedding: embedding.model
).map(tuple)
"""The embeddings of one memory, in any order."""


@st.composite
def memories(draw: st.DrawFn, memory_id: str | None = None, revision: int = 1) -> Memory:
    """Make memories with every field set or not, under `memory_id` if one is given."""
    some_names = st.lists(names, max_size=3).map(tuple)
    fields: dict[str, Any] = {
        "id": draw(ids) if memory_id is None else memory_id,
        "text": draw(texts),
        "kind": draw(st.sampled_from(Kind)),
        "title": draw(st.none() | texts),
        "scope": draw(st.sampled_from([GLOBAL, "apollo", "Straße"]) | names),
        "tags": draw(st.lists(st.sampled_from(["Tag", "tag", "ünï"]), max_size=2).map(tuple)),
        "context": draw(contexts),
        "conversation_id": draw(st.sampled_from([None, "talk-1", "talk-2"])),
        "speaker": draw(st.none() | names),
        "origin": draw(st.sampled_from(Origin)),
        "happened_at": draw(moments),
        "stored_at": draw(moments),
        "valid_from": draw(st.none() | moments),
        "valid_to": draw(st.none() | moments),
        "key": draw(st.none() | names),
        "status": draw(st.sampled_from(Status)),
        "important": draw(st.booleans()),
        "sources": draw(st.lists(ids, max_size=2).map(tuple)),
        "attachments": draw(some_names),
        "revision": revision,
    }
    return Memory(**fields)


@st.composite
def scopes(draw: st.DrawFn) -> Scope:
    """Make scopes, some of them `Global` itself."""
    return Scope(
        name=draw(st.sampled_from([GLOBAL, "apollo", "Straße"]) | names),
        description=draw(texts),
        parent=draw(st.none() | st.sampled_from([GLOBAL, "apollo"])),
        keywords=draw(st.lists(names, max_size=2).map(tuple)),
        active=draw(st.booleans()),
        sensitivity=draw(st.sampled_from(Sensitivity)),
    )
