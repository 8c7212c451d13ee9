"""The storage contract: what is found, in which order, and in pages that join up."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from attrs import evolve

from infinite_memory.errors import Conflict, InvalidInput
from infinite_memory.model.commit import Commit, Erase, Expect, ExpectAlike
from infinite_memory.model.criteria import Criteria
from infinite_memory.model.memory import GLOBAL, Kind, Memory, Status
from infinite_memory.protocols import Storage
from infinite_memory.testing.contract_base import (
    NOW,
    StorageTests,
    put,
)
from infinite_memory.text.likeness import fingerprint

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

    def test_texts_that_may_be_alike_are_found_by_their_fingerprint(self, storage: Storage) -> None:
        storage.commit(
            Commit(
                puts=[
                    put("a", text="The deadline is June 5"),
                    put("b", text="the deadline is 5 June.", scope="s", key="k"),
                    put("c", text="The deadline is June 6"),
                    put("d", text="gone"),
                ]
            )
        )
        storage.commit(
            Commit(erases=[Erase(id="d")], puts=[put("c", revision=2, text="Deadline: June 5th")])
        )
        five, six = fingerprint("The deadline is June 5"), fingerprint("The deadline is June 6")
        for criteria, found in (
            (Criteria(fingerprints=frozenset({five})), "abc"),
            (Criteria(fingerprints=frozenset({five}), scopes=frozenset({"s"})), "b"),
            (Criteria(fingerprints=frozenset({five}), key="k"), "b"),
            (Criteria(fingerprints=frozenset({six, fingerprint("gone")})), ""),
            (Criteria(fingerprints=frozenset()), ""),
        ):
            assert {each.id for each in storage.find(criteria, limit=9).memories} == set(found)
        first = storage.find(Criteria(fingerprints=frozenset({five, six})), limit=2)
        rest = storage.find(
            Criteria(fingerprints=frozenset({five, six})), limit=2, after=first.next
        )
        assert [each.id for each in (*first.memories, *rest.memories)] == ["c", "b", "a"]

    def test_writes_may_expect_what_may_be_alike(self, storage: Storage) -> None:
        storage.commit(
            Commit(
                puts=[
                    put("a", text="The deadline is June 5"),
                    put("b", text="the deadline is 5 June.", scope="s"),
                    put("c", text="the deadline is 5 June.", status=Status.SUPERSEDED),
                ]
            )
        )
        alike = ExpectAlike(
            scopes=frozenset({GLOBAL}), fingerprints=frozenset({fingerprint("Deadline: June 5th")})
        )
        storage.commit(
            Commit(expect=Expect(contents=[evolve(alike, ids=frozenset("a"))]), puts=[put("d")])
        )
        both = evolve(alike, scopes=frozenset({GLOBAL, "s"}), ids=frozenset("ab"))
        storage.commit(Commit(expect=Expect(contents=[both]), puts=[put("e")]))
        storage.commit(
            Commit(
                expect=Expect(contents=[evolve(alike, fingerprints=frozenset({1}))]),
                puts=[put("f")],
            )
        )
        storage.commit(
            Commit(
                expect=Expect(contents=[evolve(alike, fingerprints=frozenset())]), puts=[put("g")]
            )
        )
        storage.commit(
            Commit(expect=Expect(contents=[evolve(alike, scopes=frozenset())]), puts=[put("h")])
        )
        for ids in ("", "b", "ab", "ac"):
            with pytest.raises(Conflict, match="what may say the same in Global"):
                storage.commit(
                    Commit(
                        expect=Expect(contents=[evolve(alike, ids=frozenset(ids))]), puts=[put("i")]
                    )
                )
        storage.commit(
            Commit(
                expect=Expect(contents=[evolve(alike, ids=frozenset("a"))]), erases=[Erase(id="a")]
            )
        )
        storage.commit(Commit(expect=Expect(contents=[alike]), puts=[put("i")]))
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
