"""The search by the model that answers, with checks of one that a user has plugged in.

An error names the part at fault.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve

from infinite_memory.core.errors import ConfigurationError
from infinite_memory.core.values.question import Arm, Candidate, Question, Ranking

if TYPE_CHECKING:
    from infinite_memory.core.protocols import Embedder, Search, SearchFactory, Storage
    from infinite_memory.engine.active_model import Models

_GUIDE = 'see the contract in the guide "Writing a backend"'


def make_search(factory: SearchFactory, storage: Storage, embedder: Embedder) -> Search:
    """Return the search that `factory` makes.

    Raises:
        ConfigurationError: `factory` cannot be called, or its result lacks a method.
    """
    if not callable(factory):
        raise ConfigurationError(
            f"search {factory!r:.100} cannot be called: give a class or a function that takes"
            f" (storage, embedder) and returns a search; {_GUIDE}"
        )
    search = factory(storage, embedder)
    missing = [name for name in ("search", "nearest") if not callable(getattr(search, name, None))]
    if missing:
        raise ConfigurationError(
            f"search {factory!r:.100} made {search!r:.100}, which lacks the method"
            f"{'s' if len(missing) > 1 else ''} {' and '.join(missing)}: {_GUIDE}"
        )
    return search


def check_ranking(ranking: object, search: Search, question: Question) -> Ranking:
    """Return `ranking`, the answer of `search`.

    Raises:
        ConfigurationError: the answer breaks the contract of `Search`.
    """
    name = type(search).__qualname__
    if not isinstance(ranking, Ranking):
        raise ConfigurationError(
            f"the search {name} answered with {ranking!r:.100}, which is not a Ranking: {_GUIDE}"
        )
    if len(ranking.candidates) > question.limit:
        raise ConfigurationError(
            f"the search {name} answered with {len(ranking.candidates)} candidates and the limit"
            f" was {question.limit}: {_GUIDE}"
        )
    for candidate in ranking.candidates:
        if not isinstance(candidate, Candidate) or not 0 <= candidate.score <= 1:
            raise ConfigurationError(
                f"the search {name} answered with {candidate!r:.200}, which is not a Candidate "
                f"with a score from 0 to 1: {_GUIDE}"
            )
    return ranking


def search_models(models: Models, question: Question) -> Ranking:
    """Return the ranking for `question` by the model that answers now.

    A note in the ranking says if some memories have no vector by that model.

    Raises:
        ConfigurationError: the answer of a plugged-in search breaks the contract of `Search`.
    """
    model = models.answering()
    ranking = check_ranking(model.index.search(question), model.index, question)
    if not ranking.pending or ranking.note or Arm.MEANING not in question.arms:
        return ranking
    note = models.failure
    if model is not models.configured:
        note = (
            f"memories that {model.name} has not embedded are compared by words alone:"
            f" {model.name} answers until {models.configured.name} has embedded all and is ready"
        )
    return evolve(ranking, note=note) if note else ranking
