"""Run what a call means: the tool that `more` names, and the calls that a foreign name stands for.

What erases or overwrites several memories is previewed and confirmed as always, since the calls
that run are those of our own tools.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from attrs import frozen
from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.plain import is_placeholder
from infinite_memory.search.text.quotation import disarm_tags, escape_line
from infinite_memory_mcp.foreign.arguments import decode_json, refuse_part
from infinite_memory_mcp.foreign.names import NAMES, find_argument, fold_camel_case
from infinite_memory_mcp.observe.requests import note_tool
from infinite_memory_mcp.validation import make_refusal

MORE = "more"
"""The tool that runs any other by its name."""

_MAX_CALLS = 100
_MAX_SHOWN_CHARS = 300
_COMMAND_NAMES = ("action", "command")
_TOOLS: Mapping[str, tuple[str, ...]] = {
    "store_memory": (
        *("add_memory", "add_memories", "save_memory", "create_memory", "remember", "memory_store"),
        *("memory_add", "write_note", "retain", "sync_retain", "cognify", "save_interaction"),
        *("add_episode", "memorize", "remember_memory", "archival_memory_insert"),
        "i_should_remember",
        *("create_entities", "add_observations", "create_relations", "add_triplet"),
    ),
    "retrieve_memory": (
        *("search_memory", "search_memories", "memory_search", "search_notes", "search_nodes"),
        *("semantic_search", "search_memory_facts", "search_facts", "search", "recall", "reflect"),
        *("memory_recall", "find_memories", "archival_memory_search", "conversation_search"),
        *("get_memory", "read_note", "open_nodes", "build_context", "get_entity_edge"),
        *("what_do_i_remember", "what_do_i_remember_about"),
    ),
    "what_do_i_know": ("what_do_i_know_about", "know"),
    "recall_memory_by_time": (
        *("list_memories", "get_memories", "get_all_memories", "memory_list", "get_episodes"),
        *("recent_activity", "read_graph"),
    ),
    "update_memory": ("memory_update", "edit_memory", "edit_note", "update_memory_metadata"),
    "delete_memory": (
        *("forget", "forget_memory", "remove_memory", "memory_delete", "delete_note", "delete"),
        *("delete_episode", "delete_entity_edge", "delete_by_tag", "delete_by_tags"),
        *("delete_all_memories", "clear_graph", "clear_memories", "delete_entities"),
        *("delete_observations", "delete_relations", "delete_by_timeframe"),
    ),
    "get_memory_stats": (
        *("memory_stats", "memory_health", "check_database_health", "get_status", "get_stats"),
    ),
    "backup_memory": (
        *("backup_memories", "create_backup", "memory_backup"),
        *("backup", "dashboard_create_backup"),
    ),
    "optimize_memory": (
        *("optimize_db", "optimize_database", "cleanup_duplicates", "consolidate_memories"),
        *("trigger_consolidation", "memory_consolidate", "cleanup_corrupted_encoding"),
    ),
    "restore_memory": ("restore_memories", "restore_backup", "import_backup"),
    "get_metrics": ("get_cache_stats", "memory_metrics", "get_performance_stats"),
    "search_by_scope": ("list_memory_projects", "list_projects", "list_banks", "list_entities"),
}
_COMMANDS: Mapping[str, str] = {
    "export_memories": "infinite-memory export FILE",
    "export_memory": "infinite-memory export FILE",
    "import_memories": "infinite-memory import PATH",
    "import_memory": "infinite-memory import PATH",
}
"""The commands that mean a tool which there is not here: they read and write the user's files."""

_BY_NAME = {name: ours for ours, names in _TOOLS.items() for name in names}
_OF_CONVERSATION = (
    *("conversation_id", "keywords", "memory_type", "sort_by", "order", "min_score", "max_score"),
    *("date_from", "date_to", "embedding"),
)
_IF_GIVEN: Mapping[str, tuple[tuple[str, ...], str]] = {
    "recall": (("id", "memory_id", "uuid"), "recall_memory"),
    # Other servers search all that is stored with a tool of this name.
    "search_memories": (_OF_CONVERSATION, "search_memories"),
    "recall_memory_by_time": (("query",), "recall_memory"),
}
"""Names that mean one tool with any of some arguments, and without them that of `_TOOLS`."""

_SUBJECTS, _TIMES = frozenset({"query", "ids", "id"}), frozenset({"when", "since", "until"})
_OF_PERIOD = _TIMES | {"scope", "tags", "kinds", "newest_first", "limit", "cursor", "max_tokens"}
_SEARCHES = ("retrieve_memory", "recall_memory")
"""The tools that list a period if they are asked for nothing but a time."""


