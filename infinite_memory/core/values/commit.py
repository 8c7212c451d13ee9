"""The commit: everything that a storage writes as a whole or not at all, and its conditions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any

from attrs import field, fields, frozen

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.access.key import AccessKey
from infinite_memory.core.values.content_hash import content_hash
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.entry import Action
from infinite_memory.core.values.link import Link, LinkKey
from infinite_memory.core.values.memory import Memory, Status
from infinite_memory.core.values.record import Embedding
from infinite_memory.core.values.scope import Scope


@frozen(kw_only=True)
class Put:
    """Store `memory`, whose current revision must be `expected`; 0 means that its id must be free.

    The history keeps the replaced revision. `embeddings`, at most one a model, replace all that
    the memory had.
    """

    memory: Memory
    expected: int
    embeddings: tuple[Embedding, ...] = ()

    @property
    def content_hash(self) -> bytes:
        """The content hash of `memory`, 32 bytes that a storage keeps and never computes."""
        return content_hash(self.memory)


@frozen(kw_only=True)
class Erase:
    """Remove a memory for good: text, history, vectors, links, usage. Its id stays, in the feed.

    `expected` must be the current revision of the memory; with None the memory may be missing.
    """

    id: str
    expected: int | None = None


@frozen(kw_only=True)
class Attach:
    """Give an embedding to a memory, if `revision` is its current revision.

    The embedding replaces an embedding by the same model. Embeddings by further models stay.
    """

    id: str
    revision: int
    embedding: Embedding


@frozen(kw_only=True)
class Detach:
    """Remove the embeddings of a memory, except the embedding by the model `keep`."""

    id: str
    keep: str


@frozen(kw_only=True)
class ExpectKey:
    """Expect that exactly the memories `ids` hold a key.

    The expectation is about the memories of `scope` with `key`, in exactly this spelling, whose
    status before the commit is in `statuses`.
    """

    scope: str
    key: str
    ids: frozenset[str]
    statuses: frozenset[Status] = frozenset({Status.CURRENT})


@frozen(kw_only=True)
class ExpectContent:
    """Expect that exactly the memories `ids` have a hash in `content_hashes`.

    The expectation is about the memories in `scopes` that are current before the commit.
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
class Expect:
    """The conditions of a commit, which is refused if they do not hold.

    `scopes` has, by name, the scope as it must be before the commit, or None where no scope of that
    name may exist in any letter case. After the commit an `unused` scope must hold no scopes, and
    forgotten memories at most. `keys` and `contents` name the memories with a key or a
    content. `access_keys`, if given, has every undamaged access key by id. `entry_number`, if
    given, must become the number of the first journal entry. `lease`, if given, must be the number
    of the latest lease, see `protocols.Lease`: the worker that lost the lease changes nothing more.
    """

    scopes: Mapping[str, Scope | None] = field(factory=dict)
    unused: frozenset[str] = frozenset()
    keys: Sequence[ExpectKey] = ()
    contents: Sequence[ExpectContent] = ()
    access_keys: Mapping[str, AccessKey] | None = None
    entry_number: int | None = None
    lease: int | None = None


_NOTHING = Expect()


