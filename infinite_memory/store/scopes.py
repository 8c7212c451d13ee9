"""`store.scopes`: the compartments of a store, as a collection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from infinite_memory.core.observe.recorder import measure_calls
from infinite_memory.core.secrets import Masker
from infinite_memory.core.values.scope import Scope
from infinite_memory.engine.calls import count_call
from infinite_memory.store.lifetime import Group


@measure_calls("scopes.")
class Scopes(Group):
    """The scopes of a store, by name; letter case does not count."""

    def __iter__(self) -> Iterator[Scope]:
        """Yield every scope, in the order of their names, `Global` first."""
        scopes = self._services.storage.scopes().values()
        return iter(sorted(scopes, key=lambda scope: (scope.name != "Global", scope.name)))

    def __getitem__(self, name: str) -> Scope:
        """Return the scope of that name.

        Raises:
            UnknownScope: there is none; the message names the nearest.
        """
        from infinite_memory.engine.scopes import known_scope

        services = self._services
        return known_scope(name, services.storage.scopes(), services)

    def count_memories(self) -> dict[str, int]:
        """Return how many memories each scope has, by its name, without forgotten ones."""
        storage = self._services.storage
        return storage.measure().count_by_scope(storage.scopes())

    def count_tags(self, scope: str | Iterable[str] | None = None) -> dict[str, int]:
        """Return how many current memories in the scopes have each tag, the most frequent first.

        `scope` is as in a search. Every memory in these scopes is read.

        Raises:
            UnknownScope: a scope was asked for that does not exist.
        """
        from infinite_memory.engine.retrieval.tags import count_tags

        return count_tags(self._services, scope)

    @count_call
    def create(
        self,
        name: str,
        *,
        description: str = "",
        parent: str | None = None,
        keywords: Sequence[str] = (),
        sensitivity: str = "normal",
    ) -> Scope:
        """Create a scope; creating the same scope again does nothing.

        A question may also call the scope by one of its `keywords`. A "private" scope is searched
        only if a call names it.

        Raises:
            InvalidInput: a value cannot be used.
            Conflict: a scope of that name exists and is different.
            UnknownScope: there is no such parent.
        """
        from infinite_memory.engine.scopes import create_scope

        return create_scope(
            self._services,
            name,
            description=Masker().mask(description, "description"),
            parent=parent,
            keywords=keywords,
            sensitivity=sensitivity,
        )

    @count_call
    def update(
        self,
        name: str,
        *,
        description: str | None = None,
        parent: str | None = None,
        keywords: Sequence[str] | None = None,
        active: bool | None = None,
        sensitivity: str | None = None,
    ) -> Scope:
        """Change the given fields of a scope and leave the rest.

        A `parent` of "" takes the parent away.

        Raises:
            UnknownScope: there is no such scope, or no such parent.
            InvalidInput: a value cannot be used, or the scope would become its own ancestor.
        """
        from infinite_memory.engine.scopes import update_scope

        return update_scope(
            self._services,
            name,
            description=Masker().mask(description, "description"),
            parent=parent,
            keywords=keywords,
            active=active,
            sensitivity=sensitivity,
        )

    @count_call
    def searched(self, scope: str | Iterable[str] | None = None) -> tuple[str, ...] | None:
        """Return the names of the scopes that a request for `scope` reads, None for every scope.

        Raises:
            UnknownScope: there is no such scope.
        """
        from infinite_memory.engine.scopes import choose_scopes

        scopes = choose_scopes(scope, self._services).scopes
        return None if scopes is None else tuple(sorted(scopes))

    @count_call
    def delete(self, name: str) -> None:
        """Remove a scope that is empty.

        Raises:
            UnknownScope: there is no such scope.
            Conflict: the scope holds memories, or is the parent of a scope.
            InvalidInput: it is `Global`.
        """
        from infinite_memory.engine.scopes import delete_scope

        delete_scope(self._services, name)
