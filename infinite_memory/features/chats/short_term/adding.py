"""Add a short-term memory: a stretch of a conversation, with its keywords."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain

from attrs import field, frozen

from infinite_memory.core.config import ShortTerm
from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.protocols import Segmenter
from infinite_memory.core.values.conversation.message import (
    ChatMessage,
    check_conversation_id,
    check_messages,
    render_messages,
)
from infinite_memory.core.values.draft import Draft
from infinite_memory.core.values.memory import Memory, Origin
from infinite_memory.core.values.receipt import Outcome, Receipt, Searchable
from infinite_memory.core.values.scope import fold_name
from infinite_memory.engine.load_memories import get_record
from infinite_memory.engine.scopes import choose_scope, read_scope_name
from infinite_memory.engine.services import Services
from infinite_memory.engine.trivial import is_trivial
from infinite_memory.engine.writes.receipts import has_vectors, receipt_of
from infinite_memory.engine.writes.remember import remember
from infinite_memory.engine.writes.validation import guard_messages
from infinite_memory.features.attachments.attaching import attach_after, prepare_attachments
from infinite_memory.features.chats.log.writing import load_last
from infinite_memory.features.chats.short_term.entry import (
    KIND,
    ShortTermEntry,
    entries_of,
    short_term_context,
)
from infinite_memory.search.text.segmenter import WordSegmenter

_DIGITS = 4
# The same messages again within the hour are a call that was repeated.
_REPEATED = timedelta(hours=1)
_MOST_WEIGHT = 1000.0
_MOST_SOURCES = 256


def add_short_term(
    services: Services,
    messages: object,
    conversation_id: str,
    *,
    role_weights: Mapping[str, float] | None,
    scope: str | None,
    attachments: object = None,
) -> Receipt:
    """Store messages as a short-term memory; see `Conversations.add_short_term`."""
    files = prepare_attachments(services, attachments)
    conversation_id = check_conversation_id(conversation_id)
    checked = check_recent(services, messages, "messages")
    role_weights = check_role_weights(role_weights)
    entries = _load_entries(services, conversation_id, scope)
    here = choose_scope(scope, services, conversation_id)
    checked, found = guard_messages(services, checked, here)
    text = render_messages(checked)
    now = services.clock()
    same = [
        entry.memory
        for entry in entries
        if entry.memory.text == text and fold_name(entry.memory.scope) == fold_name(here)
    ]
    known = _find_known(same, checked[-1].said_at, now)
    if known is not None:
        is_embedded = has_vectors(services, get_record(services, known.id))
        searchable = Searchable.MEANING if is_embedded else Searchable.WORDS
        receipt = receipt_of(known, Outcome.UNCHANGED, searchable)
        return attach_after(services, receipt, files)
    keywords = keywords_now(services, checked, entries, role_weights)
    draft = Draft(
        text=text,
        kind=KIND,
        scope=scope,
        origin=Origin.TOOL,
        conversation_id=conversation_id,
        sources=_find_logged(services, checked, conversation_id, scope),
        happened_at=checked[-1].said_at or now,
        context=short_term_context(keywords),
    )
    receipt = remember(services, draft, similar=False)
    return attach_after(services, found.tell(receipt) if found.masked else receipt, files)


def _find_logged(
    services: Services, messages: Sequence[ChatMessage], conversation_id: str, scope: str | None
) -> list[str]:
    """Return the ids of the messages in the log that are quoted: to erase one erases the quote.

    Of equal messages it is the latest; one that says nothing is no source.
    """
    name = choose_scope(scope, services, conversation_id)
    telling = [message for message in messages if not is_trivial(message.content)]
    latest = {
        (memory.speaker, memory.text): memory.id
        for memory in load_last(services, name, conversation_id, telling)
        if memory.is_indexed
    }
    quoted = dict.fromkeys((message.speaker, message.content) for message in messages)
    return [latest[pair] for pair in quoted if pair in latest][-_MOST_SOURCES:]


def _find_known(same: Sequence[Memory], said_at: datetime | None, now: datetime) -> Memory | None:
    """Return the memory that a repeated call has stored before, None if the messages are new.

    `same` are the memories with these messages, oldest first. Messages with a time are known by it;
    without, they were said again unless they were stored within the hour.
    """
    if said_at is not None:
        return next((memory for memory in same if memory.happened_at == said_at), None)
    recent = (memory for memory in reversed(same) if now - memory.stored_at <= _REPEATED)
    return next(recent, None)


def keywords_now(
    services: Services,
    messages: Sequence[ChatMessage],
    entries: Sequence[ShortTermEntry],
    role_weights: Mapping[str, float] | None,
) -> dict[str, float]:
    """Return the keywords of messages, by the document frequencies of the conversation's memories.

    A word counts in a memory that has it as a keyword.
    """
    frequencies = DocumentFrequencies.of(entry.keywords for entry in entries)
    segmenter = services.segmenter or WordSegmenter()
    return find_keywords(messages, segmenter, frequencies, services.config.short_term, role_weights)


def check_recent(services: Services, messages: object, name: str) -> tuple[ChatMessage, ...]:
    """Return the messages of a caller, of which there is at least one.

    Raises:
        InvalidInput: there is none, or a message cannot be used.
    """
    config = services.config
    checked = check_messages(
        messages, name, max_bytes=config.limits.max_text_bytes, zone=config.time_zone
    )
    if not checked:
        raise InvalidInput(f"{name} is empty: give at least one message with role and content")
    return checked


def check_role_weights(weights: object) -> dict[str, float]:
    """Return the weights of roles, {} for None.

    Raises:
        InvalidInput: it is no mapping of roles to numbers from 0 to 1000.
    """
    if weights is None:
        return {}
    if not isinstance(weights, Mapping):
        raise InvalidInput(
            'roleWeights is an object such as {"user": 2.7, "assistant": 2.0}, not'
            f" {weights!r:.100}"
        )
    checked: dict[str, float] = {}
    for role, weight in weights.items():
        is_number = isinstance(weight, int | float) and not isinstance(weight, bool)
        if not is_number or not 0 <= weight <= _MOST_WEIGHT:
            raise InvalidInput(
                f"the weight of the role {role!r:.60} is a number from 0 to {_MOST_WEIGHT:g}, not"
                f" {weight!r:.60}"
            )
        checked[str(role).lower()] = float(weight)
    return checked


def _load_entries(
    services: Services, conversation_id: str, scope: str | None
) -> list[ShortTermEntry]:
    """Return the memories of the conversation; none in a scope that the write will create."""
    scopes = services.storage.scopes()
    if scope is not None and read_scope_name(scope, scopes, services) not in scopes:
        return []
    return entries_of(services, conversation_id, scope)


@frozen(kw_only=True)
class DocumentFrequencies:
    """In how many memories of a conversation each word is a keyword, of `memories` in all."""

    memories: int = 0
    counts: Mapping[str, int] = field(factory=dict)

    @classmethod
    def of(cls, keywords: Iterable[Iterable[str]]) -> DocumentFrequencies:
        """Count the words of memories, given the keywords of each."""
        distinct = list(map(set, keywords))
        return cls(memories=len(distinct), counts=Counter(chain.from_iterable(distinct)))

    def inverse(self, word: str, prior: int) -> float:
        """Return ln((memories + prior) / (memories with the word + 1)).

        It is the inverse document frequency, as if the conversation had begun with `prior` memories
        without the word, so that the words of a first message already have weights.
        """
        return math.log((self.memories + prior) / (self.counts.get(word, 0) + 1))


def find_keywords(
    messages: Sequence[ChatMessage],
    segmenter: Segmenter,
    frequencies: DocumentFrequencies,
    constants: ShortTerm,
    role_weights: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """Return the keywords of messages with their weights, the greatest weight first.

    The weight of a word is the sum over all messages of

        keyword_factor · tf · idf · weight of the role,

    where tf is the share of the word in the words of the message, and at least 1 of `counted_words`
    words, and idf is `DocumentFrequencies.inverse`. The words are those of `segmenter`, without
    stop words. Messages that say nothing, such as "ok", have no keywords. Of all words of at least
    `least_weight`, `most_keywords` are kept; of equal weights the word with the greater share, then
    the word that comes first by code point. Weights are rounded to four decimals. `role_weights`
    replace those of the constants for the roles that they name.

    TF-IDF times 5, the weights of the roles, the number of keywords and the least weight are those
    of memory-mcp-server (https://github.com/win10ogod/memory-mcp-server), whose idf is the table of
    jieba; the least share, which keeps the keywords of a long message, is ours.
    """
    by_role = {**constants.role_weights, **(role_weights or {})}
    least_share = 1 / constants.counted_words
    weights: dict[str, float] = {}
    shares: dict[str, float] = {}
    for message in messages:
        if is_trivial(message.content):
            continue
        words = segmenter.segment(message.content)
        scale = constants.keyword_factor * by_role.get(message.role, 1.0)
        for word, count in Counter(words).items():
            share = count / len(words)
            idf = frequencies.inverse(word, constants.prior_memories)
            weights[word] = weights.get(word, 0.0) + scale * max(share, least_share) * idf
            shares[word] = shares.get(word, 0.0) + share
    rounded = {word: round(weight, _DIGITS) for word, weight in weights.items()}
    kept = [(word, w) for word, w in rounded.items() if w >= constants.least_weight]
    kept.sort(key=lambda pair: (-pair[1], -shares[pair[0]], pair[0]))
    return dict(kept[: constants.most_keywords])
