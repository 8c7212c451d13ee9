"""The lines of the picture: one for each pair of memories, and no more than a reader can follow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import frozen

from infinite_memory.features.archive.exchange.graphs.values import GraphEdge

_MOST_COMPUTED = 3


@frozen
class PictureLine:
    """All edges between two memories, stored links first, then the strongest."""

    edges: Sequence[GraphEdge]

    @property
    def ends(self) -> tuple[str, str]:
        """The ids of the two memories."""
        return self.edges[0].source, self.edges[0].target

    @property
    def weight(self) -> float:
        """The weight of the strongest edge."""
        return max(edge.weight for edge in self.edges)

    @property
    def is_stored(self) -> bool:
        """Whether one of the edges is a stored link."""
        return self.edges[0].is_stored


def choose_lines(edges: Iterable[GraphEdge]) -> list[PictureLine]:
    """Return the lines to draw, strongest first.

    Every stored link is drawn. A pair that only computed relations join is drawn if it is among the
    three strongest of either memory.
    """
    pairs: dict[tuple[str, ...], list[GraphEdge]] = {}
    for edge in edges:
        if edge.source != edge.target:
            pairs.setdefault(tuple(sorted((edge.source, edge.target))), []).append(edge)
    lines = [
        PictureLine(sorted(pair, key=lambda edge: (not edge.is_stored, -edge.weight, edge.type)))
        for pair in pairs.values()
    ]
    lines.sort(key=lambda line: (-line.weight, line.ends))
    computed: dict[str, int] = {}
    drawn = []
    for line in lines:
        if not line.is_stored:
            if all(computed.get(end, 0) >= _MOST_COMPUTED for end in line.ends):
                continue
            for end in line.ends:
                computed[end] = computed.get(end, 0) + 1
        drawn.append(line)
    return drawn
