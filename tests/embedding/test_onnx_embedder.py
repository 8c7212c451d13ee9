from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary, ref

import numpy as np
import pytest
from tiny_bert import forward, tensors, write_json
from tiny_bert import safetensors as to_safetensors

from benchmarks.tools.export import export_model
from infinite_memory.core.errors import EmbedderError
from infinite_memory.core.protocols import Embedder
from infinite_memory.search.embedding import OnnxEmbedder, model_directory, onnx, open_embedder
from infinite_memory.testing.embedder_contract import EmbedderContract
from infinite_memory.testing.embedders import HashingEmbedder


@pytest.fixture(scope="module")
def bundled() -> Iterator[OnnxEmbedder]:
    with OnnxEmbedder(model_directory("english"), workers=3) as embedder:
        yield embedder


class TestBundledModel(EmbedderContract):
    @pytest.fixture
    def embedder(self, bundled: OnnxEmbedder) -> Embedder:
        return bundled

    def test_one_worker_gives_the_same_vectors(self, embedder: Embedder) -> None:
        texts = ["one", "two words", "three more words"]
        with OnnxEmbedder(model_directory("english"), workers=1) as alone:
            assert np.array_equal(alone.embed(texts), embedder.embed(texts))

    def test_it_understands_english_and_not_chinese(self, embedder: Embedder) -> None:
        assert embedder.understands("When does the naïve café open?")
        assert embedder.understands("Tell me about 北京 and its old streets")
        assert not embedder.understands("北京的天气怎么样?")
        assert not embedder.understands("Когда поезд?")
        assert not embedder.understands("Şirketin kurucusu kimdir ve nerede yaşıyor?")
        assert embedder.understands("Quando é que encontrámos os pais da Anna?")

    def test_unrelated_texts_are_hardly_alike(self, embedder: Embedder) -> None:
        assert abs(embedder.background) < 0.15

    def test_meaning_counts(self, embedder: Embedder) -> None:
        texts = ["My daughter turns six in spring", "The server ran out of disk space"]
        scores = embedder.embed(texts) @ embedder.embed_query("How old is your child?")
        assert scores[0] > scores[1] + 0.2

    def test_passages_fit_the_window(self, embedder: OnnxEmbedder) -> None:
        text = "".join(f"wörd{n}/x {n * 7919}-aB3 " for n in range(2_000)) + "汉字" * 2_000
        runtime = embedder._load()
        for begin, end in embedder.spans(text):
            assert len(runtime.offsets(text[begin:end])) <= runtime.window("")

    @pytest.mark.parametrize(
        "text", ["a" * 2**18, "汉" * 20_000, "😀" * 20_000, ".\0\x07" * 9_000, "한" * 9_000, "\0"]
    )
    def test_odd_and_long_texts_are_cut_and_embedded(
        self, embedder: OnnxEmbedder, text: str
    ) -> None:
        spans = embedder.spans(text)
        assert (spans[0, 0], spans[-1, 1]) == (0, len(text))
        assert np.isfinite(embedder.embed([text])).all()


class TestTinyModel(EmbedderContract):
    @pytest.fixture
    def embedder(self, model: Path) -> Embedder:
        return OnnxEmbedder(model, workers=2)

    # Random weights and a dozen words: nothing means anything, no sentence fits the window.
    test_different_texts_give_different_vectors = None
    test_a_long_text_becomes_passages_that_cover_it = None


class TestHashingEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return HashingEmbedder()


def test_a_long_text_is_cut_before_the_closing_token(model: Path) -> None:
    assert OnnxEmbedder(model).max_tokens == 12
    vector = OnnxEmbedder(model).embed_query("a b " * 20)
    assert vector == pytest.approx(forward([2, *[4, 5] * 5, 3]), abs=1e-5)


def test_prefixes_are_put_before_the_text(checkpoint: Path, tmp_path: Path) -> None:
    export_model(checkpoint, tmp_path / "out", query_prefix="query: ", document_prefix="c ")
    embedder, plain = OnnxEmbedder(tmp_path / "out"), tmp_path / "plain"
    export_model(checkpoint, plain)
    texts = OnnxEmbedder(plain).embed(["query: a", "c a"])
    assert np.array_equal(embedder.embed_query("a"), texts[0])
    assert np.array_equal(embedder.embed(["a"]), texts[1:])
    assert embedder.spans("a b a b a b a b a").tolist() == [[0, 17]]
    assert len(embedder.spans("a b a b a b a b a b")) > 1


def test_closing_releases_the_model_and_a_later_use_loads_it_again(model: Path) -> None:
    embedder = OnnxEmbedder(model, workers=2)
    before = embedder.embed(["a", "b"])
    embedder.close()
    embedder.close()
    assert np.array_equal(embedder.embed(["a", "b"]), before)
    embedder.close()


def test_embedders_of_one_model_load_it_once_and_release_it_with_the_last(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx, "_loaded", WeakValueDictionary())
    one, other = OnnxEmbedder(model), OnnxEmbedder(model)
    with ThreadPoolExecutor(2) as pool:
        loaded, again = pool.map(lambda embedder: embedder._load(), (one, other))
    assert loaded is again
    is_loaded = ref(loaded)
    del loaded, again
    one.close()
    assert is_loaded() is not None
    assert np.array_equal(other.embed(["a"]), one.embed(["a"]))
    one.close()
    other.close()
    assert is_loaded() is None


