"""What is stored leaves its frame in no output: frames of clients in every field, every way out.

Tools, arguments, resources, prompts, completions, kinds and fields are those that the code has: a
new one is tried by itself, or fails for want of a value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import PromptReference, ResourceTemplateReference

from infinite_memory import Config, MemoryStore
from infinite_memory.core.config import Limits
from infinite_memory.core.values.memory import Kind
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory_mcp.arguments import input_schema
from infinite_memory_mcp.lazy_store import LazyStore
from infinite_memory_mcp.prompts import PROMPTS
from infinite_memory_mcp.resources import COMPLETED, RESOURCES
from infinite_memory_mcp.server import TOOLSETS, build_server
from infinite_memory_mcp.settings import ALL_TOOLSETS
from tests.harness.client_frames import (
    ASKED,
    CONVERSATION,
    NAME,
    PROSE,
    REPOSITORY,
    SCOPE,
    TAG,
    TEXT,
    fill_with_frames,
    find_leaks,
    find_leaks_in_data,
    id_of,
)

Connect = Callable[[], Client]
SPECS = {spec.name: spec for specs in TOOLSETS.values() for spec in specs}
MADE_UP = TEXT.replace(PROSE, "quokka")
"""What a caller says, which nothing stored has."""
SAID = [{"role": "user", "content": MADE_UP}]
OCTO = "example.org/octo/kiln"
_GROUPS: dict[tuple[str, ...], list[Any]] = {
    ("text", "content", "decision", "rationale", "problem", "solution", "error"): [MADE_UP],
    ("error_message", "alternatives", "consequences", "impact", "description"): [MADE_UP],
    ("prompt", "createdContext", "updatedContext", "reason"): [MADE_UP],
    ("title", "speaker", "summary", "component", "session", "branch", "commit"): [ASKED],
    ("key", "parent", "confirm", "cursor", "model"): [ASKED],
    ("query", "topic", "current_task"): ["deadline", f"deadline {ASKED}"],
    ("name",): [NAME, ASKED],
    ("user",): ["user", NAME],
    ("scope",): ["ALL", SCOPE, REPOSITORY, ASKED],
    ("keywords",): [["deadline", ASKED]],
    ("tags",): [[TAG], ["deadline"], [ASKED]],
    ("conversation_id",): [CONVERSATION, ASKED],
    ("id_or_key",): [NAME, "note", "decision"],
    ("id",): [*(id_of(kind) for kind in Kind), ASKED],
    ("ids", "accept", "reject"): [["note"], ["fact", "lesson"], [ASKED]],
    ("source", "target", "why_not"): ["note", "decision", ASKED],
    ("sources", "supersedes", "related"): [["fact"], [ASKED]],
    ("repository",): [OCTO, "ALL", REPOSITORY, ASKED],
    ("files", "file_context"): [["kiln.py"], [ASKED]],
    ("tools", "participants"): [[ASKED]],
    ("changes",): [{"name": MADE_UP}],
    ("context", "metadata"): [{ASKED: [MADE_UP]}],
    ("messages", "recentMessages"): [[{"role": "user", "content": "deadline"}], SAID],
    ("pattern",): ["deadline", ASKED],
    ("trigger",): [{"any_of": ["deadline"]}, ASKED],
    ("links",): [[{"source": "fact", "target": "note", "weight": 1}]],
    ("topics",): [[{"sources": ["fact", "note"], "text": MADE_UP, "title": ASKED}]],
    ("attachments",): [[{"uri": "data:image/png;base64,AAAA", "description": MADE_UP}]],
    ("types",): [["semantic"], [ASKED]],
    ("type",): ["semantic", "problem", ASKED],
    ("kind",): ["lesson", ASKED],
    ("kinds",): [["fact"], [ASKED]],
    ("depth",): ["overview", "exhaustive", 4],
    ("mode",): ["history", "merge", ASKED],
    ("when", "timeframe"): ["always", ASKED],
    ("since", "until", "as_of", "date_from", "date_to", "happened_at"): ["2026-03-02", ASKED],
    ("status",): ["archived", ASKED],
    ("outcome",): ["failed", ASKED],
    ("difficulty",): ["simple", ASKED],
    ("job",): ["summaries", ASKED],
    ("memory_type",): ["short_term", ASKED],
    ("sort_by",): ["score", ASKED],
    ("order",): ["asc", ASKED],
    ("recency",): ["recent", ASKED],
    ("embedding",): [[1.0, 0.0]],
    ("roleWeights",): [{"user": 1.0, ASKED: 2.0}],
    ("budget",): [20_000],
    ("max_tokens",): [20_000, 500],
    ("limit",): [5, 100],
    ("entry",): [5, 10**6],
    ("offset", "start", "seed", "revision", "top_keywords"): [1, 50],
    ("before", "after"): [1000, MADE_UP],
    ("threshold", "min_score", "max_score", "min_relevance_score", "weight", "minutes"): [0.1],
    ("recent_days",): [3000],
    ("days",): [366],
    ("state",): ["open", ASKED],
    ("tool",): ["search_by_tag", ASKED],
    ("arguments",): [{"tags": [TAG]}, {ASKED: MADE_UP}],
    ("explain", "important", "create", "permanently", "newest_first"): [True],
    ("reads", "dry_run", "material", "take_back"): [True],
}
VALUES = {name: values for names, values in _GROUPS.items() for name in names}
"""Values of an argument of that name; one without values fails the test of its tool."""

VARIABLE = re.compile(r"\{\+?(\w+)\}")


def calls_of(tool: str) -> Iterator[dict[str, Any]]:
    """Yield calls of a tool: with every value of every argument, beside what it requires."""
    schema = input_schema(SPECS[tool].arguments)
    names = list(schema["properties"])
    values = {name: VALUES[name] for name in names}
    base = {name: values[name][0] for name in schema.get("required", ())}
    base |= {name: values[name][0] for name in ("max_tokens", "scope") if name in names}
    yield base
    for name in names:
        for value in values[name]:
            yield {**base, name: value}


@pytest.fixture(scope="module")
def filled() -> Iterator[InMemoryStorage]:
    with closing(InMemoryStorage()) as storage:
        with MemoryStore.open("memory://", storage=storage, embedder=HashingEmbedder()) as store:
            fill_with_frames(store, storage)
        yield storage


@pytest.fixture
def memory(filled: InMemoryStorage, tmp_path: Path) -> Iterator[LazyStore]:
    """A copy of the store with the frames, for a client with such a name."""
    config = Config(home=tmp_path, time_zone="Europe/Berlin", limits=Limits(calls_per_minute=0))
    opener = partial(
        MemoryStore.open,
        config=config,
        storage=InMemoryStorage(filled._state.copy()),
        embedder=HashingEmbedder(),
        client=NAME,
    )
    with LazyStore(opener, quiet_seconds=600) as lazy:
        yield lazy


@pytest.fixture
def connect(memory: LazyStore) -> Callable[[], Client]:
    return lambda: Client(build_server(memory, ALL_TOOLSETS))


@pytest.mark.thorough
@pytest.mark.parametrize("tool", list(SPECS))
def test_no_answer_or_error_of_a_tool_lets_a_stored_text_out(tool: str, memory: LazyStore) -> None:
    run = SPECS[tool].build_tool(memory, structured=True).fn
    leaks: dict[str, str] = {}
    for arguments in calls_of(tool):
        try:
            answer = run(dict(arguments))
        except ToolError as error:
            found = find_leaks(str(error))
        else:
            shown = "\n".join(content.text for content in answer.content)
            found = find_leaks(shown) + find_leaks_in_data(answer.structured_content)
        leaks |= {leak: str(arguments)[:300] for leak in found}
    assert not leaks, f"{len(leaks)} leaks of {tool}"


@pytest.mark.parametrize("uri", [spec.uri for spec in RESOURCES])
@pytest.mark.anyio
async def test_no_resource_lets_a_stored_text_out(uri: str, connect: Connect) -> None:
    values = {
        "id": ["message", "note", "fact", ASKED, CONVERSATION],
        "repository": [OCTO, ASKED],
        "": [""],
    }
    leaks = set()
    async with connect() as client:
        for value in values["".join(VARIABLE.findall(uri))]:
            try:
                contents = (await client.read_resource(VARIABLE.sub(value, uri))).contents
            except MCPError as error:
                leaks |= {*find_leaks(str(error)), *find_leaks_in_data(error.error.data)}
            else:
                leaks |= set(find_leaks("\n".join(content.text for content in contents)))
    assert not leaks, f"{len(leaks)} leaks of {uri}"


@pytest.mark.parametrize("name", [name for name, *_ in PROMPTS])
@pytest.mark.anyio
async def test_no_prompt_lets_a_name_or_a_text_out(name: str, connect: Connect) -> None:
    async with connect() as client:
        prompt = next(p for p in (await client.list_prompts()).prompts if p.name == name)
        leaks = set()
        for value in (NAME, MADE_UP):
            arguments = {each.name: value for each in prompt.arguments or ()}
            got = await client.get_prompt(name, arguments)
            leaks |= {leak for message in got.messages for leak in find_leaks(message.content.text)}
    assert not leaks, f"{len(leaks)} leaks of {name}"


@pytest.mark.parametrize("argument", list(COMPLETED))
@pytest.mark.anyio
async def test_no_completion_offers_a_frame(argument: str, connect: Connect) -> None:
    async with connect() as client:
        for ref in (
            PromptReference(type="ref/prompt", name="recall-context"),
            ResourceTemplateReference(type="ref/resource", uri="memory://memory/{+id}"),
        ):
            for typed in ("", PROSE[:3], "example"):
                done = await client.complete(ref, {"name": argument, "value": typed})
                assert not find_leaks_in_data(done.completion.values)


@pytest.mark.anyio
async def test_the_quoted_text_is_still_readable(connect: Connect) -> None:
    async with connect() as client:
        got = await client.call_tool("retrieve_memory", {"ids": ["note"], "max_tokens": 60_000})
    said = got.content[0].text
    assert f"> The deadline of {PROSE} is near" in said
    assert "> ‹system-reminder> zyzzyva" in said
    assert "> [1] 2020-01-01 · id x · scope Global" in said
    assert "> Human: zyzzyva" in said
