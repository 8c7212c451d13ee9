"""The reference of the configuration, from its fields and the docstrings of its sections."""

from __future__ import annotations

import json
from collections.abc import Iterator

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from docs.site.text import format_code, format_prose, format_table, join_parts
from infinite_memory.core.config import Config, RepositoryRules, ScopeRules, environment_name
from infinite_memory.core.config.sections import Section


def describe_settings() -> Iterator[tuple[str, str]]:
    """Yield a heading for each section of the configuration, and its text."""
    defaults = Config()
    sections = {
        name: value
        for name in Config.model_fields
        if isinstance(value := getattr(defaults, name), Section)
    }
    single = [name for name in Config.model_fields if name not in sections]
    yield "Settings of the whole", _describe(Config, defaults, single, "")
    for name, section in sections.items():
        kind = type(section)
        yield f"`{name}`", _describe(kind, section, list(kind.model_fields), f"{name}.")
    for kind in (ScopeRules, RepositoryRules):
        yield f"`{kind.__name__}`", format_prose(kind.__doc__ or "")


def _describe(kind: type[BaseModel], values: BaseModel, names: list[str], prefix: str) -> str:
    rows = [
        (
            format_code(prefix + name),
            format_code(environment_name(prefix + name)),
            _format_default(kind, name, getattr(values, name)),
        )
        for name in names
    ]
    return join_parts(
        format_prose(kind.__doc__ or ""), format_table(("key", "variable", "default"), rows)
    )


def _format_default(kind: type[BaseModel], name: str, value: object) -> str:
    default = kind.model_fields[name].default
    if default is None:
        return "none"
    # The home folder as it is written: resolved, it is that of whoever builds the page.
    if name == "home":
        return format_code(default)
    return format_code(json.dumps(to_jsonable_python(value)))