@pytest.mark.process
def test_opening_imports_neither_onnxruntime_nor_tokenizers() -> None:
    code = (
        "import sys; from infinite_memory.search.embedding import open_embedder;"
        "e = open_embedder(); assert e.model and e.dimensions == 768;"
        "assert not {'onnxruntime', 'tokenizers', 'onnx'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.thorough
@pytest.mark.parametrize("before", ["", "0"])
def test_the_switch_of_the_telemetry_is_all_that_it_changes_in_the_environment(before: str) -> None:
    code = (
        "import os; from infinite_memory.search.embedding import open_embedder\n"
        "before = dict(os.environ)\n"
        "open_embedder().embed(['a'])\n"
        "assert dict(os.environ.items() - before.items()) == {'ORT_DISABLE_TELEMETRY': '1'}\n"
        "assert before.keys() <= os.environ.keys()"
    )
    environment = {**os.environ, "ORT_DISABLE_TELEMETRY": before}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


@pytest.mark.process
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_it_works_in_a_forked_child() -> None:
    code = (
        "import os, numpy as np; from infinite_memory.search.embedding import *\n"
        "e = OnnxEmbedder(model_directory('english'), workers=2)\n"
        "before = e.embed(['a', 'b'])\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os._exit(0 if np.array_equal(e.embed(['a', 'b']), before) else 1)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_open_embedder_takes_a_directory_or_the_name_of_the_bundled_model(model: Path) -> None:
    assert open_embedder(str(model)).model == OnnxEmbedder(model).model
    assert open_embedder("bundled").model.startswith("all-MiniLM-L6-v2+multilingual-e5-small@")
    assert open_embedder("english").model.startswith("all-MiniLM-L6-v2@")


def test_a_missing_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(EmbedderError, match=r"nowhere.*with an ONNX graph"):
        open_embedder(tmp_path / "nowhere")


@pytest.mark.parametrize("content", ["{", "[]", "null", "[" * 50_000, " " * 70_000, "{}"])
def test_a_damaged_manifest_is_refused(model: Path, content: str) -> None:
    (model / "embedder.json").write_text(content)
    with pytest.raises(EmbedderError, match=r"embedder\.json cannot be used"):
        OnnxEmbedder(model)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("format", 2, "format is 2"),
        ("name", 3, "name is 3"),
        ("dimensions", 0, "dimensions is 0"),
        ("max_tokens", True, "max_tokens is True"),
        ("background", 1.0, "background is 1.0"),
        ("scripts", [1], r"scripts is \[1\]"),
        ("files", [], "files"),
        ("files", {"model.onnx": {}, "tokenizer.json": {}}, "entry of model.onnx"),
        ("files", {"model.onnx": 1, "tokenizer.json": 1}, "entry of model.onnx"),
    ],
)
def test_a_wrong_value_in_the_manifest_is_shown(
    model: Path, key: str, value: object, message: str
) -> None:
    fields = json.loads((model / "embedder.json").read_text())
    write_json(model / "embedder.json", fields | {key: value})
    with pytest.raises(EmbedderError, match=message):
        OnnxEmbedder(model)


@pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json"])
def test_a_missing_or_cut_file_is_noticed_when_opened(model: Path, file: str) -> None:
    path = model / file
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(EmbedderError, match=rf"{file} cannot be used: it has \d+ bytes"):
        OnnxEmbedder(model)
    path.unlink()
    with pytest.raises(EmbedderError, match=rf"{file} cannot be used: it cannot be read"):
        OnnxEmbedder(model)


def test_a_changed_file_is_noticed_by_verify(model: Path) -> None:
    embedder = OnnxEmbedder(model)
    embedder.verify()
    content = bytearray((model / "model.onnx").read_bytes())
    content[-1] ^= 1
    (model / "model.onnx").write_bytes(content)
    with pytest.raises(EmbedderError, match="sha256"):
        embedder.verify()
    (model / "model.onnx").unlink()
    with pytest.raises(EmbedderError, match="cannot be read"):
        embedder.verify()


def change(model: Path, file: str, edit: Callable[[bytes], bytes]) -> OnnxEmbedder:
    """Open `model` after an edit of one file that the manifest agrees with."""
    content = edit((model / file).read_bytes())
    (model / file).write_bytes(content)
    fields: dict[str, Any] = json.loads((model / "embedder.json").read_text())
    sha256 = hashlib.sha256(content).hexdigest()
    fields["files"][file] = {"size_bytes": len(content), "sha256": sha256}
    write_json(model / "embedder.json", fields)
    return OnnxEmbedder(model)


def test_a_file_that_is_no_model_is_refused_at_first_use(model: Path) -> None:
    with pytest.raises(EmbedderError, match="cannot be loaded"):
        change(model, "model.onnx", lambda _: b"no model").embed(["a"])


def test_a_model_of_another_dimension_is_refused(model: Path) -> None:
    fields = json.loads((model / "embedder.json").read_text())
    write_json(model / "embedder.json", fields | {"dimensions": 9})
    with pytest.raises(EmbedderError, match="manifest says 9"):
        OnnxEmbedder(model).embed(["a"])


def test_a_word_that_the_model_does_not_know_is_an_error(model: Path) -> None:
    embedder = change(model, "tokenizer.json", lambda c: c.replace(b'"dog":8', b'"dog":9999'))
    with pytest.raises(EmbedderError, match="failed on a text of 3 tokens"):
        embedder.embed(["a", "dog", "b"])
    assert np.isfinite(embedder.embed(["a"])).all()


def test_a_vector_that_is_not_finite_is_an_error(checkpoint: Path, tmp_path: Path) -> None:
    values = tensors()
    for part in ("weight", "bias"):
        values[f"encoder.layer.1.output.LayerNorm.{part}"][:] = 0
    (checkpoint / "model.safetensors").write_bytes(to_safetensors(values))
    with pytest.raises(EmbedderError, match="not finite"):
        export_model(checkpoint, tmp_path / "zero")
    assert not (tmp_path / "zero/embedder.json").exists()
