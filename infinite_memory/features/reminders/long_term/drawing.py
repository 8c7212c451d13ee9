"""Draw a few of many by a seed, the same ones everywhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import TypeVar

Value = TypeVar("Value")


def draw(values: Sequence[Value], seed: int) -> Iterator[Value]:
    """Yield the values in a random order that the seed decides, each once.

    The first steps of the shuffle by Fisher and Yates (Knuth, The Art of Computer Programming,
    volume 2, algorithm P): the next value is at the place i + floor(u * (n - i)), where u is the
    next number of `random.Random(seed)`, which gives the same numbers in every version of Python.
    """
    numbers, order = Random(seed), list(range(len(values)))
    for place in range(len(order)):
        chosen = place + int(numbers.random() * (len(order) - place))
        order[place], order[chosen] = order[chosen], order[place]
        yield values[order[place]]