@frozen
class Call:
    """A call of a tool with its arguments."""

    tool: str
    arguments: Mapping[str, Any]


def translate_call(
    name: str, arguments: Mapping[str, Any], tools: Collection[str]
) -> tuple[Call, ...]:
    """Return the calls of our `tools` that do what a call means; an unknown call as it is.

    Raises:
        InvalidInput: only a part of the arguments is understood, or they name another tool.
    """
    if name in _COMMANDS and name not in tools:
        raise InvalidInput(
            f"there is no tool {name!r} here: it is a command, ask the user to run"
            f" `{_COMMANDS[name]}`"
        )
    if name == MORE and (inner := _unwrap(arguments)) is not None:
        if inner.tool in _COMMANDS or find_tool(inner.tool, inner.arguments, tools):
            return translate_call(inner.tool, inner.arguments, tools)
        # `more` itself says of an unknown tool which is the nearest.
        return (Call(name, arguments),)
    arguments = _drop_command(name, arguments, tools)
    ours = find_tool(name, arguments, tools)
    shape = None if ours is None else _SHAPES.get(_fold_name(name))
    if ours is None or shape is None:
        return (Call(name if ours is None else ours, arguments),)
    try:
        calls = tuple(Call(ours, values) for values in shape(arguments))
    except (KeyError, TypeError, AttributeError) as error:
        raise InvalidInput(
            f"the arguments of {name!r:.100} are not understood ({error!r:.100}): call {ours}"
        ) from error
    if not 0 < len(calls) <= _MAX_CALLS:
        raise InvalidInput(
            f"{name} would be {len(calls)} calls of {ours}, from 1 to {_MAX_CALLS} are possible:"
            " split it"
        )
    return calls


def find_tool(name: str, arguments: Mapping[str, Any], tools: Collection[str]) -> str | None:
    """Return the tool of ours that a name means, None if it means none."""
    plain = _fold_name(name)
    said = [argument for argument, value in arguments.items() if not is_placeholder(value)]
    given, ours = _IF_GIVEN.get(plain, ((), ""))
    if any(fold_camel_case(argument) in given for argument in said):
        return ours
    ours = _BY_NAME.get(plain, plain)
    if ours in _SEARCHES:
        meant = {find_argument(argument, _SUBJECTS | _OF_PERIOD) for argument in said}
        ours = "recall_memory_by_time" if meant & _TIMES and meant <= _OF_PERIOD else ours
    return ours if ours in tools else None


def _fold_name(name: str) -> str:
    """Return a name as ours are spelled: `StoreMemory`, "store memory" and `store-memory` alike."""
    return fold_camel_case(re.sub(r"[\s-]+", "_", f"{name[:1].lower()}{name[1:]}".strip(' "?')))


def _unwrap(arguments: Mapping[str, Any]) -> Call | None:
    """Return the call that `more` is to run, None if it is asked what there is."""
    given = dict(arguments)
    names = [given.pop(name) for name in ("tool", *_COMMAND_NAMES) if name in given]
    inner = decode_json(given.pop("arguments", given or None))
    if not names or not isinstance(names[0], str) or _fold_name(names[0]) in ("", MORE):
        return None
    return Call(names[0], inner) if isinstance(inner, Mapping) else None


def _drop_command(
    name: str, arguments: Mapping[str, Any], tools: Collection[str]
) -> Mapping[str, Any]:
    """Return the arguments without the name of the tool, which some clients repeat in them."""
    ours = find_tool(name, arguments, tools)
    for command in _COMMAND_NAMES:
        value = arguments.get(command)
        if ours is None or not isinstance(value, str):
            continue
        if find_tool(value, arguments, tools) != ours:
            raise InvalidInput(f"{command} {value!r:.100} is not what {ours} does: leave it out")
        arguments = {key: kept for key, kept in arguments.items() if key != command}
    return arguments


def _take(given: str, item: Mapping[str, Any], *names: str) -> tuple[Any, ...]:
    """Return the values of the names in an object, None for those that it has not.

    Raises:
        InvalidInput: it holds something else.
    """
    for name in item:
        if name not in names:
            raise refuse_part(given, name, names)
    return tuple(item.get(name) for name in names)


