"""The protocols of a storage, a search and an embedder; implementations need not subclass them.

An implementation of `Storage`, `Search` or `Embedder` must pass its contract in
`infinite_memory.testing`.

A module is imported when one of its names is first asked for: few commands need every protocol.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from infinite_memory.core.protocols.embedder import Embedder
    from infinite_memory.core.protocols.judge import Judge
    from infinite_memory.core.protocols.lease import Lease, SupportsLease
    from infinite_memory.core.protocols.search import (
        Search,
        SearchFactory,
        SupportsErasure,
        SupportsIndex,
        SupportsNeighbors,
        SupportsSimilar,
        SupportsTimeline,
        Timeline,
        discard_erased,
    )
    from infinite_memory.core.protocols.segmenter import Segmenter
    from infinite_memory.core.protocols.storage import (
        Storage,
        SupportsBriefCalls,
        SupportsDamage,
        SupportsKeptCounts,
        SupportsKeys,
        SupportsPartitions,
        SupportsScopeFeed,
        SupportsTagCounts,
        SupportsUsageChanges,
        SupportsVerify,
        limit_to_brief_calls,
    )
    from infinite_memory.core.protocols.summariser import Summariser
    from infinite_memory.core.protocols.trigger_evaluator import TriggerEvaluator
    from infinite_memory.core.protocols.whole_store import (
        Replacement,
        SupportsCopyMark,
        SupportsReplacement,
        SupportsSnapshot,
    )

__all__ = [
    "Embedder",
    "Judge",
    "Lease",
    "Replacement",
    "Search",
    "SearchFactory",
    "Segmenter",
    "Storage",
    "Summariser",
    "SupportsBriefCalls",
    "SupportsCopyMark",
    "SupportsDamage",
    "SupportsErasure",
    "SupportsIndex",
    "SupportsKeptCounts",
    "SupportsKeys",
    "SupportsLease",
    "SupportsNeighbors",
    "SupportsPartitions",
    "SupportsReplacement",
    "SupportsScopeFeed",
    "SupportsSimilar",
    "SupportsSnapshot",
    "SupportsTagCounts",
    "SupportsTimeline",
    "SupportsUsageChanges",
    "SupportsVerify",
    "Timeline",
    "TriggerEvaluator",
    "discard_erased",
    "limit_to_brief_calls",
]

_HOMES = {
    "embedder": ("Embedder",),
    "judge": ("Judge",),
    "lease": (
        "Lease",
        "SupportsLease",
    ),
    "search": (
        "Search",
        "SearchFactory",
        "SupportsErasure",
        "SupportsIndex",
        "SupportsNeighbors",
        "SupportsSimilar",
        "SupportsTimeline",
        "Timeline",
        "discard_erased",
    ),
    "segmenter": ("Segmenter",),
    "storage": (
        "Storage",
        "SupportsBriefCalls",
        "SupportsDamage",
        "SupportsKeptCounts",
        "SupportsKeys",
        "SupportsPartitions",
        "SupportsScopeFeed",
        "SupportsTagCounts",
        "SupportsUsageChanges",
        "SupportsVerify",
        "limit_to_brief_calls",
    ),
    "summariser": ("Summariser",),
    "trigger_evaluator": ("TriggerEvaluator",),
    "whole_store": (
        "Replacement",
        "SupportsCopyMark",
        "SupportsReplacement",
        "SupportsSnapshot",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a protocol when it is first asked for."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value
