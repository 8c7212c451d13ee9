"""What models write for nothing is nothing, and an object is understood whole or refused whole.

Tools, arguments and other servers' names are read from the code, so that a new one is tried too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from mcp import Client
from talking import call, refusal

from infinite_memory import InvalidInput, MemoryStore
from infinite_memory_mcp.arguments import Arguments, input_schema, parse, understand
from infinite_memory_mcp.foreign.arguments import PLACES
from infinite_memory_mcp.foreign.names import NAMES
from infinite_memory_mcp.server import TOOLSETS
from infinite_memory_mcp.toolsets.writing import StoreMemory, UpdateMemory

Connect = Callable[[], Client]
TOOLS = {spec.name: spec.arguments for specs in TOOLSETS.values() for spec in specs}
NOTHING = [
    None,
    "",
    "null",
    "None",
    "none",
    "NULL",
    "undefined",
    "N/A",
    "n/a",
    "string",
    "{}",
    "[]",
]
# The context of these tools may hold anything but an argument.
FREE = {"store_memory": StoreMemory, "update_memory": UpdateMemory}


def read(kind: type[Arguments], values: dict[str, Any]) -> dict[str, Any]:
    return understand(kind, values, lambda: 10)[0]


def required_values(kind: type[Arguments]) -> dict[str, Any]:
    """Return values of the arguments that are required, by their type."""
    samples = {"string": "mill", "array": ["mill"], "object": {"name": "Ada"}, "integer": 3}
    schema = input_schema(kind)
    return {
        name: samples[schema["properties"][name].get("type", "string")]
        for name in schema.get("required", ())
    }


OPTIONAL = [
    (tool, name)
    for tool, kind in TOOLS.items()
    for name, field in kind.model_fields.items()
    if not field.is_required() and name != "query"
]


@pytest.mark.parametrize(("tool", "name"), OPTIONAL, ids=str)
def test_words_for_nothing_leave_an_argument_out(tool: str, name: str) -> None:
    kind = TOOLS[tool]
    needed = required_values(kind)
    without = read(kind, needed)
    for nothing in [*NOTHING, ["null"], ["", "none"]]:
        if nothing == "" and name in kind.cleared:
            continue
        assert read(kind, {**needed, name: nothing}) == without, nothing
    for alias in NAMES.get(name, ()):
        if alias not in kind.model_fields and _first_of(alias, kind) == name:
            for nothing in NOTHING:
                if nothing == "" and name in kind.cleared:
                    continue
                assert read(kind, {**needed, alias: nothing}) == without, (alias, nothing)


def _first_of(alias: str, kind: type[Arguments]) -> str | None:
    meant = (name for name, names in NAMES.items() if alias in names and name in kind.model_fields)
    return next(meant, None)


@pytest.mark.parametrize("tool", TOOLS)
def test_no_choice_of_an_argument_is_a_word_for_nothing(tool: str) -> None:
    for schema in input_schema(TOOLS[tool])["properties"].values():
        assert not set(schema.get("enum", ())) & {word for word in NOTHING if word}


@pytest.mark.parametrize("word", ["None", "null", "string", "n/a"])
def test_a_text_and_a_query_are_what_they_say(word: str) -> None:
    for tool, kind in TOOLS.items():
        for name in [*required_values(kind), *({"query"} & kind.model_fields.keys())]:
            given = {**required_values(kind), name: word}
            assert read(kind, given).get(name) == word, tool


def list_arguments() -> Iterator[tuple[str, str]]:
    for tool, kind in FREE.items():
        for name in kind.model_fields:
            # These are taken out of a context, as other servers put them into it.
            if name not in ("tags", "important", "context", *PLACES):
                yield tool, name


@pytest.mark.parametrize(("tool", "name"), list(list_arguments()), ids=str)
@pytest.mark.parametrize("given", ["context", *NAMES["context"]])
def test_an_argument_in_a_context_is_refused(tool: str, name: str, given: str) -> None:
    kind = FREE[tool]
    if (given in kind.model_fields and given != "context") or name == "kind":
        return
    for inner in (
        {name: "Health"},
        {"colour": "red", name: "Health"},
        {"metadata": {name: "Health"}},
        {"extra": {"properties": {name: "Health"}}},
        {"items": [{name: "Health"}]},
    ):
        with pytest.raises(InvalidInput, match=f"{given}.* holds '{name}'.*nothing was done"):
            read(kind, {**required_values(kind), given: inner})


@pytest.mark.parametrize("alias", ["scope", *(n for n in NAMES["scope"] if n != "project")])
def test_a_scope_in_a_context_is_the_scope_of_the_memory(alias: str) -> None:
    for metadata in ({alias: "Health"}, f'{{"{alias}": "Health"}}'):
        given = read(StoreMemory, {"content": "x", "metadata": metadata})
        assert given == {"text": "x", "scope": "Health", "context": {}}
    with pytest.raises(InvalidInput, match="scope is given twice"):
        read(StoreMemory, {"content": "x", "scope": "work", "metadata": {alias: "Health"}})
    for inner in ({"metadata": {alias: "Health"}}, {"items": [{alias: "Health"}]}):
        with pytest.raises(InvalidInput, match="beside metadata; nothing was done"):
            read(StoreMemory, {"content": "x", "metadata": inner})


def test_a_context_keeps_what_is_no_argument() -> None:
    context = {"project": "apollo", "topic": "dates", "colour": "none", "source": "slack"}
    assert read(StoreMemory, {"content": "x", "metadata": context})["context"] == context
    given = read(StoreMemory, {"content": "x", "metadata": {"scope": None, "tags": "a, b"}})
    assert given == {"text": "x", "tags": ["a", "b"], "context": {}}


# Every object argument that is no free context, in a call that is right but for one part of it.
MESSAGE = {"role": "user", "content": "The mill opens at nine"}
PART = {"unheard": "Health"}
OBJECTS: dict[tuple[str, str], dict[str, Any]] = {
    ("update_user_profile", "changes"): {"changes": {"name": "Ada", **PART}},
    ("store_conversation_chunk", "metadata"): {
        "repository": "github.com/octo/apollo",
        "content": "Fixed",
        "metadata": {"branch": "main", **PART},
    },
    ("log_conversation", "messages"): {"conversation_id": "c", "messages": [{**MESSAGE, **PART}]},
    ("log_conversation", "attachments"): {
        "conversation_id": "c",
        "messages": [MESSAGE],
        "attachments": [{"uri": "file:///a.png", **PART}],
    },
    ("add_short_term_memory", "messages"): {
        "conversation_id": "c",
        "messages": [{**MESSAGE, **PART}],
    },
    ("add_short_term_memory", "attachments"): {
        "conversation_id": "c",
        "messages": [MESSAGE],
        "attachments": [{"uri": "file:///a.png", **PART}],
    },
    ("search_short_term_memories", "recentMessages"): {
        "conversation_id": "c",
        "recentMessages": [{**MESSAGE, **PART}],
    },
    ("add_long_term_memory", "trigger"): {
        "name": "n",
        "prompt": "p",
        "trigger": {"any_of": ["mill"], **PART},
    },
    ("add_long_term_memory", "recentMessages"): {
        "name": "n",
        "prompt": "p",
        "trigger": {"any_of": ["mill"]},
        "recentMessages": [{**MESSAGE, **PART}],
    },
    ("add_long_term_memory", "attachments"): {
        "name": "n",
        "prompt": "p",
        "trigger": {"any_of": ["mill"]},
        "attachments": [{"uri": "file:///a.png", **PART}],
    },
    ("more", "arguments"): {
        "tool": "log_conversation",
        "arguments": {"conversation_id": "c", "messages": [{**MESSAGE, **PART}]},
    },
    ("update_long_term_memory", "trigger"): {"name": "known", "trigger": {"all": [PART]}},
    ("update_long_term_memory", "recentMessages"): {
        "name": "known",
        "recentMessages": [{**MESSAGE, **PART}],
    },
    ("search_long_term_memories", "messages"): {"messages": [{**MESSAGE, **PART}]},
    ("dream", "links"): {"links": [{"source": "a", "target": "b", **PART}]},
    ("dream", "topics"): {"topics": [{"title": "t", "text": "x", "sources": ["a"], **PART}]},
}
# The names in these are the caller's own: roles, and who takes part.
OWN_NAMES = {
    ("add_short_term_memory", "roleWeights"),
    ("search_short_term_memories", "roleWeights"),
    ("search_long_term_memories", "participants"),
}


def list_objects() -> Iterator[tuple[str, str]]:
    for tool, kind in TOOLS.items():
        for name, schema in input_schema(kind)["properties"].items():
            options = [schema, *schema.get("anyOf", ())]
            types = {t for o in options for t in (o.get("type"), o.get("items", {}).get("type"))}
            if "object" in types:
                yield tool, name


def test_every_object_is_tried() -> None:
    free = {(tool, "context") for tool in FREE}
    assert {*OBJECTS, *OWN_NAMES, *free} == set(list_objects())


@pytest.mark.anyio
@pytest.mark.parametrize(("tool", "name"), OBJECTS, ids=str)
async def test_an_object_with_an_unknown_part_is_refused(
    tool: str, name: str, connect: Connect, store: MemoryStore
) -> None:
    async with connect() as client:
        if tool == "update_long_term_memory":
            await call(
                client,
                "add_long_term_memory",
                name="known",
                prompt="p",
                trigger={"any_of": ["mill"]},
            )
        before = len(store.journal.entries())
        assert "unheard" in await refusal(client, tool, **OBJECTS[tool, name])
        assert len(store.journal.entries()) == before


@pytest.mark.parametrize("given", ["filters", "updates"])
@pytest.mark.parametrize("tool", TOOLS)
def test_an_object_of_further_arguments_is_understood_whole(tool: str, given: str) -> None:
    kind = TOOLS[tool]
    if given in kind.model_fields or _first_of(given, kind) is not None:
        return
    for inner in (
        {"unheard": 1},
        {"limit": 5, "unheard": 1},
        {"AND": [{"unheard": 1}]},
        {"AND": ["unheard"]},
        {"OR": [{"scope": "Health"}]},
        {"unheard": {"gte": "2020"}},
    ):
        with pytest.raises(InvalidInput, match=f"{given} holds"):
            parse(kind, read(kind, {**required_values(kind), given: inner}))


def test_a_message_with_more_than_who_said_what_is_refused() -> None:
    with pytest.raises(InvalidInput, match="a message of messages holds 'scope'"):
        read(StoreMemory, {"messages": [{**MESSAGE, "scope": "Health"}]})


@pytest.mark.parametrize("given", ["filter", "target", "range"])
def test_an_object_with_a_part_that_is_not_understood_is_refused(given: str) -> None:
    for kind, known in ((TOOLS["delete_memory"], {"when": "2020"}), (TOOLS["retrieve_memory"], {})):
        with pytest.raises(InvalidInput, match=f"{given} holds 'unheard'"):
            read(kind, {**known, given: {"unheard": "Health"}})


@pytest.mark.anyio
async def test_a_scope_in_the_metadata_is_where_the_memory_is_stored(
    connect: Connect, store: MemoryStore
) -> None:
    async with connect() as client:
        await call(
            client, "store_memory", content="Blood test on Friday", metadata={"scope": "Health"}
        )
    assert [memory.scope for memory in store.browse(scope="ALL").memories] == ["Health"]
