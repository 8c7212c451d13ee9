"""The client of the first document: MCP commands with an action, metadata, a filter, a target."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from literal import literal_client
from mcp import MCPError

from infinite_memory import Kind, NotFound, Status

pytestmark = [pytest.mark.anyio, pytest.mark.thorough]


def store_memory(content: str, **metadata: Any) -> dict[str, Any]:
    return {"action": "store_memory", "content": content, "metadata": metadata}


NOTES = store_memory(
    "The design review of Project Alpha is on May 5, 2025 at 10 AM",
    scope="ProjectAlpha",
    tags=["meeting_notes", "project_alpha"],
    source="conversation",
)


async def test_a_memory_goes_into_the_scope_of_its_metadata_with_its_tags(tmp_path: Path) -> None:
    async with literal_client(tmp_path) as client:
        receipt = await client.act(NOTES)
        unscoped = await client.act(
            store_memory("The user likes blue", scope=None, tags=[], source="user_profile")
        )
        summed = await client.act(store_memory("They planned a trip", source="summary"))
        memory = client.store.get(receipt["id"])
        assert (memory.scope, set(memory.tags)) == ("ProjectAlpha", set(NOTES["metadata"]["tags"]))
        assert memory.kind is Kind.MESSAGE
        assert memory.text == NOTES["content"]
        assert client.store.get(unscoped["id"]).scope == "Global"
        assert client.store.get(unscoped["id"]).kind is Kind.FACT
        assert client.store.get(summed["id"]).kind is Kind.SUMMARY


async def test_a_filter_of_scope_tags_and_time_chooses_what_is_found(tmp_path: Path) -> None:
    def retrieve(**chosen: Any) -> dict[str, Any]:
        request = {"action": "retrieve_memory", "query": "when is the design review?"}
        return {**request, "filter": chosen, "top_k": 5}

    async with literal_client(tmp_path) as client:
        alpha = await client.act(NOTES)
        beta = await client.act(
            store_memory("The design review of Project Beta is on June 7", scope="ProjectBeta")
        )

        async def found(**chosen: Any) -> set[str]:
            return {hit["id"] for hit in (await client.act(retrieve(**chosen)))["hits"]}

        assert await found(scope="ProjectAlpha") == {alpha["id"]}
        assert await found(scope="ALL") == {alpha["id"], beta["id"]}
        assert await found(scope="ALL", tags=["meeting_notes"]) == {alpha["id"]}
        now = {"from": "2020-01-01T00:00:00Z", "to": "2099-01-01T00:00:00Z"}
        assert await found(scope="ProjectBeta", tags=[], time_range=now) == {beta["id"]}
        past = {"from": "2020-01-01T00:00:00Z", "to": "2020-02-01T00:00:00Z"}
        assert await found(scope="ALL", time_range=past) == set()


async def test_tags_scopes_and_periods_are_searched(tmp_path: Path) -> None:
    async with literal_client(tmp_path) as client:
        alpha = await client.act(NOTES)
        other = await client.act(store_memory("Lunch with Bob", scope="Travel"))
        for request, expected in (
            ({"action": "search_by_tag", "tag": "project_alpha"}, {alpha["id"]}),
            ({"action": "search_by_tag", "tag": "project_alpha", "query": "review"}, {alpha["id"]}),
            ({"action": "search_by_scope", "scope": "Travel"}, {other["id"]}),
            ({"action": "search_by_scope", "scope": "Travel", "query": "lunch"}, {other["id"]}),
            (
                {"action": "recall_memory_by_time", "time_query": "today", "scope": "Travel"},
                {other["id"]},
            ),
            ({"action": "recall_memory_by_time", "time_query": "last week", "scope": "ALL"}, set()),
            (
                {
                    "action": "recall_memory_by_time",
                    "time_query": "last week",
                    "range": {"from": "2020-01-01T00:00:00Z", "to": "2099-01-01T00:00:00Z"},
                    "scope": "ALL",
                },
                {alpha["id"], other["id"]},
            ),
        ):
            assert {hit["id"] for hit in (await client.act(request))["hits"]} == expected, request


async def test_a_target_is_forgotten_soft_or_hard(tmp_path: Path) -> None:
    def delete(mode: str, action: str = "delete_memory", **target: Any) -> dict[str, Any]:
        printed = {"memory_id": None, "scope": None, "tag": None, "query": None}
        return {"action": action, "target": {**printed, **target}, "forget_mode": mode}

    async with literal_client(tmp_path) as client:
        soft, hard = [(await client.act(store_memory(f"Note {n}")))["id"] for n in "ab"]
        await client.act(delete("soft", memory_id=soft))
        await client.act(delete("hard", action="forget_memory", memory_id=hard))
        assert client.store.get(soft).status is Status.FORGOTTEN
        with pytest.raises(NotFound):
            client.store.get(hard)

        for scope, tags in (("Y", ["old"]), ("Y", []), ("Z", ["old"])):
            await client.act(store_memory(f"In {scope} {tags}", scope=scope, tags=tags))
        request = delete("soft", scope="Y", tag="old")
        preview = await client.act(request)
        assert (preview["outcome"], len(client.stored())) == ("preview", 3)
        await client.act({**request, "confirm": preview["token"]})
        left = {(memory.scope, memory.tags) for memory in client.stored()}
        assert left == {("Y", ()), ("Z", ("old",))}
        unknown = {"action": "delete_memory", "target": {"scope": "Y", "owner": "me"}}
        with pytest.raises(AssertionError, match="'owner', which is not understood"):
            await client.act(unknown)
        with pytest.raises(AssertionError, match="give soft or hard"):
            await client.act(delete("forever", scope="Y"))
        assert len(client.stored()) == 2


async def test_the_maintenance_commands_are_carried_out(tmp_path: Path) -> None:
    async with literal_client(tmp_path) as client:
        await client.act(NOTES)
        stats = await client.act({"action": "get_memory_stats"})
        assert stats["by_scope"] == {"Global": 0, "ProjectAlpha": 1}
        assert (stats["conversation_count"], stats.get("last_backup")) == (0, None)
        backup = await client.act({"action": "backup_memory"})
        assert [each.name for each in client.store.backups.list()] == [backup["name"]]
        assert (await client.act({"action": "get_memory_stats"}))["last_backup"]
        assert "jobs" in await client.act({"action": "optimize_memory"})
        await client.act({"action": "create_memory_scope", "scope_name": "Work"})
        await client.act(
            {
                "action": "create_memory_scope",
                "scope_name": "Project Beta",
                "description": "Memories related to Project Beta",
                "related_keywords": ["Beta", "Project B"],
                "parent_scope": "Work",
            }
        )
        scope = {each.name: each for each in client.store.scopes}["Project Beta"]
        assert (scope.parent, scope.keywords) == ("Work", ("Beta", "Project B"))
        listed = await client.act({"action": "list_memory_scopes"})
        assert {"Global", "Work", "Project Beta"} <= {each["name"] for each in listed["scopes"]}
        with pytest.raises(MCPError, match="infinite-memory export"):
            await client.act({"action": "export_memory"})


async def test_the_printed_profile_is_stored_and_a_bad_field_costs_that_field(
    tmp_path: Path,
) -> None:
    printed = {
        "_id": "default_user",
        "name": "Jane Doe",
        "preferences": {"tone": "casual", "timezone": "PST"},
        "facts": {"favorite_color": "blue", "birthday": "1990-05-15"},
        "contacts": [
            {"name": "Alice", "relation": "sister"},
            {"name": "Bob", "relation": "coworker"},
        ],
    }
    async with literal_client(tmp_path) as client:
        await client.call("update_user_profile", **printed)
        fields = client.store.profile.get("default_user").fields
        assert fields == {
            "name": "Jane Doe",
            "preferences": printed["preferences"],
            "facts": printed["facts"],
            "contacts": {"Alice": "sister", "Bob": "coworker"},
        }
        said = await client.text(
            "update_user_profile", name="Ada", preferences="short", facts={"city": "Ulm", "x": " "}
        )
        assert "preferences must be an object" in said
        kept = client.store.profile.get().fields
        assert kept == {"name": "Ada", "facts": {"city": "Ulm"}}
