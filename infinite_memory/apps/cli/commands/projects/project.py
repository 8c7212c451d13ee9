"""`infinite-memory project`: what was done, decided and solved in a repository."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import click

from infinite_memory.apps.cli.commands.projects.place import (
    Place,
    choose_place,
    file_option,
    repository_argument,
    repository_option,
)
from infinite_memory.apps.cli.commands.projects.writing import decide, learn, note
from infinite_memory.apps.cli.exits import ExitCode
from infinite_memory.apps.cli.opening import open_store
from infinite_memory.apps.cli.options import common_options, wants_json
from infinite_memory.apps.cli.output import Line, emit_json, emit_lines, is_terminal, remark
from infinite_memory.apps.cli.render import excerpt, join_pieces, short_id, show_day
from infinite_memory.apps.cli.settings import load_settings
from infinite_memory.apps.cli.waiting import end_waiting
from infinite_memory.core.errors import UnknownScope
from infinite_memory.core.values.messages import format_count
from infinite_memory.features.projects.checkout import FileState, Freshness
from infinite_memory.features.projects.chunk import Chunk, WorkOutcome
from infinite_memory.features.projects.finding import WorkMatch
from infinite_memory.features.projects.history import Decision
from infinite_memory.features.projects.patterns import Pattern, PatternExample, Patterns
from infinite_memory.features.sessions.repository import scope_of_folder
from infinite_memory.features.sessions.scope_names import PREFIX
from infinite_memory.search.text.lines import one_line
from infinite_memory.store.memory_store import MemoryStore

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
T = TypeVar("T")
_ALL = "every repository"
_ARGUMENT, _OPTION = "REPOSITORY", "--repository"
_STORING = (
    "`infinite-memory project note` stores a piece of work, and `infinite-memory ingest-session`"
    " takes in the sessions of coding assistants."
)


_PART_BYTES = 1 << 16
# A byte that is no character becomes one of three bytes, and the library takes 1 MiB.
_KEPT_BYTES = 300_000


def read_error(typed: str, context: click.Context) -> str:
    """Return the error that was typed; for "" or "-", the end of standard input.

    All of it is read, so that the program that prints it can end; bytes that are no characters are
    replaced.

    Raises:
        click.UsageError: there is none.
    """
    if typed not in ("", "-"):
        return typed
    if not typed and is_terminal(sys.stdin):
        raise click.UsageError(
            "give an ERROR, or pipe the output of a program into this command", context
        )
    end_waiting()
    text = _read_end().decode(errors="replace").replace("\0", "").strip()
    if not text:
        raise click.UsageError(
            "standard input is empty: give an ERROR, or pipe in the output of a program", context
        )
    return text


def _read_end() -> bytes:
    """Return the last lines of standard input."""
    kept = b""
    is_whole = True
    while part := sys.stdin.buffer.read(_PART_BYTES):
        kept += part
        if len(kept) > _KEPT_BYTES:
            kept, is_whole = kept[-_KEPT_BYTES:], False
    return kept if is_whole else kept.partition(b"\n")[2] or kept


@click.group("project", invoke_without_command=True)
@common_options
@click.pass_context
def project_command(context: click.Context) -> None:
    """Ask what was done, decided and solved in a repository, or store it.

    REPOSITORY is HOST/OWNER/NAME, the end of that, the address of the remote, or a folder. Without
    it the repository of the current folder is meant.
    """
    if context.invoked_subcommand is None:
        names = ", ".join(f"project {name}" for name in project_command.commands)
        raise click.UsageError(f"give a command: {names}", context)


def _make_limit_option(number: int) -> Callable[[Any], Any]:
    return click.option(
        "--limit", "-n", type=int, default=number, show_default=True, help="Return at most so many."
    )


@project_command.command("history")
@repository_argument
@_make_limit_option(20)
@common_options
@click.pass_context
def history(context: click.Context, /, repository: str | None, *, limit: int) -> int:
    """List what was done in a repository, newest first.

    Exits with 1 if nothing is stored of it.
    """
    place = choose_place(repository, _ARGUMENT)
    done, store = _ask_store(
        context, place, lambda store: store.projects.get_history(place.named, limit=limit)
    )
    if done is None:
        return _report_nothing(context, {"scope": None, "chunks": [], "more": False})
    if wants_json(context):
        return _emit_found(done.to_dict(), found=bool(done.chunks))
    count = format_count(len(done.chunks), "piece of work", "pieces of work")
    more = " There are earlier ones: raise --limit." if done.more else ""
    return _emit_answer(
        format_history(done.chunks, store),
        f"{count} in {repository_name(done.scope)}, newest first.{more}",
        f"No work is stored of {repository_name(done.scope)} yet. {_STORING}",
    )


@project_command.command("decisions")
@repository_argument
@click.option(
    "--component",
    metavar="NAME",
    help="Those on this component, with this tag, or on files in a folder of this name.",
)
@common_options
@click.pass_context
def decisions(context: click.Context, /, repository: str | None, *, component: str | None) -> int:
    """List the decisions on a repository with their reasons: those in force first.

    One that was superseded says what replaces it. In a checkout of the repository each says whether
    its files are as they were. ALL as REPOSITORY lists those of every repository. Exits with 1 if
    there are none.
    """
    place = choose_place(repository, _ARGUMENT)
    found, store = _ask_store(
        context,
        place,
        lambda store: store.projects.get_decisions(
            place.repository, component=component, folder=place.folder
        ),
    )
    if found is None:
        return _report_nothing(context, {"decisions": []})
    if wants_json(context):
        document = {"decisions": [decision.to_dict() for decision in found]}
        return _emit_found(document, found=bool(found))
    in_force = sum(decision.in_force for decision in found)
    about = f" on {component}" if component else ""
    return _emit_answer(
        format_decisions(found, store),
        f"{format_count(len(found), 'decision')}{about}, {in_force:,} in force.",
        f"No decision{about} is stored of {_name_place(context, place)}."
        if place.repository is not None
        else f"No decision{about} is stored of any repository.",
    )


@project_command.command("problems")
@click.argument("query", nargs=-1, required=True)
@repository_option
@click.option("--when", metavar="WORDS", help='From that time: "last month", "since March".')
@file_option
@click.option(
    "--recency",
    type=float,
    default=0.0,
    metavar="X",
    help="How much the age counts, 0 to 1; with 1 a match of 90 days has half the score.",
)
@click.option("--min-score", type=float, metavar="X", help="Omit lower scores, 0 to 1.")
@_make_limit_option(5)
@common_options
@click.pass_context
def problems(
    context: click.Context,
    /,
    query: tuple[str, ...],
    *,
    repository: str | None,
    when: str | None,
    files: Sequence[str],
    **options: Any,
) -> int:
    """Find problems, solutions, lessons and changes like QUERY, each with how the work went.

    With --repository ALL every repository is searched. Files that are named raise what was done on
    them. Exits with 1 if nothing is found.
    """
    place = choose_place(repository, _OPTION)
    text = " ".join(query)
    found, store = _ask_store(
        context,
        place,
        lambda store: store.projects.search_similar_problems(
            text,
            repository=place.repository,
            timeframe=when,
            files=place.locate(files),
            folder=place.folder,
            **options,
        ),
    )
    if found is None:
        return _report_nothing(context, {"query": text, "matches": []})
    if wants_json(context):
        document = {"query": text, "matches": [match.to_dict() for match in found]}
        return _emit_found(document, found=bool(found))
    where = _name_place(context, place)
    return _emit_answer(
        match_lines(found, store),
        f"{format_count(len(found), 'match', 'matches')} in {where}, best first.",
        "No similar problem was found in any repository."
        if place.repository is None
        else f"No similar problem was found in {where}; --repository ALL searches {_ALL}.",
    )


@project_command.command("solutions")
@click.argument("error", nargs=-1)
@repository_option
@_make_limit_option(3)
@common_options
@click.pass_context
def solutions(
    context: click.Context, /, error: tuple[str, ...], *, repository: str | None, limit: int
) -> int:
    """Find how an error was solved before, in any repository, best first.

    ERROR is its message or the whole output, by default what is piped in, of which the end counts:
    `pytest 2>&1 | infinite-memory project solutions`. What was solved in the repository of
    --repository, or of the current folder, comes a little earlier. Exits with 1 if nothing is
    found.
    """
    text = read_error(" ".join(error), context)
    place = _find_nearest_place(repository)
    found, store = _ask_store(
        context,
        place,
        lambda store: store.projects.find_past_solutions(
            text, repository=place.repository, limit=limit, folder=place.folder
        ),
    )
    matches = found or ()
    if wants_json(context):
        document = {"matches": [match.to_dict() for match in matches]}
        return _emit_found(document, found=bool(matches))
    return _emit_answer(
        match_lines(matches, store),
        f"{format_count(len(matches), 'past solution')}, best first.",
        "No past solution was found.",
    )


@project_command.command("related")
@click.argument("task", nargs=-1, required=True)
@repository_option
@file_option
@_make_limit_option(8)
@common_options
@click.pass_context
def related(
    context: click.Context,
    /,
    task: tuple[str, ...],
    *,
    repository: str | None,
    files: Sequence[str],
    limit: int,
) -> int:
    """Suggest what is worth knowing for TASK: unfinished work, decisions, similar work.

    Exits with 1 if there is nothing.
    """
    place = choose_place(repository, _OPTION)
    work, store = _ask_store(
        context,
        place,
        lambda store: store.projects.suggest_related_work(
            " ".join(task),
            place.named,
            files=place.locate(files),
            limit=limit,
            folder=place.folder,
        ),
    )
    if work is None:
        return _report_nothing(context, {"scope": None, "matches": []})
    if wants_json(context):
        return _emit_found(work.to_dict(), found=bool(work.matches))
    where = repository_name(work.scope)
    return _emit_answer(
        match_lines(work.matches, store),
        f"{format_count(len(work.matches), 'suggestion')} from {where}.",
        f"Nothing related is stored of {where}.",
    )


@project_command.command("patterns")
@repository_argument
@click.option("--when", metavar="WORDS", help='In that time: "last month", "since March".')
@click.option("--all", "everywhere", is_flag=True, help="In every repository.")
@common_options
@click.pass_context
def patterns(
    context: click.Context, /, repository: str | None, *, when: str | None, everywhere: bool
) -> int:
    """Show what recurs: problems with their fixes, files changed together, tools, outcomes.

    Exits with 1 if nothing does.
    """
    if everywhere and repository is not None:
        raise click.UsageError("give REPOSITORY or --all, not both", context)
    place = choose_place("ALL" if everywhere else repository, "REPOSITORY or --all")
    found, store = _ask_store(
        context,
        place,
        lambda store: store.projects.identify_patterns(place.repository, timeframe=when),
    )
    if found is None:
        return _report_nothing(context, {"scope": None, "chunks": 0, "patterns": []})
    if wants_json(context):
        return _emit_found(found.to_dict(), found=bool(found.patterns))
    where = _ALL if found.scope is None else repository_name(found.scope)
    count = format_count(found.chunks, "piece of work", "pieces of work")
    return _emit_answer(
        format_patterns(found, store),
        f"{format_count(len(found.patterns), 'pattern')} in {count} of {where}.",
        f"Nothing recurs in {count} of {where}.",
    )


for _command in (decide, learn, note):
    project_command.add_command(_command)


def _find_nearest_place(repository: str | None) -> Place:
    """Return the repository of an option or of the current folder, all if it is in none."""
    try:
        return choose_place(repository, _OPTION)
    except click.UsageError:
        return choose_place("ALL", _OPTION)


def _ask_store(
    context: click.Context, place: Place, ask: Callable[[MemoryStore], T]
) -> tuple[T | None, MemoryStore]:
    """Return what the store answers, and the store; None if it knows nothing of the place.

    A remark says so. The store is closed at the end of the command.
    """
    store = context.with_resource(open_store(context))
    try:
        return ask(store), store
    except UnknownScope as error:
        if not wants_json(context):
            _remark_unknown(context, place, error)
        return None, store


def _remark_unknown(context: click.Context, place: Place, error: UnknownScope) -> None:
    if place.top is not None:
        remark(f"Nothing is stored of {_name_place(context, place)} yet. {_STORING}")
        return
    message = str(error)
    remark(f"{message[:1].upper()}{message[1:]}.")


def _name_place(context: click.Context, place: Place) -> str:
    """Return the name of the repository in a sentence."""
    if place.repository is None:
        return _ALL
    if place.top is None:
        return repository_name(place.repository)
    home = load_settings(context).config.home
    return repository_name(scope_of_folder(place.top, home))


def _report_nothing(context: click.Context, document: dict[str, Any]) -> int:
    """End a command on a repository of which nothing is stored."""
    return _emit_found(document, found=False) if wants_json(context) else ExitCode.NO


def _emit_found(document: dict[str, Any], *, found: bool) -> int:
    emit_json(document)
    return ExitCode.DONE if found else ExitCode.NO


def _emit_answer(lines: Sequence[Line], summary: str, nothing: str) -> int:
    emit_lines(lines)
    remark(summary if lines else nothing)
    return ExitCode.DONE if lines else ExitCode.NO


def repository_name(scope: str) -> str:
    """Return the name of a repository as people write it, without what begins its scope."""
    return scope.removeprefix(PREFIX)


def format_history(chunks: Iterable[Chunk], store: MemoryStore) -> list[Line]:
    """Return chunks as a list for scanning: each with its summary, its files and its id."""
    lines = []
    for chunk in chunks:
        lines.append(Line(join_pieces([_show_date(chunk, store), *_list_traits(chunk)])))
        lines.append(Line([(_fit_line(chunk.summary), "")], _INDENT))
        lines += _format_files(chunk, None)
        lines.append(Line([(short_id(store, chunk.id), "dim")], _INDENT))
    return lines


def format_decisions(decisions: Sequence[Decision], store: MemoryStore) -> list[Line]:
    """Return decisions with their reasons; a superseded one with what replaces it."""
    summaries = {decision.chunk.id: decision.chunk.summary for decision in decisions}
    lines = []
    for decision in decisions:
        chunk = decision.chunk
        state = ("in force", "green") if decision.in_force else (str(chunk.status), "red")
        lines.append(
            Line(
                join_pieces(
                    [state, _show_date(chunk, store), _show_scope(chunk), *_list_marks(chunk)]
                )
            )
        )
        lines += _format_text(chunk)
        for new_id in decision.superseded_by:
            summary = f": {_fit_line(summaries[new_id])}" if new_id in summaries else ""
            lines.append(
                Line([(f"replaced by {short_id(store, new_id)}{summary}", "yellow")], _INDENT)
            )
        lines += _format_files(chunk, decision.freshness)
        lines.append(_format_id(chunk, store))
    return lines


def match_lines(matches: Iterable[WorkMatch], store: MemoryStore) -> list[Line]:
    """Return matches, each with its score or the reason for it, and with how the work went.

    Where two matches are of the same work, its course is shown once.
    """
    lines = []
    shown: dict[tuple[str, ...], int] = {}
    for rank, match in enumerate(matches, 1):
        chunk = match.chunk
        head: list[Part] = [(f"{rank}. ", "")]
        why = (_fit_line(match.reason) or f"{match.score:.2f}", "bold")
        lines.append(
            Line(
                [
                    *head,
                    *join_pieces(
                        [why, _show_date(chunk, store), _show_scope(chunk), *_list_traits(chunk)]
                    ),
                ]
            )
        )
        lines += _format_text(chunk)
        lines += _format_files(chunk, match.freshness)
        lines.append(_format_id(chunk, store))
        first = shown.setdefault(tuple([step.id for step in match.thread]), rank)
        if first == rank or not match.thread:
            lines += _format_thread(match, store)
        else:
            lines.append(Line([(f"how the work went: see {first}.", "dim")], _INDENT))
    return lines


def format_patterns(patterns: Patterns, store: MemoryStore) -> list[Line]:
    """Return patterns, each with its number, its trend, examples, and the last fix."""
    return [line for pattern in patterns.patterns for line in _format_pattern(pattern, store)]


def _format_pattern(pattern: Pattern, store: MemoryStore) -> Iterator[Line]:
    count = f"{format_count(pattern.count, 'time')}, {pattern.trend}"
    yield Line(
        join_pieces([(str(pattern.kind), "cyan"), (count, ""), (_fit_line(pattern.name), "bold")])
    )
    if pattern.fix is not None:
        yield _format_example("the last fix", pattern.fix, store)
    for number, example in enumerate(pattern.examples):
        yield _format_example("such as" if number == 0 else "and", example, store)


def _format_example(label: str, example: PatternExample, store: MemoryStore) -> Line:
    summary = _fit_line(example.summary)
    parts = [(f"{label}:", "dim"), _show_date(example, store), (summary, "")]
    return Line(join_pieces([*parts, (short_id(store, example.id), "dim")]), _INDENT)


def _format_thread(match: WorkMatch, store: MemoryStore) -> Iterator[Line]:
    if not match.thread:
        return
    yield Line([("how the work went:", "dim")], _INDENT)
    for chunk in match.thread:
        parts = [_show_date(chunk, store), *_show_course(chunk), (_fit_line(chunk.summary), "")]
        yield Line(join_pieces([*parts, (short_id(store, chunk.id), "dim")]), _DEEPER)


def _format_text(chunk: Chunk) -> Iterator[Line]:
    """Yield the text of a chunk, below its summary if that says something else."""
    # A summary that is the beginning of the text is on one line.
    beginning = one_line(chunk.content, max_chars=len(chunk.summary) + 1)
    if not beginning.startswith(chunk.summary.rstrip("…")):
        yield Line([(_fit_line(chunk.summary), "bold")], _INDENT)
    yield Line([(excerpt(chunk.content)[0], "")], _INDENT)


def _format_id(chunk: Chunk, store: MemoryStore) -> Line:
    is_cut = excerpt(chunk.content)[1]
    name = short_id(store, chunk.id)
    hint = f"{name} (the whole text: infinite-memory show {name})"
    return Line([(hint if is_cut else name, "dim")], _INDENT)


def _format_files(chunk: Chunk, freshness: Freshness | None) -> Iterator[Line]:
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
    yield Line(join_pieces(parts), _INDENT)


def _name_files(files: Sequence[str]) -> str:
    more = f" and {len(files) - _MAX_FILES:,} more" if len(files) > _MAX_FILES else ""
    return f"{', '.join(map(_fit_line, files[:_MAX_FILES]))}{more}"


def _show_date(chunk: Chunk | PatternExample, store: MemoryStore) -> Part:
    return show_day(chunk.happened_at, store.config.time_zone), "cyan"


def _show_scope(chunk: Chunk) -> Part:
    return repository_name(chunk.scope), "magenta"


def _show_course(chunk: Chunk) -> list[Part]:
    """Return the kind of a chunk, and how it ended."""
    parts = [(str(chunk.kind), "")]
    if chunk.outcome is not None:
        parts.append((chunk.outcome.replace("_", " "), _OUTCOME_STYLES[chunk.outcome]))
    return parts


def _list_traits(chunk: Chunk) -> list[Part]:
    """Return the kind of a chunk, how it ended, and what marks it."""
    return [*_show_course(chunk), *_list_marks(chunk)]


def _list_marks(chunk: Chunk) -> list[Part]:
    """Return whether a chunk is important, its component and its tags."""
    parts: list[Part] = []
    if chunk.important:
        parts.append(("important", "yellow"))
    if chunk.component:
        parts.append((_fit_line(chunk.component), "bold"))
    if chunk.tags:
        parts.append((" ".join(f"#{tag}" for tag in chunk.tags), "blue"))
    return parts


def _fit_line(text: str) -> str:
    return one_line(text, max_chars=_LINE_CHARS)
