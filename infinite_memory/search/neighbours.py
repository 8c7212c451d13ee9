"""Which memory came before and which after, in the same conversation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from infinite_memory.search.doc_filter import DocFilter
from infinite_memory.search.segment import Segment

__all__ = ["NONE", "Neighbours", "find_neighbours"]

NONE = -1
"""Stands for the row of a neighbour that there is none of."""

Rows = NDArray[np.intp]


@frozen(kw_only=True, eq=False)
class Neighbours:
    """Some documents of several segments, and those near them in their conversations.

    Columns of shape (m,): `part` and `doc` say which document a row is about; `before` and `after`
    are the rows of its neighbours, `NONE` without one. `conversation` numbers the conversations
    from 0; a document without one is alone in its own. `size` (c,) counts the selected documents of
    each. `wanted` are the rows that were asked for and their neighbours; the others are there as
    neighbours of these.
    """

    part: Rows
    doc: Rows
    before: Rows
    after: Rows
    conversation: Rows
    size: Rows
    wanted: Rows

    def __len__(self) -> int:
        return len(self.part)


def find_neighbours(
    segments: Sequence[Segment], selections: Sequence[DocFilter], part: Rows, doc: Rows
) -> Neighbours:
    """Return the documents `doc` of the segments `part`, with what was said around them.

    The order in a conversation is that of `happened`, then `stored`. Only selected documents are
    seen, so what a search may not see does not move its scores.
    """
    spoken = np.zeros(len(part), np.bool_)
    for number, segment in enumerate(segments):
        here = np.flatnonzero(part == number)
        spoken[here] = segment.conversation[doc[here]] != segment.code_of.get("", NONE)
    lone_part, lone_doc = part[~spoken], doc[~spoken]
    members = _members(segments, selections, part[spoken], doc[spoken])
    asked = np.isin(members.key, _keys(part[spoken], doc[spoken]))
    near = _widen(asked, members.code)
    kept = np.flatnonzero(_widen(near, members.code))
    row_of = np.full(len(members.key) + 1, NONE, np.intp)
    row_of[kept] = np.arange(len(kept))
    lone = np.arange(len(lone_part), dtype=np.intp)
    alone = np.full(len(lone), NONE, np.intp)
    same = members.code[1:] == members.code[:-1]
    previous = np.where(np.append(False, same), np.arange(len(members.key)) - 1, NONE)
    following = np.where(np.append(same, False), np.arange(len(members.key)) + 1, NONE)
    codes, conversation = np.unique(members.code[kept], return_inverse=True)
    sizes = np.bincount(members.code, minlength=len(codes))[codes]
    return Neighbours(
        part=np.append(members.part[kept], lone_part),
        doc=np.append(members.doc[kept], lone_doc),
        before=np.append(row_of[previous[kept]], alone),
        after=np.append(row_of[following[kept]], alone),
        conversation=np.append(conversation, len(codes) + lone),
        size=np.append(sizes, np.ones(len(lone), np.intp)),
        wanted=np.append(row_of[np.flatnonzero(near)], len(kept) + lone),
    )


@frozen(kw_only=True, eq=False)
class _Members:
    """Every selected document of some conversations, in the order in which it was said."""

    part: Rows
    doc: Rows
    code: Rows
    key: NDArray[np.int64]


def _members(
    segments: Sequence[Segment], selections: Sequence[DocFilter], part: Rows, doc: Rows
) -> _Members:
    names = sorted(_conversations(segments, part, doc))
    columns: list[tuple[NDArray[Any], ...]] = []
    for number, (segment, selection) in enumerate(zip(segments, selections, strict=True)):
        held = [(segment.code_of.get(name, NONE), place) for place, name in enumerate(names)]
        held = sorted(each for each in held if each[0] != NONE)
        codes, places = np.array(held, np.int32).reshape(-1, 2).T
        docs = segment.said_in(codes).astype(np.intp)
        docs = docs[selection.among(docs)]
        columns.append(
            (
                np.full(len(docs), number, np.intp),
                docs,
                places[np.searchsorted(codes, segment.conversation[docs])].astype(np.intp),
                segment.happened[docs],
                segment.stored[docs],
                # Decides between those that are otherwise equal, the same in each process.
                segment.id_hash[docs],
            )
        )
    all_parts, all_docs, code, happened, stored, hashes = (
        np.concatenate(column) for column in zip(*columns, strict=True)
    )
    order = np.lexsort((hashes, stored, happened, code))
    all_parts, all_docs = all_parts[order], all_docs[order]
    return _Members(part=all_parts, doc=all_docs, code=code[order], key=_keys(all_parts, all_docs))


def _conversations(segments: Sequence[Segment], part: Rows, doc: Rows) -> set[str]:
    return {
        segment.names[code]
        for number, segment in enumerate(segments)
        for code in np.unique(segment.conversation[doc[part == number]])
    }


def _keys(part: Rows, doc: Rows) -> NDArray[np.int64]:
    return (part.astype(np.int64) << 32) + doc


def _widen(marked: NDArray[np.bool_], code: Rows) -> NDArray[np.bool_]:
    """Return the marked places and those directly before and after them in the same code."""
    wider = marked.copy()
    same = code[1:] == code[:-1]
    wider[1:] |= marked[:-1] & same
    wider[:-1] |= marked[1:] & same
    return wider
