"""The commands on questions and their answers: `search`, `why-not` and `not-useful`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from infinite_memory.apps.cli.completions import MEMORY_ID
from infinite_memory.apps.cli.exits import ExitCode
from infinite_memory.apps.cli.fields import depth_option, filter_options, filter_values
from infinite_memory.apps.cli.opening import open_store
from infinite_memory.apps.cli.options import common_options, wants_json
from infinite_memory.apps.cli.output import Line, emit_json, emit_lines, emit_table, remark
from infinite_memory.apps.cli.render import (
    excerpt,
    join_pieces,
    join_words,
    provenance,
    quote_memories,
    shorten_ids,
    show_day,
    show_time,
    show_times,
)
from infinite_memory.apps.cli.scope_hints import describe_other_scopes
from infinite_memory.core.values.conversation.attachment import attachment_of, describe_attachment
from infinite_memory.core.values.criteria import Cut, Depth
from infinite_memory.core.values.hits import Explanation, Hit, Hits, Step
from infinite_memory.core.values.memory import Status
from infinite_memory.core.values.messages import format_count
from infinite_memory.core.values.receipt import describe_feedback
from infinite_memory.search.text.lines import one_line

if TYPE_CHECKING:
    from infinite_memory.store.memory_store import MemoryStore

_HEADERS = ("", "Score", "When", "Status", "Scope", "Kind", "Memory")
# A time takes two lines, the date and the time of day.
_WIDTHS = {"When": 11, "Scope": 16}
_HEADING_CHARS = 256
_LEAST_SHOWN = 0.0005
_STEPS = (
    "sentences speaker around quoted is_question important conversation time scope summary later"
    " former linked not_useful"
).split()
# A text that is longer does not fit into a line with its source.
_LINE_CHARS, _EXCERPT_CHARS, _INDENT = 60, 600, 3


@click.command("search")
@click.argument("question", nargs=-1, required=True)
@filter_options
@depth_option
@click.option(
    "--limit",
    "-n",
    type=int,
    help="Return at most this many: by default the setting search.limit, which is 10 unless you set"
    " it; exhaustive 50.",
)
@click.option("--offset", type=int, default=0, metavar="N", help="Skip the first N memories.")
@click.option(
    "--threshold",
    type=float,
    metavar="SCORE",
    help="Omit memories with a lower score, 0 to 1; by default the setting search.threshold.",
)
@click.option("--explain", is_flag=True, help="Show how the scores are composed.")
@common_options
@click.pass_context
def search_command(
    context: click.Context, /, question: tuple[str, ...], *, explain: bool, **options: Any
) -> int:
    """Find the memories that answer QUESTION, by meaning and by words, best first.

    Exits with 0 if a memory is found, and with 1 if none is.
    """
    query = " ".join(question)
    as_json = wants_json(context)
    with open_store(context) as store:
        zone = store.config.time_zone
        hits = store.search(
            query,
            **filter_values(options, store),
            depth=options["depth"],
            limit=options["limit"],
            offset=options["offset"],
            threshold=options["threshold"],
            cut=Cut.ASKED,
            # The best passage of a long text is part of the explanation.
            explain=explain or not as_json,
        )
        if as_json:
            emit_json({"query": query, **hits.to_dict()})
            return ExitCode.DONE if hits else ExitCode.NO
        hint = None if hits else describe_other_scopes(store, hits.scopes)
        emit_hits(hits, store, explain=explain)
    remark(_summarise_hits(hits, zone) if hits else _describe_no_hits(hits, zone, hint))
    return ExitCode.DONE if hits else ExitCode.NO


def _write_elsewhere_sentence(hits: Hits) -> str | None:
    """Return a sentence on other scopes whose memories may answer, None without any."""
    if not hits.elsewhere:
        return None
    counts = join_words([f"{count} in {name}" for name, count in hits.elsewhere.items()])
    return f"Not searched, and may answer: {counts}; give --scope, or --scope ALL."


def _count_others(hits: Hits) -> list[str]:
    """Return the counts of the matches that are not shown."""
    if hits.depth is Depth.EXHAUSTIVE:
        counts = [f"{format_count(hits.matches, 'match', 'matches')} in all"]
    elif hits.is_cut:
        counts = [f"{hits.more:,} more match less well (--threshold 0 shows them)"]
    else:
        counts = [format_count(hits.more, "further match", "further matches")] if hits.more else []
    return [*counts, f"{hits.below:,} scored too low"] if hits.below else counts


def _summarise_hits(hits: Hits, zone: str | None) -> str:
    counts = _count_others(hits)
    counts += [f"{hits.pending:,} compared by words alone"] if hits.pending else []
    place = f"Searched {_describe_searched_place(hits, zone)}"
    sentence = f"{place}: {join_words(counts)}." if counts else f"{place}."
    if hits.next is not None and (hits.offset or hits.depth is not Depth.NORMAL):
        sentence = f"{sentence} Go on with --offset {hits.next}."
    if hits.time is not None:
        said = show_times(hits.time.said, zone)
        sentence = f"This time ranks higher: {said}; --when shows it alone. {sentence}"
    if hits.empty_time is not None:
        said = show_times(hits.empty_time.said, zone)
        sentence = f"Nothing is stored of {said}; these are from other times. {sentence}"
    if hits.newest_conversation is not None:
        sentence = f"Nothing is likely to answer: this is the newest conversation. {sentence}"
    elif hits.newest_memories:
        sentence = f"Nothing is likely to answer: these are the newest memories. {sentence}"
    elif hits.archived and not hits.likely:
        sentence = f"None of these is likely to answer, but an archived memory is. {sentence}"
    elif not hits.likely:
        sentence = f"These memories are the nearest, but none is likely to answer. {sentence}"
    return " ".join(
        [sentence, *filter(None, (_write_note_sentence(hits), _write_elsewhere_sentence(hits)))]
    )


def _describe_no_hits(hits: Hits, zone: str | None, hint: str | None) -> str:
    if hits.offset and hits.matches:
        return f"No memory follows the {format_count(hits.matches, 'match', 'matches')}."
    sentences = [f"Nothing found in {_describe_searched_place(hits, zone)}."]
    if hits.nearest:
        sentences = [f"Nothing in {_describe_searched_place(hits, zone)} answers this."]
    if hits.empty_time is not None:
        sentences.append(f"Nothing is stored of {show_times(hits.empty_time.said, zone)}.")
    if hits.archived:
        sentences.append("But an archived memory is likely to.")
    if hits.below:
        sentences.append(f"{hits.below:,} scored too low; try --threshold 0.")
    others = _write_elsewhere_sentence(hits) or hint
    return " ".join([*sentences, *filter(None, (_write_note_sentence(hits), others))])


def _write_note_sentence(hits: Hits) -> str | None:
    return f"{hits.note[:1].upper()}{hits.note[1:]}." if hits.note else None


def _describe_searched_place(hits: Hits, zone: str | None) -> str:
    where = "every scope"
    if hits.scopes is not None:
        where = join_words(hits.scopes) or "a scope that is still empty"
    time = "" if hits.when is None else f", {show_times(hits.when.said, zone)}"
    if hits.as_of is not None:
        time = f"{time}, as of {show_time(hits.as_of, zone)}"
    return f"{where} ({format_count(hits.eligible, 'memory', 'memories')}{time})"


@click.command("why-not")
@click.argument("memory_id", metavar="ID", type=MEMORY_ID)
@click.argument("question", nargs=-1, required=True)
@filter_options
@depth_option
@click.option("--limit", "-n", type=int, help="The limit of the search.")
@click.option("--threshold", type=float, metavar="SCORE", help="The threshold of the search.")
@common_options
@click.pass_context
def why_not_command(
    context: click.Context, /, memory_id: str, question: tuple[str, ...], **options: Any
) -> int:
    """Say why a search for QUESTION, with the same options, does not return the memory ID.

    Exits with 0 if something keeps it out, and with 1 if the search returns it.
    """
    query = " ".join(question)
    with open_store(context) as store:
        absence = store.why_not(
            query,
            store.ids.resolve(memory_id),
            **filter_values(options, store),
            depth=options["depth"],
            limit=options["limit"],
            threshold=options["threshold"],
            cut=Cut.ASKED,
        )
        zone = store.config.time_zone
    if wants_json(context):
        emit_json({"query": query, **absence.to_dict()})
    else:
        reason = show_times(absence.reason, zone)
        emit_lines([Line([(f"{absence.step}: {reason}.", "")])])
        if absence.explanation is not None:
            emit_lines([Line([(format_explanation(absence.explanation), "dim")], 3)])
    return ExitCode.NO if absence.step is Step.FOUND else ExitCode.DONE


@click.command("not-useful")
@click.argument("memory_id", metavar="ID", type=MEMORY_ID)
@click.argument("question", nargs=-1, required=True)
@click.option("--take-back", is_flag=True, help="Let the memory rank as before.")
@common_options
@click.pass_context
def not_useful_command(
    context: click.Context, memory_id: str, question: tuple[str, ...], *, take_back: bool
) -> None:
    """Rank the memory ID lower for QUESTION and for questions like it.

    Other questions find it as before. `undo` takes it back too.
    """
    with open_store(context) as store:
        feedback = store.not_useful(
            store.ids.resolve(memory_id), " ".join(question), take_back=take_back
        )
        name = quote_memories(store, [feedback.id])
    if wants_json(context):
        emit_json(feedback.to_dict())
    else:
        sentence = describe_feedback(feedback, name, take_back=take_back)
        emit_lines([Line([(sentence, "")])])


def emit_hits(hits: Hits, store: MemoryStore, *, explain: bool) -> None:
    """Write hits to standard output: the first whole and the others a line each, or a table."""
    zone = store.config.time_zone
    shown = shorten_ids(store, _list_ids(hits))
    if hits.depth is Depth.EXHAUSTIVE:
        rows = [_make_row(rank, hit, zone, shown, explain) for rank, hit in _enumerate_ranks(hits)]
        if rows:
            emit_table(_HEADERS, rows, widths=_WIDTHS)
        return
    for rank, hit in _enumerate_ranks(hits):
        lines = list(_format_hit(rank, hit, hits, zone, shown))
        if explain and hit.explanation is not None:
            lines.append(Line([(format_explanation(hit.explanation), "dim")], _INDENT))
        emit_lines(lines)
    for name, asides in (("archived", hits.archived), ("nearest", hits.nearest)):
        emit_lines(
            _quote_beside(
                name, hit.text, show_day(hit.memory.happened_at, zone), shown[hit.memory.id]
            )
            for hit in asides
        )


def _quote_beside(name: str, text: str, when: str, known_as: str, *, indent: int = 0) -> Line:
    """Return a memory that is no hit, or stands beside one, as a line."""
    said = f"{name}: {one_line(text, max_chars=_HEADING_CHARS)}"
    return Line([(said, "dim")], indent, join_pieces([(when, "dim"), (known_as, "dim")]))


def _list_ids(hits: Hits) -> Iterator[str]:
    """Yield every id that a line of a hit may show."""
    yield from hits.covered.values()
    yield from (hit.memory.id for hit in (*hits.archived, *hits.nearest))
    for hit in hits:
        yield from (hit.memory.id, *hit.twins, *hit.covers, *hit.outdated)
        yield from (told.id for _, others in hit.relations for told in others)
        yield from (earlier.id for earlier in hit.supersedes)
        if hit.corrected_by is not None:
            yield hit.corrected_by
        if hit.reached is not None:
            yield hit.reached.match


def _enumerate_ranks(hits: Hits) -> enumerate[Hit]:
    return enumerate(hits, hits.offset + 1)


def _make_row(
    rank: int, hit: Hit, zone: str | None, shown: Mapping[str, str], explain: bool
) -> tuple[str, ...]:
    memory = hit.memory
    cell = f"{one_line(memory.heading, max_chars=_HEADING_CHARS)}\n{shown[memory.id]}"
    if hit.reached is not None:
        cell = f"{cell}\n{hit.reached.way} from {shown[hit.reached.match]}"
    if explain and hit.explanation is not None:
        cell = f"{cell}\n{format_explanation(hit.explanation)}"
    has_ended = hit.ended and memory.status is Status.CURRENT
    status, kind = "ended" if has_ended else str(memory.status), str(memory.kind)
    day = show_day(memory.happened_at, zone)
    return f"{rank}", f"{hit.score:.2f}", day, status, memory.scope, kind, cell


def _format_hit(
    rank: int, hit: Hit, hits: Hits, zone: str | None, shown: Mapping[str, str]
) -> Iterator[Line]:
    """Yield a hit as lines: the first hit with its whole text, every other in one, then notes."""
    memory, label = hit.memory, f"{rank}. "
    source = join_pieces([*provenance(memory, zone, ended=hit.ended), (shown[memory.id], "dim")])
    text, cut = _cut_text(hit)
    summary = hits.covered.get(memory.id)
    if summary is not None:
        text = f"a source of {shown[summary]}"
    if rank == 1 and len(text) > _LINE_CHARS:
        yield Line([(label, ""), (text, "")])
        yield Line([*source, ("  `show` has the whole text" if cut else "", "dim")], _INDENT)
    else:
        yield Line([(label, ""), (one_line(text, max_chars=_EXCERPT_CHARS), "")], 0, source)
    for note in _list_notes(hit, shown):
        yield Line([(note, "dim")], _INDENT)
    for name, others in hit.relations:
        for other in others:
            # A hit needs no second line.
            if not any(other.id == found.id for found in hits):
                day = show_day(other.happened_at, zone)
                yield _quote_beside(name, other.text, day, shown[other.id], indent=_INDENT)
    for before in hit.supersedes:
        until = f"until {show_day(before.ended_at, zone)}"
        yield _quote_beside("before", before.text, until, shown[before.id], indent=_INDENT)


def _list_notes(hit: Hit, shown: Mapping[str, str]) -> Iterator[str]:
    if attachment_of(hit.memory) is not None:
        yield f"attachment: {describe_attachment(hit.memory)}"
    for name, ids in (
        ("the same, older", hit.twins),
        ("covers, below", hit.covers),
        ("outdated, since its sources were changed or replaced", hit.outdated),
        ("corrected since by", [hit.corrected_by] if hit.corrected_by is not None else []),
    ):
        if ids:
            yield f"{name}: {excerpt(', '.join(shown[i] for i in ids))[0]}"
    if hit.not_useful_for:
        said = "; ".join(one_line(each, max_chars=_HEADING_CHARS) for each in hit.not_useful_for)
        yield f"lower, marked as not useful for: {said}"


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
