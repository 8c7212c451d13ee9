"""The parameters of a search, and their validation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from infinite_memory import times
from infinite_memory.core.config import Config
from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.checks import (
    check_choice,
    check_count,
    check_field,
    check_flag,
    check_label,
    check_labels,
)
from infinite_memory.core.values.criteria import Conditions, Criteria, Cut, Depth, Inherited, Mode
from infinite_memory.core.values.memory import Kind, Status
from infinite_memory.core.values.question import Arm, Question
from infinite_memory.core.values.scope import Scope, ScopeTable
from infinite_memory.engine.retrieval.validity import in_tense, tense_of
from infinite_memory.engine.scopes import choose_scopes, list_open_scopes
from infinite_memory.engine.services import Services
from infinite_memory.search.text.analyzer import word_spans

if TYPE_CHECKING:
    from infinite_memory.core.values.time_range import Reading
    from infinite_memory.core.values.timestamps import TimeLike


DEFAULT_THRESHOLD = 0.005
# The number of best matches that the default threshold never leaves out.
_SPARED = 5
_EXHAUSTIVE_LIMIT = 50
MAX_LIMIT = 1000
_MAX_OFFSET = 100_000
_MAX_QUESTION_CHARS = 100_000
_MAX_TIMED_CHARS = 4_000


# Words that ask for what held before it changed. Some mean that only beside a verb in the past:
# "before" and "früher" may also name a time to come.
_EARLIER = re.compile(
    r"\b(?:at first|originally|initially|previously|formerly)\b"
    r"|\bdid\b.{1,200}?\buse to\b|\b(?:i|we|you|he|she|it|they|there|what|who|where) used to\b"
    r"|\b(?:was|were|had)\b.{1,200}?\bbefore (?:the|it|we|i|they|he|she)\b"
    r"|\b(?:ursprünglich\w*|anfangs)\b"
    r"|\b(?:war|waren|hatten?|wurden?|haben)\b.{1,200}?\b(?:zuerst|zunächst|früher|vorher)\b(?!.*\bzu\b)"
    r"|\b(?:al principio(?! del? )|originalmente|inicialmente|anteriormente)\b"
    r"|\b(?:au début(?! d)|à l.origine|initialement|auparavant|autrefois)\b"
    r"|\b(?:изначально|первоначально|поначалу)\b"
    r"|\w{2}л[аои]?\b.{1,200}?\b(?:сначала|раньше|прежде)\b"
    r"|\b(?:сначала|раньше|прежде) \w{2,}л[аои]?\b"
    "|原来|最初|起初|一开始|原先|(?:^|[，。])以前|以前(?:是|用|住|叫|的)",
    re.IGNORECASE,
)


# A question of several sentences tells a story of its own.
_GOES_ON = re.compile(r"[.!?]\s|[。！？].|\n")


@frozen(kw_only=True)
class SearchRequest:
    """The parameters of a search as the caller gave them, not validated yet.

    The defaults of `limit` and `threshold` depend on the depth and the configuration, the default
    of the condition `statuses` on depth and mode. `may_miss` says that nothing is found in a scope
    that does not exist yet, where it is an error otherwise.
    """

    text: str
    conditions: Conditions
    limit: int | None = None
    threshold: float | None = None
    arms: Iterable[str] = tuple(Arm)
    depth: str = Depth.NORMAL
    cut: str = Cut.WIDE
    offset: int = 0
    explain: bool = False
    may_miss: bool = False


@frozen(kw_only=True)
class _Defaults:
    limit: int
    threshold: float
    spared: int = _SPARED


def _defaults_at(depth: Depth, config: Config) -> _Defaults:
    """Return what a search at `depth` uses where its caller gives no value."""
    settings = config.search
    if depth is Depth.EXHAUSTIVE:
        return _Defaults(limit=max(_EXHAUSTIVE_LIMIT, settings.limit), threshold=0.0)
    if settings.threshold is None:
        return _Defaults(limit=settings.limit, threshold=DEFAULT_THRESHOLD)
    return _Defaults(limit=settings.limit, threshold=settings.threshold, spared=0)


def build_question(services: Services, request: SearchRequest, *, leads: bool = False) -> Question:
    """Return the validated question; `leads` as in `build_criteria`.

    Raises:
        InvalidInput: the question is empty, or a value cannot be used.
        UnknownScope: a scope does not exist.
    """
    depth = check_choice(request.depth, Depth, "depth")
    defaults = _defaults_at(depth, services.config)
    limit = defaults.limit if request.limit is None else request.limit
    earlier = _asks_for_earlier(request)
    if earlier:
        request = evolve(request, conditions={**request.conditions, "mode": Mode.HISTORY})
    question = Question(
        text=_question_text(request.text),
        criteria=build_criteria(
            services, request.text, request.conditions, leads=leads, may_miss=request.may_miss
        ),
        limit=check_count(limit, "limit", low=1, high=MAX_LIMIT),
        threshold=_threshold(
            defaults.threshold if request.threshold is None else request.threshold
        ),
        arms=_arms(request.arms),
        cut=_choose_cut(request),
        explain=check_flag(request.explain, "explain"),
        earlier=earlier,
        offset=check_count(request.offset, "offset", low=0, high=_MAX_OFFSET),
    )
    question = evolve(question, time=_time_named_in(services, question))
    return at_depth(services, question, request, depth)


def _asks_for_earlier(request: SearchRequest) -> bool:
    """Return whether one sentence asks for what held before, and the caller gives no time."""
    text, given = request.text, request.conditions
    if not isinstance(text, str) or len(text) > _MAX_TIMED_CHARS or not _EARLIER.search(text):
        return False
    is_timed = any(given.get(name) for name in ("mode", "as_of", "statuses"))
    return not is_timed and _GOES_ON.search(text.strip()) is None


def at_depth(
    services: Services, question: Question, request: SearchRequest, depth: Depth
) -> Question:
    """Return `question`, the validated form of `request`, at another depth.

    The depth decides the statuses, the limit and the threshold that the caller did not give, and
    whether topic summaries are searched.
    """
    defaults, criteria = _defaults_at(depth, services.config), question.criteria
    if criteria.tense is not None:
        given = "statuses" in request.conditions
        criteria = in_tense(criteria, criteria.tense, depth, statuses_given=given)
    criteria = evolve(criteria, topic_summaries=True)
    if depth is Depth.NORMAL:
        criteria = leave_out_topics(criteria)
    return evolve(
        question,
        depth=depth,
        spared=defaults.spared if request.threshold is None else 0,
        criteria=criteria,
        limit=defaults.limit if request.limit is None else question.limit,
        threshold=defaults.threshold if request.threshold is None else question.threshold,
    )


def leave_out_topics(criteria: Criteria) -> Criteria:
    """Return `criteria` without topic summaries, unless their kinds name summaries."""
    return evolve(criteria, topic_summaries=Kind.SUMMARY in (criteria.kinds or ()))


def build_criteria(
    services: Services,
    question: str,
    conditions: Conditions,
    *,
    leads: bool = False,
    may_miss: bool = False,
) -> Criteria:
    """Return the criteria for validated `conditions`; the question may name scopes.

    `leads` says that the caller puts the memories of `Criteria.leading` first; `may_miss` is as in
    `SearchRequest`.

    Raises:
        InvalidInput: a condition is unknown, or its value cannot be used.
        UnknownScope: a scope does not exist.
    """
    for name in conditions:
        known, also = Conditions.__annotations__, SearchRequest.__annotations__
        check_field(name, known, lack="a search has no condition", also=also)
    criteria = _criteria(services, question, may_miss=may_miss, **conditions)
    criteria = _place_inherited(criteria, conditions, leads)
    tense = tense_of(services, conditions.get("mode"), conditions.get("as_of"))
    criteria = in_tense(criteria, tense, Depth.NORMAL, statuses_given="statuses" in conditions)
    if criteria.scopes is None and (not criteria.statuses or Status.FORGOTTEN in criteria.statuses):
        # A forgotten memory may be in a scope that was removed, and perhaps was private.
        return evolve(criteria, scopes=frozenset(services.storage.scopes()))
    return criteria


def _place_inherited(criteria: Criteria, conditions: Conditions, leads: bool) -> Criteria:
    """Return criteria whose `leading` are the own scopes, changed as `inherited` asks for."""
    place = check_choice(conditions.get("inherited") or Inherited.MIXED, Inherited, "inherited")
    own = criteria.leading
    if place is Inherited.NONE and own is not None:
        return evolve(criteria, scopes=own, leading=None)
    if place is not Inherited.LAST:
        return evolve(criteria, leading=None)
    if not leads:
        raise InvalidInput(
            f"inherited {str(place)!r} is for a search or a list of scopes: give"
            f" {str(Inherited.MIXED)!r} or {str(Inherited.NONE)!r}"
        )
    return criteria


def _criteria(
    services: Services,
    question: str,
    *,
    may_miss: bool,
    scope: str | Iterable[str] | None = None,
    tags: Sequence[str] = (),
    kinds: Iterable[str] = (),
    statuses: Iterable[str] = (),
    conversation_id: str | None = None,
    since: TimeLike | None = None,
    until: TimeLike | None = None,
    when: str | None = None,
    **_tense: object,
) -> Criteria:
    start = None if since is None else services.read_time(since, "since")
    end = None if until is None else services.read_time(until, "until")
    reading = None if when is None else _reading(services, when, alone=start is end is None)
    if reading is not None:
        start, end = reading.range.start, reading.range.end
    if start is not None and end is not None and end <= start:
        raise InvalidInput(f"until {end.isoformat()} must be later than since {start.isoformat()}")
    if conversation_id is not None:
        conversation_id = check_label(conversation_id, "conversation_id")
    scopes = services.storage.scopes()
    named = find_named_scopes(services, question, scopes) if scope is None else frozenset()
    choice = choose_scopes(
        scope, services, conversation_id, named=named, may_miss=may_miss, scopes=scopes
    )
    return Criteria(
        scopes=choice.scopes,
        active=choice.active,
        named=choice.named,
        leading=choice.own,
        missing=choice.missing,
        tags=check_labels(() if tags is None else tags, "tags"),
        kinds=frozenset(check_choice(kind, Kind, "kind") for kind in _as_list(kinds)) or None,
        statuses=frozenset(check_choice(s, Status, "status") for s in _as_list(statuses)) or None,
        conversation_id=conversation_id,
        since=start,
        until=end,
        when=reading,
    )


def find_named_scopes(services: Services, text: str, scopes: Mapping[str, Scope]) -> frozenset[str]:
    """Return the open ones of all `scopes` that occur in `text` word by word, in any letter case.

    A scope is called by its name, by the last part of a name with slashes, and by its keywords.
    """
    words, table = _list_words(text), ScopeTable.of(scopes)
    called = table.names_by(_list_calls)
    said = (
        " ".join(words[start : start + length])
        for length in table.names_by(_list_lengths)
        if isinstance(length, int)
        for start in range(len(words) - length + 1)
    )
    named = frozenset(n for phrase in said if phrase in called for n in called[phrase])
    return named & list_open_scopes(services, table) if named else named


def _list_calls(scope: Scope) -> list[str]:
    """Return what a question may call a scope, each as words with a space between."""
    names = (scope.name, scope.name.rpartition("/")[2], *scope.keywords)
    return [words for name in names if len(words := " ".join(_list_words(name))) > 1]


def _list_lengths(scope: Scope) -> list[int]:
    """Return how many words each of `_list_calls` has."""
    return [words.count(" ") + 1 for words in _list_calls(scope)]


def _list_words(text: str) -> list[str]:
    return [word for word, _, _ in word_spans(text)]


def _reading(services: Services, when: str, *, alone: bool) -> Reading:
    if not alone:
        raise InvalidInput(
            f"when {when!r:.100} cannot go together with since or until: leave it out, or write"
            ' one period, such as "from March to May"'
        )
    config = services.config
    return times.read_range(
        when, now=services.clock(), zone=config.time_zone, week_start=config.week_start
    )


def _time_named_in(services: Services, question: Question) -> Reading | None:
    """Return the time that the words of the question name, None if the caller gave a time.

    A text of many sentences is compared with memories, and its times are those of its own story.
    """
    criteria, config = question.criteria, services.config
    if any((criteria.since, criteria.until, criteria.as_of, criteria.when)):
        return None
    if len(question.text) > _MAX_TIMED_CHARS:
        return None
    return times.find_range(
        question.text, now=services.clock(), zone=config.time_zone, week_start=config.week_start
    )


def _question_text(text: object) -> str:
    if not isinstance(text, str) or not text.strip():
        raise InvalidInput(f"query {text!r:.100} is empty: give words to look for")
    if len(text) > _MAX_QUESTION_CHARS:
        raise InvalidInput(
            f"query has {len(text):,} characters and the limit is {_MAX_QUESTION_CHARS:,}:"
            " shorten it"
        )
    # Half a surrogate pair matches nothing, and the tokenizer cannot read it.
    return text.encode(errors="replace").decode()


def _choose_cut(request: SearchRequest) -> Cut:
    """Return the cut of a search; a threshold that the caller gives takes its place."""
    cut = check_choice(request.cut, Cut, "cut")
    return cut if request.threshold is None else Cut.WIDE


def _threshold(value: float) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    raise InvalidInput(f"threshold {value!r:.100} cannot be used: give a number from 0 to 1")


def _arms(names: Iterable[str]) -> frozenset[Arm]:
    arms = frozenset(check_choice(name, Arm, "arm") for name in _as_list(names))
    if not arms:
        raise InvalidInput(f"arms is empty: name at least one of {', '.join(Arm)}")
    return arms


def _as_list(values: str | Iterable[str] | None) -> list[str]:
    if values is None or isinstance(values, str):
        return [values] if values else []
    if not isinstance(values, Iterable):
        raise InvalidInput(f"{values!r:.100} cannot be used: give a name, or a list of names")
    return list(values)
