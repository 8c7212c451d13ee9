"""`store.triggers`: long-term memories of conversations, and when they come up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from attrs import evolve

from infinite_memory.core.observe.recorder import measure_calls
from infinite_memory.core.values.conversation.message import ChatMessage
from infinite_memory.core.values.memory import JsonValue
from infinite_memory.engine.calls import count_call
from infinite_memory.engine.scopes import ALL
from infinite_memory.features.reminders.long_term.due import DEFAULT_WITHIN
from infinite_memory.features.reminders.long_term.values import (
    DEFAULT_CONVERSATION,
    Activation,
    DueReminders,
    LongTermMemory,
)
from infinite_memory.store.lifetime import Group

if TYPE_CHECKING:
    from infinite_memory.core.values.receipt import Receipt
    from infinite_memory.features.reminders.coming import Coming


_UNPREPARED = "its condition was not tried yet, since the others took the time of the call"
Messages = Iterable[ChatMessage | Mapping[str, Any]]


@measure_calls("triggers.")
class Triggers(Group):
    """The long-term memories of conversations: a name, a prompt, and a condition.

    A conversation has one memory of a name in a scope; letter case does not count. A `trigger` is
    rules as data, or an expression in JavaScript. A trigger that came with an import, a merge or a
    change of the context of a memory is disabled until `enable`.
    """

    @count_call
    def add(
        self,
        name: str,
        prompt: str,
        trigger: str | Mapping[str, Any],
        *,
        conversation_id: str = DEFAULT_CONVERSATION,
        created_context: str | None = None,
        recent_messages: Messages | None = None,
        scope: str | None = None,
        tags: Sequence[str] = (),
        create_scope: bool | None = None,
        attachments: Sequence[Mapping[str, Any]] | None = None,
    ) -> Receipt:
        """Store a long-term memory, which is enabled, or replace the one that has its name.

        A replaced prompt and trigger stay in the history, and the receipt says `revised`. The same
        call again changes nothing; a forgotten memory comes back. `created_context` says in which
        situation it was made; without it, the last of `recent_messages` do. `scope` is by default
        that of the conversation, as for `remember`. `attachments` are objects with the arguments of
        `attachments.attach`, in a change of their own.

        Raises:
            InvalidInput: a value cannot be used; for a condition, the message says what would do.
            ConfigurationError: what the language of the condition needs is not installed.
        """
        from infinite_memory.features.reminders.long_term.storing import NewMemory, add

        new = NewMemory(
            name=name,
            prompt=prompt,
            trigger=trigger,
            conversation_id=conversation_id,
            created_context=created_context,
            recent_messages=recent_messages,
            scope=scope,
            tags=tags,
            create_scope=create_scope,
            attachments=attachments,
        )
        return add(self._services, new)

    @count_call
    def update(
        self,
        name: str,
        *,
        trigger: str | Mapping[str, Any] | None = None,
        prompt: str | None = None,
        conversation_id: str = DEFAULT_CONVERSATION,
        updated_context: str | None = None,
        recent_messages: Messages | None = None,
        scope: str | None = None,
    ) -> Receipt:
        """Change the trigger or the prompt of a long-term memory; a new trigger is enabled.

        `updated_context`, or the last of `recent_messages`, say in which situation. What is not
        given stays.

        Raises:
            NotFound: the conversation has no memory of that name; the message has the nearest.
            InvalidInput: a value cannot be used, or nothing was given to change.
            ConfigurationError: what the language of the condition needs is not installed.
        """
        from infinite_memory.features.reminders.long_term.storing import update

        return update(
            self._services,
            name,
            trigger=trigger,
            prompt=prompt,
            conversation_id=conversation_id,
            updated_context=updated_context,
            recent_messages=recent_messages,
            scope=scope,
        )

    @count_call
    def delete(
        self,
        name: str,
        *,
        conversation_id: str = DEFAULT_CONVERSATION,
        scope: str | None = None,
    ) -> Receipt:
        """Forget a long-term memory; `undo` brings it back. Raises NotFound without one."""
        from infinite_memory.features.reminders.long_term.storing import delete

        return delete(self._services, name, conversation_id=conversation_id, scope=scope)

    def get(
        self,
        name: str,
        *,
        conversation_id: str = DEFAULT_CONVERSATION,
        scope: str | None = None,
    ) -> LongTermMemory:
        """Return a long-term memory with its context. Raises NotFound without one."""
        from infinite_memory.features.reminders.long_term.activating import describe_all
        from infinite_memory.features.reminders.long_term.finding import (
            check_conversation,
            find_named,
        )

        services = self._services
        tracked = find_named(services, name, check_conversation(conversation_id), scope)
        services.note_returned([tracked.memory])
        return describe_all(services, [tracked])[0]

    def list(
        self,
        conversation_id: str | None = None,
        *,
        scope: str | Iterable[str] | None = None,
    ) -> tuple[LongTermMemory, ...]:
        """Return the long-term memories of a conversation, by default of all, oldest first.

        Without a conversation and a scope, every open scope is read. The enabled conditions are
        prepared, so that `error` says which of them cannot be checked here, or had no time for it,
        and which took too long in another process within the last hour.
        """
        from infinite_memory.features.reminders.long_term.activating import describe_all
        from infinite_memory.features.reminders.long_term.book import select_tracked
        from infinite_memory.features.reminders.long_term.checking import (
            find_late,
            prepare_conditions,
        )
        from infinite_memory.features.reminders.long_term.finding import check_conversation

        services = self._services
        conversation = None if conversation_id is None else check_conversation(conversation_id)
        if scope is None and conversation is None:
            scope = ALL
        tracked = select_tracked(services, conversation, scope)
        unprepared = prepare_conditions(services, tracked)
        services.note_returned(entry.memory for entry in tracked)
        reasons = {**find_late(services, tracked), **dict.fromkeys(unprepared, _UNPREPARED)}
        return tuple(
            evolve(memory, error=memory.error or reasons.get(memory.id))
            for memory in describe_all(services, tracked)
        )

    @count_call
    def activate(
        self,
        messages: Messages = (),
        conversation_id: str = DEFAULT_CONVERSATION,
        *,
        participants: JsonValue = None,
        scope: str | Iterable[str] | None = None,
        seed: int | None = None,
    ) -> Activation:
        """Return the memories of a conversation that come up now, and two others at random.

        `messages` are the recent ones, oldest first, as mappings with role and content. Conditions
        are checked against them, the time, and the `participants`. A memory that comes up counts as
        fired: it rests for its cooldown, and comes up no more than its most firings. `seed` decides
        about the others, so that the same call draws the same ones.

        Raises:
            InvalidInput: a value cannot be used.
            UnknownScope: there is no such scope.
        """
        from infinite_memory.features.reminders.long_term.activating import activate

        return activate(
            self._services,
            messages,
            conversation_id,
            participants=participants,
            scope=scope,
            seed=seed,
        )

    def due(
        self,
        *,
        within: timedelta = DEFAULT_WITHIN,
        conversation_id: str | None = None,
        scope: str | Iterable[str] | None = None,
    ) -> DueReminders:
        """Return the reminders of `coming` that are overdue, of today, or within the time ahead.

        They are dated reminders, and long-term memories whose condition holds without any message:
        now, or for rules at a full hour within that time. Nothing counts as fired. Without a scope,
        every open scope is read. `unchecked` of the result names the memories whose condition there
        was no time to check.

        Raises:
            InvalidInput: a value cannot be used.
            UnknownScope: there is no such scope.
        """
        from infinite_memory.features.reminders.coming import list_due

        return list_due(
            self._services,
            within=within,
            conversation_id=conversation_id,
            scope=ALL if scope is None else scope,
        )

    @count_call
    def coming(
        self,
        *,
        within: timedelta | None = DEFAULT_WITHIN,
        scope: str | Iterable[str] | None = None,
    ) -> Coming:
        """Return today, the days ahead and what is overdue: one list, each thing in it once.

        It has the reminders, with a date of their own or in the words of their text, and the days
        that texts name: facts, decisions, notes and summaries, the newest 400. A day without a year
        counts from when it was told, and what was told again or moved is there as told last. A
        recurring reminder has its next day, and an overdue one stays until it is done or dropped. A
        reminder that a later memory of any open scope probably ends is `done`, with that memory as
        `told_by`: whoever reads it decides. Nothing counts as fired or recalled. None for `within`
        is all that lies ahead, and reminders without a date. Without a scope, every open scope is
        read.

        Raises:
            InvalidInput: a value cannot be used.
            UnknownScope: there is no such scope.
        """
        from infinite_memory.features.reminders.coming import load_coming

        return load_coming(self._services, within=within, scope=ALL if scope is None else scope)

    @count_call
    def done(self, memory_id: str | None = None, *, state: str = "done") -> tuple[Receipt, ...]:
        """Store the state of a reminder: "done", "dropped", or "open" again.

        It is archived with the state, and `undo` takes that back; open, it is current, and what was
        told before does not end it. One whose text names recurring days moves on to the next when
        it is done. Of a note, a fact, a decision or a summary only the next day that it names is
        over, and the memory stays. Without an id, it is each reminder that is probably done, in
        every open scope.

        Raises:
            NotFound: there is no such memory.
            InvalidInput: it is no reminder and names no day to come, or there is no such state.
            Conflict: another client has just changed it.
        """
        from infinite_memory.features.reminders.coming import load_coming
        from infinite_memory.features.reminders.settling import settle
        from infinite_memory.features.reminders.states import When

        ids = [] if memory_id is None else [memory_id]
        if memory_id is None:
            coming = load_coming(self._services, within=None, scope=ALL)
            ids = [day.memory.id for day in coming.of(When.DONE)]
        return tuple([settle(self._services, each, state) for each in ids])

    @count_call
    def enable(
        self,
        names: str | Sequence[str],
        *,
        conversation_id: str | None = None,
        scope: str | Iterable[str] | None = None,
    ) -> tuple[Receipt, ...]:
        """Enable the triggers of memories, given by name or id, with the conditions they have now.

        Read the conditions first: they decide what an assistant gets to read unasked. Without a
        scope, every open scope is read.

        Raises:
            NotFound: there is no such memory; nothing was changed.
            InvalidInput: a condition cannot be used, or several memories have the name.
            ConfigurationError: what the language of a condition needs is not installed.
        """
        from infinite_memory.features.reminders.long_term.enabling import enable

        return enable(
            self._services,
            names,
            conversation_id=conversation_id,
            scope=ALL if scope is None else scope,
        )

    @count_call
    def disable(
        self,
        names: str | Sequence[str],
        *,
        conversation_id: str | None = None,
        scope: str | Iterable[str] | None = None,
    ) -> tuple[Receipt, ...]:
        """Disable the triggers of memories, given by name or id; they come up no more.

        Raises:
            NotFound: there is no such memory; nothing was changed.
            InvalidInput: several memories have the name.
        """
        from infinite_memory.features.reminders.long_term.enabling import disable

        return disable(
            self._services,
            names,
            conversation_id=conversation_id,
            scope=ALL if scope is None else scope,
        )
