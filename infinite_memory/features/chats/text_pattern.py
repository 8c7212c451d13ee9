"""Patterns of texts: a word or a phrase, or a regular expression between slashes."""

from __future__ import annotations

import re
from collections.abc import Callable

from infinite_memory.core.errors import InvalidInput
from infinite_memory.features.reminders.triggers.keywords import Keyword, fold_message
from infinite_memory.features.reminders.triggers.rules.regex import compile_regex

_SLASHED = re.compile(r"/(?P<expression>.+)/(?P<flags>[A-Za-z]*)", re.DOTALL)
# The flags of JavaScript that mean something for the search of a whole text, and those that do not.
_FLAGS = "ims"
_IDLE_FLAGS = "gu"


def read_pattern(pattern: object) -> Callable[[str], bool]:
    """Return whether a text matches a pattern, as a function.

    "/expression/flags" is a regular expression of RE2, with the flags i, m and s of JavaScript. Any
    other pattern is a word or a phrase, see `contains_phrase`.

    Raises:
        InvalidInput: the pattern cannot be used.
    """
    if not isinstance(pattern, str) or not fold_message(pattern):
        raise InvalidInput(
            f"pattern {pattern!r:.100} cannot be used: give a word, or /a regular expression/i"
        )
    slashed = _SLASHED.fullmatch(pattern.strip())
    if slashed is None:
        keyword = Keyword.of(pattern)
        return lambda text: keyword.occurs_in(fold_message(text))
    flags = slashed["flags"]
    unknown = "".join(sorted(set(flags) - set(_FLAGS) - set(_IDLE_FLAGS)))
    if unknown:
        raise InvalidInput(
            f"pattern {pattern!r:.100} has the flags {unknown!r}: of flags there are i (letter case"
            " does not count), m and s"
        )
    switched = "".join(flag for flag in "ms" if flag in flags)
    case = "" if "i" in flags else "-i"
    prefix = f"(?{switched}{case})" if switched or case else ""
    try:
        return compile_regex(prefix + slashed["expression"], "pattern")
    except InvalidInput as error:
        # The prefix is ours, and would puzzle the caller.
        raise InvalidInput(str(error).replace(prefix, "") if prefix else str(error)) from error


def contains_phrase(text: str, phrase: str) -> bool:
    """Return whether `text` contains a word or a phrase, as `Keyword` compares them."""
    return Keyword.of(phrase).occurs_in(fold_message(text))
