"""Says how to find more with a question in a language that the model lacks."""

from __future__ import annotations

from functools import lru_cache
from threading import Lock

from infinite_memory.core.values.question import Arm, Question
from infinite_memory.engine.active_model import Models
from infinite_memory.search.embedding import BUNDLED, ENGLISH
from infinite_memory.search.embedding.models import find_model
from infinite_memory.search.text.analyzer import foreign_languages

OTHER_LANGUAGES = f"`infinite-memory model use {BUNDLED}` adds a model for other languages"


IN_ENGLISH = "the same question in English may find more"


# The manifest is a file, which is read once.
@lru_cache(maxsize=8)
def needs_multilingual(model: str) -> bool:
    """Return whether `model` is the English model alone."""
    return model == find_model(ENGLISH).manifest.identity


class LanguageHint:
    """Adds to the notes of the answers to questions in a language that the model lacks.

    Every answer found by words alone says to ask in English too: an assistant can do that at once.
    The first answer also names the model for other languages. Every method may be called from any
    thread.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._was_given = False

    def add_to(self, note: str | None, models: Models, question: Question) -> str | None:
        """Return `note`, with the hint where it belongs to this answer."""
        if Arm.MEANING not in question.arms or (self._was_given and note is None):
            return note
        text, embedder = question.text, models.configured.embedder
        if not needs_multilingual(models.configured.name):
            return note
        if not foreign_languages(text) and embedder.understands(text):
            return note
        if models.answering() is not models.configured:
            return note
        with self._lock:
            is_first, self._was_given = not self._was_given, True
        sentences = [] if note is None else [note]
        if note is not None and not embedder.understands(text):
            sentences.append(IN_ENGLISH)
        if is_first:
            sentences = sentences or ["the embedding model was made for English"]
            sentences.append(OTHER_LANGUAGES)
        return "; ".join(sentences) or None
