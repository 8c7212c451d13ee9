"""`AsyncMemoryStore`: the methods of `MemoryStore`, awaited. The work runs in threads."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial, wraps
from itertools import islice
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from infinite_memory.config import Config
from infinite_memory.model.checks import check_count
from infinite_memory.model.entry import Entry
from infinite_memory.model.scope import Scope
from infinite_memory.store.backups import Backups
from infinite_memory.store.bulk import Bulk
from infinite_memory.store.conversations import Conversations
from infinite_memory.store.exchange import Exchange
from infinite_memory.store.ids import Ids
from infinite_memory.store.journal import Journal
from infinite_memory.store.keys import AccessKeys
from infinite_memory.store.memory_store import MemoryStore
from infinite_memory.store.models import EmbeddingModels
from infinite_memory.store.profile import Profiles
from infinite_memory.store.projects import Projects
from infinite_memory.store.scopes import Scopes
from infinite_memory.store.times import Times
from infinite_memory.store.upkeep import Upkeep

__all__ = ["AsyncMemoryStore"]

_MAX_THREADS = 64
_PAGE = 256

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class _Threads:
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


class _Awaited(Generic[T]):
    """The methods of a `blocking` object, carried out by `threads`."""

    def __init__(self, blocking: T, threads: _Threads) -> None:
        self._blocking = blocking
        self._threads = threads


def _awaited(
    method: Callable[Concatenate[Any, P], R],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]:
    """Return the awaited form of a method, with the same parameters and docstring."""

    @wraps(method)
    async def call(self: _Awaited[Any], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self._threads.run(partial(method, self._blocking, *args, **kwargs))

    return call


class _AsyncBackups(_Awaited[Backups]):
    """`Backups`, awaited."""

    create = _awaited(Backups.create)
    list = _awaited(Backups.list)
    verify = _awaited(Backups.verify)
    delete = _awaited(Backups.delete)
    restore = _awaited(Backups.restore)


class _AsyncBulk(_Awaited[Bulk]):
    """`Bulk`, awaited."""

    preview_forget = _awaited(Bulk.preview_forget)
    forget = _awaited(Bulk.forget)


class _AsyncUpkeep(_Awaited[Upkeep]):
    """`Upkeep`, awaited."""

    optimize = _awaited(Upkeep.optimize)
    summaries_wanted = _awaited(Upkeep.summaries_wanted)
    store_summary = _awaited(Upkeep.store_summary)
    work = _awaited(Upkeep.work)
    work_once = _awaited(Upkeep.work_once)


class _AsyncExchange(_Awaited[Exchange]):
    """`Exchange`, awaited."""

    export = _awaited(Exchange.export)
    import_from = _awaited(Exchange.import_from)


class _AsyncScopes(_Awaited[Scopes]):
    """`Scopes`, awaited: `async for scope in memory.scopes`, `await memory.scopes["work"]`."""

    __getitem__ = _awaited(Scopes.__getitem__)
    count_tags = _awaited(Scopes.count_tags)
    create = _awaited(Scopes.create)
    update = _awaited(Scopes.update)
    delete = _awaited(Scopes.delete)

    def __aiter__(self) -> AsyncIterator[Scope]:
        """Yield every scope, `Global` first."""
        return self._threads.iterate(self._blocking)


class _AsyncJournal(_Awaited[Journal]):
    """`Journal`, awaited: `async for entry in memory.journal`, `await memory.journal[7]`."""

    __getitem__ = _awaited(Journal.__getitem__)
    entries = _awaited(Journal.entries)
    history = _awaited(Journal.history)
    conflicts = _awaited(Journal.conflicts)
    reads = _awaited(Journal.reads)

    def __aiter__(self) -> AsyncIterator[Entry]:
        """Yield every entry, newest first."""
        return self._threads.iterate(self._blocking)


class _AsyncKeys(_Awaited[AccessKeys]):
    """`AccessKeys`, awaited."""

    create = _awaited(AccessKeys.create)
    list = _awaited(AccessKeys.list)
    revoke = _awaited(AccessKeys.revoke)
    check = _awaited(AccessKeys.check)


class _AsyncProfiles(_Awaited[Profiles]):
    """`Profiles`, awaited."""

    get = _awaited(Profiles.get)
    update = _awaited(Profiles.update)
    users = _awaited(Profiles.users)


class _AsyncModels(_Awaited[EmbeddingModels]):
    """`EmbeddingModels`, awaited: `await memory.models.answering`."""

    pending = _awaited(EmbeddingModels.pending)
    catch_up = _awaited(EmbeddingModels.catch_up)
    drop_others = _awaited(EmbeddingModels.drop_others)
    warm_up = _awaited(EmbeddingModels.warm_up)

    @property
    def configured(self) -> Awaitable[str]:
        """The name of the model that embeds new memories."""
        return self._threads.run(lambda: self._blocking.configured)

    @property
    def answering(self) -> Awaitable[str]:
        """The name of the model that searches use."""
        return self._threads.run(lambda: self._blocking.answering)


class _AsyncTimes(_Awaited[Times]):
    """`Times`, awaited."""

    read_end = _awaited(Times.read_end)
    read_happened = _awaited(Times.read_happened)
    read_start = _awaited(Times.read_start)


class _AsyncIds(_Awaited[Ids]):
    """`Ids`, awaited."""

    shorten = _awaited(Ids.shorten)
    resolve = _awaited(Ids.resolve)


class _AsyncConversations(_Awaited[Conversations]):
    """`Conversations`, awaited."""

    ingest_spool = _awaited(Conversations.ingest_spool)
    project_scope = _awaited(Conversations.project_scope)


class _AsyncProjects(_Awaited[Projects]):
    """`Projects`, awaited."""

    store_chunk = _awaited(Projects.store_chunk)
    store_decision = _awaited(Projects.store_decision)
    store_lesson = _awaited(Projects.store_lesson)
    ingest_sessions = _awaited(Projects.ingest_sessions)
    search_similar_problems = _awaited(Projects.search_similar_problems)
    find_past_solutions = _awaited(Projects.find_past_solutions)
    get_history = _awaited(Projects.get_history)
    get_decisions = _awaited(Projects.get_decisions)
    suggest_related_work = _awaited(Projects.suggest_related_work)
    identify_patterns = _awaited(Projects.identify_patterns)
    insights = _awaited(Projects.insights)
    build_session_context = _awaited(Projects.build_session_context)


class AsyncMemoryStore(_Awaited[MemoryStore]):
    """`MemoryStore` for programs that use asyncio: the same methods and groups, awaited.

    Every call runs in one of a bounded number of threads, and further calls wait for a thread. A
    cancelled call that waits is not made; one that has begun goes on, so that a write is carried
    out as a whole or not at all. Callbacks, such as `progress`, are called in the thread.

    ::

        async with AsyncMemoryStore.open() as memory:
            await memory.remember("Alice's birthday is January 20")
            hits = await memory.search("when was Alice born?")
    """

    def __init__(self, store: MemoryStore, *, threads: int = 8) -> None:
        """Work on an open `store`, which `close` closes; use `open` instead."""
        pool = _Threads(check_count(threads, "threads", low=1, high=_MAX_THREADS))
        super().__init__(store, pool)
        self.bulk = _AsyncBulk(store.bulk, pool)
        self.scopes = _AsyncScopes(store.scopes, pool)
        self.journal = _AsyncJournal(store.journal, pool)
        self.profile = _AsyncProfiles(store.profile, pool)
        self.models = _AsyncModels(store.models, pool)
        self.times = _AsyncTimes(store.times, pool)
        self.ids = _AsyncIds(store.ids, pool)
        self.keys = _AsyncKeys(store.keys, pool)
        self.conversations = _AsyncConversations(store.conversations, pool)
        self.backups = _AsyncBackups(store.backups, pool)
        self.exchange = _AsyncExchange(store.exchange, pool)
        self.upkeep = _AsyncUpkeep(store.upkeep, pool)
        self.projects = _AsyncProjects(store.projects, pool)

    @classmethod
    def open(cls, *args: Any, threads: int = 8, **kwargs: Any) -> _Opening:
        """Open a store in a thread, with the parameters of `MemoryStore.open`.

        Await the result for an open store that you close, or use it in `async with`. `threads`, 1
        to 64, is how many calls run at once.

        Raises:
            InvalidInput: the number of threads cannot be used; awaiting raises what
                `MemoryStore.open` raises.
        """
        check_count(threads, "threads", low=1, high=_MAX_THREADS)
        return _Opening(partial(MemoryStore.open, *args, **kwargs), threads)

    @property
    def config(self) -> Config:
        """The configuration in force."""
        return self._blocking.config

    async def confine(
        self,
        *,
        scopes: str | Iterable[str],
        client: str | None = None,
        read_only: bool = False,
        key: str = "",
    ) -> Self:
        """Return a handle for a client; see `MemoryStore.confine`. It has threads of its own."""
        make = partial(
            self._blocking.confine, scopes=scopes, client=client, read_only=read_only, key=key
        )
        return type(self)(await self._threads.run(make), threads=self._threads.count)

    confine.__doc__ = MemoryStore.confine.__doc__

    async def close(self) -> None:
        """Release everything; see `MemoryStore.close`. A second call does nothing."""
        await self._threads.close(self._blocking.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    remember = _awaited(MemoryStore.remember)
    remember_many = _awaited(MemoryStore.remember_many)
    revise = _awaited(MemoryStore.revise)
    forget = _awaited(MemoryStore.forget)
    undo = _awaited(MemoryStore.undo)
    search = _awaited(MemoryStore.search)
    why_not = _awaited(MemoryStore.why_not)
    browse = _awaited(MemoryStore.browse)
    recall_by_time = _awaited(MemoryStore.recall_by_time)
    briefing = _awaited(MemoryStore.briefing)
    usage = _awaited(MemoryStore.usage)
    get = _awaited(MemoryStore.get)
    stats = _awaited(MemoryStore.stats)
    verify = _awaited(MemoryStore.verify)
    health = _awaited(MemoryStore.health)
    metrics = _awaited(MemoryStore.metrics)


class _Opening:
    """A store that is being opened: await it, or use it in `async with`, once."""

    def __init__(self, open_store: Callable[[], MemoryStore], threads: int) -> None:
        self._open_store = open_store
        self._threads = threads
        self._opened: AsyncMemoryStore | None = None

    def __await__(self) -> Generator[Any, None, AsyncMemoryStore]:
        return self._open().__await__()

    async def __aenter__(self) -> AsyncMemoryStore:
        self._opened = await self._open()
        return self._opened

    async def __aexit__(self, *_: object) -> None:
        if self._opened is not None:
            await self._opened.close()

    async def _open(self) -> AsyncMemoryStore:
        opening = asyncio.ensure_future(asyncio.to_thread(self._open_store))
        try:
            return AsyncMemoryStore(await asyncio.shield(opening), threads=self._threads)
        except asyncio.CancelledError:
            # The thread goes on; nobody else would close what it opens.
            opening.add_done_callback(_close_opened)
            raise


def _close_opened(opening: asyncio.Future[MemoryStore]) -> None:
    """Close the store of an opening that was cancelled."""
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()
