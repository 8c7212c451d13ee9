"""`store.projects`: what a coding assistant should have remembered about a repository."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Unpack

from infinite_memory.core.observe.recorder import measure_calls
from infinite_memory.core.values.memory import Kind
from infinite_memory.core.values.receipt import Receipt
from infinite_memory.engine.calls import count_call
from infinite_memory.features.overviews.values import Briefing
from infinite_memory.features.projects.chunk import ChunkDetails, DecisionDetails, LessonDetails
from infinite_memory.features.projects.finding import (
    PROBLEM_KINDS,
    ProblemQuery,
    RelatedWork,
    WorkMatch,
    find_similar_problems,
    suggest_related_work,
)
from infinite_memory.features.projects.history import (
    Decision,
    ProjectHistory,
    get_decisions,
    get_history,
)
from infinite_memory.features.projects.insights import Insights, get_insights
from infinite_memory.features.projects.patterns import Patterns, identify_patterns
from infinite_memory.features.projects.session_chunks import IngestedSessions, ingest_sessions
from infinite_memory.features.projects.session_context import DEFAULT_DAYS, build_session_context
from infinite_memory.features.projects.solutions import find_past_solutions
from infinite_memory.features.projects.storing import check_kind, check_part, store_chunk
from infinite_memory.store import CONTEXT_TOKENS
from infinite_memory.store.lifetime import Group


@measure_calls("projects.")
class Projects(Group):
    """The work on repositories: chunks of sessions, decisions, lessons, and what recurs in them.

    A repository is a scope, "repo/HOST/OWNER/NAME", under `Projects`. As `repository`, methods take
    that name, "HOST/OWNER/NAME", the address of a remote, a folder of a checkout, the last part of
    a name that is known, or a plain name. Two clones of a remote, and a worktree, are one
    repository. What needs one takes the only one that is known if it is left out.
    """

    @count_call
    def store_chunk(
        self,
        content: str,
        *,
        kind: str,
        repository: str | None = None,
        **details: Unpack[ChunkDetails],
    ) -> Receipt:
        """Store a piece of work: a problem, solution, code_change, discussion, decision or lesson.

        The names and contents of the files that the configuration excludes are replaced before
        anything is stored. With a `folder` the chunk knows its branch, its commit and the hashes of
        its files. `related` ids of the same repository are linked, in an entry of their own.

        Raises:
            InvalidInput: a value cannot be used, or the repository is not enabled.
            NotFound: a related memory does not exist.
            Conflict: the id belongs to another memory.
        """
        return store_chunk(
            self._services, content, kind=kind, repository=repository, details=details
        )

    @count_call
    def store_decision(
        self,
        decision: str,
        *,
        rationale: str,
        repository: str | None = None,
        **details: Unpack[DecisionDetails],
    ) -> Receipt:
        """Store a decision on the architecture, with its reason; see `store_chunk`.

        `supersedes` names earlier decisions that it replaces, which stay as history. An earlier one
        in force on the same `component` that is much like it is in `replaces` of the receipt, and
        in the briefing of the repository until one of them is superseded.
        """
        reason = check_part(self._services, rationale, "rationale")
        fields = {**details, "decision": decision, "rationale": reason}
        return store_chunk(
            self._services, decision, kind=Kind.DECISION, repository=repository, details=fields
        )

    @count_call
    def store_lesson(
        self,
        problem: str,
        solution: str,
        *,
        repository: str | None = None,
        **details: Unpack[LessonDetails],
    ) -> Receipt:
        """Store a lesson learned: a problem, and what to do about it; see `store_chunk`."""
        met = check_part(self._services, problem, "problem")
        fix = check_part(self._services, solution, "solution")
        fields = {**details, "problem": met, "solution": fix}
        content = f"{met}\nSolution: {fix}"
        return store_chunk(
            self._services, content, kind=Kind.LESSON, repository=repository, details=fields
        )

    @count_call
    def ingest_sessions(
        self,
        *paths: str | os.PathLike[str],
        dry_run: bool = False,
        stop: Callable[[], bool] | None = None,
    ) -> IngestedSessions:
        """Cut sessions of Claude Code, Codex and Gemini CLI into chunks, and store them.

        A path is a session file or a folder, which is searched for them. The pieces of a session
        become chunks of the repository that they worked on, with kind, title, files and outcome. A
        second call stores nothing twice: a chunk whose session went on is revised, and one that a
        person changed or forgot stays so. A `dry_run` stores nothing and returns the same report.
        `stop` is asked between two files.

        Raises:
            NotFound: there is nothing at a path.
            StorageError: the chunks cannot be stored at the moment; what is stored stays.
        """
        files = [Path(os.fspath(path)) for path in paths]
        return ingest_sessions(self._services, files, dry_run=dry_run, stop=stop)

    def search_similar_problems(
        self,
        query: str,
        *,
        repository: str | None = None,
        timeframe: str | None = None,
        files: Sequence[str] = (),
        recency: float = 0.0,
        min_score: float | None = None,
        kinds: Sequence[str] = (),
        limit: int = 5,
        folder: str | None = None,
    ) -> tuple[WorkMatch, ...]:
        """Return similar problems, solutions, lessons and changes, each with how the work went.

        Without a `repository` all open ones are searched. `kinds` of chunks may be named instead of
        these four. `timeframe` is in words, such as "last
        month". `files` in play raise what was done on them; `recency` in [0, 1] is how much the age
        counts. With a `folder` of a checkout, matches say whether their files are as they were.

        Raises:
            InvalidInput: a value cannot be used.
            UnknownScope: nothing is stored of the repository.
        """
        request = ProblemQuery(
            text=query,
            repository=repository,
            timeframe=timeframe,
            files=files,
            recency=recency,
            min_score=min_score,
            limit=limit,
            folder=folder,
            kinds=frozenset(map(check_kind, kinds)) or PROBLEM_KINDS,
        )
        return find_similar_problems(self._services, request)

    def find_past_solutions(
        self,
        error_message: str,
        *,
        context: str | None = None,
        repository: str | None = None,
        limit: int = 3,
        folder: str | None = None,
    ) -> tuple[WorkMatch, ...]:
        """Return how an error was solved before, in any open repository, best first.

        Paths, line numbers, addresses, ids and times of the message or the stack trace do not
        count, so that the same error in another place matches. `context` is what the person says
        of it. What was solved in `repository` comes a little earlier.

        Raises:
            InvalidInput: a value cannot be used.
        """
        return find_past_solutions(
            self._services,
            error_message,
            context=context,
            repository=repository,
            limit=limit,
            folder=folder,
        )

    def get_history(self, repository: str | None = None, *, limit: int = 20) -> ProjectHistory:
        """Return what was done in a repository, newest first.

        Raises:
            InvalidInput: a value cannot be used.
            UnknownScope: nothing is stored of the repository.
        """
        return get_history(self._services, repository, limit=limit)

    def get_decisions(
        self,
        repository: str | None = None,
        *,
        component: str | None = None,
        folder: str | None = None,
    ) -> tuple[Decision, ...]:
        """Return decisions: those in force first, then superseded ones, newest first in each.

        A decision concerns a `component` by its component, a tag, or a folder or name of its files.

        Raises:
            InvalidInput: a value cannot be used.
            UnknownScope: nothing is stored of the repository.
        """
        return get_decisions(self._services, repository, component=component, folder=folder)

    def suggest_related_work(
        self,
        task: str,
        repository: str | None = None,
        *,
        files: Sequence[str] = (),
        limit: int = 8,
        folder: str | None = None,
    ) -> RelatedWork:
        """Return what is worth knowing for a task: unfinished work, decisions, similar work.

        Raises:
            InvalidInput: a value cannot be used.
            UnknownScope: nothing is stored of the repository.
        """
        return suggest_related_work(
            self._services, task, repository, files=files, limit=limit, folder=folder
        )

    def identify_patterns(
        self, repository: str | None = None, *, timeframe: str | None = None
    ) -> Patterns:
        """Return what recurs: problems with their fixes, files changed together, tools, outcomes.

        Raises:
            InvalidInput: the timeframe cannot be read.
            UnknownScope: nothing is stored of the repository.
        """
        return identify_patterns(self._services, repository, timeframe)

    def insights(self, repository: str | None = None, *, timeframe: str | None = None) -> Insights:
        """Return how the work went: activity, outcomes, time, hard spots, problems solved again.

        Without a `repository` that of all open ones. `timeframe` is in words, such as "last month".
        The newest 10,000 chunks are counted; `Insights` says how. To count them is no recall.

        Raises:
            InvalidInput: the timeframe cannot be read.
            UnknownScope: nothing is stored of the repository.
        """
        return get_insights(self._services, repository, timeframe)

    def build_session_context(
        self,
        repository: str | None = None,
        *,
        recent_days: int = DEFAULT_DAYS,
        budget: int = CONTEXT_TOKENS,
    ) -> Briefing:
        """Return what to know at the start of work on a repository, in `budget` tokens.

        It is the briefing of its scope: the user, what is due, unfinished work, decisions and
        lessons in force, recent sessions, and what recurs. Nothing of another repository is in it,
        except what is stored in `Global` or `Projects`.

        Raises:
            InvalidInput: a value cannot be used.
        """
        return build_session_context(
            self._services, repository, recent_days=recent_days, budget=budget
        )
