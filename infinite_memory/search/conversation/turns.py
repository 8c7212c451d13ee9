"""The turns of a conversation: which memory came before a memory, and which came after it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from infinite_memory.search.doc_filter import DocFilter
from infinite_memory.search.segment import Segment, sort_distinct

NONE = -1
"""The row number of a missing adjacent turn."""

Rows = NDArray[np.intp]


@frozen(kw_only=True, eq=False)
class ConversationTurns:
    """Some documents of several segments, with the adjacent turns of their conversations.

    Columns of shape (m,): `segment_index` and `doc` identify the document of a row; `before` and
    `after` are the rows of the previous and the next turn, `NONE` at the ends of a conversation.
    `conversation` numbers the conversations from 0; a document without a conversation forms its
    own. `size` (c,) counts the selected documents per conversation. `wanted` holds the rows of the
    requested documents and of their adjacent turns. The remaining rows are turns adjacent to
    `wanted`.
    """

    segment_index: Rows
    doc: Rows
    before: Rows
    after: Rows
    conversation: Rows
    size: Rows
    wanted: Rows

    def __len__(self) -> int:
        return len(self.segment_index)


def find_conversation_turns(
    segments: Sequence[Segment], doc_filters: Sequence[DocFilter], segment_index: Rows, doc: Rows
) -> ConversationTurns:
    """Return the documents `doc` of the segments `segment_index`, with their adjacent turns.

    Turns are in order of `happened`, then `stored`. Two turns in a row by one speaker are not
    adjacent: neither answers the other. A statement that was found in a message is no turn: its
    message is. Only selected documents count, so that hidden documents do not change the scores.
    """
    in_conversation = np.zeros(len(segment_index), np.bool_)
    for number, segment in enumerate(segments):
        here = (segment_index == number).nonzero()[0]
        docs = doc[here]
        in_conversation[here] = segment.conversation[docs] != segment.code_of.get("", NONE)
        in_conversation[here] &= segment.important[docs] >= 0
    lone_segment_index, lone_doc = segment_index[~in_conversation], doc[~in_conversation]
    members = _find_members(
        segments, doc_filters, segment_index[in_conversation], doc[in_conversation]
    )
    adjacent = (members.code[1:] == members.code[:-1]) & _speaks_another(members.speaker)
    wanted = _widen(members.is_candidate, adjacent)
    kept = _widen(wanted, adjacent).nonzero()[0]
    row_of = np.full(len(members.doc) + 1, NONE, np.intp)
    row_of[kept] = np.arange(len(kept))
    lone = np.arange(len(lone_segment_index), dtype=np.intp)
    alone = np.full(len(lone), NONE, np.intp)
    previous = np.where(np.append(False, adjacent), np.arange(len(members.doc)) - 1, NONE)
    following = np.where(np.append(adjacent, False), np.arange(len(members.doc)) + 1, NONE)
    codes, conversation = np.unique(members.code[kept], return_inverse=True)
    sizes = np.bincount(members.code, minlength=len(codes))[codes]
    return ConversationTurns(
        segment_index=np.append(members.segment_index[kept], lone_segment_index),
        doc=np.append(members.doc[kept], lone_doc),
        before=np.append(row_of[previous[kept]], alone),
        after=np.append(row_of[following[kept]], alone),
        conversation=np.append(conversation, len(codes) + lone),
        size=np.append(sizes, np.ones(len(lone), np.intp)),
        wanted=np.append(row_of[wanted.nonzero()[0]], len(kept) + lone),
    )


@frozen(kw_only=True, eq=False)
class _Members:
    """Every selected document of the conversations of candidates, in the order of the turns."""

    segment_index: Rows
    doc: Rows
    code: Rows
    speaker: Rows
    is_candidate: NDArray[np.bool_]


def _find_members(
    segments: Sequence[Segment], doc_filters: Sequence[DocFilter], segment_index: Rows, doc: Rows
) -> _Members:
    names = sorted(_conversation_names(segments, segment_index, doc))
    columns: list[tuple[NDArray[Any], ...]] = []
    speakers: dict[str, int] = {"": NONE}
    for number, (segment, doc_filter) in enumerate(zip(segments, doc_filters, strict=True)):
        code_pairs = [
            (segment.code_of.get(name, NONE), name_number) for name_number, name in enumerate(names)
        ]
        code_pairs = sorted(pair for pair in code_pairs if pair[0] != NONE)
        codes, name_numbers = np.array(code_pairs, np.int32).reshape(-1, 2).T
        docs = segment.find_in_conversations(codes).astype(np.intp)
        docs = docs[doc_filter.contains(docs) & (segment.important[docs] >= 0)]
        is_candidate = np.zeros(len(segment), np.bool_)
        is_candidate[doc[segment_index == number]] = True
        columns.append(
            (
                np.full(len(docs), number, np.intp),
                docs,
                name_numbers[np.searchsorted(codes, segment.conversation[docs])].astype(np.intp),
                _number_speakers(segment, docs, speakers),
                is_candidate[docs],
                segment.happened[docs],
                segment.stored[docs],
                # Breaks ties, in the same way in every process.
                segment.id_hash[docs],
            )
        )
    all_segment_indexes, all_docs, code, speaker, is_candidate, happened, stored, hashes = (
        np.concatenate(column) for column in zip(*columns, strict=True)
    )
    order = np.lexsort((happened, code))
    told, where = happened[order], code[order]
    if ((told[1:] == told[:-1]) & (where[1:] == where[:-1])).any():
        order = np.lexsort((hashes, stored, happened, code))
    return _Members(
        segment_index=all_segment_indexes[order],
        doc=all_docs[order],
        code=code[order],
        speaker=speaker[order],
        is_candidate=is_candidate[order],
    )


def _conversation_names(segments: Sequence[Segment], segment_index: Rows, doc: Rows) -> set[str]:
    return {
        segment.names[code]
        for number, segment in enumerate(segments)
        for code in sort_distinct(segment.conversation[doc[segment_index == number]])
    }


def _number_speakers(segment: Segment, docs: Rows, speakers: dict[str, int]) -> Rows:
    """Return the numbers of the speakers of `docs`; those that are new are added to `speakers`."""
    numbers = np.full(len(segment.names), NONE, np.intp)
    for code in segment.speaker_codes.tolist():
        numbers[code] = speakers.setdefault(segment.names[code], len(speakers))
    return numbers[segment.speaker[docs]]


def _speaks_another(speaker: Rows) -> NDArray[np.bool_]:
    """Return whether a turn may answer the one before it, since another person may speak: (n - 1,).

    `NONE` is a speaker who is not known.
    """
    one, other = speaker[:-1], speaker[1:]
    return np.asarray((one != other) | (one == NONE), np.bool_)


def _widen(marked: NDArray[np.bool_], adjacent: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the marked positions and the positions that are `adjacent` to them."""
    wider = marked.copy()
    wider[1:] |= marked[:-1] & adjacent
    wider[:-1] |= marked[1:] & adjacent
    return wider
