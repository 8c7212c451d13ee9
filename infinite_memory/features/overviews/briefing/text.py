"""Write a briefing as text, within a budget of tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from attrs import evolve

from infinite_memory.core.values.timestamps import in_zone, show_moment
from infinite_memory.features.overviews.briefing.values import (
    Briefing,
    BriefingItem,
    BriefingPart,
    BriefingSection,
)
from infinite_memory.search.text.quotation import NOTICE, escape_line, quote_label, quote_lines
from infinite_memory.search.text.token_estimate import estimate_tokens

_TITLES = {
    BriefingPart.DUE: "Due:",
    BriefingPart.USER: "About the user:",
    BriefingPart.OPEN: "Open work:",
    BriefingPart.HOLDS: "What holds:",
    BriefingPart.SESSIONS: "Recent sessions:",
    BriefingPart.PATTERNS: "What recurs:",
    BriefingPart.RECENT: "Recent:",
    BriefingPart.CONVERSATION: "The end of the last conversation:",
}
# The shares of the budget that no other part takes, of the parts that there are; what a part leaves
# goes to all in this order.
_SHARES = {
    BriefingPart.DUE: 0.15,
    BriefingPart.USER: 0.2,
    BriefingPart.OPEN: 0.2,
    BriefingPart.HOLDS: 0.35,
    BriefingPart.SESSIONS: 0.15,
    BriefingPart.PATTERNS: 0.05,
    BriefingPart.RECENT: 0.15,
    BriefingPart.CONVERSATION: 0.15,
}
# Their items stand for several memories.
_UNKINDED = frozenset({BriefingPart.SESSIONS, BriefingPart.PATTERNS})
_EMPTY = (
    "The memory holds nothing for {scope} yet: store what should last beyond this session, such as"
    " decisions with their reasons, facts, and what the user prefers."
)
_OMITTED_TOKENS = 12

_Lines = Mapping[BriefingPart, Sequence[str]]


def write_briefing(
    sections: Sequence[BriefingSection],
    *,
    scope: str,
    at: datetime,
    budget: int,
    zone: str | None,
    searchable: bool,
    headline: str = "",
) -> Briefing:
    """Return the briefing with as many items of the `sections` as fit in the budget.

    The first items of a section are its most important ones. `searchable` says that the scope has
    to be named in a search, which the text then says. The `headline` follows it.
    """
    if not sections:
        text = _EMPTY.format(scope=quote_label(scope))
        if estimate_tokens(text) > budget:
            text = _EMPTY.format(scope="this scope")
        return Briefing(scope=scope, at=at, budget=budget, tokens=estimate_tokens(text), text=text)
    head = _head(scope, at, zone, searchable=searchable)
    head += f" {escape_line(headline)}" if headline else ""
    if estimate_tokens(head) > budget // 2:
        head = NOTICE
    lines = {
        section.part: [f"{_line(item, section.part, scope, zone)}\n" for item in section.items]
        for section in sections
    }
    counts = _fit_counts(lines, budget - estimate_tokens(f"{head}\n"))
    kept = [_keep(section, counts[section.part]) for section in sections]
    kept = [section for section in kept if section.items or section.omitted]
    text = "\n".join([head, *_paragraphs(kept, lines)])
    return Briefing(
        scope=scope,
        at=at,
        budget=budget,
        tokens=estimate_tokens(text),
        text=text,
        sections=tuple(section for section in kept if section.items),
    )


def _fit_counts(
    lines: Mapping[BriefingPart, Sequence[str]], budget: int
) -> dict[BriefingPart, int]:
    """Return how many lines of every part fit: first within its share, then in the space left."""
    counts = dict.fromkeys(lines, 0)
    # The parts are counted one by one, which gives no less than the whole text.
    costs = {
        part: [estimate_tokens(line) for line in lines_of_part]
        for part, lines_of_part in lines.items()
    }
    left = budget
    shares = max(1.0, sum(_SHARES[part] for part in lines))
    for is_shared in (True, False):
        for part, line_costs in costs.items():
            room = min(left, int(budget * _SHARES[part] / shares)) if is_shared else left
            for cost in line_costs[counts[part] :]:
                cost += 0 if counts[part] else _title_cost(part)
                if cost > room:
                    break
                counts[part] += 1
                room, left = room - cost, left - cost
    return counts


def _title_cost(part: BriefingPart) -> int:
    return estimate_tokens(f"\n{_TITLES[part]}\n") + _OMITTED_TOKENS


def _keep(section: BriefingSection, count: int) -> BriefingSection:
    omitted = section.omitted + len(section.items) - count
    return evolve(section, items=section.items[:count], omitted=omitted)


def _head(scope: str, at: datetime, zone: str | None, *, searchable: bool) -> str:
    head = f"From the memory, for {quote_label(scope)}, at {show_moment(at, zone)}. {NOTICE}"
    if searchable:
        head += f" To search what was said here, name scope {quote_label(scope)}."
    return head


def _paragraphs(sections: Sequence[BriefingSection], lines: _Lines) -> Iterator[str]:
    for section in sections:
        if not section.items:
            continue
        shown = list(lines[section.part][: len(section.items)])
        if section.part is BriefingPart.CONVERSATION:
            shown.reverse()  # the newest comes first in the section, and is read last
        more = f"({section.omitted} more)\n" if section.omitted else ""
        yield f"\n{_TITLES[section.part]}\n{''.join(shown)}{more}".rstrip("\n")


def _line(item: BriefingItem, part: BriefingPart, scope: str, zone: str | None) -> str:
    when = in_zone(item.at, zone).date().isoformat()
    if part is BriefingPart.DUE:
        when = show_moment(item.at, zone)
    if part is BriefingPart.CONVERSATION:
        about = [quote_label(item.speaker or "somebody")]
    else:
        about = [] if part in _UNKINDED else [str(item.kind)]
    about += [quote_label(item.scope)] if item.scope != scope else []
    about += ["important"] if item.important else []
    names = f" ({', '.join(about)})" if about else ""
    return f"{when} [{item.short_id}]{names}\n{quote_lines(item.text)}"
