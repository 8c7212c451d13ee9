"""The commands on the installation: `config` and `doctor`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path

import click
from attrs import asdict

from infinite_memory.apps.cli.exits import ExitCode
from infinite_memory.apps.cli.options import common_options, refuse_scopes, wants_json
from infinite_memory.apps.cli.output import (
    Line,
    emit_json,
    emit_lines,
    emit_table,
    is_terminal,
    remark,
)
from infinite_memory.apps.cli.render import show_times
from infinite_memory.apps.cli.settings import load_settings, read_platform, server_arguments
from infinite_memory.apps.connect.entry import ServerEntry
from infinite_memory.core.config import CONFIG_FILE, Effective, environment_name, keys
from infinite_memory.core.errors import ConfigurationError
from infinite_memory.core.values.address import masked
from infinite_memory.core.values.messages import format_count
from infinite_memory.core.values.receipt import describe_secrets
from infinite_memory.core.values.verification import Diagnosis, State


@click.command("config")
@click.argument("names", nargs=-1, metavar="[SETTING]...")
@common_options
@click.pass_context
def config_command(context: click.Context, names: tuple[str, ...]) -> None:
    """Print the settings in force, all or some, with their values and where these came from.

    Options override the environment, and the environment overrides the file in the home folder.
    """
    settings = load_settings(context)
    words = " ".join(names).replace("=", " ").split()
    if words[:1] == ["set"] or len(words) > len(names):
        raise click.UsageError(_say_where_to_set(words[words[0] == "set" :], settings))
    wanted = names[1:] if names[:1] == ("get",) else names
    rows = [
        (key, _mask_value(value), origin)
        for key, value, origin in settings.rows()
        if not wanted or key.startswith(wanted)
    ]
    if not rows:
        near = get_close_matches(wanted[0], keys(), n=1, cutoff=0.0)[0]
        raise click.UsageError(f"no setting begins with {wanted[0]!r}: the nearest is {near}")
    if wants_json(context):
        emit_json({key: {"value": value, "origin": origin} for key, value, origin in rows})
        return
    shown = ((key, _format_cell(value), origin) for key, value, origin in rows)
    emit_table(("Setting", "Value", "From"), shown)


def _say_where_to_set(words: Sequence[str], settings: Effective) -> str:
    """Return in which file and in which variable a person sets a setting."""
    name, value = (*words, "...")[:2] if words else ("search.limit", "5")
    name = get_close_matches(name, keys(), n=1, cutoff=0.0)[0]
    setting: object = int(value) if value.isdecimal() else value
    for part in reversed(name.split(".")):
        setting = {part: setting}
    return (
        f"settings are read from a file and the environment: write {json.dumps(setting)} into"
        f" {settings.config.home / CONFIG_FILE}, or set {environment_name(name)}={value}"
    )


def _format_cell(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(value)
    return "-" if value is None else str(value)


def _mask_value(value: object) -> object:
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, tuple):
        return list(value)
    return masked(value) if isinstance(value, str) else value


@click.command("doctor")
@click.option("--secrets", is_flag=True, help="Mask the secrets that are stored, for good.")
@click.option(
    "--id",
    "ids",
    multiple=True,
    metavar="ID",
    help="With --secrets: only in this memory. May be repeated.",
)
@click.option("--dry-run", is_flag=True, help="With --secrets: only say what would be masked.")
@common_options
@click.pass_context
def doctor_command(
    context: click.Context, /, *, secrets: bool, ids: tuple[str, ...], dry_run: bool
) -> int:
    """Check the installation, the settings, the store, the model and the clients.

    The server of each connected client is started as that client would, with a store in memory, and
    asked for its tools. Nothing is changed, and a store that does not exist is not created. Exits
    with 1 if there is a problem. With --secrets nothing of this is checked: keys, tokens, passwords
    and numbers of cards and accounts in the store are masked, in the history too. That cannot be
    undone; on a terminal you are asked before.
    """
    refuse_scopes(context, "doctor")
    if secrets:
        return _mask_secrets(context, ids, dry_run=dry_run)
    if ids or dry_run:
        raise click.UsageError("--id and --dry-run go with --secrets", context)
    diagnoses = [*_diagnose_installation(context), *_diagnose_clients(context)]
    is_healthy = all(diagnosis.state is not State.PROBLEM for diagnosis in diagnoses)
    if wants_json(context):
        checks = [{**asdict(diagnosis), "state": str(diagnosis.state)} for diagnosis in diagnoses]
        emit_json({"healthy": is_healthy, "checks": checks})
    else:
        rows = [
            (str(item.state), item.about, show_times(item.sentence, None)) for item in diagnoses
        ]
        emit_table(("State", "About", "Finding"), rows)
    return ExitCode.DONE if is_healthy else ExitCode.NO


def _mask_secrets(context: click.Context, ids: tuple[str, ...], *, dry_run: bool) -> int:
    # Late: `config` opens no store.
    from infinite_memory.apps.cli.opening import open_store

    with open_store(context) as store:
        named = [store.ids.resolve(each) for each in ids]
        if not dry_run and is_terminal(sys.stdin):
            would = store.bulk.mask_secrets(named, dry_run=True)
            number = format_count(len(would.ids), "memory", "memories")
            question = f"Mask {describe_secrets(would.secrets)} in {number} for good?"
            if would.ids and not click.confirm(question, err=True):
                return ExitCode.NO
        found = store.bulk.mask_secrets(named, dry_run=dry_run)
        backups = [backup.path for backup in store.backups.list()] if found.ids else []
        shown = store.ids.shorten(found.ids).values()
    if wants_json(context):
        emit_json({**found.to_dict(), "backups": backups})
    elif not found.ids:
        emit_lines([Line([("No secret is stored.", "")])])
    else:
        number = format_count(len(found.ids), "memory", "memories")
        effect = "would be masked" if dry_run else "are masked"
        emit_lines([Line([(f"{describe_secrets(found.secrets)} in {number} {effect}:", "")])])
        emit_lines(Line([(name, "")], 2) for name in shown)
    for sentence in (*found.unreadable, *found.pending):
        remark(f"Still to be done: {sentence}.")
    if backups:
        made = format_count(len(backups), "backup was", "backups were")
        remark(f"{made} made before and may hold them: `infinite-memory backup list`.")
    is_done = not found.unreadable and not (dry_run and found.ids)
    return ExitCode.DONE if is_done else ExitCode.NO


def _diagnose_clients(context: click.Context) -> Iterator[Diagnosis]:
    from infinite_memory.apps.connect.diagnosis import diagnose_clients

    try:
        platform = read_platform()
    except ConfigurationError as error:
        yield Diagnosis("clients", State.WARNING, f"They were not looked for: {error}.")
        return
    yield from diagnose_clients(platform, _find_wanted_entry(context))


def _find_wanted_entry(context: click.Context) -> ServerEntry | None:
    """Return the server of this installation; None if it has none, which a client then shows."""
    from infinite_memory.apps.connect.installation import find_server_command

    try:
        command = find_server_command()
        return ServerEntry(command=str(command), args=server_arguments(context))
    except ConfigurationError:
        return None


def _diagnose_installation(context: click.Context) -> Iterator[Diagnosis]:
    # Late: the checks load the model and the database, which `config` does without.
    from infinite_memory.engine.verification.diagnose import (
        diagnose_installation,
        diagnose_platform,
    )
    from infinite_memory.features.archive.recovery import diagnose_backups
    from infinite_memory.features.sessions.diagnosis import diagnose_hooks

    yield from diagnose_platform()
    try:
        config = load_settings(context).config
    except ConfigurationError as error:
        yield Diagnosis("configuration", State.PROBLEM, f"{error}.")
        return
    yield Diagnosis("configuration", State.OK, "Every setting can be used.")
    if config.search.engine is None:
        yield from diagnose_installation(config)
    else:
        from infinite_memory.engine.retrieval.search_engine import make_engine

        yield from diagnose_installation(config, make_engine)
    yield diagnose_backups(config)
    yield from diagnose_hooks(config.home)
