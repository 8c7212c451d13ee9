"""A chunk: a piece of work on a repository, kept as the typed payload of a memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, TypedDict

from attrs import field, frozen

from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.memory import JsonValue, Kind, Memory, Status
from infinite_memory.core.values.timestamps import TimeLike

CHUNK_KINDS = frozenset(
    {
        Kind.PROBLEM,
        Kind.SOLUTION,
        Kind.CODE_CHANGE,
        Kind.DISCUSSION,
        Kind.DECISION,
        Kind.LESSON,
    }
)
"""The kinds of chunks; a memory of one of them in the scope of a repository is a chunk."""

SOLVING_KINDS = frozenset({Kind.SOLUTION, Kind.LESSON})
"""The kinds of chunks that tell how something was solved."""

PARTS = (
    *("before", "after", "impact"),
    *("decision", "rationale", "alternatives", "consequences"),
    *("problem", "solution", "error"),
)
"""The texts that a chunk may have beside its content, by the kinds that use them."""

_NAMES = ("repository", "branch", "commit", "component", "session")


class WorkOutcome(StrEnum):
    """How a piece of work ended."""

    SUCCESS = "success"
    IN_PROGRESS = "in_progress"
    FAILED = "failed"
    ABANDONED = "abandoned"


class Difficulty(StrEnum):
    """How hard a piece of work was."""

    SIMPLE = "simple"
    MODERATE = "moderate"
    COMPLEX = "complex"


class WorkDetails(TypedDict, total=False):
    """The optional fields of every chunk.

    `summary` is a line for scanning. `commit` is the hash of the commit, `files` are paths within
    the repository, and `related` the ids of further memories. `minutes` is the time spent.
    `folder` is a checkout of the repository, from which branch, commit and the hashes of the files
    are read where they are not given. The rest is that of a memory.
    """

    summary: str | None
    branch: str | None
    commit: str | None
    component: str | None
    session: str | None
    files: Iterable[str]
    tools: Iterable[str]
    outcome: str | None
    difficulty: str | None
    minutes: float | None
    related: Iterable[str]
    folder: str | None
    tags: Iterable[str]
    happened_at: TimeLike | None
    supersedes: Iterable[str]
    important: bool
    id: str | None
    origin: str


class DecisionDetails(WorkDetails, total=False):
    """The optional fields of a decision."""

    alternatives: str | Iterable[str] | None
    consequences: str | None


class LessonDetails(WorkDetails, total=False):
    """The optional fields of a lesson; `error` is the message of an error."""

    error: str | None


class ChunkDetails(DecisionDetails, LessonDetails, total=False):
    """The optional fields of a chunk of any kind, which `store_chunk` takes as keywords.

    `before`, `after` and `impact` belong to a code change; `decision`, `rationale`, `alternatives`
    and `consequences` to a decision; `problem`, `solution` and `error` to a problem, a solution or
    a lesson.
    """

    before: str | None
    after: str | None
    impact: str | None
    decision: str | None
    rationale: str | None
    problem: str | None
    solution: str | None


@frozen(kw_only=True)
class Chunk(PlainData):
    """A piece of work on a repository, as it was stored.

    `content` is the text of its memory `id`, `scope` the scope of the repository, and `files` are
    paths within it, whose git blob hashes at that time are in `blobs`, as far as they are known.
    `parts` are the texts of its kind, see `PARTS`. `minutes` is the time spent.
    """

    id: str
    kind: Kind
    content: str
    summary: str
    scope: str
    happened_at: datetime
    status: Status = Status.CURRENT
    important: bool = False
    tags: tuple[str, ...] = ()
    branch: str | None = None
    commit: str | None = None
    component: str | None = None
    session: str | None = None
    files: tuple[str, ...] = ()
    blobs: Mapping[str, str] = field(factory=dict)
    tools: tuple[str, ...] = ()
    outcome: WorkOutcome | None = None
    difficulty: Difficulty | None = None
    minutes: float | None = None
    parts: Mapping[str, str] = field(factory=dict)

    @property
    def is_open(self) -> bool:
        """Whether the work was left unfinished."""
        return self.outcome in (WorkOutcome.IN_PROGRESS, WorkOutcome.FAILED) or (
            self.kind is Kind.PROBLEM and self.outcome is None
        )

    @property
    def is_solved(self) -> bool:
        """Whether it is a solution that held, as far as is known."""
        return self.kind in SOLVING_KINDS and self.outcome in (None, WorkOutcome.SUCCESS)


def chunk_of(memory: Memory) -> Chunk:
    """Return the chunk in a memory; what its context does not hold in a usable form is left out."""
    context = memory.context
    texts = {name: _read_text(context.get(name)) for name in (*_NAMES, *PARTS)}
    minutes = context.get("minutes")
    is_number = isinstance(minutes, int | float) and not isinstance(minutes, bool)
    return Chunk(
        id=memory.id,
        kind=memory.kind,
        content=memory.text,
        summary=memory.heading,
        scope=memory.scope,
        happened_at=memory.happened_at,
        status=memory.status,
        important=memory.important,
        tags=memory.tags,
        branch=texts["branch"],
        commit=texts["commit"],
        component=texts["component"],
        session=texts["session"] or memory.conversation_id,
        files=_read_texts(context.get("files")),
        blobs=_read_blobs(context.get("blobs")),
        tools=_read_texts(context.get("tools")),
        outcome=_read_choice(WorkOutcome, context.get("outcome")),
        difficulty=_read_choice(Difficulty, context.get("difficulty")),
        minutes=float(minutes) if is_number else None,  # type: ignore[arg-type]
        parts={name: text for name in PARTS if (text := texts[name]) is not None},
    )


def _read_text(value: JsonValue) -> str | None:
    if isinstance(value, list):
        return "; ".join(_read_texts(value)) or None
    return value if isinstance(value, str) and value.strip() else None


def _read_texts(value: JsonValue) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list):
        return ()
    return tuple([item for item in listed if isinstance(item, str) and item])


def _read_blobs(value: JsonValue) -> dict[str, str]:
    if not isinstance(value, dict):
        return {}
    return {name: digest for name, digest in value.items() if isinstance(digest, str)}


def _read_choice(kinds: type[StrEnum], value: JsonValue) -> Any:
    names = {str(member): member for member in kinds}
    return names.get(value) if isinstance(value, str) else None
