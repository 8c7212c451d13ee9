"""What the receipt of a new memory names: a memory that it probably replaces, and one near it."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from infinite_memory.core.protocols import SupportsSimilar
from infinite_memory.core.values.criteria import Criteria, Depth
from infinite_memory.core.values.memory import GLOBAL, Kind, Memory, shorten
from infinite_memory.core.values.receipt import Outcome, Receipt, Similar
from infinite_memory.core.values.record import Record
from infinite_memory.core.values.scope import visible_from
from infinite_memory.engine.after_commit import AfterCommit
from infinite_memory.engine.load_memories import load_records
from infinite_memory.engine.retrieval.validity import in_tense, tense_of
from infinite_memory.engine.services import Services
from infinite_memory.search.index import SearchIndex
from infinite_memory.search.judge import LASTING, Told, load_judge
from infinite_memory.search.similarity import score_cosines

_OFFERED = 5
_COMPARED = 50
_TEXT_CHARS = 240
# A message is similar to the messages around it, and never replaces them.
_KINDS = frozenset(Kind) - {Kind.MESSAGE}
# From here on a memory is known already. In a month of one person 26 % of the receipts name one.
_LEAST_KNOWN = 0.7

_Scored = tuple[Record, float]


def add_similar(
    services: Services, receipt: Receipt, memory: Memory, stored: Record | None, position: int
) -> Receipt:
    """Return the receipt of a new memory with what it probably replaces, and what is near it.

    `stored` is the memory with its vectors as a commit that ended at `position` stored it, None if
    its vectors are not at hand.

    Both are current, and neither messages nor topic summaries. What it replaces is of its scope;
    what is near it is visible to a search of the scope. A message or a topic summary gets none, nor
    does a memory that was not stored or is superseded already. The memory is durable, so an error
    here is reported in `pending`. Naming a memory counts neither as recall nor as use.
    """
    is_new = receipt.outcome is Outcome.STORED and receipt.superseded_by is None
    if not is_new or memory.kind not in _KINDS or memory.is_dreamed:
        return receipt
    with AfterCommit("the search for similar memories") as step:
        index = services.models.answering().index
        if stored is not None and isinstance(index, SearchIndex):
            index.take_in(stored, position)
        return _name_similar(services, receipt, memory, stored)
    advice = f"{step.failure}; search for memories on the same subject before you rely on it"
    return evolve(receipt, pending=(*receipt.pending, advice))


def _name_similar(
    services: Services, receipt: Receipt, memory: Memory, stored: Record | None
) -> Receipt:
    # A search of the scope would return these memories beside the new one.
    scopes = frozenset({GLOBAL})
    if receipt.scope != GLOBAL:
        scopes = frozenset(visible_from(receipt.scope, services.storage.scopes()))
    criteria = in_tense(
        Criteria(scopes=scopes, kinds=_KINDS, topic_summaries=False),
        tense_of(services, None, None),
        Depth.NORMAL,
        statuses_given=False,
    )
    found = _find_similar(services, receipt, memory, criteria)
    if not found:
        return receipt
    model = services.models.answering().embedder.model
    ids = [i for i, _ in found] if stored is not None else [receipt.id, *(i for i, _ in found)]
    records = load_records(services, ids, models=(model,))
    offered = [
        (records[memory_id], score)
        for memory_id, score in found
        # Another process may have changed or erased one since the index was read.
        if memory_id in records and criteria.admit(records[memory_id].memory)
    ]
    new = stored or records.get(receipt.id)
    replaced = [] if new is None else _choose_replaced(new, offered, model)
    near = [one for one in offered if one not in replaced and one[1] >= _LEAST_KNOWN][:1]
    return evolve(
        receipt,
        replaces=tuple(map(_describe, replaced)),
        similar=tuple(map(_describe, near)),
    )


def _choose_replaced(new: Record, offered: Sequence[_Scored], model: str) -> list[_Scored]:
    """Return the memory that the new one most probably replaces, if it is probable enough."""
    judge, later = load_judge(), _told(new, model)
    if judge.model != model.partition("@")[0] or later is None or new.memory.kind not in LASTING:
        return []
    judged = [
        (one, told)
        for one in offered
        if (told := _told(one[0], model)) is not None
        and one[0].memory.scope == new.memory.scope
        and one[0].memory.kind in LASTING
        and told.text != later.text
    ]
    if not judged:
        return []
    scores = [score for (_, score), _ in judged]
    probabilities = judge.judge(later, [told for _, told in judged], scores)
    best = int(probabilities.argmax())
    return [judged[best][0]] if probabilities[best] >= judge.least else []


def _told(record: Record, model: str) -> Told | None:
    """Return a text with the vector of its beginning, None if it has no vector."""
    embedding = record.embedding_by(model)
    if embedding is None or not len(embedding.vectors):
        return None
    return Told(text=record.memory.text, vector=embedding.vectors[0])


def _describe(scored: _Scored) -> Similar:
    memory, score = scored[0].memory, scored[1]
    return Similar(
        id=memory.id,
        text=shorten(memory.text, _TEXT_CHARS),
        happened_at=memory.happened_at,
        scope=memory.scope,
        key=memory.key,
        score=score,
    )


def _find_similar(
    services: Services, receipt: Receipt, memory: Memory, criteria: Criteria
) -> list[tuple[str, float]]:
    """Return the ids and scores of similar memories, by the search of the model that answers."""
    model = services.models.answering()
    # The receipt names conflicts itself, and a memory is similar to its sources by intention.
    ignored = {*receipt.conflicts, *memory.sources}
    search = model.index
    if isinstance(search, SearchIndex | SupportsSimilar):
        return search.find_similar(
            receipt.id, memory.text, criteria, ignored=ignored, limit=_OFFERED
        )
    nearest = search.nearest(receipt.id, criteria, limit=_COMPARED)
    similar = score_cosines(nearest, background=model.embedder.background)
    return [one for one in similar if one[0] not in ignored][:_OFFERED]
