from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from tiny_bert import HIDDEN, WIDE, forward, tensors, write_json
from tiny_bert import safetensors as to_safetensors

from benchmarks.tools.export import Precision, export_model
from benchmarks.tools.export_model import main
from infinite_memory.core.errors import EmbedderError
from infinite_memory.search.embedding import OnnxEmbedder, model_directory
from infinite_memory.search.embedding.manifest import read_manifest

# [CLS] a b dog . [SEP] in the vocabulary of the tiny checkpoint.
IDS = [2, 4, 5, 8, 9, 3]
TEXT = "a b dog."


@pytest.mark.parametrize(("mode", "pooling"), [("mean_tokens", "mean"), ("cls_token", "cls")])
def test_the_graph_computes_what_the_formulas_say(
    checkpoint: Path, tmp_path: Path, mode: str, pooling: str
) -> None:
    write_json(checkpoint / "1_Pooling/config.json", {f"pooling_mode_{mode}": True})
    export_model(checkpoint, tmp_path / "out", precision=Precision.FP32)
    vector = OnnxEmbedder(tmp_path / "out").embed_query(TEXT)
    assert vector == pytest.approx(forward(IDS, pooling), abs=1e-5)


@pytest.mark.parametrize(
    ("precision", "least"),
    # On a processor with AVX2 and no VNNI, onnxruntime adds pairs of products of bytes in 16 bits,
    # which may overflow: 0.986 there, more than 0.999 elsewhere.
    [(Precision.INT8, 0.98), (Precision.INT4, 0.95)],
)
def test_a_quantised_model_stays_near_the_formulas(
    checkpoint: Path, tmp_path: Path, precision: Precision, least: float
) -> None:
    export_model(checkpoint, tmp_path / "out", precision=precision)
    assert float(OnnxEmbedder(tmp_path / "out").embed_query(TEXT) @ forward(IDS)) > least


@pytest.mark.parametrize("precision", list(Precision))
def test_the_same_input_gives_the_same_bytes(
    checkpoint: Path, tmp_path: Path, precision: Precision
) -> None:
    one = export_model(checkpoint, tmp_path / "one", precision=precision)
    two = export_model(checkpoint, tmp_path / "two", precision=precision)
    assert one.manifest == two.manifest
    assert [path.read_bytes() for path in one.files] == [path.read_bytes() for path in two.files]


def test_the_result_lists_the_files_with_their_sizes(checkpoint: Path, tmp_path: Path) -> None:
    result = export_model(checkpoint, tmp_path / "out")
    assert {path.name for path in result.files} == {"model.onnx", "tokenizer.json", "embedder.json"}
    assert all(path.stat().st_size == size for path, size in result.files.items())
    assert read_manifest(tmp_path / "out") == result.manifest
    assert (result.manifest.name, result.manifest.dimensions) == ("tiny-bert", HIDDEN)
    assert result.manifest.max_tokens == 12


def test_the_exported_tokenizer_neither_truncates_nor_pads(
    checkpoint: Path, tmp_path: Path
) -> None:
    export_model(checkpoint, tmp_path / "out")
    fields = json.loads((tmp_path / "out/tokenizer.json").read_text("utf-8"))
    assert (fields["truncation"], fields["padding"]) == (None, None)


def test_prompts_of_the_checkpoint_become_prefixes(checkpoint: Path, tmp_path: Path) -> None:
    prompts = {"query": "query: ", "passage": "a: "}
    write_json(checkpoint / "config_sentence_transformers.json", {"prompts": prompts})
    manifest = export_model(checkpoint, tmp_path / "out").manifest
    assert (manifest.query_prefix, manifest.document_prefix) == ("query: ", "a: ")
    given = export_model(
        checkpoint, tmp_path / "out", name="x", query_prefix="", document_prefix="b"
    )
    assert (given.manifest.name, given.manifest.query_prefix) == ("x", "")
    assert given.manifest.document_prefix == "b"
    assert given.manifest.identity != manifest.identity


