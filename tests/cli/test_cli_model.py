from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Ask = Callable[..., Any]
Run = Callable[..., Any]


def test_the_options_of_every_command_may_stand_after_model_too(ask: Ask, run: Run) -> None:
    assert ask("model", "info") == ask("model", "--json", "info")


@pytest.mark.parametrize("arguments", [("model",), ("model", "--json"), ("--json", "model")])
def test_model_alone_says_what_can_be_done(run: Run, arguments: tuple[str, ...]) -> None:
    refused = run(*arguments, code=2)
    assert refused.stdout == ""
    assert "give a command: model info or model use" in refused.stderr
