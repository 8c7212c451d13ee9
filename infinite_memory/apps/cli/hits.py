"""Prints the hits of a search for a reader, at every depth."""

from __future__ import annotations

from infinite_memory.apps.cli.output import Line, emit_lines, emit_table
from infinite_memory.apps.cli.render import excerpt, provenance
from infinite_memory.core.values.conversation.attachment import attachment_of, describe_attachment
from infinite_memory.core.values.criteria import Depth
from infinite_memory.core.values.hits import Explanation, Hit, Hits
from infinite_memory.core.values.memory import Status
from infinite_memory.core.values.timestamps import show_moment
from infinite_memory.search.text.lines import one_line

_HEADERS = ("", "Score", "When", "Status", "Scope", "Kind", "Memory")
# A time takes two lines, the date and the time of day.
_WIDTHS = {"When": 11, "Scope": 16}
_HEADING_CHARS = 256
_LEAST_SHOWN = 0.0005
_STEPS = (
    *(
        "sentences",
        "speaker",
        "around",
        "quoted",
        "is_question",
        "important",
        "conversation",
        "time",
        "scope",
        "summary",
        "later",
        "former",
        "linked",
        "not_useful",
    ),
)


def emit_hits(hits: Hits, zone: str | None, *, explain: bool) -> None:
    """Write hits to standard output: whole, as highlights, or as a table of headings."""
    if hits.depth is Depth.EXHAUSTIVE:
        rows = [_row(rank, hit, zone, explain=explain) for rank, hit in _enumerate_ranks(hits)]
        if rows:
            emit_table(_HEADERS, rows, widths=_WIDTHS)
        return
    covered = hits.covered
    for rank, hit in _enumerate_ranks(hits):
        lines = _hit_lines(rank, hit, zone, covered.get(hit.memory.id))
        if explain and hit.explanation is not None:
            lines.append(Line([(format_explanation(hit.explanation), "dim")], 3))
        emit_lines(lines)


def _enumerate_ranks(hits: Hits) -> enumerate[Hit]:
    return enumerate(hits, hits.offset + 1)


def _row(rank: int, hit: Hit, zone: str | None, *, explain: bool) -> tuple[str, ...]:
    memory = hit.memory
    cell = f"{one_line(memory.heading, max_chars=_HEADING_CHARS)}\n{memory.id}"
    if hit.reached is not None:
        cell = f"{cell}\n{hit.reached.way} from {hit.reached.match}"
    if explain and hit.explanation is not None:
        cell = f"{cell}\n{format_explanation(hit.explanation)}"
    moment = show_moment(memory.happened_at, zone)
    has_ended = hit.ended and memory.status is Status.CURRENT
    status, kind = "ended" if has_ended else str(memory.status), str(memory.kind)
    return f"{rank}", f"{hit.score:.2f}", moment, status, memory.scope, kind, cell


def _hit_lines(rank: int, hit: Hit, zone: str | None, summary: str | None) -> list[Line]:
    """Return a hit as lines; `summary` is the id of the summary that covers it, if any."""
    memory = hit.memory
    head = [(f"{rank}. ", ""), (f"{hit.score:.2f}", "bold"), ("  ", "")]
    lines = [Line([*head, *provenance(memory, zone, ended=hit.ended)])]
    if summary is not None:
        lines.append(Line([(f"{memory.id} (a source of {summary})", "dim")], 3))
    else:
        text, cut = _cut_text(hit)
        lines.append(Line([(text, "")], 3))
        if attachment_of(memory) is not None:
            lines.append(Line([(f"attachment: {describe_attachment(memory)}", "dim")], 3))
        hint = f"{memory.id} (the whole text: infinite-memory show {memory.id})"
        lines.append(Line([(hint if cut else memory.id, "dim")], 3))
    for label, ids in (
        ("the same, older", hit.twins),
        ("covers, below", hit.covers),
        ("outdated, since its sources were changed or replaced", hit.outdated),
    ):
        if ids:
            lines.append(Line([(f"{label}: {excerpt(', '.join(ids), None)[0]}", "dim")], 3))
    if hit.not_useful_for:
        said = "; ".join(one_line(each, max_chars=_HEADING_CHARS) for each in hit.not_useful_for)
        lines.append(Line([(f"lower, marked as not useful for: {said}", "dim")], 3))
    for label, others in (("told later", hit.told_later), ("told earlier", hit.told_earlier)):
        for told in others:
            when, text = (
                show_moment(told.happened_at, zone),
                one_line(told.text, max_chars=_HEADING_CHARS),
            )
            lines.append(Line([(f"{label}, on {when}: {text} ({told.id})", "dim")], 3))
    for earlier in hit.supersedes:
        text = one_line(earlier.text, max_chars=_HEADING_CHARS)
        until = show_moment(earlier.ended_at, zone)
        lines.append(Line([(f"before, until {until}: {text} ({earlier.id})", "dim")], 3))
    return lines


def _cut_text(hit: Hit) -> tuple[str, bool]:
    """Return the part of a text that is printed, and whether it is only a part."""
    text = hit.memory.text
    if hit.highlight is None:
        return text, False
    start, end = hit.highlight
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}", (
        end - start < len(text)
    )


def format_explanation(explanation: Explanation) -> str:
    """Return the steps of the ranking in a line."""
    cosine, rank = explanation.cosine, explanation.meaning_rank
    steps = "  ".join(
        f"{name} {value:+.3f}"
        for name in _STEPS
        if abs(value := getattr(explanation, name)) >= _LEAST_SHOWN
    )
    return (
        f"total {explanation.total:.3f} = "
        f"meaning {explanation.meaning:.3f} (rank {'-' if rank is None else rank},"
        f" cosine {'-' if cosine is None else format(cosine, '.3f')})"
        f"  words {explanation.words:+.3f} (rank {explanation.words_rank or '-'},"
        f" bm25 {explanation.bm25:.2f})  {steps}"
    ).rstrip()
