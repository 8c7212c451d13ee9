"""The briefing with which an assistant should begin a session, from the storage alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime

from attrs import frozen

from infinite_memory.core.errors import StorageError
from infinite_memory.core.values.memory import GLOBAL, Kind, shorten
from infinite_memory.core.values.record import Usage
from infinite_memory.core.values.scope import Sensitivity, find_spelling, visible_from
from infinite_memory.core.values.timestamps import in_zone, show_moment
from infinite_memory.engine.id_endings import shorten_ids
from infinite_memory.engine.retrieval.trust import is_fit_to_tell
from infinite_memory.engine.scopes import known_scope
from infinite_memory.engine.services import Services
from infinite_memory.features.overviews.choosing import Additions, Chosen, choose_memories
from infinite_memory.features.overviews.sections import (
    Fills,
    Section,
    check_budget,
    choose_fitting,
    count_tokens,
    fit_sections,
    join_title,
    write_briefly,
)
from infinite_memory.features.overviews.values import (
    Briefing,
    BriefingItem,
    BriefingPart,
    BriefingSection,
)
from infinite_memory.features.reminders.long_term.values import describe_unchecked
from infinite_memory.features.reminders.states import When
from infinite_memory.search.text.passages import SENTENCE_END
from infinite_memory.search.text.quotation import NOTICE, escape_line, quote_label
from infinite_memory.search.text.token_estimate import estimate_tokens

# The title of each part, the share of the budget that no other part takes, and whether it takes of
# what others leave. Of a project, what holds there comes before more of its user.
_PARTS = {
    BriefingPart.DUE: ("Today and ahead:", 0.4, Fills.LAST),
    BriefingPart.DONE: (
        'Done? (then update_memory(id=reminder, status="archived"))',
        0.15,
        Fills.FIRST,
    ),
    BriefingPart.CONFLICTS: (
        "Which holds? (then update_memory(id, supersedes=[other]))",
        0.12,
        Fills.FIRST,
    ),
    BriefingPart.USER: ("About the user:", 0.1, Fills.LAST),
    BriefingPart.OPEN: ("Open work:", 0.2, Fills.FIRST),
    BriefingPart.HOLDS: ("What holds:", 0.35, Fills.FIRST),
    BriefingPart.SESSIONS: ("Recent sessions:", 0.15, Fills.FIRST),
    BriefingPart.PATTERNS: ("What recurs:", 0.05, Fills.FIRST),
    # More of them would be small talk.
    BriefingPart.RECENT: ("Recent:", 0.2, Fills.NEVER),
    BriefingPart.CONVERSATION: ("The end of the last conversation:", 0.15, Fills.FIRST),
    BriefingPart.ELSEWHERE: ("Next elsewhere:", 0.12, Fills.NEVER),
}
# Their items stand for several memories, which other parts may show as well.
_OF_GROUPS = frozenset({BriefingPart.SESSIONS, BriefingPart.PATTERNS})
_EMPTY = (
    "The memory holds nothing for {scope} yet: store what should last beyond this session, such as"
    " decisions with their reasons, facts, and what the user prefers."
)
# What the layers above add of a memory is short already.
_TEXT_CHARS, _ADDED_CHARS = 140, 240
# A secret is shown to whoever asks for it, so it is looked for in more than is shown of a text.
_LOOKED_AT_CHARS = 2_000
# A line takes more, so that no more memories than the budget has such lines need be looked at.
_LEAST_LINE_TOKENS = 7


def brief(
    services: Services,
    scope: str | None,
    *,
    budget: int,
    add: Callable[[str], Additions],
    folder: str = "",
) -> Briefing:
    """Return the briefing for a scope; see `MemoryStore.briefing`.

    `add` returns what is added to the briefing of the scope, whose name it is given. With a
    `folder` it is for a session that begins there, which did not ask for it: it has nothing that
    was brought in, and where the folder has no scope of its own, the last conversation there.

    Raises:
        InvalidInput: the budget cannot be used.
        UnknownScope: there is no such scope.
    """
    check_budget(budget)
    now, zone = services.clock(), services.config.time_zone
    name, visible = _find_scopes(services, scope)
    additions = add(name)
    here = folder if scope is None else ""
    parts, coming = choose_memories(services, name, visible, additions, here)
    most = budget // _LEAST_LINE_TOKENS
    listed, beyond = _select(parts, additions, most, is_asked=not folder)
    services.note_returned([chosen.memory for part in listed.values() for chosen in part])
    is_personal = name in (GLOBAL, services.default_scope)
    writer = _Writer(
        scope=name,
        is_personal=is_personal,
        now=now,
        zone=zone,
        additions=additions,
        short_ids=_shorten(services, listed),
    )
    sections = {
        part: writer.make_section(part, chosen, beyond[part])
        for part, chosen in listed.items()
        if chosen
    }
    head = [f"From the memory, for {quote_label(name)}, at {show_moment(now, zone)}. {NOTICE}"]
    if scope is not None and name != services.default_scope:
        head.append(f"To search what was said here, name scope {quote_label(name)}.")
    head += [escape_line(additions.headline)] if additions.headline else []
    if coming.unchecked:
        head.append(describe_unchecked(len(coming.unchecked), coming.conditions))
    briefing = _write_briefing(sections, " ".join(head), scope=name, at=now, budget=budget)
    _note_asked(services, briefing, listed[BriefingPart.DONE])
    return briefing


def _note_asked(services: Services, briefing: Briefing, done: Sequence[Chosen]) -> None:
    """Note that a briefing asks whether reminders are done, so that no other one asks again."""
    shown = {item.id for each in briefing.sections for item in each.items}
    asked = {each.day.memory.id for each in done if each.day and each.memory.id in shown}
    if asked and services.usage is not None:
        # Who may read alone is asked again.
        with suppress(StorageError):
            services.usage.store(dict.fromkeys(asked, Usage(count=1, last=services.clock())))


def _select(
    parts: Mapping[BriefingPart, Sequence[Chosen]],
    additions: Additions,
    most: int,
    *,
    is_asked: bool,
) -> tuple[dict[BriefingPart, list[Chosen]], dict[BriefingPart, int]]:
    """Return the first `most` memories of each part, and how many are beyond.

    A memory with a secret or that addresses the model is in none, nor one that was brought in where
    nobody asked for the briefing.
    """
    listed: dict[BriefingPart, list[Chosen]] = {}
    beyond: dict[BriefingPart, int] = {}
    for part in BriefingPart:
        every = parts.get(part, ())
        listed[part], beyond[part] = [], 0
        for number, chosen in enumerate(every):
            if len(listed[part]) == most:
                beyond[part] = len(every) - number
                break
            text = _choose_text(chosen, part, additions)
            is_open = is_asked or not chosen.memory.is_brought_in
            if is_open and is_fit_to_tell(text[:_LOOKED_AT_CHARS]):
                listed[part].append(chosen)
    return listed, beyond


def _shorten(services: Services, listed: Mapping[BriefingPart, Sequence[Chosen]]) -> dict[str, str]:
    """Return the short ids of the memories, and of the reminders that they end."""
    every = [chosen for part in listed.values() for chosen in part]
    return shorten_ids(
        services,
        [each.memory.id for each in every] + [each.day.memory.id for each in every if each.day],
    )


@frozen(kw_only=True)
class _Writer:
    """How the memories of a briefing are written, a line each, for a scope at a moment."""

    scope: str
    is_personal: bool
    now: datetime
    zone: str | None
    additions: Additions
    short_ids: Mapping[str, str]

    def make_section(
        self, part: BriefingPart, listed: Sequence[Chosen], beyond: int
    ) -> Section[BriefingItem]:
        """Return the section of a part; `beyond` further memories are behind those `listed`."""
        title, share, fills = _PARTS[part]
        by_id = {chosen.memory.id: chosen for chosen in listed}
        return Section(
            title=title,
            items=[self._make_item(part, chosen) for chosen in listed],
            share=share,
            fills=Fills.FIRST if part is BriefingPart.USER and self.is_personal else fills,
            beyond=beyond,
            write=lambda item: self._write(part, item, by_id[item.id]),
            rest="({} more)" if part is BriefingPart.HOLDS else "",
            of_groups=part in _OF_GROUPS,
            by_time=part in (BriefingPart.DUE, BriefingPart.CONVERSATION),
        )

    def _make_item(self, part: BriefingPart, chosen: Chosen) -> BriefingItem:
        memory = chosen.memory
        is_added = memory.id in self.additions.texts.get(part, {})
        most = _ADDED_CHARS if is_added else _TEXT_CHARS
        text = shorten(_choose_text(chosen, part, self.additions), most)
        return BriefingItem.of(memory, self.short_ids[memory.id], text, at=chosen.at)

    def _write(self, part: BriefingPart, item: BriefingItem, chosen: Chosen) -> str:
        about, day = [], chosen.day
        local, today = in_zone(item.at, self.zone), in_zone(self.now, self.zone)
        shown = f"{local:%m-%d}" if local.year == today.year else local.date().isoformat()
        if part is BriefingPart.DUE and day is not None:
            shown = f"{local:%a} {shown}" + (f" {local:%H:%M}" if day.is_timed else "")
            about += ["overdue"] if day.when is When.OVERDUE else []
        if part is BriefingPart.DONE and day is not None:
            about.append(f"ends {self.short_ids[day.memory.id]}")
        if part is BriefingPart.CONVERSATION and item.speaker:
            about.append(quote_label(item.speaker))
        if item.scope != self.scope and part is not BriefingPart.USER:
            about.append(quote_label(item.scope))
        is_named = part in (BriefingPart.DONE, BriefingPart.CONFLICTS) or (
            part is BriefingPart.DUE and item.kind is Kind.REMINDER
        )
        return write_briefly(item, about, shown, named=is_named)


def _choose_text(chosen: Chosen, part: BriefingPart, additions: Additions) -> str:
    """Return what is shown of a memory: of a long text, the sentence that names the day."""
    memory = chosen.memory
    if added := additions.texts.get(part, {}).get(memory.id):
        return added
    text, span = memory.text, chosen.day.span if chosen.day else None
    if len(text) > _TEXT_CHARS and span is not None:
        ends = [match.end() for match in SENTENCE_END.finditer(text)]
        start = max((end for end in ends if end <= span[0]), default=0)
        text = text[start : min((end for end in ends if end >= span[1]), default=len(text))]
    return join_title(memory, text)


def _write_briefing(
    sections: Mapping[BriefingPart, Section[BriefingItem]],
    head: str,
    *,
    scope: str,
    at: datetime,
    budget: int,
) -> Briefing:
    """Return the briefing with as many items of the `sections` as fit below the `head`."""
    head = choose_fitting([head, NOTICE], budget // 2)
    text, kept = _fit(sections, head, budget)
    # A text has fewer tokens than its lines together.
    more, fuller = _fit(sections, head, 2 * budget - estimate_tokens(text))
    if estimate_tokens(more) <= budget:
        text, kept = more, fuller
    if not sections:
        empty = (_EMPTY.format(scope=name) for name in (quote_label(scope), "this scope"))
        text = choose_fitting(empty, budget)
    return Briefing(
        scope=scope,
        at=at,
        budget=budget,
        tokens=estimate_tokens(text),
        text=text,
        sections=tuple(
            BriefingSection(part=part, items=tuple(each.items), omitted=each.omitted)
            for part, each in kept.items()
        ),
    )


def _fit(
    sections: Mapping[BriefingPart, Section[BriefingItem]], head: str, budget: int
) -> tuple[str, dict[BriefingPart, Section[BriefingItem]]]:
    fitting = fit_sections(list(sections.values()), budget - count_tokens(head))
    kept = {part: each for part, each in zip(sections, fitting, strict=True) if each.items}
    return "\n".join([head, *map(str, kept.values())]), kept


def _find_scopes(services: Services, scope: str | None) -> tuple[str, frozenset[str]]:
    """Return the spelling of the scope of a briefing, and the scopes that it reads.

    A parent is left out if it is private or inactive.

    Raises:
        UnknownScope: there is no such scope.
    """
    scopes = services.storage.scopes()
    if scope is None:
        # The default scope need not exist before something is stored in it.
        name = find_spelling(services.default_scope, scopes) or GLOBAL
    else:
        name = known_scope(scope, scopes, services).name
    confinement = services.confinement
    own = None if confinement is None else confinement.own_scope
    # What is known of a person holds in every scope, as what is in `Global` does.
    also = () if own is None else (find_spelling(own, scopes) or name,)
    return name, frozenset(
        each
        for each in (*visible_from(name, scopes), *also)
        if each == name or (scopes[each].active and scopes[each].sensitivity is Sensitivity.NORMAL)
    )
