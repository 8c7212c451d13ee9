"""Names of tools of various memory servers; the answer names the equivalent call here."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from infinite_memory.core.errors import InvalidInput
from infinite_memory_mcp.foreign.arguments import understand_arguments

_MAX_CALLS = 5
_MAX_VALUE_CHARS = 400

_TOOLS: Mapping[str, tuple[str, ...]] = {
    "store_memory": (
        *("add_memory", "add_memories", "save_memory", "create_memory", "remember", "memory_store"),
        *("memory_add", "write_note", "retain", "sync_retain", "cognify", "save_interaction"),
        *("add_episode", "memorize", "remember_memory", "archival_memory_insert", "addMemory"),
        *("create_entities", "add_observations", "create_relations", "add_triplet"),
    ),
    "retrieve_memory": (
        *("search_memory", "search_memories", "memory_search", "search_notes", "search_nodes"),
        *("semantic_search", "search_memory_facts", "search_facts", "search", "recall", "reflect"),
        *("memory_recall", "find_memories", "archival_memory_search", "conversation_search"),
        *("get_memory", "read_note", "open_nodes", "build_context", "get_entity_edge"),
    ),
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


def suggest_call(
    name: str,
    arguments: Mapping[str, Any],
    tools: Mapping[str, list[str]],
    withheld: Mapping[str, str],
) -> str | None:
    """Return the way out for a call of a foreign tool, None if nothing here means it.

    It is a call of our tools, or several, or a command for the user. `tools` are the names of the
    arguments of every offered tool; `withheld` says why a tool is not offered, and what to do.
    """
    if name in _COMMANDS:
        return f"it is a command, ask the user to run `{_COMMANDS[name]}`"
    ours = _BY_NAME.get(name)
    if ours is not None and ours in withheld:
        return f"{ours} {withheld[ours]}"
    if ours is None or ours not in tools:
        return None
    calls = [
        f"{ours} with {_encode_arguments(_complete_example(ours, values, tools[ours]))}"
        for values in _split_call(name, arguments)
    ]
    more = len(calls) - _MAX_CALLS
    rest = f"; and so on, {more} more" if more > 0 else ""
    return f"call {'; then '.join(calls[:_MAX_CALLS])}{rest}"


def _complete_example(ours: str, values: Mapping[str, Any], known: list[str]) -> dict[str, Any]:
    try:
        read, _ = understand_arguments(values, known)
    except InvalidInput:
        read = dict(values)
    kept = {name: value for name, value in read.items() if name in known and value is not None}
    if ours == "recall_memory_by_time":
        return {"when": "always", **kept, "newest_first": True}
    return kept or _EXAMPLES.get(ours, {})


_EXAMPLES: Mapping[str, dict[str, Any]] = {
    "store_memory": {"text": "..."},
    "retrieve_memory": {"query": "..."},
    "update_memory": {"id": "...", "text": "..."},
    "delete_memory": {"id": "..."},
}


def _encode_arguments(values: Mapping[str, Any]) -> str:
    """Return the arguments as JSON; a long text is cut, since the caller has it."""
    short = {
        name: f"{value[:_MAX_VALUE_CHARS]}…"
        if isinstance(value, str) and len(value) > _MAX_VALUE_CHARS
        else value
        for name, value in values.items()
    }
    return json.dumps(short, ensure_ascii=False, default=str)


def _split_call(name: str, arguments: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the arguments of every call here that together replace a foreign call."""
    shape = _SHAPES.get(name)
    try:
        calls = [] if shape is None else list(shape(arguments))
    except (KeyError, TypeError, AttributeError):
        calls = []
    return calls or [arguments]


def _split_entities(arguments: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for entity in arguments["entities"]:
        for observation in entity["observations"]:
            yield {"text": f"{entity['name']}: {observation}", "tags": [entity["entityType"]]}


def _split_observations(arguments: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for item in arguments["observations"]:
        for content in item.get("contents") or item["observations"]:
            yield {"text": f"{item['entityName']}: {content}"}


def _split_relations(arguments: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for relation in arguments["relations"]:
        words = str(relation["relationType"]).replace("_", " ")
        yield {"text": f"{relation['from']} {words} {relation['to']}"}


def _join_triplet(arguments: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield {"text": arguments["fact"]}


def _split_names(arguments: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for name in arguments.get("names") or arguments["entityNames"]:
        yield {"query": name}


def _read_note_title(arguments: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield {"query": arguments["identifier"], "scope": arguments.get("project")}


def _read_url(arguments: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield {"query": arguments["url"].removeprefix("memory://").replace("/", " ").replace("*", "")}


def _split_deletions(arguments: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for item in arguments["deletions"]:
        for observation in item["observations"]:
            yield {"query": f"{item['entityName']}: {observation}"}


_SHAPES: Mapping[str, Callable[[Mapping[str, Any]], Iterator[Mapping[str, Any]]]] = {
    "create_entities": _split_entities,
    "add_observations": _split_observations,
    "create_relations": _split_relations,
    "delete_relations": lambda arguments: (
        {"query": call["text"]} for call in _split_relations(arguments)
    ),
    "add_triplet": _join_triplet,
    "open_nodes": _split_names,
    "delete_entities": _split_names,
    "delete_observations": _split_deletions,
    "read_note": _read_note_title,
    "delete_note": _read_note_title,
    "build_context": _read_url,
}
"""The functions that read the arguments of another shape than ours, by the tool's name."""
