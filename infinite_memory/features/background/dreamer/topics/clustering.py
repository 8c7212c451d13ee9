"""Tight clusters of a weighted graph: groups of memories that belong together.

Communities are found by the modularity of a partition (Louvain: Blondel, Guillaume, Lambiotte and
Lefebvre, 2008). Modularity merges small groups of a large graph (Fortunato and Barthélemy, 2007),
so that a loose community is cut again on its own, until its parts are tight or small. A tight one
is cut if it divides clearly, with a modularity from 0.3 (Clauset, Newman and Moore, 2004). What is
only near a cluster leaves it: a member has most of its weight inside (Radicchi and others, 2004).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import accumulate, pairwise
from typing import Any, TypeAlias

from attrs import frozen

FEWEST_MEMBERS, MOST_MEMBERS = 3, 40

Edge: TypeAlias = tuple[str, str]
"""Two ids, the smaller one first."""

Weights: TypeAlias = Mapping[Edge, float]
"""The weights of the edges, above 0."""

# The least share of the pairs that are linked, up to the number of links that any member needs.
_DENSITY = 0.4
_ENOUGH_LINKS = 4.0
_SHARE_INSIDE = 0.5
# The modularity of a partition from which a tight group is two.
_DIVIDED = 0.3
_SCALE = 2**22
_RESOLUTIONS = (1.0, 2.0, 4.0, 8.0)


@frozen(kw_only=True)
class Cluster:
    """Members that are linked to each other; `weight` is that of their links together."""

    members: frozenset[str]
    weight: float


def find_clusters(weights: Weights, known: Collection[str], *, seed: int) -> list[Cluster]:
    """Return the tight clusters of a graph, the heaviest first; no two share a member.

    A cluster has 3 to 40 members, all among `known`, the ids whose links are all in `weights`; the
    others count as being outside. Equal arguments give an equal result.
    """
    import networkx  # noqa: PLC0415

    graph = networkx.Graph()
    graph.add_nodes_from(sorted(known))
    for (first, second), weight in sorted(weights.items()):
        graph.add_edge(first, second, weight=weight)
    inside = graph.subgraph(sorted(known))
    found = [
        _describe(inside, members)
        for component in networkx.connected_components(inside)
        for part in _cut(inside, frozenset(component), seed)
        for members in [_leave_loose(graph, part)]
        if _is_tight(inside, members)
    ]
    return sorted(found, key=lambda cluster: (-cluster.weight, sorted(cluster.members)))


def is_tight(weights: Weights, members: Collection[str]) -> bool:
    """Return whether 3 to 40 members are linked to each other as those of a cluster are."""
    number = len(members)
    if not FEWEST_MEMBERS <= number <= MOST_MEMBERS:
        return False
    linked = sum(first in members and second in members for first, second in weights)
    return _has_enough(number, linked)


def count_distinct(members: Collection[str], twins: Collection[Edge]) -> int:
    """Count the members, of which all that say nearly the same count as one."""
    import networkx  # noqa: PLC0415

    graph = networkx.Graph()
    graph.add_nodes_from(members)
    graph.add_edges_from(edge for edge in twins if edge[0] in graph and edge[1] in graph)
    return int(networkx.number_connected_components(graph))


def _has_enough(number: int, links: int) -> bool:
    """Return whether `number` members have enough links: two fifths of all, or four each."""
    return 2 * links >= number * min(_DENSITY * (number - 1), _ENOUGH_LINKS)


def _is_tight(graph: Any, members: frozenset[str]) -> bool:
    number = len(members)
    return FEWEST_MEMBERS <= number <= MOST_MEMBERS and _has_enough(
        number, graph.subgraph(members).number_of_edges()
    )


def _cut(graph: Any, members: frozenset[str], seed: int) -> Iterator[frozenset[str]]:
    """Yield the tight parts of a community; a loose part that cannot be cut is left out."""
    import networkx  # noqa: PLC0415

    if len(members) < FEWEST_MEMBERS:
        return
    part = _scale(graph.subgraph(members))
    is_tight_part = _is_tight(graph, members)
    for resolution in _RESOLUTIONS[:1] if is_tight_part else _RESOLUTIONS:
        communities = networkx.community.louvain_communities(
            part, weight="weight", resolution=resolution, seed=seed
        )
        if len(communities) > 1:
            if is_tight_part and networkx.community.modularity(part, communities) < _DIVIDED:
                break
            for community in sorted(communities, key=sorted):
                yield from _cut(graph, frozenset(community), seed)
            return
    if is_tight_part:
        yield members


def _scale(graph: Any) -> Any:
    """Return a graph in a fixed order, with whole weights that are a power of two together.

    Equal graphs are cut equally, since the order decides between equal gains. With such weights
    networkx computes every gain exactly: each is a sum of multiples of 2**-45 below 2**8. Rounded
    gains can be above 0 for a move and for the move back, and Louvain never ends
    (https://github.com/networkx/networkx/issues/8739).
    """
    import networkx  # noqa: PLC0415

    edges = sorted((*_ends(edge), float(edge[2]["weight"])) for edge in graph.edges(data=True))
    sums = list(accumulate((weight for _, _, weight in edges), initial=0.0))
    places = [round(_SCALE * reached / sums[-1]) if edges else 0 for reached in sums]
    scaled = networkx.Graph()
    scaled.add_nodes_from(sorted(graph))
    for (first, second, _), (begin, end) in zip(edges, pairwise(places), strict=True):
        scaled.add_edge(first, second, weight=end - begin)
    return scaled


def _ends(edge: tuple[str, str, Any]) -> Edge:
    return min(edge[:2]), max(edge[:2])


def _leave_loose(graph: Any, members: frozenset[str]) -> frozenset[str]:
    """Return the members without those that have most of their weight outside."""
    while True:
        loose = {
            member
            for member in members
            if _weigh(graph, member, members) < _SHARE_INSIDE * _weigh(graph, member, graph)
        }
        if not loose:
            return members
        members = members - loose


def _weigh(graph: Any, member: str, members: Collection[str]) -> float:
    """Return the weight of the links of a member to other members."""
    return sum(float(data["weight"]) for other, data in graph[member].items() if other in members)


def _describe(graph: Any, members: frozenset[str]) -> Cluster:
    return Cluster(members=members, weight=float(graph.subgraph(members).size(weight="weight")))
