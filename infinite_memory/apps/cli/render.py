"""How memories, receipts and counts look: as lines for a person, as values for JSON."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING

from infinite_memory.apps.cli.output import Line
from infinite_memory.core.clock import system_clock
from infinite_memory.core.errors import InfiniteMemoryError
from infinite_memory.core.values.fields import MEMORY_FIELDS, FieldType
from infinite_memory.core.values.memory import GLOBAL, Kind, Memory, Status, present, shown_text
from infinite_memory.core.values.messages import format_count
from infinite_memory.core.values.receipt import (
    KeyHolder,
    Outcome,
    Receipt,
    Searchable,
    Similar,
    describe_secrets,
)
from infinite_memory.core.values.timestamps import in_zone
from infinite_memory.search.text.lines import one_line

if TYPE_CHECKING:
    from infinite_memory.store.memory_store import MemoryStore

_EXCERPT_CHARS = 600
_QUOTED_CHARS, _MOST_QUOTED, _SCOPE_CHARS = 60, 3, 16
# An id that the store made, see `core.values.ids`.
_MADE_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|import:[0-9a-f]{32}")
_WORD = re.compile(r"\w+")
# A moment in a sentence of the library.
_MOMENT = re.compile(
    r"(?<![\w-])\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d(?::\d\d)?)",
    re.ASCII,
)
# What `memory_lines` shows in the first line, in lines of their own form, or at the end.
_SHOWN_APART = {
    *("id", "text", "kind", "title", "scope", "tags", "context", "speaker", "status", "important"),
    *("happened_at", "stored_at", "revision"),
}
_FIELDS = [field for field in MEMORY_FIELDS if field.name not in _SHOWN_APART]
_HOW = {
    Searchable.MEANING: "found by meaning and by words",
    Searchable.WORDS: "found by words; by meaning once it is embedded",
    Searchable.NOT: "not found by a search",
}

_DONE = {
    Outcome.STRENGTHENED: "It was stored a moment ago and counts once more,",
    Outcome.ECHO: "It was stored and recalled a moment ago and is not stored again,",
}
_SINGULARS = {
    "embeddings": "embedding",
    "entries": "entry",
    "erased": "erased memory",
    "indexed": "indexed memory",
    "links": "link",
    "memories": "memory",
    "pages": "page",
    "revisions": "revision",
    "scopes": "scope",
    "usage": "record of usage",
    "access_keys": "access key",
}
_PLURALS = {
    "erased": "erased memories",
    "indexed": "indexed memories",
    "usage": "records of usage",
    "access_keys": "access keys",
}


def format_counts(counts: Mapping[str, int]) -> str:
    """Return counts by plural noun in a list: "1 memory, 2 links"."""
    return ", ".join(
        format_count(number, _SINGULARS.get(noun, noun), _PLURALS.get(noun, noun))
        for noun, number in sorted(counts.items())
    )


def join_words(parts: Sequence[str]) -> str:
    """Return parts as a list in a sentence: "a, b and c"."""
    return ", ".join(parts[:-1]) + " and " + parts[-1] if len(parts) > 1 else "".join(parts)


def scope_names(names: Sequence[str]) -> str:
    """Return names of scopes in a sentence: "the scope 'work'", "the scopes 'home' and 'work'"."""
    shown = join_words([f"'{one_line(name, max_chars=128)}'" for name in names])
    return f"the scope {shown}" if len(names) == 1 else f"the scopes {shown}"


def excerpt(text: str, passage: tuple[int, int] | None = None) -> tuple[str, bool]:
    """Return a short text whole, a long text cut to `passage` or its beginning; and whether cut."""
    if len(text) <= _EXCERPT_CHARS:
        return text, False
    start, end = passage or (0, len(text))
    end = min(end, start + _EXCERPT_CHARS)
    part = text[start:end].strip()
    return f"{'…' if start else ''}{part}{'…' if end < len(text) else ''}", True


def provenance(memory: Memory, zone: str | None, *, ended: bool = False) -> list[tuple[str, str]]:
    """Return when a memory happened, its scope, kind, speaker, title and tags, as parts of a line.

    Also its status unless it is current, and its end if it has any; `ended` says that it is over.
    The scope Global, and the kind of a note, go without saying.
    """
    parts = source_parts(memory.happened_at, memory.scope, zone)
    if memory.kind is not Kind.NOTE:
        parts.append((str(memory.kind), ""))
    parts += _list_states(memory, zone, ended=ended)
    if memory.speaker:
        parts.append((f"{memory.speaker}:", "green"))
    if memory.title:
        parts.append((memory.title, "bold"))
    if memory.tags:
        parts.append((" ".join(f"#{tag}" for tag in memory.tags), "blue"))
    return parts


def _list_states(memory: Memory, zone: str | None, *, ended: bool) -> Iterator[tuple[str, str]]:
    # Late: it loads what no other render needs.
    from infinite_memory.engine.retrieval.trust import is_waiting

    if memory.status is not Status.CURRENT and not (ended and memory.status is Status.SUPERSEDED):
        yield str(memory.status), "red"
    if memory.valid_to is not None:
        until = show_day(memory.valid_to, zone)
        yield (f"ended {until}", "red") if ended else (f"until {until}", "")
    if memory.important:
        yield "important", "yellow"
    if memory.is_inferred:
        yield "said in a session", ""
    if memory.is_brought_in:
        yield "brought in", ""
    if is_waiting(memory):
        yield "waits in the inbox", "yellow"


def memory_lines(memory: Memory, zone: str | None) -> list[Line]:
    """Return every field of a memory, and its whole text, as `present` shows them."""
    memory = present(memory)
    lines = [Line(join_pieces(provenance(memory, zone))), _format_field("id", memory.id)]
    for field in _FIELDS:
        value = getattr(memory, field.name)
        if value:
            is_time = field.value_type is FieldType.TIME
            lines.append(
                _format_field(
                    field.name, show_time(value, zone) if is_time else _format_value(value)
                )
            )
    lines += [
        _format_field(f"context.{name}", _format_value(value))
        for name, value in memory.context.items()
    ]
    lines.append(_format_field("happened", show_time(memory.happened_at, zone)))
    stored = f"{show_time(memory.stored_at, zone)}, revision {memory.revision}"
    return [*lines, _format_field("stored", stored), Line([("", "")]), Line([(memory.text, "")])]


def shorten_ids(store: MemoryStore, ids: Iterable[str]) -> dict[str, str]:
    """Return for each id the shortest ending that a command takes for it.

    An id that the user chose stands for itself.
    """
    ids = list(ids)
    made = store.ids.shorten([memory_id for memory_id in ids if _MADE_ID.fullmatch(memory_id)])
    return {memory_id: made.get(memory_id, memory_id) for memory_id in ids}


def short_id(store: MemoryStore, memory_id: str) -> str:
    """Return the shortest ending that a command takes for an id."""
    return shorten_ids(store, [memory_id])[memory_id]


def source_line(memory: Memory, store: MemoryStore) -> Line:
    """Return a memory as one line: its text, where it comes from, and its short id."""
    source = provenance(memory, store.config.time_zone, ended=memory.ended_by(system_clock()))
    text = one_line(shown_text(memory), max_chars=_EXCERPT_CHARS)
    return Line([(text, "")], 0, join_pieces([*source, (short_id(store, memory.id), "dim")]))


def quote_memories(store: MemoryStore, ids: Sequence[str]) -> str:
    """Return memories in a sentence, each as its first words and its id."""
    shown, texts = shorten_ids(store, ids), dict[str, str]()
    for memory_id in ids[:_MOST_QUOTED]:
        # The write is done: what cannot be read meanwhile is named by its id alone.
        with suppress(InfiniteMemoryError):
            texts[memory_id] = one_line(store.get(memory_id).text, max_chars=_QUOTED_CHARS)
    return join_words([f'"{texts[i]}" ({shown[i]})' if i in texts else shown[i] for i in ids])


def receipt_sentence(receipt: Receipt, store: MemoryStore) -> str:
    """Describe the effect of a write in a sentence."""
    place = f"{short_id(store, receipt.id)} in {receipt.scope}"
    if receipt.erased:
        erased = f"Erased {place}: {join_words(receipt.erased)}."
        return " ".join([erased, *_list_hints(receipt, store)])
    number = f", revision {receipt.revision}" if receipt.revision > 1 else ""
    outcome = _DONE.get(receipt.outcome, str(receipt.outcome).capitalize())
    done = f"{outcome} {place}{number}: {_HOW[receipt.searchable]}."
    return " ".join([done, *_list_hints(receipt, store)])


def _list_hints(receipt: Receipt, store: MemoryStore) -> Iterator[str]:
    """Yield sentences on a write that its author should know."""
    if receipt.superseded_by is not None:
        newer = quote_memories(store, [receipt.superseded_by])
        yield f"It is already superseded: {newer} began later and holds now."
    if receipt.superseded:
        yield f"It supersedes {quote_memories(store, receipt.superseded)}."
    if receipt.conflicts:
        yield (
            f"It conflicts with {quote_memories(store, receipt.conflicts)}: the same key and the"
            " same beginning, but another text; both stay current until you `revise` one so that it"
            " `--supersedes` the other."
        )
    if receipt.secrets:
        yield (
            f"It holds {describe_secrets(receipt.secrets)} in clear:"
            f" `infinite-memory doctor --secrets --id {short_id(store, receipt.id)}` masks them for"
            " good."
        )
    if receipt.masked:
        yield f"Masked: {describe_secrets(receipt.masked)}."
    for sentence in receipt.pending:
        yield f"Still to be done: {sentence}."


def similar_lines(receipt: Receipt, store: MemoryStore) -> Iterator[Line]:
    """Yield what a new memory probably replaces and what is similar, each with its command."""
    pairs = [(old, "Probably replaces: ", "If it does") for old in receipt.replaces]
    pairs += [(known, "Also known: ", "If this replaces it") for known in receipt.similar]
    shown = shorten_ids(store, [receipt.id, *(similar.id for similar, _, _ in pairs)])
    for similar, label, condition in pairs:
        details = source_parts(similar.happened_at, similar.scope, store.config.time_zone)
        key = [] if similar.key is None else [(f"key {similar.key}", "")]
        text = one_line(similar.text, max_chars=_EXCERPT_CHARS)
        details = join_pieces([*details, *key, (shown[similar.id], "dim")])
        hint = f"{condition}: {_settle(receipt, similar, shown)}."
        if _is_part(store, receipt.id, similar.id):
            label, hint = "Also known: ", "These words stand there already."
        yield Line([(label, "bold"), (text, "")], 0, details)
        yield Line([(hint, "dim")], 2)


def _is_part(store: MemoryStore, part: str, whole: str) -> bool:
    """Return whether the words of a memory stand in their order in another."""
    with suppress(InfiniteMemoryError):  # the write is done
        texts = (store.get(memory_id).text.casefold() for memory_id in (part, whole))
        first, second = (f" {' '.join(_WORD.findall(text))} " for text in texts)
        return first in second
    return False


def _settle(receipt: Receipt, old: Similar, shown: Mapping[str, str]) -> str:
    """Return the command that says that the new memory replaces `old`."""
    if old.scope == receipt.scope:
        return f"`infinite-memory revise {shown[receipt.id]} --supersedes {shown[old.id]}`"
    return f"`infinite-memory revise {shown[old.id]} --status superseded`"


def key_lines(receipt: Receipt, store: MemoryStore) -> Iterator[Line]:
    """Yield the memories whose keys bear on the key of a new memory, and the way to settle them."""
    nearest = receipt.nearest_key
    holders = [*receipt.same_key, *([nearest] if nearest is not None else [])]
    shown = shorten_ids(store, [receipt.id, *(holder.id for holder in holders)])
    zone = store.config.time_zone
    if nearest is not None:
        yield Line([(f"Nearest key: {nearest.key}", "bold")])
        yield from _format_holder(nearest, receipt, zone, shown)
        settle = f"revise {shown[receipt.id]} --key {shlex.quote(nearest.key)}"
        if nearest.scope == receipt.scope:
            settle += f" --supersedes {shown[nearest.id]}"
        yield Line([(f"If it is the same fact: `infinite-memory {settle}`.", "dim")])
    if receipt.same_key:
        number = len(receipt.same_key)
        names = list(dict.fromkeys(holder.scope for holder in receipt.same_key))
        yield Line([(f"The same key in {scope_names(names)}:", "bold")])
        for holder in receipt.same_key:
            yield from _format_holder(holder, receipt, zone, shown)
        old_id = shown[receipt.same_key[0].id] if number == 1 else "ID"
        end = f"`infinite-memory revise {old_id} --status superseded`"
        yield Line([(f"Each holds in its scope. If one no longer holds: {end}.", "dim")])


def _format_holder(
    holder: KeyHolder, receipt: Receipt, zone: str | None, shown: Mapping[str, str]
) -> Iterator[Line]:
    """Yield the text, the date and the id of a memory, unless it is shown as similar."""
    if holder.id in {similar.id for similar in (*receipt.replaces, *receipt.similar)}:
        return
    details = [*source_parts(holder.happened_at, holder.scope, zone), (shown[holder.id], "dim")]
    text = one_line(holder.text or "", max_chars=_EXCERPT_CHARS)
    yield Line([(text, "")], 2, join_pieces(details))


def show_time(moment: datetime, zone: str | None) -> str:
    """Return a moment to the minute in a time zone."""
    return in_zone(moment, zone).replace(tzinfo=None).isoformat(" ", "minutes")


def show_times(sentence: str, zone: str | None) -> str:
    """Return a sentence of the library with its moments as `show_time` writes them."""

    def show(match: re.Match[str]) -> str:
        with suppress(ValueError, OverflowError):  # a name may look like a moment and be none
            return show_time(datetime.fromisoformat(match[0]), zone)
        return match[0]

    return _MOMENT.sub(show, sentence)


def show_day(moment: datetime, zone: str | None) -> str:
    """Return the day of a moment in a time zone, with its time of day if it is today."""
    local, today = in_zone(moment, zone), in_zone(system_clock(), zone)
    if local.date() == today.date():
        return f"today {local:%H:%M}"
    return local.date().isoformat()


def source_parts(moment: datetime, scope: str, zone: str | None) -> list[tuple[str, str]]:
    """Return the day and the scope of a memory as parts of a line, without the scope Global."""
    return [(show_day(moment, zone), "cyan"), *scope_parts(scope)]


def scope_parts(scope: str) -> list[tuple[str, str]]:
    """Return the scope of a memory as parts of a line, none for Global."""
    return [] if scope == GLOBAL else [(one_line(scope, max_chars=_SCOPE_CHARS), "magenta")]


def join_pieces(parts: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return parts of a line with two spaces between them."""
    return [piece for part in parts for piece in (part, ("  ", ""))][:-1]


def _format_field(name: str, value: str) -> Line:
    return Line([(f"{name}: ", "dim"), (value, "")])


def _format_value(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_format_value, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
