"""`AsyncMemoryStore`: the methods of `MemoryStore`, awaited. The work runs in threads."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Generator, Iterable
from functools import partial
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
    awaited_group,
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

    bulk = awaited_group(AsyncBulk)
    scopes = awaited_group(AsyncScopes)
    journal = awaited_group(AsyncJournal)
    profile = awaited_group(AsyncProfiles)
    models = awaited_group(AsyncModels)
    times = awaited_group(AsyncTimes)
    ids = awaited_group(AsyncIds)
    keys = awaited_group(AsyncKeys)
    conversations = awaited_group(AsyncConversations)
    attachments = awaited_group(AsyncAttachments)
    backups = awaited_group(AsyncBackups)
    exchange = awaited_group(AsyncExchange)
    inbox = awaited_group(AsyncInbox)
    upkeep = awaited_group(AsyncUpkeep)
    projects = awaited_group(AsyncProjects)
    triggers = awaited_group(AsyncTriggers)
    graph = awaited_group(AsyncGraph)
    dreams = awaited_group(AsyncDreams)

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

    def __repr__(self) -> str:
        return f"<AsyncMemoryStore of {self._blocking!r}>"

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
