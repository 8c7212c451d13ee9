"""Infinite Memory: a long-term memory for AI assistants, on your own machine.

Importing this package is quick; heavy modules are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from infinite_memory.archive.copying import copy_store
    from infinite_memory.config import Config, Effective, load
    from infinite_memory.conversations.ingested import Ingested
    from infinite_memory.conversations.long_term.values import (
        Activation,
        DueReminder,
        LongTermMemory,
        TriggerFailure,
    )
    from infinite_memory.dreamer.wanted import DreamMaterial, GroupMaterial, PairMaterial
    from infinite_memory.errors import (
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
    from infinite_memory.exchange.graphs.values import ExportedGraph, GraphFormat
    from infinite_memory.graph.values import PathStep, Related, Relation
    from infinite_memory.knowledge.values import Highlight, Knowledge, KnownSummary
    from infinite_memory.model.access.key import AccessKey, KeyState, NewKey, Right
    from infinite_memory.model.archive.backup import Backup, BackupStep, Restored, RestoreMode
    from infinite_memory.model.archive.copying import Copied, CopyStep
    from infinite_memory.model.conversation.attachment import (
        Attachment,
        AttachmentContent,
        AttachmentMatch,
    )
    from infinite_memory.model.conversation.message import ChatMessage
    from infinite_memory.model.conversation.trigger import Language, Occasion, Trigger, Verdict
    from infinite_memory.model.criteria import Depth, Mode
    from infinite_memory.model.draft import Draft
    from infinite_memory.model.dream.diary import Cycle, DreamedLink, DreamedTopic
    from infinite_memory.model.dream.pair import Judgement, Pair
    from infinite_memory.model.entry import Action, Actor, Entry, Operation
    from infinite_memory.model.exchange import ExchangeStep, Exported, Imported, ImportProblem
    from infinite_memory.model.hits import (
        Absence,
        Explanation,
        Hit,
        Hits,
        Predecessor,
        Reached,
        Step,
        Told,
    )
    from infinite_memory.model.link import Link, LinkType
    from infinite_memory.model.memory import Kind, Memory, Origin, Status
    from infinite_memory.model.profile import Profile
    from infinite_memory.model.recall_page import Digest, Landmark, Recalled
    from infinite_memory.model.receipt import (
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
    from infinite_memory.model.record import Page, Usage
    from infinite_memory.model.scope import Scope, Sensitivity
    from infinite_memory.model.time_range import Reading, TimeRange, format_range
    from infinite_memory.model.verification import (
        Diagnosis,
        Finding,
        RecordKind,
        State,
        Verification,
    )
    from infinite_memory.observe.reads import Read
    from infinite_memory.observe.recorder import CacheUse, Metrics
    from infinite_memory.observe.timings import Timing
    from infinite_memory.operations.briefing.values import (
        Briefing,
        BriefingItem,
        BriefingPart,
        BriefingSection,
    )
    from infinite_memory.operations.health import Health, HealthStatus, ModelHealth
    from infinite_memory.operations.stats import Stats
    from infinite_memory.operations.undo.undo import Undone
    from infinite_memory.protocols import (
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
    "config": ("Config", "Effective", "load"),
    "errors": (
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
    "model.access.key": ("AccessKey", "KeyState", "NewKey", "Right"),
    "knowledge.values": ("Highlight", "Knowledge", "KnownSummary"),
    "operations.briefing.values": ("Briefing", "BriefingItem", "BriefingPart", "BriefingSection"),
    "model.archive.backup": ("Backup", "BackupStep", "RestoreMode", "Restored"),
    "model.archive.copying": ("Copied", "CopyStep"),
    "model.conversation.message": ("ChatMessage",),
    "model.conversation.trigger": ("Language", "Occasion", "Trigger", "Verdict"),
    "model.conversation.attachment": ("Attachment", "AttachmentContent", "AttachmentMatch"),
    "model.criteria": ("Depth", "Mode"),
    "model.draft": ("Draft",),
    "model.dream.diary": ("Cycle", "DreamedLink", "DreamedTopic"),
    "model.dream.pair": ("Judgement", "Pair"),
    "dreamer.wanted": ("DreamMaterial", "GroupMaterial", "PairMaterial"),
    "model.entry": ("Action", "Actor", "Entry", "Operation"),
    "model.exchange": ("ExchangeStep", "Exported", "ImportProblem", "Imported"),
    "model.hits": (
        "Absence",
        "Explanation",
        "Hit",
        "Hits",
        "Predecessor",
        "Reached",
        "Step",
        "Told",
    ),
    "conversations.ingested": ("Ingested",),
    "conversations.long_term.values": (
        "Activation",
        "DueReminder",
        "LongTermMemory",
        "TriggerFailure",
    ),
    "exchange.graphs.values": ("ExportedGraph", "GraphFormat"),
    "graph.values": ("PathStep", "Related", "Relation"),
    "model.link": ("Link", "LinkType"),
    "model.memory": ("Kind", "Memory", "Origin", "Status"),
    "model.profile": ("Profile",),
    "model.receipt": (
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
    "model.recall_page": ("Digest", "Landmark", "Recalled"),
    "model.record": ("Page", "Usage"),
    "model.scope": ("Scope", "Sensitivity"),
    "model.time_range": ("Reading", "TimeRange", "format_range"),
    "model.verification": ("Diagnosis", "Finding", "RecordKind", "State", "Verification"),
    "observe.reads": ("Read",),
    "observe.recorder": ("CacheUse", "Metrics"),
    "observe.timings": ("Timing",),
    "operations.health": ("Health", "HealthStatus", "ModelHealth"),
    "archive.copying": ("copy_store",),
    "operations.stats": ("Stats",),
    "operations.undo.undo": ("Undone",),
    "protocols": (
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
