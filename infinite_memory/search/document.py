"""The index document of a memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import date
from functools import lru_cache
from hashlib import blake2b

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from infinite_memory.core.values.codec import to_micros
from infinite_memory.core.values.conversation.attachment import attachment_of
from infinite_memory.core.values.memory import (
    JsonValue,
    Kind,
    Memory,
    Origin,
    Status,
    without_feedback,
)
from infinite_memory.core.values.record import Record
from infinite_memory.core.values.scope import fold_name
from infinite_memory.search.text.analyzer import terms
from infinite_memory.search.text.canonical import canonicalize
from infinite_memory.search.text.highlights import asks
from infinite_memory.search.text.relative_time import is_relative

TOPIC_SUMMARY = len(Kind)
"""The code of a topic summary: a kind of its own in the index, so that a mask leaves it out."""

KINDS = (*Kind, Kind.SUMMARY)
"""The kinds by their codes; the kind of a topic summary is `SUMMARY`, as in the memory."""

SUMMARY_CODES = (KINDS.index(Kind.SUMMARY), TOPIC_SUMMARY)
"""The codes of all summaries."""

STATUSES = tuple(Status)
NEVER: int = np.iinfo(np.int64).max
"""The end of validity of a memory without an end."""
_MAX_CONTEXT_TERMS = 200
_LONG_TEXT_CHARS = 20_000
_NO_SPANS = np.empty((0, 2), np.int32)


@frozen(kw_only=True)
class Document:
    """The index document of a memory.

    The memory is valid from `held_from` to `held_to`, which is `NEVER` without an end.
    `kind` is its code in `KINDS`. `is_question` is whether it was said in a conversation and mostly
    asks. `canonical_hash` is equal for memories of the same kind, scope and speaker with the same
    canonical text, and of attachments with the same reference; a topic summary shares it with no
    other memory. `terms` maps the hashes of the index terms to their counts; `labels`
    are the hashes of the tags. `vectors` is float32, shape (passages, dimensions), without rows
    while the memory is not embedded.
    """

    id: str
    scope: str
    kind: int
    status: int
    speaker: str
    conversation: str
    happened: int
    stored: int
    held_from: int
    held_to: int
    is_question: bool
    important: int
    canonical_hash: int
    terms: Mapping[int, int]
    labels: frozenset[int]
    spans: NDArray[np.int32]
    vectors: NDArray[np.float32]


def describe(record: Record, *, model: str, dimensions: int) -> Document:
    """Return the index document of `record`, with vectors only if they are by `model`."""
    memory, embedding = record.memory, record.embedding_by(model)
    # A message or a piece of a session. A note that asks may be what is looked for.
    is_piece = memory.kind is Kind.DISCUSSION and memory.origin is Origin.TOOL
    is_said = is_piece or memory.kind is Kind.MESSAGE
    return Document(
        id=memory.id,
        scope=memory.scope,
        kind=TOPIC_SUMMARY if memory.is_dreamed else KINDS.index(memory.kind),
        status=STATUSES.index(memory.status),
        speaker=memory.speaker or "",
        conversation=memory.conversation_id or "",
        happened=to_micros(memory.happened_at),
        stored=to_micros(memory.stored_at),
        held_from=to_micros(memory.held_from),
        held_to=NEVER if memory.valid_to is None else to_micros(memory.valid_to),
        is_question=is_said and asks(memory.text),
        important=-1 if memory.is_inferred else int(memory.important),
        canonical_hash=_hash_canonical(memory),
        terms=_count_terms(memory),
        labels=frozenset(hash_tag(tag) for tag in memory.tags),
        spans=_NO_SPANS if embedding is None else embedding.spans,
        vectors=(np.empty((0, dimensions), np.float32) if embedding is None else embedding.vectors),
    )


@lru_cache(maxsize=200_000)
def hash_term(term: str) -> int:
    """Return the 64-bit hash of an index term, which is the same in every process."""
    return _hash("w", term)


@lru_cache(maxsize=10_000)
def hash_tag(tag: str) -> int:
    """Return the 64-bit hash of a tag, independent of letter case."""
    return _hash("t", fold_name(tag))


def hash_id(memory_id: str) -> int:
    """Return the 64-bit hash by which the index looks up the id of a memory."""
    return _hash("i", memory_id)


def _hash(space: str, text: str) -> int:
    # A storage written by another program may hold half of a surrogate pair; our inputs cannot.
    digest = blake2b(text.encode(errors="surrogatepass"), digest_size=8, person=space.encode())
    return int.from_bytes(digest.digest(), "little")


def _hash_canonical(memory: Memory) -> int:
    canonical = canonicalize(memory.text)
    # "Tomorrow" means the same day only if both moments are equal: the time zone is unknown.
    moment = str(to_micros(memory.happened_at)) if is_relative(canonical) else ""
    parts = [memory.kind, memory.scope, memory.speaker or "", moment, canonical]
    attachment = attachment_of(memory)
    if attachment is not None:
        # Two pictures with one description are two pictures.
        parts.append(attachment.uri or attachment.content_id or "")
    if memory.is_dreamed:
        # It may quote a single sentence, and must not stand for the memory that says it.
        parts.append(memory.id)
    return _hash("f", "\0".join(parts))


def count_long_text(text: str) -> None:
    """Read a long text before its commit, so that no search has to wait until it is read.

    A text of a megabyte takes seconds. The counts of the last two long texts are kept.
    """
    if len(text) >= _LONG_TEXT_CHARS:
        _count_of_long(text)


def _count_terms(memory: Memory) -> Counter[int]:
    """Return the hashes of the index terms of a memory, with their counts."""
    text = memory.text
    counts = _count(text) if len(text) < _LONG_TEXT_CHARS else Counter(_count_of_long(text))
    counts.update(map(hash_term, _extra_terms(memory)))
    return counts


def _count(text: str) -> Counter[int]:
    return Counter(map(hash_term, terms(text)))


_count_of_long = lru_cache(maxsize=2)(_count)


def _extra_terms(memory: Memory) -> Iterator[str]:
    """Yield the index terms of the metadata of a memory."""
    for extra in (memory.title, memory.speaker, memory.key, *memory.tags):
        if extra:
            yield from _terms_of_name(extra)
    yield from _date_terms(memory.happened_at.date())
    if memory.context:
        context = without_feedback(memory.context)
        yield from terms("\n".join(_strings(context)))[:_MAX_CONTEXT_TERMS]


_terms_of_name = lru_cache(maxsize=10_000)(terms)


@lru_cache(maxsize=10_000)
def _date_terms(day: date) -> list[str]:
    """Return the terms of a written date: "8 May 2023"."""
    return terms(f"{day:%B} {day.day} {day.year}")


def _strings(value: JsonValue | Mapping[str, JsonValue]) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
