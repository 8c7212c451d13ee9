"""The tools about the user themselves."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pydantic import Field

from infinite_memory.model.codec import iso
from infinite_memory_mcp.arguments import Arguments, Object
from infinite_memory_mcp.data import object_schema
from infinite_memory_mcp.quotation import escape_label, quote_lines
from infinite_memory_mcp.render import NOTICE
from infinite_memory_mcp.tool import Answer, ToolSpec

if TYPE_CHECKING:
    from infinite_memory.model.profile import Profile
    from infinite_memory.store import MemoryStore

__all__ = ["PROFILE"]


class GetUserProfile(Arguments):
    """What `get_user_profile` takes."""

    user: str = "user"


class UpdateUserProfile(Arguments):
    """What `update_user_profile` takes."""

    changes: Object = Field(
        description="Merged in: name, preferences {}, facts [], contacts {}, notes []; null removes"
    )
    user: str = "user"


def get_user_profile(store: MemoryStore, asked: GetUserProfile) -> Answer:
    """Tell who the user is: name, preferences, facts, contacts, notes. Use it at the start."""
    return _answer(store.profile.get(asked.user))


def update_user_profile(store: MemoryStore, asked: UpdateUserProfile) -> Answer:
    """Note what lasts about the user; old values stay in the history."""
    return _answer(store.profile.update(asked.changes, user=asked.user, origin="assistant"))


def _answer(profile: Profile) -> Answer:
    who = escape_label(profile.user)
    data = {
        "user": profile.user,
        "profile": dict(profile.fields),
        "updated_at": iso(profile.updated_at),
    }
    if not profile.fields:
        return Answer(text=f"Nothing is known of {who} yet.", data=data)
    document = json.dumps(profile.fields, ensure_ascii=False, indent=1)
    head = f"The profile of {who}, updated {iso(profile.updated_at)}. {NOTICE}"
    return Answer(text=f"{head}\n\n{quote_lines(document)}", data=data)


_ANSWERS = object_schema("user", "profile")

PROFILE = (
    ToolSpec(
        run=get_user_profile,
        arguments=GetUserProfile,
        title="Show the profile",
        answers=_ANSWERS,
        reads=True,
    ),
    ToolSpec(
        run=update_user_profile,
        arguments=UpdateUserProfile,
        title="Change the profile",
        answers=_ANSWERS,
        repeatable=True,
    ),
)
"""The tools of the profile."""
