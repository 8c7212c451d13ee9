"""Names and values that different memory servers use for the arguments of our tools."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from infinite_memory.core.values.memory import Kind

NAMES: Mapping[str, tuple[str, ...]] = {
    "text": (
        *("content", "contents", "memory", "fact", "facts", "note", "data", "observation"),
        *("value", "body", "statement", "information", "episode_body", "thing_to_remember"),
        "summary",
    ),
    "query": (
        *("q", "question", "search", "search_query", "search_term", "keywords", "topic"),
        *("text", "content", "information_to_get", "prompt", "problem", "error_message"),
    ),
    "topic": (
        *("query", "q", "subject", "about", "question", "search", "text", "name", "person"),
        *("entity", "keywords"),
    ),
    "id": ("memory_id", "content_hash", "hash", "uuid", "identifier", "data_id", "document_id"),
    "ids": (
        *("id", "memory_id", "memory_ids", "content_hash", "hash", "uuid", "identifier", "uuids"),
        "permalink",
    ),
    "id_or_key": ("id", "memory_id", "key", "content_hash", "uuid", "identifier"),
    "kind": ("type", "memory_type", "note_type", "category", "source_type", "entity_type"),
    "kinds": (
        *("kind", "type", "types", "memory_type", "memory_types", "note_type", "note_types"),
        *("category", "categories"),
    ),
    "important": ("importance", "priority", "salience", "importance_score", "is_important"),
    "tags": ("tag", "labels", "label", "keywords", "topics", "categories"),
    "scope": (
        *("scopes", "project", "project_name", "project_id", "namespace", "group_id", "group_ids"),
        *("bank_id", "dataset_name", "datasets", "container_tag", "collection", "workspace"),
        *("directory", "folder", "app_id"),
    ),
    "create": ("create_scope", "create_project"),
    "context": ("metadata", "meta", "properties", "attributes", "extra"),
    "conversation_id": ("session_id", "run_id", "thread_id", "chat_id", "conversation", "saga"),
    "speaker": ("author", "speaker_name", "role"),
    "title": ("name", "subject", "heading"),
    "happened_at": (
        *("timestamp", "created_at", "date", "time", "reference_time", "event_time"),
        *("occurred_at", "valid_at"),
    ),
    "when": (
        *("time_expr", "timeframe", "time_range", "time_period", "period", "date_range"),
        *("lookback", "time", "time_expression", "time_query"),
    ),
    "since": (
        *("after", "after_date", "start_date", "date_from", "from_date", "start_time", "start"),
        "created_after",
    ),
    "until": (
        *("before", "before_date", "end_date", "date_to", "to_date", "end_time", "end"),
        "created_before",
    ),
    "limit": (
        *("n_results", "max_results", "num_results", "top_k", "k", "n", "count", "page_size"),
        *("per_page", "max_nodes", "max_facts", "max_episodes", "size", "num"),
    ),
    "offset": ("skip",),
    "cursor": ("next", "page_token"),
    "sources": ("source_ids", "ids", "memory_ids"),
    "job": ("job_name", "task"),
    "name": ("scope_name", "backup_name", "backup_file", "backup"),
    "parent": ("parent_scope",),
    "keywords": ("related_keywords",),
    "changes": ("updates", "profile", "data"),
    "user": ("user_id", "user_name", "username", "_id"),
    "repository": (
        *("repo", "repo_name", "repository_name", "project", "project_name", "scope", "folder"),
        *("directory", "cwd", "path"),
    ),
    "content": ("text", "body", "description", "details", "notes", "message"),
    "type": ("kind", "chunk_type", "category", "memory_type"),
    "files": ("file_context", "file_paths", "paths", "files_modified", "files_changed", "file"),
    "file_context": ("files", "file_paths", "paths", "current_files", "file"),
    "session": ("session_id", "conversation_id"),
    "commit": ("commit_hash", "git_commit", "sha"),
    "minutes": ("time_spent", "time_spent_minutes", "duration", "duration_minutes"),
    "tools": ("tools_used", "tool"),
    "error": ("error_message", "exception"),
    "error_message": ("error", "message", "exception", "traceback", "stack_trace", "query"),
    "related": ("related_ids", "related_chunks", "related_memories"),
    "decision": ("title", "text", "content", "summary"),
    "rationale": ("reason", "reasoning", "why", "justification"),
    "timeframe": ("when", "time_range", "time_period", "period", "time_expr"),
    "min_relevance_score": ("min_score", "min_relevance", "threshold", "min_similarity"),
    "current_task": ("task", "task_description", "query", "description", "text"),
    "recent_days": ("days", "days_back"),
    "budget": ("max_tokens", "token_budget"),
    "messages": ("recentMessages", "recent_messages", "conversation", "turns"),
    "recentMessages": ("recent_messages", "messages", "conversation", "turns"),
    "roleWeights": ("role_weights", "weights"),
    "createdContext": ("created_context", "context"),
    "updatedContext": ("updated_context", "context"),
    "trigger": ("condition", "trigger_condition"),
    "prompt": ("content", "text", "memory"),
    "pattern": ("query", "keyword", "text", "regex"),
    "date_from": ("since", "start_date", "after"),
    "date_to": ("until", "end_date", "before"),
    "attachments": ("modalities", "images"),
}
"""The aliases of every argument, in the order in which they are tried."""

UNUSED = frozenset(
    {
        *("user_id", "agent_id", "client_hostname", "source", "source_description", "confidence"),
        *("enable_graph", "infer", "async_mode", "output_format", "include_debug", "version"),
        *("quality_boost", "search_type", "hybrid_search", "semantic_weight", "rerank", "budget"),
        *("similarity_threshold", "min_similarity", "min_score", "min_relevance", "strategy"),
        *("entity_types", "edge_types", "center_node_uuid", "excluded_entity_types", "fallback"),
        *("max_response_chars", "include_superseded", "search_all_projects", "update_mode"),
        *("prefer_observations", "query_timestamp", "update_communities", "custom_prompt"),
        *("search_mode", "overwrite", "entity", "max_related"),
    }
)
"""Options without a counterpart here: kept in `context`, or left out with a note."""

_MAX_NAME_CHARS = 64
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def fold_camel_case(name: str) -> str:
    """Return a name in snake case, as this server spells names."""
    if len(name) > _MAX_NAME_CHARS or not name[:1].islower():
        return name
    return _CAMEL.sub("_", name).casefold()


def find_argument(name: str, known: Collection[str]) -> str | None:
    """Return the argument in `known` that a name means, in any server's spelling, or None."""
    plain = fold_camel_case(name)
    own = next((each for each in (name, plain) if each in known), None)
    aliases = (ours for ours, names in NAMES.items() if plain in names and ours in known)
    return own or next(aliases, None)


