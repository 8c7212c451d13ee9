"""What a storage keeps, and the writes it carries out."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TypeAlias

import numpy as np
from attrs import cmp_using, field, frozen
from numpy.typing import NDArray

from infinite_memory.model.content_hash import content_hash
from infinite_memory.model.criteria import Criteria
from infinite_memory.model.entry import Action
from infinite_memory.model.link import Link, LinkType
from infinite_memory.model.memory import Memory, Status
from infinite_memory.model.scope import Scope
from infinite_memory.model.time_range import Reading

__all__ = [
    "Attach",
    "Change",
    "Changes",
    "Detach",
    "Embedding",
    "Erase",
    "EraseLink",
    "EraseScope",
    "ExpectContent",
    "ExpectKey",
    "ExpectScopes",
    "Log",
    "Page",
    "Put",
    "PutLink",
    "PutScope",
    "Record",
    "Size",
    "Write",
]


@frozen(kw_only=True)
class Embedding:
    """The passages of one text and their vectors, made by one model.

    `spans` are half-open character ranges of the text, shape (passages, 2), int32; `vectors` are
    unit vectors, shape (passages, dimensions), float32. `model` is one line of text. One without
    passages says that the model could not embed the text: the words alone find it.
    """

    model: str
    spans: NDArray[np.int32] = field(eq=cmp_using(eq=np.array_equal))
    vectors: NDArray[np.float32] = field(eq=cmp_using(eq=np.array_equal))


@frozen(kw_only=True)
class Record:
    """A memory as a storage keeps it, with its embeddings: one a model, in the order of models.

    Where only some models were asked for, those by others are left out.
    """

    memory: Memory
    embeddings: tuple[Embedding, ...] = ()

    def embedding_by(self, model: str) -> Embedding | None:
        """Return the embedding that `model` made, None if there is none."""
        return next((each for each in self.embeddings if each.model == model), None)


@frozen(kw_only=True)
class Put:
    """Store `memory`, whose current revision must be `expected`; 0 means that its id must be free.

    A replaced revision is kept in the history. `embeddings`, at most one a model, take the place of
    all that were there.
    """

    memory: Memory
    expected: int
    embeddings: tuple[Embedding, ...] = ()

    @property
    def content_hash(self) -> bytes:
        """The content hash of `memory`, 32 bytes that a storage keeps and never computes."""
        return content_hash(self.memory)


@frozen(kw_only=True)
class Attach:
    """Give an embedding to that revision of a memory; nothing where it is not current.

    It takes the place of the one by the same model. Those by other models stay.
    """

    id: str
    revision: int
    embedding: Embedding


@frozen(kw_only=True)
class Detach:
    """Take away every embedding of a memory but the one by `keep`; nothing without another one."""

    id: str
    keep: str


@frozen(kw_only=True)
class Erase:
    """Remove a memory for good: text, history, vectors, links, usage. Its id stays, in the feed.

    With `expected` that must be its current revision; without, it need not even be there.
    """

    id: str
    expected: int | None = None


@frozen(kw_only=True)
class PutScope:
    """Create a scope, or replace the one of that name."""

    scope: Scope


@frozen(kw_only=True)
class EraseScope:
    """Remove a scope; the memories that are in it stay as they are."""

    name: str


@frozen(kw_only=True)
class ExpectScopes:
    """Carry out the writes beside it only if the scopes are as the caller saw them.

    `scopes` has, by name, the scope as it must be, or None where no scope of that name may exist in
    any letter case. After the writes, no other scope and no memory that is not forgotten may be in
    those that are `unused`.
    """

    scopes: Mapping[str, Scope | None]
    unused: frozenset[str] = frozenset()


@frozen(kw_only=True)
class ExpectKey:
    """Carry out the writes beside it only if these memories hold a key, and no others.

    Those are the memories of that scope and key, in just this spelling, that have one of the
    `statuses` before the writes.
    """

    scope: str
    key: str
    ids: frozenset[str]
    statuses: frozenset[Status] = frozenset({Status.CURRENT})


@frozen(kw_only=True)
class ExpectContent:
    """Carry out the writes beside it only if the memories `ids` have this content, and no others.

    Counted are the current memories in one of the `scopes` that have, before the writes, one of
    the `content_hashes`.
    """

    scopes: frozenset[str]
    content_hashes: frozenset[bytes]
    ids: frozenset[str] = frozenset()

    @property
    def criteria(self) -> Criteria:
        """The criteria by which `Storage.find` returns the memories that count."""
        statuses = frozenset({Status.CURRENT})
        return Criteria(scopes=self.scopes, statuses=statuses, content_hashes=self.content_hashes)


@frozen(kw_only=True)
class PutLink:
    """Create a link, or replace the one of that type between the two; both ends must be there.

    Nothing where one of them is not, after the writes before this one.
    """

    link: Link


@frozen(kw_only=True)
class EraseLink:
    """Remove a link; nothing where it is not there."""

    source: str
    target: str
    type: LinkType


@frozen(kw_only=True)
class Log:
    """Add an entry to the journal: at most one a commit, which it describes.

    With `number`, that must become the number of the entry: nobody has added one meanwhile.
    """

    action: Action
    number: int | None = None


Write: TypeAlias = (
    Put
    | Attach
    | Detach
    | Erase
    | PutScope
    | EraseScope
    | ExpectScopes
    | ExpectKey
    | ExpectContent
    | PutLink
    | EraseLink
    | Log
)


@frozen(kw_only=True)
class Change:
    """The latest state of one memory: its record, or None where it was erased."""

    id: str
    record: Record | None


@frozen(kw_only=True)
class Changes:
    """A stretch of the change feed, oldest first, and the cursor to go on from."""

    items: tuple[Change, ...]
    cursor: int


@frozen(kw_only=True)
class Page:
    """Memories in the order newest first, and the cursor of the next page, None at the end.

    `when` is how the words of time were read that were given, None without.
    """

    memories: tuple[Memory, ...]
    next: str | None
    when: Reading | None = None


@frozen(kw_only=True)
class Size:
    """How much a storage holds.

    `memories` are counted by (scope, kind, status); `embedded` counts by model the memories that it
    has embedded, without the forgotten ones; `revisions` counts those that were replaced; `entries`
    are those of the journal; `oldest` and `newest` are moments of `happened_at`.
    """

    memories: dict[tuple[str, str, str], int]
    revisions: int
    links: int
    entries: int
    embedded: dict[str, int]
    size_bytes: int
    oldest: datetime | None
    newest: datetime | None
