"""Write what the clients install, from the texts of the program: `python packaging/write.py`.

The skill, the context file, the hooks and the version stand in the program alone; a test holds the
files against them.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from infinite_memory.apps.cli.commands.bundle import DEFAULT_NAME, SERVER_SCHEMA, SUMMARY
from infinite_memory.apps.cli.commands.connect import INSTRUCTIONS
from infinite_memory.apps.connect.entry import SERVER_NAME
from infinite_memory.apps.connect.installation import SERVER_COMMAND
from infinite_memory.apps.hooks.clients import HOOK_COMMAND, find_hook_client, hook_entries
from infinite_memory.core.errors import DISTRIBUTION
from infinite_memory_mcp.settings import package_version

ROOT = Path(__file__).parents[1]
# uvx takes what `uv tool install` installed, without a network; else it fetches it once.
UVX = ("uvx", "--from", f"{DISTRIBUTION}[mcp]")
WHEN = (
    "When to look into the person's long-term memory, and what to store there. Use it at the start"
    " of a task, before asking the person something they may have said before, and whenever"
    " something is said that will matter later: a decision, a preference, a deadline, a solution."
)
AUTHOR = {"name": "The authors of Infinite Memory"}


def make_files() -> dict[str, str]:
    """Return the text of each file, by its path in the repository."""
    version = package_version()
    described = {"name": SERVER_NAME, "version": version, "description": SUMMARY}
    server = {"command": UVX[0], "args": [*UVX[1:], SERVER_COMMAND]}
    servers = {"mcpServers": {SERVER_NAME: server}}
    entry = {"name": SERVER_NAME, "source": "./packaging/plugin", "description": SUMMARY}
    documents: dict[str, Any] = {
        ".claude-plugin/marketplace.json": {
            "name": SERVER_NAME,
            "owner": AUTHOR,
            "description": "The plugin of Infinite Memory.",
            "plugins": [entry],
        },
        "packaging/plugin/.claude-plugin/plugin.json": {
            **described,
            "author": AUTHOR,
            "license": "Apache-2.0 AND MIT",
            "hooks": "./hooks/claude-code.json",
        },
        "packaging/plugin/.codex-plugin/plugin.json": {
            **described,
            "author": AUTHOR,
            "license": "Apache-2.0 AND MIT",
            "skills": "./skills/",
            "mcpServers": "./.mcp.json",
            "hooks": "./hooks/codex.json",
        },
        "packaging/plugin/.mcp.json": servers,
        "packaging/plugin/hooks/claude-code.json": _list_hooks("claude-code"),
        "packaging/plugin/hooks/codex.json": _list_hooks("codex"),
        "packaging/gemini/gemini-extension.json": {
            **described,
            **servers,
            "contextFileName": "GEMINI.md",
        },
        "packaging/gemini/hooks/hooks.json": _list_hooks("gemini"),
        "packaging/server.json": _describe_for_registry(version),
    }
    skill = f"---\nname: {SERVER_NAME}\ndescription: {json.dumps(WHEN)}\n---\n\n{INSTRUCTIONS}"
    return {
        **{path: json.dumps(value, indent=2) + "\n" for path, value in documents.items()},
        f"packaging/plugin/skills/{SERVER_NAME}/SKILL.md": skill,
        "packaging/gemini/GEMINI.md": INSTRUCTIONS,
    }


def _describe_for_registry(version: str) -> dict[str, Any]:
    """Return the entry of a registry of servers for the package in the index of Python."""
    # A client runs the identifier of the package, which is the name of the server's command too.
    extra = {"type": "named", "name": "--with", "value": f"{DISTRIBUTION}[mcp]=={version}"}
    return {
        "$schema": SERVER_SCHEMA,
        "name": DEFAULT_NAME,
        "title": "Infinite Memory",
        "description": SUMMARY,
        "version": version,
        "packages": [
            {
                "registryType": "pypi",
                "identifier": DISTRIBUTION,
                "version": version,
                "runtimeHint": "uvx",
                "runtimeArguments": [extra],
                "transport": {"type": "stdio"},
            }
        ],
    }


def _list_hooks(name: str) -> dict[str, Any]:
    client = find_hook_client(name)
    assert client is not None
    entries = hook_entries(client, HOOK_COMMAND, system="linux")
    for entry in entries.values():
        for hook in entry["hooks"]:
            hook["command"] = f"{shlex.join(UVX)} {hook['command']}"
    return {"hooks": {event: [entry] for event, entry in entries.items()}}


if __name__ == "__main__":
    for path, text in make_files().items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(text, encoding="utf-8")
