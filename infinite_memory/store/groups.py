"""The groups of methods of a store, each loaded when it is first used."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, wraps
from typing import TYPE_CHECKING, TypeVar

from infinite_memory.core.errors import ConfigurationError
from infinite_memory.store.lifetime import OpenStore

if TYPE_CHECKING:
    from infinite_memory.store.attachments import Attachments
    from infinite_memory.store.backups import Backups
    from infinite_memory.store.bulk import Bulk
    from infinite_memory.store.conversations import Conversations
    from infinite_memory.store.dreams import Dreams
    from infinite_memory.store.exchange import Exchange
    from infinite_memory.store.graph import Graph
    from infinite_memory.store.inbox import Inbox
    from infinite_memory.store.journal import Journal
    from infinite_memory.store.keys import AccessKeys
    from infinite_memory.store.models import EmbeddingModels
    from infinite_memory.store.profile import Profiles
    from infinite_memory.store.projects import Projects
    from infinite_memory.store.readings import Ids, Times
    from infinite_memory.store.scopes import Scopes
    from infinite_memory.store.triggers import Triggers
    from infinite_memory.store.upkeep import Upkeep

Group = TypeVar("Group")


def _load_once(load: Callable[[StoreGroups], Group]) -> cached_property[Group]:
    """Return a property that loads a group when it is first used.

    It raises ConfigurationError where a part of the installation is missing.
    """

    @wraps(load)
    def load_or_explain(store: StoreGroups) -> Group:
        try:
            return load(store)
        except ImportError as error:
            raise ConfigurationError(
                f"store.{load.__name__} cannot be loaded ({error}): install the module that is"
                " missing, or infinite-memory again; the rest of the store can be used"
            ) from error

    return cached_property(load_or_explain)


class StoreGroups(OpenStore):
    """The groups of an open store, such as `store.scopes`.

    A group is imported when it is first used, so that a program loads only what it calls.
    """

    @_load_once
    def bulk(self) -> Bulk:
        """Changes of all memories that meet conditions."""
        from infinite_memory.store.bulk import Bulk

        return Bulk(self._lifetime)

    @_load_once
    def scopes(self) -> Scopes:
        """The scopes of the store."""
        from infinite_memory.store.scopes import Scopes

        return Scopes(self._lifetime)

    @_load_once
    def journal(self) -> Journal:
        """The journal: an entry for every change."""
        from infinite_memory.store.journal import Journal

        return Journal(self._lifetime)

    @_load_once
    def profile(self) -> Profiles:
        """The profiles of the users."""
        from infinite_memory.store.profile import Profiles

        return Profiles(self._lifetime)

    @_load_once
    def models(self) -> EmbeddingModels:
        """The embedding models, the configured one and those used before it."""
        from infinite_memory.store.models import EmbeddingModels

        return EmbeddingModels(self._lifetime)

    @_load_once
    def times(self) -> Times:
        """The reading of words of time."""
        from infinite_memory.store.readings import Times

        return Times(self._lifetime)

    @_load_once
    def ids(self) -> Ids:
        """Shorter names for the ids of memories."""
        from infinite_memory.store.readings import Ids

        return Ids(self._lifetime)

    @_load_once
    def keys(self) -> AccessKeys:
        """The access keys."""
        from infinite_memory.store.keys import AccessKeys

        return AccessKeys(self._lifetime)

    @_load_once
    def conversations(self) -> Conversations:
        """The log of conversations, short-term memory, and sessions of clients."""
        from infinite_memory.store.conversations import Conversations

        return Conversations(self._lifetime)

    @_load_once
    def attachments(self) -> Attachments:
        """Images, sounds and files that belong to memories."""
        from infinite_memory.store.attachments import Attachments

        return Attachments(self._lifetime)

    @_load_once
    def backups(self) -> Backups:
        """Backups of the store."""
        from infinite_memory.store.backups import Backups

        return Backups(self._lifetime)

    @_load_once
    def exchange(self) -> Exchange:
        """Exports and imports."""
        from infinite_memory.store.exchange import Exchange

        return Exchange(self._lifetime)

    @_load_once
    def inbox(self) -> Inbox:
        """What came in and waits for a yes or a no."""
        from infinite_memory.store.inbox import Inbox

        return Inbox(self._lifetime)

    @_load_once
    def upkeep(self) -> Upkeep:
        """The jobs that archive, summarise, link, back up and compact."""
        from infinite_memory.store.upkeep import Upkeep

        return Upkeep(self._lifetime)

    @_load_once
    def projects(self) -> Projects:
        """The work on repositories."""
        from infinite_memory.store.projects import Projects

        return Projects(self._lifetime)

    @_load_once
    def triggers(self) -> Triggers:
        """Long-term memories with the conditions under which they come to mind."""
        from infinite_memory.store.triggers import Triggers

        return Triggers(self._lifetime)

    @_load_once
    def graph(self) -> Graph:
        """The links of memories."""
        from infinite_memory.store.graph import Graph

        return Graph(self._lifetime)

    @_load_once
    def dreams(self) -> Dreams:
        """The cycles of the dreamer."""
        from infinite_memory.store.dreams import Dreams

        return Dreams(self._lifetime)
