"""Embed memories, never inside a transaction: after the text is durable, or just before."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from itertools import accumulate

import numpy as np
from attrs import evolve, frozen

from infinite_memory.core.clock import Deadline, current_deadline
from infinite_memory.core.errors import Conflict, InfiniteMemoryError, StoreDamaged
from infinite_memory.core.protocols import Embedder, SupportsIndex
from infinite_memory.core.values.checks import check_count
from infinite_memory.core.values.commit import Attach, Commit, Detach
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.messages import format_count
from infinite_memory.core.values.record import Embedding, from_steps, to_steps
from infinite_memory.engine.after_commit import AfterCommit
from infinite_memory.engine.services import Services
from infinite_memory.search.embedding import CheckedEmbedder
from infinite_memory.storage.preconditions import check_embedding

_log = logging.getLogger(__name__)
_BATCH_MEMORIES = 256
_BATCH_CHARS = 1 << 20
_PASSAGES_BETWEEN_STOPS = 16
"""They take a second at most, for which a stop, and the texts of another caller, wait."""
_ATTEMPTS = 2
# A passage of 256 tokens takes up to 50 ms. `catch_up` embeds longer texts, so that no write takes
# minutes; until then their words find them.
_MAX_CHARS_AT_ONCE = 50_000
_MAX_CHARS_BEFORE = 2_000
"""A loaded model embeds a text of this length in some 20 ms, so that its commit may wait for it."""
_MAX_AWAITED_TEXTS = 20
_MAX_AWAITED_BYTES = 20_000
"""A client that waits for its answer waits for the vectors of no more than this in a call."""
_NO_SPANS = np.empty((0, 2), np.int32)


Stop = Callable[[], bool]
"""Called during long work; returns whether to leave the remaining work for later."""


class Stopped(Exception):
    """Work was left for later, because `Stop` returned True."""


def never() -> bool:
    """Return False, so that the work runs to its end."""
    return False


def embed_memories(
    embedder: Embedder, memories: Sequence[Memory], stop: Stop = never
) -> list[Embedding]:
    """Return the embeddings of the texts of `memories`, in order.

    The vectors are rounded to 16 bits a component, in which the index compares them. A memory that
    is not indexed gets an embedding without passages.

    Raises:
        EmbedderError: the model cannot be loaded or run.
        Stopped: `stop` returned True; it is called every 16 passages, which take up to a second.
    """
    if not isinstance(embedder, CheckedEmbedder):
        embedder = CheckedEmbedder(embedder)
    spans = [embedder.spans(memory.text) if memory.is_indexed else _NO_SPANS for memory in memories]
    passages = [
        memory.text[start:end]
        for memory, cuts in zip(memories, spans, strict=True)
        for start, end in cuts
    ]
    parts = [np.empty((0, embedder.dimensions), np.float32)]
    for start in range(0, len(passages), _PASSAGES_BETWEEN_STOPS):
        if stop():
            raise Stopped
        parts.append(embedder.embed(passages[start : start + _PASSAGES_BETWEEN_STOPS]))
    vectors = from_steps(*to_steps(np.concatenate(parts)))
    ends = accumulate(map(len, spans))
    return [
        Embedding(model=embedder.model, spans=cuts, vectors=vectors[end - len(cuts) : end])
        for cuts, end in zip(spans, ends, strict=True)
    ]


@frozen(kw_only=True)
class EmbeddedMemories:
    """The ids of new memories with vectors; `failure` says why the remaining memories have none."""

    ids: frozenset[str] = frozenset()
    failure: str | None = None

    def __contains__(self, memory_id: object) -> bool:
        return memory_id in self.ids


@frozen
class _Embedded:
    """How much a call with that deadline has stored so far."""

    deadline: Deadline
    texts: int = 0
    size_bytes: int = 0


_embedded: ContextVar[_Embedded | None] = ContextVar("embedded", default=None)


def embed_new(services: Services, memories: Sequence[Memory]) -> EmbeddedMemories:
    """Embed memories that were just stored, and return which of them have vectors.

    Memories that are too long or too many to wait for, or that the model refuses, are found by
    their words, and `catch_up` embeds them later.
    """
    if _are_left(memories):
        return EmbeddedMemories()
    short = [
        memory
        for memory in memories
        if len(memory.text) <= _MAX_CHARS_AT_ONCE or not memory.is_indexed
    ]
    failure: str | None = None
    with AfterCommit(f"the embedding of {format_count(len(short), 'memory', 'memories')}") as step:
        model = services.models.answering()
        failure = _try_to_attach(services, model.embedder, short)
        # A second model may have taken over meanwhile, or may be about to, because nothing waited
        # before these memories were stored. No later call would make it embed them.
        next_model = services.models.in_preparation() or model
        for newer in {next_model, services.models.answering()} - {model}:
            failure = _try_to_attach(services, newer.embedder, short)
    failure = failure or step.failure
    if failure is not None:
        return EmbeddedMemories(failure=f"it is not found by its meaning yet: {failure}")
    return EmbeddedMemories(ids=frozenset(memory.id for memory in short))


def embed_before(services: Services, memory: Memory) -> Embedding | None:
    """Return the embedding of a memory that is about to be stored, for the same commit.

    None if the text must be stored first: it is long, the model is not loaded or does not tell, it
    fails, or another model may take over meanwhile.
    """
    model = services.models.settled()
    if len(memory.text) > _MAX_CHARS_BEFORE or model is None or not model.embedder.is_loaded:
        return None
    if _are_left([memory]):
        return None
    try:
        (embedding,) = embed_memories(model.embedder, [memory])
        check_embedding(memory.id, embedding)
    # A plug-in can raise anything. `embed_new` says so, once the text is stored.
    except Exception:  # noqa: BLE001 -- the boundary to a plug-in, see above
        return None
    return embedding


def _are_left(memories: Sequence[Memory]) -> bool:
    """Return whether the call has too little time, or too many texts, to embed these as well.

    A call that nobody waits for, as in a Python program, embeds whatever it stores.
    """
    deadline = current_deadline()
    if not deadline.is_awaited:
        return False
    before = _embedded.get()
    if before is None or before.deadline is not deadline:
        before = _Embedded(deadline)
    total = _Embedded(
        deadline,
        texts=before.texts + len(memories),
        size_bytes=before.size_bytes + sum(len(memory.text.encode()) for memory in memories),
    )
    _embedded.set(total)
    too_many = total.texts > _MAX_AWAITED_TEXTS or total.size_bytes > _MAX_AWAITED_BYTES
    return too_many or deadline.is_over


def embed_again(services: Services, ids: Sequence[str]) -> int:
    """Replace the embeddings of stored memories; return how many were embedded.

    Uses the configured model, and also the former model while it answers.
    """
    done = 0
    models = dict.fromkeys((services.models.configured, services.models.answering()))
    for batch in _load_batches(services, ids):
        attached = [_attach_vectors(services, model.embedder, batch) for model in models]
        if not all(attached):
            break
        done += len(batch)
    return done


def catch_up(services: Services, *, limit: int, stop: Stop = never) -> int:
    """Embed at most `limit` memories that wait for the configured model; return how many.

    `stop` ends the work early; the memories being embedded at that moment wait for the next call.
    Once nothing waits, the configured model answers.

    A memory waits if its text is long, if a process ended between storing and embedding it, if the
    model could not run, or if the configured model has changed. If the model refuses a memory
    twice on its own, but embeds different text, the memory counts as done: it gets an embedding
    without passages, and its words find it.
    """
    check_count(limit, "limit", low=1, high=2**62)
    embedder = services.models.configured.embedder
    done = 0
    unreadable: list[str] = []
    while done < limit and not stop():
        wanted = min(_BATCH_MEMORIES, limit - done)
        pending = services.storage.pending(embedder.model, limit=wanted)
        if not pending:
            services.models.complete()
            break
        if pending == unreadable:
            break  # a storage that returns unreadable memories again
        before = done
        for batch in _load_batches(services, pending):
            done_now = _attach_each(services, embedder, batch, stop)
            done += done_now
            if done_now < len(batch):
                return done
        unreadable = pending if done == before else []
    return done


def _attach_each(
    services: Services, embedder: Embedder, memories: Sequence[Memory], stop: Stop
) -> int:
    """Embed memories, singly if the batch fails; return how many are done, or refused.

    Stops at a memory where the model fails with any text, and when `stop` returns True.
    """
    if _attach_vectors(services, embedder, memories, stop):
        return len(memories)
    for done, memory in enumerate(memories):
        for _attempt in range(_ATTEMPTS):
            if stop() or not _can_embed(services, embedder, memory):
                return done
            if _attach_vectors(services, embedder, [memory], stop):
                break
        else:
            if stop() or not _can_embed(services, embedder, memory):
                return done
            _store_refusal(services, embedder, memory)
    return len(memories)


def _can_embed(services: Services, embedder: Embedder, memory: Memory) -> bool:
    """Return whether the model embeds a plain text that no cache has seen."""
    plain = evolve(memory, text=f"a plain sentence, number {services.random_bytes(8).hex()}")
    try:
        (embedding,) = embed_memories(embedder, [plain])
        check_embedding(memory.id, embedding)
    # The embedder may be a plug-in of the user, which can raise anything.
    except Exception:  # noqa: BLE001 -- the boundary to a plug-in, see above
        return False
    return len(embedding.vectors) > 0


def _store_refusal(services: Services, embedder: Embedder, memory: Memory) -> None:
    _log.warning("%s refuses memory %r: its words alone find it", embedder.model, memory.id)
    empty = Embedding(
        model=embedder.model,
        spans=np.empty((0, 2), np.int32),
        vectors=np.empty((0, embedder.dimensions), np.float32),
    )
    attach = Attach(id=memory.id, revision=memory.revision, embedding=empty)
    services.storage.commit(Commit(attaches=(attach,)))


def drop_others(services: Services) -> dict[str, int]:
    """Remove the vectors of other models; return how many memories had vectors, by model.

    After an interruption a second call continues the work.

    Raises:
        Conflict: the configured model has memories to embed or is not ready; nothing was removed.
    """
    storage, model = services.storage, services.models.configured.name
    if storage.pending(model, limit=1):
        raise Conflict(
            f"some memories have no vector by {model} yet, so the vectors by other models are"
            " kept: embed the waiting memories (`infinite-memory embed`, or `catch_up`) and try"
            " again"
        )
    services.models.complete()
    active = storage.active_model()
    if active not in (None, model):
        raise Conflict(
            f"{active} still answers, so the vectors by other models are kept: {model} has not"
            " embedded every memory of the store, or is not ready (the log says why)"
        )
    removed = {name: number for name, number in storage.measure().embedded.items() if name != model}
    cursor, end = 0, storage.position()
    while cursor < end:
        changes = storage.changes(cursor, limit=_BATCH_MEMORIES, models=())
        stored = [change.id for change in changes.items if change.record is not None]
        storage.commit(Commit(detaches=[Detach(id=memory_id, keep=model) for memory_id in stored]))
        cursor = max(changes.cursor, cursor + 1)
    if isinstance(services.models.configured.index, SupportsIndex):
        services.models.configured.index.discard_others()
    return removed


def _attach_vectors(
    services: Services, embedder: Embedder, memories: Sequence[Memory], stop: Stop = never
) -> bool:
    """Embed stored memories and store their vectors; return whether that was possible."""
    return _try_to_attach(services, embedder, memories, stop) is None


def _try_to_attach(
    services: Services, embedder: Embedder, memories: Sequence[Memory], stop: Stop = never
) -> str | None:
    """Embed stored memories and store their vectors; return why they must wait, None if not.

    The reason is logged as well: the error of the embedder, or the fault of its vectors.
    """
    if not memories:
        return None
    try:
        embeddings = embed_memories(embedder, memories, stop)
        for memory, embedding in zip(memories, embeddings, strict=True):
            check_embedding(memory.id, embedding)
    except Stopped:
        return "it was left for later"
    # The embedder may be a plug-in of the user, which can raise anything. The texts are durable
    # by now, as the receipt promises.
    except Exception as error:  # noqa: BLE001 -- the boundary to a plug-in, see above
        reason = str(error) if isinstance(error, InfiniteMemoryError) else repr(error)
        number = format_count(len(memories), "memory waits", "memories wait")
        _log.warning("%s to be embedded: %s", number, reason)
        return reason
    attaches = [
        Attach(id=memory.id, revision=memory.revision, embedding=embedding)
        for memory, embedding in zip(memories, embeddings, strict=True)
    ]
    # The first model that embeds a memory of a new store answers.
    first = embedder.model if services.models.is_undecided() else None
    services.storage.commit(Commit(attaches=attaches, active_model=first))
    return None


def _load_batches(services: Services, ids: Sequence[str]) -> Iterator[list[Memory]]:
    """Yield the memories in `ids` in batches of bounded length, without damaged memories."""
    batch: list[Memory] = []
    for memory_id in ids:
        try:
            records = services.storage.get([memory_id], models=())
        except StoreDamaged as error:
            _log.warning("%s is not embedded: %s", memory_id, error)
            continue
        batch.extend(record.memory for record in records.values())
        if sum(len(memory.text) for memory in batch) >= _BATCH_CHARS:
            yield batch
            batch = []
    yield batch
