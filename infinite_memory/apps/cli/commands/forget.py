"""`infinite-memory forget`: forget memories by id, or all that match after a preview."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import click

from infinite_memory.apps.cli.completions import MEMORY_ID, complete_scopes, complete_tags
from infinite_memory.apps.cli.exits import ExitCode
from infinite_memory.apps.cli.fields import BOUNDS, read_times
from infinite_memory.apps.cli.opening import open_store
from infinite_memory.apps.cli.options import common_options, wants_json
from infinite_memory.apps.cli.output import Line, emit_json, emit_lines, is_terminal, remark
from infinite_memory.apps.cli.render import receipt_sentence, short_id, source_line
from infinite_memory.apps.cli.waiting import waiting
from infinite_memory.core.errors import Conflict, InfiniteMemoryError, NotFound, StoreDamaged
from infinite_memory.core.values.memory import Kind, shown_text
from infinite_memory.core.values.messages import format_count
from infinite_memory.core.values.receipt import BulkReceipt, Preview, Receipt
from infinite_memory.search.text.lines import one_line
from infinite_memory.store.memory_store import MemoryStore

_TEXT_CHARS, _SEARCHED_CHARS = 200, 1000


@click.command("forget")
@click.argument("memory_ids", metavar="[ID]...", nargs=-1, type=MEMORY_ID)
@click.option(
    "--tag",
    "-t",
    "tags",
    multiple=True,
    shell_complete=complete_tags,
    help="Has this tag. Repeated: all of them.",
)
@click.option(
    "--scope",
    "scopes",
    metavar="NAME",
    multiple=True,
    shell_complete=complete_scopes,
    help="Is in this scope itself; ALL for all open ones. Repeatable.",
)
@click.option("--query", metavar="WORDS", help="Likely answers this.")
@click.option("--limit", "-n", type=int, help="With --query: at most this many.")
@click.option("--threshold", type=float, help="With --query: the lowest score, 0 to 1.")
@click.option(
    "--kind",
    "kinds",
    type=click.Choice([str(kind) for kind in Kind]),
    multiple=True,
    help="Is of this kind. Repeated: one of them.",
)
@click.option("--conversation", "conversation_id", metavar="ID", help="Is from this conversation.")
@click.option("--since", metavar="TIME", help="Happened at this time or later.")
@click.option("--before", "until", metavar="TIME", help="Happened before this time.")
@click.option("--when", metavar="WORDS", help='Happened in that time: "last week".')
@click.option("--confirm", metavar="TOKEN", help="Forget what the preview with this token showed.")
@click.option("--hard", is_flag=True, help="Erase the IDs for good, with history and vectors.")
@click.option("--yes", is_flag=True, help="Do not ask before erasing the IDs.")
@common_options
@click.pass_context
def forget_command(
    context: click.Context,
    /,
    memory_ids: tuple[str, ...],
    *,
    confirm: str | None,
    hard: bool,
    yes: bool,
    **options: Any,
) -> int:
    """Take memories out of every result: those with the given IDs, or all that match.

    "revise ID --status current" brings a memory back. --hard erases it for good; it asks first, and
    needs --yes without a terminal. Instead of IDs, options can select memories: they are shown
    first, and forgotten in one change if you agree, or with --confirm.
    """
    given = {name: value for name, value in options.items() if value not in (None, ())}
    if memory_ids:
        if given or confirm is not None:
            raise click.UsageError("give IDs, or options that choose memories, not both")
        return _forget_ids(context, memory_ids, hard=hard, yes=yes)
    if hard or yes:
        raise click.UsageError(
            "--hard and --yes are for IDs: memories that options select are shown first, and need"
            " --confirm TOKEN without a terminal"
        )
    if not given:
        raise click.UsageError("give an ID, or options that choose memories, such as --tag")
    return _forget_matching(context, given, confirm)


def _forget_ids(context: click.Context, memory_ids: Sequence[str], *, hard: bool, yes: bool) -> int:
    with open_store(context) as store:
        # Every id is looked up before the first is forgotten, so that a wrong id changes nothing.
        memory_ids = [store.ids.resolve(memory_id, whole=hard) for memory_id in memory_ids]
        texts, receipts = _look_up(store, memory_ids, hard=hard)
        if hard and texts and not yes and not _confirm_erasing(texts, store):
            remark("Nothing was erased.", style="")
            return ExitCode.NO
        with waiting():
            receipts |= {memory_id: store.forget(memory_id, hard=hard) for memory_id in texts}
        if wants_json(context):
            emit_json({"receipts": [receipt.to_dict() for receipt in receipts.values()]})
        else:
            sentences = [receipt_sentence(receipt, store) for receipt in receipts.values()]
            emit_lines(Line([(sentence, "")]) for sentence in sentences)
            if hard and (same := _find_same_words(texts.values(), store)):
                number = format_count(len(same), "other memory", "others")
                again = f"infinite-memory forget {shlex.join(same)} --hard"
                remark(f"The same words are still in {number}: {again}")
    return ExitCode.DONE


def _look_up(
    store: MemoryStore, memory_ids: Sequence[str], *, hard: bool
) -> tuple[dict[str, str], dict[str, Receipt]]:
    """Return the text of every memory, "" if it is damaged, and the receipts of erased ones."""
    texts: dict[str, str] = {}
    receipts: dict[str, Receipt] = {}
    for memory_id in memory_ids:
        try:
            texts[memory_id] = shown_text(store.get(memory_id))
        except StoreDamaged:
            if not hard:
                raise
            texts[memory_id] = ""
        except NotFound:
            if not hard:
                raise
            # Finishes an erasure that was interrupted, and refuses an id that never existed.
            receipts[memory_id] = store.forget(memory_id, hard=True)
    return texts, receipts


def _find_same_words(texts: Iterable[str], store: MemoryStore) -> list[str]:
    """Return the ids of memories with one of the texts, such as the messages that it came from."""
    found: list[str] = []
    with suppress(InfiniteMemoryError):  # the erasure is done, also where nothing can be searched
        for text in filter(None, texts):
            words = " ".join(text.casefold().split())
            about = text[:_SEARCHED_CHARS]
            hits = store.search(about, mode="history", statuses=(), threshold=0, limit=20)
            same = (h.memory for h in hits if words in " ".join(h.memory.text.casefold().split()))
            found += [memory.id for memory in same]
    return list(dict.fromkeys(found))


def _confirm_erasing(texts: Mapping[str, str], store: MemoryStore) -> bool:
    if not is_terminal(sys.stdin):
        raise click.UsageError("--hard erases for good: give --yes, or run it on a terminal")
    for memory_id, text in texts.items():
        line = one_line(text, max_chars=_TEXT_CHARS) or "(damaged)"
        remark(f"{line}  {short_id(store, memory_id)}", style="")
    number = format_count(len(texts), "memory", "memories")
    return click.confirm(f"Erase {number} for good?", err=True)


def _forget_matching(context: click.Context, given: dict[str, Any], confirm: str | None) -> int:
    """Forget the memories of a confirmed preview; without a token, show it and ask."""
    as_json = wants_json(context)
    refusal = None
    with open_store(context) as store:
        choice = _read_choice(read_times(given, BOUNDS, store))
        if confirm is not None:
            try:
                return _report_receipt(store.bulk.forget(confirm, **choice), as_json=as_json)
            except Conflict as error:
                refusal = str(error)
        preview = store.bulk.preview_forget(**choice)
        if as_json:
            emit_json({"forgotten": 0, "refused": refusal, **preview.to_dict()})
            return ExitCode.NO if refusal is None else ExitCode.NOT_THERE
        if refusal is not None:
            remark(f"Error: {refusal}.", style="")
        _show_preview(preview, store)
        if refusal is None and preview.count and _is_agreed(preview):
            with waiting():
                forgotten = store.bulk.forget(preview.token, **choice)
            return _report_receipt(forgotten, as_json=as_json)
    remark("Nothing was forgotten.", style="")
    return ExitCode.NO if refusal is None else ExitCode.NOT_THERE


def _read_choice(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options as `Bulk.preview_forget` takes them."""
    choice = dict(given)
    if "scopes" in choice:
        choice["scope"] = list(choice.pop("scopes"))
    return choice


