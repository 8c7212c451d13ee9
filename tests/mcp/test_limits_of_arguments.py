"""Each tool at the lowest and the highest value of each of its limits, and one beyond; no None."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from mcp import Client, MCPError
from test_confined_tools import ROWS

from infinite_memory import MemoryStore
from infinite_memory_mcp.server import TOOLSETS

pytestmark = pytest.mark.anyio

Connect = Callable[[], Client]
SPECS = {spec.name: spec for specs in TOOLSETS.values() for spec in specs}
# `None` as the word of an answer, and not inside of quoted text or a name.
NONE = re.compile(r"\bNone\b")


def list_bounds(tool: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield the arguments of a tool that have bounds, with the lowest and the highest value."""
    properties = SPECS[tool].arguments.model_json_schema()["properties"]
    for name, schema in properties.items():
        for form in (schema, *schema.get("anyOf", ())):
            if "minimum" in form and "maximum" in form:
                yield name, form["minimum"], form["maximum"]


BOUNDS = [(tool, *bound) for tool in SPECS for bound in list_bounds(tool)]


def sample(tool: str) -> dict[str, Any]:
    """Return arguments with which the tool can be called, of nothing that is not stored here."""
    rows = [dict(row) for row in ROWS.get(tool, ({},))]
    known = [row for row in rows if "zz-" not in str(row) and "scope" not in row]
    return known[0] if known else {**rows[0], "scope": "team"}


async def say(client: Client, tool: str, arguments: Mapping[str, Any]) -> tuple[bool, str]:
    """Return whether a call was refused, and what it said."""
    try:
        result = await client.call_tool(tool, dict(arguments))
    except MCPError as error:
        return True, str(error)
    return result.is_error, str(result.content[0].text)


@pytest.fixture
def filled(store: MemoryStore) -> MemoryStore:
    """A store with more than any page holds by default, in a scope and in its parent."""
    store.scopes.create("team")
    store.scopes.create("team/apollo", parent="team")
    for scope in ("Global", "team", "team/apollo"):
        for number in range(8):
            text = f"Apollo needs {number} engines for the launch, and time is short"
            store.remember(text, scope=scope, tags=["launch"], conversation_id="c1")
    return store


def test_there_are_limits_in_many_tools() -> None:
    assert len({tool for tool, *_ in BOUNDS}) >= 20
    assert {"limit", "max_tokens"} <= {name for _, name, *_ in BOUNDS}


@pytest.mark.usefixtures("filled")
async def test_each_limit_holds_at_both_ends_and_is_named_beyond(connect: Connect) -> None:
    proven = set()
    async with connect() as client:
        for tool, name, lowest, highest in BOUNDS:
            for value in (lowest, highest):
                refused, said = await say(client, tool, {**sample(tool), name: value})
                assert f"{name} {value} cannot be used" not in said, (tool, said)
                assert refused or not NONE.search(said), (tool, said)
            for value in (lowest - 1, highest + 1):
                refused, said = await say(client, tool, {**sample(tool), name: value})
                # A limit that is too high counts as the highest, and the answer says so.
                named = f"{name} {value} cannot be used" if refused else name
                assert refused or named in said, (tool, said)
                if named in said:
                    proven.add((tool, name))
        # Some samples name what is not stored here, and a tool may find that first.
        assert len(proven) >= len(BOUNDS) * 3 // 4, {bound[:2] for bound in BOUNDS} - proven


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize("limit", [1, 3, 8])
async def test_no_page_gives_none_for_a_value(connect: Connect, limit: int) -> None:
    paging = [tool for tool, name, *_ in BOUNDS if name == "limit"]
    assert len(paging) >= 10
    async with connect() as client:
        for tool in paging:
            fields = SPECS[tool].arguments.model_fields
            given = {**sample(tool), "limit": limit}
            variants: list[dict[str, Any]] = [
                {},
                {"scope": "team/apollo"},
                {"max_tokens": 500},
                {"query": "the launch of Apollo"},
                # It is answered with the newest conversation, which has no further page.
                {"query": "what did we do last time?", "scope": "ALL"},
            ]
            for name, field in fields.items():
                values = getattr(field.annotation, "__members__", {}).values()
                variants += [{name: str(value)} for value in values]
                if field.annotation is bool:
                    variants += [{name: True}, {name: True, "scope": "team/apollo"}]
            for more in variants:
                chosen = {key: value for key, value in more.items() if key in fields}
                base = {"limit": limit} if "query" in chosen else given
                refused, said = await say(client, tool, {**base, **chosen})
                assert refused or not NONE.search(said), (tool, chosen, said)


@pytest.mark.usefixtures("filled")
async def test_an_argument_that_is_null_is_never_called_none(connect: Connect) -> None:
    async with connect() as client:
        for tool, spec in SPECS.items():
            for name in spec.arguments.model_fields:
                _, said = await say(client, tool, {**sample(tool), name: None})
                assert not NONE.search(said), (tool, name, said)
