"""Tight clusters of a weighted graph: groups of memories that belong together.

Communities are found by the modularity of a partition (Louvain: Blondel, Guillaume, Lambiotte and
Lefebvre, 2008). Modularity merges small groups of a large graph (Fortunato and Barthélemy, 2007),
so that a loose community is cut again on its own, until its parts are tight or small. A tight one
is cut if it divides clearly, with a modularity from 0.3 (Clauset, Newman and Moore, 2004). What is
only near a cluster leaves it: a member has most of its weight inside (Radicchi and others, 2004).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from random import Random
from typing import TypeAlias, TypeVar

from attrs import frozen

Node = TypeVar("Node")

Adjacency: TypeAlias = Mapping[Node, Mapping[Node, float]]
"""The neighbors of each node with the weights of the edges; both ends of an edge have it."""

_Whole: TypeAlias = list[dict[int, int]]

_LEAST_GAIN = 1e-7
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
_RESOLUTIONS = (1, 2, 4, 8)

_Graph: TypeAlias = dict[str, dict[str, float]]


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
    graph: _Graph = {member: {} for member in sorted(known)}
    for (first, second), weight in sorted(weights.items()):
        graph.setdefault(first, {})[second] = weight
        graph.setdefault(second, {})[first] = weight
    inside = _restrict_graph(graph, known)
    found = [
        _describe_cluster(inside, members)
        for component in list_components(inside)
        for part in _cut_community(inside, frozenset(component), seed)
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
    graph: _Graph = {member: {} for member in members}
    for first, second in twins:
        if first in graph and second in graph:
            graph[first][second] = graph[second][first] = 1.0
    return sum(1 for _ in list_components(graph))


def _has_enough(number: int, links: int) -> bool:
    """Return whether `number` members have enough links: two fifths of all, or four each."""
    return 2 * links >= number * min(_DENSITY * (number - 1), _ENOUGH_LINKS)


def _restrict_graph(graph: _Graph, members: Collection[str]) -> _Graph:
    """Return the part of a graph between members, in the order of their ids."""
    inside = frozenset(members)
    return {
        member: {other: graph[member][other] for other in sorted(graph[member].keys() & inside)}
        for member in sorted(inside)
    }


def _list_edges(graph: _Graph) -> list[tuple[str, str, float]]:
    """Return the edges in the order of their ends, the smaller end first."""
    return [(a, b, graph[a][b]) for a in sorted(graph) for b in sorted(graph[a]) if a < b]


def _is_tight(graph: _Graph, members: frozenset[str]) -> bool:
    number = len(members)
    return FEWEST_MEMBERS <= number <= MOST_MEMBERS and _has_enough(
        number, len(_list_edges(_restrict_graph(graph, members)))
    )


def _cut_community(graph: _Graph, members: frozenset[str], seed: int) -> Iterator[frozenset[str]]:
    """Yield the tight parts of a community; a loose part that cannot be cut is left out."""
    if len(members) < FEWEST_MEMBERS:
        return
    part = _restrict_graph(graph, members)
    ids = list(part)
    edges = _scale_weights(part)
    is_tight_part = _is_tight(graph, members)
    for resolution in _RESOLUTIONS[:1] if is_tight_part else _RESOLUTIONS:
        communities = find_communities(len(ids), edges, resolution=resolution, seed=seed)
        if len(communities) > 1:
            if is_tight_part and measure_modularity(len(ids), edges, communities) < _DIVIDED:
                break
            for community in sorted(communities, key=sorted):
                yield from _cut_community(graph, frozenset(ids[place] for place in community), seed)
            return
    if is_tight_part:
        yield members


def _scale_weights(graph: _Graph) -> list[tuple[int, int, int]]:
    """Return the edges between the places of the nodes, with whole weights in proportion."""
    edges = _list_edges(graph)
    order = {member: place for place, member in enumerate(graph)}
    sums = list(accumulate((weight for _, _, weight in edges), initial=0.0))
    scaled = [round(_SCALE * reached / sums[-1]) if edges else 0 for reached in sums]
    return [
        (order[first], order[second], end - begin)
        for (first, second, _), (begin, end) in zip(edges, pairwise(scaled), strict=True)
    ]


def _leave_loose(graph: _Graph, members: frozenset[str]) -> frozenset[str]:
    """Return the members without those that have most of their weight outside."""
    while True:
        loose = {
            member
            for member in members
            if _weigh_member(graph, member, members)
            < _SHARE_INSIDE * _weigh_member(graph, member, graph)
        }
        if not loose:
            return members
        members = members - loose


def _weigh_member(graph: _Graph, member: str, members: Collection[str]) -> float:
    """Return the weight of the links of a member to other members."""
    return sum(weight for other, weight in graph[member].items() if other in members)


def _describe_cluster(graph: _Graph, members: frozenset[str]) -> Cluster:
    weight = sum(weight for _, _, weight in _list_edges(_restrict_graph(graph, members)))
    return Cluster(members=members, weight=weight)


def find_communities(
    nodes: int, edges: Iterable[tuple[int, int, int]], *, resolution: int, seed: int
) -> list[set[int]]:
    """Return a partition of the nodes 0 to `nodes` - 1; a higher resolution makes smaller parts.

    Weights are whole numbers, so that every gain is exact: rounded gains can be above 0 for a move
    and for the move back, and the method would not end. Equal arguments give an equal result.
    """
    graph: _Whole = [{} for _ in range(nodes)]
    for first, second, weight in edges:
        _add_edge(graph, first, second, weight)
    total = sum(_sum_degrees(graph)) // 2
    parts = [{node} for node in range(nodes)]
    if not total:
        return parts
    random = Random(seed)
    reached = _measure_modularity(graph, range(nodes), resolution)
    while True:
        places = _move_nodes(graph, total, resolution, random)
        numbers = {place: number for number, place in enumerate(sorted(set(places)))}
        places = [numbers[place] for place in places]
        joined: list[set[int]] = [set() for _ in numbers]
        for node, place in enumerate(places):
            joined[place] |= parts[node]
        is_same = len(joined) == len(parts)
        parts = joined
        modularity = _measure_modularity(graph, places, resolution)
        if is_same or modularity - reached <= _LEAST_GAIN:
            return parts
        reached, graph = modularity, _join_communities(graph, places, len(numbers))


def measure_modularity(
    nodes: int, edges: Iterable[tuple[int, int, int]], parts: Iterable[Iterable[int]]
) -> float:
    """Return the modularity of a partition: how much more weight is inside than by chance."""
    graph: _Whole = [{} for _ in range(nodes)]
    for first, second, weight in edges:
        _add_edge(graph, first, second, weight)
    places = {node: number for number, part in enumerate(parts) for node in part}
    return _measure_modularity(graph, [places[node] for node in range(nodes)], 1)


def list_components(adjacency: Adjacency[Node]) -> Iterator[set[Node]]:
    """Yield the connected parts of a graph, each as soon as one of its nodes comes."""
    seen: set[Node] = set()
    for node in adjacency:
        if node in seen:
            continue
        component, waiting = {node}, [node]
        while waiting:
            reached = adjacency[waiting.pop()].keys() - component
            component |= reached
            waiting.extend(reached)
        seen |= component
        yield component


def _move_nodes(graph: _Whole, total: int, resolution: int, random: Random) -> list[int]:
    """Return the community of each node, after each has moved as long as it gained."""
    degrees = _sum_degrees(graph)
    sums, places = list(degrees), list(range(len(graph)))
    order = list(range(len(graph)))
    random.shuffle(order)
    has_moved = True
    while has_moved:
        has_moved = False
        for node in order:
            own, degree = places[node], degrees[node]
            weights: dict[int, int] = {}
            for other, weight in graph[node].items():
                if other != node:
                    weights[places[other]] = weights.get(places[other], 0) + weight
            sums[own] -= degree
            best, best_gain = own, 0
            stays = 2 * total * weights.get(own, 0) - resolution * sums[own] * degree
            for place, weight in weights.items():
                # 2 * total**2 times the gain of modularity.
                gain = 2 * total * weight - resolution * sums[place] * degree - stays
                if gain > best_gain:
                    best, best_gain = place, gain
            sums[best] += degree
            if best != own:
                places[node], has_moved = best, True
    return places


def _join_communities(graph: _Whole, places: Sequence[int], number: int) -> _Whole:
    """Return the graph whose nodes are the communities; what is inside becomes a loop."""
    joined: _Whole = [{} for _ in range(number)]
    for first, neighbors in enumerate(graph):
        for second, weight in neighbors.items():
            if first <= second:
                _add_edge(joined, places[first], places[second], weight)
    return joined


def _measure_modularity(graph: _Whole, places: Sequence[int], resolution: int) -> float:
    inside: dict[int, int] = {}
    sums: dict[int, int] = {}
    degrees = _sum_degrees(graph)
    for first, neighbors in enumerate(graph):
        sums[places[first]] = sums.get(places[first], 0) + degrees[first]
        for second, weight in neighbors.items():
            if first <= second and places[first] == places[second]:
                inside[places[first]] = inside.get(places[first], 0) + weight
    twice = sum(degrees)
    exact = sum(2 * twice * weight for weight in inside.values())
    exact -= resolution * sum(weight * weight for weight in sums.values())
    return exact / twice**2 if twice else 0.0


def _sum_degrees(graph: _Whole) -> list[int]:
    """Return the weight at each node; a loop has both of its ends there."""
    return [
        sum(neighbors.values()) + neighbors.get(node, 0) for node, neighbors in enumerate(graph)
    ]


def _add_edge(graph: _Whole, first: int, second: int, weight: int) -> None:
    graph[first][second] = graph[first].get(second, 0) + weight
    if first != second:
        graph[second][first] = graph[second].get(first, 0) + weight
