"""Endings that stand for ids: the shortest ending of an id, and the id with an ending.

The beginnings of ids that were made within a minute are alike, but their endings are random. An
ending stands only for a memory whose scope a call may name: the memories of other private scopes
need their whole ids, so that an ending reveals nothing of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.codec import iso
from infinite_memory.core.values.ids import ENDING_CHARS, ending_of, is_id
from infinite_memory.core.values.memory import Memory
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.engine.services import Services
from infinite_memory.engine.visibility import may_name_scope, may_quote

_MAX_LISTED = 10
_TEXT_CHARS = 60


def shorten_ids(services: Services, ids: Iterable[str]) -> dict[str, str]:
    """Return the shortest ending of each id that stands for it alone.

    An id without such an ending is its own: a short id, an id that no memory has, and the id of a
    memory in a private scope.
    """
    wanted = list(dict.fromkeys(ids))
    stored = services.storage.find_ids({ending_of(memory_id) for memory_id in wanted})
    alike: dict[str, list[str]] = {}
    for memory_id in _list_nameable(services, stored):
        alike.setdefault(ending_of(memory_id), []).append(memory_id)
    return {
        memory_id: _find_shortest_ending(memory_id, alike.get(ending_of(memory_id), ()), stored)
        for memory_id in wanted
    }


def resolve_id(services: Services, given: str, *, whole: bool = False) -> str:
    """Return the id that `given` is or is the ending of, and `given` itself if there is none.

    Raises:
        InvalidInput: several ids end so; the message lists them. Or the id must be `whole`, and
            `given` is only its ending.
    """
    if not is_id(given) or len(given) < ENDING_CHARS:
        return given  # the call that takes it accepts or refuses it
    storage = services.storage
    stored = storage.find_ids({ending_of(given)})
    matches = sorted(i for i in _list_nameable(services, stored) if i.endswith(given))
    if not matches or given in stored or storage.erased([given]):
        return given
    if len(matches) == 1 and not whole:
        return matches[0]
    described = "; ".join(_describe_ids(services, matches[:_MAX_LISTED]))
    rest = len(matches) - _MAX_LISTED
    more = f"; and {rest} more" if rest > 0 else ""
    if whole and len(matches) == 1:
        raise InvalidInput(
            f"erasing for good needs the whole id, and {given!r} is the ending of one: {described};"
            " nothing was erased"
        )
    raise InvalidInput(
        f"{len(matches)} ids end with {given!r}: {described}{more}: give the whole id, or more of"
        " it; nothing was done"
    )


def _list_nameable(services: Services, stored: Mapping[str, str]) -> list[str]:
    """Return the ids in `stored` whose scope a call may name."""
    scopes = {scope for scope in set(stored.values()) if may_name_scope(services, scope)}
    return [memory_id for memory_id, scope in stored.items() if scope in scopes]


def _find_shortest_ending(memory_id: str, alike: Collection[str], stored: Mapping[str, str]) -> str:
    if memory_id not in alike:
        return memory_id
    others = [other for other in alike if other != memory_id]
    for length in range(ENDING_CHARS, len(memory_id)):
        ending = memory_id[-length:]
        # An ending that is itself an id stands for that id.
        if ending not in stored and not any(other.endswith(ending) for other in others):
            return ending
    return memory_id


def _describe_ids(services: Services, ids: Sequence[str]) -> Iterator[str]:
    """Yield each id, with the date and first words of a memory that an error may quote."""
    memories = load_memories(services, ids)
    for memory_id in ids:
        memory = memories.get(memory_id)
        quotable = memory is not None and may_quote(services, memory)
        yield f"{memory_id} ({_quote_first_words(memory)})" if quotable and memory else memory_id


def _quote_first_words(memory: Memory) -> str:
    words = " ".join(memory.text[: 4 * _TEXT_CHARS].split())
    return f"{str(iso(memory.happened_at))[:10]}, {words!r:.{_TEXT_CHARS}}"
