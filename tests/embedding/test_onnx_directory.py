"""A sentence-transformers directory with an ONNX graph is used as it is."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto
from tiny_bert import MODULES
from tiny_onnx import BOTH, TABLE, expected, graph, write_directory

from benchmarks.tools.export import export_model
from infinite_memory import Config, MemoryStore
from infinite_memory.core.errors import EmbedderError
from infinite_memory.core.protocols import Embedder
from infinite_memory.search.embedding import (
    OnnxEmbedder,
    configured_embedder,
    configured_model,
    description,
)
from infinite_memory.testing.embedder_contract import EmbedderContract

# [CLS] a b dog . [SEP] in the vocabulary of the tiny tokenizer.
IDS = [2, 4, 5, 8, 9, 3]
TEXT = "a b dog."


def mean(tokens: np.ndarray) -> np.ndarray:
    return tokens.mean(0)


class TestDirectory(EmbedderContract):
    @pytest.fixture
    def embedder(self, tmp_path: Path) -> Embedder:
        return OnnxEmbedder(write_directory(tmp_path / "tiny"), workers=2)

    # Random weights and a dozen words: nothing means anything, no sentence fits the window.
    test_different_texts_give_different_vectors = None
    test_a_long_text_becomes_passages_that_cover_it = None


POOLINGS: list[tuple[dict[str, object], Callable[[np.ndarray], np.ndarray]]] = [
    ({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}, mean),
    ({"pooling_mode_cls_token": True}, lambda tokens: tokens[0]),
    ({"pooling_mode_max_tokens": True}, lambda tokens: tokens.max(0)),
    ({"pooling_mode_mean_sqrt_len_tokens": True}, lambda t: t.sum(0) / len(t) ** 0.5),
    ({"pooling_mode_weightedmean_tokens": True}, lambda t: np.arange(1, len(t) + 1) @ t),
    ({"pooling_mode_lasttoken": True}, lambda tokens: tokens[-1]),
    ({"pooling_mode": "max"}, lambda tokens: tokens.max(0)),
]


@pytest.mark.parametrize(("config", "pool"), POOLINGS)
def test_vectors_are_pooled_as_the_directory_says(
    tmp_path: Path, config: dict[str, object], pool: Callable[[np.ndarray], np.ndarray]
) -> None:
    embedder = OnnxEmbedder(write_directory(tmp_path / "tiny", pooling=config))
    assert embedder.embed([TEXT])[0] == pytest.approx(expected(IDS, pool), abs=1e-6)


@pytest.mark.parametrize(
    "settings",
    [
        {"inputs": ("input_ids",)},
        {"inputs": ("input_ids", "attention_mask")},
        {"outputs": ("token_embeddings",)},
        {"outputs": ("last_hidden_state", "pooler_output")},
        {"kind": TensorProto.INT32},
        {"shape": (1, "tokens")},
    ],
)
def test_graphs_of_the_usual_kinds_give_the_same_vectors(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    embedder = OnnxEmbedder(write_directory(tmp_path / "tiny", graph(**settings)))
    assert embedder.embed_query(TEXT) == pytest.approx(expected(IDS, mean), abs=1e-6)


def test_a_graph_that_pools_itself_is_taken_at_its_word(tmp_path: Path) -> None:
    dense = [*MODULES[:2], {"path": "2_Dense", "type": "x.Dense"}, MODULES[2]]
    directory = write_directory(
        tmp_path / "tiny", graph(outputs=BOTH), pooling={"pooling_mode": "cls"}, modules=dense
    )
    vector = OnnxEmbedder(directory).embed_query(TEXT)
    assert vector == pytest.approx(expected(IDS, lambda tokens: tokens.sum(0)), abs=1e-6)


@pytest.mark.parametrize("at", ["onnx/model.onnx", "model.onnx", "onnx/model_qint8_avx512.onnx"])
def test_the_graph_is_found_where_it_usually_is(tmp_path: Path, at: str) -> None:
    directory = write_directory(tmp_path / "tiny", at=at)
    assert OnnxEmbedder(directory).embed_query(TEXT) == pytest.approx(expected(IDS, mean), abs=1e-6)


def test_of_several_graphs_the_plain_one_is_taken_or_the_one_that_is_named(tmp_path: Path) -> None:
    directory = write_directory(tmp_path / "tiny")
    write_directory(directory, graph(table=-TABLE), at="onnx/model_quantized.onnx")
    plain, named = (
        OnnxEmbedder(path) for path in (directory, directory / "onnx/model_quantized.onnx")
    )
    assert plain.embed_query(TEXT) == pytest.approx(expected(IDS, mean), abs=1e-6)
    assert named.embed_query(TEXT) == pytest.approx(-expected(IDS, mean), abs=1e-6)
    assert plain.model != named.model
    (directory / "onnx/model.onnx").rename(directory / "onnx/model_O4.onnx")
    with pytest.raises(EmbedderError, match=r"model_O4\.onnx, onnx/model_quantized\.onnx"):
        OnnxEmbedder(directory)


def test_a_text_longer_than_the_window_keeps_its_closing_token(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(write_directory(tmp_path / "tiny"))
    assert embedder.max_tokens == 12
    ids = [2, *[4, 5] * 5, 3]
    assert embedder.embed_query("a b " * 20) == pytest.approx(expected(ids, mean), abs=1e-6)
    assert len(embedder.spans("a b " * 20)) > 1


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        ({"sentence_bert_config": {}}, 16),
        ({"sentence_bert_config": {}, "tokenizer_config": {"model_max_length": 9}}, 9),
        ({"sentence_bert_config": {}, "tokenizer_config": {"model_max_length": 10**30}}, 16),
        ({"sentence_bert_config": {"max_seq_length": 99}}, 16),
        (
            {
                "sentence_bert_config": {},
                "config": {"model_type": "xlm-roberta", "max_position_embeddings": 16},
            },
            14,
        ),
    ],
)
def test_the_window_is_the_least_of_what_is_said(
    tmp_path: Path, files: dict[str, object], limit: int
) -> None:
    assert OnnxEmbedder(write_directory(tmp_path / "tiny", **files)).max_tokens == limit


def test_prefixes_come_from_the_directory_or_from_the_configuration(tmp_path: Path) -> None:
    prompts = {"prompts": {"query": "a ", "passage": "b ", "other": "c "}}
    directory = write_directory(tmp_path / "tiny", config_sentence_transformers=prompts)
    own = OnnxEmbedder(directory)
    assert own.embed_query("dog") == pytest.approx(expected([2, 4, 8, 3], mean), abs=1e-6)
    assert own.embed(["dog"])[0] == pytest.approx(expected([2, 5, 8, 3], mean), abs=1e-6)
    config = Config(home=tmp_path / "home", embedder=str(directory), query_prefix="c ")
    given = configured_embedder(config)
    assert given.embed_query("dog") == pytest.approx(expected([2, 6, 8, 3], mean), abs=1e-6)
    assert np.array_equal(given.embed(["dog"]), own.embed(["dog"]))
    assert given.model != own.model
    none = Config(home=tmp_path / "home", embedder=str(directory), document_prefix="")
    assert configured_embedder(none).embed(["dog"])[0] == pytest.approx(
        expected([2, 8, 3], mean), abs=1e-6
    )


def test_the_default_prompt_stands_in_for_one_that_is_missing(tmp_path: Path) -> None:
    prompts = {"prompts": {"s": "a ", "query": "b "}, "default_prompt_name": "s"}
    directory = write_directory(tmp_path / "tiny", config_sentence_transformers=prompts)
    manifest = configured_model(Config(home=tmp_path, embedder=str(directory))).manifest
    assert (manifest.query_prefix, manifest.document_prefix) == ("b ", "a ")


def test_an_export_wins_and_has_its_own_prefixes(checkpoint: Path, tmp_path: Path) -> None:
    write_directory(tmp_path / "both")
    exported = export_model(checkpoint, tmp_path / "both").manifest
    config = Config(home=tmp_path / "home", embedder=str(tmp_path / "both"))
    assert configured_model(config).manifest == exported
    for name in (str(tmp_path / "both"), "bundled"):
        with pytest.raises(EmbedderError, match=r"query_prefix is 'q: '.*exported with ''"):
            configured_model(Config(home=tmp_path / "home", embedder=name, query_prefix="q: "))


def test_what_was_measured_is_kept_until_a_file_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = write_directory(tmp_path / "tiny")
    config = Config(home=tmp_path / "home", embedder=str(directory))
    before = configured_model(config)
    (record,) = (tmp_path / "home/models").iterdir()
    with monkeypatch.context() as patched:
        # A model that can be neither hashed nor loaded: the record has to be enough.
        patched.setattr(description, "Runtime", None)
        patched.setattr(description.hashlib, "sha256", None)
        patched.setattr(description, "_file_name", lambda _: record.name)
        assert configured_model(config) == before
    with monkeypatch.context() as patched:
        patched.setattr(description, "Runtime", None)
        os.utime(directory / "onnx/model.onnx", (1, 1))
        assert configured_model(config) == before, "touched, but the same bytes"
    onnx.save_model(graph(table=-TABLE), str(directory / "onnx/model.onnx"))
    after = configured_model(config)
    assert after.manifest.identity != before.manifest.identity
    assert configured_model(config) == after


@pytest.mark.skipif(os.name == "nt", reason="folders have no mode there")
def test_a_home_that_is_made_for_it_is_private(tmp_path: Path) -> None:
    directory = write_directory(tmp_path / "tiny")
    config = Config(home=tmp_path / "new/home", embedder=str(directory))
    configured_model(config, keep=False)
    assert not (tmp_path / "new").exists()
    configured_model(config)
    modes = [path.stat().st_mode & 0o777 for path in (config.home, config.home / "models")]
    assert modes == [0o700, 0o700]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": 1}', '{"format": 2}', "[" * 9_999])
def test_a_damaged_record_is_made_anew(tmp_path: Path, content: str) -> None:
    config = Config(home=tmp_path / "home", embedder=str(write_directory(tmp_path / "tiny")))
    before = configured_model(config)
    (record,) = (tmp_path / "home/models").iterdir()
    whole = record.read_text()
    record.write_text(content)
    assert configured_model(config) == before
    assert record.read_text() == whole


def test_a_home_that_cannot_be_written_only_costs_time(tmp_path: Path) -> None:
    directory = write_directory(tmp_path / "tiny")
    (tmp_path / "home").write_text("a file")
    config = Config(home=tmp_path / "home", embedder=str(directory))
    assert configured_model(config) == configured_model(config)


def test_the_identity_is_of_the_content_and_not_of_the_place(tmp_path: Path) -> None:
    one = write_directory(tmp_path / "one")
    shutil.copytree(one, tmp_path / "two")
    assert OnnxEmbedder(one).model == OnnxEmbedder(tmp_path / "two").model
    assert OnnxEmbedder(one).model.startswith("tiny@")


CHANGES: list[dict[str, Any]] = [
    {"model": graph(table=-TABLE)},
    {"pooling": {"pooling_mode": "cls"}},
    {"sentence_bert_config": {"max_seq_length": 11}},
    {"config_sentence_transformers": {"prompts": {"query": "q "}}},
    {"config_sentence_transformers": {"prompts": {"document": "d "}}},
]


@pytest.mark.parametrize("change", CHANGES)
def test_the_identity_changes_with_whatever_changes_vectors(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    before = OnnxEmbedder(write_directory(tmp_path / "one")).model
    assert OnnxEmbedder(write_directory(tmp_path / "two", **change)).model != before


def test_weights_beside_the_graph_belong_to_the_model(tmp_path: Path) -> None:
    directory = write_directory(tmp_path / "tiny")
    path = directory / "onnx/model.onnx"
    settings = {"save_as_external_data": True, "location": "weights.bin", "size_threshold": 0}
    onnx.save_model(graph(), str(path), **settings)
    embedder = OnnxEmbedder(directory)
    assert embedder.embed_query(TEXT) == pytest.approx(expected(IDS, mean), abs=1e-6)
    data = directory / "onnx/weights.bin"
    content = bytearray(data.read_bytes())
    content[0] ^= 1
    data.write_bytes(content)
    assert OnnxEmbedder(directory).model != embedder.model
    with pytest.raises(EmbedderError, match=r"weights\.bin.*sha256"):
        embedder.verify()


def test_other_prefixes_make_another_model_and_the_one_before_answers_meanwhile(
    tmp_path: Path,
) -> None:
    home, directory = tmp_path / "home", str(write_directory(tmp_path / "tiny"))
    before = Config(home=home, embedder=directory, document_prefix="a ")
    after = Config(
        home=home,
        embedder=directory,
        document_prefix="b ",
        former_embedder=directory,
        former_document_prefix="a ",
    )
    with MemoryStore.open(config=before) as store:
        store.remember("a b", id="m")
        old = store.stats().answering
    with MemoryStore.open(config=after) as store:
        assert (store.stats().answering, store.stats().model == old) == (old, False)
        store.models.catch_up()
        assert store.stats().answering == store.stats().model != old


def test_a_home_remembers_and_finds_with_it(tmp_path: Path) -> None:
    directory = write_directory(tmp_path / "tiny")
    config = Config(home=tmp_path / "home", embedder=str(directory))
    with MemoryStore.open(tmp_path / "home", config=config) as store:
        kept = store.remember("a b dog.")
        assert store.search("dog")[0].memory.id == kept.id
        stats = store.stats()
    assert (stats.embedded, stats.model) == (1, configured_model(config).manifest.identity)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"pooling": {"pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": True}}, "max and m"),
    ({"pooling": {"pooling_mode": "attention"}}, "attention; supported is one of cls, mean, max"),
    ({"pooling": {"pooling_mode_mean_tokens": False}}, "no pooling"),
    ({"modules": [{"type": "x.WordEmbeddings"}]}, "WordEmbeddings; supported are Transformer"),
    ({"modules": [*MODULES[:1], {"type": "x.CNN"}, *MODULES[1:]]}, "CNN"),
    ({"modules": [*MODULES[:2], {"type": "x.Dense", "path": "d"}]}, "this graph leaves out"),
    ({"modules": [{"type": "x.Transformer", "path": "../.."}]}, "outside"),
    ({"sentence_bert_config": {"max_seq_length": "12"}}, "max_seq_length '12'"),
    ({"sentence_bert_config": {"max_seq_length": 2}}, "does not say how many tokens"),
    ({"sentence_bert_config": {}, "config": {}}, "does not say how many tokens"),
    ({"sentence_bert_config": {"do_lower_case": True}}, "do_lower_case"),
    ({"tokenizer": {"version": "9"}}, r"tokenizer\.json cannot be loaded"),
    ({"model": graph(inputs=("input_ids", "position_ids"))}, "inputs input_ids, position_ids"),
    ({"model": graph(inputs=("pixels",))}, "inputs pixels; supported are input_ids"),
    ({"model": graph(shape=(1, 128))}, r"of shape \[1, 128\]"),
    ({"model": graph(shape=(8, "tokens"))}, r"of shape \[8, 'tokens'\]"),
    ({"model": graph(outputs=("logits",))}, "outputs logits; one of sentence_emb"),
    ({"model": graph(table=np.zeros_like(TABLE))}, "not finite"),
    ({"config_sentence_transformers": {"prompts": {"query": "a b " * 3}}}, "the prefix 'a b a b"),
]


@pytest.mark.parametrize(("change", "message"), REFUSED)
def test_what_cannot_be_used_is_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    directory = write_directory(tmp_path / "tiny", **change)
    config = Config(home=tmp_path / "home", embedder=str(directory))
    with pytest.raises(EmbedderError, match=message):
        configured_model(config)
    assert not (tmp_path / "home").exists()


def test_prefixes_outside_of_the_pooling_are_refused(tmp_path: Path) -> None:
    pooling = {"pooling_mode": "mean", "include_prompt": False}
    prompts = {"prompts": {"query": "a "}}
    assert OnnxEmbedder(write_directory(tmp_path / "one", pooling=pooling)).model
    write_directory(tmp_path / "two", pooling=pooling, config_sentence_transformers=prompts)
    with pytest.raises(EmbedderError, match="include_prompt"):
        OnnxEmbedder(tmp_path / "two")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"no model", "cannot be loaded"),
        (b"version https://git-lfs.github.com/spec/v1\n", "pointer of Git LFS"),
    ],
)
def test_a_file_that_is_no_graph_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    directory = write_directory(tmp_path / "tiny")
    (directory / "onnx/model.onnx").write_bytes(content)
    with pytest.raises(EmbedderError, match=message):
        OnnxEmbedder(directory)


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("onnx/model.onnx", "no ONNX graph: no onnx/model.onnx and no model.onnx"),
        ("tokenizer.json", r"no tokenizer\.json"),
        ("1_Pooling/config.json", "config.json cannot be read"),
        ("modules.json", r"embedder\.json cannot be read.*sentence-transformers directory"),
    ],
)
def test_a_missing_file_is_named(tmp_path: Path, missing: str, message: str) -> None:
    directory = write_directory(tmp_path / "tiny")
    (directory / missing).unlink()
    with pytest.raises(EmbedderError, match=message):
        OnnxEmbedder(directory)


def test_a_checkpoint_without_a_graph_is_told_who_writes_one(checkpoint: Path) -> None:
    with pytest.raises(EmbedderError, match="sentence-transformers writes one"):
        OnnxEmbedder(checkpoint)


def test_a_graph_without_its_directory_is_refused(tmp_path: Path) -> None:
    onnx.save_model(graph(), str(tmp_path / "model.onnx"))
    with pytest.raises(EmbedderError, match=r"has a modules\.json"):
        OnnxEmbedder(tmp_path / "model.onnx")
    with pytest.raises(EmbedderError, match="is not a file"):
        OnnxEmbedder(tmp_path / "other.onnx")


def test_a_name_is_found_in_a_cache_of_fetched_models(tmp_path: Path) -> None:
    directory = tmp_path / "models--someone--small-e5/snapshots/0123abc"
    config = {"max_position_embeddings": 16}
    write_directory(directory, config=config)
    assert OnnxEmbedder(directory).model.startswith("small-e5@")
    assert json.loads((directory / "config.json").read_text()) == config
