"""The base of every group of settings."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

from infinite_memory.core.values.checks import check_label
from infinite_memory.core.values.scope import find_name_problem

_MAX_SCOPE_CHARS = 128


def _check_scope(name: str) -> str:
    checked = check_label(name, "scope", max_chars=_MAX_SCOPE_CHARS)
    if problem := find_name_problem(checked):
        raise ValueError(f"it cannot name a scope: {problem}; give the name of one scope")
    return checked


ScopeName = Annotated[str, AfterValidator(_check_scope)]
"""The type of a setting that names a scope, which need not exist."""


class Section(BaseModel):
    """A group of settings."""

    # A refused value may be an address with a password.
    model_config = ConfigDict(
        frozen=True, extra="forbid", str_max_length=4096, hide_input_in_errors=True
    )
