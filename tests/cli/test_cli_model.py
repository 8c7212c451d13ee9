from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

Ask = Callable[..., Any]
Run = Callable[..., Any]
_TINY = Path(__file__).parents[1] / "embedding" / "tiny_bert.py"


@pytest.fixture
def source(tmp_path: Path) -> str:
    return str(run_path(str(_TINY))["write_checkpoint"](tmp_path / "source"))


def test_an_export_into_a_directory_that_holds_something_needs_force(
    run: Run, ask: Ask, source: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    made = ask("model", "export", source, str(out))
    before = {path: path.read_bytes() for path in out.iterdir()}
    refused = run("model", "export", source, str(out), "--precision", "fp32", code=2)
    assert f"{out} is not empty" in refused.stderr
    assert "--force" in refused.stderr
    assert {path: path.read_bytes() for path in out.iterdir()} == before
    again = ask("model", "export", source, str(out), "--precision", "fp32", "--force")
    assert (made["precision"], again["precision"]) == ("int8", "fp32")


def test_a_file_in_place_of_the_directory_is_never_replaced(
    run: Run, source: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("mine")
    run("model", "export", source, str(tmp_path / "file"), "--force", code=6)
    assert (tmp_path / "file").read_text() == "mine"


def test_the_options_of_every_command_may_stand_after_model_too(ask: Ask, run: Run) -> None:
    assert ask("model", "info") == ask("model", "--json", "info")


@pytest.mark.parametrize("arguments", [("model",), ("model", "--json"), ("--json", "model")])
def test_model_alone_says_what_can_be_done(run: Run, arguments: tuple[str, ...]) -> None:
    refused = run(*arguments, code=2)
    assert refused.stdout == ""
    assert "give a command: model info, model use or model export" in refused.stderr
