"""What was, who changed it, and what is known of a user."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from infinite_memory.model.entry import Entry
from infinite_memory.model.memory import Memory
from infinite_memory.model.profile import Profile
from infinite_memory.operations.calls import counted
from infinite_memory.operations.history import conflicts, history
from infinite_memory.operations.journal import log
from infinite_memory.operations.profile import get_profile, update_profile, users
from infinite_memory.store.part import StorePart

__all__ = ["Tracing"]


class Tracing(StorePart):
    """What was, who changed it, and what is known of a user."""

    def history(self, id_or_key: str, *, scope: str | Iterable[str] | None = None) -> list[Memory]:
        """Return all that there was under an id or a key, by when it began to hold, oldest first.

        For the id of a memory, every revision of it, of those that it replaced, and of those that
        replaced it. For a key, each memory that had it in these scopes, forgotten ones left out.
        Without a `scope` an id is looked for first.

        Raises:
            NotFound: there is no such memory, and no such key in these scopes.
            UnknownScope: a scope was asked for that does not exist.
        """
        return history(self._services, id_or_key, scope=scope)

    def conflicts(self, *, scope: str | Iterable[str] | None = None) -> list[tuple[Memory, ...]]:
        """Return the groups of memories that have one key in one scope and say different things.

        They hold at the same time: they began at the same moment, so that none of them replaced
        another, or one was revised or brought back since. To decide, revise one, or remember one
        that `supersedes` the others.

        Raises:
            UnknownScope: a scope was asked for that does not exist.
        """
        return conflicts(self._services, scope=scope)

    def log(
        self, *, limit: int = 20, before: int | None = None, memory_id: str | None = None
    ) -> list[Entry]:
        """Return entries of the journal, newest first: who changed what, and when.

        `before` is the number of an entry, to go on with older ones; `memory_id` asks for those
        that changed that memory.

        Raises:
            InvalidInput: a value cannot be used.
            StoreDamaged: an entry is not as it was written.
        """
        return log(self._services, limit=limit, before=before, memory_id=memory_id)

    def get_user_profile(self, user: str = "user") -> Profile:
        """Return what is known of a user: name, preferences, facts, contacts and notes.

        Of one who is not known the profile is empty.

        Raises:
            InvalidInput: the name of the user cannot be used.
        """
        return get_profile(self._services, user)

    @counted
    def update_user_profile(
        self, changes: Mapping[str, Any], *, user: str = "user", origin: str = "user"
    ) -> Profile:
        """Merge `changes` into the profile of a user and return it, all in one commit.

        Objects are merged name by name, None takes away, and anything else takes the place of what
        was there, as in a JSON Merge Patch (RFC 7396). A text for facts or notes is added to the
        list of them. Each value is a fact of its own in `Global`, and keeps its history.

        Raises:
            InvalidInput: a value cannot be used; nothing was changed.
        """
        return update_profile(self._services, user, changes, origin=origin)

    def users(self) -> list[str]:
        """Return the users of whom anything is known."""
        return users(self._services)
