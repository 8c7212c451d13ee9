"""The multilingual model in the package."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import infinite_memory.search.embedding
from infinite_memory.search.embedding import OnnxEmbedder

E5 = Path(infinite_memory.search.embedding.__file__).parent / "e5"
SENTENCES = {
    "en": "Anna must not eat peanuts.",
    "de": "Anna darf keine Erdnüsse essen.",
    "es": "Anna no puede comer cacahuetes.",
    "zh": "安娜不能吃花生。",
    "ja": "アンナはピーナッツを食べてはいけない。",
    "ru": "Анне нельзя есть арахис.",
}
OTHERS = [
    "The lease of the flat ends in March.",
    "Der Zug nach Lissabon fährt um neun.",
    "El médico me recetó unas gotas.",
    "去年夏天我们把篱笆漆成了绿色。",
    "会議は三時に始まります。",
    "Он играет на виолончели.",
]


@pytest.fixture(scope="module")
def embedder() -> Iterator[OnnxEmbedder]:
    with OnnxEmbedder(E5) as made:
        yield made


def test_its_files_are_the_recorded_ones(embedder: OnnxEmbedder) -> None:
    embedder.verify()
    assert embedder.model.startswith("multilingual-e5-small@")
    assert sum(path.stat().st_size for path in E5.iterdir()) <= 50_000_000


def test_it_understands_every_language_of_the_sentences(embedder: OnnxEmbedder) -> None:
    assert all(map(embedder.understands, SENTENCES.values()))


@pytest.mark.parametrize("language", SENTENCES)
def test_a_question_finds_what_is_told_in_another_language(
    embedder: OnnxEmbedder, language: str
) -> None:
    texts = [text for name, text in SENTENCES.items() if name != language]
    vectors = embedder.embed([*texts, *OTHERS])
    cosines = vectors @ embedder.embed_query(SENTENCES[language])
    assert cosines[: len(texts)].min() > cosines[len(texts) :].max()


def test_unrelated_texts_are_no_nearer_in_one_language_than_in_another(
    embedder: OnnxEmbedder,
) -> None:
    questions = np.stack([embedder.embed_query(text) for text in SENTENCES.values()])
    cosines = questions @ embedder.embed(OTHERS).T
    same = cosines[np.eye(len(OTHERS), dtype=bool)]
    assert abs(same.mean() - cosines[~np.eye(len(OTHERS), dtype=bool)].mean()) < 0.1
    assert abs(cosines.mean()) < 0.2
