"""History: all that a memory was, with what it replaced; or every value that a key had."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from attrs import evolve

from infinite_memory.errors import InvalidInput, NotFound
from infinite_memory.model.checks import check_label
from infinite_memory.model.criteria import Criteria
from infinite_memory.model.ids import check_id
from infinite_memory.model.link import LinkType
from infinite_memory.model.memory import Memory, Status
from infinite_memory.operations.scopes import searched_scopes
from infinite_memory.operations.services import Services
from infinite_memory.operations.supersession import with_key

__all__ = ["conflicts", "history"]

_PAGE = 256
_HELD = frozenset({Status.CURRENT, Status.SUPERSEDED, Status.ARCHIVED})


def history(
    services: Services, id_or_key: str, *, scope: str | Iterable[str] | None
) -> list[Memory]:
    """Return what there was, oldest first; see `Journal.history`.

    Raises:
        NotFound: no memory has that id, nor that key in these scopes.
    """
    if scope is None and _known(services, id_or_key):
        return sorted(_revisions(services, _line(services, id_or_key)), key=_order)
    key = check_label(id_or_key, "key")
    scopes = searched_scopes(scope, services)
    names = services.storage.scopes() if scopes is None else scopes
    found = sorted(with_key(services.storage, names, key, _HELD), key=_order)
    if not found:
        where = "any scope" if scopes is None else f"the scopes {', '.join(sorted(scopes))}"
        raise NotFound(f"no memory has the id {key!r}, and none in {where} has it as its key")
    return found


def conflicts(services: Services, *, scope: str | Iterable[str] | None) -> list[tuple[Memory, ...]]:
    """Return the memories that disagree about a key; see `Journal.conflicts`."""
    criteria = Criteria(
        scopes=searched_scopes(scope, services),
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
        for group in _at_once(sorted(chain, key=_order))
        if len({memory.text for memory in group}) > 1
    ]


def _at_once(chain: Iterable[Memory]) -> Iterator[list[Memory]]:
    """Cut a chain, the oldest first, into groups whose times of validity have a part in common."""
    group: list[Memory] = []
    for memory in chain:
        if all(each.ended_by(memory.held_from) for each in group):
            yield group
            group = []
        group.append(memory)
    yield group


def _known(services: Services, memory_id: str) -> bool:
    try:
        return bool(services.storage.get([check_id(memory_id)], models=()))
    except InvalidInput:
        return False


def _line(services: Services, memory_id: str) -> set[str]:
    """Return the ids of a memory and of all that it replaced or was replaced by."""
    line, news = {memory_id}, {memory_id}
    while news:
        ends = {
            end
            for link in services.storage.links(news)
            if link.type is LinkType.SUPERSEDES
            for end in (link.source, link.target)
        }
        news = ends - line
        line |= news
    return line


def _revisions(services: Services, ids: Iterable[str]) -> Iterator[Memory]:
    """Yield every revision of these memories but those that were merely closed by the next."""
    for memory_id in ids:
        revisions = services.storage.history(memory_id)
        for earlier, later in zip(revisions, [*revisions[1:], None], strict=True):
            if later is None or not _closes(later, earlier):
                yield earlier


def _closes(later: Memory, earlier: Memory) -> bool:
    """Tell whether a revision does no more than end the one before, as another replaced it."""
    return later.status is Status.SUPERSEDED and later == evolve(
        earlier,
        status=later.status,
        valid_to=later.valid_to,
        revision=later.revision,
        stored_at=later.stored_at,
    )


def _order(memory: Memory) -> tuple[object, ...]:
    return (memory.held_from, memory.stored_at, memory.id, memory.revision)
