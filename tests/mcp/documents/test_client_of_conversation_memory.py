"""The client of the fifth document: memories of conversations, with arguments in camel case."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from literal import LiteralClient, literal_client

pytestmark = [pytest.mark.anyio, pytest.mark.thorough]

MESSAGES = [
    {"role": "user", "content": "My birthday is July 17, 1990"},
    {"role": "assistant", "content": "I'll remember that!"},
]
ADD = {
    "messages": MESSAGES,
    "conversation_id": "user_123",
    "roleWeights": {"user": 2.7, "assistant": 2.0, "system": 1.0},
}
TRIGGERS = {
    "birthday": "match_keys(context.messages, ['birthday', '生日'], 'any')",
    "anniversary": "match_keys(context.messages, ['anniversary'], 'any') ||"
    " (new Date().getMonth() === 6 && new Date().getDate() === 17)",
    "deadline": "match_keys_all(context.messages, ['project', 'deadline'], 'user')",
}


def said(*contents: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": content} for content in contents]


async def add_triggers(client: LiteralClient, **further: Any) -> None:
    for name, trigger in TRIGGERS.items():
        await client.call(
            "add_long_term_memory", name=name, prompt=f"Tell of {name}", trigger=trigger, **further
        )


async def test_short_term_memories_are_added_found_and_deleted(tmp_path: Path) -> None:
    async with literal_client(tmp_path) as client:
        receipt = await client.call("add_short_term_memory", **ADD)
        memory = client.store.get(receipt["id"])
        assert memory.conversation_id == "user_123"
        assert memory.context["short_term"]["keywords"].keys() == set(receipt["keywords"])
        found = await client.call(
            "search_short_term_memories",
            recentMessages=said("When is my birthday?"),
            conversation_id="somebody else",
            roleWeights=ADD["roleWeights"],
        )
        assert not found["top"]
        stats = await client.call("get_memory_stats", conversation_id="user_123")
        assert stats["short_term"]["count"] == 1
        frequent = await client.call("get_frequent_conversation")
        assert (frequent["conversation_id"], frequent["memories"]) == ("user_123", 1)
        assert (await client.call("cleanup_memories"))["remaining"] == 1
        deleted = await client.call(
            "delete_short_term_memories", pattern="/BIRTHDAY/i", conversation_id="user_123"
        )
        assert deleted["forgotten"] == [receipt["id"]]
        assert client.stored() == []


async def test_the_printed_triggers_activate_what_they_say(tmp_path: Path) -> None:
    async with literal_client(tmp_path) as client:
        await add_triggers(client, conversation_id="user_123", createdContext="a test")

        async def activated(*contents: str) -> set[str]:
            answer = await client.call(
                "search_long_term_memories",
                messages=said(*contents),
                conversation_id="user_123",
                participants={"user": "Jane"},
            )
            return {memory["name"] for memory in answer["activated"]} - {"anniversary"}

        assert await activated("It is my birthday") == {"birthday"}
        assert await activated("我的生日快到了") == {"birthday"}
        assert await activated("The project has a deadline") == {"deadline"}
        assert await activated("The project is fun") == set()
        await client.call(
            "update_long_term_memory",
            name="birthday",
            trigger="match_keys(context.messages, ['cake'], 'any')",
            prompt="Bake a cake",
            conversation_id="user_123",
            updatedContext="It was eaten",
        )
        assert await activated("It is my birthday") == set()
        assert await activated("Is there cake?") == {"birthday"}
        shown = await client.call("get_memory_context", name="birthday", conversation_id="user_123")
        assert (shown["prompt"], shown["updated_context"]) == ("Bake a cake", "It was eaten")
        await client.call("delete_long_term_memory", name="birthday", conversation_id="user_123")
        listed = await client.call("list_long_term_memories", conversation_id="user_123")
        assert {memory["name"] for memory in listed["memories"]} == {"anniversary", "deadline"}
        assert (await client.call("list_long_term_memories"))["total"] == 0


async def test_a_search_takes_keywords_dates_scores_and_an_order(tmp_path: Path) -> None:
    async with literal_client(tmp_path) as client:
        short = (await client.call("add_short_term_memory", **ADD))["id"]
        other = {"messages": said("The party of the birthday"), "conversation_id": "another"}
        elsewhere = (await client.call("add_short_term_memory", **other))["id"]
        await add_triggers(client, conversation_id="user_123")
        day = timedelta(days=1)
        now = datetime.now(UTC)

        async def found(**request: Any) -> list[str]:
            answer = await client.call("search_memories", **request)
            return [hit["memory"]["id"] if "memory" in hit else hit["id"] for hit in answer["hits"]]

        today = {"start": (now - day).isoformat(), "end": (now + day).isoformat()}
        past = {"start": "2020-01-01", "end": "2020-02-01"}
        one = {"keywords": ["birthday"], "conversation_id": "user_123"}
        assert await found(**one, memoryType="short_term", dateRange=today) == [short]
        assert await found(**one, memoryType="both", dateRange=past) == []
        assert len(await found(**one, memoryType="both", sortBy="timestamp", limit=10)) == 2
        assert await found(**one, minScore=1000) == []
        everywhere = await found(keywords=["birthday"], memoryType="short_term", dateRange=today)
        assert set(everywhere) == {short, elsewhere}
        assert set(await found(query="birthday", dateRange=today)) >= {short, elsewhere}
        patterns = await client.call("analyze_memory_patterns", conversation_id="user_123")
        assert patterns["short_term"] == 1


async def test_backups_are_made_listed_restored_and_deleted(tmp_path: Path) -> None:
    async with literal_client(tmp_path) as client:
        kept = (await client.call("add_short_term_memory", **ADD))["id"]
        backup = await client.call("backup_memories")
        listed = await client.call("list_backups")
        assert [each["name"] for each in listed["backups"]] == [backup["name"]]
        await client.call("delete_short_term_memories", pattern="birthday", **_USER)
        later = (await client.call("store_memory", content="Later"))["id"]
        await client.call("restore_memories", backup=backup["name"], mode="merge")
        assert later in {memory.id for memory in client.stored()}
        await client.call("restore_memories", backup=backup["name"], mode="overwrite")
        assert {memory.id for memory in client.stored()} == {kept}
        await client.call("delete_backup", name=backup["name"])
        names = {each.name for each in client.store.backups.list()}
        assert backup["name"] not in names


async def test_the_server_tells_of_its_health_and_its_caches(tmp_path: Path) -> None:
    async with literal_client(tmp_path) as client:
        await client.call("store_memory", content="Tea is at four")
        await client.call("retrieve_memory", query="tea")
        assert (await client.call("health_check"))["status"] in ("ok", "degraded")
        assert (await client.call("get_metrics"))["tools"]["store_memory"]["calls"] == 1
        assert (await client.call("get_cache_stats"))["caches"]


async def test_the_resources_are_there(tmp_path: Path) -> None:
    async with literal_client(tmp_path) as client:
        await client.call("add_short_term_memory", **ADD)
        assert "memories: 1" in await client.read("memory://stats/overview")
        assert "user_123" in await client.read("memory://conversations/list")
        assert "user_123" in await client.read("memory://stats/conversation/user_123")
        assert "retrieve_memory" in await client.read("memory://guide/best-practices")


async def test_the_prompts_take_the_printed_arguments(tmp_path: Path) -> None:
    async with literal_client(tmp_path) as client:
        for name, arguments in (
            (
                "remember-user-info",
                {"info_type": "birthday", "information": "July 17", "conversation_id": "user_123"},
            ),
            ("recall-context", {"current_topic": "July 17", "conversation_id": "user_123"}),
            (
                "create-reminder",
                {
                    "reminder_content": "July 17",
                    "trigger_condition": "when cake is mentioned",
                    "conversation_id": "user_123",
                },
            ),
            ("analyze-conversation", {"conversation_id": "user_123"}),
        ):
            shown = await client.prompt(name, **arguments)
            assert "user_123" in shown
            assert name == "analyze-conversation" or "July 17" in shown


_USER = {"conversation_id": "user_123"}
