"""Infinite Memory: a long-term memory for AI assistants, on your own machine.

Importing this package is quick; what is heavy is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from infinite_memory.config import Config, Effective, load
    from infinite_memory.errors import (
        ConfigurationError,
        Conflict,
        EmbedderError,
        InfiniteMemoryError,
        InvalidInput,
        NotFound,
        SchemaTooNew,
        StorageError,
        StorageUnavailable,
        StoreClosed,
        StoreDamaged,
        UnknownScope,
    )
    from infinite_memory.model.depth import Depth
    from infinite_memory.model.draft import Draft
    from infinite_memory.model.findings import Finding, Part, Verification
    from infinite_memory.model.hits import Absence, Explanation, Hit, Hits, Step
    from infinite_memory.model.memory import Kind, Memory, Origin, Status
    from infinite_memory.model.receipt import Outcome, Receipt, Searchable
    from infinite_memory.model.record import Page
    from infinite_memory.model.scope import Scope, Sensitivity
    from infinite_memory.operations.stats import Stats
    from infinite_memory.protocols import Embedder, Storage, SupportsVerify
    from infinite_memory.store import MemoryStore

__all__ = [
    "Absence",
    "Config",
    "ConfigurationError",
    "Conflict",
    "Depth",
    "Draft",
    "Effective",
    "Embedder",
    "EmbedderError",
    "Explanation",
    "Finding",
    "Hit",
    "Hits",
    "InfiniteMemoryError",
    "InvalidInput",
    "Kind",
    "Memory",
    "MemoryStore",
    "NotFound",
    "Origin",
    "Outcome",
    "Page",
    "Part",
    "Receipt",
    "SchemaTooNew",
    "Scope",
    "Searchable",
    "Sensitivity",
    "Stats",
    "Status",
    "Step",
    "Storage",
    "StorageError",
    "StorageUnavailable",
    "StoreClosed",
    "StoreDamaged",
    "SupportsVerify",
    "UnknownScope",
    "Verification",
    "load",
]

_HOMES = {
    "config": ("Config", "Effective", "load"),
    "errors": (
        "ConfigurationError",
        "Conflict",
        "EmbedderError",
        "InfiniteMemoryError",
        "InvalidInput",
        "NotFound",
        "SchemaTooNew",
        "StorageError",
        "StorageUnavailable",
        "StoreClosed",
        "StoreDamaged",
        "UnknownScope",
    ),
    "model.depth": ("Depth",),
    "model.draft": ("Draft",),
    "model.findings": ("Finding", "Part", "Verification"),
    "model.hits": ("Absence", "Explanation", "Hit", "Hits", "Step"),
    "model.memory": ("Kind", "Memory", "Origin", "Status"),
    "model.receipt": ("Outcome", "Receipt", "Searchable"),
    "model.record": ("Page",),
    "model.scope": ("Scope", "Sensitivity"),
    "operations.stats": ("Stats",),
    "protocols": ("Embedder", "Storage", "SupportsVerify"),
    "store": ("MemoryStore",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, imported yet or not."""
    return sorted({*globals(), *__all__})
