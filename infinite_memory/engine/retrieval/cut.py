"""The cut of a search: how many of its matches are shown."""

from __future__ import annotations

import re
from itertools import islice

from attrs import evolve

from infinite_memory.core.secrets import find_secrets
from infinite_memory.core.values.criteria import Cut, Depth
from infinite_memory.core.values.hits import MAY_ANSWER, SURE, Hit, Hits
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.question import Question
from infinite_memory.engine.trivial import is_trivial

# A further hit that may answer has at least this share of the best total.
_LEAST_OF_BEST = 0.5
_MOST_PUSHED = 3
_MOST_NEAREST = 2
# What prompts write to a model, and hardly anybody into a note: a filter for `pushed` alone.
_ADDRESSES_MODEL = re.compile(
    r"\b(?:ignore|disregard|forget|override|ignorier|vergiss|missachte|ignora|olvida|oublie)\w{0,3}\b"
    r"(?=[^.\n]{0,60}\b(?:previous|prior|above|earlier|vorherig|bisherig|obig|anterior|précédent))"
    r"[^.\n]{0,60}\b(?:instruc|prompt|rules\b|messages\b|anweisung|regeln|reglas|consigne|règles)"
    r"|(?:忽略|无视|忘记)[^。\n]{0,10}(?:指令|指示|提示|规则)"
    r"|\byou are now (?:an?|in developer)\b|\bdu bist (?:jetzt|nun) ein|\bahora eres una?\b"
    r"|\btu es (?:maintenant|désormais) une?\b|你现在是一个|\bdo not tell the user\b"
    r"|</?(?:system|assistant|user|human|instructions?|(?:tool|function|system)[_-]\w+)>"
    r"|<\|\w+\|>|\[/?INST\]|^[# ]{0,8}system(?: prompt|: ?you\b)",
    re.IGNORECASE | re.MULTILINE,
)


def cut_hits(question: Question, hits: Hits) -> Hits:
    """Return `hits`, which have explanations, with those alone that the cut of `question` shows.

    The bars were chosen on a month of memories and on six smaller stores in six languages; see
    `docs/measurements/retrieval.md`.
    """
    if question.cut is Cut.WIDE or question.depth is not Depth.NORMAL or not hits:
        return hits
    kept = _select_shown(question.cut, hits) if hits.likely else []
    if len(kept) == len(hits):
        return hits
    # The first page alone tells whether anything may answer.
    is_unanswered = not kept and question.cut is Cut.ASKED and not question.offset
    dropped = [hit for hit in hits if hit not in kept]
    return evolve(
        hits,
        items=tuple(kept),
        is_cut=True,
        nearest=hits.items[:_MOST_NEAREST] if is_unanswered else (),
        more=hits.more + sum(1 + len(hit.twins) for hit in dropped),
        next=None,
    )


def _select_shown(cut: Cut, hits: Hits) -> list[Hit]:
    if cut is Cut.PUSHED:
        sure = (hit for hit in hits if hit.score >= SURE and may_be_pushed(hit.memory))
        return list(islice(sure, _MOST_PUSHED))
    least = _LEAST_OF_BEST * max(map(_total_of, hits))
    return [hit for hit in hits if hit.score >= MAY_ANSWER and _total_of(hit) >= least]


def may_be_pushed(memory: Memory) -> bool:
    """Return whether a memory may enter a conversation unasked.

    It says something, was not brought in, and is fit to be told. This holds back nothing that is
    asked for.
    """
    text = f"{memory.title or ''}\n{memory.text}"
    return not memory.is_brought_in and is_fit_to_tell(text) and not is_trivial(memory.text)


def is_fit_to_tell(text: str) -> bool:
    """Return whether a text has no secret and does not address the model."""
    return _ADDRESSES_MODEL.search(text) is None and not find_secrets(text)


def _total_of(hit: Hit) -> float:
    return 0.0 if hit.explanation is None else hit.explanation.total
