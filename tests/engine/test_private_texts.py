"""An error never quotes what the call may not see."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from infinite_memory import Conflict, InfiniteMemoryError, InvalidInput, MemoryStore, UnknownScope

SECRET = "the blood test was positive"
HIDDEN = ("blood", "positive", "clinic")


@pytest.fixture
def store(open_store: Callable[..., MemoryStore]) -> MemoryStore:
    store = open_store()
    store.scopes.create("clinic", sensitivity="private")
    store.remember(SECRET, id="m", scope="clinic", conversation_id="blood talk", key="blood/group")
    return store


def message_of(call: Callable[[], object], kind: type[InfiniteMemoryError]) -> str:
    with pytest.raises(kind) as caught:
        call()
    message = str(caught.value)
    assert not [word for word in HIDDEN if word in message], message
    return message


def test_an_id_that_is_taken_in_a_private_scope_does_not_show_its_text(store: MemoryStore) -> None:
    message = message_of(lambda: store.remember("hello", id="m"), Conflict)
    assert "not shown here" in message
    assert "choose another id" in message
    with pytest.raises(Conflict, match=SECRET):
        store.remember("hello", id="m", scope="clinic")


def test_a_wrong_revision_in_a_private_scope_does_not_show_the_text(store: MemoryStore) -> None:
    message = message_of(lambda: store.revise("m", revision=7, text="hello"), Conflict)
    assert "now has revision 1" in message
    assert "'hello'" in message
    assert "get it by its id" in message


def test_a_private_text_that_was_recalled_is_not_shown_either(store: MemoryStore) -> None:
    store.get("m")
    message_of(lambda: store.revise("m", revision=7, text="hello"), Conflict)
    message_of(lambda: store.remember("hello", id="m"), Conflict)


def test_a_text_in_another_scope_is_shown_only_after_this_process_has_recalled_it(
    store: MemoryStore,
) -> None:
    store.remember("apollo ships in May", id="a", scope="apollo")
    with pytest.raises(Conflict) as caught:
        store.revise("a", revision=7, text="hello")
    assert "May" not in str(caught.value)
    store.get("a")
    with pytest.raises(Conflict, match="apollo ships in May"):
        store.revise("a", revision=7, text="hello")
    store.revise("a", revision=1, text="apollo ships in June")
    with pytest.raises(Conflict, match="apollo ships in June"):
        store.revise("a", revision=7, text="hello")


def test_a_text_in_the_default_scope_or_its_parents_is_shown(
    open_store: Callable[..., MemoryStore],
) -> None:
    store = open_store(default_scope="Team")
    store.scopes.create("company")
    store.scopes.create("team", parent="company")
    for memory_id, scope in (("t", "team"), ("c", "company"), ("g", "Global")):
        store.remember(f"text of {memory_id}", id=memory_id, scope=scope)
        with pytest.raises(Conflict, match=f"text of {memory_id}"):
            store.revise(memory_id, revision=7, text="hello")
        with pytest.raises(Conflict, match=f"text of {memory_id}"):
            store.remember("hello", id=memory_id)


def test_what_it_cannot_supersede_is_not_located(store: MemoryStore) -> None:
    message = message_of(lambda: store.remember("hello", supersedes=["m"]), InvalidInput)
    assert "another scope" in message
    store.remember("apollo ships", id="a", scope="apollo")
    with pytest.raises(InvalidInput, match="'apollo'"):
        store.remember("hello", supersedes=["a"])


def test_the_nearest_scope_is_never_a_private_one(store: MemoryStore) -> None:
    for call in (
        lambda: store.browse(scope="clinik"),
        lambda: store.scopes["clinik"],
        lambda: store.scopes.create("x", parent="clinik"),
        lambda: store.scopes.delete("clinik"),
        lambda: store.journal.history("key", scope="clinik"),
    ):
        assert "'Global'" in message_of(call, UnknownScope)
    assert store.search("hello", scope="clinik").note == "there is no scope 'clinik' yet"


def test_a_parent_of_private_scopes_is_kept_without_naming_them(store: MemoryStore) -> None:
    store.scopes.create("family")
    store.scopes.update("clinic", parent="family")
    assert "private" in message_of(lambda: store.scopes.delete("family"), Conflict)
    store.scopes.create("school", parent="family")
    assert message_of(lambda: store.scopes.delete("family"), Conflict).endswith("school")


def test_why_not_does_not_tell_where_a_private_memory_is(store: MemoryStore) -> None:
    absence = store.why_not("hello", "m", conversation_id="another")
    assert not [word for word in HIDDEN if word in absence.reason], absence.reason
    assert absence.unmet == ("scope", "conversation_id")
    named = store.why_not("hello", "m", scope="clinic", conversation_id="another")
    assert "blood talk" in named.reason