def _show_preview(preview: Preview, store: MemoryStore) -> None:
    emit_lines(source_line(memory, store) for memory in preview.memories)
    rest = preview.count - len(preview.memories)
    if rest:
        remark(f"and {rest:,} more", style="")
    if preview.elsewhere:
        named = ", ".join(f"{name} {count:,}" for name, count in preview.elsewhere.items())
        remark(f"Nothing matches there. Other scopes hold what does ({named}): name the scope.")
    elif not preview.count:
        remark("Nothing matches.")


def _is_agreed(preview: Preview) -> bool:
    number = format_count(preview.count, "memory", "memories")
    scopes = ", ".join(f"{name} {count:,}" for name, count in preview.by_scope.items())
    remark(f"{number} would be forgotten ({scopes}).", style="")
    if not is_terminal(sys.stdin):
        remark(f"To forget just these, add --confirm {preview.token}", style="")
        return False
    return click.confirm(f"Forget {number}?", err=True)


def _report_receipt(receipt: BulkReceipt, *, as_json: bool) -> int:
    if as_json:
        emit_json({"forgotten": len(receipt.ids), "ids": list(receipt.ids)})
    else:
        number = format_count(len(receipt.ids), "memory", "memories")
        emit_lines([Line([(f"Forgot {number}; `infinite-memory undo` brings them back.", "")])])
    return ExitCode.DONE
