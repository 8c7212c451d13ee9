"""The commit: parts are merged in their order, and what contradicts itself is refused."""

from __future__ import annotations

import pytest
from attrs import evolve, fields

from infinite_memory.core.errors import AccessDenied, InvalidInput
from infinite_memory.core.values.commit import (
    Attach,
    Commit,
    Detach,
    Erase,
    Expect,
    ExpectContent,
    ExpectKey,
    merge_commits,
)
from infinite_memory.core.values.link import LinkKey, LinkType
from infinite_memory.core.values.scope import Scope
from infinite_memory.storage.confined import Confinement
from infinite_memory.storage.confined.writes import Translation
from infinite_memory.testing.storage_contract import make_access_key
from infinite_memory.testing.storage_contract.base import make_embedding, make_link, put
from infinite_memory.testing.storage_contract.journal import make_action

S = Scope(name="s")
KEY = make_access_key("aaaaaaaa")
FULL = Commit(
    expect=Expect(
        scopes={"s": S},
        unused=frozenset({"t"}),
        keys=(ExpectKey(scope="s", key="k", ids=frozenset()),),
        contents=(ExpectContent(scopes=frozenset({"s"}), content_hashes=frozenset({bytes(32)})),),
        access_keys={"aaaaaaaa": KEY},
        entry_number=7,
        lease=3,
    ),
    erases=(Erase(id="e"),),
    puts=(put("a", scope="s"), put("a", scope="s", revision=2)),
    attaches=(Attach(id="b", revision=1, embedding=make_embedding()),),
    active_model="model-a",
    detaches=(Detach(id="c", keep="model-a"),),
    erased_links=(LinkKey("a", "b", LinkType.SEMANTIC),),
    links=(make_link("a", "c"),),
    erased_scopes=("t",),
    access_keys=(evolve(KEY, name="other"),),
    scopes=(evolve(S, description="changed"),),
    past_entries=(make_action("z"),),
    entry=make_action("a"),
)


def _is_default(value: object, name: str) -> bool:
    return value == getattr(Commit(), name)


def test_the_full_commit_of_these_tests_has_something_in_every_field() -> None:
    for attribute in fields(Commit):
        assert not _is_default(getattr(FULL, attribute.name), attribute.name), attribute.name
    for attribute in fields(Expect):
        value = getattr(FULL.expect, attribute.name)
        assert value != getattr(Expect(), attribute.name), attribute.name


@pytest.mark.parametrize("name", [attribute.name for attribute in fields(Commit)])
def test_a_commit_with_anything_in_it_is_not_empty(name: str) -> None:
    assert Commit().is_empty
    assert not evolve(Commit(), **{name: getattr(FULL, name)}).is_empty


def test_commits_of_one_field_each_merge_into_the_commit_of_all_fields() -> None:
    parts = [
        evolve(Commit(), **{attribute.name: getattr(FULL, attribute.name)})
        for attribute in fields(Commit)
    ]
    assert merge_commits(*parts) == FULL
    assert merge_commits(FULL, Commit()) == merge_commits(Commit(), FULL) == FULL
    assert merge_commits() == Commit()


def test_writes_of_a_kind_keep_the_order_of_their_commits() -> None:
    first, second = Commit(puts=[put("b"), put("a")]), Commit(puts=(put("c"),))
    assert [p.memory.id for p in merge_commits(first, second).puts] == ["b", "a", "c"]


@pytest.mark.parametrize(
    "other",
    [
        Commit(entry=make_action("b")),
        Commit(expect=Expect(scopes={"s": None})),
        Commit(expect=Expect(entry_number=8)),
        Commit(expect=Expect(access_keys={})),
    ],
)
def test_commits_that_contradict_each_other_are_not_merged(other: Commit) -> None:
    with pytest.raises(InvalidInput, match="a commit"):
        merge_commits(FULL, other)


def test_revisions_come_in_the_order_in_which_a_storage_writes_them() -> None:
    commit = Commit(
        puts=[put("a"), put("a", revision=2)],
        erases=[Erase(id="a", expected=3)],
    )
    assert list(commit.revisions()) == [("a", 3, 0), ("a", 0, 1), ("a", 1, 2)]


def test_a_confined_store_passes_every_field_inside_but_access_keys_and_past_entries() -> None:
    translation = Translation(
        confinement=Confinement(frozenset({"s", "t"})), scopes={"s": S}, outside=frozenset()
    )
    expect = evolve(FULL.expect, access_keys=None)
    inside = evolve(FULL, access_keys=(), past_entries=(), expect=expect)
    assert merge_commits(translation.translate(inside)) == merge_commits(inside)
    for commit in (
        Commit(access_keys=(KEY,)),
        Commit(expect=Expect(access_keys={})),
        Commit(past_entries=FULL.past_entries),
    ):
        with pytest.raises(AccessDenied, match="belong to the whole store"):
            translation.translate(commit)
