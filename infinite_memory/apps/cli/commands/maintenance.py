"""The commands that look after a store: `stats` and `verify`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import click
from attrs import asdict

from infinite_memory.apps.cli.exits import ExitCode
from infinite_memory.apps.cli.opening import open_store
from infinite_memory.apps.cli.options import common_options, wants_json
from infinite_memory.apps.cli.output import Line, emit_json, emit_lines, emit_table, progress_bars
from infinite_memory.apps.cli.render import format_counts, show_time
from infinite_memory.core.values.messages import format_count, format_size
from infinite_memory.core.values.verification import Verification
from infinite_memory.engine.retrieval.language_hint import (
    OTHER_LANGUAGES,
    needs_multilingual,
)
from infinite_memory.engine.stats import Stats


@click.command("stats")
@common_options
@click.pass_context
def stats_command(context: click.Context) -> None:
    """Count the memories by scope, kind, status and model."""
    with open_store(context) as store:
        stats, zone = store.stats(), store.config.time_zone
    if wants_json(context):
        emit_json(stats.to_dict())
        return
    emit_table(("What", "How much"), _list_rows(stats, zone))


def _list_rows(stats: Stats, zone: str | None) -> list[tuple[str, str]]:
    rows = [("memories", f"{stats.memories:,}")]
    for noun, counts in (
        ("scope", stats.by_scope),
        ("kind", stats.by_kind),
        ("status", stats.by_status),
    ):
        rows += [(f"{noun} {name}", f"{number:,}") for name, number in counts.items()]
    rows += [("found by meaning", f"{stats.embedded:,}")]
    rows += [(f"vectors by {name}", f"{number:,}") for name, number in stats.by_model.items()]
    rows += [("earlier revisions", f"{stats.revisions:,}"), ("size", format_size(stats.size_bytes))]
    if stats.oldest is not None and stats.newest is not None:
        rows += [("oldest", show_time(stats.oldest, zone))]
        rows += [("newest", show_time(stats.newest, zone))]
    rows += [("model", stats.model)]
    if needs_multilingual(stats.model):
        rows += [("other languages", OTHER_LANGUAGES)]
    if stats.answering != stats.model:
        done = stats.by_model.get(stats.model, 0)
        rows += [("change of the model", f"{done:,} of {stats.memories:,} memories embedded again")]
        rows += [("answers meanwhile", stats.answering)]
    return rows


@click.command("verify")
@click.option(
    "--mend",
    is_flag=True,
    help="Rebuild what is derived from undamaged records: vectors and the index.",
)
@common_options
@click.pass_context
def verify_command(context: click.Context, /, *, mend: bool) -> int:
    """Check every record, its history and vectors, and the index, and report any damage.

    Without --mend nothing is changed; a damaged record is never repaired. Exits with 4 if anything
    is damaged.
    """
    with open_store(context) as store, progress_bars("Verifying") as update:
        progress = None if update is None else partial(update, "Verifying")
        verified = store.verify(mend=mend, progress=progress)
    if wants_json(context):
        emit_json(
            {
                "sound": verified.sound,
                "counts": dict(verified.counts),
                "findings": [
                    {**asdict(finding), "part": str(finding.part)} for finding in verified.findings
                ],
                "mended": verified.mended,
            }
        )
    else:
        emit_lines(_summarise_verification(verified))
        if verified.findings:
            rows = [(str(f.part), f.what, f.way_out) for f in verified.findings]
            emit_table(("Part", "What was found", "What to do"), rows)
    return ExitCode.DONE if verified.sound else ExitCode.STORAGE


def _summarise_verification(verified: Verification) -> Iterator[Line]:
    yield Line([(f"Checked: {format_counts(verified.counts) or 'nothing'}.", "")])
    if verified.sound:
        yield Line([("No damage was found.", "green")])
    else:
        yield Line([(f"{format_count(len(verified.findings), 'finding', 'findings')}:", "red")])
    if verified.mended:
        yield Line([(f"Rebuilt: {format_count(verified.mended, 'record')}.", "")])
