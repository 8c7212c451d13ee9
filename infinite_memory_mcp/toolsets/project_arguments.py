"""The arguments of the tools of project memory."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Self

from pydantic import Field, PrivateAttr

from infinite_memory.core.errors import InvalidInput
from infinite_memory.features.projects.chunk import CHUNK_KINDS, Difficulty, WorkOutcome
from infinite_memory.features.sessions.git import find_work_tree
from infinite_memory.features.sessions.scope_names import is_folder
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

_TYPES = list_choices(*sorted(CHUNK_KINDS))
_OUTCOMES = list_choices(*WorkOutcome)
_DIFFICULTIES = list_choices(*Difficulty)
_BRIEFING_TOKENS = 1500
_RECENT_DAYS = 14


class ProjectArguments(Arguments):
    """The arguments of a tool on a repository.

    Without one it is that of the client's folder if `is_of_folder`, and otherwise every open one.
    """

    repository: str | None = Field(None, description="Name, URL or folder")
    is_of_folder: ClassVar[bool] = True
    _folder: str | None = PrivateAttr(None)

    def in_folder(self, folder: str | None) -> Self:
        """Return the arguments for a client that works in `folder`, which may be a checkout.

        Raises:
            InvalidInput: the repository is a folder, and the client may be on another machine.
        """
        if folder is None and self.repository is not None and is_folder(self.repository):
            raise InvalidInput(
                f"repository {self.repository!r:.200} is a folder, which this server cannot see:"
                " give HOST/OWNER/NAME, such as github.com/octo/apollo, or the address of its"
                " remote; nothing was done"
            )
        tree = None if folder is None else find_work_tree(Path(folder))
        if tree is None:
            return self
        is_missing = self.is_of_folder and self.repository is None
        is_meant = is_missing or self.repository == tree.name
        values = self.model_copy(update={"repository": folder} if is_meant else {})
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


class WorkArguments(ProjectArguments):
    """The arguments of a tool that stores a piece of work."""

    summary: str | None = Field(None, description="A line for scanning")
    files: Labels = Field([], description="Paths that were changed")
    outcome: str | None = Field(None, json_schema_extra=_OUTCOMES)
    tags: Labels = Field([])
    component: str | None = None
    session: str | None = None
    related: MemoryIds = Field([], description="Ids of related chunks")


class StoreConversationChunk(WorkArguments):
    """The arguments of `store_conversation_chunk`."""

    spread: ClassVar[str | None] = "metadata"

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


class StoreArchitectureDecision(WorkArguments):
    """The arguments of `store_architecture_decision`."""

    decision: str
    rationale: str
    context: str | None = Field(None, description="The situation it was made in")
    alternatives: Labels = Field([])
    consequences: str | None = None
    supersedes: MemoryIds = Field([], description="Ids of decisions it replaces")


class StoreLessonLearned(WorkArguments):
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
    kinds: Labels = Field([], description="Instead of problems and their solutions")
    limit: Limit = 5
    max_tokens: Tokens = DEFAULT_TOKENS


class FindPastSolutions(ProjectArguments):
    """The arguments of `find_past_solutions`."""

    error_message: str
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

    recent_days: int = _RECENT_DAYS
    budget: int = Field(_BRIEFING_TOKENS, description="Tokens")
