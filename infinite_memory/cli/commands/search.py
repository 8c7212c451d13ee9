"""The commands that answer a question: `search` and `why-not`."""

from __future__ import annotations

from typing import Any

import click
from attrs import asdict

from infinite_memory.cli.exits import ExitCode
from infinite_memory.cli.fields import depth_option, filter_options, filter_values
from infinite_memory.cli.hits import emit_hits, explained
from infinite_memory.cli.opening import opened
from infinite_memory.cli.options import common_options, wants_json
from infinite_memory.cli.output import Line, emit_json, emit_lines, remark
from infinite_memory.cli.render import listed, scope_names
from infinite_memory.cli.scope_hints import elsewhere
from infinite_memory.model.codec import iso, predecessor_json, reading_json, to_json
from infinite_memory.model.hits import Hit, Hits, Step
from infinite_memory.model.quantities import format_count
from infinite_memory.model.search_options import Depth
from infinite_memory.model.timestamps import show_moment

__all__ = ["search_command", "why_not_command"]


@click.command("search")
@click.argument("question", nargs=-1, required=True)
@filter_options
@depth_option
@click.option(
    "--limit",
    "-n",
    type=int,
    help="At most so many: by default 5, in an overview 10, exhaustive 50.",
)
@click.option("--offset", type=int, default=0, metavar="N", help="Go on after the first N of them.")
@click.option(
    "--threshold", type=float, metavar="SCORE", help="Leave out what scores less, 0 to 1."
)
@click.option("--explain", is_flag=True, help="Show how each came to its score.")
@common_options
@click.pass_context
def search_command(
    context: click.Context, /, question: tuple[str, ...], *, explain: bool, **given: Any
) -> int:
    """Find the memories that answer QUESTION, by meaning and by words, best first.

    Exits with 0 if there is one, and with 1 if there is none.
    """
    query = " ".join(question)
    as_json = wants_json(context)
    with opened(context) as store:
        zone = store.config.time_zone
        hits = store.search(
            query,
            **filter_values(given, zone),
            depth=given["depth"],
            limit=given["limit"],
            offset=given["offset"],
            threshold=given["threshold"],
            # The best passage of a long text is part of the explanation.
            explain=explain or not as_json,
        )
        hint = None if as_json or hits else elsewhere(store, hits.scopes)
    if as_json:
        emit_json(_document(query, hits, explain=explain))
        return ExitCode.DONE if hits else ExitCode.NO
    if hits.opened:
        emit_lines([Line([(_opened(hits), "dim")])])
    emit_hits(hits, zone, explain=explain)
    remark(_summary(hits, zone) if hits else _nothing(hits, zone, hint))
    return ExitCode.DONE if hits else ExitCode.NO


def _document(query: str, hits: Hits, *, explain: bool) -> dict[str, Any]:
    return {
        "query": query,
        "depth": str(hits.depth),
        "mode": str(hits.mode),
        "as_of": iso(hits.as_of),
        "hits": [_hit_json(hit, explain=explain) for hit in hits],
        "when": None if hits.when is None else reading_json(hits.when),
        "scopes": None if hits.scopes is None else list(hits.scopes),
        "opened_scopes": list(hits.opened),
        "unopened_scopes": list(hits.unopened),
        "eligible": hits.eligible,
        "likely": hits.likely,
        "matches": hits.matches,
        "more": hits.more,
        "below": hits.below,
        "pending": hits.pending,
        "note": hits.note,
        "offset": hits.offset,
        "next": hits.next,
    }


def _hit_json(hit: Hit, *, explain: bool) -> dict[str, Any]:
    memory = to_json(hit.memory)
    found = {"id": memory.pop("id"), "text": memory.pop("text"), "score": hit.score, **memory}
    if hit.twins:
        found["twins"] = list(hit.twins)
    if hit.highlight is not None:
        start, end = hit.highlight
        found["highlight"] = {"start": start, "end": end, "text": hit.memory.text[start:end]}
    if hit.covers:
        found["covers"] = list(hit.covers)
    if hit.outdated:
        found["outdated"] = list(hit.outdated)
    if hit.ended:
        found["ended"] = True
    if hit.supersedes:
        found["supersedes"] = [predecessor_json(earlier) for earlier in hit.supersedes]
    if explain and hit.explanation is not None:
        found["explanation"] = asdict(hit.explanation)
    return found


