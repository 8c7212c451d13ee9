"""`MemoryStore`: an open store, its verbs, and its groups of methods."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, Unpack

from infinite_memory.core.config import Config
from infinite_memory.core.observe.recorder import measure_calls
from infinite_memory.core.values.checks import check_count, check_flag
from infinite_memory.core.values.criteria import Conditions, Cut, Depth
from infinite_memory.engine.calls import count_call
from infinite_memory.store import KNOWLEDGE_TOKENS, SESSION_TOKENS
from infinite_memory.store.groups import StoreGroups
from infinite_memory.store.opening import Parts, open_lifetime

if TYPE_CHECKING:
    from infinite_memory.core.values.access.key import AccessKey
    from infinite_memory.core.values.draft import Changes, Details, Draft
    from infinite_memory.core.values.hits import Absence, Hits
    from infinite_memory.core.values.memory import Memory
    from infinite_memory.core.values.recall_page import Recalled
    from infinite_memory.core.values.receipt import Feedback, Receipt
    from infinite_memory.core.values.record import Page, Usage
    from infinite_memory.core.values.timestamps import TimeLike
    from infinite_memory.core.values.verification import Verification
    from infinite_memory.engine.retrieval.search_request import SearchRequest
    from infinite_memory.engine.stats import Stats
    from infinite_memory.engine.undo.undo import Undone
    from infinite_memory.engine.writes.remember import Progress
    from infinite_memory.features.background.upkeep.report import JobReport
    from infinite_memory.features.overviews.values import Briefing, Knowledge


@measure_calls(without=("close", "confine"))
class MemoryStore(StoreGroups):
    """A long-term memory on this machine.

    Open a store with `MemoryStore.open` and close it, best with `with`. Any thread and any number
    of processes may use the same store. A forked child can neither use it nor open it again: start
    workers with "spawn" or "forkserver", or close it first.

    As `scope`, names open these scopes with their parents and `Global`; "ALL" all but private and
    inactive ones; "project" names that of the repository at work. None is the default scope, for a
    new memory about work that of the repository, and in a search what `Conditions` says.
    """

    @classmethod
    def open(
        cls,
        target: str | os.PathLike[str] | None = None,
        *,
        config: Config | None = None,
        client: str = "python",
        counts_usage: bool = True,
        scopes: Iterable[str] | None = None,
        project: str | os.PathLike[str] | None = None,
        **parts: Unpack[Parts],
    ) -> Self:
        """Open the store at `target`, creating it if there is none.

        `target` is None for the home folder, a folder, "memory://" for a store that ends with the
        process, the address of a MongoDB ("mongodb://HOST/DATABASE"), or "mongodb+managed://" for a
        MongoDB in the home folder. Without `config` the file in the home folder is read. The
        journal names the `client`. Without `counts_usage` there are no recalls. With `scopes`,
        names or patterns such as "team/*", no other scope exists, not even `Global`; "*" opens all.
        `project` is the folder at work: the scope of the repository that holds it is active.
        `parts`, such as `storage`, `embedder` and `clock`, replace the built-in ones; see `Parts`.

        Raises:
            ConfigurationError: a setting cannot be used.
            InvalidInput: the name of the client or of a scope cannot be used.
            StorageError: the database cannot be opened; nothing was changed.
            EmbedderError: the configured model is not complete.
        """
        lifetime = open_lifetime(
            target,
            config=config,
            client=client,
            counts_usage=counts_usage,
            scopes=scopes,
            project=project,
            parts=parts,
        )
        return cls(lifetime)

    def __repr__(self) -> str:
        return f"<MemoryStore {self._lifetime.describe()}>"

    @property
    def config(self) -> Config:
        """The configuration in force."""
        return self._services.config

    def confine(
        self,
        *,
        scopes: str | Iterable[str],
        client: str | None = None,
        read_only: bool = False,
        key: AccessKey | str = "",
    ) -> Self:
        """Return a handle for a client on this open store, in which only `scopes` exist.

        `scopes` are names and patterns as in `open`; none exists that does not exist here. The
        handle uses the same database, model and index. `client`, by default the client of this
        store, is named in the journal, and undoes only what it changed itself. With `read_only`
        every change raises ReadOnly, but recalls count. `key` is the access key that the handle is
        for, or its id: its quota holds, with the right `admin` for every scope the handle
        manages keys, and without that right it erases for good only the memories of its own person.

        Raises:
            InvalidInput: a scope or the name of the client cannot be used.
        """
        from infinite_memory.store.confining import confine_lifetime

        lifetime = confine_lifetime(
            self._lifetime, scopes=scopes, client=client, read_only=read_only, key=key
        )
        return type(self)(lifetime)

    @count_call
    def remember(
        self,
        text: str,
        *,
        id: str | None = None,  # noqa: A002 - the word that the caller's own data uses
        kind: str = "note",
        scope: str | None = None,
        tags: Sequence[str] = (),
        happened_at: TimeLike | None = None,
        similar: bool = True,
        create_scope: bool | None = None,
        **details: Unpack[Details],
    ) -> Receipt:
        """Store a memory; when the call returns, it is durable and every process finds it.

        An `id` of your own makes the write idempotent: the same call again changes nothing. `scope`
        defaults to that of the repository at work for a decision, lesson, problem, solution or code
        change, else to the configured one. A new one is created, unless scopes are strict; with
        `create_scope` True always, with False unless its name is near a known one. `happened_at`
        defaults to now. Every memory is stored, with two exceptions, within an
        hour and with nothing else stored in its scope since: an exact repeat without an id of your
        own strengthens the earlier memory, and a text that an assistant has just recalled is an
        echo. Kind "message" is always stored. The receipt names a memory that it
        probably `replaces`, a `similar` one, and those with a key near its key, unless `similar` is
        False. `details` are those of
        `core.values.draft.Details`.

        Raises:
            InvalidInput: a value cannot be used; the message shows it and the way out.
            Conflict: the id belongs to a memory with another content.
            StorageError: it could not be stored.
        """
        from infinite_memory.core.values.draft import Draft
        from infinite_memory.engine.writes.remember import remember

        fields = {"text": text, "id": id, "kind": kind, "scope": scope, "tags": tags}
        draft = Draft.of({**fields, "happened_at": happened_at, **details})
        return remember(self._services, draft, similar=similar, create_scope=create_scope)

    @count_call
    def remember_many(
        self, drafts: Iterable[Draft | Mapping[str, Any]], *, progress: Progress | None = None
    ) -> list[Receipt]:
        """Store many memories; return their receipts in the same order.

        A mapping has the fields of a `Draft`. All are checked before the first is stored. Up to
        20,000 are one change: stored whole or not at all. With ids of your own, the same call
        resumes an interrupted one. `progress` is called with (done, total).

        Raises:
            InvalidInput: a draft cannot be used; the message has its position, counted from 1.
            Conflict: an id belongs to a memory with another content.
        """
        from infinite_memory.engine.writes.remember import remember_many

        return remember_many(self._services, drafts, progress)

    @count_call
    def revise(self, /, memory_id: str, *, revision: int, **changes: Unpack[Changes]) -> Receipt:
        """Change fields of a memory whose present revision is `revision`, which is kept.

        `changes` are fields as `remember` takes them, except `id`, and `create_scope`; status
        "current" brings back a forgotten memory, `supersedes` ends memories that this one replaces.

        Raises:
            NotFound: there is no such memory.
            Conflict: it was changed since; the message shows both texts as far as it may.
            InvalidInput: a value cannot be used, or nothing was given to change.
        """
        from infinite_memory.engine.writes.revise import revise

        return revise(self._services, memory_id, revision=revision, changes={**changes})

    @count_call
    def share(self, memory_id: str, *, to: str, copy: bool = False) -> Receipt:
        """Move a memory into the scope `to`, so that others see it there; or store a `copy` there.

        A memory that moves leaves its history and its links behind. A copy has an id of its own and
        nothing that leads back: no sources, no links. One entry of the journal tells of it in both
        scopes, and its `undo` takes it back.

        Raises:
            NotFound: there is no such memory.
            InvalidInput: it is in that scope, or a copy would lack its attachments.
            UnknownScope: there is no such scope here, and its name is near that of another.
        """
        from infinite_memory.engine.writes.share import share

        return share(self._services, memory_id, to=to, copy=copy)

    @count_call
    def forget(self, memory_id: str, *, hard: bool = False) -> Receipt:
        """Take a memory out of every result; `hard` erases it with its history for good.

        The same call again is safe and returns the outcome `unchanged`; it also finishes a hard
        forget that was interrupted. While a reader in another process keeps the erased bytes in the
        files, `pending` of the receipt says so; they are removed when that reader ends.

        Raises:
            NotFound: there is no such memory.
            AccessDenied: the key of this handle may not erase it for good.
        """
        from infinite_memory.engine.writes.forget import forget

        return forget(self._services, memory_id, hard=hard)

    @count_call
    def undo(
        self, entry: int | None = None, *, dry_run: bool = False, last_of: str = "process"
    ) -> Undone:
        """Reverse an entry of the journal, by default the last change that can be undone.

        What the entry stored is forgotten; other memories get their former revision back, except
        erased ones, which are named. An undo can be undone. `dry_run` changes nothing. Without an
        `entry`, the last change of this process is undone, through any of its handles; `last_of`
        "machine" takes that of this client in any process here. What cannot be undone is skipped.

        Raises:
            NotFound: there is no such entry, or nothing left to undo; the message names the rest.
            Conflict: later changes depend on the entry, or all that it changed was erased for good.
        """
        from infinite_memory.engine.undo.undo import undo

        return undo(self._services, entry, dry_run=dry_run, last_of=last_of)

    @count_call
    def dream(
        self, seed: int | None = None, *, scope: str | None = None, dry_run: bool = False
    ) -> JobReport:
        """Run a cycle of the dreamer now: link what belongs together, write summaries of topics.

        A cycle works on one scope, by default one of those that the upkeep may touch. It looks at
        some 200 pairs for five seconds at most, and is one entry of the journal, which `undo` takes
        back. Of an equal store, a cycle with an equal `seed`, from 0 on, does the same, unless one
        of them ends at the five seconds. `store.dreams` has the diary.

        Raises:
            InvalidInput: a value cannot be used, or the dreamer leaves the scope alone.
            UnknownScope: there is no such scope.
            ReadOnly: this handle may only read; a dry run is possible.
        """
        from infinite_memory.features.background.worker.dream import dream

        if seed is not None:
            check_count(seed, "seed", low=0, high=2**62)
        checked = check_flag(dry_run, "dry_run")
        return dream(self._services, seed=seed, scope=scope, dry_run=checked)

    def search(
        self,
        query: str,
        *,
        depth: str = Depth.NORMAL,
        cut: str = Cut.WIDE,
        limit: int | None = None,
        offset: int = 0,
        threshold: float | None = None,
        arms: Iterable[str] = ("meaning", "words"),
        explain: bool = False,
        **conditions: Unpack[Conditions],
    ) -> Hits:
        """Return the memories that answer `query` best, by meaning and by words, best first.

        The search sees everything that any process stored before it began. `depth` is "normal";
        "overview", with summaries first, and sentences of each hit; or "exhaustive", with every
        match, superseded and archived ones too. Of a normal search the `cut` shows, "wide", every
        match; "asked", what may answer, and without any the `nearest` two; or "pushed", at most
        three that almost surely help. A `threshold` that you give takes the place of the cut: hits
        that score below it (0 to 1) are counted and left out. It and `limit` are those of
        `config.search` by default, 10 and no fixed score; exhaustive, 50 and 0. `offset` skips the
        hits of earlier pages.
        `arms` can be narrowed to "meaning" or to "words". `explain` adds to each hit how its score
        came about. `conditions` are listed in `Conditions`. Nothing is found in a scope that does
        not exist yet, and `note` says so.

        Raises:
            InvalidInput: a value cannot be used.
            UnknownScope: a scope lies outside the scopes that this store was opened for.
        """
        from infinite_memory.engine.retrieval.search_request import SearchRequest

        request = SearchRequest(
            text=query,
            conditions=conditions,
            limit=limit,
            threshold=threshold,
            arms=arms,
            depth=depth,
            cut=cut,
            offset=offset,
            explain=explain,
        )
        return self._answer(request)

    def _answer(self, request: SearchRequest) -> Hits:
        """Return what the search finds, and what the question lists beside it."""
        from infinite_memory.engine.retrieval.search import search
        from infinite_memory.features.reminders.asking import read_listing

        hits = search(self._services, request)
        listing = read_listing(self._services, request, hits)
        if listing is None:
            return hits
        from infinite_memory.features.projects.listing import add_listed

        return add_listed(self._services, listing, hits)

    def why_not(
        self,
        query: str,
        memory_id: str,
        *,
        depth: str = Depth.NORMAL,
        cut: str = Cut.WIDE,
        limit: int | None = None,
        threshold: float | None = None,
        arms: Sequence[str] = ("meaning", "words"),
        **conditions: Unpack[Conditions],
    ) -> Absence:
        """Return which step keeps a memory out of the result of `search` with the same arguments.

        `found_at` is a depth at which the search would return it, and `found_in` a mode, if any.

        Raises:
            InvalidInput: a value cannot be used.
            UnknownScope: a scope was asked for that does not exist.
            NotFound: there is no such memory.
        """
        from infinite_memory.engine.retrieval.search_request import SearchRequest
        from infinite_memory.engine.retrieval.why_not import why_not

        request = SearchRequest(
            text=query,
            conditions=conditions,
            limit=limit,
            threshold=threshold,
            arms=arms,
            depth=depth,
            cut=cut,
            explain=True,
        )
        return why_not(self._services, request, memory_id)

    @count_call
    def not_useful(self, memory_id: str, query: str, *, take_back: bool = False) -> Feedback:
        """Rank a memory lower in searches for questions like `query`, or `take_back` that.

        The opposite of a recall. Other questions find the memory as before, and this one does too,
        lower down; `explain` and `why_not` say so. The memory keeps the question in its context, as
        a revision that `undo` takes back too. The same call again changes nothing.

        Raises:
            InvalidInput: the query is empty or has more than 500 characters; the memory is marked
                for 50 questions already, or no search can return it.
            NotFound: there is no such memory.
            Conflict: the memory was forgotten, or other clients kept changing it.
        """
        from infinite_memory.engine.writes.not_useful import mark_not_useful

        return mark_not_useful(self._services, memory_id, query, take_back=take_back)

    def browse(
        self, *, limit: int = 20, after: str | None = None, **conditions: Unpack[Conditions]
    ) -> Page:
        """Return memories by `conditions` as in `search`, newest first, `after` a page's `next`.

        Raises:
            InvalidInput: a value cannot be used.
            UnknownScope: a scope was asked for that does not exist.
        """
        from infinite_memory.engine.retrieval.browse import browse

        return browse(self._services, conditions, limit=limit, after=after)

    def recall_by_time(
        self,
        *,
        limit: int = 20,
        after: str | None = None,
        newest_first: bool = False,
        **conditions: Unpack[Conditions],
    ) -> Recalled:
        """Return the memories of a period, oldest first, as a diary is read.

        The period is `when` in words, or `since` and `until`; the other `conditions` are as in
        `search`. If it holds more than a page, the first page has a digest of the whole: first and
        last memory, counts by day, scope and kind. `after` is the `next` of the page before. For an
        empty period the result names the nearest memories before and after it.

        Raises:
            InvalidInput: no time is given, or it cannot be read, or a value cannot be used.
            UnknownScope: a scope was asked for that does not exist.
        """
        from infinite_memory.engine.retrieval.recall_by_time import recall_by_time

        return recall_by_time(
            self._services, conditions, limit=limit, after=after, newest_first=newest_first
        )

    def what_do_i_know(
        self,
        topic: str,
        *,
        scope: str | Iterable[str] | None = None,
        budget: int = KNOWLEDGE_TOKENS,
    ) -> Knowledge:
        """Return what is known about a topic, in `budget` tokens: summaries, then highlights.

        The summaries come first that were made from most memories. The highlights are the memories
        that together tell most about the topic, spread over its parts and over time; of about
        equally relevant ones those of higher priority. Whatever is shown counts as recalled. If
        nothing is likely to concern the topic, nothing is shown.

        Raises:
            InvalidInput: the topic is empty, or the budget is not between 200 and 100,000.
            UnknownScope: a scope was asked for that does not exist.
        """
        from infinite_memory.features.overviews.knowledge import describe_topic

        return describe_topic(self._services, topic, scope=scope, budget=budget)

    def briefing(
        self, scope: str | None = None, *, budget: int = SESSION_TOKENS, folder: str = ""
    ) -> Briefing:
        """Return a briefing for an assistant at the start of a session, in `budget` tokens.

        Without a scope, it is for a session in `folder`: in the scope of its repository, or with
        the end of the last conversation there.

        No model is used, nothing counts as recalled, and of private scopes only `scope` is read.

        Raises:
            InvalidInput: the budget is not between 200 and 100,000.
            UnknownScope: there is no such scope.
        """
        from infinite_memory.features.projects.session_context import brief_scope

        return brief_scope(self._services, scope, budget=budget, folder=folder)

    def usage(self, memory_id: str) -> Usage | None:
        """Return how often a memory was recalled, how much it was activated, and when last.

        `search`, unless exhaustive, and `recall_by_time` are recalls, stored some seconds later.
        The usage is None if there was neither a recall nor an activation; see `Usage`.
        Raises NotFound without a memory of that id.
        """
        from infinite_memory.engine.stats import usage

        return usage(self._services, memory_id)

    def get(self, memory_id: str) -> Memory:
        """Return the memory of that id, of any scope and status; raises NotFound without one."""
        from infinite_memory.engine.load_memories import get_memory

        memory = get_memory(self._services, memory_id)
        self._services.note_returned([memory])
        return memory

    def stats(self) -> Stats:
        """Count the memories by scope, kind, status and model, and measure the store."""
        from infinite_memory.engine.stats import stats

        return stats(self._services)

    def verify(self, *, mend: bool = False, progress: Progress | None = None) -> Verification:
        """Check everything that is stored: pages, records, histories, vectors, scopes, the index.

        Nothing is changed, and a damaged record is never repaired. `mend` rebuilds vectors and the
        index from undamaged records. `progress` is called with (memories checked, all memories).
        Raises StorageUnavailable if the store cannot be read at the moment.
        """
        from infinite_memory.engine.verification.store import verify

        return verify(self._services, mend=mend, progress=progress)
