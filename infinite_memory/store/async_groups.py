"""The groups of a store for asyncio: the same methods, awaited. The work runs in threads."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cached_property, partial, wraps
from itertools import islice
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from infinite_memory.core.values.entry import Entry
from infinite_memory.core.values.scope import Scope
from infinite_memory.store.attachments import Attachments
from infinite_memory.store.backups import Backups
from infinite_memory.store.bulk import Bulk
from infinite_memory.store.conversations import Conversations
from infinite_memory.store.dreams import Dreams
from infinite_memory.store.exchange import Exchange
from infinite_memory.store.graph import Graph
from infinite_memory.store.inbox import Inbox
from infinite_memory.store.journal import Journal
from infinite_memory.store.keys import AccessKeys
from infinite_memory.store.models import EmbeddingModels
from infinite_memory.store.profile import Profiles
from infinite_memory.store.projects import Projects
from infinite_memory.store.readings import Ids, Times
from infinite_memory.store.scopes import Scopes
from infinite_memory.store.triggers import Triggers
from infinite_memory.store.upkeep import Upkeep

_PAGE = 256

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class Threads:
    """A bounded number of threads, which carry out the calls to a store."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._pool = ThreadPoolExecutor(max_workers=count, thread_name_prefix="infinite-memory")
        self._process = os.getpid()
        self._is_closed = False

    async def run(self, call: Callable[[], R]) -> R:
        """Return the result of `call`, made in a thread.

        If the task is cancelled, a call that waits for a thread is not made; a call that has begun
        goes on to its end.
        """
        if self._is_closed or self._process != os.getpid():
            # The store refuses the call, so this does not block.
            return call()
        return await asyncio.get_running_loop().run_in_executor(
            # With the context of the task, so that spans of the call belong to the span around it.
            self._pool,
            copy_context().run,
            call,
        )

    async def iterate(self, items: Iterable[R]) -> AsyncIterator[R]:
        """Yield the items, which threads read in pages."""
        iterator = await self.run(partial(iter, items))
        while page := await self.run(lambda: list(islice(iterator, _PAGE))):
            for item in page:
                yield item

    async def close(self, release: Callable[[], None]) -> None:
        """Call `release` in a thread of its own, and end the threads."""
        if self._is_closed or self._process != os.getpid():
            return release()
        await asyncio.shield(asyncio.to_thread(release))
        self._is_closed = True
        self._pool.shutdown(wait=False)
        return None


class Awaited(Generic[T]):
    """The methods of a `blocking` object, carried out by `threads`."""

    def __init__(self, blocking: T, threads: Threads) -> None:
        self._blocking = blocking
        self._threads = threads


