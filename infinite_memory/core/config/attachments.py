"""The settings of attachments."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from infinite_memory.core.config.section import Section


class Attachments(Section):
    """The limits of attachments.

    `max_bytes` is the most bytes of a file that are stored with a memory. In base64 they take a
    third more, which must fit into `limits.max_text_bytes`.
    """

    max_bytes: Annotated[int, Field(ge=1, le=48 << 20)] = 700 << 10
