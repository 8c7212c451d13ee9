"""Infinite Memory: a long-term memory for AI assistants, on your own machine.

Importing this package is quick; heavy modules are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from infinite_memory.core.config import Config, load
    from infinite_memory.core.errors import (
        AccessDenied,
        ArchiveDamaged,
        ArchiveError,
        ArchiveTooNew,
        ConfigurationError,
        Conflict,
        EmbedderError,
        IdTaken,
        InfiniteMemoryError,
        InvalidInput,
        JudgeError,
        KeyElsewhere,
        NotEncrypted,
        NotFound,
        OutOfTime,
        QuotaExceeded,
        ReadOnly,
        SchemaTooNew,
        SchemaTooOld,
        ScopeNotCreated,
        SecretRefused,
        StorageError,
        StorageUnavailable,
        StoreClosed,
        StoreDamaged,
        SummariserError,
        UnknownScope,
        WrongPassphrase,
    )
    from infinite_memory.core.observe.reads import Read
    from infinite_memory.core.observe.recorder import Metrics
    from infinite_memory.core.protocols import Embedder, Judge, Search, Storage
    from infinite_memory.core.values.access.key import AccessKey, NewKey, Right
    from infinite_memory.core.values.access.scope_pattern import scope_part
    from infinite_memory.core.values.archive.backup import Backup, Restored, RestoreMode
    from infinite_memory.core.values.archive.copying import Copied
    from infinite_memory.core.values.conversation.attachment import Attachment
    from infinite_memory.core.values.conversation.message import ChatMessage
    from infinite_memory.core.values.conversation.trigger import (
        Language,
        Occasion,
        Trigger,
        Verdict,
    )
    from infinite_memory.core.values.criteria import Depth, Mode
    from infinite_memory.core.values.draft import Draft
    from infinite_memory.core.values.dream.pair import Judgement, Pair
    from infinite_memory.core.values.entry import Entry
    from infinite_memory.core.values.exchange import Exported, Imported
    from infinite_memory.core.values.hits import Absence, Hit, Hits
    from infinite_memory.core.values.link import Link, LinkType
    from infinite_memory.core.values.memory import Kind, Memory, Origin, Status
    from infinite_memory.core.values.profile import Profile
    from infinite_memory.core.values.recall_page import Recalled
    from infinite_memory.core.values.receipt import BulkReceipt, Outcome, Preview, Receipt
    from infinite_memory.core.values.record import Page
    from infinite_memory.core.values.scope import Scope, Sensitivity
    from infinite_memory.core.values.time_range import TimeRange, format_range
    from infinite_memory.core.values.verification import Verification
    from infinite_memory.engine.health import Health
    from infinite_memory.engine.stats import Stats
    from infinite_memory.engine.undo.undo import Undone
    from infinite_memory.features.archive.copying import copy_store
    from infinite_memory.features.graph.values import Related, Relation
    from infinite_memory.features.overviews.values import Briefing, Knowledge
    from infinite_memory.features.reminders.long_term.values import LongTermMemory
    from infinite_memory.search.linear import LinearSearch
    from infinite_memory.store.async_store import AsyncMemoryStore
    from infinite_memory.store.memory_store import MemoryStore
    from infinite_memory.times import find_range, read_range

__all__ = [
    "Absence",
    "AccessDenied",
    "AccessKey",
    "ArchiveDamaged",
    "ArchiveError",
    "ArchiveTooNew",
    "AsyncMemoryStore",
    "Attachment",
    "Backup",
    "Briefing",
    "BulkReceipt",
    "ChatMessage",
    "Config",
    "ConfigurationError",
    "Conflict",
    "Copied",
    "Depth",
    "Draft",
    "Embedder",
    "EmbedderError",
    "Entry",
    "Exported",
    "Health",
    "Hit",
    "Hits",
    "IdTaken",
    "Imported",
    "InfiniteMemoryError",
    "InvalidInput",
    "Judge",
    "JudgeError",
    "Judgement",
    "KeyElsewhere",
    "Kind",
    "Knowledge",
    "Language",
    "LinearSearch",
    "Link",
    "LinkType",
    "LongTermMemory",
    "Memory",
    "MemoryStore",
    "Metrics",
    "Mode",
    "NewKey",
    "NotEncrypted",
    "NotFound",
    "Occasion",
    "Origin",
    "OutOfTime",
    "Outcome",
    "Page",
    "Pair",
    "Preview",
    "Profile",
    "QuotaExceeded",
    "Read",
    "ReadOnly",
    "Recalled",
    "Receipt",
    "Related",
    "Relation",
    "RestoreMode",
    "Restored",
    "Right",
    "SchemaTooNew",
    "SchemaTooOld",
    "Scope",
    "ScopeNotCreated",
    "Search",
    "SecretRefused",
    "Sensitivity",
    "Stats",
    "Status",
    "Storage",
    "StorageError",
    "StorageUnavailable",
    "StoreClosed",
    "StoreDamaged",
    "SummariserError",
    "TimeRange",
    "Trigger",
    "Undone",
    "UnknownScope",
    "Verdict",
    "Verification",
    "WrongPassphrase",
    "copy_store",
    "find_range",
    "format_range",
    "load",
    "read_range",
    "scope_part",
]

_HOMES = {
    "core.config": ("Config", "load"),
    "core.errors": (
        "AccessDenied",
        "ArchiveDamaged",
        "ArchiveError",
        "ArchiveTooNew",
        "ConfigurationError",
        "Conflict",
        "EmbedderError",
        "IdTaken",
        "InfiniteMemoryError",
        "InvalidInput",
        "JudgeError",
        "KeyElsewhere",
        "NotEncrypted",
        "NotFound",
        "OutOfTime",
        "QuotaExceeded",
        "ReadOnly",
        "SchemaTooNew",
        "SchemaTooOld",
        "ScopeNotCreated",
        "SecretRefused",
        "StorageError",
        "StorageUnavailable",
        "StoreClosed",
        "StoreDamaged",
        "SummariserError",
        "UnknownScope",
        "WrongPassphrase",
    ),
    "core.values.access.key": ("AccessKey", "NewKey", "Right"),
    "core.values.access.scope_pattern": ("scope_part",),
    "features.overviews.values": ("Briefing", "Knowledge"),
    "core.values.archive.backup": ("Backup", "RestoreMode", "Restored"),
    "core.values.archive.copying": ("Copied",),
    "core.values.conversation.message": ("ChatMessage",),
    "core.values.conversation.trigger": ("Language", "Occasion", "Trigger", "Verdict"),
    "core.values.conversation.attachment": ("Attachment",),
    "core.values.criteria": ("Depth", "Mode"),
    "core.values.draft": ("Draft",),
    "core.values.dream.pair": ("Judgement", "Pair"),
    "core.values.entry": ("Entry",),
    "core.values.exchange": ("Exported", "Imported"),
    "core.values.hits": ("Absence", "Hit", "Hits"),
    "features.reminders.long_term.values": ("LongTermMemory",),
    "features.graph.values": ("Related", "Relation"),
    "core.values.link": ("Link", "LinkType"),
    "core.values.memory": ("Kind", "Memory", "Origin", "Status"),
    "core.values.profile": ("Profile",),
    "core.values.receipt": ("BulkReceipt", "Preview", "Outcome", "Receipt"),
    "core.values.recall_page": ("Recalled",),
    "core.values.record": ("Page",),
    "core.values.scope": ("Scope", "Sensitivity"),
    "core.values.time_range": ("TimeRange", "format_range"),
    "core.values.verification": ("Verification",),
    "core.observe.reads": ("Read",),
    "core.observe.recorder": ("Metrics",),
    "engine.health": ("Health",),
    "features.archive.copying": ("copy_store",),
    "engine.stats": ("Stats",),
    "engine.undo.undo": ("Undone",),
    "core.protocols": ("Embedder", "Judge", "Search", "Storage"),
    "search.linear": ("LinearSearch",),
    "store.async_store": ("AsyncMemoryStore",),
    "store.memory_store": ("MemoryStore",),
    "times": ("find_range", "read_range"),
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