def awaited(
    method: Callable[Concatenate[Any, P], R],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]:
    """Return the awaited form of a method, with the same parameters and docstring."""

    @wraps(method)
    async def call(self: Awaited[Any], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self._threads.run(partial(method, self._blocking, *args, **kwargs))

    return call


def awaited_group(make: Callable[[Any, Threads], T]) -> cached_property[T]:
    """Return a group of an awaited store, made when it is first used."""

    def make_group(store: Awaited[Any]) -> T:
        return make(getattr(store._blocking, str(group.attrname)), store._threads)

    group = cached_property(make_group)
    group.__doc__ = "See the group of the same name in `MemoryStore`."
    return group


class AsyncAttachments(Awaited[Attachments]):
    """`Attachments`, awaited."""

    attach = awaited(Attachments.attach)
    list = awaited(Attachments.list)
    read = awaited(Attachments.read)
    find_similar = awaited(Attachments.find_similar)


class AsyncBackups(Awaited[Backups]):
    """`Backups`, awaited."""

    create = awaited(Backups.create)
    list = awaited(Backups.list)
    verify = awaited(Backups.verify)
    delete = awaited(Backups.delete)
    restore = awaited(Backups.restore)


class AsyncBulk(Awaited[Bulk]):
    """`Bulk`, awaited."""

    preview_forget = awaited(Bulk.preview_forget)
    mask_secrets = awaited(Bulk.mask_secrets)
    forget = awaited(Bulk.forget)


class AsyncInbox(Awaited[Inbox]):
    """`Inbox`, awaited."""

    accept = awaited(Inbox.accept)
    reject = awaited(Inbox.reject)
    list = awaited(Inbox.list)


class AsyncUpkeep(Awaited[Upkeep]):
    """`Upkeep`, awaited."""

    optimize = awaited(Upkeep.optimize)
    summaries_wanted = awaited(Upkeep.summaries_wanted)
    store_summary = awaited(Upkeep.store_summary)
    work = awaited(Upkeep.work)
    work_once = awaited(Upkeep.work_once)


class AsyncExchange(Awaited[Exchange]):
    """`Exchange`, awaited."""

    export = awaited(Exchange.export)
    import_from = awaited(Exchange.import_from)


class AsyncScopes(Awaited[Scopes]):
    """`Scopes`, awaited: `async for scope in memory.scopes`, `await memory.scopes["work"]`."""

    __getitem__ = awaited(Scopes.__getitem__)
    count_memories = awaited(Scopes.count_memories)
    count_tags = awaited(Scopes.count_tags)
    create = awaited(Scopes.create)
    update = awaited(Scopes.update)
    searched = awaited(Scopes.searched)
    delete = awaited(Scopes.delete)

    def __aiter__(self) -> AsyncIterator[Scope]:
        """Yield every scope, `Global` first."""
        return self._threads.iterate(self._blocking)


class AsyncJournal(Awaited[Journal]):
    """`Journal`, awaited: `async for entry in memory.journal`, `await memory.journal[7]`."""

    __getitem__ = awaited(Journal.__getitem__)
    entries = awaited(Journal.entries)
    history = awaited(Journal.history)
    conflicts = awaited(Journal.conflicts)
    reads = awaited(Journal.reads)

    def __aiter__(self) -> AsyncIterator[Entry]:
        """Yield every entry, newest first."""
        return self._threads.iterate(self._blocking)


class AsyncKeys(Awaited[AccessKeys]):
    """`AccessKeys`, awaited."""

    create = awaited(AccessKeys.create)
    find = awaited(AccessKeys.find)
    limit = awaited(AccessKeys.limit)
    list = awaited(AccessKeys.list)
    usage = awaited(AccessKeys.usage)
    revoke = awaited(AccessKeys.revoke)
    remove = awaited(AccessKeys.remove)
    check = awaited(AccessKeys.check)


class AsyncProfiles(Awaited[Profiles]):
    """`Profiles`, awaited."""

    get = awaited(Profiles.get)
    update = awaited(Profiles.update)
    users = awaited(Profiles.users)


class AsyncModels(Awaited[EmbeddingModels]):
    """`EmbeddingModels`, awaited: `await memory.models.answering`."""

    pending = awaited(EmbeddingModels.pending)
    catch_up = awaited(EmbeddingModels.catch_up)
    drop_others = awaited(EmbeddingModels.drop_others)
    warm_up = awaited(EmbeddingModels.warm_up)

    @property
    def configured(self) -> Awaitable[str]:
        """The name of the model that embeds new memories."""
        return self._threads.run(lambda: self._blocking.configured)

    @property
    def answering(self) -> Awaitable[str]:
        """The name of the model that searches use."""
        return self._threads.run(lambda: self._blocking.answering)


class AsyncTimes(Awaited[Times]):
    """`Times`, awaited."""

    read = awaited(Times.read)


class AsyncGraph(Awaited[Graph]):
    """`Graph`, awaited."""

    links = awaited(Graph.links)
    link = awaited(Graph.link)
    unlink = awaited(Graph.unlink)
    related = awaited(Graph.related)
    duplicates = awaited(Graph.duplicates)
    export = awaited(Graph.export)


class AsyncIds(Awaited[Ids]):
    """`Ids`, awaited."""

    shorten = awaited(Ids.shorten)
    resolve = awaited(Ids.resolve)


class AsyncConversations(Awaited[Conversations]):
    """`Conversations`, awaited."""

    log = awaited(Conversations.log)
    read = awaited(Conversations.read)
    list = awaited(Conversations.list)
    delete = awaited(Conversations.delete)
    stats = awaited(Conversations.stats)
    add_short_term = awaited(Conversations.add_short_term)
    search_short_term = awaited(Conversations.search_short_term)
    coming_up = awaited(Conversations.coming_up)
    delete_short_term = awaited(Conversations.delete_short_term)
    clean_up = awaited(Conversations.clean_up)
    frequent_conversation = awaited(Conversations.frequent_conversation)
    analyze_patterns = awaited(Conversations.analyze_patterns)
    search = awaited(Conversations.search)
    ingest_spool = awaited(Conversations.ingest_spool)
    find_new_sessions = awaited(Conversations.find_new_sessions)
    begin_session = awaited(Conversations.begin_session)
    recall_for_prompt = awaited(Conversations.recall_for_prompt)
    recall_for_failure = awaited(Conversations.recall_for_failure)
    recall_for_file = awaited(Conversations.recall_for_file)
    undo = awaited(Conversations.undo)
    project_scope = awaited(Conversations.project_scope)


class AsyncTriggers(Awaited[Triggers]):
    """`Triggers`, awaited."""

    add = awaited(Triggers.add)
    update = awaited(Triggers.update)
    delete = awaited(Triggers.delete)
    get = awaited(Triggers.get)
    list = awaited(Triggers.list)
    activate = awaited(Triggers.activate)
    coming = awaited(Triggers.coming)
    done = awaited(Triggers.done)
    due = awaited(Triggers.due)
    enable = awaited(Triggers.enable)
    disable = awaited(Triggers.disable)


class AsyncProjects(Awaited[Projects]):
    """`Projects`, awaited."""

    store_chunk = awaited(Projects.store_chunk)
    store_decision = awaited(Projects.store_decision)
    store_lesson = awaited(Projects.store_lesson)
    ingest_sessions = awaited(Projects.ingest_sessions)
    search_similar_problems = awaited(Projects.search_similar_problems)
    find_past_solutions = awaited(Projects.find_past_solutions)
    get_history = awaited(Projects.get_history)
    get_decisions = awaited(Projects.get_decisions)
    suggest_related_work = awaited(Projects.suggest_related_work)
    identify_patterns = awaited(Projects.identify_patterns)
    insights = awaited(Projects.insights)
    build_session_context = awaited(Projects.build_session_context)


class AsyncDreams(Awaited[Dreams]):
    """`Dreams`, awaited."""

    diary = awaited(Dreams.diary)
    material = awaited(Dreams.material)
    accept = awaited(Dreams.accept)
