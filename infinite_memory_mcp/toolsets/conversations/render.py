"""Render the memories of a conversation for an assistant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from infinite_memory.core.values.memory import shown_text
from infinite_memory.search.text.quotation import quote_label
from infinite_memory.search.text.token_estimate import estimate_tokens
from infinite_memory_mcp.budget import fit_count
from infinite_memory_mcp.excerpt import beginning_of, excerpt_lines, window_of
from infinite_memory_mcp.toolsets.conversations.phrases import Language, language_of, say
from infinite_memory_mcp.view import View

if TYPE_CHECKING:
    from infinite_memory.core.values.memory import Memory
    from infinite_memory.features.chats.log.values import Conversation, ConversationTerm
    from infinite_memory.features.chats.short_term.patterns import ConversationStats, TermStats

_HEAD_TOKENS = 300
_PART_TOKENS = 200


def render_block(
    memory: Memory, view: View, columns: Sequence[str] = (), *, words: Sequence[str] = ()
) -> str:
    """Return a memory as a header with date, id and `columns`, and its text, framed as data.

    Of a long text it is the part from the line on that has most of `words`, or else the beginning,
    with how to read on.
    """
    header = [view.format_date(memory.happened_at), f"id {view.shorten(memory.id)}", *columns]
    if memory.speaker:
        header.append(quote_label(memory.speaker))
    excerpt = beginning_of(memory)
    if excerpt.is_cut:
        excerpt = window_of(memory, _find_line(shown_text(memory), words), _PART_TOKENS)
    return "\n".join([" · ".join(header), *excerpt_lines(memory, excerpt)])


def _find_line(text: str, words: Sequence[str]) -> int:
    """Return where the line with most of `words` begins, 0 if none has any."""
    begin, best, most = 0, 0, 0
    for line in text.split("\n"):
        folded = line.casefold()
        count = sum(word.casefold() in folded for word in words)
        if count > most:
            best, most = begin, count
        begin += len(line) + 1
    return best


def fit_blocks(head: str, blocks: Sequence[str], budget: int, language: Language) -> str:
    """Return as many blocks as fit in the budget of tokens, and how many are left out."""
    count = max(
        1, fit_count([estimate_tokens(block) + 2 for block in blocks], budget - _HEAD_TOKENS)
    )
    left = len(blocks) - len(blocks[:count])
    more = [say("left_out", language, count=left)] if left else []
    return "\n\n".join([head, *blocks[:count], *more])


def render_conversations(conversations: Sequence[Conversation]) -> str:
    """Return the list of conversations, a line each."""
    language = language_of(*(conversation.heading for conversation in conversations))
    if not conversations:
        return say("no_conversations", language)
    head = say("conversations", language, count=len(conversations))
    lines = [_render_conversation(conversation, language) for conversation in conversations]
    return "\n".join([f"{head} {say('notice', language)}", *lines])


def _render_conversation(conversation: Conversation, language: Language) -> str:
    columns = [
        quote_label(conversation.id),
        quote_label(conversation.scope),
        say("message_count", language, count=conversation.messages),
        _render_term("short_term", conversation.short_term, language),
        _render_term("long_term", conversation.long_term, language),
        f"{conversation.first:%Y-%m-%d} – {conversation.last:%Y-%m-%d}",
        quote_label(conversation.heading),
    ]
    return f"- {' · '.join(filter(None, columns))}"


def _render_term(name: str, term: ConversationTerm, language: Language) -> str:
    if not term.count:
        return ""
    return say(
        "term_count",
        language,
        term=say(name, language),
        count=term.count,
        score=term.mean_score,
        updated=term.updated,
    )


def render_stats(stats: ConversationStats) -> str:
    """Return the numbers of a conversation."""
    language = language_of(stats.conversation_id)
    lines = [
        say(
            "stats",
            language,
            id=quote_label(stats.conversation_id),
            messages=stats.messages,
            trivial=stats.trivial,
        )
    ]
    if stats.speakers:
        speakers = ", ".join(f"{quote_label(n)}: {c:,}" for n, c in stats.speakers.items())
        lines.append(say("speakers_line", language, speakers=speakers))
    for name, term in (("short_term", stats.short_term), ("long_term", stats.long_term)):
        lines.append(_render_term_stats(say(name, language), term, language))
    return "\n".join(lines)


def _render_term_stats(name: str, term: TermStats, language: Language) -> str:
    if term.oldest is None or term.newest is None:
        return say("no_term", language, term=name)
    return say(
        "term_line",
        language,
        term=name,
        count=term.count,
        updated=term.updated,
        oldest=f"{term.oldest:%Y-%m-%d}",
        newest=f"{term.newest:%Y-%m-%d}",
        mean=term.mean_activation,
        least=term.least_activation,
        greatest=term.greatest_activation,
        penalty=term.mean_penalty,
    )
