"""The execution providers that run the model: those that are there are used, others refused."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_onnx import write_directory

from infinite_memory import Config, ConfigurationError, EmbedderError, MemoryStore
from infinite_memory.core.config import CPU_PROVIDER
from infinite_memory.core.values.verification import State
from infinite_memory.engine.verification.diagnose import diagnose_installation
from infinite_memory.search.embedding import (
    OnnxEmbedder,
    configured_embedder,
    model_directory,
    onnx,
)
from infinite_memory.search.embedding.session import CPU_ONLY, load_onnxruntime

onnxruntime = load_onnxruntime()
LACKING = sorted(set(onnxruntime.get_all_providers()) - set(onnxruntime.get_available_providers()))[
    0
]
OTHERS = [name for name in onnxruntime.get_available_providers() if name != CPU_PROVIDER]


@pytest.mark.parametrize("name", [LACKING, "cpuexecutionprovider", "GPU"])
def test_a_provider_that_is_not_there_is_refused_with_those_that_are(
    tmp_path: Path, name: str
) -> None:
    config = Config(home=tmp_path / "home", execution_providers=(name, CPU_PROVIDER))
    for opening in (configured_embedder, lambda config: MemoryStore.open(config=config)):
        with pytest.raises(ConfigurationError) as caught:
            opening(config)
        for said in (f"no {name!r}", *onnxruntime.get_available_providers()):
            assert said in str(caught.value)
    assert not (tmp_path / "home").exists()


def test_the_doctor_names_a_provider_that_is_not_there(tmp_path: Path) -> None:
    with MemoryStore.open(config=Config(home=tmp_path)) as store:
        store.remember("hello")
    config = Config(home=tmp_path, execution_providers=(LACKING,))
    problems = [
        (found.about, found.sentence)
        for found in diagnose_installation(config)
        if found.state is State.PROBLEM
    ]
    assert [about for about, _ in problems] == ["model"]
    assert LACKING in problems[0][1]


def sessions_of(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list of every session that onnxruntime makes from now on.

    What other tests have loaded is not used, since it makes no session.
    """
    made: list[Any] = []
    monkeypatch.setattr(onnx, "_loaded", {})
    plain = onnxruntime.InferenceSession

    def make(*arguments: Any, **options: Any) -> Any:
        made.append(plain(*arguments, **options))
        return made[-1]

    monkeypatch.setattr(onnxruntime, "InferenceSession", make)
    return made


def test_the_processor_runs_the_model_unless_others_are_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = sessions_of(monkeypatch)
    with closing(configured_embedder(Config(home=tmp_path))) as embedder:
        embedder.embed(["hello"])
    assert [session.get_providers() for session in made] == 2 * [[CPU_PROVIDER]]


@pytest.mark.skipif(not OTHERS, reason="this onnxruntime has one provider")
def test_the_configured_providers_are_used_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    providers = (OTHERS[0], CPU_PROVIDER)
    made = sessions_of(monkeypatch)
    config = Config(home=tmp_path, execution_providers=providers)
    with MemoryStore.open(config=config) as store:
        store.remember("Alice's birthday is January 20")
        assert store.search("When was she born?").likely
    assert [tuple(session.get_providers()) for session in made] == 2 * [providers]


@pytest.mark.skipif(not OTHERS, reason="this onnxruntime has one provider")
def test_several_threads_share_a_model_on_another_provider() -> None:
    texts = [f"text {number}" for number in range(20)]
    directory = model_directory("english")
    with (
        OnnxEmbedder(directory, workers=4, providers=(OTHERS[0], CPU_PROVIDER)) as other,
        OnnxEmbedder(directory, workers=4) as plain,
    ):
        assert np.allclose(other.embed(texts), plain.embed(texts), rtol=0, atol=1e-3)
        assert other.model == plain.model


def test_a_provider_that_does_not_start_is_refused_and_nothing_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: [LACKING, CPU_PROVIDER])
    embedder = OnnxEmbedder(write_directory(tmp_path / "tiny"), providers=(LACKING, CPU_PROVIDER))
    with (
        pytest.warns(UserWarning, match=LACKING),
        pytest.raises(
            EmbedderError, match=f"{LACKING} could not be started, so only {CPU_PROVIDER}"
        ),
    ):
        embedder.embed(["dog"])
    assert capfd.readouterr().out == ""


@pytest.mark.thorough
def test_opening_with_the_processor_does_not_import_onnxruntime(tmp_path: Path) -> None:
    code = (
        "import sys; from infinite_memory import Config; "
        "from infinite_memory.search.embedding import configured_embedder; "
        f"configured_embedder(Config(home={str(tmp_path)!r}, execution_providers={CPU_ONLY!r})); "
        "assert 'onnxruntime' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
