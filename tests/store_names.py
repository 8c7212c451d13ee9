"""The public names of an open store and of its groups, read from the code."""

from __future__ import annotations

from infinite_memory import MemoryStore
from infinite_memory.store.attachments import Attachments
from infinite_memory.store.backups import Backups
from infinite_memory.store.bulk import Bulk
from infinite_memory.store.conversations import Conversations
from infinite_memory.store.dreams import Dreams
from infinite_memory.store.exchange import Exchange
from infinite_memory.store.graph import Graph
from infinite_memory.store.groups import StoreGroups
from infinite_memory.store.inbox import Inbox
from infinite_memory.store.journal import Journal
from infinite_memory.store.keys import AccessKeys
from infinite_memory.store.models import EmbeddingModels
from infinite_memory.store.profile import Profiles
from infinite_memory.store.projects import Projects
from infinite_memory.store.readings import Ids
from infinite_memory.store.scopes import Scopes
from infinite_memory.store.triggers import Triggers
from infinite_memory.store.upkeep import Upkeep

GROUPS = {
    "attachments": Attachments,
    "backups": Backups,
    "bulk": Bulk,
    "conversations": Conversations,
    "exchange": Exchange,
    "dreams": Dreams,
    "graph": Graph,
    "ids": Ids,
    "inbox": Inbox,
    "journal": Journal,
    "keys": AccessKeys,
    "models": EmbeddingModels,
    "profile": Profiles,
    "projects": Projects,
    "scopes": Scopes,
    "triggers": Triggers,
    "upkeep": Upkeep,
}
_OPERATORS = {"__iter__", "__getitem__"}


def public_names() -> list[str]:
    """Return what can be called or read on a store: "search", "scopes.create", and so on."""
    of_groups = [
        f"{group}.{name}"
        for group, kind in GROUPS.items()
        for name in dir(kind)
        if not name.startswith("_") or name in _OPERATORS
    ]
    verbs = (name for name in dir(MemoryStore) if not name.startswith("_"))
    return [*(name for name in verbs if name not in vars(StoreGroups)), *of_groups]
