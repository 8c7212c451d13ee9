"""Labelled sets in stores, asked at the level of the ranking, so that its steps can be varied."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from attrs import field, frozen

from benchmarks.labelled_sets import ingest, questions, rows
from benchmarks.vector_cache import StoredVectors, open_model
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.question import Arm, Question, Ranking
from infinite_memory.search.embedding import BUNDLED
from infinite_memory.search.index import SearchIndex
from infinite_memory.search.ranking import Embed, rank
from infinite_memory.search.reader import Reader
from infinite_memory.search.scoring import DEFAULT_WEIGHTS, Weights
from infinite_memory.storage.open import open_storage


@frozen(kw_only=True)
class Asked:
    """A question with the scope that answers it, and the ids of what answers it there."""

    text: str
    scope: str
    relevant: frozenset[str]


@frozen(kw_only=True)
class LabelledSet:
    """A set in a store of its own; each group is a scope. The model runs once for each text.

    `unanswerable` are the questions of the category "adversarial", which `asked` leaves out: they
    ask of one person what another one said or did.
    """

    name: str
    scopes: tuple[str, ...]
    asked: tuple[Asked, ...]
    unanswerable: tuple[Asked, ...]
    view: Reader
    embedder: StoredVectors
    storage: Storage
    embed: Embed = field()

    @embed.default
    def _cached(self) -> Embed:
        return lru_cache(maxsize=None)(self.embedder.embed_query)

    def ask(
        self,
        text: str,
        scope: str,
        *,
        weights: Weights = DEFAULT_WEIGHTS,
        arms: Sequence[Arm] = tuple(Arm),
        threshold: float = 0.0,
        limit: int = 10,
        explain: bool = False,
    ) -> Ranking:
        """Return the ranking of the memories in `scope`."""
        question = Question(
            text=text,
            criteria=Criteria(scopes=frozenset({scope})),
            limit=limit,
            threshold=threshold,
            arms=frozenset(arms),
            explain=explain,
        )
        embed = self.embed if self.embedder.understands(text) else None
        return rank(
            self.view,
            question,
            embed,
            background=self.embedder.background,
            second_length=self.embedder.second_length,
            texts=self._texts,
            weights=weights,
        )

    def _texts(self, ids: Collection[str]) -> dict[str, str]:
        return {i: record.memory.text for i, record in self.storage.get(ids).items()}


@contextmanager
def labelled_set(folder: Path, model_name: str = BUNDLED) -> Iterator[LabelledSet]:
    """Store the set in `folder`, and give it to be asked."""
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch) / folder.name
        model = open_model(model_name)
        ingest(folder, home, model)
        storage = open_storage(str(home), home=home)
        try:
            yield LabelledSet(
                name=folder.name,
                scopes=tuple(sorted({row["group"] for row in rows(folder / "corpus.jsonl")})),
                asked=tuple(
                    Asked(text=query["text"], scope=query["group"], relevant=relevant)
                    for query, relevant in questions(folder)
                ),
                unanswerable=tuple(
                    Asked(text=query["text"], scope=query["group"], relevant=frozenset())
                    for query in rows(folder / "queries.jsonl")
                    if query.get("category") == "adversarial"
                ),
                view=SearchIndex(storage, model).refresh(),
                embedder=model,
                storage=storage,
            )
        finally:
            storage.close()
