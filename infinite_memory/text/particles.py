"""Words that strengthen or add: what a sentence says is the same without them."""

from __future__ import annotations

import re

from infinite_memory.text.commas import DENIAL

__all__ = ["without_particles"]

_PARTICLES = ("really", "actually")
_LAST_PARTICLES = ("too", "as well")
_REALLY = re.compile(r"(?<=\w) (?:really|actually)(?= [a-z]+(?<!ed)\b)")
_TOO = re.compile(r"(?<=[a-z]),? (?:too|as well)$")


def without_particles(text: str) -> str:
    """Return `text` without "really" and "too", unless it denies something."""
    particle = text.endswith(_LAST_PARTICLES) or any(map(text.__contains__, _PARTICLES))
    if particle and not DENIAL.search(text):
        text = _TOO.sub("", _REALLY.sub("", text))
    return text