_KINDS: Mapping[Kind, str] = {
    Kind.FACT: "preference user_preference preferences profile identity personal goal relationship",
    Kind.LESSON: "learning insight gotcha best_practice pattern learned",
    Kind.PROBLEM: "bug error issue",
    Kind.SOLUTION: "fix resolution workaround",
    Kind.CODE_CHANGE: "code code_edit commit refactor",
    Kind.DISCUSSION: "meeting conversation chat dialogue",
    Kind.DECISION: "adr architecture architecture_decision choice",
    Kind.REMINDER: "todo task action_item deadline",
    Kind.NOTE: "event observation reference document general episodic semantic procedural text",
}
"""Kinds that various servers use, by the nearest kind of ours."""

MEANINGS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "forget_mode": {"soft": {}, "hard": {"permanently": True}},
    "recency": {
        "recent": {"recency": 1.0},
        "all_time": {"recency": 0.0},
        "last_month": {"timeframe": "last 30 days"},
    },
    "timeframe": {"last_month": {"timeframe": "last 30 days"}, "all_time": {}},
}
"""Words of arguments that stand for other arguments and their values."""

SOURCES = {"conversation": "message", "user_profile": "fact", "summary": "summary"}
"""The kinds that the source in the metadata of a memory says."""

_BY_WORD = {word: str(kind) for kind, words in _KINDS.items() for word in words.split()}
_IMPORTANT = frozenset({"high", "very high", "highest", "critical", "urgent", "important", "yes"})
_UNIMPORTANT = frozenset({"low", "very low", "lowest", "medium", "normal", "minor", "none", "no"})
_SCALES = (1, 5, 10, 100)
_IMPORTANT_SHARE = 0.7
_COMMAS = re.compile(r"[,，、;；\n]")
_SHORT_PERIOD = re.compile(r"(\d{1,4})\s*(h|d|w|m|mo|y|hours?|days?|weeks?|months?|years?)", re.I)
_UNITS = {"h": "hours", "d": "days", "w": "weeks", "m": "months", "y": "years"}


def read_importance(value: Any) -> bool | None:
    """Return whether an importance is high, None if the value is not an importance.

    A number is a share of the smallest of the scales to 1, 5, 10 and 100 that holds it, and is high
    from 0.7 of the scale.
    """
    if isinstance(value, str):
        word = " ".join(value.casefold().replace("_", " ").split())
        if word in _IMPORTANT or word in _UNIMPORTANT:
            return word in _IMPORTANT
        try:
            value = float(word)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    scale = next((scale for scale in _SCALES if 0 <= value <= scale), None)
    return None if scale is None else value / scale >= _IMPORTANT_SHARE


def match_kind(value: str) -> str | None:
    """Return the kind that a word means, None for a word that means none."""
    word = "_".join(value.casefold().replace("-", " ").split())
    if word in set(Kind):
        return word
    singular = word.removesuffix("s")
    return _BY_WORD.get(word) or (singular if singular in set(Kind) else _BY_WORD.get(singular))


def split_labels(value: Any) -> Any:
    """Return the labels of a text with commas between them; return a different value unchanged."""
    if not isinstance(value, str) or value.lstrip()[:1] == "[":
        return value
    return [label for part in _COMMAS.split(value) if (label := part.strip().lstrip("#"))]


def read_epoch(value: float) -> Any:
    """Return a number of seconds or milliseconds since 1970 as ISO 8601, a different number as is.

    From 1e11 on a number counts milliseconds: as seconds it would be a date after the year 5000.
    A small number, such as 2024, is rather a year.
    """
    if not value >= 1e8:
        return value
    try:
        return datetime.fromtimestamp(value / 1000 if value >= 1e11 else value, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return value


def read_period(words: str) -> str:
    """Return a short period such as "7d" in words; return a different text unchanged."""
    match = _SHORT_PERIOD.fullmatch(words.strip())
    if match is None:
        # Identifiers such as last_week are words too.
        return words.replace("_", " ") if words.isidentifier() else words
    return f"last {match[1]} {_UNITS[match[2][0].casefold()]}"


def join_messages(messages: Sequence[Any]) -> str:
    """Return a conversation of objects with `role` and `content` as lines of text."""
    lines = []
    for message in messages:
        if not isinstance(message, Mapping):
            lines.append(str(message))
            continue
        content = message.get("content", message.get("text", ""))
        name = message.get("role") or message.get("name")
        lines.append(f"{name}: {content}" if name and len(messages) > 1 else str(content))
    return "\n".join(lines)
