"""The diary of the dreamer, read from the journal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from infinite_memory.core.values.dream.diary import Cycle, DreamedLink, DreamedTopic
from infinite_memory.core.values.entry import Entry, Operation
from infinite_memory.core.values.link import Link, LinkType
from infinite_memory.core.values.memory import Memory
from infinite_memory.engine.journal import iter_sound_entries
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.engine.services import Services
from infinite_memory.features.background.dreamer.view import DREAMER
from infinite_memory.search.text.analyzer import has_han, terms, words
from infinite_memory.search.text.segmenter import WordSegmenter

_MOST_ENTRIES = 50_000
_MOST_WORDS = 5
_MAX_CHARS = 20_000


def read_diary(services: Services, *, limit: int, before: int | None) -> tuple[Cycle, ...]:
    """Return at most `limit` cycles that changed something, newest first.

    `before` is the number of an entry: earlier cycles alone are returned. At most 50,000 entries
    of the journal are read.
    """
    undone: dict[int, int] = {}
    cycles: list[Entry] = []
    for entry in islice(iter_sound_entries(services.storage), _MOST_ENTRIES):
        if entry.action.undoes is not None and entry.number not in undone:
            undone[entry.action.undoes] = entry.number
        if entry.action.operation is Operation.DREAM and (before is None or entry.number < before):
            cycles.append(entry)
            if len(cycles) == limit:
                break
    memories = load_memories(services, {name for entry in cycles for name in _list_ids(entry)})
    services.note_read(memories.values())
    return tuple([_describe_entry(entry, memories, undone.get(entry.number)) for entry in cycles])


def list_common_words(first: str, second: str) -> tuple[str, ...]:
    """Return at most five words of `first` that say something and that `second` has too.

    Longer words come first, since they say more; numbers and words of one letter are left out.
    """
    first, second = first[:_MAX_CHARS], second[:_MAX_CHARS]
    shared = frozenset(terms(second))
    common = {
        word: None
        for word in words(first)
        if len(word) > 1 and not word.isdecimal() and not shared.isdisjoint(terms(word))
    }
    if has_han(first) and has_han(second):
        common |= dict.fromkeys(_list_common_chinese(first, second))
    return tuple(sorted(common, key=lambda word: -len(word))[:_MOST_WORDS])


def _list_common_chinese(first: str, second: str) -> list[str]:
    """Return the Chinese words of both texts, without those inside a longer one."""
    cut = WordSegmenter().segment
    other = frozenset(cut(second))
    both = [word for word in cut(first) if has_han(word) and len(word) > 1 and word in other]
    return [word for word in both if not any(word != long and word in long for long in both)]


def _list_ids(entry: Entry) -> Iterator[str]:
    for step in entry.action.memories:
        yield step.id
    for link, _ in _list_semantic_links(entry):
        yield link.source
        yield link.target


def _list_semantic_links(entry: Entry) -> Iterator[tuple[Link, Link | None]]:
    """Yield the semantic links of a cycle, each with the link that it replaced."""
    for step in entry.action.links:
        link = step.after
        if link is not None and link.type is LinkType.SEMANTIC and link.made_by == DREAMER:
            yield link, step.before


def _describe_entry(entry: Entry, memories: Mapping[str, Memory], undone_by: int | None) -> Cycle:
    action = entry.action
    links = tuple([_describe_link(*pair, memories) for pair in _list_semantic_links(entry)])
    topics = tuple(
        [
            DreamedTopic(
                id=step.id,
                title=memories[step.id].heading if step.id in memories else "",
                sources=len(memories[step.id].sources) if step.id in memories else 0,
                rewritten=step.before != 0,
            )
            for step in action.memories
        ]
    )
    known = [memories[name].scope for name in _list_ids(entry) if name in memories]
    return Cycle(
        entry=entry.number,
        at=action.at,
        scope=known[0] if known else "",
        looked_at=action.reason,
        links=links,
        topics=topics,
        undone_by=undone_by,
    )


def _describe_link(
    link: Link, replaced: Link | None, memories: Mapping[str, Memory]
) -> DreamedLink:
    source, target = memories.get(link.source), memories.get(link.target)
    return DreamedLink(
        source=link.source,
        target=link.target,
        weight=link.weight,
        before=None if replaced is None else replaced.weight,
        reason=link.reason,
        source_heading="" if source is None else source.heading,
        target_heading="" if target is None else target.heading,
        in_common=list_common_words(source.text, target.text) if source and target else (),
    )
