"""Compile rules: an object whose parts must all hold, with parts that combine further objects.

The parts are listed in the guide on triggers. Every part is checked here, so that a condition that
was stored can always be evaluated.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches

from attrs import frozen

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.access.scope_pattern import ScopePattern, check_scope_patterns
from infinite_memory.core.values.checks import check_count
from infinite_memory.features.reminders.triggers.keywords import (
    DEFAULT_DEPTH,
    Keyword,
    fold_message,
)
from infinite_memory.features.reminders.triggers.rules.dates import (
    compile_between,
    compile_on,
    compile_since,
    compile_until,
    compile_weekdays,
)
from infinite_memory.features.reminders.triggers.rules.moment import ANYONE, Moment
from infinite_memory.features.reminders.triggers.rules.recurrence import compile_recurs
from infinite_memory.features.reminders.triggers.rules.regex import compile_regex
from infinite_memory.features.reminders.triggers.rules.values import list_texts

Check = Callable[[Moment], bool]
"""Returns whether a part of a condition holds."""

_MOST_CHARS = 50_000
_MOST_LEVELS = 12
_MOST_DEPTH = 10_000
_ROLES = (ANYONE, "user", "assistant", "system")
_WHOLE = "the rules"
_EXAMPLE = '{"any_of": ["birthday", "生日"]}'


@frozen(kw_only=True)
class CompiledRules:
    """Rules that were checked and compiled."""

    holds: Check


def compile_rules(condition: object) -> CompiledRules:
    """Return compiled rules.

    Raises:
        InvalidInput: a part cannot be used; the message names it and the way out.
    """
    try:
        size = len(json.dumps(condition, ensure_ascii=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"the rules are not JSON: {error!s:.100}") from error
    if size > _MOST_CHARS:
        raise InvalidInput(
            f"the rules have {size:,} characters as JSON and the limit is {_MOST_CHARS:,}: divide"
            " them into several memories"
        )
    return CompiledRules(holds=_compile_object(condition, _WHOLE, 1))


def _compile_object(rules: object, place: str, level: int) -> Check:
    """Return the check of an object, all of whose parts must hold."""
    if not isinstance(rules, Mapping):
        raise InvalidInput(f"{place}: give an object such as {_EXAMPLE}, not {rules!r:.100}")
    if level > _MOST_LEVELS:
        raise InvalidInput(f"{place} is nested deeper than {_MOST_LEVELS} levels: flatten it")
    for name in rules:
        _check_part(name, place)
    checks = [_compile_part(rules, name, place, level) for name in rules if name not in _COMPANIONS]
    _check_companions(rules, place)
    if not checks:
        raise InvalidInput(f"{place}: there is nothing to check: give an object such as {_EXAMPLE}")
    if len(checks) == 1:
        return checks[0]
    return lambda moment: all(check(moment) for check in checks)


def _compile_part(rules: Mapping[str, object], name: str, place: str, level: int) -> Check:
    value, where = rules[name], name if place == _WHOLE else f"{place}.{name}"
    if name in _COMBINATIONS:
        return _combine_checks(name, value, where, level)
    if name in _TEXT_PARTS:
        return _TEXT_PARTS[name](value, where, _read_role(rules, place), _read_depth(rules, place))
    if name in _PARTS:
        return _PARTS[name](value, where)
    return compile_recurs(rules, where)


def _check_part(name: object, place: str) -> None:
    if name == "javascript" or name in ("cooldown_minutes", "most_firings"):
        raise InvalidInput(f"{place}: {name} stands at the top of the trigger only: move it there")
    if name not in _NAMES:
        near = get_close_matches(str(name)[:100], _NAMES, n=1)
        nearest = f"the nearest is {near[0]!r}, all are" if near else "there are"
        raise InvalidInput(
            f"{place}: there is no part {name!r:.100}: {nearest} {', '.join(_NAMES)}; keywords"
            f" stand in any_of, as in {_EXAMPLE}"
        )


def _check_companions(rules: Mapping[str, object], place: str) -> None:
    """Refuse a part that says something about another part which is missing.

    `match_keys` of JavaScript calls the role a scope, and whoever comes from there may do so here.
    """
    for name, needed in _COMPANIONS.items():
        if name in rules and not any(part in rules for part in needed):
            raise InvalidInput(
                f"{place}: {name} has no effect here: put it into the same object as"
                f" {' or '.join(needed)}"
            )
    if rules.get("scope") in _ROLES and any(name in rules for name in _TEXT_PARTS):
        raise InvalidInput(
            f'{place}: scope is the scope of the memories: whose messages count is "from":'
            f' "{rules["scope"]}"; for a scope of that name, give an object of its own within all'
        )


def _combine_checks(name: str, value: object, place: str, level: int) -> Check:
    if isinstance(value, Mapping):
        value = [value]
    if isinstance(value, str | bytes) or not isinstance(value, Sequence) or not value:
        hint = ""
        if isinstance(value, str):
            hint = f"; for keywords use {name}_of"
        raise InvalidInput(
            f"{place}: give a list of conditions such as [{_EXAMPLE}], not {value!r:.100}{hint}"
        )
    for part in value:
        if isinstance(part, str):
            raise InvalidInput(
                f"{place}: {part!r:.100} is no condition: for keywords use {name}_of, such as"
                f' {{"{name}_of": {json.dumps(list_texts(value, place)[:3], ensure_ascii=False)}}}'
            )
    checks = [
        _compile_object(part, f"{place}[{position}]", level + 1)
        for position, part in enumerate(value)
    ]
    if name == "any":
        return lambda moment: any(check(moment) for check in checks)
    if name == "all":
        return lambda moment: all(check(moment) for check in checks)
    return lambda moment: not any(check(moment) for check in checks)


def _read_role(rules: Mapping[str, object], place: str) -> str:
    role = rules.get("from", ANYONE)
    if not isinstance(role, str) or role.lower() not in _ROLES:
        raise InvalidInput(f"{place}: from is {role!r:.100}: give one of {', '.join(_ROLES)}")
    return role.lower()


def _read_depth(rules: Mapping[str, object], place: str) -> int:
    try:
        return check_count(rules.get("depth", DEFAULT_DEPTH), "depth", low=1, high=_MOST_DEPTH)
    except InvalidInput as error:
        raise InvalidInput(f"{place}: {error}, the number of last messages") from error


def _read_keywords(value: object, place: str) -> list[Keyword]:
    return [Keyword.of(text) for text in list_texts(value, place)]


def _compile_any_of(value: object, place: str, role: str, depth: int) -> Check:
    keywords = _read_keywords(value, place)

    def check(moment: Moment) -> bool:
        text = moment.folded(role, depth)
        return any(keyword.occurs_in(text) for keyword in keywords)

    return check


def _compile_all_of(value: object, place: str, role: str, depth: int) -> Check:
    keywords = _read_keywords(value, place)

    def check(moment: Moment) -> bool:
        text = moment.folded(role, depth)
        return all(keyword.occurs_in(text) for keyword in keywords)

    return check


def _compile_none_of(value: object, place: str, role: str, depth: int) -> Check:
    occurs = _compile_any_of(value, place, role, depth)
    return lambda moment: not occurs(moment)


def _compile_pattern(value: object, place: str, role: str, depth: int) -> Check:
    search = compile_regex(value, place)
    return lambda moment: any(search(text) for text in moment.contents(role, depth))


def _compile_participants(value: object, place: str) -> Check:
    names = frozenset(fold_message(text) for text in list_texts(value, place))
    return lambda moment: not names.isdisjoint(moment.participants)


def _compile_scope(value: object, place: str) -> Check:
    try:
        patterns = [ScopePattern(text) for text in check_scope_patterns(value)]
    except InvalidInput as error:
        raise InvalidInput(f"{place}: {error}") from error

    def check(moment: Moment) -> bool:
        scope = moment.folded_scope
        return scope is not None and any(pattern.matches(scope) for pattern in patterns)

    return check


_COMBINATIONS = ("any", "all", "none")
_TEXT_PARTS: Mapping[str, Callable[[object, str, str, int], Check]] = {
    "any_of": _compile_any_of,
    "all_of": _compile_all_of,
    "none_of": _compile_none_of,
    "regex": _compile_pattern,
}
_PARTS: Mapping[str, Callable[[object, str], Check]] = {
    "on": compile_on,
    "since": compile_since,
    "until": compile_until,
    "between": compile_between,
    "weekdays": compile_weekdays,
    "participants": _compile_participants,
    "scope": _compile_scope,
}
_COMPANIONS: Mapping[str, tuple[str, ...]] = {
    "from": tuple(_TEXT_PARTS),
    "depth": tuple(_TEXT_PARTS),
    "start": ("recurs",),
    "lasts_minutes": ("recurs",),
}
_NAMES = (*_COMBINATIONS, *_TEXT_PARTS, *_PARTS, "recurs", *_COMPANIONS)
