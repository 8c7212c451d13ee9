"""Sections of stored memories, as many as fit in a budget of tokens, as text for a model."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from enum import Enum
from typing import Generic, TypeVar

from attrs import evolve, frozen

from infinite_memory.core.values.checks import check_count
from infinite_memory.core.values.memory import Kind, Memory, shorten
from infinite_memory.core.values.timestamps import in_zone
from infinite_memory.features.overviews.values import ShownMemory
from infinite_memory.search.text.quotation import quote_label, quote_lines
from infinite_memory.search.text.token_estimate import estimate_tokens

LOWEST_TOKENS = 200
"""The smallest budget of an overview."""

_HIGHEST_TOKENS = 100_000
_TITLE_CHARS = 100
_LEAST_CHARS = 20

Item = TypeVar("Item", bound=ShownMemory)


class Fills(Enum):
    """When a section takes of the room that others leave."""

    FIRST = "first"
    LAST = "last"
    NEVER = "never"


@frozen(kw_only=True)
class Section(Generic[Item]):
    """Memories under a title, the most important first, each written by `write`.

    `share` is the part of the budget that no other section takes. Of what others leave, a section
    that `fills` first takes before one that fills last, and one that never does takes nothing.
    After the memories, `rest` says how many were `omitted`; `beyond` counts further memories behind
    `items`. With `by_time` the earliest is read first. The items `of_groups` stand for several
    memories, which other sections may have as well.
    """

    title: str
    items: Sequence[Item]
    share: float
    write: Callable[[Item], str]
    rest: str = ""
    omitted: int = 0
    by_time: bool = False
    fills: Fills = Fills.FIRST
    beyond: int = 0
    of_groups: bool = False

    @property
    def frame_tokens(self) -> int:
        """How many tokens the section takes at most beside its memories."""
        rest = f"\n{self.rest.format(len(self.items) + self.beyond)}" if self.rest else ""
        return count_tokens(f"\n{self.title}{rest}")

    def keep(self, items: Sequence[Item], taken: Collection[str]) -> Section[Item]:
        """Return the section with these of its memories; any section has those `taken`."""
        omitted = sum(item.id not in taken for item in self.items) + self.beyond
        return evolve(self, items=items, omitted=omitted)

    def __str__(self) -> str:
        """Return the title, the memories, and how many were omitted."""
        items = list(self.items)
        if self.by_time:
            # The newest is the first of a section, and of one moment the last that was told.
            items.reverse()
            items.sort(key=lambda item: item.at)
        lines = [self.write(item) for item in items]
        rest = [self.rest.format(self.omitted)] if self.rest and self.omitted else []
        return "\n".join([f"\n{self.title}", *lines, *rest])


def check_budget(budget: object) -> int:
    """Return a number of tokens that an overview may take.

    Raises:
        InvalidInput: it is not between 200 and 100,000.
    """
    return check_count(budget, "budget", low=LOWEST_TOKENS, high=_HIGHEST_TOKENS)


def count_tokens(line: str) -> int:
    """Return the tokens of a line with its end; a text has no more than its lines together."""
    return estimate_tokens(f"{line}\n")


def choose_fitting(drafts: Iterable[str], tokens: int) -> str:
    """Return the first of `drafts` that fits in so many tokens, otherwise the last."""
    draft = ""
    for draft in drafts:
        if estimate_tokens(draft) <= tokens:
            break
    return draft


def fit_sections(sections: Sequence[Section[Item]], room: int) -> list[Section[Item]]:
    """Return the sections with as many of their first memories as fit in `room` tokens.

    A section has its share of the room, and what others leave of theirs goes to those that fill it,
    in order. A memory is in the first of its sections with room for it, beside those of groups.
    Where not even one memory fits, the first is cut.
    """
    kept: list[list[Item]] = [[] for _ in sections]
    taken: set[str] = set()
    left, shares = room, max(1.0, sum(section.share for section in sections))
    for turn in (None, Fills.FIRST, Fills.LAST):
        for section, items in zip(sections, kept, strict=True):
            if turn not in (None, section.fills):
                continue
            space = min(left, int(room * section.share / shares)) if turn is None else left
            for item in section.items:
                if item.id in taken and (not section.of_groups or item in items):
                    continue
                cost = count_tokens(section.write(item)) + (0 if items else section.frame_tokens)
                if cost > space:
                    break
                items.append(item)
                taken.add(item.id)
                space, left = space - cost, left - cost
    if sections and not taken:
        return [
            _cut_first(sections[0], room),
            *(section.keep((), taken) for section in sections[1:]),
        ]
    return [section.keep(items, taken) for section, items in zip(sections, kept, strict=True)]


def _cut_first(section: Section[Item], room: int) -> Section[Item]:
    """Return the section with the beginning of its first memory, with none if that does not fit."""
    item, space = section.items[0], room - section.frame_tokens
    while len(item.text) > _LEAST_CHARS:
        item = evolve(item, text=shorten(item.text, len(item.text) * 2 // 3))
        if count_tokens(section.write(item)) <= space:
            return section.keep((item,), {item.id})
    return section.keep((), ())


def join_title(memory: Memory, text: str) -> str:
    """Return a part of the text of a memory behind its title, unless the memory begins with it."""
    if memory.title and not memory.text.startswith(memory.title.rstrip("…")):
        return f"{shorten(memory.title, _TITLE_CHARS)}: {text}"
    return text


def describe_origin(item: ShownMemory) -> list[str]:
    """Return the speaker of a memory, and its kind unless it is a note or a message."""
    speaker = [quote_label(item.speaker)] if item.speaker else []
    return speaker if item.kind in (Kind.NOTE, Kind.MESSAGE) else [*speaker, str(item.kind)]


def write_memory(item: ShownMemory, about: Sequence[str], *, usual: str, zone: str | None) -> str:
    """Return a memory as a line with its date, id and what is said `about` it, and its quoted text.

    The scope is named unless it is the `usual` one.
    """
    when = in_zone(item.at, zone).date().isoformat()
    scope = [quote_label(item.scope)] if item.scope != usual else []
    important = ["important"] if item.important else []
    # Of what was said in a session, everything is a fact that the user stated.
    about = ["said in a session"] if item.inferred else about
    names = ", ".join([*about, *scope, *important])
    return f"{when} [{item.short_id}]{names and f' ({names})'}\n{quote_lines(item.text)}"


def write_briefly(item: ShownMemory, about: Sequence[str], day: str, *, named: bool) -> str:
    """Return a memory as a quoted line: its day, id if `named`, what is said `about` it, its text.

    The text has no line of its own to begin, so what stands before it is never its own.
    """
    marks = [
        *about,
        *(["said"] if item.inferred else []),
        *(["important"] if item.important else []),
    ]
    names = [f"[{item.short_id}]"] if named else []
    label = " ".join([day, *names, *([f"({', '.join(marks)})"] if marks else [])])
    return quote_lines(f"{label}: {item.text}")
