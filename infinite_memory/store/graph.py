"""`store.graph`: how memories belong together."""

from __future__ import annotations

import os
from collections.abc import Iterable

from infinite_memory.core.observe.recorder import measure_calls
from infinite_memory.core.values.link import Link, LinkType
from infinite_memory.core.values.memory import Memory
from infinite_memory.engine.calls import count_call
from infinite_memory.features.archive.exchange.graphs.exporting import run_graph_export
from infinite_memory.features.archive.exchange.graphs.request import make_request
from infinite_memory.features.archive.exchange.graphs.values import ExportedGraph
from infinite_memory.features.graph.duplicates import list_duplicates
from infinite_memory.features.graph.linking import list_links, make_link, remove_links
from infinite_memory.features.graph.values import Related
from infinite_memory.features.graph.walking import find_related
from infinite_memory.store.lifetime import Group


@measure_calls("graph.")
class Graph(Group):
    """The links of memories: directed, typed, with a weight in (0, 1], a maker and a reason."""

    def links(self, memory_id: str) -> tuple[Link, ...]:
        """Return the stored links from and to a memory, by source, target and type.

        Raises:
            NotFound: there is no such memory.
        """
        return list_links(self._services, memory_id)

    def related(
        self,
        ids: str | Iterable[str],
        *,
        types: str | Iterable[str] = (),
        depth: int = 2,
        limit: int = 20,
    ) -> tuple[Related, ...]:
        """Return memories that belong to one or several memories, strongest first.

        A walk of `depth` steps, 1 to 4, goes over stored links in both directions, and over what is
        computed: neighbours in the conversation, the same project, topic or location in the
        context, what is similar, and what is near in time. `types` choose among `Relation`, by
        default all. The weights of the steps, see `features.graph.relations`, are multiplied;
        ways below 0.05 end, and of each step the eight strongest memories are walked on from. Only
        current memories are returned that a search of the scope of the beginning sees. This is no
        recall.

        Raises:
            InvalidInput: a value cannot be used, or more than 16 ids are given.
            NotFound: there is no such memory.
            Conflict: a memory to start from was forgotten.
        """
        return find_related(self._services, ids, types=types, depth=depth, limit=limit)

    def duplicates(
        self, *, scope: str | Iterable[str] | None = None, limit: int = 20
    ) -> list[list[Memory]]:
        """Return groups of current facts, instructions and decisions that say nearly the same.

        They are those that the upkeep has linked, in `scope`, by default in every open one, among
        the 5,000 stored last. A link of two with the reason "not the same" settles these two:
        `link(a, b, reason="not the same")`. So does `revise` of the later one with `supersedes`.

        Raises:
            InvalidInput: the scope or the limit cannot be used.
            UnknownScope: there is no such scope.
        """
        return list_duplicates(self._services, scope=scope, limit=limit)

    @count_call
    def link(
        self,
        source: str,
        target: str,
        *,
        type: str = LinkType.SEMANTIC,  # noqa: A002 - the name of the field
        weight: float = 0.8,
        reason: str = "",
    ) -> Link:
        """Link a memory to another of its scope, and return the link as it is stored.

        `type` is "semantic", "temporal", "context" or "intent"; `weight` is above 0, at most 1. Two
        memories have one link of a type in a direction: another weight or reason replaces it, and
        the same call again changes nothing. `undo` takes it back. `reason` has at most 200
        characters; the journal keeps it even after the memories are erased, so do not quote them.

        Raises:
            InvalidInput: a value cannot be used; the type is not made by hand; or the memories are
                in two scopes, which a link never joins.
            NotFound: there is no such memory.
            Conflict: a memory was forgotten, or other clients kept changing the store.
        """
        return make_link(self._services, source, target, type=type, weight=weight, reason=reason)

    @count_call
    def unlink(
        self,
        source: str,
        target: str,
        *,
        type: str | None = None,  # noqa: A002 - the name of the field
    ) -> tuple[Link, ...]:
        """Remove the link of a type from a memory to another, and return what was removed.

        Without a `type` all links in this direction are removed, except those that belong to a
        supersession, a summary, an attachment or the upkeep. The same call again changes nothing.

        Raises:
            InvalidInput: a value cannot be used, or the only links there are not removed by hand.
            NotFound: there is no such memory.
            Conflict: other clients kept changing the store.
        """
        return remove_links(self._services, source, target, type=type)

    @count_call
    def export(
        self,
        to: str | os.PathLike[str],
        ids: str | Iterable[str] = (),
        *,
        format: str | None = None,  # noqa: A002 - the word of the command line and the docs
        types: str | Iterable[str] = (),
        depth: int | None = None,
        limit: int | None = None,
        scope: str | Iterable[str] | None = None,
        statuses: str | Iterable[str] = (),
        private: bool = False,
        force: bool = False,
    ) -> ExportedGraph:
        """Write the graph into a file: memories as nodes, links as edges.

        `format` is "graphml" or "json", by default what the name `to` ends with. With `ids`, at
        most 16, it is what `related` walks to, by `types` and in `depth` steps, by default two,
        with the computed relations; of more than `limit` memories, by default 150 and at most
        1,000, the strongest. Without `ids` it is every memory but the forgotten ones, with the
        stored links: `scope` chooses scopes, each without its parents, private ones only by name or
        with `private`; `statuses` choose among "current", "superseded" and "archived"; and `limit`
        keeps the best linked memories with their neighbours. The file has the mode 600, appears
        when it is whole, and replaces another only with `force`.

        Raises:
            Conflict: there is something at `to`, or a memory of `ids` was forgotten.
            InvalidInput: a value cannot be used.
            NotFound: there is no memory of an id.
            UnknownScope: a scope does not exist.
            StorageUnavailable: the disk is full, or the folder or the store cannot be used.
        """
        request = make_request(
            self._services,
            to,
            ids,
            format_name=format,
            types=types,
            depth=depth,
            limit=limit,
            scope=scope,
            statuses=statuses,
            private=private,
            force=force,
        )
        return run_graph_export(self._services, request)
