"""History: every revision of a memory and its predecessors, or every value of a key."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from attrs import evolve

from infinite_memory.core.errors import InvalidInput, KeyElsewhere, NotFound
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.ids import ENDING_CHARS, check_id
from infinite_memory.core.values.link import LinkType
from infinite_memory.core.values.memory import Memory, Status
from infinite_memory.engine.id_endings import resolve_id
from infinite_memory.engine.keys import nearest_keys
from infinite_memory.engine.scopes import choose_key_scopes, choose_scopes
from infinite_memory.engine.services import Services
from infinite_memory.engine.visibility import public_names
from infinite_memory.engine.writes.supersession import find_by_key
from infinite_memory.search.text.keys import check_key
from infinite_memory.search.text.quotation import quote_label

_PAGE = 256
_HELD = frozenset({Status.CURRENT, Status.SUPERSEDED, Status.ARCHIVED})


def history(
    services: Services, id_or_key: str, *, scope: str | Iterable[str] | None
) -> list[Memory]:
    """Return the revisions of a memory or a key, oldest first; see `Journal.history`.

    Raises:
        NotFound: no memory has the id, and none in these scopes has the key.
        KeyElsewhere: memories in other scopes have the key.
    """
    if scope is None and _exists(services, id_or_key):
        return sorted(_revisions(services, _chain_ids(services, id_or_key)), key=_order)
    key = check_key(id_or_key)
    scopes = choose_key_scopes(scope, services)
    names = services.storage.scopes() if scopes is None else scopes
    memories = sorted(find_by_key(services.storage, names, key, _HELD), key=_order)
    memory_id = id_or_key if memories else resolve_id(services, id_or_key)
    if scope is None and memory_id != id_or_key:
        return history(services, memory_id, scope=None)
    if not memories:
        raise _key_not_found(services, id_or_key, key, scopes)
    return memories


def _key_not_found(
    services: Services, asked: str, key: str, scopes: frozenset[str] | None
) -> NotFound:
    """Return the error for a key that no searched scope has; private scopes are not named."""
    known = services.storage.scopes()
    searched = frozenset(known) if scopes is None else scopes
    where = (
        "any scope"
        if scopes is None
        else f"the scopes {', '.join(map(quote_label, sorted(searched)))}"
    )
    others = frozenset(public_names(known)) - searched
    page = services.storage.find(Criteria(scopes=others, key=key, statuses=_HELD), limit=_PAGE)
    if page.memories:
        elsewhere = dict.fromkeys(memory.scope for memory in page.memories)
        return KeyElsewhere.of(key, where, [*elsewhere])
    near = nearest_keys(services, key, searched)
    hint = f"; the nearest key is {near[0]!r}" if near else ""
    if len(asked) < ENDING_CHARS:
        hint += f"; give the whole id; a command or a tool takes its last {ENDING_CHARS} too"
    return NotFound(f"no memory has the id {asked!r}, and no memory in {where} has that key{hint}")


def conflicts(services: Services, *, scope: str | Iterable[str] | None) -> list[tuple[Memory, ...]]:
    """Return the groups of memories that disagree about a key; see `Journal.conflicts`."""
    criteria = Criteria(
        scopes=choose_scopes(scope, services).scopes,
        statuses=frozenset({Status.CURRENT}),
        keyed=True,
    )
    chains: defaultdict[tuple[str, str], list[Memory]] = defaultdict(list)
    after: str | None = None
    while True:
        page = services.storage.find(criteria, limit=_PAGE, after=after)
        for memory in page.memories:
            if not memory.ended_by(memory.held_from):
                chains[memory.scope, str(memory.key)].append(memory)
        after = page.next
        if after is None:
            break
    return [
        tuple(group)
        for _, chain in sorted(chains.items())
        for group in _split_overlapping(sorted(chain, key=_order))
        if len({memory.text for memory in group}) > 1
    ]


def _split_overlapping(chain: Iterable[Memory]) -> Iterator[list[Memory]]:
    """Split a chain, oldest first, into groups whose times of validity overlap."""
    group: list[Memory] = []
    for memory in chain:
        if all(member.ended_by(memory.held_from) for member in group):
            yield group
            group = []
        group.append(memory)
    yield group


def _exists(services: Services, memory_id: str) -> bool:
    try:
        return bool(services.storage.get([check_id(memory_id)], models=()))
    except InvalidInput:
        return False


def _chain_ids(services: Services, memory_id: str) -> set[str]:
    """Return the ids of a memory and of all its predecessors and successors."""
    chain, added = {memory_id}, {memory_id}
    while added:
        ends = {
            end
            for link in services.storage.links(added)
            if link.type is LinkType.SUPERSEDES
            for end in (link.source, link.target)
        }
        added = ends - chain
        chain |= added
    return chain


def _revisions(services: Services, ids: Iterable[str]) -> Iterator[Memory]:
    """Yield the revisions of the memories, without revisions that only end a validity."""
    for memory_id in ids:
        revisions = services.storage.history(memory_id)
        for earlier, later in zip(revisions, [*revisions[1:], None], strict=True):
            if later is None or not _closes(later, earlier):
                yield earlier


def _closes(later: Memory, earlier: Memory) -> bool:
    """Return whether a revision only closes the previous one because it was superseded."""
    return later.status is Status.SUPERSEDED and later == evolve(
        earlier,
        status=later.status,
        valid_to=later.valid_to,
        revision=later.revision,
        stored_at=later.stored_at,
    )


def _order(memory: Memory) -> tuple[object, ...]:
    return (memory.held_from, memory.stored_at, memory.id, memory.revision)
