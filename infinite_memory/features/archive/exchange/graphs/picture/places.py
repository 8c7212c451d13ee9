"""Where the memories of a picture stand."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from infinite_memory.features.archive.exchange.graphs.picture.lines import PictureLine

Place = tuple[float, float]

_SEED = 7
_ITERATIONS = 200
# How much wider than high the whole is before it is stretched over the page.
_ASPECT = 1.5
_GAP = 0.6
_PUSHES = 60
# Less than this is no difference between two places.
_LEVEL = 1e-3


def find_places(ids: Sequence[str], lines: Iterable[PictureLine]) -> dict[str, Place]:
    """Return a place for each id, with both coordinates in [0, 1]; equal graphs get equal places.

    Memories that lines join stand together, placed by the forces of T. Fruchterman and E. Reingold
    ("Graph drawing by force-directed placement", 1991). The groups stand side by side in rows, the
    largest first.
    """
    import networkx as nx  # noqa: PLC0415 -- its import takes a tenth of a second

    graph = nx.Graph()
    graph.add_nodes_from(ids)
    graph.add_weighted_edges_from((*line.ends, line.weight) for line in lines)
    order = {memory_id: number for number, memory_id in enumerate(ids)}
    groups = sorted(
        (sorted(group, key=order.__getitem__) for group in nx.connected_components(graph)),
        key=lambda group: (-len(group), order[group[0]]),
    )
    places = _put_in_rows([_place_group(graph.subgraph(group), group) for group in groups])
    return _stretch(_push_apart(_stretch(places)))


def _place_group(graph: Any, ids: Sequence[str]) -> dict[str, Place]:
    """Return places of a group in a square whose area grows with the number of memories."""
    import networkx as nx  # noqa: PLC0415 -- as above

    if len(ids) == 1:
        return {ids[0]: (0.0, 0.0)}
    side = math.sqrt(len(ids))
    if len(ids) == 2:
        return {ids[0]: (0.0, 0.0), ids[1]: (side, 0.0)}
    # The order of nodes decides the result, and that of a subgraph is not fixed.
    ordered = nx.Graph()
    ordered.add_nodes_from(ids)
    ordered.add_weighted_edges_from(sorted(graph.edges(data="weight")))
    places = nx.spring_layout(
        ordered, k=1.6 / side, iterations=_ITERATIONS, weight="weight", seed=_SEED
    )
    unit = _stretch({memory_id: (float(x), float(y)) for memory_id, (x, y) in places.items()})
    return {memory_id: (side * x, side * y) for memory_id, (x, y) in unit.items()}


def _put_in_rows(groups: Sequence[Mapping[str, Place]]) -> dict[str, Place]:
    """Return the places of all groups, side by side in rows that are about equally wide."""
    sizes = [(_extent(group, 0), _extent(group, 1)) for group in groups]
    area = sum((width + _GAP) * (height + _GAP) for width, height in sizes)
    most = max([math.sqrt(area * _ASPECT), *(width for width, _ in sizes)], default=0.0)
    places: dict[str, Place] = {}
    left = top = row = 0.0
    for group, (width, height) in zip(groups, sizes, strict=True):
        if left and left + width > most:
            left, top, row = 0.0, top - row - _GAP, 0.0
        for memory_id, (x, y) in group.items():
            places[memory_id] = left + x, top - height + y
        left, row = left + width + _GAP, max(row, height)
    return places


def _push_apart(places: Mapping[str, Place]) -> dict[str, Place]:
    """Return the places, moved so far that few marks cover each other.

    Two memories nearer than half the distance that they had in a grid each move half the way that
    is missing, over and over.
    """
    if len(places) < 2:
        return dict(places)
    shape = np.array([_ASPECT, 1.0])
    at = np.array(list(places.values())) * shape
    least = 0.5 * math.sqrt(_ASPECT / len(at))
    # Memories at one place need a direction, each its own.
    angles = np.arange(len(at)) * math.pi * (3 - math.sqrt(5))
    at += 1e-6 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    for _ in range(_PUSHES):
        way = at[:, None] - at[None]
        distance = np.linalg.norm(way, axis=2)
        np.fill_diagonal(distance, np.inf)
        missing = np.maximum(0.0, least - distance) / 2
        at += (way * (missing / distance)[:, :, None]).sum(axis=1)
    return {key: (float(x), float(y)) for key, (x, y) in zip(places, at / shape, strict=True)}


def _extent(places: Mapping[str, Place], axis: int) -> float:
    values = [place[axis] for place in places.values()]
    return max(values) - min(values)


def _stretch(places: Mapping[str, Place]) -> dict[str, Place]:
    """Return the places over all of [0, 1]; the middle on an axis on which they do not differ."""
    if not places:
        return {}
    lows = [min(place[axis] for place in places.values()) for axis in (0, 1)]
    extents = [_extent(places, axis) for axis in (0, 1)]

    def scale(place: Place, axis: int) -> float:
        return (place[axis] - lows[axis]) / extents[axis] if extents[axis] > _LEVEL else 0.5

    return {memory_id: (scale(place, 0), scale(place, 1)) for memory_id, place in places.items()}
