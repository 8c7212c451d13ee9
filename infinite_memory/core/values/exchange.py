"""Export and import: the formats, the results, and the problem of a record that cannot be used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum

from attrs import field, frozen

from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.memory import Memory


class ExportFormat(StrEnum):
    """A format of an export."""

    JSONL = "jsonl"
    """JSON Lines: scopes, memories with their history, and links."""
    MARKDOWN = "markdown"
    """A folder of Markdown files: the current state of every memory."""
    CSV = "csv"
    """A table for spreadsheets: the current state of every memory."""
    ICS = "ics"
    """A calendar: the open reminders with a date, and the days ahead that texts name."""


class FilesBy(StrEnum):
    """The content of a file of a Markdown export."""

    SCOPE = "scope"
    DAY = "day"


class OnError(StrEnum):
    """What an import does with a record, or a value of it, that cannot be used."""

    SKIP = "skip"
    """Leave it out, and report it."""
    STOP = "stop"
    """Import nothing: every record is checked before the first one is stored."""


class ExchangeStep(StrEnum):
    """A phase of an export or an import."""

    READING = "reading"
    CHECKING = "checking"
    STORING = "storing"
    WRITING = "writing"


ExchangeProgress = Callable[[ExchangeStep, int, int | None], None]
"""A callback that receives the phase, the number of finished records, and their total if known."""


@frozen(kw_only=True)
class Exported(PlainData):
    """The result of an export.

    `path` is the file or the folder, `files` the number of files in it. `left_out_scopes` are the
    private scopes that were left out, since nobody asked for them. `written` and `removed` count
    the files of a folder that were changed, as against an earlier export into it.
    """

    path: str
    format: ExportFormat
    memories: int
    links: int = 0
    files: int = 1
    written: int = 1
    removed: int = 0
    left_out_scopes: tuple[str, ...] = ()


@frozen(kw_only=True)
class ImportProblem(PlainData):
    """A record that cannot be used: the file, the place in the file, and the reason."""

    file: str
    where: str
    what: str

    def __str__(self) -> str:
        place = f"{self.file}: {self.where}" if self.where else self.file
        return f"{place}: {self.what}"


@frozen(kw_only=True)
class LeftOut(PlainData):
    """Files of a source that an import does not take: their number, one of them, and the reason."""

    files: int
    example: str
    why: str

    def __str__(self) -> str:
        shown = self.example if self.files == 1 else f"{self.files:,} files such as {self.example}"
        return f"{shown}: {self.why}"


@frozen(kw_only=True)
class Imported(PlainData):
    """The result of an import, or of its dry run.

    `format` is the name of the format that was read. `records` counts the memories of the source:
    `added`, `changed` (they get a new revision), `unchanged`, `still_forgotten` and `still_erased`
    (they were forgotten or erased here, and stay so). `links` counts the links that were added,
    `loose_links` the links that point to a memory that does not exist. `problems` are the first
    hundred of `problem_count` records and values that cannot be used. `files` of `all_files` in the
    source were read; `left_out` are the others, and `guesses` says of files that do not tell their
    encoding which one they were taken for. `scopes` and `kinds` count the memories
    of the source, and `since` and `until` are the first and the last time in it. `samples` are up
    to ten memories of a dry run, spread over the source. `pending` is the number of memories that
    are found by their words alone until they are embedded. `entries` are the entries of the
    journal; undoing any one of them undoes the whole import. `masked` counts the secrets in the
    source by their kinds, in whose place masks are stored; one that stands twice counts once.
    """

    path: str
    format: str
    dry_run: bool = False
    records: int = 0
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    still_forgotten: int = 0
    still_erased: int = 0
    links: int = 0
    loose_links: int = 0
    problem_count: int = 0
    problems: tuple[ImportProblem, ...] = ()
    files: int = 1
    all_files: int = 1
    left_out: tuple[LeftOut, ...] = ()
    guesses: Mapping[str, str] = field(factory=dict)
    scopes: Mapping[str, int] = field(factory=dict)
    kinds: Mapping[str, int] = field(factory=dict)
    since: datetime | None = None
    until: datetime | None = None
    samples: tuple[Memory, ...] = ()
    pending: int = 0
    entries: tuple[int, ...] = ()
    masked: Mapping[str, int] = field(factory=dict)
