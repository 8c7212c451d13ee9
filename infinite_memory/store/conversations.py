"""`store.conversations`: the log of conversations, and what recent messages call to mind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from infinite_memory.core.errors import Conflict
from infinite_memory.core.observe.recorder import measure_calls
from infinite_memory.core.values.receipt import BulkReceipt, Receipt
from infinite_memory.engine.calls import count_call
from infinite_memory.features.chats.combined_search import (
    ConversationHit,
    MemorySearch,
    SearchOptions,
    search_memories,
)
from infinite_memory.features.chats.log.listing import list_conversations
from infinite_memory.features.chats.log.reading import delete_conversation, read_conversation
from infinite_memory.features.chats.log.values import (
    Conversation,
    ConversationMessages,
    LoggedMessages,
)
from infinite_memory.features.chats.log.writing import log_messages
from infinite_memory.features.chats.short_term.adding import add_short_term
from infinite_memory.features.chats.short_term.patterns import (
    ConversationStats,
    MemoryPatterns,
    analyze_patterns,
    conversation_stats,
    find_frequent_conversation,
)
from infinite_memory.features.chats.short_term.recalling import (
    ComingUp,
    ShortTermRecall,
    find_coming_up,
    find_sure,
    search_short_term,
)
from infinite_memory.features.chats.short_term.tidying import Cleanup, clean_up, forget_short_term
from infinite_memory.features.projects.session_chunks import ingest_noted
from infinite_memory.features.projects.session_moments import (
    Moment,
    begin_session,
    recall_for_prompt,
)
from infinite_memory.features.projects.work_moments import recall_for_failure, recall_for_file
from infinite_memory.features.reminders.long_term.values import DEFAULT_CONVERSATION
from infinite_memory.features.sessions.ingested import Ingested
from infinite_memory.features.sessions.project_scope import (
    existing_project_scope,
    find_project_scope,
)
from infinite_memory.features.sessions.session_messages import ingest_spool, leave_pieces
from infinite_memory.features.sessions.session_undo import SessionUndone, undo_session
from infinite_memory.features.sessions.taken_sessions import TakenSessions
from infinite_memory.store import SESSION_TOKENS
from infinite_memory.store.lifetime import Group

if TYPE_CHECKING:
    from infinite_memory.core.values.conversation.message import ChatMessage

    Messages = Iterable[ChatMessage | Mapping[str, Any]]


_READER_SECONDS = 5.0


def _answer_no() -> bool:
    return False


@measure_calls("conversations.")
class Conversations(Group):
    """The conversations of a store: their log, their short-term memory, and sessions of clients.

    A message is a `ChatMessage` or a mapping with `role` ("user", "assistant", "system"),
    `content`, and if known `name`, `timestamp` and `id`; its `tool_calls` are left out. Their ids
    tell conversations apart letter by letter. Without `scope` their memories are stored in the
    default scope, or in that of the conversation if the configuration says so.
    """

    @count_call
    def log(
        self,
        messages: Messages,
        conversation_id: str,
        *,
        scope: str | None = None,
        attachments: Sequence[Mapping[str, Any]] | None = None,
    ) -> LoggedMessages:
        """Store the messages of a conversation that are not in its log yet, in their order.

        A call may be repeated, and may give the new messages alone or the conversation so far. A
        message with an `id` or a `timestamp` is known by it; without both, the beginning of
        `messages` that the log ends with is known. Messages that say nothing, such as "ok", are
        kept, and no search finds them. A message that was forgotten since stays so. `attachments`,
        objects with the arguments of `attachments.attach`, belong to the last of `messages`; they
        are stored in a change of their own, which the same call completes after an interruption.

        Raises:
            InvalidInput: a message cannot be used; nothing was stored.
            Conflict: an `id` belongs to a message with another content.
        """
        return log_messages(
            self._services, messages, conversation_id, scope=scope, attachments=attachments
        )

    def read(
        self,
        conversation_id: str,
        *,
        scope: str | None = None,
        limit: int = 100,
        start: int | None = None,
    ) -> ConversationMessages:
        """Return messages of a conversation in the order in which they were said.

        They are at most `limit`, up to 1,000, from the position `start` on, counted from 0; None
        for `start` returns the last ones. Without `scope` the default scope is read, and the scope
        of the conversation if it has one.

        Raises:
            NotFound: nothing is stored of the conversation there; the message names other scopes.
            InvalidInput: a value cannot be used.
        """
        return read_conversation(
            self._services, conversation_id, scope=scope, limit=limit, start=start
        )

    def list(self, *, scope: str | None = None, limit: int = 100) -> tuple[Conversation, ...]:
        """Return the conversations among the newest 10,000 memories, the latest first.

        Without `scope` those of every open scope.

        Raises:
            InvalidInput: a value cannot be used.
        """
        return list_conversations(self._services, scope=scope, limit=limit)

    @count_call
    def delete(
        self, conversation_id: str, *, scope: str | None = None, hard: bool = False
    ) -> BulkReceipt:
        """Forget everything of a conversation: its messages and its memories of both terms.

        It can be undone; up to 20,000 memories are one change. With `hard` all of it is erased for
        good, with everything that quotes it, in changes of up to 1,000 memories. Without `scope`
        it is what is in the default scope, and in that of the conversation.

        Raises:
            NotFound: nothing is stored of the conversation.
            Conflict: another client changed a memory meanwhile; try again.
        """
        return delete_conversation(self._services, conversation_id, scope=scope, hard=hard)

    def stats(self, conversation_id: str, *, scope: str | None = None) -> ConversationStats:
        """Return how much is stored of a conversation, since when, and how active it is.

        Raises:
            InvalidInput: the id cannot be used.
        """
        return conversation_stats(self._services, conversation_id, scope=scope)

    @count_call
    def add_short_term(
        self,
        messages: Messages,
        conversation_id: str,
        *,
        role_weights: Mapping[str, float] | None = None,
        scope: str | None = None,
        attachments: Sequence[Mapping[str, Any]] | None = None,
    ) -> Receipt:
        """Store a stretch of a conversation as a short-term memory, with its weighted keywords.

        It comes up in `search_short_term` by these keywords, and fades. It is the time of the last
        message that counts, if that has one. The same messages again within the hour are stored
        once. `role_weights` replace those of the configuration, such as {"user": 2.7}. The formula
        of the weights is in `infinite_memory.features.chats.short_term.adding`. `attachments` are
        those of the memory, as for `log`.

        Raises:
            InvalidInput: a message or a weight cannot be used.
        """
        return add_short_term(
            self._services,
            messages,
            conversation_id,
            role_weights=role_weights,
            scope=scope,
            attachments=attachments,
        )

    def search_short_term(
        self,
        messages: Messages,
        conversation_id: str,
        *,
        role_weights: Mapping[str, float] | None = None,
        scope: str | None = None,
        seed: int | None = None,
    ) -> ShortTermRecall:
        """Return the short-term memories that the recent `messages` call to mind.

        First come those of the same conversation: the two most relevant, the next, and two
        flashbacks drawn at random by `seed`; without it every call draws anew. The two most
        relevant of other conversations follow, unless these are in private scopes, or each
        conversation has a scope of its own. What came up by its relevance comes
        up more easily from then on. The rules are in
        `infinite_memory.features.chats.short_term.choosing`, the constants in the section
        `short_term` of the configuration.

        Raises:
            InvalidInput: a message or a weight cannot be used.
        """
        return search_short_term(
            self._services,
            messages,
            conversation_id,
            role_weights=role_weights,
            scope=scope,
            seed=seed,
        )

    def coming_up(
        self,
        messages: Messages,
        conversation_id: str = DEFAULT_CONVERSATION,
        *,
        scope: str | Iterable[str] | None = None,
    ) -> ComingUp:
        """Return what the last `messages` bring up by itself, as a prompt does in a session.

        These are the reminders of the last seven days that are due, those whose condition holds,
        of any conversation if they were stored without one, and the two short-term memories of the
        conversation that come to mind first.

        Raises:
            InvalidInput: a message or the id cannot be used.
            UnknownScope: there is no such scope.
        """
        return find_coming_up(self._services, messages, conversation_id, scope=scope)

    @count_call
    def delete_short_term(
        self, pattern: str, conversation_id: str, *, scope: str | None = None
    ) -> BulkReceipt:
        """Forget the short-term memories of a conversation whose text matches; it can be undone.

        `pattern` is a word or a phrase, whatever its letter case, or "/a regular expression/i" in
        the syntax of RE2.

        Raises:
            InvalidInput: the pattern cannot be used; nothing was forgotten.
            Conflict: another client changed a memory meanwhile; try again.
        """
        return forget_short_term(self._services, pattern, conversation_id, scope=scope)

    @count_call
    def clean_up(self, conversation_id: str | None = None, *, scope: str | None = None) -> Cleanup:
        """Archive the short-term memories that have faded, as the upkeep does.

        They are those of a conversation, or without an id of every one: older than a year, or with
        an activation less the penalty of their age under -5; 512 of each always stay. It can be
        undone.

        Raises:
            Conflict: another client changed a memory meanwhile; try again.
        """
        return clean_up(self._services, conversation_id, scope=scope)

    def frequent_conversation(self, *, scope: str | None = None) -> tuple[str, int] | None:
        """Return the conversation with most short-term memories, and their number; None without."""
        return find_frequent_conversation(self._services, scope=scope)

    def analyze_patterns(
        self, conversation_id: str, *, scope: str | None = None, top_keywords: int = 20
    ) -> MemoryPatterns:
        """Return the keywords and the times that recur in the memories of a conversation.

        Raises:
            InvalidInput: a value cannot be used.
        """
        return analyze_patterns(
            self._services, conversation_id, scope=scope, top_keywords=top_keywords
        )

    def search(
        self,
        conversation_id: str | None = None,
        *,
        scope: str | None = None,
        **options: Unpack[SearchOptions],
    ) -> tuple[ConversationHit, ...]:
        """Return memories of a conversation, of both terms, by keywords, dates and activation.

        Without an id, those of every conversation are searched.
        An `embedding` by a `model` also finds memories with attachments like it.

        Raises:
            InvalidInput: a value cannot be used.
        """
        return search_memories(
            self._services, conversation_id, MemorySearch(**options), scope=scope
        )

    @count_call
    def ingest_spool(
        self, *, stop: Callable[[], bool] = _answer_no, pieces: bool = True
    ) -> Ingested:
        """Store the messages of the sessions that hooks have noted in the home folder.

        Each message becomes a memory of kind message, with its conversation, in the scope of the
        repository that the session worked in, or in the default scope. The statements of the user
        in it become facts, word for word, and its pieces of work in a repository chunks, unless
        `projects.sessions` of the configuration is False. A
        message that was taken in before is not stored again, even if it was revised, forgotten or
        erased since. What earlier versions stored of a repository in other scopes is moved to its
        own, by one change. One process reads at a time; any other returns at once. A store that is
        confined to scopes, or that ends with the process, takes nothing in. `stop` is asked from
        time to time. Without `pieces`, which take most of the time, the upkeep makes the chunks
        later, and `find_new_sessions` leaves the session out until its file changes.

        Raises:
            StorageError: the messages cannot be stored at the moment; they are kept.
        """
        return ingest_spool(self._services, stop, ingest_noted if pieces else leave_pieces)

    @count_call
    def find_new_sessions(self, files: Iterable[Path]) -> tuple[Path, ...]:
        """Return the session files that are new, or changed since `ingest_spool` left their pieces.

        Nothing of an unchanged file is read, save that the store holds what was made of it.
        """
        return tuple(TakenSessions(self._services).leave_out_known(files))

    def begin_session(
        self,
        folder: str,
        *,
        session: str = "",
        budget: int = SESSION_TOKENS,
        resumed: bool = False,
    ) -> Moment:
        """Return the briefing for a session of a client that begins in `folder`, or begins anew.

        What it shows is noted in the home folder, and is not shown to the session again. A session
        that is `resumed` on the day of its briefing still has it, and gets nothing. The first
        session of a day is told of summaries that are excerpts alone, for it to write better ones.

        Raises:
            InvalidInput: the budget is not between 200 and 100,000.
        """
        return begin_session(
            self._services,
            folder,
            session=session,
            budget=budget,
            resumed=resumed,
            offer=self._offer_summaries,
        )

    def _offer_summaries(self) -> str:
        # Loaded late, since one session a day is offered any.
        from infinite_memory.features.background.upkeep.summaries.wanted import offer_summaries

        return offer_summaries(self._services)

    def recall_for_prompt(
        self, prompt: str, *, folder: str = "", session: str = "", within: float | None = None
    ) -> Moment:
        """Return what comes up at a prompt, in 150 tokens: reminders, and what surely helps.

        The reminders are those with a date that was reached since the session began, and long-term
        memories of the default conversation or of the `session` whose condition holds for the
        prompt. The memories are at most three, of the project in `folder`, of its parents, of
        `Global`, and of the scopes that the prompt names whole or by a keyword. What the session
        was shown before, and what it said itself, is left out, except for its own short-term
        memories, which come first. If it takes more than `within` seconds, nothing is returned or
        noted. The conditions have 0.05 seconds together; those that are not decided then come
        first at the next prompt.
        """
        return recall_for_prompt(
            self._services,
            prompt,
            folder=folder,
            session=session,
            within=within,
            find_short_term=partial(find_sure, self._services),
        )

    def recall_for_failure(
        self, output: str, *, folder: str = "", session: str = "", within: float | None = None
    ) -> Moment:
        """Return how the error in the output of a command was solved before, else nothing.

        It is of the scopes that `recall_for_prompt` reads, surely the same kind of error, and was
        solved. What the session was shown or did itself is left out. If it takes more than `within`
        seconds, nothing is returned or noted.
        """
        return recall_for_failure(
            self._services, output, folder=folder, session=session, within=within
        )

    def recall_for_file(
        self, path: str, *, folder: str = "", session: str = "", within: float | None = None
    ) -> Moment:
        """Return at most three memories that name a file of the repository in `folder`.

        They are its open problems, lessons and decisions in force, in 150 tokens, each once a
        session; nothing for a file outside of the repository. They have its `path`, or the last
        part of it if git knows no other file of that name. If it takes more than `within` seconds,
        nothing is returned or noted.
        """
        return recall_for_file(self._services, path, folder=folder, session=session, within=within)

    @count_call
    def undo(self, session: str, *, dry_run: bool = False) -> SessionUndone:
        """Take back everything that a session left, in one change that can be undone itself.

        These are its messages, the statements that were found in them, pieces of work, summaries
        and short-term memories. What somebody stored on purpose meanwhile stays. What a hook has
        noted by now is taken in first, so that none of it comes later; nothing of it is stored
        again, and what is said from now on is. A `dry_run` changes nothing.

        Raises:
            NotFound: nothing was ever stored of the session, or all of it was erased.
            Conflict: all that it left is forgotten already, or another process takes in a session.
        """
        if not dry_run:
            services = self._services
            ingested = ingest_spool(
                services, _answer_no, ingest_noted, wait_seconds=_READER_SECONDS
            )
            if not ingested.finished:
                raise Conflict(
                    "another process is taking in what hooks have noted: nothing was undone; try"
                    " again in a moment"
                )
        return undo_session(self._services, session, dry_run=dry_run)

    def project_scope(self, folder: str, *, create: bool = False) -> str | None:
        """Return the scope of the repository that holds `folder`, None if there is none yet.

        With `create` it is made, unless no repository holds the folder, or scopes are strict.
        """
        if create:
            find_project_scope(self._services, folder).create()
        return existing_project_scope(self._services, folder)
