"""English words that say nothing of what a text is about."""

from __future__ import annotations

__all__ = ["STOP_WORDS"]

STOP_WORDS = frozenset(
    # Articles, pronouns, prepositions, conjunctions, auxiliaries and question words; negations and
    # numbers carry meaning and are kept.
    """
    a about am an and any are as at be been being but by can could did do does doing don for from
    had has have having he her hers him his how i if in into is it its just ll me my of on or our
    ours re s shall she should so some t than that the their them then there these they this those
    to too ve very was we were what when where which while who whom why will with would you your
    """.split()
)
