"""Regular expressions of a caller, by RE2, whose time is linear in the length of the text."""

from __future__ import annotations

from collections.abc import Callable

from infinite_memory.core.errors import InvalidInput, requiring

_MOST_CHARS = 1000
_MOST_BYTES = 1 << 20
"""The memory of a compiled expression."""


def compile_regex(value: object, place: str) -> Callable[[str], bool]:
    """Return the search of a text for an expression of RE2; letter case makes no difference.

    `(?-i)` at the beginning of the expression makes letter case count. The syntax is that of
    https://github.com/google/re2/wiki/Syntax.

    Raises:
        InvalidInput: the expression cannot be used.
        ConfigurationError: the package that reads it is not installed.
    """
    if not isinstance(value, str) or not value or len(value) > _MOST_CHARS:
        raise InvalidInput(
            f"{place}: {value!r:.100} cannot be used: give a regular expression of 1 to"
            f" {_MOST_CHARS:,} characters"
        )
    with requiring("triggers", "to use regular expressions", "give words"):
        import re2  # noqa: PLC0415 - its library takes some milliseconds to load

    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    options.max_mem = _MOST_BYTES
    try:
        expression = re2.compile(value, options)
    except (re2.error, UnicodeError) as error:
        raise InvalidInput(
            f"{place}: {value!r:.100} cannot be used ({_read_error(error)}): write it as RE2 takes"
            " it, which has neither back references nor looks ahead or behind"
        ) from error
    return lambda text: expression.search(text) is not None


def _read_error(error: Exception) -> str:
    reason = error.args[0] if error.args else error
    return (reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason))[:200]
