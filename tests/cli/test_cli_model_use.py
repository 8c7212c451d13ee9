from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest
from attrs import evolve

from benchmarks.tools.export.packed_e5 import read_packed_e5
from benchmarks.tools.export.write import write_model
from infinite_memory.search.embedding import models
from infinite_memory.search.embedding.models import ENGLISH
from infinite_memory.store.models import EmbeddingModels

Ask = Callable[..., Any]
Run = Callable[..., Any]
_EMBEDDING = Path(__file__).parents[1] / "embedding"
_BUNDLED = "all-MiniLM-L6-v2+multilingual-e5-small@"
_TINY = "tiny@"


@pytest.fixture(autouse=True)
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a tiny model in the place of the English model, whose vectors are not the bundled."""
    source = read_packed_e5(run_path(str(_EMBEDDING / "packed_file.py"))["packed_file"]())
    write_model(evolve(source, name="tiny"), tmp_path / "tiny")
    find = models.model_directory

    def find_tiny(name: str | Path, folder: Path | None = None) -> Path:
        return tmp_path / "tiny" if name == ENGLISH else find(name, folder)

    monkeypatch.setattr(models, "model_directory", find_tiny)


@pytest.fixture
def settings(home: Path) -> Callable[[], dict[str, Any]]:
    """Return a function that reads the file of the settings."""
    path = home / "infinite_memory_config.json"
    return lambda: json.loads(path.read_text()) if path.exists() else {}


def test_one_command_changes_to_the_model_and_one_changes_back(
    run: Run, ask: Ask, settings: Callable[[], dict[str, Any]]
) -> None:
    run("remember", "hund", "--id", "dog")
    changed = ask("model", "use", "english")
    assert changed["model"].startswith(_TINY)
    assert changed == {
        "model": changed["answering"],
        "changed": True,
        "embedded": 1,
        "answering": changed["model"],
    }
    assert settings() == {"embedder": "english"}
    run("remember", "katze", "--id", "cat")
    assert {hit["id"] for hit in ask("search", "hund")["hits"]} >= {"dog"}
    assert ask("model", "info")["model"] == changed["model"]
    assert ask("doctor")["healthy"]

    # The memory that was stored meanwhile is embedded on the way back.
    back = ask("model", "use", "bundled")
    assert back["answering"].startswith(_BUNDLED)
    assert (back["changed"], back["embedded"]) == (True, 1)
    assert settings() == {"embedder": "bundled"}
    assert ask("model", "use", "english")["embedded"] == 0
    assert settings() == {"embedder": "english"}


def test_repeated_it_changes_nothing(run: Run, ask: Ask, home: Path) -> None:
    run("remember", "hund")
    run("model", "use", "english")
    path = home / "infinite_memory_config.json"
    before = (path.stat().st_mtime_ns, path.read_bytes())
    again = ask("model", "use", "english")
    assert (again["changed"], again["embedded"]) == (False, 0)
    shown = run("model", "use", "english")
    assert shown.stdout == f"{again['answering']} answers.\n"
    assert shown.stderr == ""
    assert (path.stat().st_mtime_ns, path.read_bytes()) == before


def test_what_it_does_is_said(run: Run) -> None:
    run("remember", "hund")
    shown = run("model", "use", "english")
    assert shown.stderr == ""
    assert shown.stdout.startswith(f"Embedded 1 memory. {_TINY}")
    assert shown.stdout.endswith(" answers. Restart the programs that have this memory open.\n")


def test_other_settings_and_the_mode_of_the_file_are_kept(
    run: Run, home: Path, tmp_path: Path
) -> None:
    home.mkdir()
    target = tmp_path / "elsewhere.json"
    target.write_text(json.dumps({"week_start": "sunday", "logging": {"level": "info"}}))
    target.chmod(0o640)
    (home / "infinite_memory_config.json").symlink_to(target)
    run("model", "use", "english")
    assert (home / "infinite_memory_config.json").is_symlink()
    assert target.stat().st_mode & 0o777 == 0o640
    assert json.loads(target.read_text()) == {
        "week_start": "sunday",
        "logging": {"level": "info"},
        "embedder": "english",
    }


def test_a_cut_change_goes_on_with_the_next_call(
    run: Run, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        run("remember", f"hund {number}")

    embed = EmbeddingModels.catch_up

    def cut(models: EmbeddingModels, **_: Any) -> int:
        assert embed(models, limit=2) == 2
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(EmbeddingModels, "catch_up", cut)
        run("model", "use", "english", code=130)
    stats = ask("stats")
    assert stats["answering"].startswith(_BUNDLED)
    assert stats["by_model"][stats["model"]] == 2
    assert ask("search", "hund 3")["hits"][0]["text"] == "hund 3"
    rest = ask("model", "use", "english")
    assert (rest["changed"], rest["embedded"]) == (False, 3)
    assert rest["answering"].startswith(_TINY)


def test_a_change_that_is_under_way_can_be_taken_back(
    run: Run, ask: Ask, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("remember", "hund")
    with monkeypatch.context() as patch:
        patch.setattr(EmbeddingModels, "catch_up", lambda *_, **__: 0)
        run("model", "use", "english")
    assert ask("stats")["answering"].startswith(_BUNDLED)
    assert ask("model", "use", "bundled")["answering"].startswith(_BUNDLED)
    assert settings() == {"embedder": "bundled"}


def test_a_model_of_ones_own_is_remembered_with_its_prefixes(
    run: Run,
    ask: Ask,
    home: Path,
    tmp_path: Path,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(_EMBEDDING))
    own = run_path(str(_EMBEDDING / "tiny_onnx.py"))["write_directory"](tmp_path / "own")
    home.mkdir()
    given = {"embedder": str(own), "query_prefix": "q: ", "document_prefix": ""}
    (home / "infinite_memory_config.json").write_text(json.dumps(given))
    run("remember", "the dog sleeps")
    with monkeypatch.context() as patch:
        patch.setattr(EmbeddingModels, "catch_up", lambda *_, **__: 0)
        run("model", "use", "english")
    former = {
        "former_embedder": str(own),
        "former_query_prefix": "q: ",
        "former_document_prefix": "",
    }
    assert settings() == {"embedder": "english", **former}
    stats = ask("stats")
    assert stats["answering"] != stats["model"]
    # The own model still answers: it stays the former one on the way to a third.
    with monkeypatch.context() as patch:
        patch.setattr(EmbeddingModels, "catch_up", lambda *_, **__: 0)
        run("model", "use", "bundled")
    assert settings() == {"embedder": "bundled", **former}
    assert ask("stats")["answering"] == stats["answering"]
    assert ask("model", "use", "bundled")["answering"].startswith(_BUNDLED)


def test_a_model_that_is_gone_can_be_left(
    run: Run, ask: Ask, home: Path, tmp_path: Path, settings: Any
) -> None:
    run("remember", "the dog sleeps")
    path = home / "infinite_memory_config.json"
    path.write_text(json.dumps({"embedder": str(tmp_path / "gone")}))
    run("search", "dog", code=6)
    assert ask("model", "use", "bundled")["answering"].startswith(_BUNDLED)
    assert settings() == {"embedder": "bundled"}


def test_a_variable_that_would_win_is_named(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INFINITE_MEMORY_EMBEDDER", "bundled")
    refused = run("model", "use", "english", code=3)
    assert "INFINITE_MEMORY_EMBEDDER=bundled overrides the settings file" in refused.stderr
    assert not home.exists()


def test_a_file_that_cannot_be_written_is_named(run: Run, home: Path, tmp_path: Path) -> None:
    home.mkdir()
    target = tmp_path / "missing" / "settings.json"
    (home / "infinite_memory_config.json").symlink_to(target)
    refused = run("model", "use", "english", code=3)
    assert f"{target} cannot be changed" in refused.stderr


def test_other_names_and_scopes_are_refused(run: Run) -> None:
    assert "'klingon' is not one of" in run("model", "use", "klingon", code=2).stderr
    refused = run("model", "use", "bundled", "--scopes", "work", code=2)
    assert "model use works on the whole store" in refused.stderr


@pytest.mark.parametrize(
    ("question", "code", "note"),
    [
        (
            "谁不能吃花生",
            1,
            "compared by words alone: the embedding model does not know this language;"
            " the same question in English may find more; ",
        ),
        ("wann hat Anna Geburtstag?", 0, "the embedding model was made for English; "),
    ],
)
def test_an_answer_in_another_language_names_the_model(
    run: Run, ask: Ask, question: str, code: int, note: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "model_directory", lambda *_: models._PACKAGE / "minilm")
    monkeypatch.setenv("INFINITE_MEMORY_EMBEDDER", "english")
    run("remember", "Anna hat am 20. Januar Geburtstag")
    hint = "`infinite-memory model use bundled` adds a model for other languages"
    assert ask("search", question, code=code)["note"] == note + hint
    sentence = f"{note[0].upper()}{note[1:]}{hint}."
    assert run("search", question, code=code).stderr.endswith(f" {sentence}\n")
    assert ask("search", "when is Anna's birthday?")["note"] is None


def test_doctor_and_stats_name_the_models_until_they_are_used(
    run: Run, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    hint = "`infinite-memory model use bundled` adds a model for other languages"
    with monkeypatch.context() as patch:
        patch.setenv("INFINITE_MEMORY_EMBEDDER", "english")
        patch.setattr(models, "model_directory", lambda *_: models._PACKAGE / "minilm")
        run("remember", "hund")
        assert f"other languages\t{hint}\n" in run("stats").stdout
        (check,) = [check for check in ask("doctor")["checks"] if check["about"] == "languages"]
        assert (check["state"], hint in check["sentence"]) == ("ok", True)
    assert hint not in run("stats").stdout
    assert "languages" not in [check["about"] for check in ask("doctor")["checks"]]
