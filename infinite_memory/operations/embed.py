"""Give memories their vectors. Never inside a transaction: the text is durable before."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from attrs import evolve, frozen

from infinite_memory.embedding import CheckedEmbedder
from infinite_memory.errors import Conflict, InfiniteMemoryError, StoreDamaged
from infinite_memory.model.checks import check_count
from infinite_memory.model.commit import Attach, Commit, Detach
from infinite_memory.model.memory import Memory
from infinite_memory.model.record import Embedding
from infinite_memory.operations.services import Services
from infinite_memory.operations.writes.after_commit import AfterCommit
from infinite_memory.protocols import Embedder, SupportsIndex
from infinite_memory.storage.preconditions import check_embedding

__all__ = [
    "EmbeddedMemories",
    "Stop",
    "Stopped",
    "catch_up",
    "drop_others",
    "embed_again",
    "embed_memories",
    "embed_new",
    "never",
]

_log = logging.getLogger(__name__)
_BATCH_MEMORIES = 256
_BATCH_CHARS = 1 << 20
_PASSAGES_BETWEEN_STOPS = 128
_ATTEMPTS = 2
# A passage of 256 tokens takes up to 50 ms. A longer text than this is found by its words at once
# and embedded by `catch_up`, so that no write takes minutes.
_MAX_CHARS_AT_ONCE = 50_000


Stop = Callable[[], bool]
"""Asked now and then during long work whether to leave the rest for later."""


class Stopped(Exception):
    """Work was left for later, since `Stop` said so."""


def never() -> bool:
    """Let the work run to its end."""
    return False


def embed_memories(
    embedder: Embedder, memories: Sequence[Memory], stop: Stop = never
) -> list[Embedding]:
    """Return the embedding of each memory's text.

    Raises:
        EmbedderError: the model cannot be loaded or run.
        Stopped: `stop` said so; it is asked every 128 passages, which take up to some seconds.
    """
    embedder = CheckedEmbedder(embedder)
    spans = [embedder.spans(memory.text) for memory in memories]
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
    vectors = np.concatenate(parts)
    ends = np.cumsum([len(cuts) for cuts in spans])[:-1]
    return [
        Embedding(model=embedder.model, spans=cuts, vectors=rows)
        for cuts, rows in zip(spans, np.split(vectors, ends), strict=True)
    ]


@frozen(kw_only=True)
class EmbeddedMemories:
    """The ids of new memories that can be found by meaning; `failure` says why others cannot."""

    ids: frozenset[str] = frozenset()
    failure: str | None = None

    def __contains__(self, memory_id: object) -> bool:
        return memory_id in self.ids


def embed_new(services: Services, memories: Sequence[Memory]) -> EmbeddedMemories:
    """Embed memories that were just stored, and return which of them can be found by meaning.

    Memories that are too long to wait for, or that the model refuses, are found by their words, and
    `catch_up` embeds them later.
    """
    short = [memory for memory in memories if len(memory.text) <= _MAX_CHARS_AT_ONCE]
    failure: str | None = None
    with AfterCommit(f"the embedding of {len(short)} memories") as step:
        model = services.models.answering()
        failure = _try_to_attach(services, model.embedder, short)
        # Another model may have taken over meanwhile, or be about to because nothing waited before
        # these were stored: nobody would ask it to embed these.
        for other in {services.models.awaited() or model, services.models.answering()} - {model}:
            failure = _try_to_attach(services, other.embedder, short)
    failure = failure or step.failure
    if failure is not None:
        return EmbeddedMemories(failure=f"it is not found by its meaning yet: {failure}")
    return EmbeddedMemories(ids=frozenset(memory.id for memory in short))


def embed_again(services: Services, ids: Sequence[str]) -> int:
    """Embed these memories anew, whatever vectors they have; return how many were.

    By the configured model, and by the former one while that answers.
    """
    done = 0
    models = dict.fromkeys((services.models.chosen, services.models.answering()))
    for batch in _load_batches(services, ids):
        attached = [_attach(services, model.embedder, batch) for model in models]
        if not all(attached):
            break
        done += len(batch)
    return done


def catch_up(services: Services, *, limit: int, stop: Stop = never) -> int:
    """Embed at most `limit` memories that wait for the configured model; return how many.

    `stop` ends it early; what was being embedded at that moment waits for the next time. Once
    nothing waits, the configured model answers.

    Some are left where a text is long, where a process ended between storing a text and embedding
    it, where the model could not be run, and where another model was configured. A memory that
    the model refuses, twice and alone, while it embeds other texts, is done as well: it keeps an
    embedding without passages, and its words find it.
    """
    check_count(limit, "limit", low=1, high=2**62)
    embedder = services.models.chosen.embedder
    done = 0
    unreadable: list[str] = []
    while done < limit and not stop():
        wanted = min(_BATCH_MEMORIES, limit - done)
        pending = services.storage.pending(embedder.model, limit=wanted)
        if not pending:
            services.models.complete()
            break
        if pending == unreadable:
            break  # a storage that gives again what it cannot read
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
    """Embed memories, one by one where it must be; return how many are done, refused ones too.

    It ends at the first where the model fails with any text, and where `stop` says so.
    """
    if _attach(services, embedder, memories, stop):
        return len(memories)
    for done, memory in enumerate(memories):
        for _attempt in range(_ATTEMPTS):
            if stop() or not _can_embed(services, embedder, memory):
                return done
            if _attach(services, embedder, [memory], stop):
                break
        else:
            if stop() or not _can_embed(services, embedder, memory):
                return done
            _store_refusal(services, embedder, memory)
    return len(memories)


def _can_embed(services: Services, embedder: Embedder, memory: Memory) -> bool:
    """Tell whether the model embeds a plain text, one that no cache has seen."""
    plain = evolve(memory, text=f"a plain sentence, number {services.random_bytes(8).hex()}")
    try:
        (embedding,) = embed_memories(embedder, [plain])
        check_embedding(memory.id, embedding)
    # The embedder may be a plug-in of the user's, which can raise anything.
    except Exception:  # noqa: BLE001 -- the boundary to a plug-in, see above
        return False
    return len(embedding.vectors) > 0


def _store_refusal(services: Services, embedder: Embedder, memory: Memory) -> None:
    _log.warning("%s refuses memory %r: its words alone find it", embedder.model, memory.id)
    nothing = Embedding(
        model=embedder.model,
        spans=np.empty((0, 2), np.int32),
        vectors=np.empty((0, embedder.dimensions), np.float32),
    )
    attach = Attach(id=memory.id, revision=memory.revision, embedding=nothing)
    services.storage.commit(Commit(attaches=(attach,)))


def drop_others(services: Services) -> dict[str, int]:
    """Remove the vectors of every model but the configured one; return how many memories had them.

    Where it was cut short, doing it again goes on.

    Raises:
        Conflict: some memories wait for the configured model; nothing was removed.
    """
    storage, model = services.storage, services.models.chosen.name
    if storage.pending(model, limit=1):
        raise Conflict(
            f"some memories have no vector by {model} yet, so those by other models are kept:"
            " embed what waits (`infinite-memory embed`, or `catch_up`) and try again"
        )
    services.models.complete()
    had = {name: number for name, number in storage.measure().embedded.items() if name != model}
    cursor, end = 0, storage.position()
    while cursor < end:
        changes = storage.changes(cursor, limit=_BATCH_MEMORIES, models=())
        stored = [change.id for change in changes.items if change.record is not None]
        storage.commit(Commit(detaches=[Detach(id=each, keep=model) for each in stored]))
        cursor = max(changes.cursor, cursor + 1)
    if isinstance(services.models.chosen.index, SupportsIndex):
        services.models.chosen.index.discard_others()
    return had


def _attach(
    services: Services, embedder: Embedder, memories: Sequence[Memory], stop: Stop = never
) -> bool:
    """Embed stored memories and store their vectors; return whether that was possible."""
    return _try_to_attach(services, embedder, memories, stop) is None


def _try_to_attach(
    services: Services, embedder: Embedder, memories: Sequence[Memory], stop: Stop = never
) -> str | None:
    """Embed stored memories and store their vectors; return why that has to wait, if it has to.

    The reason is logged as well: what the embedder raised, or the fault of its vectors.
    """
    if not memories:
        return None
    try:
        embeddings = embed_memories(embedder, memories, stop)
        for memory, embedding in zip(memories, embeddings, strict=True):
            check_embedding(memory.id, embedding)
    except Stopped:
        return "it was left for later"
    # The embedder may be a plug-in of the user's, which can raise anything. The texts are durable
    # by now, and that is what the receipt answers for.
    except Exception as error:  # noqa: BLE001 -- the boundary to a plug-in, see above
        what = error if isinstance(error, InfiniteMemoryError) else repr(error)
        _log.warning("%d memories wait to be embedded: %s", len(memories), what)
        return str(what)
    attaches = [
        Attach(id=memory.id, revision=memory.revision, embedding=embedding)
        for memory, embedding in zip(memories, embeddings, strict=True)
    ]
    services.storage.commit(Commit(attaches=attaches))
    return None


def _load_batches(services: Services, ids: Sequence[str]) -> Iterator[list[Memory]]:
    """Yield the memories of these ids in batches of bounded length, without the damaged ones."""
    batch: list[Memory] = []
    for memory_id in ids:
        try:
            found = services.storage.get([memory_id], models=())
        except StoreDamaged as error:
            _log.warning("%s is not embedded: %s", memory_id, error)
            continue
        batch.extend(record.memory for record in found.values())
        if sum(len(memory.text) for memory in batch) >= _BATCH_CHARS:
            yield batch
            batch = []
    yield batch
