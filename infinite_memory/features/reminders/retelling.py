"""Memories that tell the same subject: told again, changed since, or one of a routine.

Two memories share a subject if the words that they share weigh at least half of those of the one
with fewer; a word weighs the more the fewer memories have it. Words alone are compared, since a
briefing uses no model. It decides what is shown once, and never what holds.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from math import log1p

from attrs import frozen

from infinite_memory.core.values.memory import Kind, Memory
from infinite_memory.search.text.analyzer import terms
from infinite_memory.search.text.question_terms import find_subject

_LEAST_SHARE, _LEAST_TERMS, _LEAST_LETTERS = 0.5, 2, 4
# So many more that tell the same, or begin with a word that mostly stands there, make a routine of
# a note: "Ran 5 km", "Dinner was soup".
_ROUTINE = 3
# Only the newest are compared, and the beginning of a text, which limits the time.
_MOST_COMPARED, _MOST_CHARS = 150, 600
_COMPARED = frozenset({Kind.FACT, Kind.DECISION, Kind.LESSON, Kind.NOTE, Kind.REMINDER})


@frozen(kw_only=True)
class Retelling:
    """What need not be shown: `instead` has what tells it as it is now, `routine` the rest."""

    instead: Mapping[str, Memory]
    routine: frozenset[str]


@frozen(kw_only=True)
class _Subject:
    memory: Memory
    first: str
    words: frozenset[str]
    numbers: frozenset[str]


def find_retelling(memories: Iterable[Memory]) -> Retelling:
    """Compare the newest of `memories` with one another, in their scopes."""
    newest = sorted(
        (memory for memory in memories if memory.kind in _COMPARED),
        key=lambda memory: (memory.happened_at, memory.id),
    )[-_MOST_COMPARED:]
    subjects = [_read_subject(memory) for memory in newest]
    counts = Counter(word for subject in subjects for word in subject.words)
    weights = {word: log1p(len(subjects) / count) for word, count in counts.items()}
    nearest: dict[str, tuple[float, Memory]] = {}
    alike: Counter[str] = Counter()
    for share, earlier, later in _find_pairs(subjects, weights):
        for one in (earlier, later):
            alike[one.memory.id] += 1
        hidden, shown = (later, earlier) if _only_repeats(earlier, later) else (earlier, later)
        # What somebody stored, or marked, stays beside what was found in a session.
        is_kept = hidden.memory.important or (
            shown.memory.is_inferred and not hidden.memory.is_inferred
        )
        if not is_kept and share >= nearest.get(hidden.memory.id, (0.0,))[0]:
            nearest[hidden.memory.id] = share, shown.memory
    leading = Counter(subject.first for subject in subjects if subject.first in subject.words)
    routine_words = {
        word for word, count in leading.items() if count > _ROUTINE and 2 * count > counts[word]
    }
    return Retelling(
        instead={memory_id: memory for memory_id, (_, memory) in nearest.items()},
        routine=frozenset(
            subject.memory.id
            for subject in subjects
            if subject.memory.kind is Kind.NOTE
            and (alike[subject.memory.id] >= _ROUTINE or subject.first in routine_words)
        ),
    )


def share_of_words(first: str, second: str) -> float:
    """Return which share of the words of the text with fewer the other text has.

    A word is in a longer one, as "zahlen" in "gezahlt" and "Rechnung" in "Stromrechnung".
    """
    fewer, more = sorted((_read_words(text)[0] for text in (first, second)), key=len)
    rest = more - fewer
    shared = [
        word
        for word in fewer
        if word in more or (rest != more and any(_holds(word, other) for other in rest))
    ]
    return len(shared) / len(fewer) if fewer else 0.0


def _holds(first: str, second: str) -> bool:
    shorter, longer = sorted((first, second), key=len)
    return len(shorter) >= _LEAST_LETTERS and shorter in longer


def _find_pairs(
    subjects: Sequence[_Subject], weights: Mapping[str, float]
) -> Iterable[tuple[float, _Subject, _Subject]]:
    """Yield the pairs with a subject in common, with their share, earlier and later."""
    totals = [sum(weights[word] for word in subject.words) for subject in subjects]
    having: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for number, subject in enumerate(subjects):
        shared: defaultdict[int, float] = defaultdict(float)
        number_of: Counter[int] = Counter()
        for word in subject.words:
            for other in having[subject.memory.scope, word]:
                shared[other] += weights[word]
                number_of[other] += 1
            having[subject.memory.scope, word].append(number)
        for other, weight in shared.items():
            share = weight / min(totals[other], totals[number])
            # More words in common are no accident, rare or not.
            if number_of[other] > _LEAST_TERMS:
                fewest = min(len(subjects[other].words), len(subject.words))
                share = max(share, number_of[other] / fewest)
            if number_of[other] >= _LEAST_TERMS and share >= _LEAST_SHARE:
                yield share, subjects[other], subject


def _only_repeats(earlier: _Subject, later: _Subject) -> bool:
    """Return whether the later one says less than a fact or a decision, and nothing new by number.

    "User's name is Marta" does not replace "My name is Marta Lindqvist, I am 38 and ...".
    """
    is_less = later.memory.kind is Kind.NOTE and earlier.memory.kind is not Kind.NOTE
    is_less = is_less and len(later.words) < len(earlier.words)
    return is_less and later.numbers <= earlier.numbers


def _read_subject(memory: Memory) -> _Subject:
    text = memory.text[:_MOST_CHARS]
    words, numbers = _read_words(text)
    first = next(iter(terms(text.split(maxsplit=1)[0])), "") if text.strip() else ""
    return _Subject(memory=memory, first=first, words=words, numbers=numbers)


@lru_cache(maxsize=4096)
def _read_words(text: str) -> tuple[frozenset[str], frozenset[str]]:
    subject = find_subject(text)
    numbers = frozenset(term for term in subject if any(map(str.isdigit, term)))
    # "WindWatch" is one word, beside its two parts.
    parts = {
        part
        for term in subject
        for cut in range(1, len(term))
        if subject.issuperset(halves := (term[:cut], term[cut:]))
        for part in halves
    }
    return subject - numbers - parts, numbers
