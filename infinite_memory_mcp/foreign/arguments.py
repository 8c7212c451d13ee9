"""Names that different memory servers use for the arguments of our tools.

`understand_arguments` renames such arguments, converts their values, and returns notes for the
answer about every conversion. It changes only names that a tool does not have, so an argument of
ours keeps its meaning. No alias leads to an argument that erases.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.plain import is_placeholder
from infinite_memory.core.values.memory import Kind
from infinite_memory.core.values.profile import SECTIONS

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
_MAX_SHOWN_CHARS = 200
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# The arguments that say where a memory is, and when it happened. Other servers' names of the others
# are words that a context is full of, such as "source", "category" and "name".
_PLACES = ("scope", "conversation_id", "happened_at")
# The field `project` of a context is ours.
_FIELDS = frozenset({"project"})
_WRAPPERS = frozenset({"context", *NAMES["context"], "updates", "filters", "filter", "options"})
_MESSAGE_FIELDS = ("role", "name", "content", "text")
_SEARCH_MODES = frozenset({"semantic", "exact", "hybrid", "keyword", "vector", "local", "global"})
_MATCHES = ("tag_match", "tags_match", "match_all", "match_mode", "operation")
_ANY_OF = frozenset({"any", "or", "false"})
_SEVERAL = frozenset({"ids", "memory_ids", "uuids"})
_MAX_CALLS = 20
_MAX_LIMIT = 100
_PAGE_SIZE = 10


_KINDS: Mapping[Kind, str] = {
    Kind.FACT: "preference user_preference preferences profile identity personal goal relationship",
    Kind.LESSON: "learning insight gotcha best_practice pattern learned",
    Kind.PROBLEM: "bug error issue",
    Kind.SOLUTION: "fix resolution workaround",
    Kind.CODE_CHANGE: "code code_edit commit refactor",
    Kind.DISCUSSION: "meeting conversation chat dialogue",
    Kind.DECISION: "adr architecture choice",
    Kind.REMINDER: "todo task action_item deadline",
    Kind.NOTE: "event observation reference document general episodic semantic procedural text",
}
"""Kinds that various servers use, by the nearest kind of ours."""

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
        return words
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


def understand_arguments(
    values: Mapping[str, Any],
    known: Collection[str],
    page_size: Callable[[], int] | None = None,
    *,
    is_left_out: Callable[[str, Any], bool] = lambda _, value: value is None,
) -> tuple[dict[str, Any], list[str]]:
    """Return the values under the names in `known`, with a note for every name or value converted.

    Names that nobody knows stay as they are, for the refusal to name them. `page_size` is called
    for the size of a page that was asked for without a limit; without it, the limit becomes 10.
    `is_left_out` says of the name of an argument and a value whether the value stands for none.

    Raises:
        InvalidInput: two names of the same argument have different values, any of several tags is
            asked for, or an object holds something that is not understood; see `objects`.
    """
    reader = _Reader(known, page_size)
    for name, value in values.items():
        if not is_left_out(find_argument(name, known) or name, value):
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
            self._store_value(name, name, value)
            return
        plain = fold_camel_case(name)
        if plain in self._known:
            self._store_value(plain, name, value)
        elif plain in {"updates", "filters"} and isinstance(value, Mapping):
            self._unpack_object(name, value)
        elif plain == "messages" and "text" in self._known and isinstance(value, list):
            check_messages(name, value)
            self._store_value("text", name, join_messages(value))
        elif "changes" in self._known and plain in SECTIONS:
            self._store_value("changes", name, {plain: value})
        elif plain in _SEVERAL and "id" in self._known:
            self._store_value("id", name, _read_single(value))
        elif plain == "page":
            self._page = value if isinstance(value, int) and value > 1 else None
        elif plain in _MATCHES and "tags" in self._known:
            self._any_tag = str(value).casefold() in _ANY_OF
        else:
            self._rename_argument(name, plain, value)

    def finish(self) -> None:
        """Convert values that depend on several arguments."""
        if self._bounds:
            start, end = self._bounds.get("since"), self._bounds.get("until")
            words = f"{start} to {end}" if start and end else None
            self._set_value("when", words or (f"since {start}" if start else f"before {end}"))
            self.notes.append(f"when: {self.values['when']}")
        if self._page is not None and "offset" in self._known:
            self._set_value("offset", (self._page - 1) * self._choose_limit())
        tags = self.values.get("tags")
        if self._any_tag and isinstance(tags, list) and len(tags) > 1:
            calls = " and ".join(f'{{"tags": ["{tag}"]}}' for tag in tags)
            raise InvalidInput(
                f"tags are all required, and any of {', '.join(map(repr, tags))} was asked for:"
                f" call this tool once for each, with {calls}"
            )

    def _choose_limit(self) -> int:
        try:
            return int(self.values["limit"])
        except (KeyError, TypeError, ValueError, OverflowError):
            # A value that is no number is refused together with the other arguments.
            if self._page_size is not None:
                return self._page_size()
        self._set_value("limit", _PAGE_SIZE)
        return _PAGE_SIZE

    def _rename_argument(self, name: str, plain: str, value: Any) -> None:
        if (ours := find_argument(plain, self._known)) is not None:
            self._store_value(ours, name, value)
            return
        bound = next((b for b in ("since", "until") if plain in (b, *NAMES[b])), None)
        if bound is not None and "when" in self._known:
            self._bounds[bound] = value
            return
        if plain in UNUSED:
            self._leave_out(name, value)
        else:
            self.values[name] = value

    def _store_value(self, ours: str, name: str, value: Any) -> None:
        is_alias = name != ours
        read = self._read_value(ours, name, value)
        if read is None:
            if value is None:
                self.values.setdefault(ours, None)
            return
        if is_alias:
            shown = f"{name} as {ours}"
            self.notes.append(shown if read == value else f"{shown}: {_shorten_value(read)}")
        elif read != value and ours not in ("tags", "kinds", "context"):
            self.notes.append(f"{ours} {_shorten_value(value)} as {_shorten_value(read)}")
        self._set_value(ours, read)

    def _set_value(self, ours: str, value: Any) -> None:
        present = self.values.get(ours)
        if present is None or present == value:
            self.values[ours] = value
        elif isinstance(present, list) and isinstance(value, list):
            self.values[ours] = [*present, *(item for item in value if item not in present)]
        elif isinstance(present, dict) and isinstance(value, dict):
            self.values[ours] = {**value, **present}
        else:
            raise InvalidInput(
                f"{ours} is given twice, as {_shorten_value(present)} and {_shorten_value(value)}:"
                " give it once"
            )

    def _read_value(self, ours: str, name: str, value: Any) -> Any:
        """Return a value as this server reads it, None to leave it out."""
        is_alias = name != ours
        match ours, value:
            case "important", _ if not isinstance(value, bool):
                return self._read_importance(value)
            case "kind" | "type", str():
                return self._read_kind(value, is_alias=is_alias)
            case "context", _ if "text" in self._known:
                return self._read_context(name, value)
            case "mode" | "depth", _ if self._is_foreign_mode(ours, value):
                self._leave_out(ours, value)
                return None
            case "kinds", _:
                return self._read_kinds(value, is_alias=is_alias)
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

    def _read_importance(self, value: Any) -> Any:
        read = read_importance(value)
        if read is not None and read != value and "context" in self._known:
            # What the caller said is kept: the scale is not ours.
            self._set_value("context", {"importance": value})
        return value if read is None else read

    def _read_kind(self, value: str, *, is_alias: bool) -> str | None:
        read = match_kind(value)
        if read is not None:
            if read != value and "tags" in self._known:
                self._set_value("tags", [value])
            return read
        if not is_alias:
            return value
        if "tags" in self._known:
            self._set_value("tags", [value])
            self.notes.append(f"{_shorten_value(value)}, which is no kind here, as a tag")
        return None

    def _read_kinds(self, value: Any, *, is_alias: bool) -> Any:
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
            self.notes.append(f"kinds {_shorten_value(value)} as {_shorten_value(kinds)}")
        return kinds or None

    def _read_context(self, given: str, value: Any) -> Any:
        """Return `context` without tags and type, which some servers put into it."""
        if isinstance(value, str):
            if value.lstrip()[:1] != "{":
                return {"topic": value}
            with suppress(ValueError, RecursionError):
                value = json.loads(value)
        if not isinstance(value, dict):
            return value
        rest = drop_placeholders(value, self._known)
        for name in ("tags", "type", "memory_type", "importance", "priority"):
            ours = {"tags": "tags", "importance": "important", "priority": "important"}.get(
                name, "kind"
            )
            if name in rest and ours in self._known and name not in self._known:
                self.read(name, rest.pop(name))
            elif name in rest and ours == name and ours in self._known:
                self._set_value(ours, split_labels(rest.pop(name)))
        check_context(given, rest, self._known)
        return rest

    def _unpack_object(self, given: str, value: Mapping[str, Any]) -> None:
        """Read the arguments in an object, as `updates` and `filters` hold them.

        Raises:
            InvalidInput: it holds something else, without which the call would mean another thing.
        """
        for name, inner in value.items():
            ours = find_argument(name, self._known)
            if is_placeholder(inner):
                continue
            if name in ("AND", "and") and isinstance(inner, list):
                for part in inner:
                    if not isinstance(part, Mapping):
                        raise refuse_part(given, f"{name} {part!r:.60}", self._known)
                    self._unpack_object(given, part)
            elif isinstance(inner, Mapping) and ours not in ("context", "changes"):
                raise refuse_part(given, f"{name} {inner!r:.60}", self._known)
            elif ours is not None or name in UNUSED:
                self.read(name, inner)
            else:
                raise refuse_part(given, name, self._known)

    def _leave_out(self, name: str, value: Any) -> None:
        if "text" in self._known and "context" in self._known and name not in ("mode", "depth"):
            self._set_value("context", {name: value})
            self.notes.append(f"{name} into context")
        else:
            self.notes.append(f"without {name} {_shorten_value(value)}, which has no meaning here")


def _read_plain(ours: str, value: Any, *, is_alias: bool) -> Any:
    if ours == "tags":
        return split_labels(value)
    if ours == "when" and isinstance(value, str):
        return read_period(value)
    if is_alias and isinstance(value, list) and ours in ("text", "query"):
        return "\n".join(map(str, value))
    if isinstance(value, list) and ours in ("id", "id_or_key") and len(value) == 1:
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


def _shorten_value(value: Any) -> str:
    shown = f"{value!r}"
    return shown if len(shown) <= 60 else f"{shown[:59]}…"


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


def check_context(given: str, context: Mapping[str, Any], known: Collection[str]) -> None:
    """Refuse a context that holds an argument, which would be kept and not obeyed.

    `given` is the name of the argument that held the context, `known` are the arguments of the
    tool. A context in the context, and an object in a list, are looked into as well.

    Raises:
        InvalidInput: it holds one; the message names it, and the call that obeys it.
    """
    for name, value in context.items():
        ours = _find_own_or_place(name, known)
        if fold_camel_case(name) in _WRAPPERS and isinstance(value, Mapping):
            check_context(f"{given}.{name}", value, known)
        elif ours is not None:
            if not is_placeholder(value):
                raise _refuse_argument(given, name, ours, value)
        elif isinstance(value, list):
            for each in value:
                if isinstance(each, Mapping):
                    check_context(f"{given}.{name}", each, known)


def drop_placeholders(context: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """Return a context without the arguments in it for which no value was given."""
    return {
        name: value
        for name, value in context.items()
        if not (is_placeholder(value) and find_argument(name, known))
    }


def _find_own_or_place(name: str, known: Collection[str]) -> str | None:
    """Return the argument that a name in a context means beyond doubt, or None."""
    ours = find_argument(name, known)
    is_certain = ours in _PLACES or fold_camel_case(name) == ours
    return ours if is_certain and name not in _FIELDS else None


def check_messages(given: str, messages: Sequence[Any]) -> None:
    """Refuse messages that hold more than who said what.

    Raises:
        InvalidInput: one holds something else; the message names it.
    """
    for message in messages:
        for name in message if isinstance(message, Mapping) else ():
            if name not in _MESSAGE_FIELDS and not is_placeholder(message[name]):
                raise refuse_part(f"a message of {given}", name, _MESSAGE_FIELDS)


def refuse_part(given: str, part: str, known: Collection[str]) -> InvalidInput:
    """Return the refusal of an object for the sake of a part of it."""
    return InvalidInput(
        f"{given} holds {part!r:.100}, which is not understood here: give only"
        f" {', '.join(known)}; nothing was done"
    )


def _refuse_argument(given: str, name: str, ours: str, value: Any) -> InvalidInput:
    shown = json.dumps({ours: value}, ensure_ascii=False, default=str)
    call = shown if len(shown) <= _MAX_SHOWN_CHARS else f"the argument {ours!r}"
    return InvalidInput(
        f"{given} holds {name!r:.100}, which is no part of it here, but an argument of this tool:"
        f" call it with {call} beside {given.partition('.')[0]}; nothing was done"
    )
