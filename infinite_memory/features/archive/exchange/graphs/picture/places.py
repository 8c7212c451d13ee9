"""Where the memories of a picture stand."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from infinite_memory.features.archive.exchange.graphs.picture.lines import PictureLine

Place = tuple[float, float]
_Weights = dict[str, dict[str, float]]

_SEED = 7
_ITERATIONS = 200
# How much wider than high the whole is before it is stretched over the page.
_ASPECT = 1.5
_GAP = 0.6
_PUSHES = 60
# Two places are taken to be at least so far apart.
_NEAREST = 0.01
# Less than this is no difference between two places.
_LEVEL = 1e-3


def find_places(ids: Sequence[str], lines: Iterable[PictureLine]) -> dict[str, Place]:
    """Return a place for each id, with both coordinates in [0, 1]; equal graphs get equal places.

    Memories that lines join stand together, placed by the forces of T. Fruchterman and E. Reingold
    ("Graph drawing by force-directed placement", 1991). The groups stand side by side in rows, the
    largest first.
    """
    weights: _Weights = {memory_id: {} for memory_id in ids}
    for line in lines:
        first, second = line.ends
        weights[first][second] = weights[second][first] = line.weight
    order = {memory_id: number for number, memory_id in enumerate(ids)}
    groups = sorted(
        (sorted(group, key=order.__getitem__) for group in _list_groups(weights)),
        key=lambda group: (-len(group), order[group[0]]),
    )
    places = _put_in_rows([_place_group(weights, group) for group in groups])
    return _stretch_places(_push_apart(_stretch_places(places)))


def _list_groups(weights: _Weights) -> Iterator[set[str]]:
    """Yield the memories that lines join, directly or by others."""
    seen: set[str] = set()
    for memory_id in weights:
        group: set[str] = set()
        waiting = set() if memory_id in seen else {memory_id}
        while waiting:
            group |= waiting
            waiting = {other for reached in waiting for other in weights[reached]} - group
        seen |= group
        if group:
            yield group


def _place_group(weights: _Weights, ids: Sequence[str]) -> dict[str, Place]:
    """Return places of a group in a square whose area grows with the number of memories."""
    if len(ids) == 1:
        return {ids[0]: (0.0, 0.0)}
    side = math.sqrt(len(ids))
    if len(ids) == 2:
        return {ids[0]: (0.0, 0.0), ids[1]: (side, 0.0)}
    pulls = np.array([[weights[first].get(second, 0.0) for second in ids] for first in ids])
    places = _settle_places(pulls, 1.6 / side)
    unit = _stretch_places(
        {key: (float(x), float(y)) for key, (x, y) in zip(ids, places, strict=True)}
    )
    return {memory_id: (side * x, side * y) for memory_id, (x, y) in unit.items()}


def _settle_places(pulls: NDArray[np.float64], distance: float) -> NDArray[np.float64]:
    """Return places in which lines of weight 1 alone would be about `distance` long.

    Each two memories push each other apart, and lines pull theirs together; the steps that they
    may move become shorter until the end.
    """
    at = np.random.default_rng(_SEED).random((len(pulls), 2))
    for longest in np.linspace(0.1, 0.0, _ITERATIONS, endpoint=False):
        way = at[:, None] - at[None]
        length = np.maximum(np.linalg.norm(way, axis=2), _NEAREST)
        force = (way * (distance**2 / length**2 - pulls * length / distance)[:, :, None]).sum(
            axis=1
        )
        size = np.maximum(np.linalg.norm(force, axis=1, keepdims=True), _NEAREST)
        at += force / size * longest
    return at


def _put_in_rows(groups: Sequence[Mapping[str, Place]]) -> dict[str, Place]:
    """Return the places of all groups, side by side in rows that are about equally wide."""
    sizes = [(_measure_extent(group, 0), _measure_extent(group, 1)) for group in groups]
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


def _measure_extent(places: Mapping[str, Place], axis: int) -> float:
    values = [place[axis] for place in places.values()]
    return max(values) - min(values)


def _stretch_places(places: Mapping[str, Place]) -> dict[str, Place]:
    """Return the places over all of [0, 1]; the middle on an axis on which they do not differ."""
    if not places:
        return {}
    lows = [min(place[axis] for place in places.values()) for axis in (0, 1)]
    extents = [_measure_extent(places, axis) for axis in (0, 1)]

    def scale(place: Place, axis: int) -> float:
        return (place[axis] - lows[axis]) / extents[axis] if extents[axis] > _LEVEL else 0.5

    return {memory_id: (scale(place, 0), scale(place, 1)) for memory_id, place in places.items()}
