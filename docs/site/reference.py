"""The pages of the reference: what is written by hand, completed with what the code says.

A page has the mark `<!-- generated -->`. What stands before it is kept. Each section after it is
added to the generated section with that heading, and stands at the end if there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from docs.site.commands import describe_commands
from docs.site.python_api import describe_python
from docs.site.settings import describe_settings
from docs.site.text import join_parts, list_modules, split_sections
from docs.site.tools import describe_tools

MARK = "<!-- generated -->"
Sections = Iterator[tuple[str, str]]
GENERATED: Mapping[str, Callable[[str], Sections]] = {
    "docs/reference/command-line.md": lambda _: describe_commands(),
    "docs/reference/mcp-tools.md": lambda _: describe_tools(),
    "docs/reference/configuration.md": lambda _: describe_settings(),
    "docs/reference/python.md": lambda page: describe_python(list_modules(page)),
}


def complete_page(name: str, text: str) -> str:
    """Return a page with what the code says; one that is written by hand as it is.

    Raises:
        ValueError: a page that the code completes has no mark.
    """
    if name not in GENERATED:
        return text
    if MARK not in text:
        raise ValueError(f"{name} has no line {MARK}, after which the code completes it")
    before, _, after = text.partition(MARK)
    _, notes = split_sections(after)
    sections = [
        join_parts(f"## {heading}", body, notes.pop(heading, ""))
        for heading, body in GENERATED[name](text)
    ]
    further = [join_parts(f"## {heading}", body) for heading, body in notes.items()]
    return join_parts(before, *sections, *further) + "\n"
