"""Search the memories of a conversation, of both terms, by keywords, dates and activation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TypedDict

from attrs import evolve, field, frozen

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.checks import check_choice, check_count, check_labels
from infinite_memory.core.values.conversation.message import check_conversation_id
from infinite_memory.core.values.criteria import Order, Term
from infinite_memory.core.values.memory import FoundMemory, Kind, Memory
from infinite_memory.core.values.timestamps import TimeLike
from infinite_memory.engine.services import Services
from infinite_memory.features.attachments.similarity import compare_all
from infinite_memory.features.chats.log.reading import follow_conversation
from infinite_memory.features.chats.short_term.entry import entries_of
from infinite_memory.features.chats.text_pattern import contains_phrase
from infinite_memory.search.text.segmenter import WordSegmenter

_NAME_WEIGHT = 2.0
_SIMILARITY_WEIGHT = 10.0


class SearchOptions(TypedDict, total=False):
    """The fields of `MemorySearch`, as keywords."""

    keywords: Sequence[str]
    query: str | None
    date_from: TimeLike | None
    date_to: TimeLike | None
    min_score: float | None
    max_score: float | None
    term: str
    sort_by: str
    ascending: bool
    limit: int
    embedding: Iterable[float] | None
    model: str | None


@frozen(kw_only=True)
class MemorySearch:
    """What to search for in a conversation, as a caller gives it.

    A memory matches if it contains any of `keywords`, or any word of `query` where no keywords are
    given, and happened in [date_from, date_to), and its activation is in [min_score, max_score].
    With an `embedding` by a `model`, a memory matches as well that has an attachment whose
    embedding has a positive cosine with it.
    """

    keywords: Sequence[str] = ()
    query: str | None = None
    date_from: TimeLike | None = None
    date_to: TimeLike | None = None
    min_score: float | None = None
    max_score: float | None = None
    term: str = Term.BOTH
    sort_by: str = Order.RELEVANCE
    ascending: bool = False
    limit: int = 20
    embedding: Iterable[float] | None = None
    model: str | None = None


@frozen(kw_only=True)
class ConversationHit(FoundMemory):
    """A memory of a conversation that was found.

    `relevance` is the sum over the keywords that it contains: of the weight of the keyword in a
    short-term memory, or else 1; 2 in the name of a long-term memory. It grows by ten times the
    `similarity`, the greatest cosine of an attachment of the memory with the embedding in question,
    None without one. `score` is the activation of the memory.
    """

    memory: Memory
    term: Term
    relevance: float
    score: float
    matched: tuple[str, ...] = field(factory=tuple)
    similarity: float | None = None


def search_memories(
    services: Services, conversation_id: str | None, search: MemorySearch, *, scope: str | None
) -> tuple[ConversationHit, ...]:
    """Return memories of a conversation, or of all; see `Conversations.search`."""
    if conversation_id is not None:
        conversation_id = check_conversation_id(conversation_id)
    term = check_choice(search.term, Term, "memory_type")
    order = check_choice(search.sort_by, Order, "sort_by")
    check_count(search.limit, "limit", low=1, high=1000)
    for name in ("min_score", "max_score"):
        _check_score(getattr(search, name), name)
    since, until = _read_dates(services, search)
    keywords = _read_keywords(services, search)
    segmenter = services.segmenter or WordSegmenter()
    forms = {keyword: frozenset(segmenter.segment(keyword)) for keyword in keywords}
    memories = list(_load_term(services, conversation_id, scope, term))
    usage = services.followers.usage.read([memory.id for memory, _ in memories])
    hits = [
        _make_hit(memory, weights, forms, usage[memory.id].activation if memory.id in usage else 0)
        for memory, weights in memories
        if (since is None or memory.happened_at >= since)
        and (until is None or memory.happened_at < until)
    ]
    hits = _add_similarity(services, hits, search)
    is_open = not keywords and search.embedding is None
    hits = [hit for hit in hits if (is_open or _matches_question(hit)) and _has_score(hit, search)]
    hits.sort(key=lambda hit: _make_sort_key(hit, order), reverse=not search.ascending)
    found = tuple(hits[: search.limit])
    services.note_returned([hit.memory for hit in found], is_recall=True)
    return found


def _add_similarity(
    services: Services, hits: list[ConversationHit], search: MemorySearch
) -> list[ConversationHit]:
    """Return the hits with the similarity of their attachments to the embedding in question."""
    if search.embedding is None:
        return hits
    cosines = compare_all(services, search.embedding, search.model)
    similar = []
    for hit in hits:
        of_hit = [cosines[name] for name in hit.memory.attachments if name in cosines]
        similarity = round(max(of_hit), 6) if of_hit else None
        relevance = hit.relevance + _SIMILARITY_WEIGHT * max(similarity or 0.0, 0.0)
        similar.append(evolve(hit, similarity=similarity, relevance=round(relevance, 4)))
    return similar


def _matches_question(hit: ConversationHit) -> bool:
    return bool(hit.matched) or (hit.similarity is not None and hit.similarity > 0)


def _read_keywords(services: Services, search: MemorySearch) -> tuple[str, ...]:
    if search.keywords:
        return check_labels(search.keywords, "keywords")
    if search.query is None:
        return ()
    if not isinstance(search.query, str):
        raise InvalidInput(f"query {search.query!r:.100} cannot be used: give a text")
    if not search.query.strip():
        return ()
    segmenter = services.segmenter or WordSegmenter()
    return tuple(dict.fromkeys(segmenter.segment(search.query))) or (search.query.strip(),)


def _load_term(
    services: Services, conversation_id: str | None, scope: str | None, term: Term
) -> Iterator[tuple[Memory, Mapping[str, float]]]:
    """Yield the memories of the term, with the weights of their keywords."""
    if term is not Term.LONG_TERM:
        for entry in entries_of(services, conversation_id, scope):
            yield entry.memory, entry.keywords
    if term is not Term.SHORT_TERM:
        for memory in follow_conversation(
            services, conversation_id, scope, Kind.REMINDER, lambda memory: memory
        ):
            yield memory, {}


def _check_score(value: object, name: str) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is not None and (not is_number or value != value):
        raise InvalidInput(f"{name} {value!r:.100} cannot be used: give a number, such as 5")


def _read_dates(
    services: Services, search: MemorySearch
) -> tuple[datetime | None, datetime | None]:
    start, end = search.date_from, search.date_to
    since = None if start is None else services.read_time(start, "date_from")
    until = None if end is None else services.read_time(end, "date_to")
    if since is not None and until is not None and since >= until:
        raise InvalidInput(
            f"date_from {since.isoformat()} is not before date_to {until.isoformat()}"
        )
    return since, until


def _make_hit(
    memory: Memory,
    weights: Mapping[str, float],
    keywords: Mapping[str, frozenset[str]],
    activation: float,
) -> ConversationHit:
    """Return a memory with the keywords that it has; `keywords` have the forms of each."""
    is_long_term = memory.kind is Kind.REMINDER
    relevance, matched = 0.0, []
    for keyword, forms in keywords.items():
        weight = max((weights[form] for form in forms if form in weights), default=0.0)
        in_name = is_long_term and contains_phrase(memory.title or "", keyword)
        if weight or in_name or contains_phrase(memory.text, keyword):
            matched.append(keyword)
            relevance += _NAME_WEIGHT if in_name else weight or 1.0
    return ConversationHit(
        memory=memory,
        term=Term.LONG_TERM if is_long_term else Term.SHORT_TERM,
        relevance=round(relevance, 4),
        score=activation,
        matched=tuple(matched),
    )


def _has_score(hit: ConversationHit, search: MemorySearch) -> bool:
    is_enough = search.min_score is None or hit.score >= search.min_score
    return is_enough and (search.max_score is None or hit.score <= search.max_score)


def _make_sort_key(hit: ConversationHit, order: Order) -> tuple[float, float, str]:
    moment = hit.memory.happened_at.timestamp()
    value = {Order.RELEVANCE: hit.relevance, Order.SCORE: hit.score, Order.TIME: moment}[order]
    return value, moment, hit.memory.id
