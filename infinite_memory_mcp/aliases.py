"""Names that different memory servers use for the arguments of our tools.

`understand_arguments` renames such arguments, converts their values, and returns notes for the
answer about every conversion. It changes only names that a tool does not have, so an argument of
ours keeps its meaning. No alias leads to an argument that erases.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from infinite_memory.errors import InvalidInput
from infinite_memory.model.profile import SECTIONS
from infinite_memory_mcp.alias_values import (
    join_messages,
    match_kind,
    read_epoch,
    read_importance,
    read_period,
    split_labels,
)

__all__ = ["understand_arguments"]

_NAMES: Mapping[str, tuple[str, ...]] = {
    "text": (
        *("content", "contents", "memory", "fact", "facts", "note", "data", "observation"),
        *("value", "body", "statement", "information", "episode_body", "thing_to_remember"),
        "summary",
    ),
    "query": (
        *("q", "question", "search", "search_query", "search_term", "keywords", "topic"),
        *("text", "content", "information_to_get", "prompt", "problem", "error_message"),
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
        *("lookback", "time", "time_expression"),
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
    "changes": ("updates", "profile", "data"),
    "user": ("user_id", "user_name", "username"),
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
}
"""The aliases of every argument, in the order in which they are tried."""

_UNUSED = frozenset(
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

_SEARCH_MODES = frozenset({"semantic", "exact", "hybrid", "keyword", "vector", "local", "global"})
_MATCHES = ("tag_match", "tags_match", "match_all", "match_mode", "operation")
_ANY_OF = frozenset({"any", "or", "false"})
_SEVERAL = frozenset({"ids", "memory_ids", "uuids"})
_MAX_CALLS = 20
_MAX_LIMIT = 100
_PAGE_SIZE = 10
_MAX_NAME_CHARS = 64
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def understand_arguments(
    values: Mapping[str, Any], known: Collection[str], page_size: Callable[[], int] | None = None
) -> tuple[dict[str, Any], list[str]]:
    """Return the values under the names in `known`, with a note for every name or value converted.

    Names that nobody knows stay as they are, for the refusal to name them. `page_size` is called
    for the size of a page that was asked for without a limit; without it, the limit becomes 10.

    Raises:
        InvalidInput: two names of the same argument have different values, or any of several tags
            is asked for.
    """
    reader = _Reader(known, page_size)
    for name, value in values.items():
        if value is not None or name in known:
            reader.read(name, value)
    reader.finish()
    return reader.values, reader.notes


class _Reader:
    def __init__(self, known: Collection[str], page_size: Callable[[], int] | None) -> None:
        self._known = known
        self._page_size = page_size
        self.values: dict[str, Any] = {}
        self.notes: list[str] = []
        self._page: int | None = None
        self._bounds: dict[str, Any] = {}
        self._any_tag = False

    def read(self, name: str, value: Any) -> None:
        if name in self._known:
            self._store(name, name, value)
            return
        plain = _fold_camel_case(name)
        if plain in self._known:
            self._store(plain, name, value)
        elif plain in {"updates", "filters"} and isinstance(value, Mapping):
            self._unpack(value)
        elif plain == "messages" and "text" in self._known and isinstance(value, list):
            self._store("text", name, join_messages(value))
        elif "changes" in self._known and plain in SECTIONS:
            self._store("changes", name, {plain: value})
        elif plain in _SEVERAL and "id" in self._known:
            self._store("id", name, _read_single(value))
        elif plain == "page":
            self._page = value if isinstance(value, int) and value > 1 else None
        elif plain in _MATCHES and "tags" in self._known:
            self._any_tag = str(value).casefold() in _ANY_OF
        else:
            self._rename(name, plain, value)

    def finish(self) -> None:
        """Convert values that depend on several arguments."""
        if self._bounds:
            start, end = self._bounds.get("since"), self._bounds.get("until")
            words = f"{start} to {end}" if start and end else None
            self._set("when", words or (f"since {start}" if start else f"before {end}"))
            self.notes.append(f"when: {self.values['when']}")
        if self._page is not None and "offset" in self._known:
            self._set("offset", (self._page - 1) * self._limit())
        tags = self.values.get("tags")
        if self._any_tag and isinstance(tags, list) and len(tags) > 1:
            calls = " and ".join(f'{{"tags": ["{tag}"]}}' for tag in tags)
            raise InvalidInput(
                f"tags are all required, and any of {', '.join(map(repr, tags))} was asked for:"
                f" call this tool once for each, with {calls}"
            )

    def _limit(self) -> int:
        try:
            return int(self.values["limit"])
        except (KeyError, TypeError, ValueError, OverflowError):
            # A value that is no number is refused together with the other arguments.
            if self._page_size is not None:
                return self._page_size()
        self._set("limit", _PAGE_SIZE)
        return _PAGE_SIZE

    def _rename(self, name: str, plain: str, value: Any) -> None:
        for ours, names in _NAMES.items():
            if plain in names and ours in self._known:
                self._store(ours, name, value)
                return
        bound = next((b for b in ("since", "until") if plain in (b, *_NAMES[b])), None)
        if bound is not None and "when" in self._known:
            self._bounds[bound] = value
            return
        if plain in _UNUSED:
            self._leave_out(name, value)
        else:
            self.values[name] = value

    def _store(self, ours: str, name: str, value: Any) -> None:
        is_alias = name != ours
        read = self._read_value(ours, value, is_alias=is_alias)
        if read is None:
            if value is None:
                self.values.setdefault(ours, None)
            return
        if is_alias:
            shown = f"{name} as {ours}"
            self.notes.append(shown if read == value else f"{shown}: {_shorten(read)}")
        elif read != value and ours not in ("tags", "kinds", "context"):
            self.notes.append(f"{ours} {_shorten(value)} as {_shorten(read)}")
        self._set(ours, read)

    def _set(self, ours: str, value: Any) -> None:
        present = self.values.get(ours)
        if present is None or present == value:
            self.values[ours] = value
        elif isinstance(present, list) and isinstance(value, list):
            self.values[ours] = [*present, *(item for item in value if item not in present)]
        elif isinstance(present, dict) and isinstance(value, dict):
            self.values[ours] = {**value, **present}
        else:
            raise InvalidInput(
                f"{ours} is given twice, as {_shorten(present)} and {_shorten(value)}: give it once"
            )

    def _read_value(self, ours: str, value: Any, *, is_alias: bool) -> Any:
        """Return a value as this server reads it, None to leave it out."""
        match ours, value:
            case "important", _ if not isinstance(value, bool):
                return self._important(value)
            case "kind" | "type", str():
                return self._kind(value, is_alias=is_alias)
            case "context", _ if "text" in self._known:
                return self._context(value)
            case "mode" | "depth", _ if self._is_foreign_mode(ours, value):
                self._leave_out(ours, value)
                return None
            case "kinds", _:
                return self._kinds(value, is_alias=is_alias)
            case "happened_at", int() | float() if not isinstance(value, bool):
                return read_epoch(value)
            case "limit", int() if value > _MAX_LIMIT:
                return _MAX_LIMIT
            case _:
                return _read_plain(ours, value, is_alias=is_alias)

    def _is_foreign_mode(self, ours: str, value: Any) -> bool:
        if ours == "depth":
            return value in (1, 2)
        return isinstance(value, str) and value in _SEARCH_MODES

    def _important(self, value: Any) -> Any:
        read = read_importance(value)
        if read is not None and read != value and "context" in self._known:
            # What the caller said is kept: the scale is not ours.
            self._set("context", {"importance": value})
        return value if read is None else read

    def _kind(self, value: str, *, is_alias: bool) -> str | None:
        read = match_kind(value)
        if read is not None:
            if read != value and "tags" in self._known:
                self._set("tags", [value])
            return read
        if not is_alias:
            return value
        if "tags" in self._known:
            self._set("tags", [value])
            self.notes.append(f"{_shorten(value)}, which is no kind here, as a tag")
        return None

    def _kinds(self, value: Any, *, is_alias: bool) -> Any:
        listed = split_labels(value)
        if not isinstance(listed, list):
            return None if is_alias else value
        kinds = [kind for kind in map(match_kind, map(str, listed)) if kind is not None]
        if len(kinds) < len(listed):
            if not is_alias:
                return listed
            self._leave_out("kinds", [item for item in listed if match_kind(str(item)) is None])
        kinds = list(dict.fromkeys(kinds))
        if not is_alias and kinds != listed:
            self.notes.append(f"kinds {_shorten(value)} as {_shorten(kinds)}")
        return kinds or None

    def _context(self, value: Any) -> Any:
        """Return `context` without tags and type, which some servers put into it."""
        if isinstance(value, str) and value.lstrip()[:1] != "{":
            return {"topic": value}
        if not isinstance(value, dict):
            return value
        rest = dict(value)
        for name in ("tags", "type", "memory_type", "importance", "priority"):
            ours = {"tags": "tags", "importance": "important", "priority": "important"}.get(
                name, "kind"
            )
            if name in rest and ours in self._known and name not in self._known:
                self.read(name, rest.pop(name))
            elif name in rest and ours == name and ours in self._known:
                self._set(ours, split_labels(rest.pop(name)))
        return rest

    def _unpack(self, value: Mapping[str, Any]) -> None:
        """Read the arguments in an object, as `updates` and `filters` hold them."""
        for name, inner in value.items():
            if name in ("AND", "and") and isinstance(inner, list):
                for part in inner:
                    if isinstance(part, Mapping):
                        self._unpack(part)
            elif isinstance(inner, Mapping) and name not in ("metadata", "context"):
                self._leave_out(f"filter {name}", inner)
            elif name in self._known or name in _UNUSED or _is_alias(name, self._known):
                self.read(name, inner)
            elif "context" in self._known:
                self._set("context", {name: inner})
            else:
                self._leave_out(name, inner)

    def _leave_out(self, name: str, value: Any) -> None:
        if "text" in self._known and "context" in self._known and name not in ("mode", "depth"):
            self._set("context", {name: value})
            self.notes.append(f"{name} into context")
        else:
            self.notes.append(f"without {name} {_shorten(value)}, which has no meaning here")


def _fold_camel_case(name: str) -> str:
    """Return a name in snake case, as this server spells names."""
    if len(name) > _MAX_NAME_CHARS or not name[:1].islower():
        return name
    return _CAMEL.sub("_", name).casefold()


def _read_plain(ours: str, value: Any, *, is_alias: bool) -> Any:
    if ours == "tags":
        return split_labels(value)
    if ours == "when" and isinstance(value, str):
        return read_period(value)
    if is_alias and isinstance(value, list) and ours in ("text", "query"):
        return "\n".join(map(str, value))
    if is_alias and isinstance(value, list) and ours in ("id", "id_or_key") and len(value) == 1:
        return value[0]
    return value


def _read_single(value: Any) -> Any:
    """Return the only id of a list.

    Raises:
        InvalidInput: there are several; the message holds a call for every tool.
    """
    ids = split_labels(value)
    if not isinstance(ids, list) or len(ids) < 2:
        return ids[0] if isinstance(ids, list) and ids else value
    calls = " and ".join(json.dumps({"id": f"{each}"}) for each in ids[:_MAX_CALLS])
    more = f" and {len(ids) - _MAX_CALLS} more" if len(ids) > _MAX_CALLS else ""
    raise InvalidInput(
        f"this tool takes one id, and {len(ids)} were given: call it once for each, with"
        f" {calls}{more}; nothing was done"
    )


def _is_alias(name: str, known: Collection[str]) -> bool:
    return any(name in names and ours in known for ours, names in _NAMES.items())


def _shorten(value: Any) -> str:
    shown = f"{value!r}"
    return shown if len(shown) <= 60 else f"{shown[:59]}…"
