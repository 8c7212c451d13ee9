"""The two models of the package as one embedder."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from infinite_memory import MemoryStore
from infinite_memory.core.protocols import SupportsSimilar
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.search.embedding import OnnxEmbedder, PairedEmbedder, join_parts, open_embedder
from infinite_memory.search.embedding.models import BUNDLED, find_model

ENGLISH = ["The cat sleeps on the sofa", "Where is the invoice of the boatyard?"]
FOREIGN = ["Die Katze schläft auf dem Sofa", "猫在沙发上睡觉", "Где спит кошка?"]


@pytest.fixture(scope="module")
def parts() -> Iterator[tuple[OnnxEmbedder, OnnxEmbedder]]:
    one, two = (OnnxEmbedder(part, workers=1) for part in find_model(BUNDLED).parts)
    yield one, two
    one.close()
    two.close()


@pytest.fixture(scope="module")
def pair(parts: tuple[OnnxEmbedder, OnnxEmbedder]) -> PairedEmbedder:
    return PairedEmbedder(*parts)


def test_the_product_of_english_texts_is_the_mean_of_both_cosines(
    pair: PairedEmbedder, parts: tuple[OnnxEmbedder, OnnxEmbedder]
) -> None:
    question, text = ENGLISH[1], ENGLISH[0]
    apart = [float(part.embed_query(question) @ part.embed([text])[0]) for part in parts]
    product = float(pair.embed_query(question) @ pair.embed([text])[0])
    assert product == pytest.approx(sum(apart) / 2, abs=1e-5)


def test_a_text_in_another_language_has_the_second_part_alone(
    pair: PairedEmbedder, parts: tuple[OnnxEmbedder, OnnxEmbedder]
) -> None:
    vectors = pair.embed([*ENGLISH, *FOREIGN])
    assert vectors.shape == (5, 768)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(5), abs=1e-5)
    assert vectors[:, :384].any(axis=1).tolist() == [True, True, False, False, False]
    assert vectors[2:, 384:] == pytest.approx(parts[1].embed(FOREIGN), abs=1e-6)
    assert np.linalg.norm(vectors[0, 384:]) == pytest.approx(pair.second_length, abs=1e-5)
    question = pair.embed_query(FOREIGN[2])
    assert not question[:384].any()
    assert np.linalg.norm(question) == pytest.approx(1, abs=1e-5)


def test_its_name_tells_both_models_and_changes_with_either(
    pair: PairedEmbedder, parts: tuple[OnnxEmbedder, OnnxEmbedder]
) -> None:
    assert pair.model.startswith("all-MiniLM-L6-v2+multilingual-e5-small@")
    assert PairedEmbedder(parts[1], parts[0]).model.rpartition("@")[2] != pair.model[-12:]
    assert join_parts(find_model(BUNDLED)).model == pair.model


def test_it_understands_what_either_model_does(pair: PairedEmbedder) -> None:
    assert all(map(pair.understands, [*ENGLISH, *FOREIGN]))
    assert not pair.understands("ᠮᠣᠩᠭᠣᠯ ᠪᠢᠴᠢᠭ")


def test_questions_meet_memories_in_other_languages(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path) as store:
        cat = store.remember("Our cat Kiki sleeps in the bed of my daughter").id
        invoice = store.remember("Die Rechnung der Werft ist am 3. Dezember fällig").id
        store.remember("Das Auto braucht vor dem Winter neue Reifen")
        store.remember("The standup of the team is at nine every day")
        assert store.search("Wo schläft die Katze?")[0].memory.id == cat
        assert store.search("我们的猫睡在哪里？")[0].memory.id == cat
        assert store.search("When is the bill of the shipyard due?")[0].memory.id == invoice
        assert store.search("Когда нужно оплатить счёт верфи?")[0].memory.id == invoice


def test_the_language_of_a_memory_costs_it_nothing(tmp_path: Path) -> None:
    """A question meets an equal memory in either language with the same meaning."""
    with MemoryStore.open(tmp_path) as store:
        text = "Der Schlüssel zum Keller liegt unter dem roten Blumentopf"
        store.remember(text)
        (hit,) = store.search("the key to the cellar", arms=["meaning"], cut="wide", explain=True)
        assert hit.explanation is not None
        second = find_model(BUNDLED).parts[1]
        with OnnxEmbedder(second, workers=1) as model:
            cosine = float(model.embed_query("the key to the cellar") @ model.embed([text])[0])
    assert hit.explanation.cosine == pytest.approx(cosine, abs=1e-3)


def test_memories_in_two_languages_are_near_to_each_other(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path) as store:
        store.remember("The key to the cellar is under the red flower pot", id="english")
        store.remember("Der Zug nach Lissabon fährt um Viertel nach neun", id="train")
        text = "Der Schlüssel zum Keller liegt unter dem roten Blumentopf"
        receipt = store.remember(text)
        search = store._services.models.answering().index
        assert isinstance(search, SupportsSimilar)
        criteria = Criteria(scopes=frozenset({"Global"}))
        near = search.find_similar(receipt.id, text, criteria, ignored=(), limit=5)
        assert [memory_id for memory_id, _ in near] == ["english"]


@pytest.mark.process
def test_a_question_is_embedded_while_the_interpreter_ends() -> None:
    code = (
        "import threading, time\n"
        "from infinite_memory.search.embedding import open_embedder\n"
        "embedder = open_embedder()\n"
        "def ask():\n"
        "    threading.main_thread().join()\n"
        "    print(embedder.embed_query('where is the cat?').shape)\n"
        "threading.Thread(target=ask).start()\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ended.stdout == "(768,)\n", ended.stderr


@pytest.mark.process
def test_a_forked_child_embeds_questions() -> None:
    with closing(open_embedder()) as embedder:
        before = embedder.embed_query(ENGLISH[1])
        with multiprocessing.get_context("fork").Pool(1) as pool:
            after = pool.apply(_embed_anew, (ENGLISH[1],))
    assert np.array_equal(before, after)


def _embed_anew(text: str) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    with closing(open_embedder()) as embedder:
        return np.asarray(embedder.embed_query(text))
