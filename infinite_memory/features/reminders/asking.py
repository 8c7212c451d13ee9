"""What a question asks to be listed: all of a kind, or what comes, where it names nothing else.

"My open problems in Apollo" has the name of a kind, of a state and of a scope; "what is on
tomorrow?" has a time to come. The search compares texts, and what is listed has none of these.
"""

from __future__ import annotations

from functools import cache, partial

from attrs import frozen

from infinite_memory import times
from infinite_memory.core.values.criteria import Cut, Depth
from infinite_memory.core.values.hits import Hits
from infinite_memory.core.values.memory import Kind
from infinite_memory.core.values.time_range import Reading, TimeRange, format_range
from infinite_memory.engine.retrieval.search_request import SearchRequest
from infinite_memory.engine.services import Services
from infinite_memory.features.reminders.states import State, When
from infinite_memory.search.text.analyzer import terms, word_spans
from infinite_memory.search.text.question_terms import MOST_TERMS, find_subject

LISTED = frozenset(
    {
        *(Kind.REMINDER, Kind.PROBLEM, Kind.SOLUTION, Kind.CODE_CHANGE),
        *(Kind.DECISION, Kind.LESSON, Kind.SUMMARY),
    }
)
"""The kinds that a question may list by their names; others are words of any text."""

_DUE = "due"
# They stand for what is listed, and are no subject of their own.
_PRONOUNS = "anything something everything"
# A longer text is no question that names nothing else.
_MOST_CHARS = 200


@frozen(kw_only=True)
class Listing:
    """What a question lists: the kinds and the states that it names, the time to come, the scopes.

    `scopes` is None for all, and `limit` how many hits there are. `leads` is whether what is listed
    answers the question, and comes before what the search found.
    """

    names: frozenset[str]
    time: Reading | None
    scopes: frozenset[str] | None
    limit: int
    leads: bool = True
    is_alone: bool = False


def read_listing(services: Services, request: SearchRequest, hits: Hits) -> Listing | None:
    """Return what the question of a search lists beside its `hits`, None for nothing.

    A search with a condition other than scopes, a threshold or an offset lists nothing, nor does
    one that nobody asked for.
    """
    given = {name for name, value in request.conditions.items() if value}
    is_narrowed = bool(given - {"scope"}) or request.threshold is not None or request.offset
    now, text = services.clock(), request.text
    is_asked = hits.depth is Depth.NORMAL and request.cut != Cut.PUSHED
    if is_narrowed or not is_asked or len(text) > _MOST_CHARS:
        return None
    time, span = _read_time(services, text)
    lies_ahead = time is not None and (time.range.start or now) > now
    subject = find_subject(text) - _pronoun_terms()
    subject -= {term for name in hits.named for term in terms(name)}
    left = [
        found
        for word, start, _ in word_spans(text)
        if not span[0] <= start < span[1] and (found := subject.intersection(terms(word)))
    ]
    make = partial(
        Listing,
        time=time,
        scopes=frozenset(hits.named) or (None if hits.scopes is None else frozenset(hits.scopes)),
        limit=services.config.search.limit if request.limit is None else request.limit,
    )
    names = _name_terms()
    named = [names[term] for found in left for term in found if term in names]
    if len(named) >= len(left) and (named or time):
        # "What did I do this week?" asks for what happened.
        leads = bool(named) or lies_ahead or not hits.likely
        return make(names=frozenset(named), leads=leads, is_alone=lies_ahead)
    # With more words, a question has a subject that the time in it only describes.
    if time is not None and len(left) <= MOST_TERMS and not hits.likely:
        return make(names=frozenset())
    return None


def _read_time(services: Services, text: str) -> tuple[Reading | None, tuple[int, int]]:
    """Return the time to come that a question names, and its characters."""
    now, config = services.clock(), services.config
    zone, week_start = config.time_zone, config.week_start
    days = times.find_days(text, told_at=now, since=now, zone=zone, week_start=week_start)
    if days:
        (start, end), stretch = days[0].span, TimeRange(start=days[0].start, end=days[0].end)
        words = text[start:end]
        said = f"{words}: {format_range(stretch, zone)}"
        return Reading(words=words, range=stretch, span=(start, end), said=said), (start, end)
    reading = times.find_range(text, now=now, zone=zone, week_start=week_start)
    if reading is None or reading.range.start is None or reading.range.end is None:
        return None, (0, 0)
    return reading if reading.range.end > now else None, reading.span


@cache
def _name_terms() -> dict[str, str]:
    """Return the names of kinds, states and places in time, by their index terms."""
    names = [*LISTED, *State, *When, _DUE]
    return {found[0]: str(name) for name in names if len(found := terms(str(name))) == 1}


@cache
def _pronoun_terms() -> frozenset[str]:
    return frozenset(terms(_PRONOUNS))
