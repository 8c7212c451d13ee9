"""The client of the second document: Go names and types, a repository by its plain name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from literal import LiteralClient, literal_client

from infinite_memory import Kind

pytestmark = [pytest.mark.anyio, pytest.mark.thorough]

REPOSITORY = "midaz-mcp-server"
SCOPE = f"repo/{REPOSITORY}"
METADATA = {
    "repository": REPOSITORY,
    "branch": "main",
    "files_modified": ["src/deployment.ts"],
    "tools_used": ["Edit", "Bash"],
    "outcome": "success",
    "tags": ["helm", "terraform"],
    "difficulty": "moderate",
    "time_spent": 25,
}
CHUNKS = {
    "problem": "The TypeScript API of deployment.ts fails: TS2345 argument of type string",
    "solution": "Passed the typed options object to deployment.ts, so that TS2345 is gone",
    "code_change": "Changed deployment.ts from a string to the options object",
    "discussion": "Talked about Helm, Terraform and the SDK repositories",
    "architecture_decision": "Chroma is the vector database, since it runs locally in Docker",
}


async def store_chunk(client: LiteralClient, kind: str) -> str:
    receipt = await client.call(
        "StoreConversationChunk", content=CHUNKS[kind], chunkType=kind, metadata=METADATA
    )
    return str(receipt["id"])


async def test_a_chunk_of_every_type_is_stored_from_the_first_call_on(tmp_path: Path) -> None:
    async with literal_client(tmp_path) as client:
        for kind in CHUNKS:
            memory = client.store.get(await store_chunk(client, kind))
            assert memory.scope == SCOPE
            assert memory.kind == kind.removeprefix("architecture_")
            assert memory.text == CHUNKS[kind]
            assert {"helm", "terraform"} <= set(memory.tags)
            kept = {name: memory.context[name] for name in ("branch", "outcome", "minutes")}
            assert kept == {"branch": "main", "outcome": "success", "minutes": 25}
            assert memory.context["files"] == ["src/deployment.ts"]
        history = await client.call("GetProjectHistory", repository=REPOSITORY, limit=3)
        assert [chunk["content"] for chunk in history["chunks"]] == [*CHUNKS.values()][:1:-1]


async def test_a_decision_and_a_lesson_need_no_repository(tmp_path: Path) -> None:
    async with literal_client(tmp_path) as client:
        decision = await client.call(
            "StoreArchitectureDecision",
            decision="Embed with text-embedding-ada-002",
            rationale="It was the best at hand",
            context="The MVP of week 1",
        )
        lesson = await client.call(
            "StoreLessonLearned",
            problem="Chroma lost its data at a restart",
            solution="Mount ./data/chroma as a volume",
            tags=["docker"],
        )
        assert client.store.get(decision["id"]).scope == "repo/default"
        await store_chunk(client, "problem")
        later = await client.call("StoreLessonLearned", problem="p", solution="s", tags=[])
        assert client.store.get(later["id"]).scope == SCOPE
        assert client.store.get(lesson["id"]).kind is Kind.LESSON
        assert client.store.get(lesson["id"]).tags == ("docker",)


async def test_work_is_found_by_every_retrieval_of_the_document(tmp_path: Path) -> None:
    async with literal_client(tmp_path) as client:
        ids = {kind: await store_chunk(client, kind) for kind in CHUNKS}

        async def matches(tool: str, /, **arguments: Any) -> set[str]:
            found = await client.call(tool, **arguments)
            return {match["chunk"]["id"] for match in found["matches"]}

        query = {"query": "TS2345 in deployment.ts", "repository": REPOSITORY}
        for timeframe in ("last_month", "this month", None):
            assert ids["problem"] in await matches(
                "SearchSimilarProblems", **query, timeframe=timeframe
            )
        for recency in ("recent", "all_time", "last_month"):
            found = await matches(
                "SearchSimilarProblems",
                **query,
                file_context=["src/deployment.ts"],
                recency=recency,
                types=["architecture_decision", "discussion"],
                min_relevance_score=0.0,
            )
            assert found == {ids["architecture_decision"], ids["discussion"]}
        solved = await matches("FindPastSolutions", errorMessage="TS2345", context="deployment.ts")
        assert ids["solution"] in solved
        related = await matches(
            "SuggestRelatedWork", currentTask="change deployment.ts", repository=REPOSITORY
        )
        assert ids["code_change"] in related
        decisions = await client.call(
            "GetArchitectureDecisions", repository=REPOSITORY, component=None
        )
        assert [each["chunk"]["id"] for each in decisions["decisions"]] == [
            ids["architecture_decision"]
        ]
        context = await client.call("BuildSessionContext", repository=REPOSITORY, recentDays=7)
        assert CHUNKS["architecture_decision"] in context["text"]
        assert "patterns" in await client.call(
            "IdentifyPatterns", repository=REPOSITORY, timeframe="last_month"
        )


async def test_the_resources_are_read_by_the_plain_name(tmp_path: Path) -> None:
    async with literal_client(tmp_path) as client:
        for kind in CHUNKS:
            await store_chunk(client, kind)
        history = await client.read(f"memory://conversations/{REPOSITORY}")
        assert all(content in history for content in CHUNKS.values())
        decisions = await client.read(f"memory://decisions/{REPOSITORY}")
        assert CHUNKS["architecture_decision"] in decisions
        assert "5 pieces of work" in await client.read(f"memory://patterns/{REPOSITORY}")
        await client.call("StoreLessonLearned", problem="Lost data", solution="Mount it", tags=[])
        assert "outcome: success" in await client.read("memory://global/common-patterns")
        assert "Mount it" in await client.read("memory://global/lessons-learned")