def test_weights_may_carry_the_prefix_of_a_larger_model(checkpoint: Path, tmp_path: Path) -> None:
    values = {f"bert.{name}": value for name, value in tensors().items()}
    (checkpoint / "model.safetensors").write_bytes(to_safetensors(values))
    export_model(checkpoint, tmp_path / "out", precision=Precision.FP32)
    assert OnnxEmbedder(tmp_path / "out").embed_query(TEXT) == pytest.approx(forward(IDS), abs=1e-5)


def test_a_row_of_zeros_in_the_word_table_is_exported(checkpoint: Path, tmp_path: Path) -> None:
    values = tensors()
    values["embeddings.word_embeddings.weight"][0] = 0
    (checkpoint / "model.safetensors").write_bytes(to_safetensors(values))
    export_model(checkpoint, tmp_path / "out")
    assert np.isfinite(OnnxEmbedder(tmp_path / "out").embed_query("[PAD]")).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"output.dense": None}, "no tensor"),
        ({"output.dense": np.zeros((2, 2), np.float32)}, "has the shape"),
        ({"output.dense": np.full((HIDDEN, WIDE), np.nan, np.float32)}, "not finite"),
    ],
)
def test_unusable_weights_are_refused(
    checkpoint: Path, tmp_path: Path, change: dict[str, np.ndarray | None], message: str
) -> None:
    values = tensors()
    for name, value in change.items():
        del values[f"encoder.layer.1.{name}.weight"]
        if value is not None:
            values[f"encoder.layer.1.{name}.weight"] = value
    (checkpoint / "model.safetensors").write_bytes(to_safetensors(values))
    with pytest.raises(EmbedderError, match=message):
        export_model(checkpoint, tmp_path / "out")
    assert not (tmp_path / "out").exists()


CONFIGS = [
    ("config.json", "architectures", ["RobertaModel"], "RobertaModel.*BertModel"),
    ("config.json", "model_type", "roberta", "roberta"),
    ("config.json", "hidden_act", "relu", "relu"),
    ("config.json", "position_embedding_type", "relative_key", "relative_key"),
    ("config.json", "hidden_size", "8", "'8'"),
    ("config.json", "hidden_size", 9, "not a multiple of 2 heads"),
    ("config.json", "num_hidden_layers", -1, "-1"),
    ("config.json", "layer_norm_eps", 7, "layer_norm_eps 7"),
    ("sentence_bert_config.json", "max_seq_length", 0, "max_seq_length 0"),
    ("1_Pooling/config.json", "pooling_mode_max_tokens", True, "max and mean; supported"),
    ("1_Pooling/config.json", "pooling_mode_mean_tokens", False, "no pooling"),
]


@pytest.mark.parametrize(("file", "key", "value", "message"), CONFIGS)
def test_what_cannot_be_exported_is_named(
    checkpoint: Path, tmp_path: Path, file: str, key: str, value: object, message: str
) -> None:
    path = checkpoint / file
    write_json(path, json.loads(path.read_text("utf-8")) | {key: value})
    with pytest.raises(EmbedderError, match=message):
        export_model(checkpoint, tmp_path / "out")


@pytest.mark.parametrize(
    ("modules", "message"),
    [
        ({}, "not a list"),
        ([{"type": "x.Transformer"}, {"type": "x.Dense"}], "Transformer, Dense"),
        ([{"type": "T.Transformer"}, {"type": "P.Pooling", "path": "../.."}], "outside"),
    ],
)
def test_other_modules_are_refused(
    checkpoint: Path, tmp_path: Path, modules: object, message: str
) -> None:
    write_json(checkpoint / "modules.json", modules)
    with pytest.raises(EmbedderError, match=message):
        export_model(checkpoint, tmp_path / "out")


@pytest.mark.parametrize("file", ["modules.json", "config.json", "tokenizer.json"])
def test_a_missing_or_damaged_file_is_named(checkpoint: Path, tmp_path: Path, file: str) -> None:
    (checkpoint / file).write_text("{", "utf-8")
    with pytest.raises(EmbedderError, match=rf"{file} is not JSON"):
        export_model(checkpoint, tmp_path / "out")
    (checkpoint / file).write_text("3", "utf-8")
    with pytest.raises(EmbedderError, match=rf"{file} is not a"):
        export_model(checkpoint, tmp_path / "out")
    (checkpoint / file).unlink()
    with pytest.raises(EmbedderError, match=rf"{file} cannot be read"):
        export_model(checkpoint, tmp_path / "out")


