"""Export: write memories into a file or a folder, as they are at one moment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TextIO

from attrs import frozen

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.exchange import (
    ExchangeProgress,
    ExchangeStep,
    Exported,
    ExportFormat,
    FilesBy,
)
from infinite_memory.core.values.timestamps import in_zone
from infinite_memory.engine.services import Services
from infinite_memory.features.archive.backup import exporting
from infinite_memory.features.archive.exchange.folder_export import (
    ExportFolder,
    file_name,
    writing_folder,
)
from infinite_memory.features.archive.exchange.formats.csv_table import header_row, memory_row
from infinite_memory.features.archive.exchange.formats.jsonl import (
    end_line,
    head_line,
    link_line,
    memory_line,
    scope_line,
)
from infinite_memory.features.archive.exchange.formats.markdown import day_head, scope_head, section
from infinite_memory.features.archive.exchange.output_file import writing_file
from infinite_memory.features.archive.exchange.selection import Selection, read_links, read_memories

_ENDINGS = {
    ".jsonl": ExportFormat.JSONL,
    ".csv": ExportFormat.CSV,
    ".ics": ExportFormat.ICS,
}
_STEP = 500


@frozen(kw_only=True)
class ExportRequest:
    """Where and how to export a selection."""

    path: Path
    format: ExportFormat
    selection: Selection
    files_by: FilesBy = FilesBy.SCOPE
    force: bool = False
    progress: ExchangeProgress | None = None

    def report(self, done: int, total: int) -> None:
        """Call the progress callback now and then."""
        if self.progress is not None and (done == total or not done % _STEP):
            self.progress(ExchangeStep.WRITING, done, total)


def guess_format(path: Path) -> ExportFormat:
    """Return the format that a name stands for: its ending, or a folder for a name without one.

    Raises:
        InvalidInput: the ending says nothing.
    """
    if path.suffix.lower() in _ENDINGS:
        return _ENDINGS[path.suffix.lower()]
    if not path.suffix or path.is_dir():
        return ExportFormat.MARKDOWN
    raise InvalidInput(
        f"the name {path.name!r:.100} does not say in which format to write: end it with .jsonl,"
        " .csv or .ics, give a folder for Markdown, or name the format"
    )


def run_export(services: Services, request: ExportRequest) -> Exported:
    """Write the selection; see `Exchange.export`.

    Raises:
        Conflict: there is something at the path.
        StorageUnavailable: the disk is full, or the folder or the store cannot be used.
    """
    return _WRITERS[request.format](services, request)


def _write_jsonl(services: Services, request: ExportRequest) -> Exported:
    output = writing_file(request.path, force=request.force)
    with output as part, exporting(services.storage) as storage:
        ids = request.selection.list_whole(storage)
        part.write(head_line(services.clock(), storage.identity))
        for scope in request.selection.scopes.values():
            part.write(scope_line(scope))
        memories = links = 0
        for memory in read_memories(storage, ids, request.selection.kept):
            revisions = [memory] if memory.revision == 1 else storage.history(memory.id)
            part.write(memory_line(revisions))
            memories += 1
            request.report(memories, len(ids))
        for link in read_links(storage, ids):
            part.write(link_line(link))
            links += 1
        part.write(end_line(memories, links))
    return Exported(
        path=str(request.path),
        format=request.format,
        memories=memories,
        links=links,
        left_out_scopes=request.selection.left_out,
    )


def _write_csv(services: Services, request: ExportRequest) -> Exported:
    output = writing_file(request.path, force=request.force)
    with output as part, exporting(services.storage) as storage:
        ids = request.selection.list_ids(storage)
        part.write(header_row())
        memories = 0
        for memory in read_memories(storage, ids, request.selection.kept):
            part.write(memory_row(memory))
            memories += 1
            request.report(memories, len(ids))
    return Exported(
        path=str(request.path),
        format=request.format,
        memories=memories,
        left_out_scopes=request.selection.left_out,
    )


def _write_markdown(services: Services, request: ExportRequest) -> Exported:
    write = _write_days if request.files_by is FilesBy.DAY else _write_scopes
    target = writing_folder(request.path, force=request.force)
    with target as folder, exporting(services.storage) as storage:
        memories = write(storage, folder, request, services.config.time_zone)
    return Exported(
        path=str(request.path),
        format=request.format,
        memories=memories,
        files=folder.files,
        written=folder.written,
        removed=folder.removed,
        left_out_scopes=request.selection.left_out,
    )


def _write_scopes(
    storage: Storage, folder: ExportFolder, request: ExportRequest, zone: str | None
) -> int:
    """Write a file for each scope that has memories; return the number of memories."""
    selection = request.selection
    lists = {n: selection.list_ids(storage, frozenset({n})) for n in selection.scopes}
    total, done = sum(map(len, lists.values())), 0
    for name, scope in selection.scopes.items():
        if not lists[name]:
            continue
        with folder.writing(file_name(name)) as file:
            file.write(scope_head(scope))
            for memory in read_memories(storage, lists[name], selection.kept):
                file.write(section(memory, zone=zone, scope=name))
                done += 1
                request.report(done, total)
    return done


def _write_days(
    storage: Storage, folder: ExportFolder, request: ExportRequest, zone: str | None
) -> int:
    """Write a file for each day that has memories; return the number of memories."""
    ids = request.selection.list_ids(storage)
    done, last = 0, ""
    with ExitStack() as stack:
        file: TextIO | None = None
        for memory in read_memories(storage, ids, request.selection.kept):
            # The clocks of a place may once have gone back by a day.
            day = max(last, f"{in_zone(memory.happened_at, zone):%Y-%m-%d}".rjust(10, "0"))
            if file is None or day != last:
                stack.close()
                file = stack.enter_context(folder.writing(f"{day}.md"))
                file.write(day_head(day))
                last = day
            file.write(section(memory, zone=zone, scope=None))
            done += 1
            request.report(done, len(ids))
    return done


_WRITERS: Mapping[ExportFormat, Callable[[Services, ExportRequest], Exported]] = {
    ExportFormat.JSONL: _write_jsonl,
    ExportFormat.CSV: _write_csv,
    ExportFormat.MARKDOWN: _write_markdown,
}
