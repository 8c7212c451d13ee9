"""The similarity that a model gives to unrelated texts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from infinite_memory.search.embedding.runtime import Runtime

# Scores are divided by one less the background.
_HIGHEST = 0.99
UNRELATED = (
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
"""Sentences that have nothing to do with each other."""


def measure_background(runtime: Runtime, query_prefix: str, document_prefix: str) -> float:
    """Return the mean cosine of sixteen questions with unrelated texts, two decimals, at most 0.99.

    Every sentence is compared as a question with the rest as texts, as in a search: a model with
    prefixes puts two texts nearer together than a question and a text. The run also proves that
    the model works.

    Raises:
        EmbedderError: the model cannot be run.
    """
    texts = np.stack([runtime.vector(document_prefix + text) for text in UNRELATED])
    questions = texts
    if query_prefix != document_prefix:
        questions = np.stack([runtime.vector(query_prefix + text) for text in UNRELATED])
    return mean_cosine(questions, texts)


def mean_cosine(questions: NDArray[np.float32], texts: NDArray[np.float32]) -> float:
    """Return the mean cosine of questions with unrelated texts, two decimals, at most 0.99.

    Both are the vectors of `UNRELATED`, shape (n, dimensions).
    """
    is_other_text = ~np.eye(len(texts), dtype=bool)
    mean = float((questions @ texts.T)[is_other_text].mean())
    # Plus 0, which makes 0.0 of -0.0.
    return min(round(mean, 2), _HIGHEST) + 0.0
