"""The scope that a cycle works on."""

from __future__ import annotations

import math
from random import Random

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import Status
from infinite_memory.engine.retrieval.recall_by_time import timeline_of
from infinite_memory.engine.scopes import known_scope
from infinite_memory.features.background.upkeep.context import JobContext

_FEWEST_MEMORIES = 2


def choose_scope(context: JobContext, random: Random) -> str | None:
    """Return a scope at random, in proportion to the square root of its memories.

    So a large scope has most cycles, and a small one has its turn. None if no scope has two.
    """
    names = frozenset(name for name, scope in context.scopes.items() if scope.active)
    if not names:
        return None
    criteria = Criteria(scopes=names, statuses=frozenset({Status.CURRENT}))
    counts = timeline_of(context.services, criteria).by_scope()
    large = sorted(name for name, count in counts.items() if count >= _FEWEST_MEMORIES)
    weights = [math.sqrt(counts[name]) for name in large]
    return random.choices(large, weights)[0] if large else None


def check_scope(context: JobContext, name: str) -> str:
    """Return the name of a scope that the dreamer may work on.

    Raises:
        UnknownScope: there is no such scope.
        InvalidInput: the dreamer leaves the scope alone.
    """
    services = context.services
    name = known_scope(name, services.storage.scopes(), services).name
    if name not in context.scopes:
        raise InvalidInput(
            f"the dreamer leaves the scope {name!r} alone, since it is private: to include it, set"
            " upkeep.scopes.NAME.include in the configuration"
        )
    return name
