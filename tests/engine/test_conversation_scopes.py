"""With the setting, a conversation has a scope of its own; it is seen there and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinite_memory import Config, Draft, InvalidInput, MemoryStore, UnknownScope
from infinite_memory.core.values.scope import Sensitivity, fold_name
from infinite_memory.engine.conversation_scopes import name_conversation_scope
from infinite_memory.engine.scopes import check_scope_name
from infinite_memory.testing.embedders import HashingEmbedder

Open = Callable[..., MemoryStore]
QUERY = "which colour did we choose"

labels = st.text(
    st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=200
)


@pytest.fixture
def talking(open_store: Open) -> MemoryStore:
    """A store with the default scope `work` and a scope for every conversation."""
    store = open_store(default_scope="work", conversation_scopes=True)
    store.remember("we choose colour blue", id="one", kind="message", conversation_id="c1")
    store.remember("we choose colour green", id="two", kind="message", conversation_id="c2")
    store.remember("we choose colour red", id="work", kind="message")
    store.remember("we choose colour grey", id="global", scope="Global")
    return store


def found(store: MemoryStore, **conditions: object) -> set[str]:
    return {hit.memory.id for hit in store.search(QUERY, **conditions)}  # type: ignore[arg-type]


def test_a_conversation_goes_into_its_scope_under_the_default_scope(talking: MemoryStore) -> None:
    assert talking.get("one").scope == "conversations/c1"
    assert talking.get("work").scope == "work"
    scopes = {scope.name: scope.parent for scope in talking.scopes}
    assert scopes == {
        "Global": None,
        "work": None,
        "conversations/c1": "work",
        "conversations/c2": "work",
    }


def test_a_conversation_sees_itself_and_its_parents_and_no_other_one(talking: MemoryStore) -> None:
    assert found(talking, scope="conversations/c1") == {"one", "work", "global"}
    assert found(talking) == {"work", "global"}
    assert found(talking, scope="ALL") == {"one", "two", "work", "global"}


def test_a_request_for_a_conversation_reads_its_scope(talking: MemoryStore) -> None:
    assert found(talking, conversation_id="c1") == {"one"}
    assert found(talking, conversation_id="c1", scope="work") == set()
    assert found(talking, conversation_id="never") == set()
    assert [m.id for m in talking.browse(conversation_id="c2").memories] == ["two"]
    recalled = talking.recall_by_time(when="always", conversation_id="c2")
    assert [memory.id for memory in recalled] == ["two"]
    assert talking.why_not(QUERY, "one", conversation_id="c1").step == "found"


def test_the_own_memories_of_a_conversation_are_not_those_of_global(talking: MemoryStore) -> None:
    talking.remember("we choose colour old", id="g1", scope="Global", conversation_id="c1")
    assert found(talking, conversation_id="c1", inherited="none") == {"one"}
    assert found(talking, conversation_id="never", inherited="none") == set()


def test_what_is_forgotten_of_a_conversation_is_in_its_scope(talking: MemoryStore) -> None:
    preview = talking.bulk.preview_forget
    assert preview(conversation_id="c1").by_scope == {"conversations/c1": 1}
    by_query = preview(QUERY, threshold=0, conversation_id="c1")
    assert by_query.by_scope == {"conversations/c1": 1}
    assert preview(QUERY, threshold=0, conversation_id="c9").count == 0
    with pytest.raises(InvalidInput, match="conversation_id"):
        talking.bulk.preview_forget(QUERY, conversation_id=["c1"])  # type: ignore[typeddict-item]


def test_a_scope_that_is_named_counts(talking: MemoryStore) -> None:
    receipt = talking.remember("we choose white", scope="work", conversation_id="c1")
    assert receipt.scope == "work"
    assert talking.remember("by hand", scope="conversations/c3").scope == "conversations/c3"
    assert talking.scopes["conversations/c3"].parent == "work"


def test_without_the_setting_a_conversation_stays_in_the_default_scope(open_store: Open) -> None:
    store = open_store(default_scope="work")
    assert store.remember("hello", conversation_id="c1").scope == "work"
    assert store.remember("hello there", scope="conversations/c1").scope == "conversations/c1"
    assert store.scopes["conversations/c1"].parent is None


def test_global_is_the_parent_of_all_and_named_by_none(open_store: Open) -> None:
    store = open_store(conversation_scopes=True)
    store.remember("we choose blue", conversation_id="c1")
    store.remember("we choose red", conversation_id="c1", scope="Global")
    assert store.scopes["conversations/c1"].parent is None
    assert len(store.search("we choose", conversation_id="c1")) == 2


def test_many_at_once_go_where_each_would_go(open_store: Open) -> None:
    store = open_store(default_scope="work", conversation_scopes=True)
    drafts = [Draft(text=f"turn {n}", conversation_id=f"c{n % 3}") for n in range(9)]
    receipts = store.remember_many([*drafts, Draft(text="a note")])
    assert [receipt.scope for receipt in receipts] == [
        *[f"conversations/c{n % 3}" for n in range(9)],
        "work",
    ]


def test_ids_that_differ_in_letter_case_have_two_scopes(talking: MemoryStore) -> None:
    scope = talking.remember("we choose colour black", conversation_id="C1").scope
    assert fold_name(scope) != "conversations/c1"
    assert found(talking, conversation_id="c1") == {"one"}


def test_an_undo_takes_the_scope_away_too(talking: MemoryStore) -> None:
    talking.remember("we choose colour pink", conversation_id="c3")
    talking.undo()
    assert "conversations/c3" not in {scope.name for scope in talking.scopes}
    assert "work" in {scope.name for scope in talking.scopes}


def test_an_exact_repeat_in_a_conversation_is_one_and_in_another_it_is_not(
    open_store: Open,
) -> None:
    store = open_store(conversation_scopes=True)
    first = store.remember("we choose green", conversation_id="c2")
    repeat = store.remember("we choose green", conversation_id="c2")
    assert (repeat.id, repeat.outcome) == (first.id, "strengthened")
    assert store.remember("we choose green", conversation_id="c9").outcome == "stored"


def test_strict_scopes_let_a_conversation_have_its_scope(open_store: Open) -> None:
    store = open_store(strict_scopes=True, conversation_scopes=True)
    assert store.remember("hello", conversation_id="c1").scope == "conversations/c1"
    with pytest.raises(UnknownScope):
        store.remember("hello", scope="conversations/c2")


def test_strict_scopes_refuse_a_default_scope_that_does_not_exist(open_store: Open) -> None:
    store = open_store(strict_scopes=True, conversation_scopes=True, default_scope="wrok")
    with pytest.raises(UnknownScope, match="wrok"):
        store.remember("hello", conversation_id="c1")
    assert [scope.name for scope in store.scopes] == ["Global"]


def test_a_conversation_under_a_private_scope_is_private(open_store: Open) -> None:
    store = open_store(default_scope="Diary", conversation_scopes=True)
    store.scopes.create("diary", sensitivity="private")
    store.remember("we choose blue", conversation_id="c1")
    scope = store.scopes["conversations/c1"]
    assert (scope.parent, scope.sensitivity) == ("diary", Sensitivity.PRIVATE)
    assert len(store.search("we choose", scope="ALL")) == 0
    assert len(store.search("we choose", conversation_id="c1")) == 1


def test_a_default_scope_among_the_conversations_is_not_its_own_parent(open_store: Open) -> None:
    store = open_store(default_scope="conversations/c1", conversation_scopes=True)
    store.remember("one", conversation_id="c1")
    store.remember("two", conversation_id="c2")
    assert store.scopes["conversations/c1"].parent is None
    assert store.scopes["conversations/c2"].parent == "conversations/c1"


def test_a_confined_store_uses_no_scope_outside(tmp_path: Path) -> None:
    config = Config(home=tmp_path, conversation_scopes=True)
    embedder = HashingEmbedder()
    with MemoryStore.open(config=config, embedder=embedder, scopes=["work"]) as store:
        assert store.remember("hello", conversation_id="c1").scope == "work"
        assert len(store.search("hello", conversation_id="c1")) == 1
    names = ["work", "conversations/c1"]
    with MemoryStore.open(config=config, embedder=embedder, scopes=names) as store:
        assert store.remember("we talk", conversation_id="c1").scope == "conversations/c1"
        assert store.scopes["conversations/c1"].parent == "work"


@pytest.mark.parametrize("value", [7, "", "a\nb", "x" * 5000, ["c"]])
def test_an_id_that_cannot_be_used_is_refused(talking: MemoryStore, value: object) -> None:
    with pytest.raises(InvalidInput, match="conversation_id"):
        talking.remember("hello", conversation_id=value)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="conversation_id"):
        talking.search("hello", conversation_id=value)  # type: ignore[arg-type]


@given(one=labels, two=labels)
def test_two_conversations_never_share_a_name(one: str, two: str) -> None:
    names = [name_conversation_scope(each) for each in (one, two)]
    assert all(check_scope_name(name) == name for name in names)
    assert (fold_name(names[0]) == fold_name(names[1])) == (one == two)


def test_an_id_that_looks_like_the_name_of_another_gets_its_own() -> None:
    upper = name_conversation_scope("ABC")
    copied = name_conversation_scope(fold_name(upper).removeprefix("conversations/"))
    assert fold_name(copied) != fold_name(upper)
    assert len(name_conversation_scope("x" * 500)) == 128
    assert name_conversation_scope("x" * 114) == "conversations/" + "x" * 114
