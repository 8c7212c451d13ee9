"""How the work on repositories looks in lines: history, decisions, matches and patterns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from infinite_memory.apps.cli.output import Line
from infinite_memory.apps.cli.render import excerpt
from infinite_memory.core.values.messages import format_count
from infinite_memory.core.values.timestamps import show_moment
from infinite_memory.features.projects.checkout import FileState, Freshness
from infinite_memory.features.projects.chunk import Chunk, WorkOutcome
from infinite_memory.features.projects.finding import WorkMatch
from infinite_memory.features.projects.history import Decision
from infinite_memory.features.projects.patterns import Pattern, PatternExample, Patterns
from infinite_memory.features.sessions.repository import PREFIX
from infinite_memory.search.text.lines import one_line

Part = tuple[str, str]

_LINE_CHARS = 160
_MAX_FILES = 5
_INDENT, _DEEPER = 3, 6
_OUTCOME_STYLES = {
    WorkOutcome.SUCCESS: "green",
    WorkOutcome.IN_PROGRESS: "yellow",
    WorkOutcome.FAILED: "red",
    WorkOutcome.ABANDONED: "dim",
}


def repository_name(scope: str) -> str:
    """Return the name of a repository as people write it, without what begins its scope."""
    return scope.removeprefix(PREFIX)


def history_lines(chunks: Iterable[Chunk], zone: str | None) -> list[Line]:
    """Return chunks as a list for scanning: each with its summary, its files and its id."""
    lines = []
    for chunk in chunks:
        lines.append(Line(_join([_moment(chunk, zone), *_traits(chunk)])))
        lines.append(Line([(_on_line(chunk.summary), "")], _INDENT))
        lines += _file_lines(chunk, None)
        lines.append(Line([(chunk.id, "dim")], _INDENT))
    return lines


def decision_lines(decisions: Sequence[Decision], zone: str | None) -> list[Line]:
    """Return decisions with their reasons; a superseded one with what replaces it."""
    summaries = {decision.chunk.id: decision.chunk.summary for decision in decisions}
    lines = []
    for decision in decisions:
        chunk = decision.chunk
        state = ("in force", "green") if decision.in_force else (str(chunk.status), "red")
        lines.append(Line(_join([state, _moment(chunk, zone), _scope(chunk), *_marks(chunk)])))
        lines += _text_lines(chunk)
        for new_id in decision.superseded_by:
            summary = f": {_on_line(summaries[new_id])}" if new_id in summaries else ""
            lines.append(Line([(f"replaced by {new_id}{summary}", "yellow")], _INDENT))
        lines += _file_lines(chunk, decision.freshness)
        lines.append(_id_line(chunk))
    return lines


def match_lines(matches: Iterable[WorkMatch], zone: str | None) -> list[Line]:
    """Return matches, each with its score or the reason for it, and with how the work went.

    Where two matches are of the same work, its course is shown once.
    """
    lines = []
    shown: dict[tuple[str, ...], int] = {}
    for rank, match in enumerate(matches, 1):
        chunk = match.chunk
        head: list[Part] = [(f"{rank}. ", "")]
        why = (_on_line(match.reason) or f"{match.score:.2f}", "bold")
        lines.append(
            Line([*head, *_join([why, _moment(chunk, zone), _scope(chunk), *_traits(chunk)])])
        )
        lines += _text_lines(chunk)
        lines += _file_lines(chunk, match.freshness)
        lines.append(_id_line(chunk))
        first = shown.setdefault(tuple([step.id for step in match.thread]), rank)
        if first == rank or not match.thread:
            lines += _thread_lines(match, zone)
        else:
            lines.append(Line([(f"how the work went: see {first}.", "dim")], _INDENT))
    return lines


def pattern_lines(patterns: Patterns, zone: str | None) -> list[Line]:
    """Return patterns, each with its number, its trend, examples, and the last fix."""
    return [line for pattern in patterns.patterns for line in _pattern_lines(pattern, zone)]


def _pattern_lines(pattern: Pattern, zone: str | None) -> Iterator[Line]:
    count = f"{format_count(pattern.count, 'time')}, {pattern.trend}"
    yield Line(_join([(str(pattern.kind), "cyan"), (count, ""), (_on_line(pattern.name), "bold")]))
    if pattern.fix is not None:
        yield _example_line("the last fix", pattern.fix, zone)
    for number, example in enumerate(pattern.examples):
        yield _example_line("such as" if number == 0 else "and", example, zone)


def _example_line(label: str, example: PatternExample, zone: str | None) -> Line:
    summary = _on_line(example.summary)
    when = show_moment(example.happened_at, zone)
    return Line(
        _join([(f"{label}:", "dim"), (when, "cyan"), (summary, ""), (example.id, "dim")]), _INDENT
    )


def _thread_lines(match: WorkMatch, zone: str | None) -> Iterator[Line]:
    if not match.thread:
        return
    yield Line([("how the work went:", "dim")], _INDENT)
    for chunk in match.thread:
        parts = [_moment(chunk, zone), *_course(chunk), (_on_line(chunk.summary), "")]
        yield Line(_join([*parts, (chunk.id, "dim")]), _DEEPER)


def _text_lines(chunk: Chunk) -> Iterator[Line]:
    """Yield the text of a chunk, below its summary if that says something else."""
    # A summary that is the beginning of the text is on one line.
    beginning = one_line(chunk.content, max_chars=len(chunk.summary) + 1)
    if not beginning.startswith(chunk.summary.rstrip("…")):
        yield Line([(_on_line(chunk.summary), "bold")], _INDENT)
    yield Line([(excerpt(chunk.content)[0], "")], _INDENT)


def _id_line(chunk: Chunk) -> Line:
    is_cut = excerpt(chunk.content)[1]
    hint = f"{chunk.id} (the whole text: infinite-memory show {chunk.id})"
    return Line([(hint if is_cut else chunk.id, "dim")], _INDENT)


def _file_lines(chunk: Chunk, freshness: Freshness | None) -> Iterator[Line]:
    if not chunk.files:
        return
    parts = [(_name_files(chunk.files), "")]
    if freshness is not None and freshness.state is FileState.FRESH:
        parts.append(("unchanged since", "green"))
    elif freshness is not None:
        for sentence, names, style in (
            ("changed since", freshness.drifted, "yellow"),
            ("not there any more", freshness.missing, "red"),
        ):
            which = "" if set(names) == set(chunk.files) else f": {_name_files(names)}"
            parts += [(f"{sentence}{which}", style)] if names else []
    yield Line(_join(parts), _INDENT)


def _name_files(files: Sequence[str]) -> str:
    more = f" and {len(files) - _MAX_FILES:,} more" if len(files) > _MAX_FILES else ""
    return f"{', '.join(map(_on_line, files[:_MAX_FILES]))}{more}"


def _moment(chunk: Chunk, zone: str | None) -> Part:
    return show_moment(chunk.happened_at, zone), "cyan"


def _scope(chunk: Chunk) -> Part:
    return repository_name(chunk.scope), "magenta"


def _course(chunk: Chunk) -> list[Part]:
    """Return the kind of a chunk, and how it ended."""
    parts = [(str(chunk.kind), "")]
    if chunk.outcome is not None:
        parts.append((chunk.outcome.replace("_", " "), _OUTCOME_STYLES[chunk.outcome]))
    return parts


def _traits(chunk: Chunk) -> list[Part]:
    """Return the kind of a chunk, how it ended, and what marks it."""
    return [*_course(chunk), *_marks(chunk)]


def _marks(chunk: Chunk) -> list[Part]:
    """Return whether a chunk is important, its component and its tags."""
    parts: list[Part] = []
    if chunk.important:
        parts.append(("important", "yellow"))
    if chunk.component:
        parts.append((_on_line(chunk.component), "bold"))
    if chunk.tags:
        parts.append((" ".join(f"#{tag}" for tag in chunk.tags), "blue"))
    return parts


def _on_line(text: str) -> str:
    return one_line(text, max_chars=_LINE_CHARS)


def _join(parts: Sequence[Part]) -> list[Part]:
    return [piece for part in parts for piece in (part, ("  ", ""))][:-1]
