"""The tools of the user profile."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pydantic import Field

from infinite_memory.core.values.codec import iso
from infinite_memory.search.text.quotation import NOTICE, escape_line, quote_label, quote_lines
from infinite_memory_mcp.arguments import Arguments, Object
from infinite_memory_mcp.data import object_schema
from infinite_memory_mcp.tool import Answer, tool

if TYPE_CHECKING:
    from infinite_memory.core.values.profile import Profile
    from infinite_memory.store.memory_store import MemoryStore

_ANSWERS = object_schema("user", "profile")


class GetUserProfile(Arguments):
    """The arguments of `get_user_profile`."""

    user: str = "user"


class UpdateUserProfile(Arguments):
    """The arguments of `update_user_profile`."""

    changes: Object = Field(
        description="name, preferences {}, facts [], contacts {}, notes []; null removes"
    )
    user: str = "user"


@tool("Show the profile", _ANSWERS, reads=True)
def get_user_profile(store: MemoryStore, arguments: GetUserProfile) -> Answer:
    """Show who the user is: name, preferences, facts, contacts, notes."""
    return _render_profile(store.profile.get(arguments.user))


@tool("Change the profile", _ANSWERS, repeatable=True)
def update_user_profile(store: MemoryStore, arguments: UpdateUserProfile) -> Answer:
    """Note lasting facts about the user; old values stay in the history."""
    return _render_profile(
        store.profile.update(
            arguments.changes, user=arguments.user, origin="assistant", skip_invalid=True
        )
    )


def _render_profile(profile: Profile) -> Answer:
    who = quote_label(profile.user)
    if not profile.fields:
        return Answer(text=f"Nothing is known of {who} yet.", data=profile.to_dict())
    document = json.dumps(profile.fields, ensure_ascii=False, indent=1)
    head = f"The profile of {who}, updated {iso(profile.updated_at)}. {NOTICE}"
    lines = [f"Not stored: {escape_line(reason)}." for reason in profile.left_out.values()]
    text = "\n".join([f"{head}\n\n{quote_lines(document)}", *lines])
    return Answer(text=text, data=profile.to_dict())


PROFILE = (get_user_profile, update_user_profile)
"""The tools of the profile."""
