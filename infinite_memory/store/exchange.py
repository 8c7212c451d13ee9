"""`store.exchange`: export into open formats, and import from them and from foreign products."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Unpack

from attrs import evolve

from infinite_memory.core.errors import InvalidInput, StorageUnavailable
from infinite_memory.core.observe.recorder import measure_calls
from infinite_memory.core.secrets import unattended
from infinite_memory.core.values.checks import check_choice, check_field, check_flag, check_label
from infinite_memory.core.values.criteria import Conditions
from infinite_memory.core.values.exchange import (
    ExchangeProgress,
    Exported,
    ExportFormat,
    FilesBy,
    Imported,
    OnError,
)
from infinite_memory.engine.calls import count_call
from infinite_memory.engine.scopes import ALL
from infinite_memory.features.archive.exchange.exporting import (
    ExportRequest,
    guess_format,
    run_export,
)
from infinite_memory.features.archive.exchange.importing import ImportRequest, run_import
from infinite_memory.features.archive.exchange.left_out import describe_source
from infinite_memory.features.archive.exchange.output_file import check_path, writing_file
from infinite_memory.features.archive.exchange.reading import Options
from infinite_memory.features.archive.exchange.selection import choose_memories
from infinite_memory.features.archive.exchange.source import open_source
from infinite_memory.features.archive.exchange.table import FORMATS, choose_format, list_files
from infinite_memory.store.lifetime import Group

_CONDITIONS = ("scope", "tags", "kinds", "conversation_id", "since", "until", "when")


@measure_calls("exchange.")
class Exchange(Group):
    """Exports, which anybody can read, and imports from foreign products.

    An export holds personal data in the clear. A backup, see `store.backups`, holds everything, and
    can be encrypted.
    """

    @count_call
    def export(
        self,
        to: str | os.PathLike[str],
        *,
        format: str | None = None,  # noqa: A002 -- the word of the command line and the docs
        files_by: str = FilesBy.SCOPE,
        private: bool = False,
        force: bool = False,
        progress: ExchangeProgress | None = None,
        **conditions: Unpack[Conditions],
    ) -> Exported:
        """Write the memories that meet the conditions into a file or folder, but no forgotten ones.

        `format` is "jsonl", "csv", "markdown" or "ics", by default the ending of the name `to`, and
        Markdown for a folder. The conditions are scope, tags, kinds, conversation_id, since, until
        and when, as in `bulk`; without a scope every scope is exported, private ones only with
        `private` or by name. A Markdown folder has a file for each scope or day, as `files_by`
        says. The file has the mode 600 and appears when it is whole. With `force` it takes the
        place of a file, and a folder of an earlier export is brought up to date. A calendar, "ics",
        has what `triggers.coming` lists with a date, and scope is its only condition.

        Raises:
            Conflict: there is something at `to`.
            InvalidInput: a value cannot be used.
            UnknownScope: a scope does not exist.
            StorageUnavailable: the disk is full, or the folder or the store cannot be used.
        """
        services = self._services
        for name in conditions:
            check_field(name, _CONDITIONS, lack="an export has no condition")
        path = check_path(to)
        chosen = None if format is None else check_choice(format, ExportFormat, "format")
        chosen = guess_format(path) if chosen is None else chosen
        if chosen is ExportFormat.ICS:
            return self._export_calendar(path, conditions, force=check_flag(force, "force"))
        request = ExportRequest(
            path=path,
            format=chosen,
            selection=choose_memories(services, conditions, private=check_flag(private, "private")),
            files_by=check_choice(files_by, FilesBy, "files_by"),
            force=check_flag(force, "force"),
            progress=progress,
        )
        return run_export(services, request)

    def _export_calendar(self, path: Path, conditions: Conditions, *, force: bool) -> Exported:
        from infinite_memory.features.reminders.calendar import write_calendar
        from infinite_memory.features.reminders.coming import load_coming

        given = [name for name, value in conditions.items() if value and name != "scope"]
        if given:
            raise InvalidInput(
                f"a calendar has no condition {given[0]!r}: name scopes alone, or choose the format"
                " jsonl, csv or markdown"
            )
        scope = conditions.get("scope") or ALL
        coming = load_coming(self._services, within=None, scope=scope)
        text, count = write_calendar(coming, self._services.config.time_zone)
        with writing_file(path, force=force) as part:
            part.write(text.encode())
        return Exported(path=str(path), format=ExportFormat.ICS, memories=count)

    @count_call
    def import_from(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,  # noqa: A002 -- as above
        scope: str | None = None,
        on_error: str = OnError.SKIP,
        dry_run: bool = False,
        known_as: str | None = None,
        progress: ExchangeProgress | None = None,
    ) -> Imported:
        """Store the memories of a file, a folder or a zip file of this or another product.

        `format` is a name from the guide to imports, by default the first that recognises the
        source. Every record is checked before the first one is stored. What cannot be used is left
        out and reported; with `on_error` "stop" nothing is imported then. A second import of the
        same source adds nothing, wherever it is: what the source has changed since gets a new
        revision, and what was forgotten or erased here stays so. `scope` takes the place of the
        scopes of the source, `known_as` that of its path, by which it is the same source. One
        `undo` takes back the whole import. Texts are found by their words at once;
        `store.models.catch_up` embeds them. A `dry_run` says what would be stored, with samples.

        Raises:
            NotFound: there is nothing at `path`.
            InvalidInput: no format recognises it, or a record cannot be used and `on_error` is
                "stop"; nothing was stored.
            StorageUnavailable: the source cannot be read, or the store cannot be written; parts
                that are stored stay, and a repeat goes on from there.
        """
        location = check_path(path)
        skips = check_choice(on_error, OnError, "on_error")
        check_flag(dry_run, "dry_run")
        with _raise_typed_errors(location), open_source(location) as source:
            source.whole = source.whole if known_as is None else check_label(known_as, "known_as")
            chosen = choose_format(source, format)
            files, config = list_files(source, chosen), self._services.config
            options = Options(limits=config.limits, zone=config.time_zone, home=config.home)
            request = ImportRequest(
                path=location,
                whole=source.whole,
                format=chosen,
                read=partial(FORMATS[chosen].read, source, files, options),
                scope=scope,
                on_error=skips,
                dry_run=dry_run,
                progress=progress,
            )
            with unattended() as tally:
                imported = describe_source(run_import(self._services, request), source, files)
            return evolve(imported, masked=dict(tally))


@contextmanager
def _raise_typed_errors(path: Path) -> Iterator[None]:
    """Turn an error of the system, such as an unreadable file, into an error of the library."""
    try:
        yield
    except OSError as error:
        if type(error).__module__ != "builtins":
            raise
        raise StorageUnavailable(
            f"{error.filename or path} cannot be read ({error.strerror}): check its permissions"
        ) from error