@frozen(kw_only=True)
class Commit:
    """Everything that a storage writes in one transaction: all of it, or nothing.

    A storage checks `expect` first and then applies the fields in this order:

    1. `erases`;
    2. `puts`, one after the other: an id may follow with its next revision, and an erased id may
       be stored again, as a new memory;
    3. `attaches`, then `detaches`;
    4. `erased_links`, then `links`: a link is created, or replaces the link of its type between
       its memories; it is passed over if a memory does not exist;
    5. `erased_scopes`, then `scopes`: a scope is created, or replaces the scope of its name;
       the memories in an erased scope stay as they are;
    6. `access_keys`: a key is created, or replaces the key of its id;
    7. `active_model`, if given: the name of the model that answers from now on;
    8. `past_entries`: entries of the journal of another store, whose content is being copied;
    9. `entry`, the entry of the journal that describes the commit.

    An id occurs at most once in `erases` and in `access_keys`. A link or a scope is erased or
    stored, once at most.
    """

    expect: Expect = _NOTHING
    erases: Sequence[Erase] = ()
    puts: Sequence[Put] = ()
    attaches: Sequence[Attach] = ()
    detaches: Sequence[Detach] = ()
    erased_links: Sequence[LinkKey] = ()
    links: Sequence[Link] = ()
    erased_scopes: Sequence[str] = ()
    scopes: Sequence[Scope] = ()
    access_keys: Sequence[AccessKey] = ()
    active_model: str | None = None
    past_entries: Sequence[Action] = ()
    entry: Action | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the commit neither writes nor expects anything."""
        writes = self.changes or self.active_model is not None or self.entry is not None
        return not writes and self.expect == _NOTHING

    @property
    def changes(self) -> tuple[Any, ...]:
        """Every item of the lists that the commit writes, in the order of application."""
        return tuple(chain.from_iterable(_read_lists(self)))

    def revisions(self) -> Iterator[tuple[str, int | None, int]]:
        """Yield id, expected revision and new revision, 0 for none, of each erased and put memory.

        They come in the order of application.
        """
        for erase in self.erases:
            yield erase.id, erase.expected, 0
        for put in self.puts:
            yield put.memory.id, put.expected, put.memory.revision


_SINGLE = {"expect", "active_model", "entry"}
_LISTS = tuple([item.name for item in fields(Commit) if item.name not in _SINGLE])
"""The names of the fields with one value for each thing that is written."""
_read_lists = attrgetter(*_LISTS)


def merge_commits(*commits: Commit) -> Commit:
    """Return one commit with the writes and the expectations of all of them, in their order.

    Raises:
        InvalidInput: two have an entry, name two active models, or expect a scope or the access
            keys in two states.
    """
    entries = [commit.entry for commit in commits if commit.entry is not None]
    if len(entries) > 1:
        raise InvalidInput(f"a commit has one entry of the journal, not {len(entries)}")
    models = {commit.active_model for commit in commits} - {None}
    if len(models) > 1:
        raise InvalidInput(f"a commit has one active model, not {len(models)}")
    # Empty without a commit, else of the length of `_LISTS`.
    joined = [tuple(chain(*column)) for column in zip(*map(_read_lists, commits), strict=True)]
    lists: dict[str, Any] = dict(zip(_LISTS, joined, strict=False))
    return Commit(
        expect=_merge_expectations([c.expect for c in commits if c.expect is not _NOTHING]),
        active_model=next(iter(models), None),
        entry=entries[0] if entries else None,
        **lists,
    )


def _merge_expectations(expectations: Sequence[Expect]) -> Expect:
    if len(expectations) < 2:
        return expectations[0] if expectations else _NOTHING
    scopes: dict[str, Scope | None] = {}
    for expect in expectations:
        for name, scope in expect.scopes.items():
            if scopes.setdefault(name, scope) != scope:
                raise InvalidInput(f"a commit cannot expect the scope {name!r} in two states")
    numbers = {expect.entry_number for expect in expectations} - {None}
    if len(numbers) > 1:
        raise InvalidInput(f"a commit has one entry of the journal, not {len(numbers)}")
    leases = {expect.lease for expect in expectations} - {None}
    if len(leases) > 1:
        raise InvalidInput(f"a commit has one lease, not {len(leases)}")
    known_keys = [expect.access_keys for expect in expectations if expect.access_keys is not None]
    if any(keys != known_keys[0] for keys in known_keys):
        raise InvalidInput("a commit cannot expect the access keys in two states")
    return Expect(
        scopes=scopes,
        unused=frozenset().union(*[expect.unused for expect in expectations]),
        keys=tuple([key for expect in expectations for key in expect.keys]),
        contents=tuple([content for expect in expectations for content in expect.contents]),
        access_keys=known_keys[0] if known_keys else None,
        entry_number=next(iter(numbers), None),
        lease=next(iter(leases), None),
    )
