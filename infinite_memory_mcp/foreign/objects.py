"""Objects in the arguments of a call: what they hold is understood as a whole, or refused.

A part that is passed over in silence changes what a call means: a memory goes into another scope
than it was meant for, or a search finds more than it was asked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.plain import is_placeholder
from infinite_memory_mcp.foreign.argument_names import NAMES

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
