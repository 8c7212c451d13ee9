"""Commands and hooks that print for a model let no stored text out of its quotation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from infinite_memory import Config, MemoryStore
from infinite_memory.apps.cli.command_table import COMMANDS
from infinite_memory.apps.cli.main import infinite_memory
from infinite_memory.apps.hooks.clients import HOOK_CLIENTS
from infinite_memory.apps.hooks.command import format_context, run_hook
from tests.harness.client_frames import PROSE, REPOSITORY, SCOPE, fill_with_frames, find_leaks

FOR_MODELS = {
    "briefing": (["briefing"], ["briefing", "--scope", SCOPE], ["briefing", "--scope", REPOSITORY]),
    "know": (["know", "deadline"], ["know", "deadline", "--scope", SCOPE]),
    "hook": (["hook", "SessionStart"], ["hook", "Stop"]),
}
"""Commands whose output goes into the context of a model."""

FOR_PEOPLE = frozenset(
    """
    backup bundle completion config conflicts connect conversations copy doctor done dream due embed
    export forget graph health history import inbox ingest-session insights keys list log model
    not-useful optimize profile project recall remember restore revise scopes search serve share
    show stats today triggers undo verify web why-not worker
    """.split()
)
"""Commands for people, whose texts are exact with --json."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("frames") / "home"
    with MemoryStore.open(config=Config(home=folder)) as store:
        fill_with_frames(store, store._services.storage)
    return folder


def test_every_command_is_known_to_print_for_a_model_or_not() -> None:
    assert set(COMMANDS) == set(FOR_MODELS) | FOR_PEOPLE


@pytest.mark.thorough
@pytest.mark.parametrize("arguments", [each for rows in FOR_MODELS.values() for each in rows])
def test_no_command_for_a_model_lets_a_stored_text_out(
    arguments: list[str], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INFINITE_MEMORY_HOME", str(home))
    done = CliRunner().invoke(infinite_memory, [*arguments, "--home", str(home)], input="{}")
    assert done.exit_code == 0, done.output
    shown = done.output
    if arguments[0] == "hook" and shown:
        shown = "\n".join(strings_in(json.loads(shown)))
    assert find_leaks(shown) == []
    # What addresses the model, as every text does in Global there, enters no briefing at all.
    assert (PROSE in shown) == (arguments not in (["briefing"], *FOR_MODELS["hook"]))


@pytest.mark.parametrize(
    ("client", "event"), [(each.name, event) for each in HOOK_CLIENTS for event in each.events]
)
def test_no_event_of_a_client_lets_a_stored_text_out(
    client: str, event: str, home: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    with MemoryStore.open(config=Config(home=home), scopes=[SCOPE]) as store:
        text = store.briefing(SCOPE).text
    if event.lower() == "sessionstart":
        printed = format_context(client, event, text)
    else:
        run_hook([event, "--client", client, "--home", str(home)])
        printed = capfdbinary.readouterr().out or b"{}"
    assert find_leaks("\n".join(strings_in(json.loads(printed)))) == []


def strings_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings_in(inner)
