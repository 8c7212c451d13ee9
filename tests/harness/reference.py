"""What the reference of Python says about where a name is imported from."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_PAGE = Path(__file__).parents[2] / "docs" / "reference" / "python.md"
_ROW = re.compile(r"^\| `(infinite_memory\.[\w.]+)` \| ((?:`\w+`(?:, )?)+):", re.MULTILINE)


@cache
def list_names_in_modules() -> frozenset[str]:
    """Return the dotted names that the reference lists by their modules."""
    return frozenset(
        f"{module}.{name.strip('`')}"
        for module, names in _ROW.findall(_PAGE.read_text("utf-8"))
        for name in names.split(", ")
    )
