"""The storage contract: links, keys and usage."""

from __future__ import annotations

import sys
from datetime import timedelta

import pytest
from attrs import evolve

from infinite_memory.core.errors import Conflict, InvalidInput
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.commit import Commit, Erase, Expect, ExpectKey
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.link import Link, LinkKey, LinkType
from infinite_memory.core.values.memory import Status
from infinite_memory.core.values.record import Usage
from infinite_memory.testing.storage_contract.base import NOW, StorageTests, make_link, put

__all__ = ["LinkTests"]


def _list_links(storage: Storage, *ids: str) -> list[Link]:
    return storage.links(ids)


class LinkTests(StorageTests):
    """Links and usage, which are kept beside memories and erased with them."""

    def test_links_are_found_from_both_ends_in_order(self, storage: Storage) -> None:
        one = make_link("a", "b", weight=0.25, reason="grün", made_by="somebody")
        two = make_link("b", "a")
        three = make_link("a", "b", type=LinkType.SUPERSEDES)
        storage.commit(Commit(puts=[put("a"), put("b"), put("c")], links=[two, three, one]))
        assert _list_links(storage, "a") == _list_links(storage, "a", "b") == [one, three, two]
        assert _list_links(storage, "b") == [one, three, two]
        assert (
            _list_links(storage, "c") == _list_links(storage) == _list_links(storage, "none") == []
        )
        assert storage.measure().links == 3

    def test_a_link_is_replaced_and_removed(self, storage: Storage) -> None:
        storage.commit(Commit(puts=[put("a"), put("b")], links=[make_link("a", "b")]))
        position = storage.position()
        storage.commit(Commit(links=[make_link("a", "b", weight=0.5)]))
        assert _list_links(storage, "a") == [make_link("a", "b", weight=0.5)]
        unknown, known = LinkKey("a", "b", LinkType.INTENT), LinkKey("a", "b", LinkType.SEMANTIC)
        storage.commit(Commit(erased_links=[unknown, known]))
        assert _list_links(storage, "a") == []
        storage.commit(Commit(erased_links=[known]))
        assert _list_links(storage, "a") == []
        assert storage.position() == position

    def test_a_link_needs_both_ends_and_goes_with_either(self, storage: Storage) -> None:
        storage.commit(Commit(puts=[put("a")], links=[make_link("a", "b"), make_link("b", "a")]))
        assert _list_links(storage, "a", "b") == []
        storage.commit(
            Commit(
                puts=[put("b"), put("c")],
                links=[make_link("a", "b"), make_link("b", "c")],
            )
        )
        assert len(_list_links(storage, "b")) == 2
        storage.commit(Commit(erases=[Erase(id="b")]))
        assert _list_links(storage, "a", "b", "c") == []
        again = make_link("c", "b", reason="of the new one")
        storage.commit(Commit(puts=[put("b")], links=[make_link("c", "b"), make_link("b", "a")]))
        storage.commit(Commit(erases=[Erase(id="c")], puts=[put("c")], links=[again]))
        assert _list_links(storage, "c") == [again]
        storage.commit(Commit(erases=[Erase(id="b")], links=[make_link("a", "b")]))
        assert _list_links(storage, "a", "b", "c") == []
        assert storage.measure().links == 0

    @pytest.mark.parametrize("weight", [0, -1, 1.01, float("nan")])
    def test_a_weight_out_of_range_is_refused(self, storage: Storage, weight: float) -> None:
        link = make_link("a", "b", weight=weight)
        with pytest.raises(InvalidInput, match="weight"):
            storage.commit(Commit(puts=[put("a"), put("b")], links=[link]))
        assert storage.get(["a"]) == {}

    def test_a_key_is_found_with_its_holders(self, storage: Storage) -> None:
        storage.commit(
            Commit(
                puts=[
                    put("a", key="job"),
                    put("b", key="job", scope="other"),
                    put("c", key="Job"),
                    put("d", key="job", status=Status.SUPERSEDED),
                ]
            )
        )
        found = storage.find(Criteria(key="job"), limit=9).memories
        assert [memory.id for memory in found] == ["d", "b", "a"]
        none = Criteria(key="job", statuses=frozenset())
        assert storage.find(none, limit=9).memories == ()
        storage.commit(
            Commit(
                expect=Expect(keys=[ExpectKey(scope="Global", key="job", ids=frozenset({"a"}))]),
                puts=[put("e")],
            )
        )
        for ids in ({"a", "d"}, set(), {"b"}):
            with pytest.raises(Conflict, match=r"'job'.*'Global'"):
                storage.commit(
                    Commit(
                        expect=Expect(
                            keys=[ExpectKey(scope="Global", key="job", ids=frozenset(ids))]
                        ),
                        puts=[put("f")],
                    )
                )
        ever = frozenset({Status.CURRENT, Status.SUPERSEDED})
        both = ExpectKey(scope="Global", key="job", ids=frozenset({"a", "d"}), statuses=ever)
        storage.commit(Commit(expect=Expect(keys=[both]), puts=[put("g")]))
        with pytest.raises(Conflict, match="'job'"):
            storage.commit(
                Commit(
                    expect=Expect(keys=[evolve(both, ids=frozenset({"a"}))]),
                    puts=[put("f")],
                )
            )
        assert storage.get(["f"]) == {}

    def test_what_held_at_a_moment_is_found(self, storage: Storage) -> None:
        day = timedelta(days=1)
        storage.commit(
            Commit(
                puts=[
                    put("began", valid_from=NOW - day),
                    put("ended", valid_from=NOW - 2 * day, valid_to=NOW - day),
                    put("happened"),
                    put("later", valid_from=NOW + day, happened_at=NOW - 9 * day),
                    put("until-later", happened_at=NOW - 9 * day, valid_to=NOW + day),
                ]
            )
        )

        def held(moment: int) -> set[str]:
            criteria = Criteria(as_of=NOW + moment * day)
            return {memory.id for memory in storage.find(criteria, limit=9).memories}

        assert held(-10) == set()
        assert held(-2) == {"ended", "until-later"}
        assert held(-1) == {"began", "until-later"}
        assert held(0) == {"began", "happened", "until-later"}
        assert held(1) == {"began", "happened", "later"}

    def test_usage_is_counted_beside_the_memory(self, storage: Storage) -> None:
        storage.commit(Commit(puts=[put("a"), put("b")]))
        position = storage.position()
        later = NOW + timedelta(seconds=1)
        storage.count_usage({"a": Usage(count=2, last=later), "none": Usage(count=1, last=NOW)})
        storage.count_usage({"a": Usage(count=1, last=NOW), "b": Usage(count=1, last=NOW)})
        storage.count_usage({})
        expected = {"a": Usage(count=3, last=later), "b": Usage(count=1, last=NOW)}
        assert storage.usage(["a", "b", "none"]) == expected
        assert storage.usage(["a"]) == {"a": expected["a"]}
        assert storage.usage([]) == {}
        assert storage.position() == position
        storage.commit(Commit(puts=[put("a", revision=2, text="other")]))
        assert storage.usage(["a"]) == {"a": expected["a"]}
        storage.commit(Commit(erases=[Erase(id="a")], puts=[put("a")]))
        assert storage.usage(["a"]) == {}

    def test_activation_is_added_beside_the_recalls(self, storage: Storage) -> None:
        storage.commit(Commit(puts=[put("a"), put("b")]))
        position = storage.position()
        later = NOW + timedelta(seconds=1)
        chosen = Usage(count=0, activation=5.1, activated_at=later)
        storage.count_usage({"a": chosen, "none": chosen})
        assert storage.usage(["a", "none"]) == {"a": chosen}
        storage.count_usage({"a": Usage(count=2, last=NOW), "b": Usage(count=1, last=NOW)})
        storage.count_usage({"a": Usage(count=0, activation=0.2, activated_at=NOW)})
        both = Usage(count=2, last=NOW, activation=5.1 + 0.2, activated_at=later)
        assert storage.usage(["a", "b"]) == {"a": both, "b": Usage(count=1, last=NOW)}
        storage.count_usage({"b": Usage(count=3, last=NOW, activation=0.0, activated_at=NOW)})
        assert storage.usage(["b"]) == {"b": Usage(count=4, last=NOW, activated_at=NOW)}
        storage.count_usage({"a": evolve(chosen, activation=sys.float_info.max)})
        storage.count_usage({"a": evolve(chosen, activation=sys.float_info.max)})
        assert storage.usage(["a"]) == {"a": evolve(both, activation=sys.float_info.max)}
        assert storage.position() == position
        storage.commit(Commit(puts=[put("b", revision=2, text="other")]))
        assert storage.usage(["b"]) == {"b": Usage(count=4, last=NOW, activated_at=NOW)}
        storage.commit(Commit(erases=[Erase(id="a")], puts=[put("a")]))
        assert storage.usage(["a"]) == {}

    def test_a_usage_without_a_moment_adds_nothing(self, storage: Storage) -> None:
        storage.commit(Commit(puts=[put("a"), put("b")]))
        storage.count_usage({"a": Usage(count=1, last=NOW)})
        storage.count_usage({"a": Usage(count=0), "b": Usage(count=0)})
        assert storage.usage(["a", "b"]) == {"a": Usage(count=1, last=NOW)}
