"""The reversal of an entry of the journal: the commit, or the reason why it is impossible."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

from attrs import evolve, fields_dict, frozen

from infinite_memory.core.errors import Conflict
from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.commit import Commit, Expect, Put, merge_commits
from infinite_memory.core.values.conversation.attachment import is_reference
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.entry import Entry, LinkStep, MemoryStep, Operation, ScopeStep
from infinite_memory.core.values.link import WITHIN_SCOPE, Link, LinkKey, LinkType
from infinite_memory.core.values.memory import Memory, Status, is_content
from infinite_memory.core.values.record import Record
from infinite_memory.core.values.scope import Scope, Sensitivity, fold_name, visible_from
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.engine.services import Services
from infinite_memory.engine.undo.removed_scopes import ScopeRestorer, read_entries
from infinite_memory.engine.writes.supersession import find_successors
from infinite_memory.engine.writes.topic_summaries import (
    find_changed_topics,
    find_strayed_topics,
    forget_strayed_topics,
)
from infinite_memory.storage.attachments import select_content_in_use

_PAGE = 100
_MAX_LISTED = 5
_SHOWN = ("text", "status", "scope", "revision")
_ALWAYS_DIFFERENT = frozenset({"revision", "stored_at"})
_NOT_FORGOTTEN = frozenset(Status) - {Status.FORGOTTEN}


class LinkReversal:
    """The reversal of the links of `entry`, where the undo moves `moved` to other scopes.

    A link never joins two scopes: it does not come back if its memories are in two by now, and it
    ends if the undo moves one of them away. `moved` are the memories as the undo stores them;
    `was_erased` returns whether a memory was erased after the entry.
    """

    def __init__(
        self,
        services: Services,
        entry: Entry,
        moved: Sequence[Memory],
        *,
        was_erased: Callable[[str], bool],
    ) -> None:
        self._storage = services.storage
        self._steps = entry.action.links
        self._was_erased = was_erased
        ids = {
            end for step in self._steps for link in _list_links(step) for end in _list_ends(link)
        }
        ids |= {memory.id for memory in moved}
        links = self._storage.links(ids) if ids else []
        self.present: tuple[Link, ...] = tuple(links)
        """The links that exist now among the memories of the entry."""
        self._present_by_key = {link.key: link for link in links}
        ends = {end for link in links for end in _list_ends(link)} | ids
        stored = load_memories(services, ends) if ends else {}
        self._before = {memory_id: memory.scope for memory_id, memory in stored.items()}
        self._scopes = self._before | {memory.id: memory.scope for memory in moved}

    @cached_property
    def commit(self) -> Commit:
        """The links that come back and those that end."""
        restored = merge_commits(*map(self._restore_link, self._steps))
        known = {*(link.key for link in restored.links), *restored.erased_links}
        parted = [key for key in self._find_parted() if key not in known]
        return merge_commits(restored, Commit(erased_links=tuple(parted)))

    def find_circular(self) -> Link | None:
        """Return a link that comes back though its target has superseded its source since."""
        known = [link for link in self.present if link.type is LinkType.SUPERSEDES]
        sources, targets = {link.source for link in known}, {link.target for link in known}
        for link in self.commit.links:
            if (
                link.type is LinkType.SUPERSEDES
                and link.target in sources
                and link.source in targets
                and link.target in find_successors(self._storage, link.source)
            ):
                return link
        return None

    def _restore_link(self, step: LinkStep) -> Commit:
        """Return the reversal of a step, empty if its link has changed or a memory is gone."""
        after = step.after
        if after is not None and self._present_by_key.get(after.key) != after:
            return Commit()
        if step.before is None:
            return Commit() if step.after is None else Commit(erased_links=(step.after.key,))
        ends = set(_list_ends(step.before))
        is_gone = len(self._storage.get(ends, models=())) < len(ends)
        if is_gone or any(map(self._was_erased, ends)) or self._joins_two(step.before):
            return Commit()
        return Commit(links=(step.before,))

    def _find_parted(self) -> Iterator[LinkKey]:
        """Yield the links that were within a scope and would join two after the undo."""
        for link in self.present:
            source, target = (self._before.get(end) for end in _list_ends(link))
            if link.type in WITHIN_SCOPE and source == target and self._joins_two(link):
                yield link.key

    def _joins_two(self, link: Link) -> bool:
        """Return whether a link that stays within a scope would join two after the undo."""
        is_bound = link.type in WITHIN_SCOPE or link.type is LinkType.DERIVED_FROM
        if not is_bound or is_reference(link):
            return False
        source, target = (self._scopes.get(end) for end in _list_ends(link))
        return source is not None and target is not None and source != target


def _list_links(step: LinkStep) -> Iterator[Link]:
    return (link for link in (step.before, step.after) if link is not None)


def _is_superseded_by(entry: Entry, memory_id: str) -> bool:
    made = (step.after for step in entry.action.links if step.after is not None)
    return any(link.type is LinkType.SUPERSEDES and link.target == memory_id for link in made)


def _list_ends(link: Link) -> tuple[str, str]:
    return link.source, link.target


@frozen(kw_only=True)
class MemoryChange(PlainData):
    """A memory before an undo and after it.

    If `is_private`, the memory is or was in a scope that is private, inactive or removed: a list of
    changes omits its text.
    """

    before: Memory
    after: Memory
    is_private: bool = False

    @property
    def differing(self) -> tuple[str, ...]:
        """The names of the fields that differ, without `revision` and `stored_at`."""
        return tuple(
            name
            for name in fields_dict(Memory)
            if name not in _ALWAYS_DIFFERENT
            and getattr(self.before, name) != getattr(self.after, name)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the id, what a person looks at `before` and `after`, and the differing `fields`.

        The text of a private change is left out.
        """
        shown = ("status", "scope", "revision") if self.is_private else _SHOWN
        sides = {"before": self.before.to_dict(), "after": self.after.to_dict()}
        return {
            "id": self.after.id,
            **{side: {name: values[name] for name in shown} for side, values in sides.items()},
            "fields": list(self.differing),
        }


