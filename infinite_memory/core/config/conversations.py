"""The settings of the memory of conversations."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator, Field

from infinite_memory.core.config.section import Section


def _parse_weights(value: object) -> object:
    """Return a mapping; a variable of the environment holds it as a JSON object."""
    return json.loads(value) if isinstance(value, str) else value


_Weight = Annotated[float, Field(ge=0, le=1000)]
_Number = Annotated[int, Field(ge=0, le=100)]


class ShortTerm(Section):
    """The constants of short-term memory; their formulas are in `features.chats.short_term`.

    - `keyword_factor`, `counted_words`, `prior_memories`: the scale of the weight of a keyword, the
      number of words of which a word of a longer message counts as one, and the number of memories
      without the word that every conversation is taken to begin with.
    - `role_weights`: what a keyword counts by the role of the message; 1 for a further role.
    - `most_keywords`, `least_weight`: how many keywords are kept, and the least weight of one.
    - `most_penalty`, `penalty_per_millisecond`: the penalty of a memory that is infinitely old, and
      how fast it is reached.
    - `threshold`: the least relevance of a memory that comes up.
    - `top`, `next`, `flashbacks`: how many memories are chosen in each tier. `top_gain` and
      `next_gain` are added to the activation of those that are chosen.
    - `recent_minutes`: nothing so recent comes up. `apart_minutes`: nothing so near in time to a
      memory that was chosen before it.
    - `keep`, `keep_days`, `least_vitality`: the cleanup archives what is older than `keep_days`, or
      whose activation less penalty is under `least_vitality`, and always keeps `keep` memories of a
      conversation.
    """

    keyword_factor: _Weight = 5.0
    counted_words: Annotated[int, Field(ge=1, le=100_000)] = 30
    prior_memories: Annotated[int, Field(ge=1, le=1_000_000)] = 1000
    role_weights: Annotated[Mapping[str, _Weight], BeforeValidator(_parse_weights)] = {
        "user": 2.7,
        "assistant": 2.0,
        "system": 1.0,
    }
    most_keywords: Annotated[int, Field(ge=1, le=1000)] = 72
    least_weight: _Weight = 0.8
    most_penalty: _Weight = 15.0
    penalty_per_millisecond: Annotated[float, Field(ge=0, le=1)] = 2e-9
    threshold: Annotated[float, Field(ge=-1000, le=1000)] = 5.0
    top: _Number = 2
    next: _Number = 1
    flashbacks: _Number = 2
    top_gain: _Weight = 5.0
    next_gain: _Weight = 2.0
    recent_minutes: Annotated[float, Field(ge=0, le=1_000_000)] = 20.0
    apart_minutes: Annotated[float, Field(ge=0, le=1_000_000)] = 10.0
    keep: Annotated[int, Field(ge=0, le=1_000_000)] = 512
    keep_days: Annotated[float, Field(gt=0, le=100_000)] = 365.0
    least_vitality: Annotated[float, Field(ge=-1000, le=1000)] = -5.0
