"""`store.moments`: what enters a session of a client unasked, at its moments."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve, frozen

from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.criteria import Cut
from infinite_memory.core.values.hits import Hit
from infinite_memory.core.values.memory import Kind, Memory, Origin, shorten
from infinite_memory.engine.id_endings import shorten_ids
from infinite_memory.engine.retrieval.search import find_hits
from infinite_memory.engine.retrieval.search_request import SearchRequest
from infinite_memory.engine.services import Services
from infinite_memory.features.overviews.sections import count_tokens, describe_origin, write_memory
from infinite_memory.features.overviews.values import ShownMemory
from infinite_memory.features.projects.session_context import brief_scope
from infinite_memory.features.sessions.project_scope import existing_project_scope
from infinite_memory.features.sessions.shown import ShownMemories
from infinite_memory.search.text.quotation import NOTICE
from infinite_memory.search.text.token_estimate import estimate_tokens
from infinite_memory.store.lifetime import Group
from infinite_memory.store.opening import find_project

SESSION_TOKENS = 500
"""The budget of the briefing at the start of a session."""

_PROMPT_TOKENS = 150
_TEXT_CHARS = 240
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


class Moments(Group):
    """What enters a session of a client unasked.

    A session is named by its client, and `folder` is the one that it works in. What a session was
    shown is noted in the home folder and is not shown to it again.
    """

    def begin_session(
        self, folder: str, *, session: str = "", budget: int = SESSION_TOKENS
    ) -> Moment:
        """Return the briefing for a session that begins in `folder`, or begins anew.

        Raises:
            InvalidInput: the budget cannot be used.
        """
        services = self._services
        scope = existing_project_scope(services, folder)
        briefing = brief_scope(services, scope, budget=budget, folder=folder)
        shown = ShownMemories(services.config.home, session)
        shown.forget()
        moment = Moment(
            text=briefing.text,
            ids=tuple(item.id for section in briefing.sections for item in section.items),
            tokens=briefing.tokens,
        )
        shown.add("start", moment.ids, tokens=moment.tokens)
        return moment

    def recall_for_prompt(self, prompt: str, *, folder: str = "", session: str = "") -> Moment:
        """Return the memories that almost surely help with a prompt, at most three, else nothing.

        They are of the project in `folder`, of its parents, of `Global`, and of the scopes that the
        prompt names. What the session was shown before, and what it said itself, is left out.
        """
        text = _shorten_prompt(prompt)
        services = self._services
        if not text:
            return Moment()
        at_work = evolve(services, find_project_scope=find_project(folder or None, services.config))
        scope = None if at_work.project is not None else services.default_scope
        request = SearchRequest(
            text=text, conditions={"scope": scope}, cut=Cut.PUSHED, may_miss=True
        )
        shown = ShownMemories(services.config.home, session)
        known = shown.read()
        new = [
            hit
            for hit in find_hits(at_work, request)
            if hit.memory.id not in known and _may_enter(hit.memory, session)
        ]
        moment = _write_hits(at_work, new)
        if moment.ids:
            recalled = (hit.memory for hit in new if hit.memory.id in moment.ids)
            services.note_returned(recalled, is_recall=True)
            shown.add("prompt", moment.ids, tokens=moment.tokens)
        return moment


def _may_enter(memory: Memory, session: str) -> bool:
    """Return whether a memory is neither of the session itself nor the talk of an assistant."""
    is_talk = memory.kind is Kind.MESSAGE and memory.origin is Origin.ASSISTANT
    return not is_talk and not (session and memory.conversation_id == session)


def _write_hits(services: Services, hits: Sequence[Hit]) -> Moment:
    """Return as many of `hits` as fit in the budget of a prompt, the best first."""
    endings = shorten_ids(services, [hit.memory.id for hit in hits])
    zone, usual = services.config.time_zone, services.default_scope
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