@frozen(kw_only=True)
class Reversal:
    """The commit that reverses an entry, and its effect.

    `links` are the links that exist now among the memories that the entry linked. `erased` are the
    ids of memories that the entry changed and that were erased since: they stay erased.
    """

    commit: Commit
    links: tuple[Link, ...]
    changes: tuple[MemoryChange, ...]
    scopes: tuple[str, ...]
    erased: tuple[str, ...]


def plan_reversal(services: Services, entry: Entry) -> Reversal:
    """Return the reversal of `entry`; nothing is written.

    Raises:
        Conflict: later changes prevent the undo, or everything that it changed is erased for good.
    """
    if entry.action.operation is Operation.BEGIN:
        raise Conflict(f"entry {entry.number} begins the journal: it changed nothing")
    if entry.action.operation is Operation.MASK:
        raise Conflict(f"entry {entry.number} masked secrets for good: none can be brought back")
    if entry.action.access_key is not None:
        raise _refuse_key(services, entry, entry.action.access_key)
    if entry.action.operation is Operation.SHARE:
        changed = tuple(step for step in entry.action.memories if step.before != step.after)
        entry = evolve(entry, action=evolve(entry.action, memories=changed))
    return _Planner(services, entry).plan()


def _refuse_key(services: Services, entry: Entry, key_id: str) -> Conflict:
    """Return why the creation or the revocation of a key is not undone, and what does it."""
    key = services.storage.access_keys([key_id]).get(key_id)
    if key is None:
        return Conflict(
            f"entry {entry.number} is about the access key {key_id}, which is not in this store:"
            " there is nothing to undo"
        )
    name = f" {key.name!r}"
    if entry.action.operation is Operation.CREATE_KEY:
        return Conflict(
            f"entry {entry.number} created the access key{name} ({key_id}), which its holder would"
            f" still have: to end it, run infinite-memory keys revoke {key_id}"
        )
    if entry.action.operation is Operation.LIMIT_KEY:
        return Conflict(
            f"entry {entry.number} changed the limits of the access key{name} ({key_id}): set them"
            f" again with infinite-memory keys limit {key_id}"
        )
    return Conflict(
        f"entry {entry.number} revoked the access key{name} ({key_id}), which stays revoked: for a"
        " new key, run infinite-memory keys create NAME"
    )


