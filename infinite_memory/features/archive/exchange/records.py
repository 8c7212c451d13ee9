"""The records that a reader of a source yields, whatever the format."""

from __future__ import annotations

from datetime import datetime
from enum import Enum
from typing import TypeAlias

from attrs import frozen

from infinite_memory.core.values.draft import Draft
from infinite_memory.core.values.exchange import ImportProblem
from infinite_memory.core.values.link import LinkType
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.scope import Scope


class Naming(Enum):
    """What the id of a memory of a source is made of.

    `UNIQUE`: a name that nothing else has, such as a UUID. `SOURCE`: a name that another source may
    give to something else. `PLACE`: the whole path of a file, which a copy does not have.
    """

    UNIQUE = "unique"
    SOURCE = "source"
    PLACE = "place"


@frozen(kw_only=True)
class DraftRecord:
    """A memory of another product. The id of the draft is the same in every reading.

    The draft is not checked yet. `naming` says what its id is made of, and `earlier_ids` are ids
    that earlier versions gave it. `file` and
    `where` name its place for an error. `guesses_time` says that its time is not from the source
    itself, but from the file, which a copy may change; `is_final` that the source never changes it,
    such as a message that was sent.
    """

    file: str
    where: str
    draft: Draft
    naming: Naming = Naming.SOURCE
    earlier_ids: tuple[str, ...] = ()
    guesses_time: bool = False
    is_final: bool = False


@frozen(kw_only=True)
class MemoryRecord:
    """A memory that this library exported: its revisions, oldest first, the current one last.

    Without history a format has the current revision alone.
    """

    file: str
    where: str
    revisions: tuple[Memory, ...]
    has_history: bool = False


@frozen(kw_only=True)
class LinkRecord:
    """A link between two memories of the source, or of the store.

    `made_at` None means the time of the import; an existing link then stays as it is.
    """

    file: str
    where: str
    source: str
    target: str
    type: LinkType
    weight: float = 1.0
    made_by: str = ""
    reason: str = ""
    made_at: datetime | None = None


@frozen(kw_only=True)
class ScopeRecord:
    """A scope that this library exported."""

    file: str
    where: str
    scope: Scope


Item: TypeAlias = DraftRecord | MemoryRecord | LinkRecord | ScopeRecord | ImportProblem
"""A record, or the reason why a record cannot be used."""
