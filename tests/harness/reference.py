"""The pages of the reference, as the site has them: with what the code says."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from docs.site.reference import complete_page
from docs.site.text import list_modules, split_sections

_ROOT = Path(__file__).parents[2]


@cache
def read_reference(name: str) -> str:
    """Return a page of the reference, such as "command-line", completed by the code."""
    page = f"docs/reference/{name}.md"
    return complete_page(page, (_ROOT / page).read_text("utf-8"))


def read_sections(name: str) -> dict[str, str]:
    """Return the sections of a page of the reference by their headings."""
    return split_sections(read_reference(name))[1]


@cache
def list_names_in_modules() -> frozenset[str]:
    """Return the dotted names that the reference of Python lists by their modules."""
    page = (_ROOT / "docs" / "reference" / "python.md").read_text("utf-8")
    return frozenset(
        f"{module}.{name}" for module, names in list_modules(page).items() for name in names
    )
