"""The settings of searches, conversations and the model, from each source, in processes."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from processes import in_pipe

from infinite_memory.core.config import CPU_PROVIDER
from infinite_memory.search.embedding.session import load_onnxruntime

SETTINGS = {
    "search": {"limit": 2},
    "conversation_scopes": True,
    "default_scope": "work",
    "execution_providers": [*reversed(load_onnxruntime().get_available_providers())],
}


@pytest.fixture(params=["file", "environment"])
def configured(request: pytest.FixtureRequest, home: Path) -> dict[str, str]:
    """The environment of a command with the settings above, which are there or in the file."""
    if request.param == "file":
        home.mkdir()
        (home / "infinite_memory_config.json").write_text(json.dumps(SETTINGS))
        return dict(os.environ)
    return {
        **os.environ,
        "INFINITE_MEMORY_SEARCH_LIMIT": "2",
        "INFINITE_MEMORY_CONVERSATION_SCOPES": "true",
        "INFINITE_MEMORY_DEFAULT_SCOPE": "work",
        "INFINITE_MEMORY_EXECUTION_PROVIDERS": ", ".join(SETTINGS["execution_providers"]),  # type: ignore[arg-type]
    }


def answer(*arguments: str, **options: object) -> Any:
    done = in_pipe(*arguments, "--json", **options)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


@pytest.mark.thorough
def test_the_settings_hold_in_every_command(configured: dict[str, str]) -> None:
    shown = answer("config", env=configured)
    assert shown["search.limit"]["value"] == 2
    assert shown["search.threshold"] == {"value": None, "origin": "default"}
    assert shown["conversation_scopes"]["value"] is True
    assert shown["execution_providers"]["value"] == SETTINGS["execution_providers"]
    for number in range(3):
        answer("remember", f"The harbour plan, draft {number}", env=configured)
    said = answer("remember", "We chose blue", "--conversation", "c1", env=configured)
    assert said["scope"] == "conversations/c1"
    assert said["searchable"] == "meaning"
    found = answer("search", "harbour plan", env=configured)
    assert (len(found["hits"]), found["more"]) == (2, 1)
    assert len(answer("search", "harbour plan", "--limit", "3", env=configured)["hits"]) == 3
    talk = answer("search", "what did we choose", "--conversation", "c1", env=configured)
    assert [hit["text"] for hit in talk["hits"]] == ["We chose blue"]
    elsewhere = answer("search", "what did we choose", env=configured)
    assert "We chose blue" not in [hit["text"] for hit in elsewhere["hits"]]


@pytest.mark.thorough
def test_a_threshold_from_the_environment_cuts_and_an_option_goes_over_it() -> None:
    in_pipe("remember", "The harbour plan is late")
    cut = {**os.environ, "INFINITE_MEMORY_SEARCH_THRESHOLD": "1"}
    done = in_pipe("search", "a holiday by the sea", env=cut)
    assert (done.returncode, done.stdout) == (1, "")
    assert "scored too low; try --threshold 0" in done.stderr
    assert answer("search", "a holiday by the sea", "--threshold", "0", env=cut)["hits"]
    assert answer("search", "a holiday by the sea")["hits"]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("SEARCH_LIMIT", "0", "search.limit = '0'"),
        ("SEARCH_THRESHOLD", "high", "search.threshold = 'high'"),
        ("EXECUTION_PROVIDERS", ",", "execution_providers = ','"),
        ("EXECUTION_PROVIDERS", "GPU", f"no 'GPU', only .*{CPU_PROVIDER}"),
    ],
)
def test_a_setting_that_cannot_be_used_is_refused(name: str, value: str, message: str) -> None:
    done = in_pipe("search", "x", env={**os.environ, f"INFINITE_MEMORY_{name}": value})
    assert done.returncode == 3
    assert re.search(message, done.stderr)


@pytest.mark.thorough
def test_the_config_command_shows_a_list_with_commas() -> None:
    listed = {**os.environ, "INFINITE_MEMORY_EXECUTION_PROVIDERS": "One,Two"}
    assert "execution_providers\tOne, Two\tINFINITE_MEMORY" in in_pipe("config", env=listed).stdout
