"""Attachments are found by the caller's own embeddings, exactly and without delay."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from infinite_memory import InvalidInput, MemoryStore, UnknownScope
from infinite_memory.testing.embedders import HashingEmbedder

OpenStore = Callable[..., MemoryStore]


def attach(store: MemoryStore, name: str, embedding: Any, model: str = "clip", **more: Any) -> str:
    uri = f"https://example.org/{name}.png"
    return store.attachments.attach(uri=uri, embedding=embedding, model=model, **more).id


def test_the_cosines_are_those_of_numpy(store: MemoryStore) -> None:
    generator = np.random.default_rng(7)
    vectors = generator.normal(size=(60, 48)).astype(np.float32)
    ids = [attach(store, str(number), vector) for number, vector in enumerate(vectors)]
    query = generator.normal(size=48)
    matches = store.attachments.find_similar(query, model="clip", limit=60)
    norms = np.linalg.norm(vectors, axis=1) * np.linalg.norm(query)
    expected = dict(zip(ids, vectors @ query / norms, strict=True))
    assert [m.attachment.id for m in matches] == sorted(expected, key=lambda i: -expected[i])
    for match in matches:
        assert match.cosine == pytest.approx(expected[match.attachment.id], abs=1e-6)
    assert store.attachments.find_similar(query, model="clip", limit=5) == matches[:5]
    assert matches[0].attachment.dimensions == 48


def test_a_model_is_an_index_of_its_own_with_any_dimensions(store: MemoryStore) -> None:
    image = attach(store, "a", [1.0, 0.0])
    sound = attach(store, "b", [0.0, 1.0, 0.0], model="clap")
    unnamed = store.attachments.attach(uri="https://example.org/c", embedding=(3, 4, 0, 0)).id
    for vector, model, expected in (
        ([2, 0], "clip", image),
        ([0, 5, 0], "clap", sound),
        ([3, 4, 0, 0], None, unnamed),
    ):
        (match,) = store.attachments.find_similar(vector, model=model)
        assert match.attachment.id == expected
        assert match.cosine == pytest.approx(1)


def test_an_embedding_of_other_dimensions_or_an_unknown_model_is_refused(
    store: MemoryStore,
) -> None:
    assert store.attachments.find_similar([1, 2], model="clip") == ()
    attach(store, "a", [1.0, 0.0])
    with pytest.raises(InvalidInput, match="has 3 numbers, and those by the model 'clip' have 2"):
        store.attachments.find_similar([1, 2, 3], model="clip")
    with pytest.raises(InvalidInput, match="has 3 numbers"):
        attach(store, "b", [1, 2, 3])
    with pytest.raises(InvalidInput, match="the nearest name is 'clip'"):
        store.attachments.find_similar([1, 2], model="klip")
    with pytest.raises(InvalidInput, match="only zeros"):
        store.attachments.find_similar([0, 0], model="clip")
    with pytest.raises(InvalidInput, match="limit"):
        store.attachments.find_similar([0, 1], model="clip", limit=0)
    with pytest.raises(UnknownScope):
        store.attachments.find_similar([0, 1], model="clip", scope="nowhere")
    assert len(store.browse(kinds=["attachment"]).memories) == 1


def test_conditions_narrow_the_result(store: MemoryStore) -> None:
    home = attach(store, "a", [1, 0], tags=["Pets"])
    work = attach(store, "b", [1, 0], scope="work")
    talk = attach(store, "c", [0, 1], conversation_id="talk")

    def found(**conditions: Any) -> list[str]:
        matches = store.attachments.find_similar([1, 0], model="clip", **conditions)
        return [match.attachment.id for match in matches]

    assert set(found()) == {home, work, talk}
    assert found(scope="Global") == [home, talk]
    assert set(found(scope="ALL")) == {home, work, talk}
    assert set(found(scope="work")) == {home, work, talk}  # it sees Global too
    assert found(tags=["pets"]) == [home]
    assert found(conversation_id="talk") == [talk]


def test_every_change_of_another_process_is_seen_at_once(tmp_path: Path) -> None:
    home = tmp_path / "home"

    def opened() -> MemoryStore:
        return MemoryStore.open(home, embedder=HashingEmbedder())

    with opened() as first, opened() as second:
        picture = attach(first, "a", [1, 0])
        (match,) = second.attachments.find_similar([1, 0], model="clip")
        assert match.attachment.id == picture
        first.attachments.attach(uri="https://example.org/a.png", embedding=[0, 1], model="clip")
        (match,) = second.attachments.find_similar([1, 0], model="clip")
        assert match.cosine == pytest.approx(0)
        first.forget(picture)
        assert second.attachments.find_similar([1, 0], model="clip") == ()
        second.undo(first.journal.entries(limit=1)[0].number)
        assert len(first.attachments.find_similar([1, 0], model="clip")) == 1
        first.forget(picture, hard=True)
        assert second.attachments.find_similar([1, 0], model="clip") == ()


def test_a_handle_of_some_scopes_sees_no_embedding_outside(store: MemoryStore) -> None:
    attach(store, "a", [1, 0], scope="home")
    work = attach(store, "b", [1, 0], scope="work")
    inside = store.confine(scopes=["work"])
    (match,) = inside.attachments.find_similar([1, 0], model="clip", scope="ALL")
    assert match.attachment.id == work
    attach(inside, "c", [1, 2, 3], model="other")
    assert len(inside.attachments.find_similar([1, 2, 3], model="other")) == 1


def test_a_spoilt_embedding_is_passed_over(store: MemoryStore) -> None:
    good, bad = attach(store, "a", [1, 0]), attach(store, "b", [1, 0])
    spoilt = {"type": "image", "uri": "x", "model": "clip"}
    store.revise(bad, revision=1, context={"attachment": {**spoilt, "embedding": ["x", None]}})
    assert [m.attachment.id for m in store.attachments.find_similar([1, 0], model="clip")] == [good]
    store.revise(bad, revision=2, context={"attachment": "nothing"})
    store.revise(good, revision=1, context={})
    assert store.attachments.find_similar([1, 0], model="clip") == ()
    with pytest.raises(InvalidInput, match="is no attachment"):
        store.attachments.read(bad)


def test_float32_numbers_come_back_exactly(store: MemoryStore) -> None:
    vector = np.random.default_rng(3).normal(size=512).astype(np.float32)
    memory = store.get(attach(store, "a", vector))
    values: Any = memory.context["attachment"]
    assert np.array_equal(np.array(values["embedding"], np.float32), vector)
    assert len(str(values["embedding"])) < 512 * 14
