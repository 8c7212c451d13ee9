"""The tools of project memory: what a coding assistant should have remembered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from infinite_memory_mcp.data import RECEIPT, object_schema, receipt_to_data
from infinite_memory_mcp.render import render_receipt
from infinite_memory_mcp.tool import Answer, tool
from infinite_memory_mcp.toolsets.project_answers import (
    render_decisions,
    render_history,
    render_matches,
    render_patterns,
)
from infinite_memory_mcp.toolsets.project_arguments import (
    BuildSessionContext,
    FindPastSolutions,
    GetArchitectureDecisions,
    GetProjectHistory,
    IdentifyPatterns,
    SearchSimilarProblems,
    StoreArchitectureDecision,
    StoreConversationChunk,
    StoreLessonLearned,
    SuggestRelatedWork,
    WorkArguments,
)
from infinite_memory_mcp.view import receipt_ids, view_of_ids

if TYPE_CHECKING:
    from infinite_memory.core.values.receipt import Receipt
    from infinite_memory.store.memory_store import MemoryStore

_MATCHES = object_schema("matches")


@tool("Store a piece of work", RECEIPT)
def store_conversation_chunk(store: MemoryStore, arguments: StoreConversationChunk) -> Answer:
    """Store a finished piece of work on a repository: a problem, a solution, a change."""
    details = _read_work(arguments, "content", "type", "metadata")
    receipt = store.projects.store_chunk(
        arguments.content,
        kind=arguments.type,
        repository=arguments.repository,
        **details,
    )
    return _render_write(store, receipt)


@tool("Store a decision", RECEIPT, destroys=True)
def store_architecture_decision(store: MemoryStore, arguments: StoreArchitectureDecision) -> Answer:
    """Store a decision on a repository with its reason; supersedes ends earlier decisions."""
    details = _read_work(arguments, "decision", "rationale", "context")
    context = arguments.context
    situation = "" if context is None else f"\nContext: {context}"
    receipt = store.projects.store_decision(
        f"{arguments.decision}{situation}",
        rationale=arguments.rationale,
        repository=arguments.repository,
        **details,
    )
    return _render_write(store, receipt)


@tool("Store a lesson", RECEIPT)
def store_lesson_learned(store: MemoryStore, arguments: StoreLessonLearned) -> Answer:
    """Store what a problem taught, for whoever meets it again."""
    details = _read_work(arguments, "problem", "solution")
    receipt = store.projects.store_lesson(
        arguments.problem,
        arguments.solution,
        repository=arguments.repository,
        **details,
    )
    return _render_write(store, receipt)


@tool("Find similar problems", _MATCHES, reads=True)
def search_similar_problems(store: MemoryStore, arguments: SearchSimilarProblems) -> Answer:
    """Find problems like this one, and how each was investigated and solved, in order."""
    matches = store.projects.search_similar_problems(
        arguments.query,
        repository=arguments.repository_or_all,
        timeframe=arguments.timeframe,
        files=arguments.file_context,
        recency=arguments.recency,
        min_score=arguments.min_relevance_score,
        kinds=arguments.kinds,
        limit=arguments.limit,
        folder=arguments.folder,
    )
    return render_matches(store, matches, "similar problem", arguments.max_tokens)


@tool("Find past solutions", _MATCHES, reads=True)
def find_past_solutions(store: MemoryStore, arguments: FindPastSolutions) -> Answer:
    """Find how this error was solved before, in any repository: give the whole message or trace."""
    matches = store.projects.find_past_solutions(
        arguments.error_message,
        context=arguments.context,
        repository=arguments.repository,
        limit=arguments.limit,
        folder=arguments.folder,
    )
    return render_matches(store, matches, "past solution", arguments.max_tokens)


@tool("List the history of a repository", object_schema("chunks"), reads=True)
def get_project_history(store: MemoryStore, arguments: GetProjectHistory) -> Answer:
    """List what was done in a repository, newest first."""
    history = store.projects.get_history(arguments.repository, limit=arguments.limit)
    return render_history(store, history, arguments.max_tokens)


@tool("List decisions", object_schema("decisions"), reads=True)
def get_architecture_decisions(store: MemoryStore, arguments: GetArchitectureDecisions) -> Answer:
    """List the decisions of a repository with their reasons; superseded ones are marked."""
    decisions = store.projects.get_decisions(
        arguments.repository_or_all, component=arguments.component, folder=arguments.folder
    )
    return render_decisions(store, decisions, arguments.max_tokens)


@tool("Suggest related work", _MATCHES, reads=True)
def suggest_related_work(store: MemoryStore, arguments: SuggestRelatedWork) -> Answer:
    """Suggest what is worth knowing for a task: unfinished work, decisions, similar work."""
    related = store.projects.suggest_related_work(
        arguments.current_task,
        arguments.repository,
        files=arguments.files,
        limit=arguments.limit,
        folder=arguments.folder,
    )
    return render_matches(store, related.matches, "suggestion", arguments.max_tokens)


@tool("Show patterns", object_schema("patterns"), reads=True)
def identify_patterns(store: MemoryStore, arguments: IdentifyPatterns) -> Answer:
    """Show what recurs: problems with their fixes, files changed together, tools, outcomes."""
    patterns = store.projects.identify_patterns(
        arguments.repository_or_all,
        timeframe=arguments.timeframe,
    )
    return render_patterns(store, patterns, arguments.max_tokens)


@tool("Begin a session", object_schema("text"), reads=True)
def build_session_context(store: MemoryStore, arguments: BuildSessionContext) -> Answer:
    """Call this first when work on a repository begins.

    The user, open work, decisions, lessons, recent sessions, what is due.
    """
    briefing = store.projects.build_session_context(
        arguments.repository, recent_days=arguments.recent_days, budget=arguments.budget
    )
    return Answer(text=briefing.text, data=briefing.to_dict())


def _read_work(arguments: WorkArguments, *own: str) -> dict[str, Any]:
    given = arguments.model_dump(exclude={"repository", *own})
    details = {name: value for name, value in given.items() if value not in (None, [], "")}
    return {**details, "folder": arguments.folder, "origin": "assistant"}


def _render_write(store: MemoryStore, receipt: Receipt) -> Answer:
    view = view_of_ids(store, receipt_ids(receipt))
    return Answer(text=render_receipt(receipt, view), data=receipt_to_data(receipt))


SESSION_CONTEXT = (build_session_context,)
"""The tool with which a session begins, offered by default."""

PROJECTS = (
    store_conversation_chunk,
    store_architecture_decision,
    store_lesson_learned,
    search_similar_problems,
    find_past_solutions,
    get_project_history,
    get_architecture_decisions,
    suggest_related_work,
    identify_patterns,
)
"""The tools of project memory."""
