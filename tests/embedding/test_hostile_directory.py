"""Folders that are hostile or cannot be read: each is refused by one kind of error, and at once."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from onnx import helper, numpy_helper
from tiny_bert import MODULES, write_json
from tiny_onnx import graph, write_directory

from benchmarks.tools.export import export_model
from infinite_memory import Config, MemoryStore
from infinite_memory.core.errors import EmbedderError
from infinite_memory.search.embedding import OnnxEmbedder, configured_model
from infinite_memory.search.embedding.manifest import MAX_TOKENIZER_BYTES

NOBODY = 65_534
pytestmark = pytest.mark.skipif(os.name == "nt", reason="pipes and modes of POSIX")


@pytest.fixture(autouse=True)
def _in_a_minute() -> Iterator[None]:
    """End what waits for a pipe that nobody writes to."""

    def end(_number: int, _frame: FrameType | None) -> None:
        raise AssertionError("it waits")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def pooling_at(path: str) -> list[dict[str, str]]:
    return [MODULES[0], {"path": path, "type": "x.Pooling"}]


def transformer_at(path: str) -> list[dict[str, str]]:
    return [{"path": path, "type": "x.Transformer"}, *MODULES[1:]]


def prompt(value: object) -> dict[str, object]:
    return {"config_sentence_transformers": {"prompts": {"query": value}}}


FILES: list[tuple[dict[str, Any], str]] = [
    ({"modules": pooling_at("loop")}, "loop"),
    ({"modules": transformer_at("loop")}, "loop"),
    ({"modules": transformer_at("a\0b")}, "null"),
    ({"modules": pooling_at("a\0b")}, "null"),
    ({"modules": transformer_at("x" * 300)}, "too long"),
    ({"modules": pooling_at("x" * 300)}, "too long"),
    ({"modules": transformer_at("\ud800")}, "surrogates not allowed"),
    (prompt("\udc80 "), "prompts?.*UTF-8"),
    (prompt({"a": 1}), r"prompt \{'a': 1\}"),
    (prompt("a" * 5_000), "at most 4096 characters"),
]


@pytest.mark.parametrize(("files", "message"), FILES)
def test_what_leads_nowhere_is_refused_by_name(
    tmp_path: Path, files: dict[str, Any], message: str
) -> None:
    directory = write_directory(tmp_path / "tiny", **files)
    (directory / "loop").symlink_to("loop")
    config = Config(home=tmp_path / "home", embedder=str(directory))
    with pytest.raises(EmbedderError, match=message) as caught:
        configured_model(config)
    assert str(directory) in str(caught.value)
    assert len(str(caught.value)) < 1_000
    assert not config.home.exists()


@pytest.mark.parametrize("name", ["~no-such-user-here/model", "a\0b", "x" * 300, "\udcff"])
def test_a_name_that_is_no_path_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(EmbedderError, match="cannot be"):
        OnnxEmbedder(Path(name))


def test_a_prefix_that_no_text_can_have_is_refused(tmp_path: Path) -> None:
    directory = write_directory(tmp_path / "tiny")
    config = Config.model_construct(
        **{**Config(home=tmp_path, embedder=str(directory)).__dict__, "query_prefix": "\ud800"}
    )
    with pytest.raises(EmbedderError, match="tiny"):
        configured_model(config)


def test_a_graph_that_makes_nothing_is_refused(tmp_path: Path) -> None:
    model = graph()
    cut = helper.make_node("Slice", ["tokens_", "zero", "zero", "zero"], ["last_hidden_state"])
    model.graph.initializer.append(numpy_helper.from_array(np.array([0]), "zero"))
    model.graph.node[-1].CopyFrom(cut)
    with pytest.raises(EmbedderError, match="IndexError"):
        OnnxEmbedder(write_directory(tmp_path / "tiny", model))


@contextmanager
def _as_nobody() -> Iterator[None]:
    """Give up the rights of root, for which every folder is open."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(before)


@pytest.mark.parametrize("closed", [".", "onnx", "1_Pooling"])
def test_a_folder_without_permission_is_refused(tmp_path: Path, closed: str) -> None:
    directory = write_directory(tmp_path / "tiny")
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    (directory / closed).chmod(0)
    try:
        with _as_nobody(), pytest.raises(EmbedderError, match="Permission denied") as caught:
            OnnxEmbedder(directory)
    finally:
        (directory / closed).chmod(0o755)
    assert str(directory) in str(caught.value)


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    here = Path.cwd()
    # The path of a socket may have about a hundred characters.
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path.name)
    finally:
        os.chdir(here)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


SMALL = (
    "config.json",
    "config_sentence_transformers.json",
    "sentence_bert_config.json",
    "tokenizer_config.json",
    "1_Pooling/config.json",
    "embedder.json",
)


