"""How much each step of the ranking counts."""

from __future__ import annotations

from attrs import field, frozen, validators

__all__ = ["DEFAULT_WEIGHTS", "Weights"]

_SHARE = validators.and_(validators.ge(0.0), validators.le(10.0))


@frozen(kw_only=True)
class Weights:
    """The steps of the ranking and how much each counts; 0 leaves a step out.

    `meaning` and `words` are the two arms; `coverage` counts where a memory has every word of the
    question, however long it is; `speaker` where the question names who said it. `parts` is how
    much of the meaning is that of the sentence nearest to the memory, in a question of several.
    `around` is how much the meaning of the memory before and of the one after in the conversation
    each take from the memory's own, and `before` and `after` how much of their words count as its.
    `conversation` is the share of the conversation's three best memories, `asks` what a memory that
    itself asks a question loses. `quoted` counts where a memory holds word for word what the
    question has in quotation marks, `important` is the share that a memory marked so gains, and
    `recency` the share that one gets near to losing by age: small, they decide between near equals.
    All of them are shares of 1, none belongs to a model.
    """

    meaning: float = field(default=1.0, validator=_SHARE)
    words: float = field(default=0.5, validator=_SHARE)
    coverage: float = field(default=0.2, validator=_SHARE)
    speaker: float = field(default=0.25, validator=_SHARE)
    parts: float = field(default=0.5, validator=validators.and_(validators.ge(0), validators.le(1)))
    around: float = field(default=0.2, validator=_SHARE)
    before: float = field(default=0.5, validator=_SHARE)
    after: float = field(default=0.2, validator=_SHARE)
    conversation: float = field(default=0.2, validator=_SHARE)
    asks: float = field(default=0.1, validator=_SHARE)
    quoted: float = field(default=0.3, validator=_SHARE)
    important: float = field(default=0.05, validator=_SHARE)
    recency: float = field(default=0.01, validator=_SHARE)


DEFAULT_WEIGHTS = Weights()
"""Chosen on conversations, questions to paragraphs, and scientific claims: one for all."""
