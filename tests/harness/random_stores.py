"""Stores with random content, for round trips of archives."""

from __future__ import annotations

from hypothesis import strategies as st

from infinite_memory.core.errors import Conflict, InvalidInput
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.access.key import AccessKey, Right
from infinite_memory.core.values.commit import Commit, Erase, Put
from infinite_memory.core.values.record import Usage
from infinite_memory.testing import strategies as values

_moments = values.moments.map(lambda moment: moment.replace(fold=0))
_keys = st.builds(
    AccessKey,
    id=st.text("abcdefgh", min_size=8, max_size=8),
    name=values.names,
    digest=st.binary(min_size=32, max_size=32),
    rights=st.sampled_from([(Right.READ,), tuple(Right)]),
    scopes=st.lists(values.names, min_size=1, max_size=2).map(tuple),
    created_at=_moments,
    created_by=values.texts,
    expires_at=st.none() | _moments,
    revoked_at=st.none() | _moments,
)


@st.composite
def _puts(draw: st.DrawFn) -> list[Put]:
    """Make the revisions of a memory, whose numbers need not follow one another."""
    memory_id = draw(values.ids)
    puts: list[Put] = []
    expected = 0
    for step in draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)):
        memory = draw(values.memories(memory_id, revision=expected + step))
        embeddings = draw(values.several_embeddings)
        puts.append(Put(memory=memory, expected=expected, embeddings=embeddings))
        expected = memory.revision
    return puts


_steps = st.one_of(
    _puts().map(lambda puts: Commit(puts=puts)),
    values.ids.map(lambda memory_id: Commit(erases=(Erase(id=memory_id),))),
    values.links().map(lambda link: Commit(links=(link,))),
    values.scopes().map(lambda scope: Commit(scopes=(scope,))),
    _keys.map(lambda key: Commit(access_keys=(key,))),
    values.actions().map(lambda action: Commit(entry=action)),
    st.sampled_from(["model-a", "model-b"]).map(lambda model: Commit(active_model=model)),
    st.tuples(values.ids, st.builds(Usage.plus, values.usages, values.usages)),
)

commits = st.lists(_steps, max_size=25)
"""Commits, and usage of ids, one after the other."""


def fill_from(storage: Storage, steps: list[object]) -> None:
    """Carry out the steps; a step that the storage refuses changes nothing."""
    for step in steps:
        try:
            if isinstance(step, Commit):
                storage.commit(step)
            elif isinstance(step, tuple):
                storage.count_usage({step[0]: step[1]})
        except (Conflict, InvalidInput):
            continue
