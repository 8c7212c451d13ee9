"""What becomes of attachments when their memories are stored, changed and forgotten."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any

from attrs import evolve

from infinite_memory.core.values.commit import Commit, Put, merge_commits
from infinite_memory.core.values.conversation.attachment import ATTACHMENT_REASON, attachment_of
from infinite_memory.core.values.ids import is_id
from infinite_memory.core.values.link import Link, LinkType
from infinite_memory.core.values.memory import Memory, Status
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.engine.services import Services
from infinite_memory.storage.attachments import select_all_attachments, select_attachments


def find_attachments(
    services: Services, memories: Iterable[Memory], *, hidden: bool = False
) -> dict[str, Memory]:
    """Return by id the attachments that only `memories` have; see `select_attachments`."""
    given = list(memories)
    if not any(map(_may_have_attachments, given)):
        return {}
    ids = [memory.id for memory in given]
    return select_attachments(services.storage, ids, hidden=hidden)


def hide_attachments(services: Services, memories: Iterable[Memory]) -> tuple[Put, ...]:
    """Return the writes that forget the attachments of memories that are being forgotten."""
    attachments = find_attachments(services, memories, hidden=True).values()
    return _put_all(services, [evolve(memory, status=Status.FORGOTTEN) for memory in attachments])


def follow_revision(services: Services, before: Memory, after: Memory) -> Commit:
    """Return what a revision changes about attachments, to be merged into its commit.

    Attachments that no further memory has are forgotten with their memory, come back with it, and
    move with it to another scope. Newly named attachments get a link.
    """
    named = link_attachments(services, [after], known=before.attachments)
    if not _may_have_attachments(before):
        return named
    if after.status is Status.FORGOTTEN:
        puts = hide_attachments(services, [after]) if before.status is not after.status else ()
    elif before.status is Status.FORGOTTEN:
        puts = _put_all(services, _bring_back(services, before, after))
    elif before.scope != after.scope:
        return merge_commits(named, _move_attachments(services, before, after))
    else:
        return named
    return evolve(named, puts=puts)


def link_attachments(
    services: Services, memories: Iterable[Memory], *, known: Collection[str] = ()
) -> Commit:
    """Return the links from memories that are being stored to the attachments that they name.

    An attachment may be stored before, or be among `memories`; further names, such as the path of a
    file, get no link. `known` are names with a link.
    """
    new = {memory.id: memory for memory in memories}
    names = {
        memory_id: [name for name in memory.attachments if name not in known and is_id(name)]
        for memory_id, memory in new.items()
        if memory.attachments
    }
    wanted = {name for listed in names.values() for name in listed}
    if not wanted:
        return Commit()
    stored = load_memories(services, wanted - new.keys()) | new
    present = {link.key for link in services.storage.links(list(wanted))}
    now = services.clock()
    links = [
        make_reference(services, memory_id, name, now)
        for memory_id, listed in names.items()
        for name in listed
        if name in stored and name != memory_id and attachment_of(stored[name]) is not None
    ]
    return Commit(links=tuple([link for link in links if link.key not in present]))


def make_reference(services: Services, source: str, target: str, now: datetime) -> Link:
    """Return the link from a memory to its attachment, or from an attachment to its bytes."""
    return Link(
        source=source,
        target=target,
        type=LinkType.CONTEXT,
        made_by=services.actor.client,
        reason=ATTACHMENT_REASON,
        made_at=now,
    )


def _may_have_attachments(memory: Memory) -> bool:
    return bool(memory.attachments) or "attachment" in memory.context


def _bring_back(services: Services, before: Memory, after: Memory) -> Iterable[Memory]:
    """Yield the attachments that were forgotten in the same change as their memory."""
    storage = services.storage
    for memory in select_all_attachments(storage, [before.id]).values():
        if memory.status is not Status.FORGOTTEN:
            continue
        latest = storage.journal(limit=1, memory_id=memory.id)
        if not any(step.id == before.id for entry in latest for step in entry.action.memories):
            continue
        statuses = [revision.status for revision in storage.history(memory.id)]
        kept = [status for status in statuses if status is not Status.FORGOTTEN]
        scope = after.scope if memory.scope == before.scope else memory.scope
        yield evolve(memory, status=kept[-1] if kept else Status.CURRENT, scope=scope)


def _move_attachments(services: Services, before: Memory, after: Memory) -> Commit:
    """Return the writes that move attachments; bytes that others have too are copied."""
    own = find_attachments(services, [before])
    moved = {i: m for i, m in own.items() if m.scope == before.scope}
    ids = {i: attachment.content_id for i, m in moved.items() if (attachment := attachment_of(m))}
    wanted = {i for i in ids.values() if i is not None and i not in own}
    contents = load_memories(services, wanted) if wanted else {}
    now, copies, links, parted = services.clock(), dict[str, Memory](), list[Link](), []
    changed = []
    for memory in moved.values():
        content = contents.get(ids.get(memory.id) or "")
        context = memory.context
        if content is not None and content.scope == before.scope:
            if content.id not in copies:
                new = f"content-{services.make_id(now, after.scope)}"
                copies[content.id] = evolve(
                    content, id=new, scope=after.scope, revision=1, stored_at=now
                )
            copy = copies[content.id]
            values: Any = context["attachment"]
            context = {**context, "attachment": {**values, "content": copy.id}}
            link = make_reference(services, memory.id, copy.id, now)
            links.append(link)
            parted.append(evolve(link, target=content.id).key)
        changed.append(evolve(memory, scope=after.scope, context=context))
    new_puts = [Put(memory=copy, expected=0) for copy in copies.values()]
    return Commit(
        puts=(*_put_all(services, changed), *new_puts),
        links=tuple(links),
        erased_links=tuple(parted),
    )


def _put_all(services: Services, changed: Iterable[Memory]) -> tuple[Put, ...]:
    """Return the writes of changed memories, whose revision is that of the stored memory."""
    memories = list(changed)
    records = services.storage.get([memory.id for memory in memories]) if memories else {}
    now = services.clock() if memories else None
    return tuple(
        [
            Put(
                memory=evolve(
                    memory,
                    revision=memory.revision + 1,
                    stored_at=max(now or memory.stored_at, memory.stored_at),
                ),
                expected=memory.revision,
                embeddings=records[memory.id].embeddings if memory.id in records else (),
            )
            for memory in memories
        ]
    )
