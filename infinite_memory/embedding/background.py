"""The similarity that a model gives to unrelated texts."""

from __future__ import annotations

import numpy as np

from infinite_memory.embedding.runtime import Runtime

__all__ = ["measure_background"]

# Scores are divided by one less the background.
_HIGHEST = 0.99
_UNRELATED = (
    "The bread has to rest for an hour before it goes into the oven.",
    "Her train to Lisbon leaves at a quarter past nine.",
    "The database refused the connection because the password had expired.",
    "We painted the fence green last summer.",
    "He plays the cello in a small orchestra.",
    "Glaciers in the northern valley have lost a third of their ice.",
    "The contract can be ended with three months of notice.",
    "My knee hurts whenever I climb the stairs.",
    "Two goals in the last minute decided the match.",
    "Bees find their way home by the position of the sun.",
    "The parser fails on nested comments.",
    "Taxes on imported steel were raised again.",
    "Our daughter lost her first tooth yesterday.",
    "The novel tells of a lighthouse keeper and his brother.",
    "Please order more paper for the printer.",
    "A new species of frog was described in Borneo.",
)


def measure_background(runtime: Runtime, query_prefix: str, document_prefix: str) -> float:
    """Return the mean cosine of sixteen questions with unrelated texts, two decimals, at most 0.99.

    Every sentence is compared as a question with the rest as texts, as in a search: a model with
    prefixes puts two texts nearer together than a question and a text. The run also proves that
    the model works.

    Raises:
        EmbedderError: the model cannot be run.
    """
    texts = np.stack([runtime.vector(document_prefix + text) for text in _UNRELATED])
    questions = texts
    if query_prefix != document_prefix:
        questions = np.stack([runtime.vector(query_prefix + text) for text in _UNRELATED])
    is_other_text = ~np.eye(len(texts), dtype=bool)
    mean = float((questions @ texts.T)[is_other_text].mean())
    return min(round(mean, 2), _HIGHEST)
