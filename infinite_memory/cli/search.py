"""`infinite-memory search`: find what answers a question."""

from __future__ import annotations

from typing import Any

import click
from attrs import asdict

from infinite_memory.cli.elsewhere import elsewhere
from infinite_memory.cli.exits import ExitCode
from infinite_memory.cli.fields import filter_options, filter_values
from infinite_memory.cli.opening import opened
from infinite_memory.cli.options import common_options, wants_json
from infinite_memory.cli.output import Line, emit_json, emit_lines, remark
from infinite_memory.cli.render import count, excerpt, listed, provenance
from infinite_memory.model.codec import to_json
from infinite_memory.model.hits import Explanation, Hit, Hits

__all__ = ["command", "explained"]

_STEPS = (
    *("coverage", "speaker", "around", "quoted", "asks", "important", "recency"),
    "conversation",
)


@click.command("search")
@click.argument("question", nargs=-1, required=True)
@filter_options
@click.option("--limit", "-n", type=int, default=5, show_default=True, help="At most so many.")
@click.option(
    "--threshold", type=float, metavar="SCORE", help="Leave out what scores less, 0 to 1."
)
@click.option("--explain", is_flag=True, help="Show how each came to its score.")
@common_options
@click.pass_context
def command(
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
            limit=given["limit"],
            threshold=given["threshold"],
            # The best passage of a long text is part of the explanation.
            explain=explain or not as_json,
        )
        hint = None if as_json or hits else elsewhere(store, hits.scopes)
    if as_json:
        emit_json(_document(query, hits, explain=explain))
        return ExitCode.DONE if hits else ExitCode.NO
    for rank, hit in enumerate(hits, 1):
        emit_lines(_hit_lines(rank, hit, zone, explain=explain))
    remark(_summary(hits) if hits else _nothing(hits, hint))
    return ExitCode.DONE if hits else ExitCode.NO


def _document(query: str, hits: Hits, *, explain: bool) -> dict[str, Any]:
    return {
        "query": query,
        "hits": [_hit_json(hit, explain=explain) for hit in hits],
        "scopes": None if hits.scopes is None else list(hits.scopes),
        "eligible": hits.eligible,
        "likely": hits.likely,
        "more": hits.more,
        "below": hits.below,
        "pending": hits.pending,
        "note": hits.note,
    }


def _hit_json(hit: Hit, *, explain: bool) -> dict[str, Any]:
    memory = to_json(hit.memory)
    found = {"id": memory.pop("id"), "text": memory.pop("text"), "score": hit.score, **memory}
    if hit.twins:
        found["twins"] = list(hit.twins)
    if explain and hit.explanation is not None:
        found["explanation"] = asdict(hit.explanation)
    return found


def _hit_lines(rank: int, hit: Hit, zone: str | None, *, explain: bool) -> list[Line]:
    memory = hit.memory
    passage = None if hit.explanation is None else hit.explanation.passage
    text, cut = excerpt(memory.text, passage)
    head = [(f"{rank}. ", ""), (f"{hit.score:.2f}", "bold"), ("  ", "")]
    lines = [Line([*head, *provenance(memory, zone)]), Line([(text, "")], 3)]
    hint = f"{memory.id} (the whole text: infinite-memory show {memory.id})"
    lines.append(Line([(hint if cut else memory.id, "dim")], 3))
    if hit.twins:
        lines.append(
            Line([(f"the same, older: {excerpt(', '.join(hit.twins), None)[0]}", "dim")], 3)
        )
    if explain and hit.explanation is not None:
        lines.append(Line([(explained(hit.explanation), "dim")], 3))
    return lines


def explained(explanation: Explanation) -> str:
    """Return the steps of the ranking in one line."""
    cosine, rank = explanation.cosine, explanation.meaning_rank
    steps = "  ".join(
        f"{name} {value:+.3f}" for name in _STEPS if (value := getattr(explanation, name))
    )
    return (
        f"total {explanation.total:.3f} = "
        f"meaning {explanation.meaning:.3f} (rank {'-' if rank is None else rank},"
        f" cosine {'-' if cosine is None else format(cosine, '.3f')})"
        f"  words {explanation.words:+.3f} (rank {explanation.words_rank or '-'},"
        f" bm25 {explanation.bm25:.2f})  {steps}"
    ).rstrip()


def _summary(hits: Hits) -> str:
    rest = [f"{hits.more:,} more matched"] if hits.more else []
    rest += [f"{hits.below:,} scored too low"] if hits.below else []
    rest += [f"{hits.pending:,} compared by words alone"] if hits.pending else []
    looked = f"Searched {_looked_at(hits)}"
    sentence = f"{looked}: {listed(rest)}." if rest else f"{looked}."
    if not hits.likely:
        sentence = f"None of these is likely to answer; they come nearest. {sentence}"
    return f"{sentence} {hits.note}" if hits.note else sentence


def _nothing(hits: Hits, hint: str | None) -> str:
    sentences = [f"Nothing found in {_looked_at(hits)}."]
    if hits.below:
        sentences.append(f"{hits.below:,} scored too low; try --threshold 0.")
    return " ".join([*sentences, *filter(None, (hint, hits.note))])


def _looked_at(hits: Hits) -> str:
    where = "every scope" if hits.scopes is None else listed(hits.scopes)
    return f"{where} ({count(hits.eligible, 'memory', 'memories')})"
