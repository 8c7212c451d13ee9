"""`MemoryStore`: the one object that people hold."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, Unpack

from infinite_memory.clock import Clock, system_clock
from infinite_memory.config import Config, load
from infinite_memory.embedding import configured_embedder
from infinite_memory.errors import ConfigurationError, StorageError, StoreClosed
from infinite_memory.model.criteria import Conditions
from infinite_memory.model.depth import Depth
from infinite_memory.model.draft import Details, Draft
from infinite_memory.model.findings import Verification
from infinite_memory.model.hits import Absence, Hits
from infinite_memory.model.ids import RandomBytes
from infinite_memory.model.memory import Memory
from infinite_memory.model.receipt import Receipt
from infinite_memory.model.record import Page
from infinite_memory.operations.asking import Asking
from infinite_memory.operations.browse import browse
from infinite_memory.operations.embed import Stop, catch_up, drop_others, never
from infinite_memory.operations.forget import forget
from infinite_memory.operations.models import Models, former_of
from infinite_memory.operations.remember import Progress, remember, remember_many
from infinite_memory.operations.revise import existing, revise
from infinite_memory.operations.scope_group import Scopes
from infinite_memory.operations.search import search
from infinite_memory.operations.services import Services
from infinite_memory.operations.stats import Stats, stats
from infinite_memory.operations.verify import verify
from infinite_memory.operations.why_not import why_not
from infinite_memory.protocols import Embedder, Storage
from infinite_memory.storage.opening import IN_MEMORY, open_storage

__all__ = ["MemoryStore"]


class MemoryStore:
    """A long-term memory on this machine.

    Open one with `MemoryStore.open` and close it, best with `with`. Every method may be called from
    any thread, and any number of processes may have the same store open at once. It does not cross
    a fork: open another one in the child.

    Where a scope is a parameter: a name, or a list of names, opens those scopes with their parents
    and `Global`; "ALL" opens all but private and inactive ones; None the default scope, and in a
    search also any scope that the question itself names.
    """

    def __init__(self, services: Services, owned: ExitStack) -> None:
        """Work with `services` and close `owned` at the end. Use `open` instead."""
        self._parts: Services | None = services
        self._owned = owned

    @classmethod
    def open(
        cls,
        target: str | os.PathLike[str] | None = None,
        *,
        config: Config | None = None,
        storage: Storage | None = None,
        embedder: Embedder | None = None,
        former_embedder: Embedder | None = None,
        clock: Clock = system_clock,
        random_bytes: RandomBytes = os.urandom,
    ) -> Self:
        """Open the store at `target`, creating it if there is none.

        `target` is None for the home folder, a folder, or "memory://" for one that ends with the
        process. Without `config` the file in the home folder is read, if there is one. `storage`,
        `embedder` and `former_embedder` take the place of those that the configuration names, and
        stay open when the store is closed. The former embedder is the one that answers while the
        other has not embedded everything yet.

        Raises:
            ConfigurationError: a setting cannot be used.
            StorageError: the database cannot be opened; nothing was changed.
            EmbedderError: the configured model is not complete.
        """
        effective, address = _resolve(target, config)
        with ExitStack() as owned:
            plugged_in = embedder is not None
            former = former_of(effective, given=former_embedder, plugged_in=plugged_in)
            if embedder is None:
                embedder = owned.enter_context(closing(configured_embedder(effective)))
            snapshots = storage is None and address != IN_MEMORY
            if storage is None:
                storage = owned.enter_context(closing(open_storage(address)))
            folder = Path(address) / "index" if snapshots else None
            models = Models(storage, embedder, former=former, folder=folder)
            owned.callback(models.close)
            services = Services(
                storage=storage,
                models=models,
                config=effective,
                clock=clock,
                random_bytes=random_bytes,
            )
            return cls(services, owned.pop_all())

    def remember(
        self,
        text: str,
        *,
        id: str | None = None,  # noqa: A002 - the word that the caller's own data uses
        kind: str = "note",
        scope: str | None = None,
        tags: Sequence[str] = (),
        happened_at: datetime | None = None,
        **details: Unpack[Details],
    ) -> Receipt:
        """Store one memory; when this returns, it is durable and every process finds it.

        An `id` of your own makes the write idempotent: doing it again changes nothing. `scope`
        defaults to the configured one and is created if it does not exist, unless scopes are
        strict. `happened_at` must be aware and defaults to now. `details` are title, context,
        conversation_id, speaker, origin, valid_from, valid_to, key, important, sources and
        attachments.

        Raises:
            InvalidInput: a value cannot be used; the message shows it and the way out.
            Conflict: the id belongs to a memory with another content.
            StorageError: it could not be stored.
        """
        draft = Draft.of(
            {
                "text": text,
                "id": id,
                "kind": kind,
                "scope": scope,
                "tags": tags,
                "happened_at": happened_at,
                **details,
            }
        )
        return remember(self._services, draft)

    def remember_many(
        self, drafts: Iterable[Draft | Mapping[str, Any]], *, progress: Progress | None = None
    ) -> list[Receipt]:
        """Store many memories; return their receipts in the same order.

        A mapping has the fields of a `Draft`. All are checked before the first is stored; they are
        stored in batches, each as a whole. With ids of your own, the same call goes on where an
        interrupted one stopped. `progress` is told (done, total) after each batch.

        Raises:
            InvalidInput: a draft cannot be used; the message says which, counted from 1.
            Conflict: an id belongs to a memory with another content.
        """
        made = (draft if isinstance(draft, Draft) else Draft.of(draft) for draft in drafts)
        return remember_many(self._services, made, progress)

    def search(
        self,
        query: str,
        *,
        depth: str = Depth.NORMAL,
        limit: int | None = None,
        offset: int = 0,
        threshold: float | None = None,
        arms: Iterable[str] = ("meaning", "words"),
        explain: bool = False,
        **conditions: Unpack[Conditions],
    ) -> Hits:
        """Return the memories that answer `query` best, by meaning and by words, best first.

        It sees everything that was stored before it began, by whichever process. `depth` is
        "normal"; "overview", with summaries first and a `highlight` for each; or "exhaustive", with
        every match, superseded and archived ones too. `limit` is 5, 10 or 50 by default, and
        `offset` goes on where the result before ended. What scores under `threshold` (0 to 1) is
        counted and left out. `arms` can be narrowed to "meaning" or to "words". `explain` adds to
        each hit how it came to its score. `conditions` are scope, tags, kinds, statuses,
        conversation_id, since and until: see `Conditions`.

        Raises:
            InvalidInput: a value cannot be used.
            UnknownScope: a scope was asked for that does not exist.
        """
        asking = Asking(
            text=query,
            conditions=conditions,
            limit=limit,
            threshold=threshold,
            arms=arms,
            depth=depth,
            offset=offset,
            explain=explain,
        )
        return search(self._services, asking)

    def why_not(
        self,
        query: str,
        memory_id: str,
        *,
        depth: str = Depth.NORMAL,
        limit: int | None = None,
        threshold: float | None = None,
        arms: Sequence[str] = ("meaning", "words"),
        **conditions: Unpack[Conditions],
    ) -> Absence:
        """Return which step keeps a memory out of the result of `search`, given the same arguments.

        `found_at` is another depth at which the search returns it, if there is one.

        Raises:
            InvalidInput: a value cannot be used.
            UnknownScope: a scope was asked for that does not exist.
            NotFound: there is no such memory.
        """
        asking = Asking(
            text=query,
            conditions=conditions,
            limit=limit,
            threshold=threshold,
            arms=arms,
            depth=depth,
            explain=True,
        )
        return why_not(self._services, asking, memory_id)

    def browse(
        self, *, limit: int = 20, after: str | None = None, **conditions: Unpack[Conditions]
    ) -> Page:
        """Return memories in the order of `happened_at`, newest first, page by page.

        `after` is the `next` of the page before; `conditions` are those of `search`.

        Raises:
            InvalidInput: a value cannot be used.
            UnknownScope: a scope was asked for that does not exist.
        """
        return browse(self._services, conditions, limit=limit, after=after)

    def get(self, memory_id: str) -> Memory:
        """Return the memory of that id, whatever its scope and status.

        Raises:
            NotFound: there is none.
        """
        return existing(self._services, memory_id).memory

    def history(self, memory_id: str) -> list[Memory]:
        """Return every revision of a memory, oldest first.

        Raises:
            NotFound: there is no such memory.
        """
        existing(self._services, memory_id)
        return self._services.storage.history(memory_id)

    def revise(self, memory_id: str, *, revision: int, **changes: Any) -> Receipt:
        """Change fields of a memory whose current revision is `revision`; the old one is kept.

        `changes` are fields as `remember` takes them, except `id`; `status="current"` brings back
        what was forgotten.

        Raises:
            NotFound: there is no such memory.
            Conflict: it was changed since; the message shows the text it has now.
            InvalidInput: a value cannot be used, or nothing was given to change.
        """
        return revise(self._services, memory_id, revision=revision, changes=changes)

    def forget(self, memory_id: str, *, hard: bool = False) -> Receipt:
        """Take a memory out of every result; `hard` erases it with its history for good.

        Doing it again is safe and answers `unchanged`; a hard forget that was cut short is finished
        by that.

        Raises:
            NotFound: there is no such memory.
        """
        return forget(self._services, memory_id, hard=hard)

    @property
    def scopes(self) -> Scopes:
        """The scopes of this store."""
        return Scopes(self._services)

    @property
    def config(self) -> Config:
        """The configuration in force."""
        return self._services.config

    def stats(self) -> Stats:
        """Count what is stored."""
        return stats(self._services)

    def catch_up(self, *, limit: int = 1000, stop: Stop = never) -> int:
        """Embed at most `limit` memories that wait for their vectors; return how many it did.

        After another model was configured those are all memories; when none waits any more, the new
        model answers. `stop` is asked now and then, and ends the work early when it returns true.
        """
        return catch_up(self._services, limit=limit, stop=stop)

    def drop_other_models(self) -> dict[str, int]:
        """Remove the vectors of every model but the configured one, which has embedded everything.

        Returns how many memories had vectors by each.

        Raises:
            Conflict: some memories wait for the configured model; nothing was removed.
        """
        return drop_others(self._services)

    def verify(self, *, mend: bool = False, progress: Progress | None = None) -> Verification:
        """Look at everything: pages, records, histories, vectors, scopes, and the index.

        Nothing is changed, and nothing that is damaged is ever repaired. `mend` makes anew what
        was derived from sound records: damaged vectors, from the texts, and a damaged index.
        `progress` is told (memories done, all of them) from time to time.

        Raises:
            StorageUnavailable: the store cannot be read at the moment.
        """
        return verify(self._services, mend=mend, progress=progress)

    def warm_up(self) -> None:
        """Load the model and the index now, so that the first search need not wait for them.

        Raises:
            EmbedderError: the model cannot be loaded.
        """
        model = self._services.models.answering()
        model.index.refresh()
        model.embedder.embed_query("warm up")

    def close(self) -> None:
        """Release everything; every other method then raises StoreClosed. Twice does nothing."""
        parts, self._parts = self._parts, None
        if parts is None:
            return
        # The snapshot is derived: that a suspect store cannot give one is no reason to fail here.
        with self._owned, suppress(StorageError):
            parts.models.save()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def _services(self) -> Services:
        if self._parts is None:
            raise StoreClosed("this store is closed: open it again with MemoryStore.open")
        return self._parts


def _resolve(target: str | os.PathLike[str] | None, config: Config | None) -> tuple[Config, str]:
    """Return the configuration in force and the address of the store, a folder being absolute."""
    address = None if target is None else os.fspath(target)
    if address == "":
        raise ConfigurationError("the store '' is no folder: give one, or None for the home folder")
    if config is None:
        home = address if address is not None and "://" not in address else None
        config = load(home=None if home is None else _folder(home)).config
    address = address or config.store or str(config.home)
    return config, address if "://" in address else _folder(address)


def _folder(path: str) -> str:
    return str(Path(path).expanduser().absolute())
