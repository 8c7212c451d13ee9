"""Communities, modularity and components, compared with networkx."""

from __future__ import annotations

from random import Random

import networkx
import pytest

from infinite_memory.features.background.dreamer.topics.clustering import (
    find_communities,
    list_components,
    measure_modularity,
)

Edges = list[tuple[int, int, int]]
TOTAL = 2**22


def draw_graph(random: Random) -> tuple[int, Edges]:
    """Return groups that are linked inside, with links between them, whose weights are whole."""
    nodes = random.randint(1, 60)
    groups = random.randint(1, 8)
    pairs = [(a, b) for a in range(nodes) for b in range(a + 1, nodes)]
    drawn = [
        (a, b, random.randint(1, 1000))
        for a, b in pairs
        if random.random() < (0.5 if a % groups == b % groups else random.choice((0.02, 0.1)))
    ]
    if drawn:
        # A power of two together, so that networkx too computes every gain exactly.
        rest = TOTAL - sum(weight for *_, weight in drawn)
        drawn[-1] = (*drawn[-1][:2], drawn[-1][2] + rest)
    return nodes, drawn


def as_networkx(nodes: int, edges: Edges) -> networkx.Graph:
    graph = networkx.Graph()
    graph.add_nodes_from(range(nodes))
    graph.add_weighted_edges_from(edges)
    return graph


@pytest.mark.parametrize("first", range(0, 400, 100))
def test_communities_are_those_of_networkx_with_the_same_seed(first: int) -> None:
    for number in range(first, first + 100):
        nodes, edges = draw_graph(Random(number))
        graph = as_networkx(nodes, edges)
        for resolution in (1, 2, 4, 8):
            known = networkx.community.louvain_communities(
                graph, weight="weight", resolution=float(resolution), seed=number
            )
            found = find_communities(nodes, edges, resolution=resolution, seed=number)
            assert sorted(map(sorted, found)) == sorted(map(sorted, known)), (number, resolution)
            if edges and resolution == 1:
                modularity = networkx.community.modularity(graph, known)
                assert measure_modularity(nodes, edges, found) == pytest.approx(modularity)


def test_components_are_those_of_networkx() -> None:
    for number in range(100):
        random = Random(number)
        nodes = random.randint(0, 40)
        edges = [
            (random.randrange(nodes), random.randrange(nodes))
            for _ in range(random.randint(0, nodes))
        ]
        graph = networkx.Graph()
        graph.add_nodes_from(range(nodes))
        graph.add_edges_from(edges)
        adjacency = {node: dict.fromkeys(graph[node], 1.0) for node in graph}
        assert list(list_components(adjacency)) == list(networkx.connected_components(graph))


def test_a_graph_without_edges_has_a_community_for_each_node() -> None:
    assert find_communities(3, [], resolution=1, seed=0) == [{0}, {1}, {2}]
    assert find_communities(0, [], resolution=1, seed=0) == []
    assert measure_modularity(2, [], [{0}, {1}]) == 0
