"""The messages among the hits of a page, beside what was made from them and what answers them."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from infinite_memory.core.values.codec import to_micros
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.hits import Hit, Told
from infinite_memory.core.values.memory import Kind, Memory, Status, shorten
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.engine.retrieval.recall_by_time import timeline_of
from infinite_memory.engine.services import Services
from infinite_memory.search.document import QUESTION_MARKS

_TOLD_CHARS = 100
_CURRENT = frozenset({Status.CURRENT})


def quote(memory: Memory) -> Told:
    """Return a memory beside a hit, with the beginning of its text."""
    text = shorten(memory.text, _TOLD_CHARS)
    return Told(id=memory.id, happened_at=memory.happened_at, text=text)


def join_sources(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits of a page, which have explanations, with what was made from a message first.

    A message that another hit was made from becomes the quotation of that hit, which takes its
    place and its match if they are better. One that a hit corrected, as it superseded what was made
    from the message, comes directly behind that hit and names it. Summaries quote nothing.
    """
    joined = list(hits)
    for memory_id in [hit.id for hit in hits if hit.memory.kind is Kind.MESSAGE]:
        message = next(hit for hit in joined if hit.id == memory_id)
        made = [hit for hit in joined if memory_id in _list_sources(hit)]
        correcting = [hit for hit in joined if memory_id in _list_former_sources(hit)]
        if not made and not correcting:
            continue
        first = (made or correcting)[0]
        place = min(joined.index(message), joined.index(first))
        shown = first if joined[place] is first else _raise_match(first, message)
        joined = [hit for hit in joined if hit is not message and hit is not first]
        if made:
            shown = evolve(shown, made_from=(*shown.made_from, quote(message.memory)))
            joined.insert(place, shown)
        else:
            joined[place:place] = [shown, evolve(message, corrected_by=first.id)]
    return joined


def _list_sources(hit: Hit) -> Sequence[str]:
    is_made = hit.memory.kind not in (Kind.MESSAGE, Kind.SUMMARY)
    return hit.memory.sources if is_made else ()


def _list_former_sources(hit: Hit) -> list[str]:
    return [source for former in hit.supersedes for source in former.sources]


def _raise_match(hit: Hit, better: Hit) -> Hit:
    """Return `hit` with the score and the total of a better match."""
    own, other = hit.explanation, better.explanation
    if own is not None and other is not None:
        gain = other.total - own.total
        own = evolve(own, former=own.former + gain, total=other.total)
    return evolve(hit, score=better.score, explanation=own)


def add_answers(services: Services, hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Return `hits`, each message that asks with the next turn of its conversation as `answer`.

    That turn is by another speaker, or by one who is not known, and does not ask itself.
    """
    following: dict[str, str] = {}
    for memory in (hit.memory for hit in hits):
        if memory.kind is not Kind.MESSAGE or memory.conversation_id is None or not _asks(memory):
            continue
        criteria = Criteria(
            scopes=frozenset({memory.scope}),
            statuses=_CURRENT,
            conversation_id=memory.conversation_id,
        )
        here = (to_micros(memory.happened_at), memory.id)
        for _, following_id in timeline_of(services, criteria).page(here, 1, newest_first=False):
            following[memory.id] = following_id
    turns = load_memories(services, following.values()) if following else {}
    return tuple(
        evolve(hit, answer=quote(turn))
        if (turn := turns.get(following.get(hit.id, ""))) is not None
        and not _asks(turn)
        and (turn.speaker is None or turn.speaker != hit.memory.speaker)
        else hit
        for hit in hits
    )


def _asks(memory: Memory) -> bool:
    return memory.text.rstrip().endswith(QUESTION_MARKS)
