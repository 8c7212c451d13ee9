"""Make, list and remove the links of memories by hand."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve

from infinite_memory.core.errors import Conflict, InvalidInput
from infinite_memory.core.secrets import mask_secrets
from infinite_memory.core.values.checks import check_choice, check_label
from infinite_memory.core.values.commit import Commit, Expect
from infinite_memory.core.values.conversation.attachment import ATTACHMENT_REASON, is_reference
from infinite_memory.core.values.entry import Operation
from infinite_memory.core.values.ids import check_id
from infinite_memory.core.values.link import Link, LinkType
from infinite_memory.core.values.memory import Memory, Status
from infinite_memory.engine.journal import with_entry
from infinite_memory.engine.load_memories import get_memory, load_memories, not_found
from infinite_memory.engine.retry import attempts
from infinite_memory.engine.services import Services

_MAX_REASON_CHARS = 200
_MADE_ELSEWHERE: Mapping[LinkType, tuple[str, str]] = {
    LinkType.SUPERSEDES: (
        "revise the memory that holds with supersedes=[...]",
        "undo the change that superseded the memory, or give it the status current with revise",
    ),
    LinkType.DERIVED_FROM: (
        "name the sources where the memory is stored, with sources=[...]",
        "it says what the memory was made from; forget the memory if it is wrong",
    ),
    LinkType.NEAR_DUPLICATE_OF: (
        "the upkeep makes it; a semantic link says that two memories are near",
        "undo the run of the upkeep that made it",
    ),
}
"""How links of further types are made and removed."""


def list_links(services: Services, memory_id: str) -> tuple[Link, ...]:
    """Return the stored links from and to a memory, by source, target and type.

    Raises:
        NotFound: there is no such memory.
    """
    get_memory(services, memory_id)
    return tuple(services.storage.links([memory_id]))


def make_link(
    services: Services,
    source: str,
    target: str,
    *,
    type: object,  # noqa: A002 - the word of the public method
    weight: object,
    reason: object,
) -> Link:
    """Link two memories of a scope by hand, and return the link as it is stored; see `Graph.link`.

    Raises:
        InvalidInput: a value cannot be used, or the memories are in two scopes.
        NotFound: there is no such memory.
        Conflict: a memory was forgotten, or other clients kept changing the store.
    """
    link = Link(
        source=check_id(source),
        target=check_id(target),
        type=_check_type(type),
        weight=_check_weight(weight),
        made_by=services.actor.client,
        reason=_check_reason(reason),
        made_at=services.clock(),
    )
    if source == target:
        raise InvalidInput(f"memory {source!r} cannot be linked to itself: give two ids")
    for attempt in attempts():
        # A memory may neither move to another scope nor be forgotten between look and commit.
        expect = Expect(entry_number=services.storage.journal_end().number + 1)
        _check_ends(services, source, target)
        present = services.storage.links([source])
        stored = next((other for other in present if other.key == link.key), None)
        if stored is not None and stored == evolve(
            link, made_by=stored.made_by, made_at=stored.made_at
        ):
            return stored
        if stored is not None and is_reference(stored):
            raise _make_attachment_error(stored)
        commit = Commit(expect=expect, links=(link,))
        with attempt:
            services.storage.commit(
                with_entry(services, Operation.LINK, commit, links=present, reason="by hand")
            )
            break
    return link


def remove_links(
    services: Services,
    source: str,
    target: str,
    *,
    type: object,  # noqa: A002 - the word of the public method
) -> tuple[Link, ...]:
    """Remove links from one memory to another, and return them; see `Graph.unlink`.

    Raises:
        InvalidInput: a value cannot be used, or only links are there that are not made by hand.
        NotFound: there is no such memory.
        Conflict: other clients kept changing the store.
    """
    check_id(source), check_id(target)
    chosen = None if type is None else check_choice(type, LinkType, "type")
    for attempt in attempts():
        expect = Expect(entry_number=services.storage.journal_end().number + 1)
        _load_ends(services, source, target)
        between = [
            link
            for link in services.storage.links([source])
            if link.source == source and link.target == target and chosen in (None, link.type)
        ]
        removed = [link for link in between if not _is_made_elsewhere(link)]
        if not removed:
            if between:
                raise _make_not_removable_error(between[0])
            return ()
        commit = Commit(expect=expect, erased_links=tuple(link.key for link in removed))
        with attempt:
            services.storage.commit(
                with_entry(services, Operation.LINK, commit, links=removed, reason="by hand")
            )
            break
    return tuple(removed)


def _check_type(value: object) -> LinkType:
    link_type = check_choice(value, LinkType, "type")
    if link_type in _MADE_ELSEWHERE:
        how, _ = _MADE_ELSEWHERE[link_type]
        raise InvalidInput(
            f"a link of the type {str(link_type)!r} is not made by hand: {how}; by hand there are"
            f" {', '.join(kind for kind in LinkType if kind not in _MADE_ELSEWHERE)}"
        )
    return link_type


def _check_weight(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1:
        return float(value)
    raise InvalidInput(f"weight {value!r:.100} cannot be used: give a number above 0, at most 1")


def _check_reason(value: object) -> str:
    if value == "":
        return ""
    # The journal keeps it for good.
    reason, _ = mask_secrets(check_label(value, "reason", max_chars=_MAX_REASON_CHARS))
    if reason == ATTACHMENT_REASON:
        raise InvalidInput(
            f"reason {reason!r} marks attachments: attach a file with attachments.attach, or give"
            " another reason"
        )
    return reason


def _load_ends(services: Services, source: str, target: str) -> tuple[Memory, Memory]:
    memories = load_memories(services, [source, target])
    for memory_id in (source, target):
        if memory_id not in memories:
            raise not_found(memory_id)
    return memories[source], memories[target]


def _check_ends(services: Services, source: str, target: str) -> None:
    ends = _load_ends(services, source, target)
    for memory in ends:
        if memory.status is Status.FORGOTTEN:
            raise Conflict(
                f"memory {memory.id!r} was forgotten: bring it back with revise and the status"
                " current, and then link it; nothing was changed"
            )
    first, second = ends
    if first.scope != second.scope:
        raise InvalidInput(
            f"memory {first.id!r} is in the scope {first.scope!r} and memory {second.id!r} in"
            f" {second.scope!r}: a link never joins two scopes; move a memory with revise and scope"
            " first; nothing was changed"
        )


def _is_made_elsewhere(link: Link) -> bool:
    return link.type in _MADE_ELSEWHERE or is_reference(link)


def _make_not_removable_error(link: Link) -> InvalidInput:
    if is_reference(link):
        return _make_attachment_error(link)
    _, how = _MADE_ELSEWHERE[link.type]
    return InvalidInput(
        f"the link of the type {str(link.type)!r} from {link.source!r} to {link.target!r} is not"
        f" removed by hand: {how}; nothing was changed"
    )


def _make_attachment_error(link: Link) -> InvalidInput:
    return InvalidInput(
        f"memory {link.target!r} is attached to {link.source!r}, and that link belongs to the"
        " attachment: forget the attachment to remove it, or link with another type; nothing was"
        " changed"
    )
