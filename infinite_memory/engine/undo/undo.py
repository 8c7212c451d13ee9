"""Undo: reverse an entry of the journal with a new entry."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import Any

from attrs import field, frozen

from infinite_memory.core.errors import Conflict, NotFound, StoreDamaged
from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.checks import check_choice, check_count, check_flag
from infinite_memory.core.values.commit import Commit, Expect, merge_commits
from infinite_memory.core.values.entry import Entry, JournalEnd, Operation
from infinite_memory.core.values.memory import Memory, Status
from infinite_memory.engine.embed import embed_new
from infinite_memory.engine.journal import with_entry
from infinite_memory.engine.retry import attempts
from infinite_memory.engine.services import Services
from infinite_memory.engine.undo.groups import find_group, part_of
from infinite_memory.engine.undo.removed_scopes import read_entries
from infinite_memory.engine.undo.reversal import (
    MemoryChange,
    Reversal,
    list_some,
    plan_reversal,
)

_MAX_LISTED_SKIPS = 5


class LastOf(StrEnum):
    """Whose last change an undo without an entry number reverses."""

    PROCESS = "process"
    """The last change of this process, whichever of its stores made it."""
    MACHINE = "machine"
    """The last change of this client on this machine, in any process."""


@frozen(kw_only=True)
class Undone(PlainData):
    """The result of an undo: entry number `entry` of the journal reverses the entry `undone`.

    `memories` are the ids of the memories that it restored, and `changes` has every memory before
    and after. A memory that `undone` had stored is forgotten now; undoing the undo brings it back.
    `scopes` are names. `erased` are the ids of memories that cannot be restored, because they were
    erased for good. `skipped` has the later changes that cannot be undone, with the reasons. A dry
    run changes nothing, and its `entry` is None.
    """

    entry: int | None
    undone: Entry
    memories: tuple[str, ...]
    scopes: tuple[str, ...]
    erased: tuple[str, ...] = ()
    further: tuple[int, ...] = ()
    skipped: tuple[tuple[Entry, str], ...] = ()
    changes: tuple[MemoryChange, ...] = field(default=(), repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name, of a skipped entry its number, for `json.dumps`."""
        skipped = [{"number": entry.number, "reason": reason} for entry, reason in self.skipped]
        return {**PlainData.to_dict(self), "skipped": skipped}


@frozen(kw_only=True)
class _Choice:
    """An entry that can be undone, its reversal, and the later entries that cannot be undone."""

    entry: Entry
    reversal: Reversal
    skipped: tuple[tuple[Entry, str], ...] = ()


def undo(
    services: Services,
    number: int | None = None,
    *,
    dry_run: bool = False,
    last_of: str = LastOf.PROCESS,
) -> Undone:
    """Reverse the entry with this number, by default the last change that can be undone.

    Raises:
        NotFound: the entry does not exist, or nothing can be undone.
        Conflict: later changes prevent the undo, or everything that it changed is erased for good.
    """
    if number is not None:
        check_count(number, "entry", low=1, high=2**62)
    check_flag(dry_run, "dry_run")
    whose = check_choice(last_of, LastOf, "last_of")
    for attempt in attempts():
        # Read first: an entry that is added after this read makes the commit a conflict.
        end = services.storage.journal_end()
        choice = (
            _choose_last(services, whose) if number is None else _choose_entry(services, number)
        )
        group = find_group(services, choice.entry)
        if len(group) > 1:
            return _undo_group(services, choice, group, dry_run=dry_run)
        if dry_run:
            return _describe_undo(choice, None)
        with attempt:
            entry = _commit_reversal(services, choice, end)
            break
    _embed_restored(services, choice.reversal)
    return _describe_undo(choice, entry)


def _undo_group(
    services: Services, choice: _Choice, group: Sequence[Entry], *, dry_run: bool
) -> Undone:
    """Undo the parts of an import, newest first, one commit each.

    After an interruption another undo goes on. If a part cannot be undone, none is.

    Raises:
        Conflict: later changes prevent the undo.
    """
    planned = [_Choice(entry=part, reversal=plan_reversal(services, part)) for part in group]
    done = [
        _describe_undo(part, None) if dry_run else _undo_part(services, part.entry)
        for part in planned
    ]
    return Undone(
        entry=done[-1].entry,
        undone=choice.entry,
        memories=tuple([memory_id for part in done for memory_id in part.memories]),
        scopes=tuple(dict.fromkeys(name for part in done for name in part.scopes)),
        erased=tuple([memory_id for part in done for memory_id in part.erased]),
        further=tuple([part.number for part in group if part.number != choice.entry.number]),
        skipped=choice.skipped,
        changes=tuple([change for part in done for change in part.changes]),
    )


def _undo_part(services: Services, entry: Entry) -> Undone:
    for attempt in attempts():
        end = services.storage.journal_end()
        choice = _Choice(entry=entry, reversal=plan_reversal(services, entry))
        with attempt:
            number = _commit_reversal(services, choice, end)
            break
    _embed_restored(services, choice.reversal)
    return _describe_undo(choice, number)


