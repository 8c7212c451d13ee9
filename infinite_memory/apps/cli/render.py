"""How memories, receipts and counts look: as lines for a person, as values for JSON."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

from infinite_memory.apps.cli.output import Line
from infinite_memory.core.values.fields import MEMORY_FIELDS, FieldType
from infinite_memory.core.values.memory import Memory, Status, present
from infinite_memory.core.values.messages import format_count
from infinite_memory.core.values.receipt import (
    KeyHolder,
    Outcome,
    Receipt,
    Searchable,
    Similar,
    describe_secrets,
)
from infinite_memory.core.values.timestamps import show_moment
from infinite_memory.search.text.lines import one_line

_EXCERPT_CHARS = 600
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
    """
    # Late: it loads what no other render needs.
    from infinite_memory.engine.retrieval.trust import is_waiting

    parts = [(show_moment(memory.happened_at, zone), "cyan"), (memory.scope, "magenta")]
    parts.append((str(memory.kind), ""))
    if memory.status is not Status.CURRENT:
        parts.append((str(memory.status), "red"))
    if memory.valid_to is not None:
        until = show_moment(memory.valid_to, zone)
        parts.append((f"ended {until}", "red") if ended else (f"until {until}", ""))
    if memory.important:
        parts.append(("important", "yellow"))
    if memory.is_inferred:
        parts.append(("said in a session", ""))
    if memory.is_brought_in:
        parts.append(("brought in", ""))
    if is_waiting(memory):
        parts.append(("waits in the inbox", "yellow"))
    if memory.speaker:
        parts.append((f"{memory.speaker}:", "green"))
    if memory.title:
        parts.append((memory.title, "bold"))
    if memory.tags:
        parts.append((" ".join(f"#{tag}" for tag in memory.tags), "blue"))
    return _join_pieces(parts)


def memory_lines(memory: Memory, zone: str | None) -> list[Line]:
    """Return every field of a memory, and its whole text, as `present` shows them."""
    memory = present(memory)
    lines = [Line(provenance(memory, zone)), _format_field("id", memory.id)]
    for field in _FIELDS:
        value = getattr(memory, field.name)
        if value:
            is_time = field.value_type is FieldType.TIME
            lines.append(
                _format_field(
                    field.name, show_moment(value, zone) if is_time else _format_value(value)
                )
            )
    lines += [
        _format_field(f"context.{name}", _format_value(value))
        for name, value in memory.context.items()
    ]
    stored = f"{show_moment(memory.stored_at, zone)}, revision {memory.revision}"
    return [*lines, _format_field("stored", stored), Line([("", "")]), Line([(memory.text, "")])]


def receipt_sentence(receipt: Receipt) -> str:
    """Describe the effect of a write in a sentence."""
    place = f"{receipt.id} in {receipt.scope}"
    if receipt.erased:
        erased = f"Erased {place}: {join_words(receipt.erased)}."
        return " ".join([erased, *list_hints(receipt)])
    number = f", revision {receipt.revision}" if receipt.revision > 1 else ""
    outcome = _DONE.get(receipt.outcome, str(receipt.outcome).capitalize())
    done = f"{outcome} {place}{number}: {_HOW[receipt.searchable]}."
    return " ".join([done, *list_hints(receipt)])


def list_hints(receipt: Receipt) -> Iterator[str]:
    """Yield sentences on a write that its author should know."""
    if receipt.superseded_by is not None:
        yield f"It is already superseded: {receipt.superseded_by} began later and holds now."
    if receipt.superseded:
        yield f"It supersedes {join_words(receipt.superseded)}."
    if receipt.conflicts:
        yield (
            f"It conflicts with {join_words(receipt.conflicts)}: the same key and the same"
            " beginning, but another text; both stay current until you `revise` one so that it"
            " `--supersedes` the other."
        )
    if receipt.secrets:
        yield (
            f"It holds {describe_secrets(receipt.secrets)} in clear:"
            f" `infinite-memory doctor --secrets --id {receipt.id}` masks them for good."
        )
    if receipt.masked:
        yield f"Masked: {describe_secrets(receipt.masked)}."
    for sentence in receipt.pending:
        yield f"Still to be done: {sentence}."


def similar_lines(receipt: Receipt, zone: str | None) -> Iterator[Line]:
    """Yield what a new memory probably replaces and what is similar, each with its command."""
    for old in receipt.replaces:
        yield Line([("Probably replaces:", "bold")])
        yield from _format_similar(old, zone)
        yield Line([(f"If it does: {_settle(receipt, old)}.", "dim")])
    for known in receipt.similar:
        yield Line([("Also known:", "bold")])
        yield from _format_similar(known, zone)
        yield Line([(f"If this replaces it: {_settle(receipt, known)}.", "dim")])


def _format_similar(similar: Similar, zone: str | None) -> Iterator[Line]:
    parts = [
        (f"{similar.score:.2f}", "bold"),
        (show_moment(similar.happened_at, zone), "cyan"),
        (similar.scope, "magenta"),
    ]
    if similar.key is not None:
        parts.append((f"key {similar.key}", ""))
    yield Line([*_join_pieces(parts)], 2)
    yield Line([(similar.text, "")], 4)
    yield Line([(similar.id, "dim")], 4)


def _settle(receipt: Receipt, old: Similar) -> str:
    """Return the command that says that the new memory replaces `old`."""
    if old.scope == receipt.scope:
        return f"`infinite-memory revise {receipt.id} --supersedes {old.id}`"
    return f"`infinite-memory revise {old.id} --status superseded`"


def key_lines(receipt: Receipt, zone: str | None) -> Iterator[Line]:
    """Yield the memories whose keys bear on the key of a new memory, and the way to settle them."""
    nearest = receipt.nearest_key
    if nearest is not None:
        yield Line([(f"Nearest key: {nearest.key}", "bold")])
        yield from _format_holder(nearest, receipt, zone)
        settle = f"revise {receipt.id} --key {shlex.quote(nearest.key)}"
        if nearest.scope == receipt.scope:
            settle += f" --supersedes {nearest.id}"
        yield Line([(f"If it is the same fact: `infinite-memory {settle}`.", "dim")])
    if receipt.same_key:
        number = len(receipt.same_key)
        names = list(dict.fromkeys(holder.scope for holder in receipt.same_key))
        yield Line([(f"The same key in {scope_names(names)}:", "bold")])
        for holder in receipt.same_key:
            yield from _format_holder(holder, receipt, zone)
        old_id = receipt.same_key[0].id if number == 1 else "ID"
        end = f"`infinite-memory revise {old_id} --status superseded`"
        yield Line([(f"Each holds in its scope. If one no longer holds: {end}.", "dim")])


def _format_holder(holder: KeyHolder, receipt: Receipt, zone: str | None) -> Iterator[Line]:
    """Yield the date, the text and the id of a memory, unless it is shown as similar."""
    if holder.id in {similar.id for similar in (*receipt.replaces, *receipt.similar)}:
        return
    parts = [(show_moment(holder.happened_at, zone), "cyan"), (holder.scope, "magenta")]
    yield Line([*_join_pieces(parts)], 2)
    if holder.text is not None:
        yield Line([(holder.text, "")], 4)
    yield Line([(holder.id, "dim")], 4)


def _join_pieces(parts: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [piece for part in parts for piece in (part, ("  ", ""))][:-1]


def _format_field(name: str, value: str) -> Line:
    return Line([(f"{name}: ", "dim"), (value, "")])


def _format_value(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_format_value, value))
    return value if isinstance(value, str) else _dump_json(value)


def _dump_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