def _opened(hits: Hits) -> str:
    """Return a sentence about the scopes that were searched because the question names them."""
    return (
        f"Also searched {scope_names(hits.opened)}, which the question names; give --scope to"
        " search elsewhere."
    )


def _unopened(hits: Hits) -> str | None:
    """Return a sentence about the scopes that the question may have named, None without any."""
    if hits.likely or not hits.unopened:
        return None
    return f"There is also {scope_names(hits.unopened)}: give --scope to search it."


def _summary(hits: Hits, zone: str | None) -> str:
    rest = [f"{hits.matches:,} match in all"] if hits.depth is Depth.EXHAUSTIVE else []
    if hits.more and not rest:
        rest = [f"{hits.more:,} more matched"]
    rest += [f"{hits.below:,} scored too low"] if hits.below else []
    rest += [f"{hits.pending:,} compared by words alone"] if hits.pending else []
    looked = f"Searched {_looked_at(hits, zone)}"
    sentence = f"{looked}: {listed(rest)}." if rest else f"{looked}."
    if hits.next is not None and (hits.offset or hits.depth is not Depth.NORMAL):
        sentence = f"{sentence} Go on with --offset {hits.next}."
    if not hits.likely:
        sentence = f"None of these is likely to answer; they come nearest. {sentence}"
    return " ".join([sentence, *filter(None, (hits.note, _unopened(hits)))])


def _nothing(hits: Hits, zone: str | None, hint: str | None) -> str:
    if hits.offset and hits.matches:
        return f"There is nothing after the {format_count(hits.matches, 'match', 'matches')}."
    sentences = [f"Nothing found in {_looked_at(hits, zone)}."]
    if hits.below:
        sentences.append(f"{hits.below:,} scored too low; try --threshold 0.")
    return " ".join([*sentences, *filter(None, (hint, hits.note, _unopened(hits)))])


def _looked_at(hits: Hits, zone: str | None) -> str:
    where = (
        "every scope" if hits.scopes is None else listed(hits.scopes) or "a scope that is empty yet"
    )
    time = "" if hits.when is None else f", {hits.when.said}"
    if hits.as_of is not None:
        time = f"{time}, as of {show_moment(hits.as_of, zone)}"
    return f"{where} ({format_count(hits.eligible, 'memory', 'memories')}{time})"


@click.command("why-not")
@click.argument("memory_id", metavar="ID")
@click.argument("question", nargs=-1, required=True)
@filter_options
@depth_option
@click.option("--limit", "-n", type=int, help="That of the search.")
@click.option("--threshold", type=float, metavar="SCORE", help="That of the search, 0 to 1.")
@common_options
@click.pass_context
def why_not_command(
    context: click.Context, /, memory_id: str, question: tuple[str, ...], **given: Any
) -> int:
    """Say why a search for QUESTION, with the same options, does not return the memory ID.

    Exits with 0 if something keeps it out, and with 1 if the search returns it.
    """
    query = " ".join(question)
    with opened(context) as store:
        absence = store.why_not(
            query,
            memory_id,
            **filter_values(given, store.config.time_zone),
            depth=given["depth"],
            limit=given["limit"],
            threshold=given["threshold"],
        )
    if wants_json(context):
        emit_json({"query": query, **asdict(absence), "step": str(absence.step)})
    else:
        emit_lines([Line([(f"{absence.step}: {absence.reason}.", "")])])
        if absence.explanation is not None:
            emit_lines([Line([(explained(absence.explanation), "dim")], 3)])
    return ExitCode.NO if absence.step is Step.FOUND else ExitCode.DONE
