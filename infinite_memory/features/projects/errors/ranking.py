"""How alike two errors are, and which past solution fits an error best."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from infinite_memory.features.projects.errors.signature import ErrorSignature
from infinite_memory.search.text.analyzer import terms

_NAME, _MESSAGE, _TEXT, _FRAMES = 0.15, 0.35, 0.40, 0.10
# Settled on the half of the cases that is there to tune on; 0.1 to 0.3 do nearly as well.
_SEARCH = 0.2


def compare_errors(
    first: ErrorSignature,
    second: ErrorSignature,
    *,
    rarity: Mapping[str, float] | None = None,
) -> float:
    """Return how alike two errors are, from 0 to 1; the order does not matter.

    It is 0.15 name + 0.35 message + 0.4 text + 0.1 frames, each from 0 to 1. The name counts 1 if
    both are the same and a half if a name is unknown. Message, text and frames count the weight of
    the shared terms, divided by the mean of two: the weight of the lighter side, since an error is
    often pasted in part, and the geometric mean of both, since a few words are in many errors. A
    term weighs its `rarity`, by default 1. If an error has no frames, they are left out, and the
    rest is the whole.
    """
    is_unknown = first.name is None or second.name is None
    name = 0.5 if is_unknown else float(first.name == second.name)
    parts = [
        (_NAME, name),
        (_MESSAGE, _measure_overlap(terms(first.message), terms(second.message), rarity)),
        (_TEXT, _measure_overlap(terms(first.text), terms(second.text), rarity)),
    ]
    if first.frames and second.frames:
        parts.append((_FRAMES, _measure_overlap(first.frames, second.frames, None)))
    return sum(weight * part for weight, part in parts) / sum(weight for weight, _ in parts)


def rank_solutions(
    signature: ErrorSignature | None,
    candidates: Sequence[tuple[str, ErrorSignature | None, float]],
) -> list[tuple[str, float]]:
    """Return the candidates with new scores from 0 to 1, best first.

    A candidate is an id, the signature of the error that it solved, and its score in the search.
    The new score is a fifth of that score, divided by the best of all, and four fifths of
    `compare_errors`, in which a term that few of the candidates have weighs more. Where a signature
    is None, the errors have nothing in common.
    """
    best = max((score for _, _, score in candidates), default=0.0) or 1.0
    rarity = _weigh_rarity([solved for _, solved, _ in candidates if solved is not None])
    ranked = []
    for solution_id, solved, score in candidates:
        likeness = 0.0
        if signature is not None and solved is not None:
            likeness = compare_errors(signature, solved, rarity=rarity)
        ranked.append((solution_id, _SEARCH * score / best + (1 - _SEARCH) * likeness))
    return sorted(ranked, key=lambda pair: -pair[1])


def _weigh_rarity(signatures: Sequence[ErrorSignature]) -> dict[str, float]:
    counts = Counter(term for signature in signatures for term in set(terms(signature.text)))
    return {term: math.log(1 + len(signatures) / count) for term, count in counts.items()}


def _measure_overlap(
    first: Collection[str], second: Collection[str], rarity: Mapping[str, float] | None
) -> float:
    shared, one, other = (
        _weigh_names(names, rarity) for names in (set(first) & set(second), set(first), set(second))
    )
    return 2 * shared / (min(one, other) + math.sqrt(one * other)) if shared else 0.0


def _weigh_names(names: Collection[str], rarity: Mapping[str, float] | None) -> float:
    return sum(1.0 if rarity is None else rarity.get(name, 1.0) for name in names)
