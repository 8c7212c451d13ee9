"""A new key beside a near one, and a key that other scopes have."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pytest

from infinite_memory import Config, InvalidInput, KeyElsewhere, MemoryStore, NotFound, Status
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.engine.keys import nearest_keys
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.testing.embedders import HashingEmbedder


def nearest(store: MemoryStore, key: str, **fields: object) -> str | None:
    """Store a fact with the key and return the nearest key that the receipt names."""
    receipt = store.remember(f"about {key}", key=key, **fields)  # type: ignore[arg-type]
    return None if receipt.nearest_key is None else receipt.nearest_key.key


def test_spellings_of_a_key_are_one_fact(store: MemoryStore) -> None:
    old = store.remember("lives in Rome", key="User.City")
    new = store.remember("lives in Oslo", key="user_city")
    assert new.superseded == (old.id,)
    assert store.get(new.id).key == "user/city"
    assert [memory.text for memory in store.journal.history("USER city")] == [
        "lives in Rome",
        "lives in Oslo",
    ]


def test_spellings_of_a_key_are_one_in_an_import_and_a_revision(store: MemoryStore) -> None:
    first, second = store.remember_many(
        [{"text": "a", "key": "User:City"}, {"text": "b", "key": "user/city"}]
    )
    assert second.superseded == (first.id,)
    revised = store.revise(second.id, revision=1, key="User City")
    assert revised.outcome == "unchanged"
    assert store.revise(second.id, revision=1, key="User.Town").revision == 2
    assert store.get(second.id).key == "user/town"


def test_the_same_words_under_another_spelling_of_the_key_are_a_repeat(store: MemoryStore) -> None:
    first = store.remember("lives in Rome", key="User.City")
    again = store.remember("lives in Rome", key="user/city")
    assert (again.outcome, again.id) == ("strengthened", first.id)


def test_a_key_of_separators_alone_changes_nothing(store: MemoryStore) -> None:
    for call in (
        lambda: store.remember("a", key=" - "),
        lambda: store.remember_many([{"text": "a"}, {"text": "b", "key": "./"}]),
        lambda: store.journal.history("..."),
    ):
        with pytest.raises(InvalidInput, match=r"has no letter or digit.*alice/job"):
            call()
    assert store.stats().memories == 0


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ("alice/birthday", "alice/birthdate"),
        ("alice/birthday", "alice/brithday"),
        ("alice/hobby", "alice/hobbies"),
        ("user/city", "userCity"),
        ("user/home/city", "user/homecity"),
        ("user/city", "City User"),
        ("alice/job", "alice/job/title"),
        ("project/apollo/deadline", "apollo/deadline"),
        ("favorite/color", "favourite/colour"),
        ("préférences/éditeur", "préférence/éditeur"),
        ("用户/所在城市名称", "用户/所在城巿名称"),
    ],
)
def test_a_new_key_near_a_known_one_names_it(store: MemoryStore, known: str, new: str) -> None:
    store.remember("something else", key="zoo/opening/hours")
    old = store.remember("the fact", key=known, scope="apollo")
    receipt = store.remember("the fact, told anew", key=new, scope="apollo")
    holder = receipt.nearest_key
    assert holder is not None
    assert (holder.key, holder.id, holder.scope) == (known, old.id, "apollo")
    assert holder.text == "the fact"
    assert receipt.pending == ()


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ("alice/birthday", "bob/birthday"),
        ("alice/birthday", "alice/birthplace"),
        ("alice/phone", "alice/email"),
        ("home/address", "work/address"),
        ("sprint/12/goal", "sprint/13/goal"),
        ("sprint/goal", "sprint/12/goal"),
        ("api/v1", "api/v2"),
        ("car", "cat"),
        ("city", "alice/city"),
        ("c++/style", "c#/style"),
        ("team/a/lead", "team/b/lead"),
        ("用户/城市", "用户/电话"),
    ],
)
def test_a_key_about_another_fact_is_not_named(store: MemoryStore, known: str, new: str) -> None:
    store.remember("a fact", key=known)
    assert nearest(store, new) is None


def test_a_key_is_new_only_once(store: MemoryStore) -> None:
    store.remember("one", key="alice/birthday")
    first = store.remember("two", key="alice/birthdate")
    assert first.nearest_key is not None
    assert nearest(store, "alice/birthdate") is None
    store.forget(first.id)
    later = store.remember("three", key="Alice Birthday")
    assert later.nearest_key is None


def test_of_several_keys_the_nearest_is_named(store: MemoryStore) -> None:
    for key in ("alice/jobs/now", "alice/job/title", "alice/jobs"):
        store.remember(f"about {key}", key=key)
    assert nearest(store, "alice/job") == "alice/jobs"


def test_a_forgotten_ended_or_later_fact_is_not_named(store: MemoryStore) -> None:
    gone = store.remember("one", key="alice/birthday")
    store.forget(gone.id)
    assert nearest(store, "alice/birthdate") is None
    begun = store.get(store.remember("two", key="bob/hobby").id).held_from
    assert nearest(store, "bob/hobbies", happened_at=begun.replace(year=2001)) is None
    store.remember(
        "three",
        key="eve/hobby",
        valid_to=begun.replace(year=2025),
        valid_from=begun.replace(year=2024),
    )
    assert nearest(store, "eve/hobbies") is None


def test_the_keys_of_profiles_are_never_named(store: MemoryStore) -> None:
    store.profile.update({"preferences": {"editor": "vim"}}, user="alice")
    (key,) = store.profile.get(user="alice").keys.values()
    assert nearest(store, "profile/alice/preferences/editor") is None
    assert [memory.key for memory in store.journal.history(key)] == [key]


def test_a_near_key_of_a_scope_that_is_not_seen_is_not_named(store: MemoryStore) -> None:
    store.remember("one", key="alice/birthday", scope="home")
    assert nearest(store, "alice/birthdate", scope="work") is None
    assert nearest(store, "alice/birthdays") is None


def test_a_parent_that_has_the_key_is_named_with_its_text(store: MemoryStore) -> None:
    store.scopes.create("work")
    store.scopes.create("apollo", parent="work")
    in_global = store.remember("tabs", key="code/indent")
    in_work = store.remember("spaces", key="code/indent", scope="work")
    assert [holder.id for holder in in_work.same_key] == [in_global.id]
    receipt = store.remember("two spaces", key="Code.Indent", scope="apollo")
    assert [(holder.scope, holder.text) for holder in receipt.same_key] == [
        ("work", "spaces"),
        ("Global", "tabs"),
    ]
    assert receipt.nearest_key is None
    assert receipt.superseded == ()
    again = store.remember("four spaces", key="code/indent", scope="apollo")
    assert [holder.scope for holder in again.same_key] == ["work", "Global"]


def test_a_child_that_has_the_key_is_named_without_its_text(store: MemoryStore) -> None:
    store.scopes.create("work")
    for name, options in (
        ("apollo", {}),
        ("secret", {"sensitivity": "private"}),
        ("closed", {}),
    ):
        store.scopes.create(name, parent="work", **options)  # type: ignore[arg-type]
        store.remember(f"indent of {name}", key="code/indent", scope=name)
    store.scopes.update("closed", active=False)
    store.remember("elsewhere", key="code/indent", scope="other")
    receipt = store.remember("tabs", key="code/indent", scope="work")
    assert [(holder.scope, holder.text) for holder in receipt.same_key] == [("apollo", None)]
    assert store.remember("none", key="code/indent").same_key == ()


def test_superseded_memories_elsewhere_are_not_named(store: MemoryStore) -> None:
    store.remember("tabs", key="code/indent")
    new = store.remember("spaces", key="code/indent")
    receipt = store.remember("two spaces", key="code/indent", scope="apollo")
    assert [holder.id for holder in receipt.same_key] == [new.id]


def test_a_revision_that_gives_a_new_key_or_scope_names_them_too(store: MemoryStore) -> None:
    old = store.remember("January 20", key="alice/birthday")
    new = store.remember("January 21")
    receipt = store.revise(new.id, revision=1, key="alice/birthdate")
    assert receipt.nearest_key is not None
    assert receipt.nearest_key.id == old.id
    settled = store.revise(new.id, revision=2, key="alice/birthday", supersedes=[old.id])
    assert (settled.superseded, settled.nearest_key) == ((old.id,), None)
    assert store.get(old.id).status is Status.SUPERSEDED
    store.remember("January 22", key="alice/birthday", scope="apollo")
    moved = store.revise(new.id, revision=3, text="January 21, 1990")
    assert (moved.same_key, moved.nearest_key) == ((), None)
    other = store.remember("in apollo", key="alice/birthplace", scope="apollo")
    store.remember("in Global", key="alice/birthplace")
    assert [h.scope for h in store.revise(other.id, revision=1, scope="home").same_key] == [
        "Global"
    ]


def test_without_similar_no_key_is_looked_for(store: MemoryStore) -> None:
    store.remember("one", key="alice/birthday")
    receipt = store.remember("two", key="alice/birthdate", similar=False)
    assert receipt.nearest_key is None
    many = store.remember_many([{"text": "three", "key": "alice/birthdates"}])
    assert many[0].nearest_key is None


class _CountingStorage(InMemoryStorage):
    """A storage that counts how often its keys are listed."""

    def __init__(self) -> None:
        super().__init__()
        self.listed = 0

    def keys(self, scopes: Collection[str], *, limit: int) -> list[str]:
        self.listed += 1
        return super().keys(scopes, limit=limit)


def test_a_memory_without_a_key_reads_no_keys() -> None:
    storage = _CountingStorage()
    with MemoryStore.open("memory://", storage=storage, embedder=HashingEmbedder()) as store:
        store.remember("no key")
        store.remember_many([{"text": "a fact", "key": "an/import"}])
        assert storage.listed == 0
        store.remember("a key", key="a/key")
        assert storage.listed == 1


def test_a_key_of_another_scope_is_found_and_said(store: MemoryStore) -> None:
    store.remember("June 5", key="apollo/deadline", scope="apollo")
    store.remember("June 6", key="apollo/deadline", scope="Side Project")
    store.scopes.create("diary", sensitivity="private")
    store.remember("June 7", key="apollo/deadline", scope="diary")
    with pytest.raises(KeyElsewhere, match="in the scopes") as caught:
        store.journal.history("Apollo.Deadline")
    error = caught.value
    assert error.key == "apollo/deadline"
    assert {*error.scopes} == {"apollo", "Side Project"}
    assert f"history('apollo/deadline', scope={error.scopes[0]!r})" in str(error)
    assert "diary" not in str(error)
    assert len(store.journal.history("apollo/deadline", scope=error.scopes[0])) == 1
    (in_side_project,) = store.journal.history("apollo/deadline", scope="Side Project")
    store.forget(in_side_project.id)
    with pytest.raises(KeyElsewhere, match="in the scope 'apollo': call"):
        store.journal.history("apollo/deadline", scope="Side Project")


def test_a_key_of_a_private_scope_alone_is_not_said(store: MemoryStore) -> None:
    store.scopes.create("diary", sensitivity="private")
    store.remember("a secret", key="first/love", scope="diary")
    with pytest.raises(NotFound) as caught:
        store.journal.history("first/love")
    assert not isinstance(caught.value, KeyElsewhere)
    assert "diary" not in str(caught.value)
    assert len(store.journal.history("first/love", scope="diary")) == 1


def test_the_history_of_an_unknown_key_names_the_nearest(store: MemoryStore) -> None:
    store.remember("Rome", key="user/city")
    with pytest.raises(NotFound, match="the nearest key is 'user/city'"):
        store.journal.history("user/cities")


def test_a_confined_store_names_no_key_from_outside(tmp_path: Path) -> None:
    home = tmp_path / "home"

    def open_store(**options: object) -> MemoryStore:
        config = Config(home=home)
        return MemoryStore.open(home, config=config, embedder=HashingEmbedder(), **options)  # type: ignore[arg-type]

    with open_store() as everything, open_store(scopes=["work"]) as work:
        everything.scopes.create("team")
        everything.scopes.create("work", parent="team")
        for scope in ("Global", "team", "home"):
            everything.remember(f"in {scope}", key="alice/birthday", scope=scope)
        receipt = work.remember("near", key="alice/birthdate", scope="work")
        assert (receipt.nearest_key, receipt.same_key) == (None, ())
        receipt = work.remember("the same", key="alice/birthday", scope="work")
        assert receipt.same_key == ()
        with pytest.raises(NotFound) as caught:
            work.journal.history("alice/birthdays/all", scope="work")
        assert not isinstance(caught.value, KeyElsewhere)
        assert "home" not in str(caught.value)
        inside = everything.remember("the same again", key="alice/birthday", scope="work")
        assert [holder.scope for holder in inside.same_key] == ["team", "Global"]


def test_many_keys_are_compared(store: MemoryStore) -> None:
    store.remember_many([{"text": f"fact {n}", "key": f"person/{n}/city"} for n in range(300)])
    store.remember("a fact", key="zebra/habitat")
    assert nearest(store, "zebra/habitats") == "zebra/habitat"
    assert nearest_keys(store._services, "person/7/cities", ["Global"]) == ["person/7/city"]


def test_a_storage_that_lists_no_keys_is_read_instead() -> None:
    class Plain:
        """A storage without `keys`."""

        def __init__(self) -> None:
            self._inner = InMemoryStorage()

        def __getattr__(self, name: str) -> object:
            if name == "keys":
                raise AttributeError(name)
            return getattr(self._inner, name)

    with MemoryStore.open("memory://", storage=Plain(), embedder=HashingEmbedder()) as store:  # type: ignore[arg-type]
        store.remember("January 20", key="alice/birthday")
        assert nearest(store, "alice/birthdate") == "alice/birthday"
        criteria = Criteria(key="alice/birthdate")
        assert len(store._services.storage.find(criteria, limit=9).memories) == 1
