"""`infinite-memory remember`: store a memory, or many from a file of JSON lines."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import IO, Any

import click
from attrs import evolve, frozen

from infinite_memory.apps.cli.completions import MEMORY_ID, complete_files
from infinite_memory.apps.cli.fields import (
    TIMES,
    create_option,
    field_options,
    field_values,
    json_object,
    origin_option,
    read_text,
)
from infinite_memory.apps.cli.given_file import open_given_file
from infinite_memory.apps.cli.opening import open_store
from infinite_memory.apps.cli.options import common_options, wants_json
from infinite_memory.apps.cli.output import (
    Line,
    emit_json,
    emit_lines,
    is_terminal,
    progress_bars,
    remark,
)
from infinite_memory.apps.cli.render import key_lines, receipt_sentence, similar_lines
from infinite_memory.apps.cli.scope_hints import name_create_option
from infinite_memory.core.errors import InvalidInput, NotFound
from infinite_memory.core.values.draft import Draft
from infinite_memory.core.values.ids import give_import_ids
from infinite_memory.core.values.memory import Kind, Origin, Status
from infinite_memory.core.values.messages import format_count
from infinite_memory.core.values.receipt import (
    Outcome,
    Receipt,
    Searchable,
    describe_secrets,
)
from infinite_memory.core.values.scope import fold_name
from infinite_memory.core.values.timestamps import read_moment
from infinite_memory.features.sessions.scope_names import PREFIX
from infinite_memory.store.memory_store import MemoryStore

_POSITION = re.compile(r"memory ([0-9]+) of [0-9]+: ")
_BOM = b"\xef\xbb\xbf"
_MEMORY_START = b"    {"
# "Anna Weber: see you at ten": one to three words with capitals, a colon and a space.
_SPEAKER = re.compile(r"\s*(?P<name>[^\W\d_][\w.'’-]{0,30}(?: [^\W\d_][\w.'’-]{0,30}){0,2}): \s*\S")
_LEAST_MESSAGES = 2
_OF_THE_STORE = ("stored_at", "status", "revision")


@click.command("remember")
@click.argument("words", nargs=-1, metavar="[TEXT]...")
@click.option(
    "--from",
    "source_file",
    metavar="FILE",
    shell_complete=complete_files,
    help="Store a memory for each line of JSON in FILE.",
)
@click.option("--id", help="An id of your own. Repeating the command then changes nothing.")
@field_options
@origin_option
@click.option(
    "--supersedes",
    type=MEMORY_ID,
    multiple=True,
    metavar="ID",
    help="The id of a memory that it replaces. May be repeated.",
)
@click.option(
    "--no-similar",
    "similar",
    flag_value=False,
    default=True,
    help="Do not look for similar memories that it may replace.",
)
@create_option
@click.option("--important", is_flag=True, default=None, help="Mark the memory as important.")
@common_options
@click.pass_context
def remember_command(
    context: click.Context,
    /,
    words: tuple[str, ...],
    source_file: str | None,
    *,
    similar: bool,
    create: bool,
    **options: Any,
) -> None:
    """Store TEXT, or standard input where TEXT is -, and print the receipt.

    With --from every line of FILE (- for standard input) is an object with a text and any further
    fields of a memory, or FILE is the output of `list --json`. Every line is checked before the
    first memory is stored; the options set the fields that a line leaves out. Similar memories are
    named for a TEXT only.
    """
    if not words and source_file is None and not is_terminal(sys.stdin):
        words = ("-",)
    if bool(words) == (source_file is not None):
        raise click.UsageError("give a TEXT, - for standard input, or --from FILE")
    if source_file is not None:
        if create:
            raise click.UsageError(
                "--create is for a TEXT: a file creates the scopes that it names"
            )
        _remember_file(context, source_file, options)
        return
    with open_store(context) as store:
        limit = store.config.limits.max_text_bytes
        fields = field_values(options, store)
        if fields.get("supersedes"):
            fields["supersedes"] = [store.ids.resolve(old) for old in fields["supersedes"]]
        checked_text = read_text(" ".join(words), max_bytes=limit)
        with name_create_option():
            receipt = store.remember(checked_text, similar=similar, create_scope=create, **fields)
        emit_receipt(context, store, receipt)
    if fields.get("scope") is None and fold_name(receipt.scope).startswith(PREFIX):
        remark("Kept for this repository; `infinite-memory revise ID --scope NAME` moves it.")


def emit_receipt(context: click.Context, store: MemoryStore, receipt: Receipt) -> None:
    """Print the receipt of a new memory; a long text is embedded after that."""
    if wants_json(context):
        emit_json(receipt.to_dict())
    else:
        emit_lines(
            [
                Line([(receipt_sentence(receipt, store), "")]),
                *similar_lines(receipt, store),
                *key_lines(receipt, store),
            ]
        )
    _embed_long_texts(store, [receipt])


def _remember_file(context: click.Context, path: str, options: dict[str, Any]) -> None:
    if options["id"] is not None:
        raise click.UsageError("--id names one memory: give each line an id of its own")
    if options["supersedes"]:
        raise click.UsageError("--supersedes is for one memory: give it on the line itself")
    with ExitStack() as stack:
        try:
            store = stack.enter_context(open_store(context))
            drafts = _read_file(store, path, options)
        except KeyboardInterrupt:
            remark("Interrupted: nothing is stored yet. Run the same command again.")
            raise
        with drafts.name_lines(), progress_bars("Storing") as update:
            progress = None if update is None else partial(update, "Storing")
            try:
                receipts = store.remember_many(drafts.items, progress=progress)
            except KeyboardInterrupt:
                remark(_describe_interruption(store, drafts))
                raise
        _report_receipts(receipts, as_json=wants_json(context))
        _embed_long_texts(store, receipts)


def _describe_interruption(store: MemoryStore, drafts: Drafts) -> str:
    """Return how much an interrupted import has stored, and how to continue."""
    total = format_count(len(drafts.items), "memory", "memories")
    ends = [_is_stored(store, str(draft.id)) for draft in (drafts.items[0], drafts.items[-1])]
    if all(ends):
        return f"Interrupted: all of {total} are stored, and are embedded in the background later."
    stored = "a part" if any(ends) else "nothing"
    return (
        f"Interrupted: {stored} of {total} is stored. Run the same command again: it stores what is"
        " missing, and leaves the rest as it is."
    )


def _is_stored(store: MemoryStore, memory_id: str) -> bool:
    try:
        store.get(memory_id)
    except NotFound:
        return False
    return True


def _embed_long_texts(store: MemoryStore, receipts: Sequence[Receipt]) -> None:
    """Embed long texts after the receipts are printed; an interruption loses nothing."""
    pending = sum(receipt.searchable is Searchable.WORDS for receipt in receipts)
    if pending:
        remark(
            f"Embedding {format_count(pending, 'long text', 'long texts')} to be found by meaning"
            " too; you may interrupt this."
        )
        sys.stdout.flush()
        # The oldest pending texts come first, so this goes on until none is left.
        while store.models.catch_up():
            pass


def _read_file(store: MemoryStore, path: str, options: dict[str, Any]) -> Drafts:
    config, defaults = store.config, {"origin": str(Origin.IMPORT), **field_values(options, store)}
    with ExitStack() as stack:
        if path == "-":
            file, name = sys.stdin.buffer, "standard input"
        else:
            file, name = stack.enter_context(open_given_file(path)), path
        return read_drafts(
            file,
            name,
            defaults=defaults,
            zone=config.time_zone,
            max_bytes=max_line_bytes(
                max_text_bytes=config.limits.max_text_bytes,
                max_context_bytes=config.limits.max_context_bytes,
            ),
        )


def _report_receipts(receipts: Sequence[Receipt], *, as_json: bool) -> None:
    outcomes = Counter(receipt.outcome for receipt in receipts)
    stored, unchanged = outcomes[Outcome.STORED], outcomes[Outcome.UNCHANGED]
    strengthened = outcomes[Outcome.STRENGTHENED]
    if as_json:
        emit_json(
            {
                "receipts": [receipt.to_dict() for receipt in receipts],
                "stored": stored,
                "unchanged": unchanged,
                "strengthened": strengthened,
            }
        )
        return
    repeats = f", {strengthened:,} stored before" if strengthened else ""
    embedded = sum(receipt.searchable is Searchable.MEANING for receipt in receipts)
    sentence = (
        f"Stored {format_count(stored, 'memory', 'memories')}, {unchanged:,} unchanged{repeats};"
        f" {embedded:,} of {len(receipts):,} found by meaning."
    )
    emit_lines([Line([(sentence, "")])])
    forgotten = sum(
        receipt.outcome is Outcome.UNCHANGED and receipt.searchable is Searchable.NOT
        for receipt in receipts
    )
    if forgotten:
        number = format_count(forgotten, "memory was", "memories were")
        remark(
            f"{number} forgotten since an earlier import, and stay so: `infinite-memory undo` of"
            " that change brings them back, see `infinite-memory log`."
        )
    secrets = [kind for receipt in receipts for kind in receipt.secrets]
    if secrets:
        held = f"{describe_secrets(secrets)} in clear"
        remark(f"They hold {held}: `infinite-memory doctor --secrets` masks them for good.")
    if masked := [kind for receipt in receipts for kind in receipt.masked]:
        remark(f"Masked: {describe_secrets(masked)}.")
    conflicts = sum(bool(receipt.conflicts) for receipt in receipts)
    if conflicts:
        number = format_count(conflicts, "memory conflicts", "memories conflict")
        remark(f"{number} with another of the same key: see `infinite-memory conflicts`.")


@frozen(kw_only=True)
class Drafts:
    """The drafts in a file, with the numbers of their lines."""

    name: str
    items: list[Draft]
    lines: list[int]

    @contextmanager
    def name_lines(self) -> Iterator[None]:
        """Name the line of the file in an error that has the position of a memory.

        Raises:
            InvalidInput: the same error, with the file and the line.
        """
        try:
            yield
        except InvalidInput as error:
            position = _POSITION.match(str(error))
            if position is None:
                raise
            rest = str(error)[position.end() :]
            raise type(error)(f"{self.name}:{self.lines[int(position[1]) - 1]}: {rest}") from error


def max_line_bytes(*, max_text_bytes: int, max_context_bytes: int) -> int:
    """Return the length of the longest line.

    An escape of JSON takes up to six bytes per byte; 1 MiB is for the other fields.
    """
    return 6 * (max_text_bytes + max_context_bytes) + (1 << 20)


def read_drafts(
    file: IO[bytes], name: str, *, defaults: Mapping[str, Any], zone: str | None, max_bytes: int
) -> Drafts:
    """Read a draft from every line that is not blank; `defaults` fill missing fields.

    A document of `list --json`, or several in a row, holds the memories of a page each, newest
    first; they are put in the order in which they happened. A memory without an id gets one by
    `give_import_ids`, so that the same file adds nothing when it is read again. Times are read as
    `read_moment` reads them in `zone`. No line may be longer than `max_bytes`.

    Raises:
        InvalidInput: a line cannot be used; the message begins with `name` and its number.
    """
    items: list[tuple[Draft, int]] = []
    listed: list[tuple[Draft, int]] = []
    lines = _read_lines(file, max_bytes)
    for number, line in lines:
        try:
            _check_length(line, max_bytes)
            if line.strip() == b"{":
                page = [line, *_read_rest(lines, max_bytes)]
                listed += _list_drafts(_parse_line(b"".join(page)), page, number, defaults, zone)
            elif line.strip():
                fields = _parse_line(line)
                if _is_page(fields):
                    listed += _list_drafts(fields, [line], number, defaults, zone)
                else:
                    items.append((_make_draft(fields, defaults, zone), number))
        except InvalidInput as error:
            raise InvalidInput(f"{name}:{number}: {error}") from error
    items += reversed(listed)
    drafts = _name_speakers([draft for draft, _ in items])
    return Drafts(
        name=name, items=list(give_import_ids(drafts)), lines=[number for _, number in items]
    )


def _name_speakers(drafts: Sequence[Draft]) -> list[Draft]:
    """Return `drafts` with the speakers of messages whose texts begin like "Name: text".

    A name that begins a single message of the file may be a heading and is left alone, and so are
    messages with a speaker and other kinds. Texts stay as they are.
    """
    names = [_find_leading_name(draft) for draft in drafts]
    counts = Counter(names)
    return [
        evolve(draft, speaker=name) if name and counts[name] >= _LEAST_MESSAGES else draft
        for draft, name in zip(drafts, names, strict=True)
    ]


def _find_leading_name(draft: Draft) -> str | None:
    if draft.kind != Kind.MESSAGE or draft.speaker is not None or not isinstance(draft.text, str):
        return None
    match = _SPEAKER.match(draft.text)
    if match is None:
        return None
    name = match["name"]
    words = name.split()
    has_capitals = all(word[0].isupper() or not word[0].islower() for word in words)
    return name if has_capitals and not name.isupper() else None


def _read_lines(file: IO[bytes], max_bytes: int) -> Iterator[tuple[int, bytes]]:
    for number, line in enumerate(iter(lambda: file.readline(max_bytes + 1), b""), 1):
        yield number, line.removeprefix(_BOM) if number == 1 else line


def _check_length(line: bytes, max_bytes: int) -> None:
    if len(line) > max_bytes:
        raise InvalidInput(f"the line is longer than {max_bytes:,} bytes: split the text")


def _read_rest(lines: Iterable[tuple[int, bytes]], max_bytes: int) -> Iterator[bytes]:
    """Yield the lines of an indented document after its first line, up to the closing brace."""
    for _, line in lines:
        _check_length(line, max_bytes)
        yield line
        if line.rstrip() == b"}":
            return


def _is_page(fields: object) -> bool:
    """Return whether `fields` are a document of `list --json`."""
    return isinstance(fields, dict) and isinstance(fields.get("memories"), list)


def _list_drafts(
    page: Any, lines: Sequence[bytes], first: int, defaults: Mapping[str, Any], zone: str | None
) -> Iterator[tuple[Draft, int]]:
    """Yield a draft of every memory of a page that was not forgotten, with the number of its line.

    Raises:
        InvalidInput: a memory cannot be used, or `page` is not a page.
    """
    if not _is_page(page):
        raise InvalidInput(
            "it is neither a memory on a line of its own, nor the output of `infinite-memory list "
            f"--json`, but {page!r:.80}"
        )
    starts = [first + n for n, line in enumerate(lines) if line.rstrip() == _MEMORY_START]
    memories = page["memories"]
    if len(starts) != len(memories):
        starts = [first] * len(memories)
    for fields, number in zip(memories, starts, strict=True):
        if not isinstance(fields, dict):
            raise InvalidInput(f"'memories' holds {fields!r:.80}, which is not an object")
        if fields.get("status") != Status.FORGOTTEN:
            kept = {key: value for key, value in fields.items() if key not in _OF_THE_STORE}
            yield _make_draft(kept, defaults, zone), number


def _parse_line(content: bytes) -> Any:
    try:
        return json.loads(content.decode(), object_pairs_hook=json_object)
    except InvalidInput:
        raise
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"byte {content[error.start]:#04x} at position {error.start} is not UTF-8:"
            " convert the file first"
        ) from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"it is not JSON: {error}") from error


def _make_draft(fields: Any, defaults: Mapping[str, Any], zone: str | None) -> Draft:
    if not isinstance(fields, dict):
        raise InvalidInput(f'it is not an object such as {{"text": "..."}}, but {fields!r:.80}')
    for field in TIMES:
        if fields.get(field) is not None:
            fields[field] = _read_field_moment(field, fields[field], zone)
    return Draft.of({**defaults, **fields})


def _read_field_moment(field: str, value: object, zone: str | None) -> Any:
    if not isinstance(value, str):
        raise InvalidInput(f"{field} must be a text such as 2026-06-05T14:30, not {value!r:.80}")
    return read_moment(value, zone)
