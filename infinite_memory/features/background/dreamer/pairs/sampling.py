"""Sample pairs of memories that may belong together, for a judge."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import timedelta

from attrs import evolve, field, frozen

from infinite_memory.core.errors import NotFound
from infinite_memory.core.protocols import SupportsNeighbors, Timeline
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.dream.neighbor import Neighbor
from infinite_memory.core.values.dream.pair import Pair
from infinite_memory.core.values.link import LinkType
from infinite_memory.core.values.memory import Kind, Memory
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.engine.retrieval.recall_by_time import timeline_of
from infinite_memory.features.background.dreamer.pairs.nearness import (
    NEAREST,
    Surroundings,
    make_pair,
)
from infinite_memory.features.background.dreamer.view import DREAMER, CycleView
from infinite_memory.features.background.list_entries import LEAST_OTHERS, Form
from infinite_memory.search.text.question_terms import split_terms

# With five partners each, all but those in turn fit into the pairs of a cycle.
_NEW, _TURNS, _RECENT, _RANDOM = 12, 20, 4, 6
_FEED_PAGE, _FEED_PAGES = 12, 16
_TIME_PAGE, _TIME_PAGES = 96, 4
_LATEST = 32
# Of the memories of one moment, such as those of an import, one of the first is chosen at random.
_SAME_MOMENT = 64
_FIRST_ROUND, _SECOND_ROUND = "unlinked", "all"

# Microseconds as in `Timeline`, with as many digits as fit into 64 bits.
_MOMENT = re.compile(r"-?[0-9]{1,18}")

_Position = tuple[int, str]
MAX_PAIRS = 200
"""The most pairs of a cycle."""

_MOST_SURROUNDINGS = 300
_MOST_PARTNERS = 5
# A neighbor that stands out less is no partner, unless it is the nearest of all.
_LEAST_EVIDENCE = 1.75
_MOST_OLDER = 3
_MUCH_OLDER = timedelta(days=30)
# As many characters as `search.similarity` compares.
_MOST_CHARS = 10_000


@frozen(kw_only=True)
class Sampled:
    """The pairs of a cycle, at most `MAX_PAIRS`, and the notes for the next cycle."""

    pairs: tuple[Pair, ...] = ()
    notes: Mapping[str, str] = field(factory=dict)


def sample_pairs(view: CycleView) -> Sampled:
    """Return pairs of memories of the scope that may belong together, each pair once.

    Every seed of the cycle is paired with the memories that stand out among its nearest, by meaning
    or by words, and with the nearest of all; a recent seed also with the nearest that are at least
    30 days older; and seeds chosen at random with each other. Entries of one list are no pair. The
    cycle compares at most 300 memories with the scope, and ends when `view.is_over()`.
    """
    scan = SeedScan(view)
    sampler = _Sampler(view, len(scan.timeline.moments))
    waiting: Memory | None = None
    for seed in scan.seeds():
        if sampler.is_full():
            break
        sampler.pair_seed(seed)
        if seed.reason == "at random":
            if waiting is not None:
                sampler.add(waiting, seed.memory, "both at random")
            waiting = seed.memory if waiting is None else None
    return Sampled(pairs=tuple(sampler.pairs.values()), notes=scan.notes)


class _Sampler:
    """Collects the pairs of a cycle; the surroundings of a memory are measured once."""

    def __init__(self, view: CycleView, memories: int) -> None:
        self._view = view
        self._criteria = load_told(view)
        self._number = memories
        self._model = view.services.models.answering()
        self._surroundings: dict[str, Surroundings] = {}
        self._terms: dict[str, frozenset[str]] = {}
        self.pairs: dict[frozenset[str], Pair] = {}

    def is_full(self) -> bool:
        """Return whether the cycle has looked at enough, or is over."""
        enough = len(self._surroundings) >= _MOST_SURROUNDINGS or len(self.pairs) >= MAX_PAIRS
        return enough or self._view.is_over()

    def pair_seed(self, seed: Seed) -> None:
        """Add the pairs of a seed."""
        surroundings = self._survey_surroundings(seed.memory)
        for other in self._load_linkable(_choose_partners(surroundings)):
            self.add(seed.memory, other, f"{seed.reason}, near")
        if seed.with_older:
            for other in self._find_older(seed.memory):
                self.add(seed.memory, other, "recent and old, near")

    def add(self, one: Memory, other: Memory, sampled: str) -> None:
        """Add the pair of two memories, unless it is there or the cycle is full."""
        key = frozenset({one.id, other.id})
        if len(key) < 2 or key in self.pairs or self.is_full() or self._are_listed(one, other):
            return
        self.pairs[key] = make_pair(
            self._survey_surroundings(one),
            self._survey_surroundings(other),
            shared_words=len(self._find_terms(one) & self._find_terms(other)),
            sampled=sampled,
        )

    def _are_listed(self, one: Memory, other: Memory) -> bool:
        """Return whether two memories are entries of one list, such as a diary of runs.

        At least three more of the neighbors of the first have their form.
        """
        form = Form.of(one.text)
        if not form.is_like(Form.of(other.text)):
            return False
        near = load_memories(self._view.services, [*self._survey_surroundings(one).neighbors])
        alike = (each for each in near.values() if each.id not in (one.id, other.id))
        return sum(form.is_like(Form.of(each.text)) for each in alike) >= LEAST_OTHERS

    def _survey_surroundings(self, memory: Memory) -> Surroundings:
        known = self._surroundings.get(memory.id)
        if known is None:
            known = self._surroundings[memory.id] = Surroundings.of(
                memory,
                self._find_neighbors(memory, self._criteria, NEAREST),
                is_understood=self._model.embedder.understands(memory.text),
                background=self._model.embedder.background,
                memories=self._number,
            )
        return known

    def _find_neighbors(self, memory: Memory, criteria: Criteria, limit: int) -> list[Neighbor]:
        index = self._model.index
        if isinstance(index, SupportsNeighbors):
            return index.find_neighbors(memory.id, memory.text, criteria, limit=limit)
        try:
            nearest = index.nearest(memory.id, criteria, limit=limit)
        except NotFound:
            return []  # erased meanwhile
        return [Neighbor(id=i, cosine=cosine, words=0.0, score=0.0) for i, cosine in nearest]

    def _find_older(self, memory: Memory) -> Iterator[Memory]:
        """Yield the nearest memories that are much older, and add them to the surroundings."""
        older = evolve(self._criteria, until=memory.happened_at - _MUCH_OLDER)
        neighbors = self._find_neighbors(memory, older, _MOST_OLDER)
        surroundings = self._survey_surroundings(memory)
        known = {neighbor.id: neighbor for neighbor in neighbors} | dict(surroundings.neighbors)
        self._surroundings[memory.id] = evolve(surroundings, neighbors=known)
        yield from self._load_linkable([neighbor.id for neighbor in neighbors[:_MOST_OLDER]])

    def _load_linkable(self, ids: Iterable[str]) -> list[Memory]:
        asked = list(ids)
        memories = load_memories(self._view.services, asked)
        found = (memories[memory_id] for memory_id in asked if memory_id in memories)
        return [m for m in found if self._view.may_use(m) and self._criteria.admit(m)]

    def _find_terms(self, memory: Memory) -> frozenset[str]:
        terms = self._terms.get(memory.id)
        if terms is None:
            terms = frozenset(split_terms(memory.text[:_MOST_CHARS])[0])
            self._terms[memory.id] = terms
        return terms


def _choose_partners(surroundings: Surroundings) -> list[str]:
    """Return the ids of the neighbors that stand out most, at least the nearest."""
    ranked = sorted(
        (
            (surroundings.evidence_of(neighbor), neighbor.id)
            for neighbor in surroundings.neighbors.values()
        ),
        key=lambda pair: (-pair[0], pair[1]),
    )
    partners = [i for evidence, i in ranked[:_MOST_PARTNERS] if evidence >= _LEAST_EVIDENCE]
    return partners or [i for _, i in ranked[:1]]


@frozen(kw_only=True)
class Seed:
    """A memory to begin with; `reason` says in a few words why.

    `with_older` asks to compare it with much older memories too.
    """

    memory: Memory
    reason: str
    with_older: bool = False


def load_told(view: CycleView) -> Criteria:
    """Return the memories that the dreamer links: no attachments, and no topic summaries."""
    kinds = frozenset(Kind) - {Kind.ATTACHMENT}
    return evolve(view.criteria, kinds=kinds, topic_summaries=False)


class SeedScan:
    """Finds the seeds of a cycle, in a bounded time however many memories the scope has.

    Memories that were stored or changed since the last cycle come first, 12 to 23; then four recent
    ones and six at random; then 20 that have their turn, newest first: in one round over the scope
    those without a link by the dreamer, in the next round all. `notes` say how far the scan came;
    they move when the caller goes on to the next seed.
    """

    def __init__(self, view: CycleView) -> None:
        self._view = view
        self._criteria = load_told(view)
        self._timeline = timeline_of(view.services, self._criteria)
        # A note may be seen by people who may not see every scope.
        scope = hashlib.sha256(view.scope.encode()).hexdigest()[:16]
        self._feed_note, self._turn_note = f"dream/feed/{scope}", f"dream/turn/{scope}"
        self.notes: dict[str, str] = {}

    @property
    def timeline(self) -> Timeline:
        """The memories that may be linked, by time."""
        return self._timeline

    def seeds(self) -> Iterator[Seed]:
        """Yield the seeds, each memory once."""
        seen: set[str] = set()
        for source in (
            self._find_new(),
            self._find_recent(),
            self._draw_random(),
            self._take_turns(),
        ):
            for seed in source:
                if seed.memory.id not in seen:
                    seen.add(seed.memory.id)
                    yield seed

    def _find_new(self) -> Iterator[Seed]:
        storage, number = self._view.services.storage, 0
        cursor = _read_cursor(self._view.context.notes.get(self._feed_note, ""), storage.position())
        for _ in range(_FEED_PAGES):
            changes = storage.changes(cursor, limit=_FEED_PAGE, models=())
            changed = [change.record.memory for change in changes.items if change.record]
            for memory in filter(self._is_told, changed):
                number += 1
                yield Seed(memory=memory, reason="new")
            cursor = changes.cursor
            self.notes[self._feed_note] = str(cursor)
            if number >= _NEW or len(changes.items) < _FEED_PAGE:
                return

    def _take_turns(self) -> Iterator[Seed]:
        round_name, position = _read_turn(self._view.context.notes.get(self._turn_note, ""))
        number = 0
        for _ in range(_TIME_PAGES):
            page = self._timeline.page(position, _TIME_PAGE, newest_first=True)
            memories = self._load_linkable([memory_id for _, memory_id in page])
            skipped = (
                self._find_linked(memories) if round_name == _FIRST_ROUND else frozenset[str]()
            )
            for position in page:
                memory = memories.get(position[1])
                if memory is not None and memory.id not in skipped:
                    number += 1
                    reason = "not linked yet" if round_name == _FIRST_ROUND else "in turn"
                    yield Seed(memory=memory, reason=reason)
                self._note_turn(round_name, position)
                if number >= _TURNS:
                    return
            if len(page) < _TIME_PAGE:
                round_name = _SECOND_ROUND if round_name == _FIRST_ROUND else _FIRST_ROUND
                position = None
                self._note_turn(round_name, position)

    def _note_turn(self, round_name: str, position: _Position | None) -> None:
        place = "" if position is None else f" {position[0]} {position[1]}"
        self.notes[self._turn_note] = f"{round_name}{place}"

    def _find_recent(self) -> Iterator[Seed]:
        latest = self._timeline.page(None, _LATEST, newest_first=True)
        chosen = self._view.random.sample(latest, min(_RECENT, len(latest)))
        for memory in self._load_linkable([memory_id for _, memory_id in chosen]).values():
            yield Seed(memory=memory, reason="recent", with_older=True)

    def _draw_random(self) -> Iterator[Seed]:
        random, moments, chosen = self._view.random, self._timeline.moments, []
        for _ in range(_RANDOM if len(moments) else 0):
            moment = int(moments[random.randrange(len(moments))])
            page = self._timeline.page((moment, ""), _SAME_MOMENT, newest_first=False)
            same = [memory_id for found, memory_id in page if found == moment]
            if same:
                chosen.append(random.choice(same))
        for memory in self._load_linkable(chosen).values():
            yield Seed(memory=memory, reason="at random")

    def _load_linkable(self, ids: Iterable[str]) -> dict[str, Memory]:
        """Return the memories by id that may be linked, in the order of `ids`."""
        asked = list(ids)
        memories = load_memories(self._view.services, asked)
        return {
            memory_id: memories[memory_id]
            for memory_id in asked
            if memory_id in memories and self._is_told(memories[memory_id])
        }

    def _is_told(self, memory: Memory) -> bool:
        # Again: the index may have read it before it was moved or forgotten.
        return self._view.may_use(memory) and self._criteria.admit(memory)

    def _find_linked(self, ids: Collection[str]) -> frozenset[str]:
        """Return the members of `ids` with a link by the dreamer to another memory."""
        links = self._view.services.storage.links(ids) if ids else []
        ends = {
            end
            for link in links
            if link.made_by == DREAMER and link.type is LinkType.SEMANTIC
            for end in (link.source, link.target)
        }
        return frozenset(ends)


def _read_cursor(note: str, end: int) -> int:
    """Return the cursor of the feed that a note says; that of the end without a readable note."""
    # A store that was replaced may have a shorter feed.
    return min(int(note), end) if note.isdecimal() and len(note) < 19 else end


def _read_turn(note: str) -> tuple[str, _Position | None]:
    """Return the round and the position that a note says; the beginning without a readable one."""
    round_name, _, place = note.partition(" ")
    moment, _, memory_id = place.partition(" ")
    if round_name not in (_FIRST_ROUND, _SECOND_ROUND):
        return _FIRST_ROUND, None
    if not _MOMENT.fullmatch(moment):
        return round_name, None
    return round_name, (int(moment), memory_id)
