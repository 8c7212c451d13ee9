"""`AsyncMemoryStore`: the methods of `MemoryStore`, awaited. The work runs in threads."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Generator, Iterable
from functools import cached_property, partial
from typing import Any, Self, Unpack

from infinite_memory.core.config import Config
from infinite_memory.core.values.access.key import AccessKey
from infinite_memory.core.values.checks import check_count
from infinite_memory.store.async_groups import (
    AsyncAttachments,
    AsyncBackups,
    AsyncBulk,
    AsyncConversations,
    AsyncDreams,
    AsyncExchange,
    AsyncGraph,
    AsyncIds,
    AsyncInbox,
    AsyncJournal,
    AsyncKeys,
    AsyncModels,
    AsyncProfiles,
    AsyncProjects,
    AsyncScopes,
    AsyncTimes,
    AsyncTriggers,
    AsyncUpkeep,
    Awaited,
    Threads,
    awaited,
)
from infinite_memory.store.memory_store import MemoryStore
from infinite_memory.store.opening import Parts

_MAX_THREADS = 64


class AsyncMemoryStore(Awaited[MemoryStore]):
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
        pool = Threads(check_count(threads, "threads", low=1, high=_MAX_THREADS))
        super().__init__(store, pool)

    @cached_property
    def bulk(self) -> AsyncBulk:
        """See `MemoryStore.bulk`."""
        return AsyncBulk(self._blocking.bulk, self._threads)

    @cached_property
    def scopes(self) -> AsyncScopes:
        """See `MemoryStore.scopes`."""
        return AsyncScopes(self._blocking.scopes, self._threads)

    @cached_property
    def journal(self) -> AsyncJournal:
        """See `MemoryStore.journal`."""
        return AsyncJournal(self._blocking.journal, self._threads)

    @cached_property
    def profile(self) -> AsyncProfiles:
        """See `MemoryStore.profile`."""
        return AsyncProfiles(self._blocking.profile, self._threads)

    @cached_property
    def models(self) -> AsyncModels:
        """See `MemoryStore.models`."""
        return AsyncModels(self._blocking.models, self._threads)

    @cached_property
    def times(self) -> AsyncTimes:
        """See `MemoryStore.times`."""
        return AsyncTimes(self._blocking.times, self._threads)

    @cached_property
    def ids(self) -> AsyncIds:
        """See `MemoryStore.ids`."""
        return AsyncIds(self._blocking.ids, self._threads)

    @cached_property
    def keys(self) -> AsyncKeys:
        """See `MemoryStore.keys`."""
        return AsyncKeys(self._blocking.keys, self._threads)

    @cached_property
    def conversations(self) -> AsyncConversations:
        """See `MemoryStore.conversations`."""
        return AsyncConversations(self._blocking.conversations, self._threads)

    @cached_property
    def attachments(self) -> AsyncAttachments:
        """See `MemoryStore.attachments`."""
        return AsyncAttachments(self._blocking.attachments, self._threads)

    @cached_property
    def backups(self) -> AsyncBackups:
        """See `MemoryStore.backups`."""
        return AsyncBackups(self._blocking.backups, self._threads)

    @cached_property
    def exchange(self) -> AsyncExchange:
        """See `MemoryStore.exchange`."""
        return AsyncExchange(self._blocking.exchange, self._threads)

    @cached_property
    def inbox(self) -> AsyncInbox:
        """See `MemoryStore.inbox`."""
        return AsyncInbox(self._blocking.inbox, self._threads)

    @cached_property
    def upkeep(self) -> AsyncUpkeep:
        """See `MemoryStore.upkeep`."""
        return AsyncUpkeep(self._blocking.upkeep, self._threads)

    @cached_property
    def projects(self) -> AsyncProjects:
        """See `MemoryStore.projects`."""
        return AsyncProjects(self._blocking.projects, self._threads)

    @cached_property
    def triggers(self) -> AsyncTriggers:
        """See `MemoryStore.triggers`."""
        return AsyncTriggers(self._blocking.triggers, self._threads)

    @cached_property
    def graph(self) -> AsyncGraph:
        """See `MemoryStore.graph`."""
        return AsyncGraph(self._blocking.graph, self._threads)

    @cached_property
    def dreams(self) -> AsyncDreams:
        """See `MemoryStore.dreams`."""
        return AsyncDreams(self._blocking.dreams, self._threads)

    @classmethod
    def open(
        cls,
        target: str | os.PathLike[str] | None = None,
        *,
        threads: int = 8,
        config: Config | None = None,
        client: str = "python",
        counts_usage: bool = True,
        scopes: Iterable[str] | None = None,
        project: str | os.PathLike[str] | None = None,
        **parts: Unpack[Parts],
    ) -> _Opening:
        """Open a store in a thread, with the parameters of `MemoryStore.open`.

        Await the result for an open store that you close, or use it in `async with`. `threads`, 1
        to 64, is how many calls run at once.

        Raises:
            InvalidInput: the number of threads cannot be used; awaiting raises what
                `MemoryStore.open` raises.
        """
        check_count(threads, "threads", low=1, high=_MAX_THREADS)
        open_store = partial(
            MemoryStore.open,
            target,
            config=config,
            client=client,
            counts_usage=counts_usage,
            scopes=scopes,
            project=project,
            **parts,
        )
        return _Opening(open_store, threads)

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
        key: AccessKey | str = "",
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

    remember = awaited(MemoryStore.remember)
    remember_many = awaited(MemoryStore.remember_many)
    revise = awaited(MemoryStore.revise)
    share = awaited(MemoryStore.share)
    forget = awaited(MemoryStore.forget)
    undo = awaited(MemoryStore.undo)
    dream = awaited(MemoryStore.dream)
    search = awaited(MemoryStore.search)
    why_not = awaited(MemoryStore.why_not)
    not_useful = awaited(MemoryStore.not_useful)
    browse = awaited(MemoryStore.browse)
    recall_by_time = awaited(MemoryStore.recall_by_time)
    what_do_i_know = awaited(MemoryStore.what_do_i_know)
    briefing = awaited(MemoryStore.briefing)
    usage = awaited(MemoryStore.usage)
    get = awaited(MemoryStore.get)
    stats = awaited(MemoryStore.stats)
    verify = awaited(MemoryStore.verify)
    health = awaited(MemoryStore.health)
    metrics = awaited(MemoryStore.metrics)


class _Opening:
    """A store that is being opened: await it, or use it in `async with`, once."""

    def __init__(self, open_store: Callable[[], MemoryStore], threads: int) -> None:
        self._open_store = open_store
        self._threads = threads
        self._opened: AsyncMemoryStore | None = None

    def __await__(self) -> Generator[Any, None, AsyncMemoryStore]:
        return self._open_in_thread().__await__()

    async def __aenter__(self) -> AsyncMemoryStore:
        self._opened = await self._open_in_thread()
        return self._opened

    async def __aexit__(self, *_: object) -> None:
        if self._opened is not None:
            await self._opened.close()

    async def _open_in_thread(self) -> AsyncMemoryStore:
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
