"""The messages among the hits of a page, beside what was made from them and what answers them."""

from __future__ import annotations

from collections.abc import Sequence, Set

from attrs import evolve

from infinite_memory.core.values.codec import to_micros
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.hits import SURE, Hit, Told
from infinite_memory.core.values.memory import Kind, Memory, Origin, Status, shorten
from infinite_memory.core.values.question import Question
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.engine.retrieval.recall_by_time import timeline_of
from infinite_memory.engine.services import Services
from infinite_memory.engine.trivial import is_trivial
from infinite_memory.search.text.highlights import asks
from infinite_memory.search.text.question_terms import find_subject

_TOLD_CHARS = 100
_MOST_QUOTED = 3
# What was made from a message says what matched in it if it has this share of its total.
_NEARLY = 0.75
_CURRENT = frozenset({Status.CURRENT})


def quote(memory: Memory) -> Told:
    """Return a memory beside a hit, with the beginning of its text."""
    text = shorten(memory.text, _TOLD_CHARS)
    return Told(id=memory.id, happened_at=memory.happened_at, text=text)


def join_sources(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits of a page, which have explanations, with what was made from a message first.

    A message becomes a quotation of a current hit that was made from it and matches nearly as well,
    which takes its place if that is better; a hit quotes three messages at most. A message that a
    hit corrected, as it superseded what was made from the message, comes directly behind that hit
    and names it. Summaries quote nothing.
    """
    joined = list(hits)
    for memory_id in [hit.id for hit in hits if hit.memory.kind is Kind.MESSAGE]:
        message = next(hit for hit in joined if hit.id == memory_id)
        made = [hit for hit in joined if _may_quote(hit, message)]
        correcting = [hit for hit in joined if memory_id in _list_former_sources(hit)]
        if not made and not correcting:
            continue
        first = (made or correcting)[0]
        place = min(joined.index(message), joined.index(first))
        joined = [hit for hit in joined if hit is not message and hit is not first]
        if made:
            quoted = (*first.made_from, quote(message.memory))
            joined.insert(place, evolve(first, made_from=quoted))
        else:
            joined[place:place] = [first, evolve(message, corrected_by=first.id)]
    return joined


def put_statements_first(question: Question, hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits of a page with those that say nothing behind those that do.

    Greetings, thanks and the like come last. A message or a piece of a session that asks what
    `question` asks comes behind what surely answers. Nothing moves where the question is trivial.
    """
    if is_trivial(question.text):
        return list(hits)
    asked = find_subject(question.text)
    idle = [is_trivial(hit.memory.text) for hit in hits]
    asking = [is_asking(hit.memory) or _repeats(hit.memory, asked) for hit in hits]
    # The place of the last hit that surely answers; all else keeps its order.
    last = max(
        (
            place
            for place, hit in enumerate(hits)
            if hit.score >= SURE and not idle[place] and not asking[place]
        ),
        default=-1,
    )

    def rank(place: int) -> tuple[bool, int, bool]:
        return idle[place], max(place, last) if asking[place] else place, asking[place]

    return [hits[place] for place in sorted(range(len(hits)), key=rank)]


def is_asking(memory: Memory) -> bool:
    """Return whether a memory is a piece of a session that mostly asks."""
    is_made = memory.kind is Kind.DISCUSSION and memory.origin is Origin.TOOL
    return is_made and asks(memory.text)


def _repeats(memory: Memory, asked: Set[str]) -> bool:
    """Return whether a memory is a message that asks for no more than a question."""
    is_question = memory.kind is Kind.MESSAGE and asks(memory.text)
    return is_question and find_subject(memory.text) <= asked


def _may_quote(hit: Hit, message: Hit) -> bool:
    """Return whether a hit was made from a message, and says what matched in it."""
    memory = hit.memory
    is_made = message.id in memory.sources and memory.kind not in (Kind.MESSAGE, Kind.SUMMARY)
    is_open = memory.status is Status.CURRENT and len(hit.made_from) < _MOST_QUOTED
    return is_made and is_open and _total_of(hit) >= _NEARLY * _total_of(message)


def _list_former_sources(hit: Hit) -> list[str]:
    return [source for former in hit.supersedes for source in former.sources]


def _total_of(hit: Hit) -> float:
    return 0.0 if hit.explanation is None else hit.explanation.total


def add_answers(services: Services, question: Question, hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Return `hits`, each message that asks with the next message of its conversation as `answer`.

    That message is by another speaker, or by one who is not known, does not ask itself, and is from
    the time that `question` searches.
    """
    following: dict[str, str] = {}
    searched = Criteria(
        kinds=frozenset({Kind.MESSAGE}),
        statuses=_CURRENT,
        until=question.criteria.until,
        tense=question.criteria.tense,
    )
    for memory in (hit.memory for hit in hits):
        if (
            memory.kind is not Kind.MESSAGE
            or memory.conversation_id is None
            or not asks(memory.text)
        ):
            continue
        criteria = evolve(
            searched,
            scopes=frozenset({memory.scope}),
            conversation_id=memory.conversation_id,
        )
        here = (to_micros(memory.happened_at), memory.id)
        for _, following_id in timeline_of(services, criteria).page(here, 1, newest_first=False):
            following[memory.id] = following_id
    turns = load_memories(services, following.values()) if following else {}
    return tuple(
        evolve(hit, answer=quote(turn))
        if (turn := turns.get(following.get(hit.id, ""))) is not None
        and searched.admit(turn)
        and turn.scope == hit.memory.scope
        and not asks(turn.text)
        and (turn.speaker is None or turn.speaker != hit.memory.speaker)
        else hit
        for hit in hits
    )
