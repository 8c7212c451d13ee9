"""Whether an answer says that nothing searched is of the time that the question names."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from attrs import evolve

from infinite_memory.core.values.hits import Hit, Hits
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.question import Question
from infinite_memory.core.values.time_range import Reading, TimeRange
from infinite_memory.engine.services import Services
from infinite_memory.search.text.analyzer import terms
from infinite_memory.search.text.question_terms import split_terms
from infinite_memory.times import find_range

# A shorter time, such as "at 9 am", may be that of any day.
_SHORTEST = timedelta(hours=4)
# With more terms, a question has a subject that its time only describes.
_MOST_TERMS = 3
# The beginning of a text, in which it may name the time that it is about.
_HEAD_CHARS = 2000


def note_empty_time(
    services: Services, question: Question, empty_time: Reading | None, hits: Hits
) -> Hits:
    """Return `hits`, with `empty_time` if the question asks for that time.

    `empty_time` is the time that the question names and in which no searched memory happened. A
    time that has not begun, or that the best hit speaks of, is not noted.
    """
    if empty_time is None or not hits.eligible or not _has_begun(services, empty_time.range):
        return hits
    subject = _find_subject(question.text, empty_time.span)
    if len(subject) > _MOST_TERMS:
        return hits
    if hits and _speaks_of(services, hits[0].memory, empty_time.range):
        return hits
    return evolve(hits, empty_time=empty_time, time_alone=not _is_met(subject, hits.items))


def _has_begun(services: Services, stretch: TimeRange) -> bool:
    """Return whether `stretch` has begun, and is longer than a time of the clock."""
    start, end = stretch.start, stretch.end
    if start is not None and end is not None and end - start < _SHORTEST:
        return False
    return start is None or start <= services.clock()


def _find_subject(text: str, span: tuple[int, int]) -> frozenset[str]:
    """Return the terms of `text` that tell its subject, without those of the time at `span`."""
    telling, _ = split_terms(f"{text[: span[0]]} {text[span[1] :]}")
    return frozenset(telling)


def _is_met(subject: frozenset[str], hits: Sequence[Hit]) -> bool:
    return any(not subject.isdisjoint(terms(hit.memory.text)) for hit in hits)


def _speaks_of(services: Services, memory: Memory, stretch: TimeRange) -> bool:
    """Return whether the text of `memory` names a time that overlaps `stretch`."""
    config = services.config
    named = find_range(
        memory.text[:_HEAD_CHARS],
        now=memory.happened_at,
        zone=config.time_zone,
        week_start=config.week_start,
    )
    if named is None:
        return False
    first, second = named.range, stretch
    begins = first.start is None or second.end is None or first.start < second.end
    return begins and (second.start is None or first.end is None or second.start < first.end)
