"""Messages that say nothing: "ok", "yes, please", "好的"."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from infinite_memory.core.values.memory import Kind, Memory
from infinite_memory.features.background.upkeep.policies.ages import Ages
from infinite_memory.features.background.upkeep.policies.protected import is_protected
from infinite_memory.features.background.upkeep.policies.verdict import Verdict, last_touched
from infinite_memory.features.background.upkeep.report import StepAction
from infinite_memory.search.text.analyzer import words
from infinite_memory.search.text.highlights import is_dense_script
from infinite_memory.search.text.question_terms import has_subject
from infinite_memory.search.text.quotation import quote_label

MAX_CHARS = 60
"""A longer message is not looked at: three words are shorter."""

_MAX_WORDS = 3
# In scripts without spaces, where a word has one or two characters.
_MAX_DENSE_CHARS = 6
_FREQUENT = 5


def judge_noise(
    memory: Memory, count_same: Callable[[Memory], int], ages: Ages, now: datetime
) -> Verdict | None:
    """Return the verdict on a message of at most three words that says nothing.

    It says nothing if all its words are function words, or if `count_same` finds it at least five
    times among the messages of its scope. A number is never noise.
    """
    if ages.noise is None or memory.kind is not Kind.MESSAGE or len(memory.text) > MAX_CHARS:
        return None
    if is_protected(memory) or now - last_touched(memory) < ages.noise:
        return None
    if not _is_short(memory.text) or any(map(str.isdigit, memory.text)):
        return None
    if not has_subject(memory.text):
        return Verdict(StepAction.ARCHIVE, "a message of function words alone")
    number = count_same(memory)
    if number < _FREQUENT:
        return None
    return Verdict(
        StepAction.ARCHIVE, f"a short message that {quote_label(memory.scope)} has {number} times"
    )


def _is_short(text: str) -> bool:
    if is_dense_script(text):
        return len(text.strip()) <= _MAX_DENSE_CHARS
    return len(words(text)) <= _MAX_WORDS
