"""Read the arguments of other memory servers as those of our tools.

`understand_arguments` renames such arguments, converts their values, opens objects that hold
further arguments, and returns notes for the answer about every conversion. It changes only names
that a tool does not have, so an argument of ours keeps its meaning. Only the value "hard" of
`forget_mode`, which says so itself, leads to an argument that erases.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.plain import is_placeholder
from infinite_memory.core.values.profile import SECTIONS
from infinite_memory_mcp.foreign.names import (
    MEANINGS,
    NAMES,
    SOURCES,
    UNUSED,
    find_argument,
    fold_camel_case,
    join_messages,
    match_kind,
    read_epoch,
    read_importance,
    read_period,
    split_labels,
)

PLACES = ("scope", "conversation_id", "happened_at")
"""The arguments that a context may hold, which say where a memory is, and when it happened.

Other servers' names of the others are words that a context is full of, such as "category".
"""

# The field `project` of a context is ours.
_FIELDS = frozenset({"project"})
OPENED = frozenset({"updates", "filters", "filter", "target"})
"""The names of objects that hold further arguments."""

RANGES = frozenset(
    {"range", "time_range", "date_range", "time_period", "period", "when", "timeframe"}
)
"""The names of objects with the two ends of a time."""

_ENDS = {
    "since": ("from", "since", *NAMES["since"]),
    "until": ("to", "until", *NAMES["until"]),
}
_WRAPPERS = frozenset({"context", *NAMES["context"], *OPENED, "options"})
_MESSAGE_FIELDS = ("role", "name", "content", "text")
_MAX_SHOWN_CHARS = 200
_SEARCH_MODES = frozenset({"semantic", "exact", "hybrid", "keyword", "vector", "local", "global"})
_MATCHES = ("tag_match", "tags_match", "match_all", "match_mode", "operation")
_ANY_OF = frozenset({"any", "or", "false"})
_SEVERAL = frozenset({"ids", "memory_ids", "uuids"})
_MAX_CALLS = 20
_MAX_LIMIT = 100
_PAGE_SIZE = 10


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
        self._has_range = False
        self._any_tag = False

    def read(self, name: str, value: Any) -> None:
        plain = name if name in self._known else fold_camel_case(name)
        inner = decode_json(value) if plain in OPENED or plain in RANGES else None
        if self._read_meaning(name, plain, value):
            return
        if plain in RANGES and isinstance(inner, Mapping):
            self._read_range(name, inner)
        elif plain in self._known:
            self._store_value(plain, name, value)
        elif plain in OPENED and isinstance(inner, Mapping):
            self._unpack_object(name, inner)
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
            self._finish_bounds()
        if self._page is not None and "offset" in self._known:
            self._set_value("offset", (self._page - 1) * self._choose_limit())
        tags = self.values.get("tags")
        if self._any_tag and isinstance(tags, list) and len(tags) > 1:
            calls = " and ".join(f'{{"tags": ["{tag}"]}}' for tag in tags)
            raise InvalidInput(
                f"tags are all required, and any of {', '.join(map(repr, tags))} was asked for:"
                f" call this tool once for each, with {calls}"
            )

    def _finish_bounds(self) -> None:
        """Give the bounds of a time to the arguments that the tool has for them."""
        for ends in (("since", "until"), ("date_from", "date_to")):
            if set(ends) <= set(self._known):
                for ours, bound in zip(ends, ("since", "until"), strict=True):
                    if bound in self._bounds:
                        self._set_value(ours, self._bounds[bound])
                return
        ours = "when" if "when" in self._known else "timeframe"
        # Whoever gives a range has read the words of time already.
        if self._has_range and self.values.get(ours) is not None:
            shown = _shorten_value(self.values.pop(ours))
            self.notes.append(f"without {shown}, as there is a range")
        start, end = self._bounds.get("since"), self._bounds.get("until")
        words = f"{start} to {end}" if start and end else None
        self._set_value(ours, words or (f"since {start}" if start else f"before {end}"))
        self.notes.append(f"{ours}: {self.values[ours]}")

    def _read_meaning(self, name: str, plain: str, value: Any) -> bool:
        """Read a word that stands for other arguments; return whether it does.

        Raises:
            InvalidInput: it is none of the words that the argument may be.
        """
        meanings = MEANINGS.get(plain, {})
        targets = {ours for meant in meanings.values() for ours in meant}
        if not meanings or not targets <= set(self._known) or not isinstance(value, str):
            return False
        meant = meanings.get(value.casefold())
        if meant is None and plain not in self._known:
            raise InvalidInput(
                f"{name} {value!r:.100} cannot be used: give {' or '.join(meanings)}; nothing was"
                " done"
            )
        if meant is None:
            return False
        for ours, read in meant.items():
            self._set_value(ours, read)
        shown = ", ".join(f"{ours} {read}" for ours, read in meant.items())
        self.notes.append(f"{name} {value}{f' as {shown}' if shown else ''}")
        return True

    def _read_range(self, given: str, value: Mapping[str, Any]) -> None:
        """Read an object with the two ends of a time.

        Raises:
            InvalidInput: it holds something else.
        """
        for name, inner in value.items():
            if is_placeholder(inner):
                continue
            bound = find_range_end(name)
            if bound is None or isinstance(inner, Mapping | list):
                raise refuse_part(given, name, ("from", "to"))
            self._bounds[bound] = inner
            self._has_range = True

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
        bound = find_range_end(plain)
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
            case "changes", dict():
                return read_contacts(value)
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
        for name in [name for name in rest if find_own_or_place(name, self._known) in PLACES]:
            self.notes.append(f"{given}.{name} as an argument")
            self.read(name, rest.pop(name))
        if rest.get("source") in SOURCES and "kind" in self._known:
            self._set_value("kind", SOURCES[rest.pop("source")])
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
            if fold_camel_case(name) in RANGES and isinstance(inner, Mapping):
                self._read_range(f"{given}.{name}", inner)
            elif name in ("AND", "and") and isinstance(inner, list):
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
    if ours in ("when", "timeframe") and isinstance(value, str):
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


def decode_json(value: Any) -> Any:
    """Return the list or object in a JSON string; some clients encode arguments twice."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def find_range_end(name: str) -> str | None:
    """Return which end of a time a name means, "since" or "until", None for any other name."""
    plain = fold_camel_case(name)
    return next((end for end, names in _ENDS.items() if plain in names), None)


def read_contacts(changes: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return changes of a profile with the contacts by name, if a list of objects has them."""
    contacts = changes.get("contacts")
    if not isinstance(contacts, list) or not all(
        isinstance(each, dict) and isinstance(each.get("name"), str) for each in contacts
    ):
        return changes
    by_name: dict[str, Any] = {}
    for each in contacts:
        rest = {name: value for name, value in each.items() if name != "name"}
        by_name[each["name"]] = rest["relation"] if set(rest) == {"relation"} else rest
    return {**changes, "contacts": by_name}


def check_context(given: str, context: Mapping[str, Any], known: Collection[str]) -> None:
    """Refuse a context that holds an argument, which would be kept and not obeyed.

    `given` is the name of the argument that held the context, `known` are the arguments of the
    tool. A context in the context, and an object in a list, are looked into as well.

    Raises:
        InvalidInput: it holds one; the message names it, and the call that obeys it.
    """
    for name, value in context.items():
        ours = find_own_or_place(name, known)
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


def find_own_or_place(name: str, known: Collection[str]) -> str | None:
    """Return the argument that a name in a context means beyond doubt, or None."""
    ours = find_argument(name, known)
    is_certain = ours in PLACES or fold_camel_case(name) == ours
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
