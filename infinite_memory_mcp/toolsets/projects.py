"""The tools of project memory: what a coding assistant should have remembered."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import Field, PrivateAttr

from infinite_memory.conversations.repository import find_work_tree
from infinite_memory.errors import InvalidInput
from infinite_memory.projects.chunk import CHUNK_KINDS, Difficulty, WorkOutcome
from infinite_memory_mcp.arguments import (
    Arguments,
    Labels,
    Limit,
    MemoryIds,
    Object,
    Tokens,
    list_choices,
)
from infinite_memory_mcp.budget import DEFAULT_TOKENS
from infinite_memory_mcp.data import RECEIPT, object_schema, receipt_to_data
from infinite_memory_mcp.render import render_receipt
from infinite_memory_mcp.tool import Answer, ToolSpec
from infinite_memory_mcp.toolsets.project_answers import (
    render_decisions,
    render_history,
    render_matches,
    render_patterns,
)
from infinite_memory_mcp.view import receipt_ids, view_of_ids

if TYPE_CHECKING:
    from infinite_memory.model.receipt import Receipt
    from infinite_memory.store import MemoryStore

__all__ = ["PROJECTS", "SESSION_CONTEXT"]

_TYPES = list_choices(*sorted(CHUNK_KINDS))
_OUTCOMES = list_choices(*WorkOutcome)
_DIFFICULTIES = list_choices(*Difficulty)
_BRIEFING_TOKENS = 1500


class ProjectArguments(Arguments):
    """The arguments of a tool on a repository.

    Without one it is that of the client's folder if `is_of_folder`, and otherwise every open one.
    """

    repository: str | None = Field(None, description="HOST/OWNER/NAME, URL or folder")
    is_of_folder: ClassVar[bool] = True
    _folder: str | None = PrivateAttr(None)

    def in_folder(self, folder: str | None) -> Self:
        """Return the arguments for a client that works in `folder`, which may be a checkout."""
        if folder is None or find_work_tree(Path(folder)) is None:
            return self
        is_missing = self.is_of_folder and self.repository is None
        values = self.model_copy(update={"repository": folder} if is_missing else {})
        values._folder = folder
        return values

    @property
    def folder(self) -> str | None:
        """The checkout that the client works in, None if it works in none."""
        return self._folder

    @property
    def repository_or_all(self) -> str | None:
        """The repository, None for all that are open."""
        return None if self.repository in ("ALL", "all") else self.repository

    def name_repository(self) -> str:
        """Return the repository.

        Raises:
            InvalidInput: none is given, and the client works in none.
        """
        if self.repository is None:
            raise InvalidInput(
                "the argument 'repository' is missing, and this server was not started in a"
                " checkout: give HOST/OWNER/NAME, such as github.com/octo/apollo, or a folder"
            )
        return self.repository


class _Work(ProjectArguments):
    summary: str | None = Field(None, description="A line for scanning")
    files: Labels = Field([], description="Paths that were changed")
    outcome: str | None = Field(None, json_schema_extra=_OUTCOMES)
    tags: Labels = Field([])
    component: str | None = None
    session: str | None = None
    related: MemoryIds = Field([], description="Ids of related chunks")


class StoreConversationChunk(_Work):
    """The arguments of `store_conversation_chunk`."""

    content: str = Field(description="What was done, why, and what came of it")
    type: str = Field("discussion", json_schema_extra=_TYPES)
    branch: str | None = None
    commit: str | None = None
    tools: Labels = Field([])
    difficulty: str | None = Field(None, json_schema_extra=_DIFFICULTIES)
    minutes: float | None = None
    error: str | None = Field(None, description="The error message, for find_past_solutions")
    before: str | None = None
    after: str | None = None
    impact: str | None = None
    metadata: Object = Field({}, description="Instead: any of these arguments")
    id: str | None = Field(None, description="Your own id makes a retry harmless")


class StoreArchitectureDecision(_Work):
    """The arguments of `store_architecture_decision`."""

    decision: str
    rationale: str
    context: str | None = Field(None, description="The situation it was made in")
    alternatives: Labels = Field([])
    consequences: str | None = None
    supersedes: MemoryIds = Field([], description="Ids of decisions it replaces")


class StoreLessonLearned(_Work):
    """The arguments of `store_lesson_learned`."""

    problem: str
    solution: str
    error: str | None = Field(None, description="The error message")


class SearchSimilarProblems(ProjectArguments):
    """The arguments of `search_similar_problems`."""

    query: str
    is_of_folder: ClassVar[bool] = False
    timeframe: str | None = Field(None, description='"last month"')
    file_context: Labels = Field([], description="Files in play")
    recency: float = Field(0.0, description="0 to 1: how much age counts")
    min_relevance_score: float | None = None
    limit: Limit = 5
    max_tokens: Tokens = DEFAULT_TOKENS


class FindPastSolutions(ProjectArguments):
    """The arguments of `find_past_solutions`."""

    error_message: str = Field(description="The message or the whole stack trace")
    context: str | None = None
    limit: Limit = 3
    max_tokens: Tokens = DEFAULT_TOKENS


class GetProjectHistory(ProjectArguments):
    """The arguments of `get_project_history`."""

    limit: Limit = 20
    max_tokens: Tokens = DEFAULT_TOKENS


class GetArchitectureDecisions(ProjectArguments):
    """The arguments of `get_architecture_decisions`."""

    component: str | None = None
    max_tokens: Tokens = DEFAULT_TOKENS


class SuggestRelatedWork(ProjectArguments):
    """The arguments of `suggest_related_work`."""

    current_task: str
    files: Labels = Field([], description="Files in play")
    limit: Limit = 8
    max_tokens: Tokens = DEFAULT_TOKENS


class IdentifyPatterns(ProjectArguments):
    """The arguments of `identify_patterns`."""

    timeframe: str | None = Field(None, description='"last month"')
    max_tokens: Tokens = DEFAULT_TOKENS


class BuildSessionContext(ProjectArguments):
    """The arguments of `build_session_context`."""

    recent_days: int = Field(14, ge=1, le=3650)
    budget: int = Field(_BRIEFING_TOKENS, ge=200, le=100_000, description="Tokens")


def store_conversation_chunk(store: MemoryStore, arguments: StoreConversationChunk) -> Answer:
    """Store a finished piece of work on a repository: a problem, a solution, a change."""
    metadata = dict(arguments.metadata)
    given = arguments.model_dump(exclude={"content", "type", "metadata", "repository"})
    details = {name: value for name, value in given.items() if value not in (None, [], "")}
    receipt = store.projects.store_chunk(
        arguments.content,
        kind=arguments.type,
        repository=arguments.name_repository(),
        folder=arguments.folder,
        origin="assistant",
        **{**metadata, **details},
    )
    return _render_write(store, receipt)


def store_architecture_decision(store: MemoryStore, arguments: StoreArchitectureDecision) -> Answer:
    """Store a decision on a repository with its reason; supersedes ends earlier decisions."""
    details = _work(arguments, "decision", "rationale", "context")
    context = arguments.context
    situation = "" if context is None else f"\nContext: {context}"
    receipt = store.projects.store_decision(
        f"{arguments.decision}{situation}",
        rationale=arguments.rationale,
        repository=arguments.name_repository(),
        **details,
    )
    return _render_write(store, receipt)


def store_lesson_learned(store: MemoryStore, arguments: StoreLessonLearned) -> Answer:
    """Store what a problem taught, for whoever meets it again."""
    details = _work(arguments, "problem", "solution")
    receipt = store.projects.store_lesson(
        arguments.problem,
        arguments.solution,
        repository=arguments.name_repository(),
        **details,
    )
    return _render_write(store, receipt)


def search_similar_problems(store: MemoryStore, arguments: SearchSimilarProblems) -> Answer:
    """Find problems like this one, and how each was investigated and solved, in order."""
    matches = store.projects.search_similar_problems(
        arguments.query,
        repository=arguments.repository_or_all,
        timeframe=arguments.timeframe,
        files=arguments.file_context,
        recency=arguments.recency,
        min_score=arguments.min_relevance_score,
        limit=arguments.limit,
        folder=arguments.folder,
    )
    return render_matches(store, matches, "similar problem", arguments.max_tokens)


def find_past_solutions(store: MemoryStore, arguments: FindPastSolutions) -> Answer:
    """Find how this error was solved before, in any repository: paste the message whole."""
    matches = store.projects.find_past_solutions(
        arguments.error_message,
        context=arguments.context,
        repository=arguments.repository,
        limit=arguments.limit,
        folder=arguments.folder,
    )
    return render_matches(store, matches, "past solution", arguments.max_tokens)


def get_project_history(store: MemoryStore, arguments: GetProjectHistory) -> Answer:
    """List what was done in a repository, newest first."""
    history = store.projects.get_history(arguments.name_repository(), limit=arguments.limit)
    return render_history(store, history, arguments.max_tokens)


def get_architecture_decisions(store: MemoryStore, arguments: GetArchitectureDecisions) -> Answer:
    """List the decisions of a repository with their reasons; superseded ones are marked."""
    decisions = store.projects.get_decisions(
        arguments.repository_or_all, component=arguments.component, folder=arguments.folder
    )
    return render_decisions(store, decisions, arguments.max_tokens)


def suggest_related_work(store: MemoryStore, arguments: SuggestRelatedWork) -> Answer:
    """Suggest what is worth knowing for a task: unfinished work, decisions, similar work."""
    related = store.projects.suggest_related_work(
        arguments.current_task,
        arguments.name_repository(),
        files=arguments.files,
        limit=arguments.limit,
        folder=arguments.folder,
    )
    return render_matches(store, related.matches, "suggestion", arguments.max_tokens)


def identify_patterns(store: MemoryStore, arguments: IdentifyPatterns) -> Answer:
    """Show what recurs: problems with their fixes, files changed together, tools, outcomes."""
    patterns = store.projects.identify_patterns(
        arguments.repository_or_all,
        timeframe=arguments.timeframe,
    )
    return render_patterns(store, patterns, arguments.max_tokens)


def build_session_context(store: MemoryStore, arguments: BuildSessionContext) -> Answer:
    """Call this first when you begin to work on a repository.

    Who the user is, open work, decisions and lessons in force, recent sessions, what is due.
    """
    briefing = store.projects.build_session_context(
        arguments.repository, recent_days=arguments.recent_days, budget=arguments.budget
    )
    return Answer(text=briefing.text, data=briefing.to_dict())


def _work(arguments: _Work, *own: str) -> dict[str, Any]:
    given = arguments.model_dump(exclude={"repository", *own})
    details = {name: value for name, value in given.items() if value not in (None, [], "")}
    return {**details, "folder": arguments.folder, "origin": "assistant"}


def _render_write(store: MemoryStore, receipt: Receipt) -> Answer:
    view = view_of_ids(store, receipt_ids(receipt))
    return Answer(text=render_receipt(receipt, view), data=receipt_to_data(receipt))


_MATCHES = object_schema("matches")
SESSION_CONTEXT = (
    ToolSpec(
        run=build_session_context,
        arguments=BuildSessionContext,
        title="Begin a session",
        answers=object_schema("text"),
        reads=True,
    ),
)
"""The tool with which a session begins, offered by default."""

PROJECTS = (
    ToolSpec(
        run=store_conversation_chunk,
        arguments=StoreConversationChunk,
        title="Store a piece of work",
        answers=RECEIPT,
    ),
    ToolSpec(
        run=store_architecture_decision,
        arguments=StoreArchitectureDecision,
        title="Store a decision",
        answers=RECEIPT,
        destroys=True,
    ),
    ToolSpec(
        run=store_lesson_learned,
        arguments=StoreLessonLearned,
        title="Store a lesson",
        answers=RECEIPT,
    ),
    ToolSpec(
        run=search_similar_problems,
        arguments=SearchSimilarProblems,
        title="Find similar problems",
        answers=_MATCHES,
        reads=True,
    ),
    ToolSpec(
        run=find_past_solutions,
        arguments=FindPastSolutions,
        title="Find past solutions",
        answers=_MATCHES,
        reads=True,
    ),
    ToolSpec(
        run=get_project_history,
        arguments=GetProjectHistory,
        title="List the history of a repository",
        answers=object_schema("chunks"),
        reads=True,
    ),
    ToolSpec(
        run=get_architecture_decisions,
        arguments=GetArchitectureDecisions,
        title="List decisions",
        answers=object_schema("decisions"),
        reads=True,
    ),
    ToolSpec(
        run=suggest_related_work,
        arguments=SuggestRelatedWork,
        title="Suggest related work",
        answers=_MATCHES,
        reads=True,
    ),
    ToolSpec(
        run=identify_patterns,
        arguments=IdentifyPatterns,
        title="Show patterns",
        answers=object_schema("patterns"),
        reads=True,
    ),
)
"""The tools of project memory."""
