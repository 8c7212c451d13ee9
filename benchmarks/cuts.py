"""What a search shows when it is asked, and when it is pushed: recalled without being asked."""

from __future__ import annotations

import inspect
from typing import Any

from infinite_memory import MemoryStore
from infinite_memory.core.values.hits import Hits

CUTS = ("asked", "pushed")
_PUSHED = 3
_HAS_CUT = "cut" in inspect.signature(MemoryStore.search).parameters


def search_cut(store: MemoryStore, text: str, cut: str, **conditions: Any) -> Hits:
    """Return the hits that are shown; without a cut of that name ten, of the pushed three."""
    if _HAS_CUT:
        conditions["cut"] = cut
    elif cut == "pushed":
        conditions["limit"] = _PUSHED
    return store.search(text, **conditions)