@pytest.mark.parametrize("make", [_pipe, _socket, _device])
@pytest.mark.parametrize("name", SMALL)
def test_what_is_no_regular_file_is_refused_and_not_waited_for(
    tmp_path: Path, name: str, make: Callable[[Path], None]
) -> None:
    settings = {"sentence_bert_config": {}, "config": {}}
    directory = write_directory(tmp_path / "tiny", **settings)
    (directory / name).unlink(missing_ok=True)
    make(directory / name)
    with pytest.raises(EmbedderError, match="not a regular file") as caught:
        OnnxEmbedder(directory)
    assert str(directory / name) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("modules.json", "sentence-transformers directory"),
        ("tokenizer.json", r"no tokenizer\.json"),
        ("onnx/model.onnx", "not a regular file"),
    ],
)
def test_a_pipe_is_no_part_of_a_model(tmp_path: Path, name: str, message: str) -> None:
    directory = write_directory(tmp_path / "tiny")
    (directory / name).unlink()
    os.mkfifo(directory / name)
    with pytest.raises(EmbedderError, match=message):
        OnnxEmbedder(directory)


def test_a_pipe_in_an_export_is_refused_before_it_is_read(model: Path) -> None:
    manifest = json.loads((model / "embedder.json").read_text())
    manifest["files"]["tokenizer.json"]["size_bytes"] = 0
    write_json(model / "embedder.json", manifest)
    (model / "tokenizer.json").unlink()
    os.mkfifo(model / "tokenizer.json")
    with pytest.raises(EmbedderError, match="not a regular file"):
        OnnxEmbedder(model).embed(["a"])


def test_a_tokenizer_without_bounds_is_refused(tmp_path: Path, model: Path) -> None:
    directory = write_directory(tmp_path / "tiny")
    os.truncate(directory / "tokenizer.json", MAX_TOKENIZER_BYTES + 1)
    with pytest.raises(EmbedderError, match=r"tokenizer\.json has 268435457 bytes"):
        OnnxEmbedder(directory)
    manifest = json.loads((model / "embedder.json").read_text())
    manifest["files"]["tokenizer.json"]["size_bytes"] = MAX_TOKENIZER_BYTES + 1
    write_json(model / "embedder.json", manifest)
    os.truncate(model / "tokenizer.json", MAX_TOKENIZER_BYTES + 1)
    with pytest.raises(EmbedderError, match="more than 268435456 bytes"):
        OnnxEmbedder(model)


NAMES = [
    ("a\nb", "a-b"),
    ("one\ud800", "one"),
    ("of one/two three", "two-three"),
    ("模型", "model"),
    ("..", "model"),
    ("n" * 300, "n" * 128),
    ("e5_small-v1.5+q", "e5_small-v1.5+q"),
    ({"a": 1}, "a---1"),
]


@pytest.mark.parametrize(("given", "name"), NAMES)
def test_a_name_is_one_short_line_and_its_vectors_are_kept(
    tmp_path: Path, given: object, name: str
) -> None:
    config = {"_name_or_path": given, "max_position_embeddings": 16}
    directory = write_directory(tmp_path / "tiny", config=config)
    settings = Config(home=tmp_path / "home", embedder=str(directory))
    assert configured_model(settings).manifest.name == name
    with MemoryStore.open(config=settings) as store:
        store.remember("a b dog.")
        assert store.search("dog")
        assert store.stats().embedded == 1
    with MemoryStore.open(config=settings) as store:
        assert store.search("a b")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("name", "a\nb"),
        ("name", "a\ud800"),
        ("name", "n" * 300),
        ("query_prefix", "\ud800"),
        ("document_prefix", "\ud800"),
    ],
)
def test_an_export_that_says_such_things_is_refused(model: Path, key: str, value: str) -> None:
    manifest = json.loads((model / "embedder.json").read_text())
    write_json(model / "embedder.json", manifest | {key: value})
    with pytest.raises(EmbedderError, match=f"{key} is '"):
        OnnxEmbedder(model)


def test_an_export_of_such_a_folder_is_refused_too(checkpoint: Path, tmp_path: Path) -> None:
    write_json(checkpoint / "modules.json", pooling_at("a\0b"))
    with pytest.raises(EmbedderError, match="null"):
        export_model(checkpoint, tmp_path / "out")
    (checkpoint / "model.safetensors").unlink()
    os.mkfifo(checkpoint / "model.safetensors")
    write_json(checkpoint / "modules.json", MODULES)
    with pytest.raises(EmbedderError, match="not a regular file"):
        export_model(checkpoint, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("files", [files for files, _ in FILES])
def test_a_former_model_of_that_kind_only_costs_its_vectors(
    tmp_path: Path, files: dict[str, Any]
) -> None:
    before = write_directory(tmp_path / "before")
    with MemoryStore.open(config=Config(home=tmp_path / "home", embedder=str(before))) as store:
        store.remember("a b dog.")
    write_directory(before, **files)
    (before / "loop").symlink_to("loop")
    after = write_directory(tmp_path / "after", sentence_bert_config={"max_seq_length": 11})
    config = Config(home=tmp_path / "home", embedder=str(after), former_embedder=str(before))
    with MemoryStore.open(config=config) as store:
        hits = store.search("dog")
        assert hits[0].memory.text == "a b dog."
        assert "former model cannot be opened" in (hits.note or "")
        store.models.catch_up()
        assert store.stats().by_model[store.stats().model] == 1
