"""What enters a session of a client unasked: a briefing at its start, and memories at a prompt."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from attrs import evolve, frozen

from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.criteria import Conditions, Cut, Mode
from infinite_memory.core.values.hits import Hit
from infinite_memory.core.values.memory import INFERRED, Kind, Memory, shorten
from infinite_memory.core.values.scope import Scope, find_spelling, fold_name
from infinite_memory.core.values.timestamps import in_zone
from infinite_memory.engine.id_endings import shorten_ids
from infinite_memory.engine.retrieval.messages import is_asking
from infinite_memory.engine.retrieval.search import find_hits
from infinite_memory.engine.retrieval.search_request import SearchRequest, find_named_scopes
from infinite_memory.engine.scopes import ALL, choose_scopes
from infinite_memory.engine.services import Services
from infinite_memory.engine.trivial import is_trivial
from infinite_memory.features.overviews.sections import (
    LOWEST_TOKENS,
    count_tokens,
    describe_origin,
    join_title,
    write_memory,
)
from infinite_memory.features.overviews.values import ShownMemory
from infinite_memory.features.projects.session_context import brief_scope
from infinite_memory.features.reminders.long_term.firing import count_firing
from infinite_memory.features.reminders.long_term.prompting import (
    find_prompted,
    start_conditions,
)
from infinite_memory.features.sessions.project_scope import find_active_project
from infinite_memory.features.sessions.shown import ShownMemories
from infinite_memory.features.sessions.statements import speaks_of_self
from infinite_memory.search.text.highlights import asks
from infinite_memory.search.text.question_terms import find_subject, split_terms
from infinite_memory.search.text.quotation import NOTICE, replace_surrogates
from infinite_memory.search.text.token_estimate import estimate_tokens

_TOKENS = 150
_TEXT_CHARS = 240
# The scope of one repository may begin with that of another: "repo/a/app" and "repo/a/app~2".
_END_OF_NAME = r"(?![a-z0-9_~/-]|\.[a-z0-9])"
# "Thanks!" and "next" ask for nothing, whatever is stored; "Really?" does not either.
_LEAST_TERMS, _LEAST_WORDS_ASKED = 2, 3
# What a prompt asks for stands at its beginning or at its end.
_PROMPT_CHARS = 1000


@frozen(kw_only=True)
class Moment(PlainData):
    """What is shown at a moment of a session: the `text`, "" for nothing, framed as stored data.

    `ids` are the memories in it, and `tokens` what it takes by estimate.
    """

    text: str = ""
    ids: tuple[str, ...] = ()
    tokens: int = 0


@frozen(kw_only=True)
class Candidate:
    """A memory that may be shown at a moment: the part of its `text`, and the date it stands under.

    `is_fired` is whether it is a reminder, which comes up without a recall.
    """

    memory: Memory
    text: str
    at: datetime
    is_fired: bool = False


def begin_session(
    services: Services,
    folder: str,
    *,
    session: str,
    budget: int,
    resumed: bool = False,
    offer: Callable[[], str],
) -> Moment:
    """Return the briefing for a session; see `Conversations.begin_session`.

    The line that `offer` makes, unless it is "", is its last one, in one session a day.

    Raises:
        InvalidInput: the budget cannot be used.
    """
    shown, now = ShownMemories(services.config.home, session), services.clock()
    if resumed and _is_same_day(services, shown.read_begin(now), now) and shown.read():
        return Moment()  # the client keeps what the session was shown
    offered = _offer_daily(services, offer, budget, now) if session else ""
    room = budget - estimate_tokens(offered) if offered else budget
    briefing = brief_scope(services, None, budget=room, folder=folder)
    text = f"{briefing.text}{offered}"
    moment = Moment(
        text=text,
        ids=tuple(item.id for section in briefing.sections for item in section.items),
        tokens=estimate_tokens(text),
    )
    start_conditions(services)
    project = find_active_project(services, folder)
    scope = "" if project is None else project.name
    shown.add("start", moment.ids, tokens=moment.tokens, at=now, scope=scope)
    return moment


def _offer_daily(services: Services, offer: Callable[[], str], budget: int, now: datetime) -> str:
    """Return what ends a briefing: `offer()`, "" if that was shown today or does not fit."""
    day = in_zone(now, services.config.time_zone).date()
    # It is noted as a session of its own, which every client of the home folder knows.
    log = ShownMemories(services.config.home, f"offer of {day}")
    if log.has_begun:
        return ""
    text = f"\n\n{line}" if (line := offer()) else ""
    fits = budget - estimate_tokens(text) >= LOWEST_TOKENS
    return text if text and fits and log.begin_once() else ""


def _is_same_day(services: Services, first: datetime, second: datetime) -> bool:
    zone = services.config.time_zone
    return in_zone(first, zone).date() == in_zone(second, zone).date()


def recall_for_prompt(
    services: Services,
    prompt: str,
    *,
    folder: str,
    session: str,
    within: float | None,
    find_short_term: Callable[[str, str], Sequence[Hit]],
) -> Moment:
    """Return what comes up at a prompt; see `Conversations.recall_for_prompt`.

    `find_short_term` returns what surely helps of the short-term memories of a conversation.
    """
    until, text = find_end(within), _shorten_prompt(prompt)
    project = find_active_project(services, folder)
    log = ShownMemories(services.config.home, session)
    known = log.read()
    reminders = find_prompted(
        services,
        [{"role": "user", "content": text}] if text else [],
        find_session_scopes(services, project),
        conversation_id=session,
        since=log.read_begin(services.clock()),
        without=known,
    )
    candidates = [
        Candidate(memory=memory, text=join_title(memory, memory.text), at=at, is_fired=True)
        for at, memory in reminders
    ]
    taken = {memory.id for _, memory in reminders} | known
    hits: list[Hit] = []
    if _asks_for_help(text):
        said = find_short_term(text, session) if session else ()
        found = _find_helpful(services, text, project)
        hits = [each for each in found if not session or each.memory.conversation_id != session]
        hits = [each for each in (*said, *hits) if not is_asking(each.memory)]
    candidates += [
        Candidate(memory=hit.memory, text=_choose_text(hit), at=hit.memory.happened_at)
        for hit in hits
        if hit.memory.id not in taken
    ]
    return show_memories(services, "prompt", candidates, project, log, until=until)


def find_end(within: float | None) -> float:
    """Return the second of `time.monotonic` at which nobody waits any more."""
    return math.inf if within is None else time.monotonic() + within


def find_session_scopes(services: Services, project: Scope | None) -> frozenset[str] | None:
    """Return the scopes whose memories may come up unasked in a project; None for all.

    They are the scope of the project or else the default scope, its parents, and `Global`.
    """
    # Without a scope every project is read where none is at work, or nothing is kept of it.
    scope = None if _find_own_scope(services, project) else services.default_scope
    placed = evolve(services, find_project_scope=lambda: project)
    return choose_scopes(scope, placed, may_miss=True).scopes


def _find_own_scope(services: Services, project: Scope | None) -> str | None:
    """Return the name of the scope of a project, None if nothing is kept of it."""
    return None if project is None else find_spelling(project.name, services.storage.scopes())


def _asks_for_help(text: str) -> bool:
    """Return whether a memory may help with a prompt at all."""
    is_question = asks(text) and len(text.split()) >= _LEAST_WORDS_ASKED
    return not is_trivial(text) and (is_question or len(split_terms(text)[0]) >= _LEAST_TERMS)


def _find_helpful(services: Services, text: str, project: Scope | None) -> list[Hit]:
    """Return the memories that almost surely help with a prompt, the best first."""
    own, named = _find_own_scope(services, project), _find_named_scopes(services, text)
    scope = None if own else [services.default_scope, *named]
    # Unasked, nothing comes up that no longer holds, whatever the words of the prompt ask for.
    conditions: Conditions = {"scope": scope, "mode": Mode.CURRENT}
    request = SearchRequest(text=text, conditions=conditions, cut=Cut.PUSHED, may_miss=True)
    hits = find_hits(evolve(services, find_project_scope=lambda: project), request)
    foreign = {*hits.named} - {*named} - {own}
    found = [
        hit
        for hit in hits
        if hit.memory.scope not in foreign
        and not is_asking(hit.memory)
        and _says_itself(hit.memory, text)
    ]
    return found or _find_told_elsewhere(services, request)


def _says_itself(memory: Memory, text: str) -> bool:
    """Return whether a memory is no message of an assistant that names nothing of a prompt.

    "Saved, I will remember that" is found by the message before it.
    """
    is_answer = memory.kind is Kind.MESSAGE and memory.speaker == "assistant"
    return not is_answer or not find_subject(text).isdisjoint(find_subject(memory.text))


def _find_told_elsewhere(services: Services, request: SearchRequest) -> list[Hit]:
    """Return what the user said of themselves in sessions of any project, for the same prompt."""
    conditions: Conditions = {**request.conditions, "scope": ALL, "kinds": [Kind.FACT]}
    hits = find_hits(services, evolve(request, conditions=conditions))
    return [
        hit
        for hit in hits
        if hit.memory.context.get(INFERRED) == "session"
        and speaks_of_self(hit.memory.text, alone=True)
    ]


def _find_named_scopes(services: Services, text: str) -> frozenset[str]:
    """Return the scopes that a prompt names whole, or by a keyword.

    "The app" names many an app by chance: unasked, the last part of a name alone does not do.
    """
    scopes, folded = services.storage.scopes(), fold_name(text)
    return frozenset(
        name
        for name in find_named_scopes(services, text, scopes)
        if (scope := scopes.get(name)) is not None
        and (
            re.search(f"{re.escape(scope.folded_name)}{_END_OF_NAME}", folded)
            or any(fold_name(word) in folded for word in scope.keywords)
        )
    )


def show_memories(
    services: Services,
    moment: str,
    candidates: Sequence[Candidate],
    project: Scope | None,
    log: ShownMemories,
    *,
    until: float,
    title: str = "From the memory.",
) -> Moment:
    """Return as many of the first candidates as fit in the budget of a moment, and note it.

    After `until`, see `find_end`, nothing is returned or noted. The scope of a memory is named
    unless it is the usual one of the session.
    """
    usual = services.default_scope if project is None else project.name
    endings = shorten_ids(services, [each.memory.id for each in candidates])
    zone = services.config.time_zone
    lines, shown = [f"{title} {NOTICE}"], []
    left = _TOKENS - count_tokens(lines[0])
    for each in candidates:
        memory = each.memory
        text = shorten(each.text, _TEXT_CHARS)
        item = ShownMemory.of(memory, endings[memory.id], text, at=each.at)
        line = write_memory(item, describe_origin(item), usual=usual, zone=zone)
        left -= count_tokens(line)
        if left < 0:
            break
        lines.append(line)
        shown.append(each)
    if not shown or time.monotonic() > until:
        return Moment()
    text = "\n".join(lines)
    written = Moment(
        text=text,
        ids=tuple(each.memory.id for each in shown),
        tokens=estimate_tokens(text),
    )
    now = services.clock()
    services.note_returned(_list_memories(shown, is_fired=False), is_recall=True)
    count_firing(services, _list_memories(shown, is_fired=True), (), now)
    scope = "" if project is None else project.name
    log.add(moment, written.ids, tokens=written.tokens, at=now, scope=scope)
    return written


def _list_memories(shown: Iterable[Candidate], *, is_fired: bool) -> list[Memory]:
    return [each.memory for each in shown if each.is_fired == is_fired]


def _choose_text(hit: Hit) -> str:
    start, end = hit.highlight or (0, len(hit.memory.text))
    return hit.memory.text[start:end]


def _shorten_prompt(prompt: str) -> str:
    text = replace_surrogates(prompt).strip()
    if len(text) <= 2 * _PROMPT_CHARS:
        return text
    return f"{text[:_PROMPT_CHARS]}\n{text[-_PROMPT_CHARS:]}"
