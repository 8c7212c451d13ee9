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
from infinite_memory_mcp.foreign.argument_names import NAMES, UNUSED
from infinite_memory_mcp.foreign.objects import (
    check_context,
    check_messages,
    drop_placeholders,
    find_argument,
    fold_camel_case,
    refuse_part,
)

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
            self._store(name, name, value)
            return
        plain = fold_camel_case(name)
        if plain in self._known:
            self._store(plain, name, value)
        elif plain in {"updates", "filters"} and isinstance(value, Mapping):
            self._unpack(name, value)
        elif plain == "messages" and "text" in self._known and isinstance(value, list):
            check_messages(name, value)
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
        if (ours := find_argument(plain, self._known)) is not None:
            self._store(ours, name, value)
            return
        bound = next((b for b in ("since", "until") if plain in (b, *NAMES[b])), None)
        if bound is not None and "when" in self._known:
            self._bounds[bound] = value
            return
        if plain in UNUSED:
            self._leave_out(name, value)
        else:
            self.values[name] = value

    def _store(self, ours: str, name: str, value: Any) -> None:
        is_alias = name != ours
        read = self._read_value(ours, name, value)
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

    def _read_value(self, ours: str, name: str, value: Any) -> Any:
        """Return a value as this server reads it, None to leave it out."""
        is_alias = name != ours
        match ours, value:
            case "important", _ if not isinstance(value, bool):
                return self._important(value)
            case "kind" | "type", str():
                return self._kind(value, is_alias=is_alias)
            case "context", _ if "text" in self._known:
                return self._context(name, value)
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

    def _context(self, given: str, value: Any) -> Any:
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
                self._set(ours, split_labels(rest.pop(name)))
        check_context(given, rest, self._known)
        return rest

    def _unpack(self, given: str, value: Mapping[str, Any]) -> None:
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
                    self._unpack(given, part)
            elif isinstance(inner, Mapping) and ours not in ("context", "changes"):
                raise refuse_part(given, f"{name} {inner!r:.60}", self._known)
            elif ours is not None or name in UNUSED:
                self.read(name, inner)
            else:
                raise refuse_part(given, name, self._known)

    def _leave_out(self, name: str, value: Any) -> None:
        if "text" in self._known and "context" in self._known and name not in ("mode", "depth"):
            self._set("context", {name: value})
            self.notes.append(f"{name} into context")
        else:
            self.notes.append(f"without {name} {_shorten(value)}, which has no meaning here")


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


def _shorten(value: Any) -> str:
    shown = f"{value!r}"
    return shown if len(shown) <= 60 else f"{shown[:59]}…"
