"""`store.profile`: the profiles of the users of a store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from infinite_memory.core.observe.recorder import measure_calls
from infinite_memory.core.values.profile import Profile
from infinite_memory.engine.calls import count_call
from infinite_memory.engine.profile import get_profile, update_profile, users
from infinite_memory.store.lifetime import Group


@measure_calls("profile.")
class Profiles(Group):
    """The profiles of the users of a store: name, preferences, facts, contacts and notes."""

    def get(self, user: str = "user") -> Profile:
        """Return the profile of a user; it is empty if nothing is known of that user.

        Raises:
            InvalidInput: the name of the user cannot be used.
        """
        return get_profile(self._services, user)

    @count_call
    def update(
        self,
        changes: Mapping[str, Any],
        *,
        user: str = "user",
        origin: str = "user",
        skip_invalid: bool = False,
    ) -> Profile:
        """Merge `changes` into the profile of a user and return it, all in one commit.

        Objects are merged name by name, None removes a value, and any other value replaces the
        present value, as in a JSON Merge Patch (RFC 7396). A text for facts or notes is appended to
        their list. Each value is a fact of its own in `Global`, and keeps its history. With
        `skip_invalid`, a value that cannot be used costs only itself: `left_out` has the reason.

        Raises:
            InvalidInput: a value cannot be used; nothing was changed.
        """
        return update_profile(
            self._services, user, changes, origin=origin, skip_invalid=skip_invalid
        )

    def users(self) -> list[str]:
        """Return the names of the users who have a profile, in order."""
        return users(self._services)