def _embed_restored(services: Services, reversal: Reversal) -> None:
    unembedded = _find_unembedded(reversal)
    if unembedded:
        embed_new(services, unembedded)


def _commit_reversal(services: Services, choice: _Choice, end: JournalEnd) -> int:
    """Commit a reversal and return the number of its entry.

    Raises:
        Conflict: another client committed since `end` was read; nothing was changed.
    """
    number = end.number + 1
    reversal = choice.reversal
    commit = merge_commits(reversal.commit, Commit(expect=Expect(entry_number=number)))
    part = part_of(choice.entry.action)
    services.storage.commit(
        with_entry(
            services,
            Operation.UNDO,
            commit,
            links=reversal.links,
            undoes=choice.entry.number,
            reason="" if part is None else part.reason,
        )
    )
    return number


def _describe_undo(choice: _Choice, entry: int | None) -> Undone:
    reversal = choice.reversal
    return Undone(
        entry=entry,
        undone=choice.entry,
        memories=tuple(change.after.id for change in reversal.changes),
        scopes=reversal.scopes,
        erased=reversal.erased,
        skipped=choice.skipped,
        changes=reversal.changes,
    )


def _find_unembedded(reversal: Reversal) -> list[Memory]:
    return [
        put.memory
        for put in reversal.commit.puts
        if not put.embeddings and put.memory.status is not Status.FORGOTTEN
    ]


def _choose_entry(services: Services, number: int) -> _Choice:
    entries = services.storage.journal(before=number + 1, limit=1)
    if not entries or entries[0].number != number:
        raise NotFound(f"there is no entry {number} in the journal: the log lists the entries")
    return _Choice(entry=entries[0], reversal=plan_reversal(services, entries[0]))


def _choose_last(services: Services, whose: LastOf) -> _Choice:
    """Return the last change of `whose` that can be undone.

    Raises:
        NotFound: no change can be undone; the message names the last change that the client could
            undo with an entry number.
    """
    actor = services.actor

    def is_meant(entry: Entry) -> bool:
        made_by = entry.action.actor
        if whose is LastOf.PROCESS:
            return made_by.process == actor.process
        return (made_by.client, made_by.machine) == (actor.client, actor.machine)

    choice, skipped = _choose_newest(services, is_meant)
    if choice is not None:
        return choice
    alternative, _ = _choose_newest(
        services, lambda entry: entry.action.actor.client == actor.client
    )
    place = "this process" if whose is LastOf.PROCESS else f"{actor.client!r} on this machine"
    raise NotFound(
        f"{place} has nothing left to undo{_list_skipped(skipped)}{_name_alternative(alternative)}"
    )


def _choose_newest(
    services: Services, is_meant: Callable[[Entry], bool]
) -> tuple[_Choice | None, list[tuple[Entry, str]]]:
    """Return the newest entry that is meant and can be undone, and the newer skipped entries."""
    skipped: list[tuple[Entry, str]] = []
    for entry in _read_undoable(services):
        if not is_meant(entry):
            continue
        try:
            reversal = plan_reversal(services, entry)
        except (Conflict, StoreDamaged) as error:
            skipped.append((entry, str(error)))
        else:
            return _Choice(entry=entry, reversal=reversal, skipped=tuple(skipped)), skipped
    return None, skipped


def _read_undoable(services: Services) -> Iterator[Entry]:
    """Yield the entries that are neither undone nor undos, newest first."""
    undone: set[int] = set()
    for entry in read_entries(services):
        action = entry.action
        if entry.number in undone:
            continue
        # Newest first: an undo that is itself undone is already in `undone` here.
        if action.undoes is not None:
            undone.add(action.undoes)
        elif action.operation is not Operation.BEGIN:
            yield entry


def _list_skipped(skipped: Sequence[tuple[Entry, str]]) -> str:
    if not skipped:
        return ""
    reasons = "; ".join(reason for _, reason in skipped[:_MAX_LISTED_SKIPS])
    hidden = len(skipped) - _MAX_LISTED_SKIPS
    more = f"; and {hidden:,} more" if hidden > 0 else ""
    return f", and what cannot be undone was skipped: {reasons}{more}"


def _name_alternative(choice: _Choice | None) -> str:
    """Return the end of a sentence that names the change of another process."""
    if choice is None:
        return ""
    action, number = choice.entry.action, choice.entry.number
    ids = [step.id for step in action.memories]
    memories = f" of {list_some(ids)}" if ids else ""
    scopes = [scope.name for step in action.scopes if (scope := step.after or step.before)]
    named = f" of scope {list_some(scopes)}" if scopes and not ids else ""
    at = action.at.isoformat(timespec="seconds")
    return (
        f"; the last change by {action.actor.client!r} that can be undone is entry {number}, "
        f"{action.operation}{memories}{named} at {at}: to undo it, give entry={number}"
    )
