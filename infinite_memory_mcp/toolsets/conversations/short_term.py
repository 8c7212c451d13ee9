"""The tools of short-term memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from pydantic import Field

from infinite_memory.search.text.quotation import quote_label
from infinite_memory_mcp.arguments import Arguments, Tokens
from infinite_memory_mcp.budget import DEFAULT_TOKENS
from infinite_memory_mcp.data import RECEIPT, compact, object_schema, receipt_to_data
from infinite_memory_mcp.render import render_secrets
from infinite_memory_mcp.tool import Answer, tool
from infinite_memory_mcp.toolsets.conversations.arguments import (
    ATTACHMENTS,
    AnyConversationArguments,
    Attachments,
    ConversationArguments,
    Messages,
    Weights,
    contents_of,
)
from infinite_memory_mcp.toolsets.conversations.phrases import (
    Language,
    explain_errors,
    language_of,
    say,
    say_count,
)
from infinite_memory_mcp.toolsets.conversations.render import fit_blocks, render_block
from infinite_memory_mcp.view import View, view_of_ids, view_of_memories

if TYPE_CHECKING:
    from infinite_memory.features.chats.short_term.recalling import ShortTermHit, ShortTermRecall
    from infinite_memory.store.memory_store import MemoryStore

_SHOWN_KEYWORDS = 10
_SHOWN_COUNTS = 24

_MOST_QUOTED_CHARS = 200


class AddShortTermMemory(ConversationArguments):
    """The arguments of `add_short_term_memory`."""

    messages: Messages = Field(description="{role, content, timestamp?}, oldest first")
    roleWeights: Weights = Field(  # noqa: N815 - the name that callers know
        None, description='{"user": 2.7, "assistant": 2.0, "system": 1.0} if left out'
    )
    attachments: Attachments = Field(None, description=ATTACHMENTS)


class SearchShortTermMemories(ConversationArguments):
    """The arguments of `search_short_term_memories`."""

    recentMessages: Messages = Field(  # noqa: N815 - the name that callers know
        description="{role, content}, oldest first"
    )
    roleWeights: Weights = None  # noqa: N815 - the name that callers know
    seed: int | None = Field(None, description="Draws the same flashbacks again")
    max_tokens: Tokens = DEFAULT_TOKENS


class DeleteShortTermMemories(ConversationArguments):
    """The arguments of `delete_short_term_memories`."""

    pattern: str = Field(description="A word or phrase, or /regular expression/i")


class FrequentConversation(Arguments):
    """The arguments of `get_frequent_conversation`."""

    scope: str | None = None


class AnalyzeMemoryPatterns(ConversationArguments):
    """The arguments of `analyze_memory_patterns`."""

    top_keywords: int = Field(20, ge=1, le=200)


@tool("Keep for the short term", RECEIPT)
def add_short_term_memory(store: MemoryStore, arguments: AddShortTermMemory) -> Answer:
    """Keep a stretch of a conversation as a short-term memory.

    It comes up by its keywords, and fades.
    """
    language = language_of(*contents_of(arguments.messages))
    with explain_errors(language):
        receipt = store.conversations.add_short_term(
            arguments.messages,
            arguments.conversation_id,
            role_weights=arguments.roleWeights,
            scope=arguments.scope,
            attachments=arguments.attachments,
        )
    memory = store.get(receipt.id)
    keywords = list(islice(_list_keywords(memory.context), _SHOWN_KEYWORDS))
    written = _spell_in_text(keywords, memory.text)
    view = view_of_ids(store, [receipt.id])
    phrase = "added" if keywords else "no_keywords"
    if receipt.outcome == "unchanged":
        phrase = "added_before"
    text = say(
        phrase,
        language,
        id=view.shorten(receipt.id),
        keywords=_join_words(written),
    )
    text += render_secrets(receipt)
    data = {**receipt_to_data(receipt), "keywords": keywords}
    if memory.attachments:
        text += say("attached", language, ids=", ".join(memory.attachments))
        data["attachments"] = list(memory.attachments)
    return Answer(text=text, data=data)


@tool("Recall for the moment", object_schema("top", "next", "flashbacks"), reads=True)
def search_short_term_memories(store: MemoryStore, arguments: SearchShortTermMemories) -> Answer:
    """Show the short-term memories that the recent messages call to mind.

    The two most relevant, the next, and two flashbacks at random.
    """
    language = language_of(*contents_of(arguments.recentMessages))
    with explain_errors(language):
        recall = store.conversations.search_short_term(
            arguments.recentMessages,
            arguments.conversation_id,
            role_weights=arguments.roleWeights,
            scope=arguments.scope,
            seed=arguments.seed,
        )
    asked = "\n".join(map(str, contents_of(arguments.recentMessages)))
    return _render_recall(store, recall, asked, language, arguments.max_tokens)


@tool("Forget short-term memories", object_schema("forgotten"), destroys=True)
def delete_short_term_memories(store: MemoryStore, arguments: DeleteShortTermMemories) -> Answer:
    """Forget the short-term memories of a conversation that match; undo brings them back."""
    language = language_of(arguments.pattern)
    with explain_errors(language):
        receipt = store.conversations.delete_short_term(
            arguments.pattern, arguments.conversation_id, scope=arguments.scope
        )
    phrase = "deleted" if receipt.ids else "nothing_deleted"
    pattern = quote_label(arguments.pattern)
    text = say(phrase, language, count=len(receipt.ids), pattern=pattern)
    return Answer(text=text, data={"forgotten": list(receipt.ids)})


@tool(
    "Archive what has faded", object_schema("archived", "remaining"), destroys=True, repeatable=True
)
def cleanup_memories(store: MemoryStore, arguments: AnyConversationArguments) -> Answer:
    """Archive the short-term memories that have faded, as happens daily."""
    cleanup = store.conversations.clean_up(arguments.conversation_id, scope=arguments.scope)
    language = language_of(arguments.conversation_id)
    count = len(cleanup.archived)
    text = say("cleaned", language, count=count, remaining=cleanup.remaining)
    return Answer(text=text, data=cleanup.to_dict())


@tool("Name the most frequent conversation", object_schema("conversation_id"), reads=True)
def get_frequent_conversation(store: MemoryStore, arguments: FrequentConversation) -> Answer:
    """Name the conversation with the most short-term memories."""
    frequent = store.conversations.frequent_conversation(scope=arguments.scope)
    if frequent is None:
        text = say("no_frequent", Language.ENGLISH)
        return Answer(text=text, data={"conversation_id": None, "memories": 0})
    conversation_id, count = frequent
    text = say(
        "frequent", language_of(conversation_id), id=quote_label(conversation_id), count=count
    )
    return Answer(text=text, data={"conversation_id": conversation_id, "memories": count})


@tool("Show what recurs", object_schema("keywords"), reads=True)
def analyze_memory_patterns(store: MemoryStore, arguments: AnalyzeMemoryPatterns) -> Answer:
    """Show what recurs in a conversation: keywords, times, and what came up most."""
    patterns = store.conversations.analyze_patterns(
        arguments.conversation_id, scope=arguments.scope, top_keywords=arguments.top_keywords
    )
    view = view_of_memories(store, patterns.most_recalled)
    words = [keyword.word for keyword in patterns.keywords]
    language = language_of(*(memory.text for memory in patterns.most_recalled), *words)
    lines = [
        say(
            "patterns",
            language,
            id=quote_label(patterns.conversation_id),
            short_term=patterns.short_term,
            long_term=patterns.long_term,
        )
    ]
    if words:
        counted = [
            f"{quote_label(keyword.word)} ({keyword.memories})" for keyword in patterns.keywords
        ]
        lines.append(say("keywords_line", language, words=", ".join(counted)))
    for phrase, counts in (
        ("hours_line", patterns.by_hour),
        ("weekdays_line", patterns.by_weekday),
        ("months_line", patterns.by_month),
    ):
        if counts:
            lines.append(say(phrase, language, counts=say_count(counts, _SHOWN_COUNTS)))
    if patterns.most_recalled:
        lines.append(say("most_recalled", language))
        lines += [render_block(memory, view) for memory in patterns.most_recalled]
    data = patterns.to_dict()
    data["most_recalled"] = [compact(memory) for memory in patterns.most_recalled]
    return Answer(text="\n".join(lines), data=data)


def _join_words(words: Iterable[str]) -> str:
    return ", ".join(map(quote_label, words))


def _spell_in_text(keywords: Iterable[str], text: str) -> tuple[str, ...]:
    # Late, since the stemmer is loaded with it: the list of tools needs none.
    from infinite_memory.features.chats.short_term.spelling import (  # noqa: PLC0415
        spell_keywords,
    )

    return spell_keywords(keywords, text)


def _list_keywords(context: object) -> Iterator[str]:
    """Yield the keywords in the context of a short-term memory, the greatest weight first."""
    payload = context.get("short_term") if hasattr(context, "get") else None
    keywords = payload.get("keywords") if isinstance(payload, dict) else None
    yield from keywords if isinstance(keywords, dict) else ()


def _render_recall(
    store: MemoryStore, recall: ShortTermRecall, asked: str, language: Language, budget: int
) -> Answer:
    """Return what came up for the messages with the text `asked`."""
    tiers = (
        ("top", recall.top),
        ("next", recall.next),
        ("flashbacks", recall.flashbacks),
        ("others", recall.others),
    )
    hits = [(name, hit) for name, tier in tiers for hit in tier]
    view = view_of_memories(store, [hit.memory for _, hit in hits], has_times=True)
    data = {
        "notice": say("notice", Language.ENGLISH),
        **{name: [compact(hit) for hit in tier] for name, tier in tiers},
        "keywords": dict(islice(recall.keywords.items(), _SHOWN_KEYWORDS)),
        "searched": recall.searched,
        "seed": recall.seed,
    }
    if not hits:
        minutes = f"{store.config.short_term.recent_minutes:g}"
        phrase = "nothing_recalled" if recall.searched else "nothing_kept"
        text = say(phrase, language, searched=recall.searched, minutes=minutes)
        return Answer(text=text, data=data)
    written = _spell_in_text(islice(recall.keywords, _SHOWN_KEYWORDS), asked)
    keywords = _join_words(written) or "–"
    head = say(
        "recalled",
        language,
        count=len(hits),
        searched=recall.searched,
        keywords=keywords,
    )
    blocks = [_render_hit(say(name, language), hit, recall, view, language) for name, hit in hits]
    return Answer(text=fit_blocks(head, blocks, budget, language), data=data)


def _render_hit(
    tier: str, hit: ShortTermHit, recall: ShortTermRecall, view: View, language: Language
) -> str:
    columns = [tier, say("relevance", language, value=hit.relevance)]
    if hit.shared:
        written = _spell_in_text(islice(hit.shared, _SHOWN_KEYWORDS), hit.memory.text)
        columns.append(say("shared", language, words=_join_words(written)))
    # A long text has words that are none of its keywords.
    words = _spell_in_text(recall.keywords, hit.memory.text)
    return render_block(hit.memory, view, columns, words=words)


SHORT_TERM = (
    add_short_term_memory,
    search_short_term_memories,
    delete_short_term_memories,
    cleanup_memories,
    get_frequent_conversation,
    analyze_memory_patterns,
)
"""The tools of short-term memory."""
