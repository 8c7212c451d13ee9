"""The protocols of a storage, a search and an embedder; implementations need not subclass them.

An implementation of `Storage`, `Search` or `Embedder` must pass its contract in
`infinite_memory.testing`.
"""

from infinite_memory.core.protocols.embedder import Embedder
from infinite_memory.core.protocols.judge import Judge
from infinite_memory.core.protocols.lease import Lease, SupportsLease
from infinite_memory.core.protocols.search import (
    Search,
    SearchFactory,
    SupportsIndex,
    SupportsNeighbors,
    SupportsSimilar,
    SupportsTermCounts,
    SupportsTimeline,
    Timeline,
)
from infinite_memory.core.protocols.segmenter import Segmenter
from infinite_memory.core.protocols.storage import (
    Storage,
    SupportsBriefCalls,
    SupportsDamage,
    SupportsKeys,
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
    "SupportsIndex",
    "SupportsKeys",
    "SupportsLease",
    "SupportsNeighbors",
    "SupportsReplacement",
    "SupportsSimilar",
    "SupportsSnapshot",
    "SupportsTermCounts",
    "SupportsTimeline",
    "SupportsVerify",
    "Timeline",
    "TriggerEvaluator",
    "limit_to_brief_calls",
]
