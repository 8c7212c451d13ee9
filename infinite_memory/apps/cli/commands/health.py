"""The command `health`."""

from __future__ import annotations

import click

from infinite_memory.apps.cli.exits import ExitCode
from infinite_memory.apps.cli.opening import open_store
from infinite_memory.apps.cli.options import common_options, wants_json
from infinite_memory.apps.cli.output import emit_json, emit_table
from infinite_memory.apps.cli.render import show_times
from infinite_memory.engine.health import HealthStatus


@click.command("health")
@common_options
@click.pass_context
def health_command(context: click.Context) -> int:
    """Say whether the store works, what it lacks, and what to do about it.

    It is quick, for a monitor that runs often; `doctor` also checks the installation, the model and
    the clients. Exits with 1 if the store is failing, and with 0 if it is ok or degraded.
    """
    with open_store(context, ingests=False) as store:
        health, zone = store.health(), store.config.time_zone
    if wants_json(context):
        emit_json(health.to_dict())
    else:
        rows = [(str(f.state), f.about, show_times(f.sentence, zone)) for f in health.findings]
        emit_table(("State", "About", "Finding"), [(str(health.status), "store", "in all"), *rows])
    return ExitCode.NO if health.status is HealthStatus.FAILING else ExitCode.DONE
