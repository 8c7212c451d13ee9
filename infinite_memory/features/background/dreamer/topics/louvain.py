"""Communities of a weighted graph by the modularity of a partition.

The method of Louvain: Blondel, Guillaume, Lambiotte and Lefebvre, "Fast unfolding of communities in
large networks", 2008. Each node moves to the community of a neighbor that gains most, until none
gains; then each community becomes one node, and so on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import TypeAlias, TypeVar

Node = TypeVar("Node")

Adjacency: TypeAlias = Mapping[Node, Mapping[Node, float]]
"""The neighbors of each node with the weights of the edges; both ends of an edge have it."""

_Whole: TypeAlias = list[dict[int, int]]

_LEAST_GAIN = 1e-7


def find_communities(
    nodes: int, edges: Iterable[tuple[int, int, int]], *, resolution: int, seed: int
) -> list[set[int]]:
    """Return a partition of the nodes 0 to `nodes` - 1; a higher resolution makes smaller parts.

    Weights are whole numbers, so that every gain is exact: rounded gains can be above 0 for a move
    and for the move back, and the method would not end. Equal arguments give an equal result.
    """
    graph: _Whole = [{} for _ in range(nodes)]
    for first, second, weight in edges:
        _add(graph, first, second, weight)
    total = sum(_degrees(graph)) // 2
    parts = [{node} for node in range(nodes)]
    if not total:
        return parts
    random = Random(seed)
    reached = _measure(graph, range(nodes), resolution)
    while True:
        places = _move(graph, total, resolution, random)
        numbers = {place: number for number, place in enumerate(sorted(set(places)))}
        places = [numbers[place] for place in places]
        joined: list[set[int]] = [set() for _ in numbers]
        for node, place in enumerate(places):
            joined[place] |= parts[node]
        is_same = len(joined) == len(parts)
        parts = joined
        modularity = _measure(graph, places, resolution)
        if is_same or modularity - reached <= _LEAST_GAIN:
            return parts
        reached, graph = modularity, _join(graph, places, len(numbers))


def measure_modularity(
    nodes: int, edges: Iterable[tuple[int, int, int]], parts: Iterable[Iterable[int]]
) -> float:
    """Return the modularity of a partition: how much more weight is inside than by chance."""
    graph: _Whole = [{} for _ in range(nodes)]
    for first, second, weight in edges:
        _add(graph, first, second, weight)
    places = {node: number for number, part in enumerate(parts) for node in part}
    return _measure(graph, [places[node] for node in range(nodes)], 1)


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


def _move(graph: _Whole, total: int, resolution: int, random: Random) -> list[int]:
    """Return the community of each node, after each has moved as long as it gained."""
    degrees = _degrees(graph)
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


def _join(graph: _Whole, places: Sequence[int], number: int) -> _Whole:
    """Return the graph whose nodes are the communities; what is inside becomes a loop."""
    joined: _Whole = [{} for _ in range(number)]
    for first, neighbors in enumerate(graph):
        for second, weight in neighbors.items():
            if first <= second:
                _add(joined, places[first], places[second], weight)
    return joined


def _measure(graph: _Whole, places: Sequence[int], resolution: int) -> float:
    inside: dict[int, int] = {}
    sums: dict[int, int] = {}
    degrees = _degrees(graph)
    for first, neighbors in enumerate(graph):
        sums[places[first]] = sums.get(places[first], 0) + degrees[first]
        for second, weight in neighbors.items():
            if first <= second and places[first] == places[second]:
                inside[places[first]] = inside.get(places[first], 0) + weight
    twice = sum(degrees)
    exact = sum(2 * twice * weight for weight in inside.values())
    exact -= resolution * sum(weight * weight for weight in sums.values())
    return exact / twice**2 if twice else 0.0


def _degrees(graph: _Whole) -> list[int]:
    """Return the weight at each node; a loop has both of its ends there."""
    return [
        sum(neighbors.values()) + neighbors.get(node, 0) for node, neighbors in enumerate(graph)
    ]


def _add(graph: _Whole, first: int, second: int, weight: int) -> None:
    graph[first][second] = graph[first].get(second, 0) + weight
    if first != second:
        graph[second][first] = graph[second].get(first, 0) + weight
