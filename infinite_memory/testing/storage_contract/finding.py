"""The storage contract: the matches of a query, their order, and their pages."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from attrs import evolve

from infinite_memory.core.errors import Conflict, InvalidInput
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.commit import Attach, Commit, Detach, Erase, Expect, ExpectContent
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import GLOBAL, Kind, Memory, Status
from infinite_memory.storage.keys import list_keys
from infinite_memory.testing.storage_contract.base import (
    NOW,
    StorageTests,
    make_embedding,
    put,
)

__all__ = ["FindingTests"]


class FindingTests(StorageTests):
    """`find` by every condition, and its pages."""

    def test_find_returns_the_newest_first_and_equal_times_by_id(self, storage: Storage) -> None:
        hour = timedelta(hours=1)
        storage.commit(
            Commit(
                puts=[
                    put("b"),
                    put("c"),
                    put("a"),
                    put("old", happened_at=NOW - hour),
                    put("new", happened_at=NOW + hour),
                ]
            )
        )
        found = storage.find(Criteria(), limit=9)
        assert [memory.id for memory in found.memories] == ["new", "c", "b", "a", "old"]
        assert found.next is None

    def test_pages_join_up_even_if_something_is_stored_between_them(self, storage: Storage) -> None:
        for number in range(7):
            storage.commit(
                Commit(puts=[put(f"m{number}", happened_at=NOW + timedelta(seconds=number // 2))])
            )
        whole = storage.find(Criteria(), limit=7).memories
        pages: list[Memory] = []
        cursor = None
        while True:
            page = storage.find(Criteria(), limit=2, after=cursor)
            pages += page.memories
            cursor = page.next
            if cursor is None:
                break
            storage.commit(
                Commit(puts=[put(f"later-{len(pages)}", happened_at=NOW + timedelta(days=1))])
            )
        assert tuple(pages) == whole

    def test_the_last_page_names_no_next_one(self, storage: Storage) -> None:
        storage.commit(Commit(puts=[put("a"), put("b")]))
        first = storage.find(Criteria(), limit=1)
        assert first.next is not None
        assert storage.find(Criteria(), limit=1, after=first.next).next is None
        assert storage.find(Criteria(), limit=2).next is None

    @pytest.mark.parametrize("cursor", ["", "x", "MTIz", "ü", "eEB5", "\ud800", "1@a"])
    def test_what_is_no_cursor_is_refused(self, storage: Storage, cursor: str) -> None:
        with pytest.raises(InvalidInput, match="cursor"):
            storage.find(Criteria(), limit=1, after=cursor)

    @pytest.mark.parametrize("limit", [0, -1])
    def test_a_limit_under_one_is_refused(self, storage: Storage, limit: int) -> None:
        with pytest.raises(InvalidInput, match="limit"):
            storage.find(Criteria(), limit=limit)
        with pytest.raises(InvalidInput, match="limit"):
            storage.changes(0, limit=limit)
        with pytest.raises(InvalidInput, match="limit"):
            storage.pending("model-a", limit=limit)

    @pytest.mark.parametrize(
        ("criteria", "found"),
        [
            (Criteria(scopes=frozenset({"apollo"})), "ab"),
            (Criteria(scopes=frozenset({"apollo", GLOBAL})), "abc"),
            (Criteria(scopes=frozenset({"Apollo"})), ""),
            (Criteria(scopes=frozenset()), ""),
            (Criteria(kinds=frozenset({Kind.FACT})), "b"),
            (Criteria(kinds=frozenset({Kind.FACT, Kind.NOTE})), "abc"),
            (Criteria(statuses=frozenset({Status.CURRENT})), "ab"),
            (Criteria(statuses=frozenset(Status)), "abc"),
            (Criteria(conversation_id="talk"), "a"),
            (Criteria(tags=("RED",)), "ab"),
            (Criteria(tags=("red", "STRASSE")), "b"),
            (Criteria(tags=("red", "blue")), ""),
            (Criteria(since=NOW), "ab"),
            (Criteria(until=NOW), "c"),
            (Criteria(since=NOW, until=NOW + timedelta(microseconds=1)), "a"),
            (Criteria(tags=("red",), since=NOW, until=NOW + timedelta(hours=1)), "a"),
            (
                Criteria(scopes=frozenset({"apollo"}), kinds=frozenset({Kind.NOTE}), tags=("red",)),
                "a",
            ),
        ],
    )
    def test_find_returns_exactly_what_meets_every_condition(
        self, storage: Storage, criteria: Criteria, found: str
    ) -> None:
        storage.commit(
            Commit(
                puts=[
                    put("a", scope="apollo", tags=("Red",), conversation_id="talk"),
                    put(
                        "b",
                        scope="apollo",
                        tags=("rEd", "red", " Straße"),
                        kind=Kind.FACT,
                        happened_at=NOW + timedelta(hours=2),
                    ),
                    put("c", status=Status.ARCHIVED, happened_at=NOW - timedelta(microseconds=1)),
                ]
            )
        )
        page = storage.find(criteria, limit=9)
        assert {memory.id for memory in page.memories} == set(found)
        assert page.memories == tuple(
            memory
            for memory in storage.find(Criteria(), limit=9).memories
            if criteria.admit(memory)
        )

    def test_memories_are_found_by_their_content_hash(self, storage: Storage) -> None:
        five = "The deadline is June 5"
        commit = Commit(
            puts=[
                put("a", text=five),
                put("b", text=f"{five} \n", tags=("tag",), stored_at=NOW + timedelta(days=1)),
                put("c", text="The deadline is June 6"),
                put("d", text=five, scope="s"),
                put("e", text=five, key="k"),
                put("f", text=five),
            ]
        )
        hashes = {write.memory.id: write.content_hash for write in commit.puts}
        storage.commit(commit)
        storage.commit(Commit(puts=[put("c", revision=2, text=five, status=Status.ARCHIVED)]))
        storage.commit(
            Commit(
                erases=[Erase(id="e")],
                puts=[put("f", revision=2, text="The deadline is June 7")],
            )
        )
        for ids, more, found in (
            ("a", {}, "abc"),
            ("a", {"statuses": frozenset({Status.ARCHIVED})}, "c"),
            ("a", {"tags": ("tag",)}, "b"),
            ("ad", {"scopes": frozenset({"s"})}, "d"),
            ("ad", {}, "abcd"),
            ("a", {"key": "k"}, ""),
            ("ce", {}, ""),
            ("", {}, ""),
        ):
            conditions: dict[str, Any] = more
            criteria = Criteria(
                content_hashes=frozenset(hashes[memory_id] for memory_id in ids), **conditions
            )
            assert {each.id for each in storage.find(criteria, limit=9).memories} == set(found)
        criteria = Criteria(content_hashes=frozenset({hashes["a"], hashes["d"]}))
        first = storage.find(criteria, limit=3)
        rest = storage.find(criteria, limit=3, after=first.next)
        assert [each.id for each in (*first.memories, *rest.memories)] == ["d", "c", "b", "a"]

    def test_an_embedding_leaves_the_content_hash(self, storage: Storage) -> None:
        write = put("a")
        criteria = Criteria(content_hashes=frozenset({write.content_hash}))
        storage.commit(Commit(puts=[write, put("b")]))
        for change in (
            Commit(attaches=[Attach(id="a", revision=1, embedding=make_embedding())]),
            Commit(
                attaches=[Attach(id="a", revision=1, embedding=make_embedding(model="model-b"))]
            ),
            Commit(detaches=[Detach(id="a", keep="model-b")]),
        ):
            storage.commit(change)
            assert [each.id for each in storage.find(criteria, limit=9).memories] == ["a"]

    def test_writes_may_expect_which_memories_have_a_content(self, storage: Storage) -> None:
        text = "The deadline is June 5"
        first = put("a", text=text)
        superseded = put("c", text=text, status=Status.SUPERSEDED)
        storage.commit(Commit(puts=[first, put("b", text=text, scope="s"), superseded]))
        expected = ExpectContent(
            scopes=frozenset({GLOBAL}), content_hashes=frozenset({first.content_hash})
        )

        def commit(condition: ExpectContent, **writes: Any) -> None:
            storage.commit(Commit(expect=Expect(contents=[condition]), **writes))

        commit(evolve(expected, ids=frozenset("a")), puts=[put("d")])
        both = evolve(expected, scopes=frozenset({GLOBAL, "s"}), ids=frozenset("a"))
        commit(both, puts=[put("e")])
        commit(evolve(expected, content_hashes=frozenset({bytes(32)})), puts=[put("f")])
        commit(evolve(expected, content_hashes=frozenset()), puts=[put("g")])
        commit(evolve(expected, scopes=frozenset()), puts=[put("h")])
        for ids in ("", "b", "ab", "ac"):
            with pytest.raises(Conflict, match="which memories in Global have the same content"):
                commit(evolve(expected, ids=frozenset(ids)), puts=[put("i")])
        commit(evolve(expected, ids=frozenset("a")), erases=[Erase(id="a")])
        commit(expected, puts=[put("i")])
        assert set(storage.get([*"abcdefghi"])) == {*"bcdefghi"}

    @pytest.mark.parametrize("name", ["scopes", "kinds", "statuses"])
    def test_a_key_in_none_of_no_values_is_nowhere(self, storage: Storage, name: str) -> None:
        storage.commit(Commit(puts=[put("a", key="k")]))
        nothing: dict[str, Any] = {name: frozenset()}
        assert storage.find(Criteria(key="k", **nothing), limit=1).memories == ()

    def test_find_follows_a_revision(self, storage: Storage) -> None:
        storage.commit(Commit(puts=[put("a", tags=("old", "both"), scope="s")]))
        storage.commit(Commit(puts=[put("a", revision=2, tags=("new", "both"), scope="t")]))
        for criteria, count in (
            (Criteria(tags=("old",)), 0),
            (Criteria(tags=("new",)), 1),
            (Criteria(tags=("both",)), 1),
            (Criteria(scopes=frozenset({"s"})), 0),
            (Criteria(scopes=frozenset({"t"})), 1),
        ):
            assert len(storage.find(criteria, limit=5).memories) == count

    def test_keys_of_current_memories_are_listed_by_scope(self, storage: Storage) -> None:
        puts = [put("a", key="user/city"), put("b", key="user/city"), put("c", key="用户/城市")]
        puts += [put("d", key="ending/soon", scope="s"), put("e"), put("f", key="job", scope="t")]
        storage.commit(Commit(puts=puts))
        storage.commit(Commit(puts=[put("f", revision=2, key="job", status=Status.FORGOTTEN)]))
        storage.commit(Commit(puts=[put("g", key="job", scope="s", status=Status.SUPERSEDED)]))
        assert list_keys(storage, [GLOBAL], limit=9) == ["user/city", "用户/城市"]
        assert list_keys(storage, {GLOBAL, "s", "t"}, limit=2) == ["ending/soon", "user/city"]
        assert list_keys(storage, ["t"], limit=9) == list_keys(storage, [], limit=9) == []
        assert list_keys(storage, ["unknown", "s' OR '1'='1"], limit=9) == []

    def test_ids_are_found_by_their_endings(self, storage: Storage) -> None:
        storage.commit(Commit(puts=[put("a"), put("12345678"), put("x/12345678", scope="s")]))
        storage.commit(Commit(puts=[put("y-12345678"), put("12345679")]))
        storage.commit(Commit(puts=[put("12345678", revision=2, status=Status.FORGOTTEN)]))
        storage.commit(Commit(erases=[Erase(id="y-12345678")]))
        assert storage.find_ids(["12345678"]) == {"12345678": GLOBAL, "x/12345678": "s"}
        assert storage.find_ids({"a", "12345679", "%2345678"}) == {"a": GLOBAL, "12345679": GLOBAL}
        assert storage.find_ids([]) == storage.find_ids(["2345678", "x/12345678"]) == {}
