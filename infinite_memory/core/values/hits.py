"""The result of a search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, overload

from attrs import field, frozen

from infinite_memory.core.plain import PlainData, describe_in_a_line
from infinite_memory.core.values.criteria import Depth, Mode
from infinite_memory.core.values.link import LinkType
from infinite_memory.core.values.memory import FoundMemory, Memory

if TYPE_CHECKING:
    from infinite_memory.core.values.time_range import Reading


LIKELY = 0.15
"""The lowest score of a best hit that probably answers the question."""

MAY_ANSWER = 0.1
"""The lowest score of a further hit that may answer it."""

SURE = 0.6
"""The lowest score of a hit that almost surely helps."""


@frozen(kw_only=True)
class Explanation(PlainData):
    """The steps that lead to the score of a memory.

    `cosine` compares the best passage with the whole question, None if no vectors were compared;
    `passage` is the half-open character range of the best passage. `bm25` is the BM25 score.
    `meaning_rank` and `words_rank` count from 1 among all memories, None without a match by meaning
    or by words. Cosines far from the best have an error of 0.0003, and so have their ranks.

    The following fields are contributions, positive or negative, and sum to `total`:

    - `meaning`, `words`: the weighted cosine and the weighted BM25 score of the memory alone;
    - `speaker`: the question names the speaker of the memory;
    - `sentences`: the comparison with every sentence of the question separately;
    - `around`: the previous and the next turn of the conversation;
    - `quoted`: the memory contains the quoted phrases of the question;
    - `is_question`: the memory is a question itself;
    - `important`: the memory is marked as important;
    - `conversation`: the best memories of the conversation;
    - `summary`: the memory is a summary, in an overview;
    - `time`: the memory happened in the time that the question names, or holds from then on;
    - `scope`: the question names the scope of the memory, or the caller is at work in it;
    - `not_useful`: the memory was marked as not useful for a question like this one;
    - `later`: it was told later than a near memory that matched a little better;
    - `former`: a memory that it superseded, or a message that it was made from, matches better;
    - `linked`: links lead to it from a better match, in an exhaustive search.

    The score is the total, calibrated to [0, 1].
    """

    cosine: float | None = None
    bm25: float = 0.0
    meaning_rank: int | None = None
    words_rank: int | None = None
    passage: tuple[int, int] | None = None
    meaning: float = 0.0
    words: float = 0.0
    speaker: float = 0.0
    sentences: float = 0.0
    around: float = 0.0
    quoted: float = 0.0
    is_question: float = 0.0
    important: float = 0.0
    conversation: float = 0.0
    summary: float = 0.0
    time: float = 0.0
    scope: float = 0.0
    not_useful: float = 0.0
    later: float = 0.0
    former: float = 0.0
    linked: float = 0.0
    total: float


class Step(StrEnum):
    """The step of a search that kept a memory out; `FOUND` if the search returns it."""

    FOUND = "found"
    CONDITIONS = "conditions"
    MODE = "mode"
    MATCH = "match"
    TWIN = "twin"
    THRESHOLD = "threshold"
    LIMIT = "limit"
    CUT = "cut"


@frozen(kw_only=True)
class Absence(PlainData):
    """Why a search does not return a memory; `reason` says it in a sentence.

    `step` is the step that kept it out, `FOUND` if the search does return it, `MODE` where it would
    meet the conditions in the mode history. `unmet` names the conditions that it does not meet.
    `rank`, counted from 1 among all that match, `score` and `explanation` are None where it was not
    compared or matches in no way. `found_at` is another depth at which the same search returns it,
    `found_in` another mode, None where there is none.
    """

    id: str
    step: Step
    reason: str
    unmet: tuple[str, ...] = ()
    rank: int | None = None
    score: float | None = None
    explanation: Explanation | None = None
    found_at: Depth | None = None
    found_in: Mode | None = None


@frozen(kw_only=True)
class Predecessor(PlainData):
    """A memory that a hit has superseded.

    `text` is its beginning, at most 300 characters; `ended_at` is its `valid_to`, or else when it
    was superseded. `sources` are the ids of what it was made from.
    """

    id: str
    text: str
    ended_at: datetime
    sources: tuple[str, ...] = ()


@frozen(kw_only=True)
class Told(PlainData):
    """A memory beside a hit, and when it was told; `text` is the beginning of its text."""

    id: str
    happened_at: datetime
    text: str


@frozen(kw_only=True)
class Reached(PlainData):
    """The way to a memory from one that matches a question, over stored links in any direction.

    `match` is the id of the memory that matches, `links` are the types of the links on the way from
    it, one or two, and `weight` is the product of their weights.
    """

    match: str
    links: tuple[LinkType, ...]
    weight: float

    @property
    def way(self) -> str:
        """The links in words: "by a link (semantic)", "by two links (semantic, intent)"."""
        number = "a link" if len(self.links) == 1 else "two links"
        return f"by {number} ({', '.join(self.links)})"


@frozen(kw_only=True)
class Hit(FoundMemory):
    """A memory that a search returned, with its score in [0, 1].

    `twins` are the ids of older memories that match as well and whose texts have the same canonical
    form, of the same kind, scope, speaker and status. `highlight` is the half-open character range
    of the best answer in its text: of every text in an overview, otherwise only of a text of
    more than 800 characters (400 of a script without spaces), None in an exhaustive search.
    `covers` are the ids of the hits that this summary was made from, and `outdated` those of its
    sources that were replaced, forgotten or rewritten since.

    `ended` tells that its validity is over by now. `supersedes` are the latest memories that it has
    taken the place of, newest first; a strict search has none.

    `told_later` and `told_earlier` are hits of the same result that are near in meaning, at most
    two each, nearest first: one of them may say what holds now. Messages, summaries and memories
    that no longer hold have none and are none of them.

    `reached` is set in an exhaustive search if the hit has its rank because links lead to it from a
    better match, None if it matches well enough itself.

    `made_from` are messages that match as well and that it was made from; they are no hits of their
    own. `corrected_by` is the id of the hit before a message that superseded what was made from it.
    `answer` is the next turn of the conversation, by another speaker, after a message that asks. A
    search of the depth "normal" sets them.

    `not_useful_for` are questions like this one for which the memory was marked as not useful, so
    that it ranks lower; an exhaustive search has none.
    """

    memory: Memory
    score: float
    explanation: Explanation | None = None
    twins: tuple[str, ...] = ()
    highlight: tuple[int, int] | None = None
    covers: tuple[str, ...] = ()
    outdated: tuple[str, ...] = ()
    ended: bool = False
    supersedes: tuple[Predecessor, ...] = ()
    told_later: tuple[Told, ...] = ()
    told_earlier: tuple[Told, ...] = ()
    reached: Reached | None = None
    not_useful_for: tuple[str, ...] = ()
    made_from: tuple[Told, ...] = ()
    corrected_by: str | None = None
    answer: Told | None = None

    @property
    def text(self) -> str:
        """The text of the memory."""
        return self.memory.text

    @property
    def id(self) -> str:
        """The id of the memory."""
        return self.memory.id

    @property
    def relations(self) -> Iterator[tuple[str, tuple[Told, ...]]]:
        """The memories beside the hit, under what they are to it in words."""
        yield "told later", self.told_later
        yield "told earlier", self.told_earlier
        yield "made from a message", self.made_from
        yield "answered", () if self.answer is None else (self.answer,)

    def __repr__(self) -> str:
        score = round(self.score, 2)
        return describe_in_a_line(self, self.text, score=score, scope=self.memory.scope, id=self.id)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields of the memory and of the hit, for `json.dumps`.

        A `highlight` is an object with its `start`, `end` and `text`.
        """
        own = FoundMemory.to_dict(self)
        if self.highlight is not None:
            start, end = self.highlight
            own["highlight"] = {"start": start, "end": end, "text": self.text[start:end]}
        return {"id": self.id, "text": self.text, "score": self.score, **own}


