"""The material that a connected assistant is asked to summarise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice

from attrs import frozen

from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import Kind, Memory, Status
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.engine.services import Services
from infinite_memory.features.background.upkeep.context import JobContext
from infinite_memory.features.background.upkeep.summaries.candidates import find_material
from infinite_memory.features.background.upkeep.summaries.extractive import NAME
from infinite_memory.features.background.upkeep.summaries.material import WRITTEN_BY, Material

_MOST_SUMMARIES_READ = 200
_FEWEST_CHARS_OF_TEXT = 40
_CUT = "…"
# Their sources are read, at the start of a session.
_MOST_OFFERED = 5
_OFFER = '{} excerpts alone: write better ones by more(tool="summaries_wanted", arguments={{}}).'


@frozen(kw_only=True)
class SourceText(PlainData):
    """A memory to summarise; a `text` that ends with "…" is cut."""

    id: str
    text: str
    speaker: str | None
    happened_at: datetime


@frozen(kw_only=True)
class WantedSummary(PlainData):
    """A conversation, or a month of a scope, that wants a summary.

    `sources` are the ids of all its memories, to be given to `store_summary`; `texts` are those of
    them that fit in the budget, in the order of time. `conversation_id` is None for a month.
    `present` is the id of the built-in summary that a better one replaces, None if there is none.
    """

    scope: str
    conversation_id: str | None
    begins: datetime
    ends: datetime
    sources: tuple[str, ...]
    texts: tuple[SourceText, ...]
    present: str | None = None


def find_wanted(services: Services, *, limit: int, max_chars: int) -> tuple[WantedSummary, ...]:
    """Return at most `limit` conversations and months: without a summary first, newest first.

    Next come those that only the built-in summariser has summarised. Scopes that the upkeep leaves
    alone are left out. The texts of all of them together have at most `max_chars` characters.
    """
    # Without notes: an assistant begins with the newest.
    context = JobContext(services, notes={})
    found: list[tuple[Material, str | None]] = []
    for material in find_material(context):
        if len(found) == limit:
            break
        found.append((material, None))
    for summary, material in _find_summarised_by_rule(context):
        if len(found) == limit:
            break
        found.append((material, summary.id))
    share = max_chars // max(1, len(found))
    wanted = tuple([_describe_material(material, present, share) for material, present in found])
    services.note_read(
        memory
        for (material, _), shown in zip(found, wanted, strict=True)
        for memory in material.sources[: len(shown.texts)]
    )
    return wanted


def offer_summaries(services: Services) -> str:
    """Return a line that offers to write what `find_wanted` returns as excerpts, "" for none."""
    excerpts = _find_summarised_by_rule(JobContext(services, notes={}))
    count = len([*islice(excerpts, _MOST_OFFERED)])
    if not count:
        return ""
    more = " or more" if count == _MOST_OFFERED else ""
    summaries = "summary is" if count == 1 else "summaries are"
    return _OFFER.format(f"{count}{more} {summaries}")


def _find_summarised_by_rule(context: JobContext) -> Iterator[tuple[Memory, Material]]:
    """Yield the current built-in summaries whose sources are all there, with these."""
    criteria = Criteria(
        scopes=frozenset(context.scopes),
        kinds=frozenset({Kind.SUMMARY}),
        statuses=frozenset({Status.CURRENT}),
    )
    page = context.services.storage.find(criteria, limit=_MOST_SUMMARIES_READ)
    for summary in page.memories:
        if summary.context.get(WRITTEN_BY) != NAME:
            continue
        sources = load_memories(context.services, summary.sources)
        if len(sources) != len(summary.sources) or not all(
            memory.scope == summary.scope and memory.status in (Status.CURRENT, Status.ARCHIVED)
            for memory in sources.values()
        ):
            continue
        in_order = tuple([sources[source] for source in summary.sources])
        yield (
            summary,
            Material(
                scope=summary.scope, sources=in_order, conversation_id=summary.conversation_id
            ),
        )


def _describe_material(material: Material, present: str | None, max_chars: int) -> WantedSummary:
    return WantedSummary(
        scope=material.scope,
        conversation_id=material.conversation_id,
        begins=material.begins,
        ends=material.ends,
        sources=tuple([memory.id for memory in material.sources]),
        texts=quote_sources(material.sources, max_chars=max_chars),
        present=present,
    )


def quote_sources(sources: Sequence[Memory], *, max_chars: int) -> tuple[SourceText, ...]:
    """Return texts of the first sources, of at most `max_chars` characters together.

    The longest are cut first, so that as many memories as possible are shown.
    """
    quoted = sources[: max(1, max_chars // _FEWEST_CHARS_OF_TEXT)]
    most = _find_longest_length([len(memory.text) for memory in quoted], max_chars)
    return tuple([_quote_memory(memory, most) for memory in quoted])


def _find_longest_length(lengths: list[int], total: int) -> int:
    """Return the greatest length to which texts are cut, so that they have `total` together."""
    left = total
    for number, length in enumerate(sorted(lengths)):
        share = left // (len(lengths) - number)
        if length > share:
            return share
        left -= length
    return max(lengths)


def _quote_memory(memory: Memory, max_chars: int) -> SourceText:
    text = memory.text
    if len(text) > max_chars:
        text = text[: max(0, max_chars - 1)] + _CUT
    return SourceText(
        id=memory.id, text=text, speaker=memory.speaker, happened_at=memory.happened_at
    )
