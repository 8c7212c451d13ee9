"""Hypothesis strategies for the values that a storage keeps."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
from hypothesis import strategies as st

from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.entry import (
    Action,
    Actor,
    LinkStep,
    MemoryStep,
    Operation,
    ScopeStep,
)
from infinite_memory.core.values.fields import MEMORY_FIELDS, FieldType, MemoryField
from infinite_memory.core.values.link import Link, LinkType
from infinite_memory.core.values.memory import GLOBAL, JsonValue, Kind, Memory, Status
from infinite_memory.core.values.record import Embedding, Usage
from infinite_memory.core.values.scope import Scope, Sensitivity

__all__ = [
    "actions",
    "contexts",
    "drafts",
    "embeddings",
    "ids",
    "links",
    "memories",
    "moments",
    "names",
    "profiles",
    "revisions",
    "scopes",
    "several_criteria",
    "several_embeddings",
    "texts",
    "usages",
]

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
"""Any text that may be stored, including the empty text."""

names = texts.filter(lambda text: bool(text.strip()))
"""Names of scopes, tags, speakers: texts that are not blank."""

ids = st.one_of(
    st.sampled_from(["a", "b", "c", "d", "e"]),
    st.text("abzAZ09._:/-", min_size=1, max_size=128),
)
"""Ids of memories; some ids are drawn often."""

moments = st.datetimes(timezones=st.just(UTC)) | st.sampled_from(
    [
        datetime.min.replace(tzinfo=UTC),
        datetime.max.replace(tzinfo=UTC),
        datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        datetime(2026, 1, 20, tzinfo=UTC),
    ]
)
"""Aware moments in UTC, from the earliest to the latest that Python has."""

usages = st.one_of(
    st.builds(lambda count, last: Usage(count=count, last=last), st.integers(0, 9), moments),
    st.builds(
        lambda amount, at: Usage(count=0, activation=amount, activated_at=at),
        st.floats(0, sys.float_info.max),
        moments,
    ),
    st.just(Usage(count=0)),
)
"""Recalls, an activation, or nothing, to add to the usage of a memory."""

several_criteria = st.builds(
    Criteria,
    scopes=st.none() | st.sets(st.sampled_from(["Global", "apollo"])).map(frozenset),
    tags=st.sampled_from([(), ("TAG",), ("tag", "ünï")]),
    kinds=st.none() | st.sets(st.sampled_from(Kind)).map(frozenset),
    statuses=st.none() | st.sets(st.sampled_from(Status)).map(frozenset),
    conversation_id=st.sampled_from([None, "talk-1"]),
    since=st.none() | moments,
    until=st.none() | moments,
    key=st.sampled_from([None, None, "key"]),
    keyed=st.booleans(),
    as_of=st.none() | moments,
)
"""Criteria that often match some of the `memories`."""

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
"""The embeddings of a memory, in any order."""


_OWN_VALUES: Mapping[str, st.SearchStrategy[Any]] = {
    "id": ids,
    "text": texts,
    "title": st.none() | texts,
    "scope": st.sampled_from([GLOBAL, "apollo", "Straße"]) | names,
    "tags": st.lists(st.sampled_from(["Tag", "tag", "ünï"]), max_size=2).map(tuple),
    "conversation_id": st.sampled_from([None, "talk-1", "talk-2"]),
    "key": st.sampled_from([None, "key"]) | names,
    "sources": st.lists(ids, max_size=2).map(tuple),
}
"""The values of fields that storages look up, or that are of a form of their own."""

_VALUES: Mapping[FieldType, st.SearchStrategy[Any]] = {
    FieldType.TEXT: names,
    FieldType.TEXTS: st.lists(names, max_size=3).map(tuple),
    FieldType.OBJECT: contexts,
    FieldType.TIME: moments,
    FieldType.FLAG: st.booleans(),
    FieldType.NUMBER: st.integers(0, 2**31),
}


def _draw_values(field: MemoryField) -> st.SearchStrategy[Any]:
    if field.name in _OWN_VALUES:
        return _OWN_VALUES[field.name]
    values = _VALUES[field.value_type] if field.choices is None else st.sampled_from(field.choices)
    return st.none() | values if field.optional else values


_field_values = st.fixed_dictionaries({field.name: _draw_values(field) for field in MEMORY_FIELDS})


@st.composite
def memories(draw: st.DrawFn, memory_id: str | None = None, revision: int = 1) -> Memory:
    """Make memories with every field set or unset, under `memory_id` unless it is None."""
    values = {**draw(_field_values), "revision": revision}
    return Memory(**values if memory_id is None else {**values, "id": memory_id})


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


_links = st.builds(
    Link,
    source=ids,
    target=ids,
    type=st.sampled_from(LinkType),
    weight=st.floats(0, 1, exclude_min=True),
    made_by=texts,
    reason=texts,
    made_at=moments,
)
_scopes = scopes()
_revisions = st.integers(0, 2**62)
_memory_steps = st.builds(MemoryStep, id=ids, before=_revisions, after=_revisions)
# Built once: to build a strategy takes far longer than to draw from it.
_actions = st.builds(
    Action,
    at=moments,
    actor=st.builds(Actor, client=texts, process=texts),
    operation=st.sampled_from(Operation),
    memories=st.lists(_memory_steps, max_size=3, unique_by=lambda step: step.id).map(tuple),
    scopes=st.lists(
        st.builds(ScopeStep, before=st.none() | _scopes, after=st.none() | _scopes), max_size=1
    ).map(tuple),
    links=st.lists(
        st.builds(LinkStep, before=st.none() | _links, after=st.none() | _links), max_size=1
    ).map(tuple),
    undoes=st.none() | st.integers(1, 2**62),
    reason=texts,
)


def links() -> st.SearchStrategy[Link]:
    """Make links between memories that are there or not."""
    return _links


def actions() -> st.SearchStrategy[Action]:
    """Make actions with steps of every sort."""
    return _actions


_keys = st.sampled_from([None, "colour", "colour", "colour", "city"])
_few_scopes = st.sampled_from([GLOBAL, "apollo"])


def drafts(days: st.SearchStrategy[datetime]) -> st.SearchStrategy[dict[str, Any]]:
    """Make arguments of `MemoryStore.remember`, at given moments, many with the same key."""
    return st.fixed_dictionaries(
        {"text": st.sampled_from(["red", "green", "blue"])},
        optional={
            "scope": _few_scopes,
            "tags": st.just(("x",)),
            "key": _keys,
            "happened_at": days,
            "valid_from": days,
            "valid_to": days,
        },
    )


def revisions(days: st.SearchStrategy[datetime]) -> st.SearchStrategy[dict[str, Any]]:
    """Make arguments of `MemoryStore.revise`."""
    return st.fixed_dictionaries(
        {},
        optional={
            "text": st.sampled_from(["red", "yellow"]),
            "tags": st.sampled_from([("x",), ()]),
            "scope": _few_scopes,
            "key": _keys,
            "happened_at": days,
            "valid_from": st.none() | days,
            "valid_to": st.none() | days,
            "status": st.sampled_from(["current", "forgotten", "superseded"]),
        },
    )


profiles: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {"name": "Ann"},
        {"name": "Bo", "preferences": {"drink": "tea"}},
        {"name": None, "preferences": {"drink": {"hot": "tea", "cold": "milk"}}},
        {"preferences": {"drink": {"hot": None}}, "notes": "likes red"},
        {"preferences": None, "notes": ["likes blue"]},
    ]
)
"""Changes of a profile."""
