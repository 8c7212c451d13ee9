"""An action as one line of JSON."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from infinite_memory.model.codec import from_micros
from infinite_memory.model.entry import (
    Action,
    Actor,
    LinkStep,
    MemoryStep,
    Operation,
    ScopeStep,
)
from infinite_memory.model.link import Link, LinkType
from infinite_memory.model.scope import Scope

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
MOMENTS = st.integers(0, 4 * 10**15).map(from_micros)
REVISIONS = st.integers(0, 2**40)
SCOPES = st.builds(Scope, name=TEXTS, description=TEXTS, keywords=st.just(("a", '"b"')))
LINKS = st.builds(
    Link,
    source=TEXTS,
    target=TEXTS,
    type=st.sampled_from(LinkType),
    made_by=TEXTS,
    reason=TEXTS,
    made_at=MOMENTS,
)
ACTIONS = st.builds(
    Action,
    at=MOMENTS,
    actor=st.builds(Actor, client=TEXTS, process=TEXTS),
    operation=st.sampled_from(Operation),
    memories=st.lists(
        st.builds(MemoryStep, id=TEXTS, before=REVISIONS, after=REVISIONS), max_size=3
    ).map(tuple),
    scopes=st.lists(
        st.builds(ScopeStep, before=st.none() | SCOPES, after=st.none() | SCOPES), max_size=2
    ).map(tuple),
    links=st.lists(
        st.builds(LinkStep, before=st.none() | LINKS, after=st.none() | LINKS), max_size=2
    ).map(tuple),
    undoes=st.none() | REVISIONS,
    reason=TEXTS,
)


@given(ACTIONS)
def test_an_action_is_the_line_that_the_encoder_of_json_would_write(action: Action) -> None:
    text = action.to_text()
    written = json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":"))
    assert text == written
    assert Action.of(text) == action
