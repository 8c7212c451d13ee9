"""A table of scopes that was changed is one that was made of the scopes after the change."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from infinite_memory.core.values.scope import Scope, ScopeTable, find_spelling, names_within

NAMES = st.sampled_from(["a", "A", "b", "c"])
SCOPES = st.builds(Scope, name=NAMES, parent=st.none() | NAMES)
CHANGES = st.lists(st.tuples(st.lists(SCOPES, max_size=3), st.lists(NAMES, max_size=2)), max_size=6)


@given(CHANGES)
def test_groups_follow_every_change(
    changes: list[tuple[list[Scope], list[str]]],
) -> None:
    table = ScopeTable()
    for stored, erased in changes:
        find_spelling("a", table), names_within("a", table)  # kept from here on
        before, kept = table, dict(table)
        table = table.change(stored, erased)
        assert before == kept
        fresh = ScopeTable(table)
        for name in ("a", "A", "b", "B", "c"):
            assert find_spelling(name, table) == find_spelling(name, fresh)
            assert set(names_within(name, table)) == set(names_within(name, fresh))
