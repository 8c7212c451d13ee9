"""Calls of other servers' clients, over the real server; `pytest -s` prints the table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from foreign_calls import CALLS, ForeignCall
from mcp import Client, MCPError
from talking import call, refusal, server, text

from infinite_memory import Kind, MemoryStore
from infinite_memory.core.values.commit import Commit
from infinite_memory.core.values.scope import Scope

pytestmark = pytest.mark.anyio
Connect = Callable[[], Client]


async def answer_of(client: Client, foreign: ForeignCall) -> tuple[bool, str]:
    try:
        result = await client.call_tool(foreign.tool, foreign.arguments)
    except MCPError as error:
        return False, str(error)
    return not result.is_error, "\n".join(part.text for part in result.content)


def test_the_table_has_at_least_sixty_calls_each_with_its_source() -> None:
    assert len(CALLS) >= 60
    assert all(foreign.source for foreign in CALLS)


@pytest.mark.thorough
async def test_every_call_is_carried_out(tmp_path: Path) -> None:
    failures = []
    async with Client(server(tmp_path / "store")) as client:
        for number, drink in enumerate(("tea", "coffee", "water"), start=1):
            await call(client, "store_memory", id=f"mine:{number}", text=f"Alice likes {drink}")
        for foreign in CALLS:
            succeeded, answer = await answer_of(client, foreign)
            print(f"{'done' if succeeded else 'told'}  {foreign.tool}  {foreign.source}")
            if succeeded is foreign.refused or foreign.says not in answer:
                failures.append((foreign, answer))
    assert failures == []


async def test_foreign_names_and_values_are_stored_as_what_they_mean(
    store: MemoryStore, connect: Connect
) -> None:
    async with connect() as client:
        said = await text(
            client,
            "store_memory",
            id="a",
            content="Alice likes tea",
            category="preference",
            importance=0.9,
            tags="drinks, tea",
            name="Tea",
        )
    memory = store.get("a")
    assert (memory.text, memory.kind, memory.title) == ("Alice likes tea", Kind.FACT, "Tea")
    assert memory.important
    assert set(memory.tags) == {"preference", "drinks", "tea"}
    assert memory.context == {"importance": 0.9}
    assert "content as text" in said
    assert "importance as important: True" in said


@pytest.mark.parametrize(
    ("importance", "important"),
    [
        *[(0.69, False), (0.7, True), (1, True), (3, False), (4, True), (7, True), (6, False)],
        *[("high", True), ("medium", False), ("0.9", True), ("critical", True), (True, True)],
    ],
)
async def test_an_importance_is_read_on_the_smallest_scale_that_holds_it(
    store: MemoryStore, connect: Connect, importance: object, important: bool
) -> None:
    async with connect() as client:
        await call(client, "store_memory", id="a", text="x y", importance=importance)
    assert store.get("a").important is important


async def test_a_category_that_is_no_kind_becomes_a_tag(
    store: MemoryStore, connect: Connect
) -> None:
    async with connect() as client:
        await call(client, "store_memory", id="a", text="x y", category="gardening")
        said = await refusal(client, "store_memory", text="x", kind="gardening")
    assert store.get("a").tags == ("gardening",)
    assert "kind 'gardening' is unknown" in said


async def test_words_of_time_say_when_it_happened_and_the_answer_says_how_they_were_read(
    store: MemoryStore, connect: Connect
) -> None:
    async with connect() as client:
        said = await text(client, "store_memory", id="a", text="x y", happened_at="last Tuesday")
        refused = await refusal(client, "store_memory", text="x", happened_at="before 2020")
    happened_at = store.get("a").happened_at
    assert happened_at.weekday() == 1
    assert happened_at.hour in (10, 11)  # Noon in Berlin.
    assert f"happened_at 'last Tuesday' was read as {happened_at:%Y-%m-%d} 12:00" in said
    assert "has no beginning" in refused


async def test_two_names_of_one_argument_with_two_values_are_refused(connect: Connect) -> None:
    async with connect() as client:
        said = await refusal(client, "store_memory", text="x", content="y")
    assert said == "text is given twice, as 'x' and 'y': give it once"


async def test_no_refusal_suggests_an_argument_that_erases(connect: Connect) -> None:
    async with connect() as client:
        for name in ("permanent", "permanentl", "hard", "force", "owner"):
            said = await refusal(client, "delete_memory", id="x", **{name: "apollo"})
            assert "permanently" not in said
            assert "nothing was done" in said


async def test_the_messages_on_wrong_types_are_ours(connect: Connect) -> None:
    async with connect() as client:
        said = await refusal(client, "retrieve_memory", query="x", limit="many", explain="maybe")
    assert said == (
        "limit 'many' cannot be used: give a whole number from 1 to 100;"
        " explain 'maybe' cannot be used: give true or false"
    )


async def test_null_and_empty_arguments_count_as_left_out(connect: Connect) -> None:
    async with connect() as client:
        await call(client, "store_memory", text="x y", scope="", tags=None, happened_at="")
        await call(
            client, "retrieve_memory", query="x", scope=None, limit=None, when="", kinds=None
        )


async def test_kinds_of_other_servers_choose_the_nearest_kinds(
    store: MemoryStore, connect: Connect
) -> None:
    store.remember("Prefers tea", id="a", kind=Kind.FACT)
    store.remember("Tea is out", id="b")
    async with connect() as client:
        data = await call(client, "retrieve_memory", query="tea", kinds="preference")
        said = await refusal(client, "retrieve_memory", query="tea", kinds=["preference", "idea"])
    assert [hit["id"] for hit in data["hits"]] == ["a"]
    assert data["understood"] == "kinds 'preference' as ['fact']"
    assert "the nearest" not in said


@pytest.mark.parametrize("seconds", [1_700_000_000, 1_700_000_000_000])
async def test_a_time_may_count_seconds_or_milliseconds_since_1970(
    store: MemoryStore, connect: Connect, seconds: int
) -> None:
    async with connect() as client:
        await call(client, "store_memory", id="a", text="Tea", timestamp=seconds)
        said = await refusal(client, "store_memory", text="Tea", happened_at=2024)
    assert store.get("a").happened_at.isoformat() == "2023-11-14T22:13:20+00:00"
    assert said == "happened_at 2024 cannot be used: give a text"


async def test_scopes_in_a_text_with_commas_are_a_list_unless_that_is_a_name(
    store: MemoryStore, connect: Connect
) -> None:
    store.remember("The cat is called Tom", scope="pets", id="cat")
    # An earlier version let a scope of that name be made.
    store._services.storage.commit(Commit(scopes=[Scope(name="dogs, cats")]))
    store.remember("The dog is called Rex", scope="dogs, cats", id="dog")
    async with connect() as client:
        for scope in ("pets,Global", "pets, Global"):
            found = await call(client, "retrieve_memory", query="cat", scope=scope)
            assert [hit["id"] for hit in found["hits"]] == ["cat"]
        found = await call(client, "retrieve_memory", query="dog", scope="dogs, cats")
        assert [hit["id"] for hit in found["hits"]] == ["dog"]
        said = await text(client, "retrieve_memory", query="dog", scope="pets, dgs")
        assert "There is no scope 'dgs' yet." in said


async def test_several_ids_for_a_tool_of_one_are_answered_with_the_calls(
    store: MemoryStore, connect: Connect
) -> None:
    store.remember("The cat is called Tom", id="cat")
    async with connect() as client:
        refused = await refusal(client, "delete_memory", ids=["cat", "dog"])
        assert '{"id": "cat"} and {"id": "dog"}' in refused
        assert store.get("cat").status == "current"
        assert "Forgotten" in await text(client, "delete_memory", ids=["cat"])


async def test_sections_of_a_profile_need_no_changes_around_them(
    store: MemoryStore, connect: Connect
) -> None:
    async with connect() as client:
        await call(
            client, "update_user_profile", name="Ada", preferences={"tea": "green"}, facts=["tall"]
        )
    assert store.profile.get().fields["name"] == "Ada"
    assert store.profile.get().fields["preferences"] == {"tea": "green"}


async def test_the_end_of_an_id_that_is_too_short_is_answered_with_the_length(
    store: MemoryStore, connect: Connect
) -> None:
    memory_id = store.remember("The cat is called Tom").id
    async with connect() as client:
        for tool, name in (
            *(("delete_memory", "id"), ("retrieve_memory", "ids")),
            ("memory_history", "id_or_key"),
        ):
            refused = await refusal(client, tool, **{name: memory_id[-6:]})
            assert "a tool takes its last 8 too" in refused
