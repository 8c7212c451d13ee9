"""How much each step of the ranking counts."""

from __future__ import annotations

from attrs import field, frozen, validators

__all__ = ["DEFAULT_WEIGHTS", "Weights"]

_SHARE = validators.and_(validators.ge(0.0), validators.le(10.0))


@frozen(kw_only=True)
class Weights:
    """The steps of the ranking and how much each counts; 0 leaves a step out.

    `meaning` and `words` weigh the two arms, `speaker` a memory whose speaker the question names.
    `parts` is the share of the meaning that comes from the sentence nearest to the memory, in a
    question of several sentences. `around` is the share of the meaning that comes from the previous
    memory of the conversation, and again from the next; `before` and `after` are the shares of
    their words that count as the memory's own. `conversation` weighs the three best memories of the
    conversation. A memory that ends with a question loses the share `asks`. `quoted` weighs the
    quoted parts of the question that the memory holds word for word. An important memory gains the
    share `important`, which is small, so that it decides between near equals only.
    No weight depends on the embedding model.
    """

    meaning: float = field(default=1.0, validator=_SHARE)
    words: float = field(default=0.5, validator=_SHARE)
    speaker: float = field(default=0.25, validator=_SHARE)
    parts: float = field(default=0.5, validator=validators.and_(validators.ge(0), validators.le(1)))
    around: float = field(default=0.2, validator=_SHARE)
    before: float = field(default=0.5, validator=_SHARE)
    after: float = field(default=0.2, validator=_SHARE)
    conversation: float = field(default=0.2, validator=_SHARE)
    asks: float = field(default=0.1, validator=_SHARE)
    quoted: float = field(default=0.3, validator=_SHARE)
    important: float = field(default=0.05, validator=_SHARE)


DEFAULT_WEIGHTS = Weights()
"""Chosen on conversations, questions to paragraphs, and scientific claims: one for all."""