def _split_entities(arguments: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for entity in arguments["entities"]:
        name, kind, told = _take("an entity", entity, "name", "entityType", "observations")
        for observation in told or [kind]:
            yield {"text": f"{name}: {observation}", "tags": [kind]}


def _split_observations(arguments: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for item in arguments.get("observations") or arguments["deletions"]:
        name, *told = _take("an entity", item, "entityName", "contents", "observations")
        for content in told[0] or told[1]:
            yield {"text": f"{name}: {content}"}


def _split_relations(arguments: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for relation in arguments["relations"]:
        start, end, words = _take("a relation", relation, "from", "to", "relationType")
        yield {"text": f"{start} {str(words).replace('_', ' ')} {end}"}


def _split_names(arguments: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for name in arguments.get("names") or arguments["entityNames"]:
        yield {"query": name}


def _read_note_title(arguments: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    rest = {name: value for name, value in arguments.items() if name != "identifier"}
    yield {"query": arguments["identifier"], **rest}


def _read_url(arguments: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    rest = {name: value for name, value in arguments.items() if name != "url"}
    words = arguments["url"].removeprefix("memory://").replace("/", " ").replace("*", "")
    yield {"query": words, **rest}


def _list_newest(arguments: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    times = {name for ours in ("when", "since", "until") for name in (ours, *NAMES[ours])}
    is_timed = any(fold_camel_case(name) in times for name, value in arguments.items() if value)
    yield {**({} if is_timed else {"when": "always"}), **arguments, "newest_first": True}


_Shape = Callable[[Mapping[str, Any]], Iterator[Mapping[str, Any]]]


def _as_query(shape: _Shape) -> _Shape:
    return lambda arguments: ({"query": values["text"]} for values in shape(arguments))


def _delete_everything(arguments: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield {"scope": "ALL", **arguments}


_SHAPES: Mapping[str, _Shape] = {
    "create_entities": _split_entities,
    "add_observations": _split_observations,
    "create_relations": _split_relations,
    "delete_relations": _as_query(_split_relations),
    "delete_observations": _as_query(_split_observations),
    "open_nodes": _split_names,
    "delete_entities": _split_names,
    "read_note": _read_note_title,
    "delete_note": _read_note_title,
    "build_context": _read_url,
    "delete_all_memories": _delete_everything,
    "clear_graph": _delete_everything,
    "clear_memories": _delete_everything,
    **dict.fromkeys(_TOOLS["recall_memory_by_time"], _list_newest),
}
"""The functions that read the arguments of another shape than ours, by the tool's name."""


def run_meant_calls(tools: Collection[str]) -> ServerMiddleware[Any]:
    """Return the middleware that runs the calls of `tools` that a call means, and says which."""

    async def run_calls(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        name, arguments = (ctx.params or {}).get("name"), (ctx.params or {}).get("arguments")
        if ctx.method != "tools/call" or not isinstance(name, str) or name == "":
            return await call_next(ctx)
        if arguments is not None and not isinstance(arguments, Mapping):
            return await call_next(ctx)
        try:
            calls = translate_call(name, {} if arguments is None else arguments, tools)
        except InvalidInput as error:
            raise make_refusal(str(error).removesuffix("; nothing was done")) from error
        results = [
            await _run(ctx, call_next, call, is_first=not number)
            for number, call in enumerate(calls)
        ]
        asked = (arguments or {}).get("tool", name) if name == MORE else name
        if len(calls) == 1 and calls[0].tool in (asked, MORE):
            return results[0]
        return _join_results(calls, results)

    return run_calls


async def _run(
    ctx: ServerRequestContext[Any, Any], call_next: CallNext, call: Call, *, is_first: bool
) -> HandlerResult:
    """Run a call; a refusal after others is a result, since the others have been run."""
    note_tool(call.tool)
    params = {**(ctx.params or {}), "name": call.tool, "arguments": dict(call.arguments)}
    try:
        return await call_next(replace(ctx, params=params))
    except MCPError as error:
        if is_first:
            raise
        return {"content": [{"type": "text", "text": error.error.message}], "isError": True}


def _join_results(calls: Sequence[Call], results: Sequence[Any]) -> dict[str, Any]:
    """Return the results, which are of the wire, as one, with a line on what was run."""
    ran = "; ".join(
        f"{call.tool} with {json.dumps(dict(call.arguments), ensure_ascii=False, default=str)}"
        for call in calls
    )
    ran = ran if len(ran) <= _MAX_SHOWN_CHARS else f"{ran[: _MAX_SHOWN_CHARS - 1]}…"
    content = [part for result in results for part in result["content"]]
    content.append({"type": "text", "text": disarm_tags(f"Ran {escape_line(ran)}.")})
    joined = {**results[0], "content": content}
    if any(result.get("isError") for result in results):
        joined["isError"] = True
    if "structuredContent" in joined:
        joined["structuredContent"] = {**joined["structuredContent"], "ran": ran}
    return joined
