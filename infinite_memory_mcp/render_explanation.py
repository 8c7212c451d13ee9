"""The steps that led to the score of a hit, in a line for an assistant."""

from __future__ import annotations

from infinite_memory.core.values.hits import Explanation


def render_explanation(explanation: Explanation) -> str:
    """Return the steps of the ranking of a hit in a line."""

    def format_rank(rank: int | None) -> str:
        return "not found" if rank is None else f"rank {rank}"

    cosine = "" if explanation.cosine is None else f", cosine {explanation.cosine:.3f}"
    steps = (
        (explanation.sentences, "its sentences one by one"),
        (explanation.speaker, "its speaker is named in the query"),
        (explanation.around, "what was said around it"),
        (explanation.quoted, "what the query quotes"),
        (explanation.is_question, "it is a question itself"),
        (explanation.important, "marked important"),
        (explanation.conversation, "its conversation"),
        (explanation.summary, "it is a summary"),
        (explanation.time, "it is of the time that the query names"),
        (explanation.not_useful, "marked as not useful for such a query"),
        (explanation.later, "it was told later than a near one"),
        (explanation.linked, "links lead to it from a better match"),
    )
    contributions = "".join(f", {label} {value:+.2f}" for value, label in steps if value)
    return (
        f"why: meaning {explanation.meaning:.2f} ({format_rank(explanation.meaning_rank)}{cosine})"
        f", words {explanation.words:+.2f} ({format_rank(explanation.words_rank)},"
        f" BM25 {explanation.bm25:.2f}){contributions}"
    )
