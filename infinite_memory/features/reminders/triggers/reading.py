"""Read triggers as callers write them, and as they are kept in the context of a memory."""

from __future__ import annotations

import json
from collections.abc import Mapping

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.checks import check_count, check_field
from infinite_memory.core.values.conversation.trigger import Language, Trigger
from infinite_memory.core.values.memory import JsonValue

_MOST_MINUTES = 60 * 24 * 366 * 100
_MOST_FIRINGS = 1_000_000_000
_LIMITS = ("cooldown_minutes", "most_firings")
_EXAMPLE = (
    'give rules such as {"any_of": ["birthday"]}, or an expression in JavaScript such as'
    " match_keys(context.messages, ['birthday'], 'any')"
)


def read_trigger(value: object) -> Trigger:
    """Return the trigger that a caller gives.

    An object, or JSON text that begins with "{", is rules, with `cooldown_minutes` and
    `most_firings` beside them if wanted. An object with `javascript`, and the same two limits if
    wanted, is an expression in JavaScript, and so is any further text. The condition itself is
    checked by the evaluator of its language.

    Raises:
        InvalidInput: the value is neither, or a limit cannot be used.
    """
    if isinstance(value, Trigger):
        return value
    if isinstance(value, str):
        if not value.strip():
            raise InvalidInput(f"the trigger is empty: {_EXAMPLE}")
        if not value.lstrip().startswith("{"):
            return Trigger(language=Language.JAVASCRIPT, condition=value)
        value = _read_json(value)
    if not isinstance(value, Mapping):
        raise InvalidInput(f"the trigger {value!r:.100} cannot be used: {_EXAMPLE}")
    condition = {name: part for name, part in value.items() if name not in _LIMITS}
    if "javascript" not in condition:
        return _make_trigger(Language.RULES, condition, value)
    for name in condition:
        check_field(name, ("javascript", *_LIMITS), lack="beside javascript, a trigger has no part")
    source = condition["javascript"]
    if not isinstance(source, str) or not source.strip():
        raise InvalidInput(f"javascript is {source!r:.100}: give the text of an expression")
    return _make_trigger(Language.JAVASCRIPT, source, value)


def trigger_to_json(trigger: Trigger) -> dict[str, JsonValue]:
    """Return a trigger as JSON, for `trigger_from_json`."""
    return {
        "language": trigger.language.value,
        "condition": trigger.condition,
        "cooldown_minutes": trigger.cooldown_minutes,
        "most_firings": trigger.most_firings,
    }


def trigger_from_json(value: object) -> Trigger:
    """Return the trigger that `trigger_to_json` gave.

    Raises:
        InvalidInput: the value does not come from there.
    """
    if not isinstance(value, Mapping):
        raise InvalidInput(f"a trigger is an object, not {value!r:.100}")
    for name in value:
        check_field(name, ("language", "condition", *_LIMITS), lack="a kept trigger has no part")
    language, condition = value.get("language"), value.get("condition")
    is_rules = language == Language.RULES and isinstance(condition, Mapping)
    if not is_rules and not (language == Language.JAVASCRIPT and isinstance(condition, str)):
        raise InvalidInput(
            f"the trigger has the language {language!r:.40} and the condition {condition!r:.100}:"
            " rules are an object, and javascript is a text"
        )
    return _make_trigger(Language(str(language)), condition, value)


def _read_json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"the trigger begins with {{ and is not valid JSON ({error}): correct it, or put an"
            " expression in JavaScript that begins so into parentheses"
        ) from error


def _make_trigger(
    language: Language, condition: JsonValue, limits: Mapping[str, object]
) -> Trigger:
    """Return a trigger with the limits that stand in `limits`."""
    minutes, firings = limits.get("cooldown_minutes"), limits.get("most_firings")
    return Trigger(
        language=language,
        condition=condition,
        cooldown_minutes=None if minutes is None else _check_minutes(minutes),
        most_firings=None
        if firings is None
        else check_count(firings, "most_firings", low=1, high=_MOST_FIRINGS),
    )


def _check_minutes(value: object) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(value, int | float) and is_number and 0 <= value <= _MOST_MINUTES:
        return value
    raise InvalidInput(
        f"cooldown_minutes {value!r:.100} cannot be used: give a number of minutes, 0 or more, such"
        " as 60"
    )
