"""Render answers as text for an assistant. Stored text is framed, so that it stays data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from attrs import evolve

from infinite_memory.core.values.criteria import Depth
from infinite_memory.core.values.hits import Explanation, Hit, Hits
from infinite_memory.core.values.memory import Kind, Memory, Status
from infinite_memory.core.values.messages import format_count
from infinite_memory.core.values.receipt import (
    Outcome,
    Receipt,
    Searchable,
    Similar,
    describe_secrets,
)
from infinite_memory.search.text.lines import one_line
from infinite_memory.search.text.quotation import NOTICE, escape_line, quote_label, quote_lines
from infinite_memory.search.text.token_estimate import estimate_tokens
from infinite_memory_mcp.budget import DEFAULT_TOKENS, fit_count
from infinite_memory_mcp.excerpt import (
    Excerpt,
    beginning_of,
    excerpt_lines,
    excerpt_of,
    window_of,
)
from infinite_memory_mcp.view import MAX_IDS, PLAIN, View

if TYPE_CHECKING:
    from infinite_memory.features.chats.log.values import LoggedMessages

# For what stands around the entries of an answer.
_HEAD_TOKENS = 500
_ENTRY_TOKENS = 100
_NEAREST_CHARS, _ARCHIVED_CHARS = 160, 600
_EXCERPTS_ONLY = "Call with ids to see memories whole. "
_OUTCOMES = {
    Outcome.STORED: "Stored",
    Outcome.REVISED: "Revised",
    Outcome.FORGOTTEN: "Forgotten; update_memory with status current brings it back",
    Outcome.ERASED: "Erased for good",
    Outcome.UNCHANGED: "Unchanged, it was so before",
    Outcome.STRENGTHENED: "It was stored a moment ago, word for word: counted, not stored again",
    Outcome.ECHO: "An echo of what was recalled a moment ago: not stored again",
}
_SEARCHABLE = {
    Searchable.MEANING: "found by meaning and by words from now on",
    Searchable.WORDS: "found by its words from now on, by meaning as soon as it is embedded",
    Searchable.NOT: "not found by a search",
}


def render_relations(hit: Hit, view: View) -> Iterator[str]:
    """Yield a line for the memories of every relation to a hit."""
    for label, ids in (
        ("the same, older", hit.twins),
        ("covers", hit.covers),
        ("outdated, since these were changed or replaced", hit.outdated),
    ):
        if ids:
            yield f"{label}: {view.join_ids(ids)}"
    if hit.not_useful_for:
        said = "; ".join(quote_label(question) for question in hit.not_useful_for)
        yield f"lower, marked as not useful for: {said}"
    if hit.corrected_by is not None:
        yield f"corrected since by id {view.shorten(hit.corrected_by)}"
    for label, others in hit.relations:
        for told in others:
            yield f"{label}, on {view.format_date(told.happened_at)}: id {view.shorten(told.id)}"
            if told.id not in view.shown:
                yield quote_lines(told.text)
    if hit.reached is not None:
        yield f"reached {hit.reached.way} from {view.shorten(hit.reached.match)}"
    for predecessor in hit.supersedes:
        until = view.format_limit(predecessor.ended_at)
        yield f"superseded, until {until}: id {view.shorten(predecessor.id)}"
        yield quote_lines(" ".join(predecessor.text.split()))


def render_explanation(explanation: Explanation) -> str:
    """Return the steps of the ranking of a hit in a line."""

    def format_rank(rank: int | None) -> str:
        return "not found" if rank is None else f"rank {rank}"

    cosine = "" if explanation.cosine is None else f", cosine {explanation.cosine:.3f}"
    steps = (
        (explanation.sentences, "its sentences one by one"),
        (explanation.speaker, "its speaker is named in the query"),
        (explanation.around, "what was said around it"),
        (explanation.quoted, "what the query quotes"),
        (explanation.is_question, "it is a question itself"),
        (explanation.important, "marked important"),
        (explanation.conversation, "its conversation"),
        (explanation.summary, "it is a summary"),
        (explanation.time, "it is of the time that the query names"),
        (explanation.scope, "the query names its scope, or it is the active one"),
        (explanation.former, "it superseded a better match, or was made from it"),
        (explanation.not_useful, "marked as not useful for such a query"),
        (explanation.later, "it was told later than a near one"),
        (explanation.linked, "links lead to it from a better match"),
    )
    contributions = "".join(f", {label} {value:+.2f}" for value, label in steps if value)
    return (
        f"why: meaning {explanation.meaning:.2f} ({format_rank(explanation.meaning_rank)}{cosine})"
        f", words {explanation.words:+.2f} ({format_rank(explanation.words_rank)},"
        f" BM25 {explanation.bm25:.2f}){contributions}"
    )


def render_receipt(receipt: Receipt, view: View = PLAIN) -> str:
    """Return a receipt as a paragraph, followed by the memories similar to the new memory."""
    columns = [f"{_OUTCOMES[receipt.outcome]}: id {view.shorten(receipt.id)}"]
    if receipt.revision > 1:
        columns.append(f"revision {receipt.revision}")
    columns += [f"scope {quote_label(receipt.scope)}", f"{_SEARCHABLE[receipt.searchable]}."]
    erased = f" Erased: {', '.join(receipt.erased)}." if receipt.erased else ""
    return (
        f"{' · '.join(columns)}{erased}{_render_hints(receipt, view)}"
        f"{_render_similar_memories(receipt, view)}"
    )


def _render_hints(receipt: Receipt, view: View) -> str:
    """Return sentences about conflicts, superseded memories and pending work."""
    hints = ""
    if receipt.superseded_by is not None:
        latest = view.shorten(receipt.superseded_by)
        hints += f" It is history already: {latest} began later and holds now."
    if receipt.superseded:
        hints += f" It supersedes {view.join_ids(receipt.superseded)}."
    if receipt.conflicts:
        hints += (
            f" It conflicts with {view.join_ids(receipt.conflicts)}, of the same key and time: ask"
            " the user which holds, and call update_memory with the id of that one and the other in"
            " supersedes."
        )
    hints += render_secrets(receipt)
    for sentence in receipt.pending:
        hints += f" Still to be done: {sentence}."
    return hints


def render_secrets(stored: Receipt | LoggedMessages) -> str:
    """Return sentences on the secrets that were kept, and those that were masked, if any."""
    kept = f" Kept in clear: {describe_secrets(stored.secrets)}; mask_secrets masks them."
    masked = f" Masked: {describe_secrets(stored.masked)}."
    return f"{kept if stored.secrets else ''}{masked if stored.masked else ''}"


def advise_on_similar(receipt: Receipt, view: View = PLAIN) -> str:
    """Return the calls that settle whether a new memory replaces the memories that are named."""
    own_id = view.shorten(receipt.id)
    sentences = []
    for old in receipt.replaces:
        call = f'update_memory(id="{own_id}", supersedes=["{view.shorten(old.id)}"])'
        sentences.append(f"It probably replaces {view.shorten(old.id)}: if it does, call {call}.")
    for known in receipt.similar:
        old_id = view.shorten(known.id)
        call = f'update_memory(id="{own_id}", supersedes=["{old_id}"])'
        if known.scope != receipt.scope:
            call = f'update_memory(id="{old_id}", status="superseded")'
        sentences.append(
            f"Also known: {old_id}. If it no longer holds because of this one, call {call}."
            " If both hold, leave it."
        )
    return " ".join(sentences)


def _render_similar_memories(receipt: Receipt, view: View) -> str:
    """Return what the new memory may replace, and what is similar, framed as data, with advice."""
    named = [*receipt.replaces, *receipt.similar]
    if not named:
        return ""
    blocks = [_render_similar(n, similar, receipt, view) for n, similar in enumerate(named, 1)]
    return "\n\n".join([f" {advise_on_similar(receipt, view)} {NOTICE}", *blocks])


def _render_similar(number: int, similar: Similar, receipt: Receipt, view: View) -> str:
    header = [view.format_date(similar.happened_at), f"id {view.shorten(similar.id)}"]
    if similar.scope != receipt.scope:
        header.append(f"scope {quote_label(similar.scope)}")
    if similar.key is not None:
        header.append(f"key {quote_label(similar.key)}")
    header.append(f"score {similar.score:.2f}")
    return f"[{number}] {' · '.join(header)}\n{quote_lines(similar.text)}"


def render_hits(
    hits: Hits,
    ordered: Sequence[Hit],
    *,
    order: str,
    pages: bool = False,
    budget: int = DEFAULT_TOKENS,
    view: View = PLAIN,
) -> str:
    """Return the result of a search, its hits in the order `ordered`, which `order` names.

    `pages` says whether the tool takes an offset. Of hits that exceed the budget of tokens the best
    are shown.
    """
    covered = hits.covered
    sizes = [
        estimate_tokens(_render_hit(1, hit, hits.depth, covered.get(hit.memory.id), view)) + 2
        for hit in hits
    ]
    count = max(1, fit_count(sizes, budget - _HEAD_TOKENS))
    best = {hit.memory.id for hit in hits[:count]}
    fitting = [hit for hit in ordered if hit.memory.id in best]
    shown = evolve(view, shown=best)
    blocks = [
        _render_hit(n, hit, hits.depth, covered.get(hit.memory.id), shown)
        for n, hit in enumerate(fitting, hits.offset + 1)
    ]
    remarks = _render_remarks(hits, pages=pages)
    if len(blocks) < len(hits):
        offset = f" with offset {hits.offset + count}" if pages else ""
        remarks = (
            f"The best of {len(hits)}: no more fit in {budget} tokens; call again"
            f"{offset}{' or' if pages else ''} with a higher max_tokens. {remarks}"
        )
    if not blocks and hits.offset and hits.matches:
        return f"Nothing follows: {hits.matches} match in all."
    if not blocks:
        advice = _advise_without_matches(hits) + _name_other_scopes(hits)
        archived = _render_archived(hits, view)
        nothing = "Nothing else" if archived else "Nothing"
        if hits.nearest:
            nearest = _render_nearest(hits, view)
            return f"{nothing} that is stored answers this. {remarks}{nearest}{archived}"
        notice = NOTICE if archived else ""
        return f"{nothing} that is stored matches. {remarks}{advice}{notice}{archived}"
    excerpt_note = "" if hits.depth is Depth.NORMAL else _EXCERPTS_ONLY
    remarks = f"{_warn_of_unlikely(hits)}{remarks}{excerpt_note}{view.remark}"
    head = f"{count_memories(len(blocks))}, {order}. {remarks}{NOTICE}"
    return "\n\n".join([head, *blocks]) + _render_archived(hits, view) + _name_other_scopes(hits)


def _render_archived(hits: Hits, view: View) -> str:
    """Return the archived memory that answers best, "" if there is none."""
    lines = [
        f"{' · '.join(_list_header_fields(hit.memory, view, ended=hit.ended))}\n"
        f"{quote_lines(one_line(hit.text, max_chars=_ARCHIVED_CHARS))}"
        for hit in hits.archived
    ]
    return "\n\n".join(["", "Archived, and likely to answer:", *lines]) if lines else ""


def _render_nearest(hits: Hits, view: View) -> str:
    """Return the matches that come nearest to a question without an answer, each as a line."""
    lines = [
        f"{' · '.join(_list_header_fields(hit.memory, view, ended=hit.ended))}\n"
        f"{quote_lines(one_line(hit.text, max_chars=_NEAREST_CHARS))}"
        for hit in hits.nearest
    ]
    head = f"{view.remark}{NOTICE} Nearest, and probably about something else:"
    return "\n".join([head, *lines]) + _name_other_scopes(hits)


def _warn_of_unlikely(hits: Hits) -> str:
    if hits.newest_conversation is not None:
        return "Nothing is likely to answer this: here is the newest conversation. "
    if hits.newest_memories:
        return "Nothing is likely to answer this: here are the newest memories, oldest first. "
    return "" if hits.likely else "None is likely to answer this; they come nearest. "


def render_page(memories: Iterable[Memory], cursor: str | None, view: View = PLAIN) -> str:
    """Return a page of memories, newest first, and how to read the next page."""
    blocks = [render_memory(n, memory, view=view) for n, memory in enumerate(memories, 1)]
    if not blocks:
        return (
            "Nothing is stored there. search_by_scope without a scope shows what exists;"
            " scope ALL sees all but private ones."
        )
    more = (
        f"More follow: call again with cursor {cursor!r}." if cursor else "These are the last ones."
    )
    head = f"{count_memories(len(blocks))}, newest first. {more} {view.remark}{NOTICE}"
    return "\n\n".join([head, *blocks])


def render_memories(
    memories: Sequence[Memory],
    *,
    budget: int = DEFAULT_TOKENS,
    offset: int = 0,
    view: View = PLAIN,
) -> str:
    """Return memories requested by their ids, whole or cut to the budget.

    The texts begin at the character `offset`.
    """
    count = min(len(memories), max(1, (budget - _HEAD_TOKENS) // (2 * _ENTRY_TOKENS)))
    share = (budget - _HEAD_TOKENS) // (count or 1) - _ENTRY_TOKENS
    excerpts = [window_of(memory, offset, share) for memory in memories[:count]]
    blocks = [
        render_memory(n, memory, excerpt, view=view)
        for n, (memory, excerpt) in enumerate(zip(memories, excerpts, strict=False), 1)
    ]
    whole = "" if any(excerpt.is_cut for excerpt in excerpts) else ", whole"
    rest = len(memories) - count
    more = "" if not rest else f" {rest} more do not fit: ask for fewer, or raise max_tokens."
    head = f"{count_memories(len(blocks))}{whole}.{more} {view.remark}{NOTICE}"
    return "\n\n".join([head, *blocks])


def format_moment(moment: datetime) -> str:
    """Return an absolute date and time in UTC, to the minute."""
    return moment.astimezone(UTC).isoformat(sep=" ")[:16] + " UTC"


def count_memories(number: int) -> str:
    """Return a number of memories in words."""
    return format_count(number, "memory", "memories")


def _render_hit(number: int, hit: Hit, depth: Depth, summary: str | None, view: View) -> str:
    """Return a hit; `summary` is the id of the summary that covers it, if any."""
    header = list(_list_header_fields(hit.memory, view, ended=hit.ended))
    if view.has_scores or hit.explanation is not None:
        header.append(f"score {hit.score:.2f}")
    if summary is not None:
        header.append(f"a source of {view.shorten(summary)}")
    lines = [f"[{number}] {' · '.join(header)}"]
    excerpt = excerpt_of(hit, depth, covered=summary is not None)
    if hit.memory.title is not None and excerpt.shown != hit.memory.title:
        lines.append(f"title: {quote_label(hit.memory.title)}")
    lines += excerpt_lines(hit.memory, excerpt)
    lines += render_relations(hit, view)
    if hit.explanation is not None:
        lines.append(render_explanation(hit.explanation))
    return "\n".join(lines)


def render_memory(
    number: int, memory: Memory, excerpt: Excerpt | None = None, *, view: View = PLAIN
) -> str:
    """Return a memory with its header; of its text the `excerpt`, by default its beginning."""
    shown = beginning_of(memory) if excerpt is None else excerpt
    lines = [f"[{number}] {' · '.join(_list_header_fields(memory, view))}"]
    if memory.title is not None:
        lines.append(f"title: {quote_label(memory.title)}")
    return "\n".join([*lines, *excerpt_lines(memory, shown)])


def seems_to_command(*texts: str | None) -> bool:
    """Return whether texts of a memory seem to command a model; see `Inbox`."""
    # Late: it loads what no list of tools needs.
    from infinite_memory.engine.retrieval.trust import is_command  # noqa: PLC0415

    return is_command("\n".join(filter(None, texts)))


def _list_header_fields(memory: Memory, view: View, *, ended: bool = False) -> Iterable[str]:
    """Yield the date and the id of a memory, and its fields that say more than their default."""
    # Late: it loads what no list of tools needs.
    from infinite_memory.engine.retrieval.trust import is_waiting  # noqa: PLC0415

    yield view.format_date(memory.happened_at)
    yield f"id {view.shorten(memory.id)}"
    if memory.scope != view.scope:
        yield f"scope {quote_label(memory.scope)}"
    if memory.speaker is not None:
        yield f"speaker {quote_label(memory.speaker)}"
    if memory.kind is not Kind.NOTE:
        yield str(memory.kind)
    marks = {
        "important": memory.important,
        "said in a session": memory.is_inferred,
        "brought in": memory.is_brought_in,
        "commands a model, waits in the inbox": is_waiting(memory),
    }
    yield from (mark for mark, holds in marks.items() if holds)
    yield from _list_validity_fields(memory, view, ended=ended)
    if memory.tags:
        yield f"tags {', '.join(quote_label(tag) for tag in memory.tags)}"
    if memory.conversation_id is not None:
        yield f"conversation {quote_label(memory.conversation_id)}"
    if memory.key is not None:
        yield f"key {quote_label(memory.key)}"
    if memory.revision > 1:
        yield f"revision {memory.revision}"


def _list_validity_fields(memory: Memory, view: View, *, ended: bool) -> Iterable[str]:
    if memory.status is not Status.CURRENT:
        yield f"status {memory.status}"
    if memory.valid_from is not None:
        yield f"valid from {view.format_limit(memory.valid_from)}"
    if memory.valid_to is not None:
        yield f"{'ended' if ended else 'valid until'} {view.format_limit(memory.valid_to)}"


def _render_remarks(hits: Hits, *, pages: bool) -> str:
    remarks = [] if hits.when is None else [f"{escape_line(hits.when.said)}."]
    if hits.time is not None:
        said = escape_line(hits.time.said)
        remarks.append(f"This time ranks higher: {said}; give when to see it alone.")
    if hits.empty_time is not None:
        others = "; these are from other times" if hits else ""
        remarks.append(f"Nothing is stored of {escape_line(hits.empty_time.said)}{others}.")
    if hits.as_of is not None:
        remarks.append(f"What held at {format_moment(hits.as_of)}, superseded since or not.")
    if hits.depth is Depth.EXHAUSTIVE:
        remarks.append(f"{hits.matches} match in all.")
    if hits.is_cut:
        how = "retrieve_memory with threshold 0 shows them"
        less = "more match less well" if hits else "match, none well enough"
        remarks.append(f"{hits.more} {less}: {how}.")
    elif hits.more:
        # Inherited memories that come last have no further page.
        offset = f", or give offset {hits.next}" if pages and hits.next is not None else ""
        remarks.append(f"{hits.more} more match: raise limit to see them{offset}.")
    if hits.below:
        remarks.append(f"{count_memories(hits.below)} scored below the threshold.")
    if hits.pending:
        verb = "is" if hits.pending == 1 else "are"
        remarks.append(f"{hits.pending:,} {verb} not embedded yet, and compared by words alone.")
    if hits.note:
        note = escape_line(hits.note)
        remarks.append(f"{note[:1].upper()}{note[1:]}.")
    return "".join(f"{remark} " for remark in remarks)


def _name_other_scopes(hits: Hits) -> str:
    """Return the last line: how many memories in which other scopes may answer too."""
    if not hits.elsewhere:
        return ""
    names = list(hits.elsewhere)
    counts = ", ".join(
        f"{hits.elsewhere[name]} in {quote_label(name, always=True)}" for name in names[:MAX_IDS]
    )
    more = f" and {len(names) - MAX_IDS} more scopes" if len(names) > MAX_IDS else ""
    return f"\n\nNot searched, and may answer: {counts}{more}; give scope, or scope ALL."


def _advise_without_matches(hits: Hits) -> str:
    if hits.scopes is None:
        return "Try other words."
    scopes = ", ".join(quote_label(scope) for scope in hits.scopes) or "a scope that is empty yet"
    return f"Searched: {scopes}. Try other words, another scope, or scope ALL."
