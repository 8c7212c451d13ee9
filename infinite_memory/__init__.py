"""Infinite Memory: a long-term memory for AI assistants, on your own machine.

Importing this package is quick; heavy modules are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from infinite_memory.core.config import Config, Effective, load
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
        ReadOnly,
        SchemaTooNew,
        SchemaTooOld,
        ScopeNotCreated,
        StorageError,
        StorageUnavailable,
        StoreClosed,
        StoreDamaged,
        SummariserError,
        UnknownScope,
        WrongPassphrase,
    )
    from infinite_memory.core.observe.reads import Read
    from infinite_memory.core.observe.recorder import CacheUse, Metrics
    from infinite_memory.core.observe.timings import Timing
    from infinite_memory.core.protocols import (
        Embedder,
        Judge,
        Replacement,
        Search,
        Storage,
        SupportsCopyMark,
        SupportsDamage,
        SupportsIndex,
        SupportsKeys,
        SupportsNeighbors,
        SupportsReplacement,
        SupportsSimilar,
        SupportsSnapshot,
        SupportsTermCounts,
        SupportsTimeline,
        SupportsVerify,
    )
    from infinite_memory.core.values.access.key import AccessKey, KeyState, NewKey, Right
    from infinite_memory.core.values.archive.backup import Backup, BackupStep, Restored, RestoreMode
    from infinite_memory.core.values.archive.copying import Copied, CopyStep
    from infinite_memory.core.values.conversation.attachment import (
        Attachment,
        AttachmentContent,
        AttachmentMatch,
    )
    from infinite_memory.core.values.conversation.message import ChatMessage
    from infinite_memory.core.values.conversation.trigger import (
        Language,
        Occasion,
        Trigger,
        Verdict,
    )
    from infinite_memory.core.values.criteria import Depth, Mode
    from infinite_memory.core.values.draft import Draft
    from infinite_memory.core.values.dream.diary import Cycle, DreamedLink, DreamedTopic
    from infinite_memory.core.values.dream.pair import Judgement, Pair
    from infinite_memory.core.values.entry import Action, Actor, Entry, Operation
    from infinite_memory.core.values.exchange import ExchangeStep, Exported, Imported, ImportProblem
    from infinite_memory.core.values.hits import (
        Absence,
        Explanation,
        Hit,
        Hits,
        Predecessor,
        Reached,
        Step,
        Told,
    )
    from infinite_memory.core.values.link import Link, LinkType
    from infinite_memory.core.values.memory import Kind, Memory, Origin, Status
    from infinite_memory.core.values.profile import Profile
    from infinite_memory.core.values.recall_page import Digest, Landmark, Recalled
    from infinite_memory.core.values.receipt import (
        BulkReceipt,
        Feedback,
        FeedbackOutcome,
        KeyHolder,
        Outcome,
        Preview,
        Receipt,
        Searchable,
        Similar,
    )
    from infinite_memory.core.values.record import Page, Usage
    from infinite_memory.core.values.scope import Scope, Sensitivity
    from infinite_memory.core.values.time_range import Reading, TimeRange, format_range
    from infinite_memory.core.values.verification import (
        Diagnosis,
        Finding,
        RecordKind,
        State,
        Verification,
    )
    from infinite_memory.engine.health import Health, HealthStatus, ModelHealth
    from infinite_memory.engine.stats import Stats
    from infinite_memory.engine.undo.undo import Undone
    from infinite_memory.features.archive.copying import copy_store
    from infinite_memory.features.archive.exchange.graphs.values import ExportedGraph, GraphFormat
    from infinite_memory.features.background.dreamer.wanted import (
        DreamMaterial,
        GroupMaterial,
        PairMaterial,
    )
    from infinite_memory.features.graph.values import PathStep, Related, Relation
    from infinite_memory.features.overviews.values import (
        Briefing,
        BriefingItem,
        BriefingPart,
        BriefingSection,
        Highlight,
        Knowledge,
        KnownSummary,
    )
    from infinite_memory.features.reminders.long_term.values import (
        Activation,
        DueReminder,
        LongTermMemory,
        TriggerFailure,
    )
    from infinite_memory.features.sessions.ingested import Ingested
    from infinite_memory.search.linear import LinearSearch
    from infinite_memory.store.async_store import AsyncMemoryStore
    from infinite_memory.store.memory_store import MemoryStore
    from infinite_memory.times import find_range, read_range

__all__ = [
    "Absence",
    "AccessDenied",
    "AccessKey",
    "Action",
    "Activation",
    "Actor",
    "ArchiveDamaged",
    "ArchiveError",
    "ArchiveTooNew",
    "AsyncMemoryStore",
    "Attachment",
    "AttachmentContent",
    "AttachmentMatch",
    "Backup",
    "BackupStep",
    "Briefing",
    "BriefingItem",
    "BriefingPart",
    "BriefingSection",
    "BulkReceipt",
    "CacheUse",
    "ChatMessage",
    "Config",
    "ConfigurationError",
    "Conflict",
    "Copied",
    "CopyStep",
    "Cycle",
    "Depth",
    "Diagnosis",
    "Digest",
    "Draft",
    "DreamMaterial",
    "DreamedLink",
    "DreamedTopic",
    "DueReminder",
    "Effective",
    "Embedder",
    "EmbedderError",
    "Entry",
    "ExchangeStep",
    "Explanation",
    "Exported",
    "ExportedGraph",
    "Feedback",
    "FeedbackOutcome",
    "Finding",
    "GraphFormat",
    "GroupMaterial",
    "Health",
    "HealthStatus",
    "Highlight",
    "Hit",
    "Hits",
    "IdTaken",
    "ImportProblem",
    "Imported",
    "InfiniteMemoryError",
    "Ingested",
    "InvalidInput",
    "Judge",
    "JudgeError",
    "Judgement",
    "KeyElsewhere",
    "KeyHolder",
    "KeyState",
    "Kind",
    "Knowledge",
    "KnownSummary",
    "Landmark",
    "Language",
    "LinearSearch",
    "Link",
    "LinkType",
    "LongTermMemory",
    "Memory",
    "MemoryStore",
    "Metrics",
    "Mode",
    "ModelHealth",
    "NewKey",
    "NotEncrypted",
    "NotFound",
    "Occasion",
    "Operation",
    "Origin",
    "OutOfTime",
    "Outcome",
    "Page",
    "Pair",
    "PairMaterial",
    "PathStep",
    "Predecessor",
    "Preview",
    "Profile",
    "Reached",
    "Read",
    "ReadOnly",
    "Reading",
    "Recalled",
    "Receipt",
    "RecordKind",
    "Related",
    "Relation",
    "Replacement",
    "RestoreMode",
    "Restored",
    "Right",
    "SchemaTooNew",
    "SchemaTooOld",
    "Scope",
    "ScopeNotCreated",
    "Search",
    "Searchable",
    "Sensitivity",
    "Similar",
    "State",
    "Stats",
    "Status",
    "Step",
    "Storage",
    "StorageError",
    "StorageUnavailable",
    "StoreClosed",
    "StoreDamaged",
    "SummariserError",
    "SupportsCopyMark",
    "SupportsDamage",
    "SupportsIndex",
    "SupportsKeys",
    "SupportsNeighbors",
    "SupportsReplacement",
    "SupportsSimilar",
    "SupportsSnapshot",
    "SupportsTermCounts",
    "SupportsTimeline",
    "SupportsVerify",
    "TimeRange",
    "Timing",
    "Told",
    "Trigger",
    "TriggerFailure",
    "Undone",
    "UnknownScope",
    "Usage",
    "Verdict",
    "Verification",
    "WrongPassphrase",
    "copy_store",
    "find_range",
    "format_range",
    "load",
    "read_range",
]

_HOMES = {
    "core.config": ("Config", "Effective", "load"),
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
        "ReadOnly",
        "SchemaTooNew",
        "SchemaTooOld",
        "ScopeNotCreated",
        "StorageError",
        "StorageUnavailable",
        "StoreClosed",
        "StoreDamaged",
        "SummariserError",
        "UnknownScope",
        "WrongPassphrase",
    ),
    "core.values.access.key": ("AccessKey", "KeyState", "NewKey", "Right"),
    "features.overviews.values": (
        "Briefing",
        "BriefingItem",
        "BriefingPart",
        "BriefingSection",
        "Highlight",
        "Knowledge",
        "KnownSummary",
    ),
    "core.values.archive.backup": ("Backup", "BackupStep", "RestoreMode", "Restored"),
    "core.values.archive.copying": ("Copied", "CopyStep"),
    "core.values.conversation.message": ("ChatMessage",),
    "core.values.conversation.trigger": ("Language", "Occasion", "Trigger", "Verdict"),
    "core.values.conversation.attachment": ("Attachment", "AttachmentContent", "AttachmentMatch"),
    "core.values.criteria": ("Depth", "Mode"),
    "core.values.draft": ("Draft",),
    "core.values.dream.diary": ("Cycle", "DreamedLink", "DreamedTopic"),
    "core.values.dream.pair": ("Judgement", "Pair"),
    "features.background.dreamer.wanted": ("DreamMaterial", "GroupMaterial", "PairMaterial"),
    "core.values.entry": ("Action", "Actor", "Entry", "Operation"),
    "core.values.exchange": ("ExchangeStep", "Exported", "ImportProblem", "Imported"),
    "core.values.hits": (
        "Absence",
        "Explanation",
        "Hit",
        "Hits",
        "Predecessor",
        "Reached",
        "Step",
        "Told",
    ),
    "features.sessions.ingested": ("Ingested",),
    "features.reminders.long_term.values": (
        "Activation",
        "DueReminder",
        "LongTermMemory",
        "TriggerFailure",
    ),
    "features.archive.exchange.graphs.values": ("ExportedGraph", "GraphFormat"),
    "features.graph.values": ("PathStep", "Related", "Relation"),
    "core.values.link": ("Link", "LinkType"),
    "core.values.memory": ("Kind", "Memory", "Origin", "Status"),
    "core.values.profile": ("Profile",),
    "core.values.receipt": (
        "BulkReceipt",
        "Feedback",
        "FeedbackOutcome",
        "KeyHolder",
        "Preview",
        "Outcome",
        "Receipt",
        "Searchable",
        "Similar",
    ),
    "core.values.recall_page": ("Digest", "Landmark", "Recalled"),
    "core.values.record": ("Page", "Usage"),
    "core.values.scope": ("Scope", "Sensitivity"),
    "core.values.time_range": ("Reading", "TimeRange", "format_range"),
    "core.values.verification": ("Diagnosis", "Finding", "RecordKind", "State", "Verification"),
    "core.observe.reads": ("Read",),
    "core.observe.recorder": ("CacheUse", "Metrics"),
    "core.observe.timings": ("Timing",),
    "engine.health": ("Health", "HealthStatus", "ModelHealth"),
    "features.archive.copying": ("copy_store",),
    "engine.stats": ("Stats",),
    "engine.undo.undo": ("Undone",),
    "core.protocols": (
        "Embedder",
        "Judge",
        "Replacement",
        "Search",
        "Storage",
        "SupportsCopyMark",
        "SupportsDamage",
        "SupportsIndex",
        "SupportsKeys",
        "SupportsNeighbors",
        "SupportsReplacement",
        "SupportsSimilar",
        "SupportsSnapshot",
        "SupportsTermCounts",
        "SupportsTimeline",
        "SupportsVerify",
    ),
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
