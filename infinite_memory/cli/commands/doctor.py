"""`infinite-memory doctor`: is everything as it should be, and if not, what to do."""

from __future__ import annotations

from collections.abc import Iterator

import click

from infinite_memory.cli.exits import ExitCode
from infinite_memory.cli.options import common_options, refuse_scopes, wants_json
from infinite_memory.cli.output import emit_json, emit_table
from infinite_memory.cli.settings import effective
from infinite_memory.errors import ConfigurationError
from infinite_memory.operations.diagnose import (
    Finding,
    State,
    check_home,
    check_model,
    check_platform,
)
from infinite_memory.operations.diagnose_store import check_store

__all__ = ["command"]


@click.command("doctor")
@common_options
@click.pass_context
def command(context: click.Context) -> int:
    """Check the installation, the settings, the store and the model, a sentence each.

    Nothing is changed, and a store that does not exist is not made. Exits with 1 if there is a
    problem.
    """
    refuse_scopes(context, "doctor")
    as_json = wants_json(context)
    found = list(_findings(context))
    healthy = all(finding.state is not State.PROBLEM for finding in found)
    if as_json:
        checks = [
            {"about": finding.about, "state": str(finding.state), "sentence": finding.sentence}
            for finding in found
        ]
        emit_json({"healthy": healthy, "checks": checks})
    else:
        rows = [(str(finding.state), finding.about, finding.sentence) for finding in found]
        emit_table(("State", "About", "Finding"), rows)
    return ExitCode.DONE if healthy else ExitCode.NO


def _findings(context: click.Context) -> Iterator[Finding]:
    yield from check_platform()
    try:
        config = effective(context).config
    except ConfigurationError as error:
        yield Finding("configuration", State.PROBLEM, f"{error}.")
        return
    yield Finding("configuration", State.OK, "Every setting can be used.")
    yield from check_home(config.home)
    yield from check_store(config)
    yield from check_model(config)
