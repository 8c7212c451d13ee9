"""Selects the memories of an export, oldest first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from attrs import evolve, field, frozen

from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.criteria import Conditions, Criteria, Inherited, Mode
from infinite_memory.core.values.link import Link
from infinite_memory.core.values.memory import Memory, Status, is_content
from infinite_memory.core.values.scope import Scope, Sensitivity
from infinite_memory.engine.retrieval.search_request import build_criteria
from infinite_memory.engine.scopes import ALL
from infinite_memory.engine.services import Services
from infinite_memory.storage.attachments import select_all_attachments

_KEPT = tuple([str(status) for status in Status if status is not Status.FORGOTTEN])
_PAGE = 1000
_MOST_KEPT = 10_000
_KEPT_CHARS = 2_000


@frozen(kw_only=True)
class Selection:
    """The conditions of an export, and the scopes that it covers by name.

    `left_out` are the names of private scopes that nobody asked for. `kept` are the first short
    memories that were listed, by id, so that `read_memories` need not read them again.
    """

    criteria: Criteria
    scopes: Mapping[str, Scope]
    left_out: tuple[str, ...]
    kept: dict[str, Memory] = field(factory=dict, init=False, repr=False)

    def list_whole(self, storage: Storage) -> list[str]:
        """Return the ids of `list_ids`, then those of their attachments and of stored bytes."""
        ids = self.list_ids(storage)
        known = set(ids)
        attachments = select_all_attachments(storage, ids)
        return ids + [
            memory_id
            for memory_id, memory in sorted(attachments.items())
            if memory_id not in known
            and memory.scope in self.scopes
            and memory.status is not Status.FORGOTTEN
        ]

    def list_ids(self, storage: Storage, scopes: frozenset[str] | None = None) -> list[str]:
        """Return the ids of the memories, the oldest first; `scopes` narrows the selection.

        Equal times are in the order of their ids, so equal stores give equal exports. The stored
        bytes of attachments are left out.
        """
        criteria = self.criteria if scopes is None else evolve(self.criteria, scopes=scopes)
        ids: list[str] = []
        after: str | None = None
        while True:
            page = storage.find(criteria, limit=_PAGE, after=after)
            for memory in page.memories:
                if criteria.admit(memory) and not is_content(memory):
                    ids.append(memory.id)
                    if len(self.kept) < _MOST_KEPT and len(memory.text) <= _KEPT_CHARS:
                        self.kept[memory.id] = memory
            after = page.next
            if after is None:
                return ids[::-1]


def choose_memories(services: Services, conditions: Conditions, *, private: bool) -> Selection:
    """Return the selection for the conditions of a caller.

    Without a scope all scopes are covered, private scopes only with `private`.

    Raises:
        InvalidInput: a condition cannot be used.
        UnknownScope: a scope does not exist.
    """
    scopes = services.storage.scopes()
    given: dict[str, Any] = {k: v for k, v in conditions.items() if v not in (None, (), [], "")}
    is_whole = "scope" not in given
    given = {"scope": ALL, "statuses": _KEPT, **given}
    given |= {"mode": Mode.HISTORY, "inherited": Inherited.NONE}
    chosen: Conditions = given  # type: ignore[assignment]
    criteria = build_criteria(services, "", chosen)
    left_out: tuple[str, ...] = ()
    if is_whole:
        hidden = {n for n, s in scopes.items() if s.sensitivity is Sensitivity.PRIVATE}
        left_out = () if private else tuple(sorted(hidden))
        criteria = evolve(criteria, scopes=frozenset(scopes.keys() - set(left_out)))
    covered = scopes if criteria.scopes is None else {n: scopes[n] for n in criteria.scopes}
    return Selection(
        criteria=criteria,
        scopes={name: covered[name] for name in sorted(covered)},
        left_out=left_out,
    )


def read_memories(
    storage: Storage, ids: Sequence[str], kept: Mapping[str, Memory] = MappingProxyType({})
) -> Iterator[Memory]:
    """Yield the memories of `ids` in their order, from `kept`, or else unless they are gone."""
    for start in range(0, len(ids), _PAGE):
        part = ids[start : start + _PAGE]
        records = storage.get([i for i in part if i not in kept], models=())
        for memory_id in part:
            if memory_id in kept:
                yield kept[memory_id]
            elif memory_id in records:
                yield records[memory_id].memory


def read_links(storage: Storage, ids: Sequence[str]) -> Iterator[Link]:
    """Yield the links between the memories of `ids`."""
    known = set(ids)
    for start in range(0, len(ids), _PAGE):
        part = ids[start : start + _PAGE]
        sources = set(part)
        for link in storage.links(part):
            if link.source in sources and link.target in known:
                yield link