@frozen(kw_only=True)
class Hits(PlainData, Sequence[Hit]):
    """The hits of a search, best first, with the counts of the search.

    An overview begins with summaries and ends with the hits that they cover. An outdated summary
    keeps its rank, and a summary that probably does not answer follows the hits that probably do.

    `scopes` are the searched scopes, None for all; `named` are those that the question names, whose
    memories rank a little higher. `elsewhere` maps other scopes, which were not searched, to the
    number of their memories that probably answer, ten at most of all together. `eligible` counts
    the memories that meet the conditions, `matches` the eligible memories that match the
    question, `more` the matches that are not shown, beyond the limit or left out by the cut,
    `below` the matches under the threshold, and `pending` the eligible memories without a vector,
    which are compared by words alone. `note` says why the search left out words or meaning, None
    if it used both.

    The search skipped the first `offset` hits; `next` is the offset of the next page, None at the
    end. `best` is the score of the first hit of the first page, 0 if nothing matches. `when` is the
    reading of the given words of time, `as_of` the requested moment; None if the call gave none.
    `time` is the time that the question names itself and in which memories were searched: they rank
    higher, None without. `empty_time` is the time that the question asks for and in which no
    searched memory happened: the hits are of other times. `time_alone` says that no hit has a word
    of the question besides that time. `newest_conversation` is the id of the conversation whose
    last memories these are, oldest first and with the score 0, because the question asks for the
    last time and nothing was likely to answer; None otherwise. `newest_memories` says that these
    are, for the same reason, the newest memories, since none belongs to a conversation.
    `is_cut` says that the cut left out matches, which `more` counts.
    `nearest` are at most two matches that probably do not answer, where the cut "asked" left none.
    `archived` is the archived memory that answers best, if it probably does, and none of these does
    better or the first is a summary; empty otherwise.
    """

    items: tuple[Hit, ...]
    scopes: tuple[str, ...] | None
    eligible: int
    more: int
    below: int
    pending: int
    note: str | None = None
    depth: Depth = Depth.NORMAL
    matches: int
    offset: int = 0
    next: int | None = None
    best: float = 0.0
    when: Reading | None = None
    time: Reading | None = None
    empty_time: Reading | None = None
    time_alone: bool = False
    newest_conversation: str | None = None
    newest_memories: bool = False
    is_cut: bool = False
    nearest: tuple[Hit, ...] = ()
    archived: tuple[Hit, ...] = ()
    mode: Mode = Mode.CURRENT
    as_of: datetime | None = None
    named: tuple[str, ...] = ()
    elsewhere: Mapping[str, int] = field(factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return `hits`, whether an answer is `likely` to be among them, and the other fields.

        `named_scopes` are `named`.
        """
        own = PlainData.to_dict(self)
        named = own.pop("named")
        return {"hits": own.pop("items"), "likely": self.likely, **own, "named_scopes": named}

    @property
    def covered(self) -> dict[str, str]:
        """The ids of covered hits, with the id of the summary that covers the hit."""
        return {covered: hit.memory.id for hit in self.items for covered in hit.covers}

    @property
    def likely(self) -> bool:
        """Whether an answer is probably among the hits.

        The best score is 0.15 or more. On the development sets most questions without an answer
        fall under it, and one in twenty of those whose first hit is right. Memories of other times
        do not answer a question for a time alone.
        """
        return self.best >= LIKELY and not self.time_alone

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, index: int | slice) -> Hit | tuple[Hit, ...]:
        """Return the hit at that rank, counted from 0."""
        return self.items[index]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.items)
