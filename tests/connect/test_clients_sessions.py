"""What was told to a real client in one session is before its model in the next, by the hooks."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from real_clients import RealClients, install_clients

from tests.connect.test_clients_real import OURS, TRUSTED
from tests.harness.scripted_model import ScriptedModel

pytestmark = pytest.mark.slow("real-clients")

TOLD = (
    "Hi, I am Marta. My cat is called Kiki, the launch is on November 27, I prefer short answers."
)
ASKED = "What is my cat called?"
# A quoted line, with its date; a client may escape what a hook says.
TOLD_AGAIN = re.compile(r"(?:>|&gt;) [^\\>]*My cat is called Kiki")


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    model = ScriptedModel()
    yield model
    model.close()


@pytest.fixture
def clients(tmp_path: Path) -> RealClients:
    return RealClients(install_clients(), tmp_path)


def run_claude(clients: RealClients, model: ScriptedModel, *arguments: str) -> None:
    model.contexts.clear()
    clients.run(
        "claude",
        "-p",
        *arguments,
        ANTHROPIC_BASE_URL=model.url,
        ANTHROPIC_API_KEY="none",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
    )


@pytest.mark.parametrize(
    ("is_repository", "more"),
    [(False, ()), (True, ("Thanks!",)), (False, ("Thanks!", "/compact"))],
)
def test_claude_code_is_told_what_another_session_said(
    clients: RealClients, model: ScriptedModel, more: Sequence[str], *, is_repository: bool
) -> None:
    if is_repository:
        subprocess.run(["git", "init", "--quiet", str(clients.project)], check=True)
    clients.run(OURS, "connect", "claude-code")
    run_claude(clients, model, TOLD)
    for prompt in more:
        run_claude(clients, model, prompt, "--continue")
    transcripts = (clients.home / ".claude" / "projects").glob("*/*.jsonl")
    is_compacted = any("compact_boundary" in path.read_text() for path in transcripts)
    assert is_compacted is ("/compact" in more)
    run_claude(clients, model, ASKED)
    assert TOLD_AGAIN.search(model.contexts[0])
    assert "The end of the last conversation" in model.contexts[0]


def test_codex_is_told_what_another_session_said(
    clients: RealClients, model: ScriptedModel
) -> None:
    clients.run(OURS, "connect", "codex", "--hooks")
    settings = clients.home / ".codex" / "config.toml"
    provider = f'name = "s"\nbase_url = "{model.url}/v1"\nwire_api = "responses"\nenv_key = "KEY"\n'
    settings.write_text(
        f'model = "gpt-5"\nmodel_provider = "s"\n{settings.read_text()}\n'
        f"[model_providers.s]\n{provider}"
    )
    # Codex asks a person to trust a hook before it runs it.
    run = ("codex", "exec", "--dangerously-bypass-hook-trust", "--skip-git-repo-check")
    clients.run(*run, TOLD, KEY="none")
    model.contexts.clear()
    clients.run(*run, ASKED, KEY="none")
    assert TOLD_AGAIN.search(model.contexts[0])


def test_gemini_cli_is_told_what_another_session_said(
    clients: RealClients, model: ScriptedModel
) -> None:
    clients.run(OURS, "connect", "gemini", "--hooks")
    settings = clients.home / ".gemini" / "settings.json"
    chosen = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    settings.write_text(json.dumps({**json.loads(settings.read_text()), **chosen}))
    variables = {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": model.url, **TRUSTED}
    run = ("gemini", "--model", "gemini-2.5-flash", "--prompt")
    clients.run(*run, TOLD, **variables)
    model.contexts.clear()
    clients.run(*run, ASKED, **variables)
    # The client escapes what hooks give to its model.
    assert TOLD_AGAIN.search(model.contexts[0])
