"""Write what is known about a topic as text, within a budget of tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from attrs import evolve

from infinite_memory.core.values.memory import Kind, shorten
from infinite_memory.core.values.messages import format_count
from infinite_memory.core.values.timestamps import in_zone
from infinite_memory.features.overviews.knowledge.values import Highlight, Knowledge, KnownSummary
from infinite_memory.search.text.quotation import NOTICE, quote_label, quote_lines
from infinite_memory.search.text.token_estimate import estimate_tokens

_Item = TypeVar("_Item", Highlight, KnownSummary)
_TOPIC_CHARS = 80
_LEAST_CHARS = 20
_MOST_NAMES = 5
_SUMMARIES, _HIGHLIGHTS = "Summaries, those of most memories first:", "Highlights:"
_NEAREST = "Nearest in meaning:"
# The share of the budget that the names of scopes may take which the topic may name.
_NAMES_SHARE = 1 / 8
# The share of the budget that summaries may take where there are highlights as well.
_SUMMARY_SHARE = 0.5


def write_knowledge(
    knowledge: Knowledge, *, zone: str | None, unopened: Sequence[str]
) -> Knowledge:
    """Return `knowledge` with its text, and with as many summaries and highlights as fit in it.

    `more` counts the summaries and memories to show, and becomes the number of those without room.
    `unopened` are scopes that the topic may name.
    """
    if not (knowledge.summaries or knowledge.highlights):
        return _with_text(knowledge, _say_unknown(knowledge, unopened))
    usual = _find_usual_scope(knowledge)
    left = knowledge.budget - _measure_frame(knowledge, usual, unopened)
    summaries, lines_of_summaries = _keep_fitting(
        knowledge.summaries,
        lambda summary: _write_summary(summary, usual, zone),
        int(left * _SUMMARY_SHARE) if knowledge.highlights else left,
    )
    left -= sum(map(_cost, lines_of_summaries))
    highlights, lines = _keep_fitting(
        knowledge.highlights, lambda highlight: _write_highlight(highlight, usual, zone), left
    )
    more = max(0, knowledge.more - len(summaries) - len(highlights))
    kept = evolve(knowledge, summaries=summaries, highlights=highlights, more=more)
    parts = [
        _write_head(kept, usual),
        *_titled(_SUMMARIES, lines_of_summaries),
        *_titled(_NEAREST if kept.only_near else _HIGHLIGHTS, lines),
        _say_how_to_go_on(kept, unopened),
    ]
    return _with_text(kept, "\n".join(parts))


def _with_text(knowledge: Knowledge, text: str) -> Knowledge:
    return evolve(knowledge, text=text, tokens=estimate_tokens(text))


def _measure_frame(knowledge: Knowledge, usual: str, unopened: Sequence[str]) -> int:
    """Return what the head, the titles and the last line take at most, in tokens."""
    parts = [_write_head(knowledge, usual), _say_how_to_go_on(knowledge, unopened)]
    parts += [f"\n{title}\n" for title in (_SUMMARIES, _NEAREST)]
    return sum(map(_cost, parts))


def _keep_fitting(
    items: Sequence[_Item], write: Callable[[_Item], str], room: int
) -> tuple[tuple[_Item, ...], list[str]]:
    """Return the items whose lines fit in `room` tokens, in order, and these lines.

    A line that is too long is passed over; of the first the text is cut until it fits.
    """
    kept: list[_Item] = []
    lines: list[str] = []
    for item in items:
        line = write(item)
        while not kept and _cost(line) > room and len(item.text) > _LEAST_CHARS:
            item = evolve(item, text=shorten(item.text, len(item.text) * 2 // 3))
            line = write(item)
        if _cost(line) <= room:
            kept.append(item)
            lines.append(line)
            room -= _cost(line)
    return tuple(kept), lines


def _cost(line: str) -> int:
    return estimate_tokens(f"{line}\n")


def _find_usual_scope(knowledge: Knowledge) -> str:
    """Return the scope of most of the memories, which their lines do not name."""
    known: Iterable[KnownSummary | Highlight] = (*knowledge.summaries, *knowledge.highlights)
    return Counter(item.scope for item in known).most_common(1)[0][0]


def _write_head(knowledge: Knowledge, usual: str) -> str:
    if knowledge.only_near:
        return _say_only_near(knowledge, usual)
    number = len(knowledge.highlights)
    known = format_count(number, "memory", "memories")
    if knowledge.more:
        total = format_count(number + knowledge.more, "memory", "memories")
        known = f"{number} of {total} that match"
    if knowledge.summaries:
        summaries = format_count(len(knowledge.summaries), "summary", "summaries")
        known = f"{summaries} and {known}"
    head = (
        f"Known about {_quote(knowledge.topic)}: {known}, scope {quote_label(usual)} unless"
        f" named. {NOTICE}"
    )
    return head if estimate_tokens(head) <= knowledge.budget // 2 else NOTICE


def _say_only_near(knowledge: Knowledge, usual: str) -> str:
    head = (
        f"Nothing is known about {_quote(knowledge.topic)}: no match has a word of it. What is"
        " nearest in meaning follows, and may be about something else; scope"
        f" {quote_label(usual)} unless named. {NOTICE}"
    )
    if estimate_tokens(head) <= knowledge.budget // 2:
        return head
    return f"Nothing is known: no match has a word of the topic, these are only near. {NOTICE}"


def _titled(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"\n{title}"
        yield from lines


def _write_summary(summary: KnownSummary, usual: str, zone: str | None) -> str:
    about = [f"of {format_count(summary.memories, 'memory', 'memories')}"]
    about += [quote_label(summary.scope)] if summary.scope != usual else []
    about += ["outdated: sources changed since"] if summary.outdated else []
    when = in_zone(summary.at, zone).date().isoformat()
    return f"{when} [{summary.short_id}] ({', '.join(about)})\n{quote_lines(summary.text)}"


def _write_highlight(highlight: Highlight, usual: str, zone: str | None) -> str:
    about = [quote_label(highlight.speaker)] if highlight.speaker else []
    about += [str(highlight.kind)] if highlight.kind not in (Kind.NOTE, Kind.MESSAGE) else []
    about += [quote_label(highlight.scope)] if highlight.scope != usual else []
    about += ["important"] if highlight.important else []
    names = f" ({', '.join(about)})" if about else ""
    when = in_zone(highlight.at, zone).date().isoformat()
    return f"{when} [{highlight.short_id}]{names}\n{quote_lines(highlight.text)}"


def _say_how_to_go_on(knowledge: Knowledge, unopened: Sequence[str]) -> str:
    matches = "comes near" if knowledge.only_near else "matches"
    if knowledge.more:
        if knowledge.more > 1:
            matches = "come near" if knowledge.only_near else "match"
        noun = "memory" if knowledge.more == 1 else "memories"
        rest = (
            f"{knowledge.more:,} more {noun} {matches}: a search (retrieve_memory) with depth"
            " exhaustive lists all, the archived and superseded too."
        )
    else:
        rest = (
            f"That is all that {matches}; a search (retrieve_memory) with depth exhaustive also"
            " lists what is archived or superseded."
        )
    return f"\n{rest}{_name_fitting(unopened, int(knowledge.budget * _NAMES_SHARE))}"


def _say_unknown(knowledge: Knowledge, unopened: Sequence[str]) -> str:
    """Return the answer without the names of scopes, and then the topic, that have no room."""
    topic, where, names = _quote(knowledge.topic), "", _name_scopes(unopened)
    if knowledge.scopes is not None:
        where = f" in scope {_join_names(knowledge.scopes)}; scope ALL sees all but private ones"
    drafts = [(topic, where, names), (topic, "", names), (topic, "", ""), ("this topic", "", "")]
    texts = [
        f"Nothing is known about {about}{place}. A search (retrieve_memory) with depth exhaustive"
        f" lists what comes nearest, and what is archived or superseded.{others}"
        for about, place, others in drafts
    ]
    return next((t for t in texts if estimate_tokens(t) <= knowledge.budget), texts[-1])


def _name_fitting(unopened: Sequence[str], tokens: int) -> str:
    """Return the sentence that names the scopes, or the first of them, or nothing, as it fits."""
    texts = (_name_scopes(unopened), _name_scopes(unopened[:1]))
    return next((text for text in texts if estimate_tokens(text) <= tokens), "")


def _name_scopes(unopened: Sequence[str]) -> str:
    if not unopened:
        return ""
    return f" The topic may name a scope that was not searched: {_join_names(unopened)}."


def _join_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"{', '.join(map(quote_label, names[:_MOST_NAMES]))}{more}"


def _quote(topic: str) -> str:
    return quote_label(topic, max_chars=_TOPIC_CHARS, always=True)
