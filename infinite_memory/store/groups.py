"""The groups of methods of a store, each loaded when it is first used."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from infinite_memory.store.lifetime import OpenStore

if TYPE_CHECKING:
    from infinite_memory.store.attachments import Attachments
    from infinite_memory.store.backups import Backups
    from infinite_memory.store.bulk import Bulk
    from infinite_memory.store.conversations import Conversations
    from infinite_memory.store.dreams import Dreams
    from infinite_memory.store.exchange import Exchange
    from infinite_memory.store.graph import Graph
    from infinite_memory.store.ids import Ids
    from infinite_memory.store.journal import Journal
    from infinite_memory.store.keys import AccessKeys
    from infinite_memory.store.models import EmbeddingModels
    from infinite_memory.store.profile import Profiles
    from infinite_memory.store.projects import Projects
    from infinite_memory.store.scopes import Scopes
    from infinite_memory.store.times import Times
    from infinite_memory.store.triggers import Triggers
    from infinite_memory.store.upkeep import Upkeep


class StoreGroups(OpenStore):
    """The groups of an open store, such as `store.scopes`.

    A group is imported when it is first used, so that a program loads only what it calls.
    """

    @cached_property
    def bulk(self) -> Bulk:
        """Changes of all memories that meet conditions."""
        from infinite_memory.store.bulk import Bulk

        return Bulk(self._lifetime)

    @cached_property
    def scopes(self) -> Scopes:
        """The scopes of the store."""
        from infinite_memory.store.scopes import Scopes

        return Scopes(self._lifetime)

    @cached_property
    def journal(self) -> Journal:
        """The journal: an entry for every change."""
        from infinite_memory.store.journal import Journal

        return Journal(self._lifetime)

    @cached_property
    def profile(self) -> Profiles:
        """The profiles of the users."""
        from infinite_memory.store.profile import Profiles

        return Profiles(self._lifetime)

    @cached_property
    def models(self) -> EmbeddingModels:
        """The embedding models, the configured one and those used before it."""
        from infinite_memory.store.models import EmbeddingModels

        return EmbeddingModels(self._lifetime)

    @cached_property
    def times(self) -> Times:
        """The reading of words of time."""
        from infinite_memory.store.times import Times

        return Times(self._lifetime)

    @cached_property
    def ids(self) -> Ids:
        """Shorter names for the ids of memories."""
        from infinite_memory.store.ids import Ids

        return Ids(self._lifetime)

    @cached_property
    def keys(self) -> AccessKeys:
        """The access keys."""
        from infinite_memory.store.keys import AccessKeys

        return AccessKeys(self._lifetime)

    @cached_property
    def conversations(self) -> Conversations:
        """The log of conversations, short-term memory, and sessions of clients."""
        from infinite_memory.store.conversations import Conversations

        return Conversations(self._lifetime)

    @cached_property
    def attachments(self) -> Attachments:
        """Images, sounds and files that belong to memories."""
        from infinite_memory.store.attachments import Attachments

        return Attachments(self._lifetime)

    @cached_property
    def backups(self) -> Backups:
        """Backups of the store."""
        from infinite_memory.store.backups import Backups

        return Backups(self._lifetime)

    @cached_property
    def exchange(self) -> Exchange:
        """Exports and imports."""
        from infinite_memory.store.exchange import Exchange

        return Exchange(self._lifetime)

    @cached_property
    def upkeep(self) -> Upkeep:
        """The jobs that archive, summarise, link, back up and compact."""
        from infinite_memory.store.upkeep import Upkeep

        return Upkeep(self._lifetime)

    @cached_property
    def projects(self) -> Projects:
        """The work on repositories."""
        from infinite_memory.store.projects import Projects

        return Projects(self._lifetime)

    @cached_property
    def triggers(self) -> Triggers:
        """Long-term memories with the conditions under which they come to mind."""
        from infinite_memory.store.triggers import Triggers

        return Triggers(self._lifetime)

    @cached_property
    def graph(self) -> Graph:
        """The links of memories."""
        from infinite_memory.store.graph import Graph

        return Graph(self._lifetime)

    @cached_property
    def dreams(self) -> Dreams:
        """The cycles of the dreamer."""
        from infinite_memory.store.dreams import Dreams

        return Dreams(self._lifetime)
