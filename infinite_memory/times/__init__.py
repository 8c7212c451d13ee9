"""Words of time, in English, Chinese and four other languages, read as half-open ranges.

The reader is imported when it is first asked for, since few calls hold words of time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from infinite_memory.times.calendar import WeekStart
    from infinite_memory.times.coming import NamedDay, find_days
    from infinite_memory.times.parser import read_as_of, read_range
    from infinite_memory.times.sentences import find_range

__all__ = ["NamedDay", "WeekStart", "find_days", "find_range", "read_as_of", "read_range"]

_HOME_OF = {
    "NamedDay": "coming",
    "WeekStart": "calendar",
    "find_days": "coming",
    "find_range": "sentences",
    "read_as_of": "parser",
    "read_range": "parser",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value
