"""The base of every group of settings."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

__all__ = ["Section"]


class Section(BaseModel):
    """A group of settings."""

    # A refused value may be an address with a password.
    model_config = ConfigDict(
        frozen=True, extra="forbid", str_max_length=4096, hide_input_in_errors=True
    )
