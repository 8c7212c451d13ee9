"""Services: the parts of an open store, which every operation uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import field, frozen

from infinite_memory.core.clock import Clock
from infinite_memory.core.config import Config
from infinite_memory.core.observe.recorder import Recorder, current_operation
from infinite_memory.core.values.checks import check_moment
from infinite_memory.core.values.entry import Actor
from infinite_memory.core.values.ids import RandomBytes, new_id
from infinite_memory.core.values.memory import GLOBAL, Memory
from infinite_memory.core.values.scope import Scope
from infinite_memory.engine.active_model import Models
from infinite_memory.engine.calls import Calls
from infinite_memory.engine.retrieval.recent_recalls import RecentRecalls
from infinite_memory.engine.usage import UsageCounter

if TYPE_CHECKING:
    from infinite_memory.core.observe.reads import ReadLog
    from infinite_memory.core.protocols import (
        Judge,
        Search,
        Segmenter,
        Storage,
        Summariser,
        TriggerEvaluator,
    )
    from infinite_memory.engine.kind_follower import Followers
    from infinite_memory.engine.retrieval.language_hint import LanguageHint
    from infinite_memory.search.completion import Completion
    from infinite_memory.search.embedding import CheckedEmbedder
    from infinite_memory.storage.confined import Confinement
    from infinite_memory.storage.confined.ledger import Ledger


# Of so many random ids one lies in the right one of a hundred partitions, all but surely.
_MOST_IDS = 1000


@frozen(kw_only=True)
class Services:
    """The parts of an open store.

    `manages_keys` is False for the handle of a client, unless it shows an access key with the right
    `admin` for every scope: no other client may manage access keys. `erases_in` is the
    only scope whose memories it may erase for good, "" for none, None for any. `backend` names the
    kind of storage, and `data_folder` is where its files are, None if it has none here.
    `find_project_scope` returns the scope of the repository at work, as it is made where it does
    not exist, None for none.
    `reads` records who read what, None if reads are not recorded. `open_evaluators` returns what
    checks the conditions of triggers, by language. `segmenter`, `judge` and `summariser` are those
    of the caller, None for the built-in ones.
    """

    storage: Storage
    models: Models
    config: Config
    clock: Clock
    random_bytes: RandomBytes
    actor: Actor
    manages_keys: bool = True
    erases_in: str | None = None
    usage: UsageCounter | None = None
    backend: str = "custom"
    data_folder: Path | None = None
    find_project_scope: Callable[[], Scope | None] = lambda: None
    recorder: Recorder = field(factory=Recorder)
    reads: ReadLog | None = None
    recent_recalls: RecentRecalls = field(factory=RecentRecalls)
    calls: Calls = field(factory=Calls)
    open_evaluators: Callable[[], Mapping[str, TriggerEvaluator]] = dict
    segmenter: Segmenter | None = None
    judge: Judge | None = None
    summariser: Summariser | None = None

    @cached_property
    def language_hint(self) -> LanguageHint:
        """The hint of this handle about questions in a language that the model lacks."""
        from infinite_memory.engine.retrieval.language_hint import LanguageHint

        return LanguageHint()

    @property
    def completion(self) -> Completion:
        """What tells whether a text says that something to be done is over."""
        from infinite_memory.search.completion import load_completion

        return load_completion()

    @cached_property
    def followers(self) -> Followers:
        """What this handle keeps of the memories of some kinds, such as conditions."""
        from infinite_memory.engine.kind_follower import Followers

        return Followers(self.storage)

    @cached_property
    def ledger(self) -> Ledger:
        """What keeps count of how much scopes keep; every handle asks that of the whole store."""
        from infinite_memory.storage.confined.ledger import Ledger

        return Ledger(self.storage)

    @property
    def default_scope(self) -> str:
        """The scope of a memory whose caller names none; confined, a scope of this handle."""
        return self._choose_scope(self.config.default_scope)

    @property
    def profile_scope(self) -> str:
        """The scope of profiles: `Global`; confined, the person's own, or else the default."""
        confinement = self.confinement
        is_inside = confinement is None or confinement.allows(GLOBAL)
        return self._choose_scope(GLOBAL if is_inside else self.config.default_scope)

    def _choose_scope(self, usual: str) -> str:
        confinement = self.confinement
        if confinement is None:
            return usual
        own = confinement.own_scope
        return own or (usual if confinement.allows(usual) else confinement.default_scope)

    def make_id(self, now: datetime, scope: str) -> str:
        """Return an id for a new memory, which a storage in partitions keeps beside its scope."""
        made = new_id(now, self.random_bytes)
        # Of `SupportsPartitions`; to ask for the whole protocol would cost twenty calls.
        keeps_together = getattr(self.storage, "keeps_together", None)
        if keeps_together is not None:
            for _ in range(_MOST_IDS):
                if keeps_together(made, scope):
                    break
                made = new_id(now, self.random_bytes)
        return made

    @property
    def project(self) -> Scope | None:
        """The scope of the repository at work, which need not exist; None for one outside."""
        scope, confinement = self.find_project_scope(), self.confinement
        if scope is None or confinement is None:
            return scope
        return confinement.mask_scope(scope) if confinement.allows(scope.name) else None

    @property
    def evaluators(self) -> Mapping[str, TriggerEvaluator]:
        """What checks the conditions of triggers, by language; the same for every handle."""
        return self.open_evaluators()

    @property
    def embedder(self) -> CheckedEmbedder:
        """The embedder of the model that answers now.

        If you need its index too, call `models.answering` once instead.
        """
        return self.models.answering().embedder

    @property
    def index(self) -> Search:
        """The search by the vectors of the model that answers now."""
        return self.models.answering().index

    @property
    def confinement(self) -> Confinement | None:
        """The scopes that this store was opened for, None for all."""
        storage = self.storage
        if not hasattr(storage, "confinement"):  # so that few stores load what confines
            return None
        from infinite_memory.storage.confined import ConfinedStorage

        return storage.confinement if isinstance(storage, ConfinedStorage) else None

    def read_time(self, value: object, name: str) -> datetime:
        """Return the moment in UTC that the argument `name` of a caller means.

        Every time that a caller may give is read here, whatever brought it in.

        Raises:
            InvalidInput: the value is no time, or cannot be read.
        """
        if isinstance(value, datetime):
            return check_moment(value, name)
        from infinite_memory.times.moments import read_time

        config = self.config
        return read_time(
            value, name, now=self.clock(), zone=config.time_zone, week_start=config.week_start
        )

    def note_returned(self, memories: Iterable[Memory], *, is_recall: bool = False) -> None:
        """Note that a call returned `memories`, so that their echo is recognised.

        A recall also counts as a use of every memory.
        """
        now, returned = self.clock(), list(memories)
        self.recent_recalls.note(returned, now)
        self.note_read(returned)
        if is_recall and self.usage is not None:
            self.usage.note((memory.id for memory in returned), now)

    def note_read(self, memories: Iterable[Memory]) -> None:
        """Record that the running call shows `memories`, if reads are recorded."""
        if self.reads is not None:
            from infinite_memory.core.observe.reads import Read

            self.reads.append(
                Read(
                    at=self.clock(),
                    actor=self.actor,
                    operation=current_operation() or "",
                    memories=tuple(memory.id for memory in memories),
                )
            )
