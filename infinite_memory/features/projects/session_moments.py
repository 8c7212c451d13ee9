"""What enters a session of a client unasked: a briefing at its start, and memories at a prompt."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

from attrs import evolve, frozen

from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.criteria import Conditions, Cut, Mode
from infinite_memory.core.values.hits import Hit
from infinite_memory.core.values.memory import shorten
from infinite_memory.core.values.scope import find_spelling, fold_name
from infinite_memory.engine.id_endings import shorten_ids
from infinite_memory.engine.retrieval.search import find_hits
from infinite_memory.engine.retrieval.search_request import SearchRequest, find_named_scopes
from infinite_memory.engine.services import Services
from infinite_memory.engine.trivial import is_trivial
from infinite_memory.features.overviews.sections import count_tokens, describe_origin, write_memory
from infinite_memory.features.overviews.values import ShownMemory
from infinite_memory.features.projects.session_context import brief_scope
from infinite_memory.features.sessions.project_scope import find_active_project
from infinite_memory.features.sessions.shown import ShownMemories
from infinite_memory.search.text.question_terms import split_terms
from infinite_memory.search.text.quotation import NOTICE
from infinite_memory.search.text.token_estimate import estimate_tokens

_PROMPT_TOKENS = 150
_TEXT_CHARS = 240
# The scope of one repository may begin with that of another: "repo/a/app" and "repo/a/app~2".
_END_OF_NAME = r"(?![a-z0-9_~/-]|\.[a-z0-9])"
# "Thanks!" and "next" ask for nothing, whatever is stored.
_LEAST_TERMS = 2
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


def begin_session(services: Services, folder: str, *, session: str, budget: int) -> Moment:
    """Return the briefing for a session; see `Conversations.begin_session`.

    Raises:
        InvalidInput: the budget cannot be used.
    """
    briefing = brief_scope(services, None, budget=budget, folder=folder)
    moment = Moment(
        text=briefing.text,
        ids=tuple(item.id for section in briefing.sections for item in section.items),
        tokens=briefing.tokens,
    )
    shown = ShownMemories(services.config.home, session)
    shown.forget()
    shown.add("start", moment.ids, tokens=moment.tokens)
    return moment


def recall_for_prompt(
    services: Services, prompt: str, *, folder: str, session: str, within: float | None
) -> Moment:
    """Return what almost surely helps with a prompt; see `Conversations.recall_for_prompt`."""
    begun, text = time.monotonic(), _shorten_prompt(prompt)
    if is_trivial(text) or len(split_terms(text)[0]) < _LEAST_TERMS:
        return Moment()
    project, named = find_active_project(services, folder), _find_named_scopes(services, text)
    own = project and find_spelling(project.name, services.storage.scopes())
    # A search without a scope reads every project where none is at work, or nothing is kept of it.
    scope = None if own else [services.default_scope, *named]
    # Unasked, nothing comes up that no longer holds, whatever the words of the prompt ask for.
    conditions: Conditions = {"scope": scope, "mode": Mode.CURRENT}
    request = SearchRequest(text=text, conditions=conditions, cut=Cut.PUSHED, may_miss=True)
    shown = ShownMemories(services.config.home, session)
    known = shown.read()
    hits = find_hits(evolve(services, find_project_scope=lambda: project), request)
    if within is not None and time.monotonic() - begun > within:
        return Moment()
    foreign = {*hits.named} - named - {own}
    new = [
        hit
        for hit in hits
        if hit.memory.id not in known
        and hit.memory.scope not in foreign
        and not (session and hit.memory.conversation_id == session)
    ]
    usual = services.default_scope if project is None else project.name
    moment = _write_hits(services, new, usual)
    if moment.ids:
        recalled = (hit.memory for hit in new if hit.memory.id in moment.ids)
        services.note_returned(recalled, is_recall=True)
        shown.add("prompt", moment.ids, tokens=moment.tokens)
    return moment


def _find_named_scopes(services: Services, text: str) -> frozenset[str]:
    """Return the scopes that a prompt names whole, or by a keyword.

    "The app" names many an app by chance: unasked, the last part of a name alone does not do.
    """
    scopes, folded = services.storage.scopes(), fold_name(text)
    return frozenset(
        name
        for name in find_named_scopes(services, text)
        if (scope := scopes.get(name)) is not None
        and (
            re.search(f"{re.escape(scope.folded_name)}{_END_OF_NAME}", folded)
            or any(fold_name(word) in folded for word in scope.keywords)
        )
    )


def _write_hits(services: Services, hits: Sequence[Hit], usual: str) -> Moment:
    """Return as many of `hits` as fit in the budget of a prompt, the best first.

    The scope of a memory is named unless it is the `usual` one.
    """
    endings = shorten_ids(services, [hit.memory.id for hit in hits])
    zone = services.config.time_zone
    lines, ids = [f"From the memory. {NOTICE}"], []
    left = _PROMPT_TOKENS - count_tokens(lines[0])
    for hit in hits:
        memory, text = hit.memory, shorten(_choose_text(hit), _TEXT_CHARS)
        item = ShownMemory.of(memory, endings[memory.id], text)
        line = write_memory(item, describe_origin(item), usual=usual, zone=zone)
        left -= count_tokens(line)
        if left < 0:
            break
        lines.append(line)
        ids.append(memory.id)
    if not ids:
        return Moment()
    text = "\n".join(lines)
    return Moment(text=text, ids=tuple(ids), tokens=estimate_tokens(text))


def _choose_text(hit: Hit) -> str:
    start, end = hit.highlight or (0, len(hit.memory.text))
    return hit.memory.text[start:end]


def _shorten_prompt(prompt: str) -> str:
    text = prompt.strip()
    if len(text) <= 2 * _PROMPT_CHARS:
        return text
    return f"{text[:_PROMPT_CHARS]}\n{text[-_PROMPT_CHARS:]}"
