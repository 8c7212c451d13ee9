"""Finds quoted phrases of a question in the candidates.

The index has no positions of words. The texts are therefore read from the store, but only if the
question has quotation marks, and only of candidates that have every word of a phrase.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from infinite_memory.core.errors import StoreDamaged
from infinite_memory.search.bm25 import count_terms
from infinite_memory.search.conversation.turns import ConversationTurns
from infinite_memory.search.document import hash_term
from infinite_memory.search.scoring import SegmentScores
from infinite_memory.search.text.analyzer import terms

Texts = Callable[[Collection[str]], Mapping[str, str]]
"""Returns the texts of memories by their ids; a memory that no longer exists is left out."""

_PAIRS = ('""', "``", "“”", "«»", "「」", "『』", "《》", "\uff02\uff02")
_QUOTED = re.compile("|".join(rf"{p[0]}([^{p}\n]{{2,200}}){p[1]}" for p in _PAIRS))
_MOST_PHRASES = 8
# A quoted sentence may end within the quotation marks where the memory goes on.
_ENDS = " .,;:!?。，；：！？、"


def find_quotes(question: str) -> tuple[str, ...]:
    """Return at most 8 phrases in quotation marks or backticks that have index terms."""
    quoted = (next(filter(None, match.groups())) for match in _QUOTED.finditer(question))
    quotes = dict.fromkeys(_plain(quote).strip(_ENDS) for quote in quoted)
    return tuple(quote for quote in quotes if terms(quote))[:_MOST_PHRASES]


def score_quotes(
    quotes: Sequence[str], scores: Sequence[SegmentScores], turns: ConversationTurns, texts: Texts
) -> NDArray[np.float32]:
    """Return the share of `quotes` that the text of every wanted row contains, shape (m,).

    Letter case, character width and white space are ignored. All shares are 0 if a text is damaged.
    """
    share = np.zeros(len(turns), np.float32)
    may_hold = {quote: _rows_with_words(quote, scores, turns) for quote in quotes}
    id_of = {
        row: scores[turns.segment_index[row]].segment.id_of(int(turns.doc[row]))
        for row in sorted(set().union(*may_hold.values()))
    }
    try:
        text_of = texts(set(id_of.values())) if id_of else {}
    except StoreDamaged:
        # The caller reports the damage when it loads the hits; the ranking skips this step.
        return share
    plain = {memory_id: _plain(text) for memory_id, text in text_of.items()}
    for quote, rows in may_hold.items():
        for row in rows:
            share[row] += quote in plain.get(id_of[row], "")
    return share / np.float32(max(len(quotes), 1))


def _rows_with_words(
    quote: str, scores: Sequence[SegmentScores], turns: ConversationTurns
) -> list[int]:
    """Return the wanted rows whose documents have every term of `quote`."""
    wanted = np.zeros(len(turns), np.bool_)
    wanted[turns.wanted] = True
    hashes = sorted({hash_term(term) for term in terms(quote)})
    held: list[int] = []
    for number, segment_scores in enumerate(scores):
        rows = np.flatnonzero(wanted & (turns.segment_index == number))
        counts = count_terms(segment_scores.segment, hashes, turns.doc[rows].astype(np.int32))
        held.extend(rows[(counts > 0).all(axis=1)].tolist())
    return held


def _plain(text: str) -> str:
    # Accents are kept, because NFKC keeps them: a word with an accent is a different word.
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
