"""Patterns of scope names: what they match, and what is no pattern."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.access.scope_pattern import (
    ScopePattern,
    check_scope_pattern,
    check_scope_patterns,
    scope_part,
)
from infinite_memory.core.values.scope import find_name_problem, fold_name
from infinite_memory.storage.confined import Confinement


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        ("team", ["team", "TEAM", " Team "], ["team/a", "teams", "tea"]),
        ("team/*", ["team/a", "Team/A/b", "team/"], ["team", "teams/a", "a/team/b"]),
        ("team*", ["team", "teams", "team/a"], ["tea", "a team"]),
        ("team-*/docs", ["team-1/docs", "team-/docs"], ["team-1/2/docs", "team-1/docs/a"]),
        ("*/docs", ["a/docs", "/docs"], ["docs", "a/b/docs"]),
        ("*", ["team", "a/b", "", "Global"], []),
        ("STRASSE*", ["Straße", "straße/5"], ["stras"]),
        ("a.b[c]*", ["a.b[c]", "A.B[C]d"], ["axb[c]", "a.bc"]),
        ("a?", ["a?"], ["ab"]),
    ],
)
def test_a_pattern_matches_by_its_stars_alone(
    pattern: str, inside: list[str], outside: list[str]
) -> None:
    made = ScopePattern(check_scope_pattern(pattern))
    assert [name for name in inside if not made.matches(fold_name(name))] == []
    assert [name for name in outside if made.matches(fold_name(name))] == []


@pytest.mark.parametrize(
    "text", ["", " ", "a*b", "**", "*a", "a/*b", "a**", "a/**/b", "ALL", "all", "a\nb", "a" * 129]
)
def test_what_is_no_pattern_is_refused_with_what_is_one(text: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be used"):
        check_scope_pattern(text)


def test_patterns_are_kept_once_each_in_their_first_spelling() -> None:
    assert check_scope_patterns([" Team/* ", "team/*", "a"]) == ("Team/*", "a")
    assert check_scope_patterns("team/*") == ("team/*",)


@given(name=st.text("ab/", max_size=6), prefix=st.text("ab/", max_size=4))
def test_a_star_at_the_end_is_that_of_a_shell(name: str, prefix: str) -> None:
    assert ScopePattern(f"{prefix}*").matches(name) == fnmatchcase(name, f"{prefix}*")


@given(parts=st.lists(st.sampled_from(["a", "b*", "*", "team-*", "Ä*"]), min_size=1, max_size=3))
def test_the_first_name_of_a_pattern_matches_it(parts: list[str]) -> None:
    pattern = ScopePattern(check_scope_pattern("/".join(parts)))
    assert pattern.matches(fold_name(pattern.first_name))


@pytest.mark.parametrize(
    ("names", "default"),
    [
        (["team/*"], "team/general"),
        (["team/*", "Work"], "Work"),
        (["team*"], "team"),
        (["*/docs"], "general/docs"),
    ],
)
def test_a_confined_store_has_a_default_scope_inside(names: list[str], default: str) -> None:
    confinement = Confinement(names)
    assert confinement.default_scope == default
    assert confinement.allows(default)


@given(st.lists(st.text(min_size=1), min_size=2, max_size=2, unique=True))
@example(["Anna", "anna"])
@example(["straße", "strasse"])
@example(["é", "e\u0301"])
@example(["*", "a/b, c"])
def test_a_part_of_a_scope_stands_for_one_text(texts: list[str]) -> None:
    names = [f"users/{scope_part(text)}" for text in texts]
    assert [unquote(name.removeprefix("users/")) for name in names] == texts
    assert len({fold_name(name) for name in names}) == 2
    for name in names:
        assert ScopePattern(name).is_name
        assert (find_name_problem(name), name.count("/")) == (None, 1)


@pytest.mark.parametrize("text", ["", None, 7])
def test_a_part_of_a_scope_is_a_text(text: Any) -> None:
    with pytest.raises(InvalidInput, match="a text with a letter"):
        scope_part(text)
