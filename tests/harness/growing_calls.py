"""A call of every tool, and its arguments that grow, made from the schemas of the tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from infinite_memory_mcp.arguments import input_schema
from infinite_memory_mcp.server import TOOLSETS

Run = Callable[[str, Mapping[str, Any]], Any]
"""Calls a tool by its name."""


SPECS = {spec.name: spec for specs in TOOLSETS.values() for spec in specs}
IDS = [f"own-{number}" for number in range(200)]

_RULE = {"any_of": ["deadline"]}
_TALK = [{"role": "user", "content": "Is the deadline of apollo near?"}]

ROWS: Mapping[str, Mapping[str, Any]] = {
    "store_memory": {"text": "a note"},
    "update_memory": {"id": IDS[0], "text": "another note"},
    "delete_memory": {"tags": ["house"]},
    "retrieve_memory": {"query": "apollo"},
    "recall_memory": {"query": "apollo"},
    "recall_memory_by_time": {"when": "2026"},
    "search_by_tag": {"tags": ["garden"]},
    "search_by_scope": {"scope": "apollo"},
    "what_do_i_know": {"topic": "zebras"},
    "build_session_context": {"repository": "apollo"},
    "reminders": {},
    "more": {},
    "get_user_profile": {},
    "update_user_profile": {"changes": {"facts": {"city": "Ulm"}}},
    "store_conversation_chunk": {"content": "It failed.", "repository": "apollo"},
    "store_architecture_decision": {
        **{"decision": "Use a queue.", "rationale": "It is simple.", "repository": "apollo"}
    },
    "store_lesson_learned": {
        **{"problem": "It failed.", "solution": "Restart it.", "repository": "apollo"}
    },
    "search_similar_problems": {"query": "it fails", "repository": "apollo"},
    "find_past_solutions": {"error_message": "ValueError: x", "repository": "apollo"},
    "get_project_history": {"repository": "apollo"},
    "get_architecture_decisions": {"repository": "apollo"},
    "suggest_related_work": {"current_task": "the queue", "repository": "apollo"},
    "identify_patterns": {"repository": "apollo"},
    "log_conversation": {"conversation_id": "talk", "messages": _TALK},
    "add_short_term_memory": {"conversation_id": "talk", "messages": _TALK},
    "search_short_term_memories": {"conversation_id": "talk", "recentMessages": _TALK},
    "delete_short_term_memories": {"conversation_id": "talk", "pattern": "deadline"},
    "cleanup_memories": {"conversation_id": "talk"},
    "get_frequent_conversation": {},
    "analyze_memory_patterns": {"conversation_id": "talk"},
    "add_long_term_memory": {"name": "new", "prompt": "Ask.", "trigger": _RULE},
    "update_long_term_memory": {"name": "reminder", "prompt": "Ask.", "trigger": _RULE},
    "list_long_term_memories": {},
    "search_long_term_memories": {"messages": _TALK},
    "get_memory_context": {"name": "reminder"},
    "reminder_done": {"id": IDS[0]},
    "delete_long_term_memory": {"name": "reminder"},
    "search_memories": {"conversation_id": "talk", "query": "deadline"},
    "related_memories": {"ids": IDS[:1]},
    "link_memories": {"source": IDS[0], "target": IDS[1], "reason": "both"},
    "unlink_memories": {"source": IDS[2], "target": IDS[3]},
    "not_useful": {"id": IDS[0], "query": "apollo"},
    "dream": {"material": True},
    "dream_diary": {},
    "get_memory_stats": {},
    "list_memory_scopes": {},
    "create_memory_scope": {"name": "new"},
    "memory_history": {"id_or_key": IDS[0]},
    "memory_log": {"id": IDS[0]},
    "undo": {},
    "backup_memory": {},
    "list_backups": {},
    "delete_backup": {"name": "none"},
    "restore_memory": {"name": "none"},
    "optimize_memory": {"job": "index"},
    "summaries_wanted": {},
    "store_summary": {"text": "Notes on apollo.", "sources": IDS[:3]},
    "mask_secrets": {"id": IDS[0]},
    "inbox": {},
    "health_check": {},
    "get_metrics": {},
    "verify_memory": {},
}
"""Arguments of a call of each tool that is carried out, or refused for a reason below."""

REFUSED = {"delete_backup", "reminder_done", "restore_memory"}
"""Tools whose call in ROWS names nothing that exists, or a note for a reminder."""


def grow_text(size: int, mark: str) -> str:
    """Return a text of `size` lines with everything that a text is read for."""
    return "".join(
        f"Word{mark}{n} of apollo in May {1900 + n % 100} mended src/app_{mark}_{n}.py:{n}"
        f" after ValueError: {mark}{n}!\n"
        for n in range(size)
    )


def grow_labels(size: int, mark: str) -> list[str]:
    return [f"label {mark} {number}" for number in range(size)]


def grow_ids(size: int, _mark: str) -> list[str]:
    return IDS[:size]


def grow_object(size: int, mark: str) -> dict[str, Any]:
    return {f"field {mark} {number}": f"value {number}" for number in range(size)}


def grow_profile(size: int, mark: str) -> dict[str, Any]:
    return {"facts": grow_object(size, mark)}


def grow_messages(size: int, mark: str) -> list[dict[str, str]]:
    roles = ("user", "assistant")
    return [
        {"role": roles[n % 2], "content": f"Said {mark}{n} of apollo in May."} for n in range(size)
    ]


def grow_message(size: int, mark: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": grow_text(size, mark)}]


def grow_attachments(size: int, mark: str) -> list[dict[str, str]]:
    return [{"uri": f"file:///{mark}/{n}.txt", "description": f"File {n}"} for n in range(size)]


def grow_links(size: int, _mark: str) -> list[dict[str, Any]]:
    return [{"source": IDS[0], "target": memory_id, "weight": 0.5} for memory_id in IDS[1:size]]


def grow_topics(size: int, mark: str) -> list[dict[str, Any]]:
    return [
        {"sources": IDS[n : n + 3], "text": f"Topic {mark} {n}.", "title": f"Topic {n}"}
        for n in range(size)
    ]


def grow_rule(size: int, mark: str) -> dict[str, Any]:
    return {"any_of": [f"word{mark}{number}" for number in range(size)]}


def grow_numbers(size: int, _mark: str) -> list[float]:
    return [1.0 + number for number in range(size)]


Grow = Callable[[int, str], Any]
BY_TYPE: Mapping[str, Grow] = {"string": grow_text, "array": grow_labels, "object": grow_object}
BY_NAME: Mapping[str, Sequence[Grow]] = {
    **dict.fromkeys(("ids", "supersedes", "sources", "related"), (grow_ids,)),
    **dict.fromkeys(("messages", "recentMessages"), (grow_messages, grow_message)),
    "attachments": (grow_attachments,),
    "changes": (grow_profile,),
    "links": (grow_links,),
    "topics": (grow_topics,),
    "trigger": (grow_text, grow_rule),
    "embedding": (grow_numbers,),
}
"""Arguments of which the schema does not say enough."""


def find_growing(tool: str) -> list[tuple[str, Grow]]:
    """Return every argument of a tool that takes a text, a list or an object, and what makes it."""
    growing: list[tuple[str, Grow]] = []
    for name, schema in input_schema(SPECS[tool].arguments)["properties"].items():
        types = [option for option in schema.get("anyOf", [schema]) if "enum" not in option]
        grows = [BY_TYPE[option["type"]] for option in types if option.get("type") in BY_TYPE]
        growing += [(name, grow) for grow in (BY_NAME.get(name, grows) if grows else ())]
    return growing


def fill_store(run: Run) -> None:
    """Store something for each tool of ROWS, and more notes than a page."""
    for scope in ("apollo", "garden"):
        run("create_memory_scope", {"name": scope})
    for number, memory_id in enumerate(IDS):
        text = f"Note {number} on apollo and the deadline of part {number}."
        tag = ("garden", "house")[number % 2]
        run("store_memory", {"text": text, "id": memory_id, "tags": [tag]})
    for tool in ("log_conversation", "add_short_term_memory", "store_lesson_learned"):
        run(tool, ROWS[tool])
    run("add_long_term_memory", {**ROWS["add_long_term_memory"], "name": "reminder"})
    run("link_memories", {"source": IDS[2], "target": IDS[3]})