def test_the_length_falls_back_to_the_positions(checkpoint: Path, tmp_path: Path) -> None:
    (checkpoint / "sentence_bert_config.json").unlink()
    assert export_model(checkpoint, tmp_path / "out").manifest.max_tokens == 16


def test_a_huge_json_file_is_refused(checkpoint: Path, tmp_path: Path) -> None:
    with (checkpoint / "config.json").open("ab") as file:
        file.truncate(64 * 1024 * 1024 + 1)
    with pytest.raises(EmbedderError, match="larger than"):
        export_model(checkpoint, tmp_path / "out")


def test_an_output_that_cannot_be_written_is_named(checkpoint: Path, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(EmbedderError, match="out cannot be written"):
        export_model(checkpoint, tmp_path / "out")
    with pytest.raises(EmbedderError, match="is the source itself"):
        export_model(checkpoint, checkpoint)


def test_without_the_extra_the_error_names_it(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(EmbedderError, match=r"\[tools\]"):
        export_model(checkpoint, tmp_path / "out")


def test_int4_refuses_rows_that_are_no_multiple_of_32_numbers(
    checkpoint: Path, tmp_path: Path
) -> None:
    values = tensors()
    for name in ("intermediate.dense.weight", "intermediate.dense.bias"):
        values[f"encoder.layer.0.{name}"] = values[f"encoder.layer.0.{name}"][:40]
        values[f"encoder.layer.1.{name}"] = values[f"encoder.layer.1.{name}"][:40]
    for number in range(2):
        name = f"encoder.layer.{number}.output.dense.weight"
        values[name] = np.ascontiguousarray(values[name][:, :40])
    (checkpoint / "model.safetensors").write_bytes(to_safetensors(values))
    config = json.loads((checkpoint / "config.json").read_text("utf-8"))
    write_json(checkpoint / "config.json", config | {"intermediate_size": 40})
    with pytest.raises(EmbedderError, match="blocks of 32 numbers, and a row has 40; choose"):
        export_model(checkpoint, tmp_path / "out", precision=Precision.INT4)
    export_model(checkpoint, tmp_path / "out", precision=Precision.INT8)


def test_the_command_writes_into_an_empty_directory_or_with_force_over_an_export(
    checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    main([str(checkpoint), str(out), "--name", "mine", "--query-prefix", "query: "])
    made = read_manifest(out)
    assert (made.precision, made.query_prefix) == ("int8", "query: ")
    assert capsys.readouterr().out.startswith(f"{made.identity}\n")
    before = {path: path.read_bytes() for path in out.iterdir()}
    with pytest.raises(SystemExit):
        main([str(checkpoint), str(out), "--precision", "fp32"])
    refused = capsys.readouterr().err
    assert f"{out} is not empty" in refused
    assert "--force" in refused
    assert {path: path.read_bytes() for path in out.iterdir()} == before
    main([str(checkpoint), str(out), "--precision", "fp32", "--force"])
    assert read_manifest(out).precision == "fp32"


def test_the_command_says_what_it_cannot_export_and_never_replaces_a_file(
    checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("mine")
    for arguments in (
        [str(checkpoint), str(tmp_path / "file"), "--force"],
        [str(tmp_path / "missing"), str(tmp_path / "new")],
        [str(checkpoint), str(tmp_path / "new"), "--precision", "int3"],
    ):
        with pytest.raises(SystemExit):
            main(arguments)
    assert "file cannot be written" in capsys.readouterr().err
    assert (tmp_path / "file").read_text() == "mine"
    assert not (tmp_path / "new").exists()


def test_the_bundled_files_are_the_recorded_ones() -> None:
    OnnxEmbedder(model_directory("english")).verify()
    assert read_manifest(model_directory("english")).precision == Precision.INT8