def list_some(ids: Sequence[str]) -> str:
    """Return at most five ids with commas, and how many more there are."""
    more = f" and {len(ids) - _MAX_LISTED:,} more" if len(ids) > _MAX_LISTED else ""
    return f"{', '.join(ids[:_MAX_LISTED])}{more}"


class _Planner:
    def __init__(self, services: Services, entry: Entry) -> None:
        self._services = services
        self._storage = services.storage
        self._entry = entry
        self._present = services.storage.scopes()
        # A memory that comes back was in its scope at least until this entry.
        self._restorer = ScopeRestorer(services, dict(self._present), entry.number)

    def plan(self) -> Reversal:
        action = self._entry.action
        records = self._storage.get([step.id for step in action.memories])
        erased = [step.id for step in action.memories if self._is_gone(step, records)]
        left = self._find_left(erased, records)
        puts = [
            self._restore_memory(step, records[step.id])
            for step in action.memories
            if step.id not in left
        ]
        changes = [MemoryChange(before=records[p.memory.id].memory, after=p.memory) for p in puts]
        self._restore_scopes()
        puts = [self._place_memory(put, change) for put, change in zip(puts, changes, strict=True)]
        strayed = find_strayed_topics(self._services, [put.memory for put in puts])
        pairs = [(c, p) for c, p in zip(changes, puts, strict=True) if p.memory.id not in strayed]
        changes, puts = [change for change, _ in pairs], [put for _, put in pairs]
        removed = {scope.name: scope for scope in self._remove_scopes([p.memory for p in puts])}
        moved = [p.memory for c, p in pairs if c.before.scope != p.memory.scope]
        links = LinkReversal(self._services, self._entry, moved, was_erased=self._was_erased)
        if (circular := links.find_circular()) is not None:
            raise self._make_circle_error(circular)
        commit = merge_commits(
            self._restorer.commit,
            Commit(
                expect=Expect(scopes=removed, unused=frozenset(removed)),
                puts=(*puts, *self._forget_topics(changes, puts)),
                erased_scopes=tuple(removed),
            ),
            links.commit,
        )
        if not commit.changes:
            raise self._make_nothing_left_error(erased)
        return Reversal(
            commit=commit,
            links=links.present,
            changes=tuple(map(self._describe_change, changes, puts)),
            scopes=(*(scope.name for scope in commit.scopes), *commit.erased_scopes),
            erased=tuple(erased),
        )

    def _describe_change(self, change: MemoryChange, put: Put) -> MemoryChange:
        is_private = any(
            scope is None or not scope.active or scope.sensitivity is Sensitivity.PRIVATE
            for memory in (change.before, put.memory)
            for scope in (self._present.get(memory.scope),)
        )
        return MemoryChange(before=change.before, after=put.memory, is_private=is_private)

    def _find_left(self, erased: Sequence[str], records: Mapping[str, Record]) -> frozenset[str]:
        """Return the ids of the memories of the entry that stay as they are."""
        content, topics = (
            self._find_shared_content(records),
            find_changed_topics(self._entry, records),
        )
        return frozenset(erased) | content | topics

    def _forget_topics(
        self, changes: Sequence[MemoryChange], puts: Sequence[Put]
    ) -> tuple[Put, ...]:
        """Return the writes that forget the topic summaries of memories that change the scope."""
        moved = [
            put.memory
            for change, put in zip(changes, puts, strict=True)
            if change.before.scope != put.memory.scope
        ]
        ids = [put.memory.id for put in puts]
        return forget_strayed_topics(self._services, moved, without=ids)

    def _find_shared_content(self, records: Mapping[str, Record]) -> frozenset[str]:
        """Return the stored bytes that the entry added and that further attachments have by now."""
        added = {step.id for step in self._entry.action.memories if step.before == 0}
        contents = [i for i in added & records.keys() if is_content(records[i].memory)]
        return (
            select_content_in_use(self._storage, contents, gone=records)
            if contents
            else frozenset()
        )

    def _is_gone(self, step: MemoryStep, records: Mapping[str, Record]) -> bool:
        return step.after == 0 or step.id not in records or self._was_erased(step.id)

    def _was_erased(self, memory_id: str) -> bool:
        """Return whether a memory was erased after the entry; its id may be in use again."""
        if len(self._entry.action.memories) > _PAGE:
            # To read this entry once for each of its memories would take quadratic time.
            return memory_id in self._erased_since
        before: int | None = None
        while True:
            page = self._storage.journal(before=before, limit=_PAGE, memory_id=memory_id)
            for entry in page:
                if entry.number <= self._entry.number:
                    return False
                if any(s.id == memory_id and s.after == 0 for s in entry.action.memories):
                    return True
            if len(page) < _PAGE:
                return False
            before = page[-1].number

    @cached_property
    def _erased_since(self) -> frozenset[str]:
        """The ids of all memories that were erased after the entry."""
        later = read_entries(self._services, since=self._entry.number + 1)
        steps = chain.from_iterable(entry.action.memories for entry in later)
        return frozenset(step.id for step in steps if step.after == 0)

    def _make_nothing_left_error(self, erased: Sequence[str]) -> Conflict:
        number = self._entry.number
        if self._entry.action.operation is Operation.ERASE:
            return Conflict(
                f"entry {number} erased {_name_memories(erased)} for good: nothing can be brought "
                "back"
            )
        if erased:
            be = "was" if len(erased) == 1 else "were"
            return Conflict(
                f"entry {number} cannot be undone: {_name_memories(erased)} {be} erased since"
            )
        return Conflict(f"entry {number} cannot be undone: everything it changed has changed since")

    def _restore_memory(self, step: MemoryStep, record: Record) -> Put:
        current = record.memory
        if current.revision != step.after and not self._is_again(step, current):
            raise self._make_later_change_error(step)
        before = self._make_restored(step, current)
        now = max(self._services.clock(), current.stored_at)
        after = evolve(before, revision=current.revision + 1, stored_at=now)
        kept = record.embeddings if after.text == current.text else ()
        return Put(memory=after, expected=current.revision, embeddings=kept)

    def _is_again(self, step: MemoryStep, current: Memory) -> bool:
        """Return whether the memory has the content that the entry left, as after a redo."""
        left = self._find_revision(step.id, step.after)
        if left is None or fold_name(left.scope) != fold_name(current.scope):
            return False
        # A scope that was removed and created again may have a different spelling.
        return current == evolve(
            left, revision=current.revision, stored_at=current.stored_at, scope=current.scope
        )

    def _find_revision(self, memory_id: str, revision: int) -> Memory | None:
        history = self._storage.history(memory_id)
        return next((memory for memory in history if memory.revision == revision), None)

    def _make_restored(self, step: MemoryStep, current: Memory) -> Memory:
        if step.before == 0:
            return evolve(current, status=Status.FORGOTTEN)
        before = self._find_revision(step.id, step.before)
        if before is None:
            raise Conflict(
                f"entry {self._entry.number} cannot be undone: revision {step.before} of memory "
                f"{step.id!r} no longer exists"
            )
        return before

    def _make_later_change_error(self, step: MemoryStep) -> Conflict:
        number = self._entry.number
        latest = [
            entry
            for entry in self._storage.journal(limit=1, memory_id=step.id)
            if entry.number > number
        ]
        if latest and latest[0].action.undoes == number:
            return Conflict(
                f"entry {number} is undone already, by entry {latest[0].number}: undo that entry "
                "to bring back the change"
            )
        by = f" by entry {latest[0].number}" if latest else ""
        return Conflict(
            f"entry {number} cannot be undone: memory {step.id!r} was changed since{by}; undo that "
            "first, or revise the memory"
        )

    def _make_circle_error(self, link: Link) -> Conflict:
        number, source = self._entry.number, link.source
        entries = self._storage.journal(limit=_PAGE, memory_id=source)
        latest = [e.number for e in entries if e.number > number and _is_superseded_by(e, source)]
        by = f", by entry {latest[0]}" if latest else ""
        return Conflict(
            f"entry {number} cannot be undone: {source!r} would supersede {link.target!r} again,"
            f" which has superseded {source!r} since{by}; undo that first"
        )

    def _place_memory(self, put: Put, change: MemoryChange) -> Put:
        """Return `put` with an existing scope, if it brings the memory back into a scope."""
        memory, before = put.memory, change.before
        stays = before.status is not Status.FORGOTTEN and before.scope == memory.scope
        if memory.status is Status.FORGOTTEN or stays:
            return put
        try:
            scope = self._restorer.find_scope(memory.scope)
        except Conflict as error:
            raise Conflict(f"entry {self._entry.number} cannot be undone: {error}") from error
        return put if scope == memory.scope else evolve(put, memory=evolve(memory, scope=scope))

    def _restore_scopes(self) -> None:
        """Bring back the scopes that the entry changed or removed."""
        for step in self._entry.action.scopes:
            if step.before is None:
                continue
            try:
                self._restore_scope(step, step.before)
            except Conflict as error:
                # For an entry with memories the scope is secondary: it stays as it is now.
                if not self._entry.action.memories:
                    raise Conflict(
                        f"entry {self._entry.number} cannot be undone: {error}"
                    ) from error

    def _restore_scope(self, step: ScopeStep, before: Scope) -> None:
        restorer = self._restorer
        if step.after is None:
            if restorer.has_scope(before.name):
                raise Conflict(f"the scope {before.name!r} was created again since")
            restorer.put_scope(before)
            return
        if self._present.get(before.name) != step.after:
            raise Conflict(f"the scope {before.name!r} was changed since")
        if before.parent is not None:
            parent = restorer.find_parent(before.parent)
            if before.name in visible_from(parent, restorer.scopes):
                raise Conflict(f"the scope {parent!r} is now below the scope {before.name!r}")
            before = evolve(before, parent=parent)
        restorer.replace_scope(step.after, before)

    def _remove_scopes(self, memories: Sequence[Memory]) -> Iterator[Scope]:
        """Yield the scopes to remove, which the entry created.

        A scope that was created for memories stays if other memories use it.
        """
        # A scope is created after its parent, so the last scope is removed first.
        for step in reversed(self._entry.action.scopes):
            if step.before is not None or step.after is None:
                continue
            name = step.after.name
            reason = self._find_use(step.after, memories)
            if reason is None:
                self._restorer.scopes.pop(name)
                yield step.after
            elif not self._entry.action.memories:
                raise Conflict(f"entry {self._entry.number} cannot be undone: {reason}")

    def _find_use(self, scope: Scope, memories: Sequence[Memory]) -> str | None:
        """Return why a scope that the entry created cannot be removed, None if it can."""
        name, scopes = scope.name, self._restorer.scopes
        if name not in scopes:
            return f"the scope {name!r} was removed since"
        if scopes[name] != scope:
            return f"the scope {name!r} was changed since"
        children = sorted(child.name for child in scopes.values() if child.parent == name)
        if children:
            return f"the scope {name!r} is the parent of {list_some(children)}"
        changed = {memory.id: memory for memory in memories}
        criteria = Criteria(scopes=frozenset({name}), statuses=_NOT_FORGOTTEN)
        stored = self._storage.find(criteria, limit=len(changed) + _MAX_LISTED + 1).memories
        ids = [memory.id for memory in stored if memory.id not in changed]
        ids += [m.id for m in memories if m.scope == name and m.status is not Status.FORGOTTEN]
        more = " and others" if len(ids) > _MAX_LISTED else ""
        held_ids = _name_memories(ids[:_MAX_LISTED])
        return f"the scope {name!r} still holds {held_ids}{more}" if ids else None


def _name_memories(ids: Sequence[str]) -> str:
    noun = "memory" if len(ids) == 1 else "memories"
    return f"{noun} {list_some([repr(memory_id) for memory_id in ids])}"
