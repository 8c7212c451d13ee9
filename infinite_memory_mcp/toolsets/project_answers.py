"""Render project memory as text for an assistant: chunks, decisions and patterns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from infinite_memory.core.values.messages import format_count
from infinite_memory.features.sessions.scope_names import PREFIX
from infinite_memory.search.text.quotation import NOTICE, quote_label, quote_lines
from infinite_memory.search.text.token_estimate import estimate_tokens
from infinite_memory_mcp.budget import fit_count
from infinite_memory_mcp.tool import Answer
from infinite_memory_mcp.view import View, view_of_ids

if TYPE_CHECKING:
    from infinite_memory.features.projects.checkout import Freshness
    from infinite_memory.features.projects.chunk import Chunk
    from infinite_memory.features.projects.finding import WorkMatch
    from infinite_memory.features.projects.history import Decision, ProjectHistory
    from infinite_memory.features.projects.patterns import Pattern, Patterns
    from infinite_memory.store.memory_store import MemoryStore

_HEAD_TOKENS = 150
_MAX_TEXT_CHARS = 900
_THREAD_CHARS = 160
_MAX_FILES = 5
_SEARCH_ON = (
    "Try fewer or other words, or leave out repository and timeframe; once it is solved,"
    " store_lesson_learned keeps how."
)
_READ_ON = " A text that ends in … is cut: retrieve_memory with its id in ids shows it whole."


def render_matches(
    store: MemoryStore, matches: Sequence[WorkMatch], noun: str, budget: int
) -> Answer:
    """Return matches as an answer, each with how the work went."""
    ids = [chunk.id for match in matches for chunk in (match.chunk, *match.thread)]
    view = view_of_ids(store, ids)
    entries = [_render_match(number, match, view) for number, match in enumerate(matches, 1)]
    head = f"{format_count(len(matches), noun)}, best first."
    text = _join_entries(head, entries, budget) if entries else f"No {noun} was found. {_SEARCH_ON}"
    return Answer(text=text, data={"matches": [match.to_dict() for match in matches]})


def render_history(store: MemoryStore, history: ProjectHistory, budget: int) -> Answer:
    """Return the history of a repository as an answer."""
    more = " There are earlier ones: raise limit." if history.more else ""
    count = format_count(len(history.chunks), "piece of work", "pieces of work")
    head = f"{count} in {quote_label(history.scope)}, newest first.{more}"
    text = render_chunks(store, history.chunks, head, budget)
    return Answer(text=text, data=history.to_dict())


def render_chunks(store: MemoryStore, chunks: Sequence[Chunk], head: str, budget: int) -> str:
    """Return pieces of work below a head, as many as fit."""
    view = view_of_ids(store, [chunk.id for chunk in chunks])
    return _join_entries(head, [_render_chunk("-", chunk, view) for chunk in chunks], budget)


def render_decisions(store: MemoryStore, decisions: Sequence[Decision], budget: int) -> Answer:
    """Return decisions as an answer, those in force first."""
    ids = [
        i
        for decision in decisions
        for i in (decision.chunk.id, *decision.superseded_by, *decision.contradicts)
    ]
    view = view_of_ids(store, ids)
    entries = [_render_decision(decision, view) for decision in decisions]
    in_force = sum(decision.in_force for decision in decisions)
    head = f"{format_count(len(decisions), 'decision')}, {in_force:,} in force; those come first."
    data = {"decisions": [decision.to_dict() for decision in decisions]}
    none = "No decision was found. store_architecture_decision keeps one with its reason."
    return Answer(text=_join_entries(head, entries, budget) if entries else none, data=data)


def render_patterns(store: MemoryStore, patterns: Patterns, budget: int) -> Answer:
    """Return patterns as an answer."""
    ids = [example.id for pattern in patterns.patterns for example in pattern.examples]
    ids += [pattern.fix.id for pattern in patterns.patterns if pattern.fix is not None]
    view = view_of_ids(store, ids)
    entries = [_render_pattern(pattern, view) for pattern in patterns.patterns]
    where = "all repositories" if patterns.scope is None else quote_label(patterns.scope)
    pieces = f"{format_count(patterns.chunks, 'piece of work', 'pieces of work')} of {where}."
    head = f"{format_count(len(entries), 'pattern')} in {pieces}"
    text = (
        _join_entries(head, entries, budget)
        if entries
        else f"Nothing was found that recurs in {pieces}"
    )
    return Answer(text=text, data=patterns.to_dict())


def _join_entries(head: str, entries: Sequence[str], budget: int) -> str:
    """Return the answer with as many entries as fit in the budget."""
    if not entries:
        return f"Nothing was found. {head}"
    count = fit_count([estimate_tokens(entry) + 2 for entry in entries], budget - _HEAD_TOKENS)
    shown = list(entries[: max(count, 1)])
    left = len(entries) - len(shown)
    cut = _READ_ON if any("…" in entry for entry in shown) else ""
    rest = [f"[{left:,} more are not shown: raise max_tokens or ask for less.]"] if left else []
    return "\n\n".join([f"{head} {NOTICE}{cut}", *shown, *rest])


def _render_match(number: int, match: WorkMatch, view: View) -> str:
    reason = f"score {match.score:.2f}"
    if match.reason:
        reason = quote_label(match.reason, max_chars=_THREAD_CHARS)
    entry = _render_chunk(f"{number}.", match.chunk, view, reason, match.freshness)
    steps = [chunk for chunk in match.thread if chunk.id != match.chunk.id]
    if not steps:
        return entry
    lines = [
        f"   {view.format_date(chunk.happened_at)} {chunk.kind} id {view.shorten(chunk.id)}:"
        f" {quote_label(chunk.summary, max_chars=_THREAD_CHARS)}"
        for chunk in match.thread
    ]
    return "\n".join([entry, "   How the work went:", *lines])


def _render_decision(decision: Decision, view: View) -> str:
    state = "in force"
    if decision.contradicts:
        others = view.join_ids(decision.contradicts)
        state = f"in force, as is {others}: settle it with update_memory(id, supersedes=[other])"
    if not decision.in_force:
        by = view.join_ids(decision.superseded_by)
        state = f"SUPERSEDED by {by}" if by else "no longer in force"
    return _render_chunk("-", decision.chunk, view, state, decision.freshness)


def _render_chunk(
    mark: str, chunk: Chunk, view: View, remark: str = "", freshness: Freshness | None = None
) -> str:
    columns = [view.format_date(chunk.happened_at), str(chunk.kind), f"id {view.shorten(chunk.id)}"]
    columns += [remark] if remark else []
    columns += [chunk.outcome.value.replace("_", " ")] if chunk.outcome is not None else []
    columns += [quote_label(chunk.scope.removeprefix(PREFIX))]
    columns += [_name_files(chunk.files)] if chunk.files else []
    columns += [_describe_freshness(freshness)] if freshness is not None else []
    text = chunk.content
    # A summary that is the beginning of the text is on one line.
    if not " ".join(text.split()).startswith(chunk.summary.rstrip("…")):
        text = f"{chunk.summary}\n{text}"
    if len(text) > _MAX_TEXT_CHARS:
        text = f"{text[:_MAX_TEXT_CHARS].rstrip()}…"
    return f"{mark} {' · '.join(columns)}\n{quote_lines(text)}"


def _name_files(files: Sequence[str]) -> str:
    more = f" and {len(files) - _MAX_FILES} more" if len(files) > _MAX_FILES else ""
    return f"files {', '.join(map(quote_label, files[:_MAX_FILES]))}{more}"


def _describe_freshness(freshness: Freshness) -> str:
    changed = (*freshness.drifted, *freshness.missing)
    names = f" ({', '.join(map(quote_label, changed[:_MAX_FILES]))})" if changed else ""
    return f"{freshness.state.value}{names}"


def _render_pattern(pattern: Pattern, view: View) -> str:
    ids = view.join_ids([example.id for example in pattern.examples])
    name = quote_label(pattern.name, max_chars=_THREAD_CHARS)
    line = f"- {pattern.kind}: {name} · {pattern.count:,} times, {pattern.trend} · e.g. {ids}"
    if pattern.fix is None:
        return line
    fix = quote_label(pattern.fix.summary, max_chars=_THREAD_CHARS)
    return f"{line}\n  the last fix, id {view.shorten(pattern.fix.id)}: {fix}"
