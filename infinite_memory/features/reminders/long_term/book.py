"""The long-term memories of a store, kept in the process with their prepared conditions."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from attrs import define, field, frozen

from infinite_memory.core.errors import ConfigurationError, InvalidInput, StoreDamaged
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.conversation.trigger import Language, Trigger
from infinite_memory.core.values.entry import Action, MemoryStep, Operation
from infinite_memory.core.values.memory import Kind, Memory
from infinite_memory.engine.kind_follower import KindFollower
from infinite_memory.engine.scopes import choose_scopes
from infinite_memory.engine.services import Services
from infinite_memory.features.reminders.long_term.context import (
    read_enabled_at,
    read_situation,
    read_trigger_of,
)
from infinite_memory.features.reminders.long_term.firing import Firings
from infinite_memory.features.reminders.long_term.values import (
    DEFAULT_CONVERSATION,
    LongTermMemory,
    fold_memory_name,
)

if TYPE_CHECKING:
    from infinite_memory.core.protocols import TriggerEvaluator


SWITCHED_OFF = "it is switched off"
NOT_APPROVED = (
    "its condition came with an import, a merge or a change of its context, and was not approved"
)
_FOLLOWER = "long-term memories"


_log = logging.getLogger(__name__)
_PAGE = 64
_FOREIGN = frozenset({Operation.IMPORT, Operation.MERGE})


# A condition decides what an assistant gets to read unasked, so text from elsewhere must not bring
# its own. The journal says where a revision came from: it is chained, it is never merged or
# imported, and only `add`, `update` and `enable` make entries of the operation TRIGGER. A mark in
# the memory could be copied, whatever it was made of: an export names the identity of its store.
def is_approved(storage: Storage, memory: Memory, trigger: Trigger) -> bool:
    """Return whether an entry of the journal approves the condition that the memory has now.

    A later change of the condition by any other way takes the approval away; an undo that brings
    the approved condition back brings the approval back. An import or a merge that changes what an
    assistant reads, or switches the trigger, takes it away too, until that is undone.
    """
    try:
        approved = set(_list_approved_revisions(storage, memory.id))
        if not approved:
            return False
        if memory.revision in approved:
            return True
        revisions = [r for r in storage.history(memory.id) if r.revision in approved]
    except StoreDamaged as error:
        _log.error("%s", error)
        return False
    return any(_has_condition(revision, trigger) for revision in revisions)


def _is_changed(storage: Storage, step: MemoryStep) -> bool:
    """Return whether a change left another text, name or switch; its revisions tell."""
    states = [
        (revision.text, revision.title, read_enabled_at(revision))
        for revision in storage.history(step.id)
        if revision.revision in (step.before, step.after)
    ]
    return len(states) < 2 or states[0] != states[1]


def _has_condition(revision: Memory, trigger: Trigger) -> bool:
    earlier = read_trigger_of(revision)
    if earlier is None:
        return False
    return (earlier.language, earlier.condition) == (trigger.language, trigger.condition)


def _list_approved_revisions(storage: Storage, memory_id: str) -> Iterator[int]:
    """Yield the revisions that entries of the operation TRIGGER left, newest first.

    An erased memory has nothing in common with a later memory of its id. An entry that was undone
    approves nothing, unless that undo was undone.
    """
    for action, step in _list_standing_steps(storage, memory_id):
        is_foreign = action.operation in _FOREIGN
        if step.after == 0 or (is_foreign and _is_changed(storage, step)):
            return
        if action.operation is Operation.TRIGGER:
            yield step.after


def _list_standing_steps(storage: Storage, memory_id: str) -> Iterator[tuple[Action, MemoryStep]]:
    """Yield the changes of a memory with their actions, newest first, without those undone."""
    before: int | None = None
    undone: set[int] = set()
    while True:
        page = storage.journal(before=before, limit=_PAGE, memory_id=memory_id)
        for entry in page:
            if entry.number in undone:
                continue
            if entry.action.undoes is not None:
                undone.add(entry.action.undoes)
            yield from [
                (entry.action, step) for step in entry.action.memories if step.id == memory_id
            ]
        if len(page) < _PAGE:
            return
        before = page[-1].number


@frozen(kw_only=True)
class Moment:
    """When a reminder is due: a moment if `is_timed`, or else the day that begins `at`.

    `recurs` says that its text names each such day, and that it moves on once one is over.
    """

    at: datetime
    is_timed: bool
    recurs: bool = False


@define(eq=False)
class TrackedMemory:
    """A revision of a reminder, with what was worked out about its trigger in this process.

    `trigger` is None for a reminder without a condition. `prepared` is the condition as its
    evaluator takes it, None before the first use; `error` says why it could not be checked.
    `turn` is the number of the last call that checked it, 0 for none, and `was_late` whether the
    condition took too long then. `end` is what the last call looked for that tells its end: as of
    which position of the storage, after which moment, and the memory that was found. `moment` is
    when it is due, as seen on a day.
    """

    memory: Memory
    trigger: Trigger | None
    name: str
    folded_name: str
    conversation_id: str
    is_on: bool
    prepared: object = None
    error: str | None = None
    turn: int = 0
    was_late: bool = False
    end: tuple[int, datetime, Memory | None] | None = None
    moment: tuple[datetime, Moment | None] | None = None
    _is_approved: bool | None = field(default=None, init=False)

    @classmethod
    def of(cls, memory: Memory) -> TrackedMemory:
        """Return a current reminder with its trigger."""
        name = memory.heading
        return cls(
            memory=memory,
            trigger=read_trigger_of(memory),
            name=name,
            folded_name=fold_memory_name(name),
            conversation_id=memory.conversation_id or DEFAULT_CONVERSATION,
            is_on=read_enabled_at(memory) is not None,
        )

    def belongs_to(self, conversation_id: str) -> bool:
        """Return whether it holds in a conversation: its own, or any if it was stored without."""
        return self.conversation_id in (DEFAULT_CONVERSATION, conversation_id)

    def disabled_because(self, services: Services) -> str | None:
        """Return why the trigger never fires, None if it is enabled."""
        if not self.is_on:
            return SWITCHED_OFF
        if self._is_approved is None:
            assert self.trigger is not None
            self._is_approved = is_approved(services.storage, self.memory, self.trigger)
        return None if self._is_approved else NOT_APPROVED

    def prepare(self, services: Services) -> bool:
        """Prepare the condition at the first use; return whether it can be checked.

        Raises:
            OutOfTime: the call was over before it was prepared.
        """
        if self.prepared is None:
            assert self.trigger is not None
            try:
                evaluator = find_evaluator(services, self.trigger.language)
                self.prepared = evaluator.prepare(self.trigger.condition)
            except (ConfigurationError, InvalidInput) as error:
                self.error = str(error)
        return self.prepared is not None

    def describe(self, services: Services, firings: Firings) -> LongTermMemory:
        """Return the memory as a caller gets it."""
        assert self.trigger is not None
        memory, reason = self.memory, self.disabled_because(services)
        return LongTermMemory(
            id=memory.id,
            name=self.name,
            prompt=memory.text,
            conversation_id=self.conversation_id,
            scope=memory.scope,
            trigger=self.trigger,
            enabled=reason is None,
            disabled_because=reason,
            created_at=memory.happened_at,
            updated_at=memory.stored_at if memory.revision > 1 else None,
            created_context=read_situation(memory, "created_context"),
            updated_context=read_situation(memory, "updated_context"),
            tags=memory.tags,
            revision=memory.revision,
            firings=firings.count,
            last_fired_at=firings.last,
            error=self.error,
        )


def find_evaluator(services: Services, language: Language) -> TriggerEvaluator:
    """Return the evaluator of a language.

    Raises:
        ConfigurationError: this store was opened without it.
    """
    evaluator = services.evaluators.get(language)
    if evaluator is None:
        raise ConfigurationError(
            f"this store has no evaluator for conditions in {language.value}: open it with one, or"
            " write the condition in another language"
        )
    return evaluator


def read_book(services: Services) -> Mapping[str, TrackedMemory]:
    """Return every current reminder by its id, as of the last commit of any process.

    A condition is prepared once for each revision, so a search of thousands prepares what is new.
    """
    return services.followers.get(
        _FOLLOWER,
        lambda: KindFollower(services.storage, {Kind.REMINDER}, TrackedMemory.of),
    ).read()


def select_tracked(
    services: Services,
    conversation_id: str | None,
    scope: str | Iterable[str] | None,
    *,
    holding: bool = False,
) -> list[TrackedMemory]:
    """Return the long-term memories of a conversation in the scopes of a call, oldest first.

    None for the conversation means all of them. With `holding` those of the default conversation
    are among them, since they hold in every one.

    Raises:
        InvalidInput: the scope cannot be used.
        UnknownScope: there is no such scope.
    """
    scopes = choose_scopes(scope, services, conversation_id).scopes
    selected = [
        tracked
        for tracked in read_book(services).values()
        if tracked.trigger is not None
        and (
            conversation_id in (None, tracked.conversation_id)
            or (holding and tracked.belongs_to(str(conversation_id)))
        )
        and (scopes is None or tracked.memory.scope in scopes)
    ]
    return sorted(selected, key=lambda tracked: (tracked.memory.happened_at, tracked.memory.id))
