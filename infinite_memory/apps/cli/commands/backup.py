"""`infinite-memory backup` and `infinite-memory restore`."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

import click

from infinite_memory.apps.cli.completions import complete_backups
from infinite_memory.apps.cli.exits import ExitCode
from infinite_memory.apps.cli.given_file import open_given_file
from infinite_memory.apps.cli.opening import open_store
from infinite_memory.apps.cli.options import common_options, refuse_scopes, wants_json
from infinite_memory.apps.cli.output import (
    Line,
    emit_json,
    emit_lines,
    emit_table,
    is_terminal,
    progress_bars,
    remark,
)
from infinite_memory.apps.cli.render import format_counts, show_time
from infinite_memory.apps.cli.settings import load_settings, read_passphrase_variable
from infinite_memory.core.errors import (
    InvalidInput,
    NotFound,
    StoreDamaged,
    WrongPassphrase,
)
from infinite_memory.core.values.archive.backup import (
    Backup,
    BackupProgress,
    BackupStep,
    Restored,
    RestoreMode,
    describe_encryption,
    describe_keys_left_out,
)
from infinite_memory.core.values.messages import format_count, format_size
from infinite_memory.core.values.verification import Finding
from infinite_memory.features.archive.access import resolve_archive
from infinite_memory.features.archive.backup_folder import (
    BackupFolder,
    choose_passphrase,
    read_passphrase_file,
)
from infinite_memory.features.archive.container.encryption import check_passphrase
from infinite_memory.features.archive.recovery import restore_damaged
from infinite_memory.features.archive.restore import RestoreRequest

Result = TypeVar("Result")
_MOST_FINDINGS = 20
_ID_OR_ENDING = r"[0-9a-f-]{8,36}"

_passphrase_file = click.option(
    "--passphrase-file",
    metavar="FILE",
    help="Read the passphrase from the only line of this file. Without it, the variable"
    " INFINITE_MEMORY_PASSPHRASE counts, then the setting `backup.passphrase_file`; on a terminal"
    " you are asked.",
)
_allow_plain = click.option(
    "--allow-plain",
    is_flag=True,
    help="Take a file that is not encrypted although a passphrase was given.",
)


@click.group("backup", invoke_without_command=True)
@click.option("--to", "target", metavar="FILE", help="Write this new file.")
@click.option(
    "--encrypt",
    is_flag=True,
    help="Encrypt the backup with a passphrase, which is kept nowhere. A passphrase from a file or"
    " from the environment does so too.",
)
@click.option(
    "--no-embeddings",
    is_flag=True,
    help="Leave the vectors out: a smaller file, and a longer wait after a restore.",
)
@_passphrase_file
@common_options
@click.pass_context
def backup_command(
    context: click.Context,
    /,
    target: str | None,
    *,
    encrypt: bool,
    no_embeddings: bool,
    passphrase_file: str | None,
) -> int | None:
    """Back up everything as it is at this moment, also while other programs write.

    The file goes into the folder `backups` of the home folder, under a name with the time, and
    appears when it is whole. Exits with 4 if some records could not be read.
    """
    refuse_scopes(context, "backup")
    if context.invoked_subcommand is not None:
        return None
    passphrase = read_passphrase(context, passphrase_file)
    if passphrase is None and encrypt:
        passphrase = ask_passphrase("Passphrase of the new backup", confirm=True)
        if passphrase is None:
            raise InvalidInput(
                "there is no passphrase: give --passphrase-file, set the variable"
                " INFINITE_MEMORY_PASSPHRASE, or run this on a terminal"
            )
    if passphrase is not None:
        check_passphrase(passphrase)
    with open_store(context, ingests=False) as store, _show_bars(BackupStep.READING) as progress:
        backup = store.backups.create(
            target, passphrase=passphrase, embeddings=not no_embeddings, progress=progress
        )
    if wants_json(context):
        emit_json(backup.to_dict())
    else:
        emit_lines(_describe_new(backup))
        _emit_findings(backup.left_out)
    return ExitCode.DONE if backup.whole else ExitCode.STORAGE


@backup_command.command("list")
@common_options
@click.pass_context
def list_backups(context: click.Context) -> None:
    """List the backups in the folder `backups` of the home folder, the newest first."""
    refuse_scopes(context, "backup list")
    config = load_settings(context).config
    backups = BackupFolder.of(config).backups()
    if wants_json(context):
        emit_json({"backups": [backup.to_dict() for backup in backups]})
        return
    if not backups:
        remark("There are no backups: infinite-memory backup makes one.")
        return
    emit_table(
        ("Name", "Made", "Memories", "Size", "Encrypted", "Holds"),
        [
            (
                backup.name,
                show_time(backup.created_at, config.time_zone),
                "" if backup.counts is None else f"{backup.counts.get('memories', 0):,}",
                format_size(backup.size_bytes),
                "yes" if backup.encrypted else "no",
                _describe_content(backup),
            )
            for backup in backups
        ],
    )


@backup_command.command("verify")
@click.argument("file", metavar="FILE", shell_complete=complete_backups)
@_passphrase_file
@_allow_plain
@common_options
@click.pass_context
def verify_backup(
    context: click.Context, /, file: str, *, passphrase_file: str | None, allow_plain: bool
) -> int:
    """Read and check every record of FILE, the name of a backup or the path of its file."""
    refuse_scopes(context, "backup verify")
    from infinite_memory.features.archive.backup import verify_file

    folder = BackupFolder.of(load_settings(context).config)
    path = resolve_archive(folder, file)
    with _show_bars(BackupStep.CHECKING) as progress:
        backup = _call_with_passphrase(
            context,
            passphrase_file,
            lambda passphrase: verify_file(path, passphrase, progress, allow_plain=allow_plain),
        )
    if wants_json(context):
        emit_json(backup.to_dict())
    else:
        emit_lines(_describe_verified(backup))
        _emit_findings(backup.left_out)
    return ExitCode.DONE if backup.whole else ExitCode.STORAGE


@backup_command.command("delete")
@click.argument("name", metavar="NAME", shell_complete=complete_backups)
@common_options
@click.pass_context
def delete_backup(context: click.Context, /, name: str) -> None:
    """Delete the backup called NAME from the folder `backups` of the home folder."""
    refuse_scopes(context, "backup delete")
    BackupFolder.of(load_settings(context).config).delete(name)
    if wants_json(context):
        emit_json({"deleted": name})
        return
    emit_lines([Line([(f"Deleted {name}.", "")])])


@click.command("restore")
@click.argument("file", metavar="FILE", shell_complete=complete_backups)
@click.option(
    "--merge",
    is_flag=True,
    help="Add what the store does not have; of two states of a memory the newer one counts.",
)
@click.option(
    "--overwrite", is_flag=True, help="Back up what the store holds, then replace all of it."
)
@click.option(
    "--with-keys",
    is_flag=True,
    help="Take the access keys too: whoever holds one of them is let in by a server.",
)
@click.option(
    "--scope",
    metavar="NAME",
    help="Merge what belongs to this scope alone, such as people/anna, and to the scopes in it.",
)
@click.option("--dry-run", is_flag=True, help="Say what it would do, and change nothing.")
@_passphrase_file
@_allow_plain
@common_options
@click.pass_context
def restore_command(
    context: click.Context,
    /,
    file: str,
    *,
    merge: bool,
    overwrite: bool,
    with_keys: bool,
    scope: str | None,
    dry_run: bool,
    passphrase_file: str | None,
    allow_plain: bool,
) -> int:
    """Bring back what FILE holds, the name of a backup or the path of its file.

    Without an option the store must hold nothing. Everything is verified first, and an interruption
    leaves what was there: run the command again. The files of a damaged store are moved into a
    folder of their own. Exits with 4 if something could not be restored.
    """
    refuse_scopes(context, "restore")
    mode = _choose_mode(context, merge=merge, overwrite=overwrite, scope=scope)
    folder = BackupFolder.of(load_settings(context).config)
    path = _find_backup(folder, file)
    with _show_bars(*_list_steps(mode, dry_run=dry_run)) as progress:
        restored = _call_with_passphrase(
            context,
            passphrase_file,
            lambda passphrase: _restore_backup(
                context,
                RestoreRequest(
                    archive=path,
                    mode=mode,
                    passphrase=passphrase,
                    allow_plain=allow_plain,
                    with_keys=with_keys,
                    scope=scope,
                    folder=folder,
                    now=datetime.now(UTC),
                    progress=progress,
                ),
                dry_run=dry_run,
            ),
        )
    if wants_json(context):
        emit_json(restored.to_dict())
    else:
        emit_lines(_describe_restored(restored))
        _emit_findings(restored.left_out)
    return ExitCode.DONE if restored.whole else ExitCode.STORAGE


def _find_backup(folder: BackupFolder, file: str) -> Path:
    path = resolve_archive(folder, file)
    if re.fullmatch(_ID_OR_ENDING, file) and not path.exists():
        raise NotFound(
            f"{path} does not exist: restore is for backups; `infinite-memory undo`, or"
            f" `infinite-memory revise {file} --status current`, brings back what was forgotten"
        )
    return path


def _choose_mode(
    context: click.Context, *, merge: bool, overwrite: bool, scope: str | None
) -> RestoreMode:
    if merge and overwrite:
        raise click.UsageError("choose one of --merge and --overwrite", context)
    if overwrite:
        return RestoreMode.OVERWRITE
    return RestoreMode.EMPTY if not merge and scope is None else RestoreMode.MERGE


def _restore_backup(context: click.Context, request: RestoreRequest, *, dry_run: bool) -> Restored:
    """Restore into the store, or beside its damaged files, which are set aside."""
    try:
        with open_store(context, ingests=False) as store:
            return store.backups.restore(
                request.archive,
                mode=request.mode,
                passphrase=request.passphrase,
                allow_plain=request.allow_plain,
                with_keys=request.with_keys,
                scope=request.scope,
                dry_run=dry_run,
                progress=request.progress,
            )
    except StoreDamaged:
        if dry_run or request.mode is RestoreMode.MERGE:
            raise
        restored = restore_damaged(load_settings(context).config, request)
        if restored is None:
            raise
        return restored


def _call_with_passphrase(
    context: click.Context, file: str | None, work: Callable[[str | None], Result]
) -> Result:
    """Return the result of `work` for a passphrase, which is asked for if `work` needs it."""
    passphrase = read_passphrase(context, file)
    try:
        return work(passphrase)
    except WrongPassphrase:
        if passphrase is not None:
            raise
        passphrase = ask_passphrase("Passphrase of the backup", confirm=False)
        if passphrase is None:
            raise
    return work(passphrase)


def _list_steps(mode: RestoreMode, *, dry_run: bool) -> tuple[BackupStep, ...]:
    if dry_run:
        return (BackupStep.CHECKING, BackupStep.COMPARING)
    if mode is RestoreMode.MERGE:
        return (BackupStep.CHECKING, BackupStep.WRITING)
    steps = (BackupStep.CHECKING, BackupStep.BACKING_UP, BackupStep.WRITING, BackupStep.COMPARING)
    return steps if mode is RestoreMode.OVERWRITE else (steps[0], *steps[2:])


@contextmanager
def _show_bars(*steps: BackupStep) -> Iterator[BackupProgress | None]:
    with progress_bars(*(step.capitalize() for step in steps)) as update:
        if update is None:
            yield None
        else:
            yield lambda step, done, total: update(step.capitalize(), done, total)


def _describe_new(backup: Backup) -> Iterator[Line]:
    memories = format_count((backup.counts or {}).get("memories", 0), "memory", "memories")
    size, encryption = format_size(backup.size_bytes), _describe_encryption(backup)
    yield Line([(f"Backed up {memories} into {backup.path} ({size}, {encryption}).", "")])
    yield from _describe_loss(backup)


def _describe_verified(backup: Backup) -> Iterator[Line]:
    yield Line([(f"{backup.name} is as it was written: every record was read and checked.", "")])
    holds = format_counts(backup.counts or {}) or "nothing"
    yield Line([(f"It is {_describe_encryption(backup)}, and holds {holds}.", "")])
    yield from _describe_loss(backup)


def _describe_encryption(archive: Backup | Restored) -> str:
    return describe_encryption(encrypted=archive.encrypted)


def _describe_loss(backup: Backup) -> Iterator[Line]:
    if backup.left_out_count:
        number = format_count(backup.left_out_count, "record")
        yield Line([(f"{number} could not be read when it was made, and lack in it:", "red")])


def _describe_content(backup: Backup) -> str:
    if backup.whole is None:
        return ""
    return "everything" if backup.whole else f"all but {backup.left_out_count} records"


_OUTCOMES = {"added": "add", "changed": "change", "removed": "remove", "unchanged": "leave"}


def _describe_numbers(numbers: Mapping[str, int]) -> str:
    done = [f"{verb} {numbers[name]:,}" for name, verb in _OUTCOMES.items() if numbers.get(name)]
    return ", ".join(done) or "do nothing"


def _describe_restored(restored: Restored) -> Iterator[Line]:
    if restored.dry_run:
        totals = {name: getattr(restored, name) for name in _OUTCOMES}
        yield Line([(f"It would {_describe_numbers(totals)}; nothing was changed.", "")])
        for scope, numbers in restored.scopes.items():
            yield Line([(f"  {scope}: {_describe_numbers(numbers)}", "")])
    elif restored.mode is RestoreMode.MERGE:
        number = format_count(restored.added, "memory", "memories")
        sentence = f"Added {number}, changed {restored.changed:,}, left {restored.unchanged:,}."
        yield Line([(sentence, "")])
        if restored.access_keys:
            yield Line([(f"Added {format_count(restored.access_keys, 'access key')}.", "")])
    else:
        counts = {**restored.counts, "access_keys": restored.access_keys}
        came_in = {noun: number for noun, number in counts.items() if number}
        yield Line([(f"Restored {format_counts(came_in) or 'nothing'}.", "")])
    yield Line([(f"The archive was {_describe_encryption(restored)}.", "")])
    if restored.access_keys_left_out:
        way = "restore it with --merge --with-keys to take what this store does not have"
        yield Line([(describe_keys_left_out(restored.access_keys_left_out, way), "")])
    if restored.still_erased:
        number = format_count(restored.still_erased, "memory", "memories")
        yield Line([(f"{number} of the backup stay erased, as they were erased here.", "")])
    if restored.safety_backup is not None:
        yield Line([(f"What was there before is in {restored.safety_backup}.", "")])
    if restored.set_aside is not None:
        yield Line([(f"The damaged files are in {restored.set_aside}.", "")])
    if restored.left_out:
        number = format_count(len(restored.left_out), "record")
        yield Line([(f"{number} could not be restored:", "red")])


def _emit_findings(findings: tuple[Finding, ...]) -> None:
    if findings:
        rows = [(str(f.part), f.what, f.way_out) for f in findings[:_MOST_FINDINGS]]
        emit_table(("Part", "What was found", "What to do"), rows)


def read_passphrase(context: click.Context, file: str | None) -> str | None:
    """Return the passphrase in `file`, that of the environment, or that of the settings.

    Raises:
        InvalidInput, ConfigurationError: as `read_passphrase_file`.
    """
    if file is not None:
        return read_passphrase_file(file, partial(open_given_file, file))
    return choose_passphrase(load_settings(context).config, read_passphrase_variable())


def ask_passphrase(prompt: str, *, confirm: bool) -> str | None:
    """Ask for a passphrase on a terminal, twice if `confirm`; return None without a terminal."""
    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        return None
    passphrase: str = click.prompt(prompt, hide_input=True, confirmation_prompt=confirm, err=True)
    return passphrase
