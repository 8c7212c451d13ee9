from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from benchmarks.tools.export import Precision, export_model

_TINY = Path(__file__).parents[1] / "embedding" / "tiny_bert.py"

Ask = Callable[..., Any]
Run = Callable[..., Any]


@pytest.fixture
def tiny(tmp_path: Path) -> str:
    checkpoint = run_path(str(_TINY))["write_checkpoint"](tmp_path / "tiny-bert")
    export_model(checkpoint, tmp_path / "tiny", precision=Precision.FP32)
    return str(tmp_path / "tiny")


def embeddings(ask: Ask) -> tuple[str, str]:
    (check,) = [c for c in ask("doctor")["checks"] if c["about"] == "embeddings"]
    return check["state"], check["sentence"]


def test_a_change_of_the_model_is_shown_carried_out_and_tidied_up(
    run: Run, ask: Ask, tiny: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("remember", "the deadline of project Apollo is June 5", "--id", "apollo")
    run("remember", "the dog sleeps", "--id", "dog")
    bundled = ask("stats")["model"]
    assert embeddings(ask) == ("ok", "Every memory can be found by meaning.")

    monkeypatch.setenv("INFINITE_MEMORY_EMBEDDER", tiny)
    run("remember", "a reserve of tea", "--id", "tea")
    stats = ask("stats")
    assert (stats["answering"], stats["by_model"]) == (bundled, {bundled: 3})
    assert (stats["embedded"], stats["memories"]) == (3, 3)
    new = stats["model"]
    shown = run("stats").stdout
    assert "change of the model\t0 of 3 memories embedded again" in shown
    assert f"answers meanwhile\t{bundled}" in shown
    state, sentence = embeddings(ask)
    assert state == "warning"
    assert f"0 of 3 memories are embedded by {new}, and {bundled} answers meanwhile" in sentence
    assert ask("search", "when is the rocket due?")["hits"][0]["id"] == "apollo"

    assert ask("embed") == {"embedded": 3}
    stats = ask("stats")
    assert (stats["answering"], stats["by_model"]) == (new, {bundled: 3, new: 3})
    state, sentence = embeddings(ask)
    assert (state, f"vectors by {bundled} as well" in sentence) == ("ok", True)
    assert sentence.endswith("which infinite-memory embed --drop-others removes.")
    run("forget", "tea")

    shown = run("embed", "--drop-others").stdout
    assert "Embedded 0 memories." in shown
    assert f"Removed the vectors of 2 memories by {bundled}." in shown
    assert ask("stats")["by_model"] == {new: 2}
    assert ask("embed", "--drop-others") == {"embedded": 0, "dropped": {}}
    assert "No other model has vectors here." in run("embed", "--drop-others").stdout
    assert embeddings(ask) == ("ok", "Every memory can be found by meaning.")
    assert ask("verify")["findings"] == []


def test_a_former_model_that_is_gone_is_said_in_the_answer(
    run: Run, ask: Ask, tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("remember", "the deadline of project Apollo is June 5")
    monkeypatch.setenv("INFINITE_MEMORY_EMBEDDER", tiny)
    monkeypatch.setenv("INFINITE_MEMORY_FORMER_EMBEDDER", str(tmp_path / "gone"))
    answer = ask("search", "Apollo")
    assert len(answer["hits"]) == 1
    assert "the former model cannot be opened" in answer["note"]
    state, sentence = embeddings(ask)
    assert (state, sentence.startswith("1 memory is found by words")) == ("warning", True)
    assert "the former model cannot be opened" in sentence


def test_vectors_that_are_still_needed_are_not_dropped(
    run: Run, tiny: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("remember", "the dog sleeps")
    monkeypatch.setenv("INFINITE_MEMORY_EMBEDDER", tiny)
    monkeypatch.setattr("infinite_memory.store.models.catch_up", lambda *_, **__: 0)
    refused = run("embed", "--drop-others", code=5)
    assert "embed the waiting memories" in refused.stderr


def test_the_doctor_writes_down_nothing_about_a_former_model(
    run: Run, ask: Ask, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(_TINY.parent))
    found = run_path(str(_TINY.with_name("tiny_onnx.py")))["write_directory"](tmp_path / "found")
    monkeypatch.setenv("INFINITE_MEMORY_EMBEDDER", str(found))
    run("remember", "the deadline of project Apollo is June 5")
    assert list((home / "models").glob("*.json"))
    shutil.rmtree(home / "models")
    monkeypatch.delenv("INFINITE_MEMORY_EMBEDDER")
    monkeypatch.setenv("INFINITE_MEMORY_FORMER_EMBEDDER", str(found))
    assert "answers meanwhile" in embeddings(ask)[1]
    assert not (home / "models").exists()
