"""The clients with hooks: which events run the command, and in which form their files list it.

The forms follow the clients' documentation; docs/guides/hooks.md says which were tried.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import field, frozen

HOOK_COMMAND = "infinite-memory-hook"
"""The command that the entries run."""

_START_SECONDS, _SPOOL_SECONDS = 20, 5


@frozen(kw_only=True)
class HookClient:
    """A client, the file of its hooks, and the events that run the command.

    `files` are templates of paths: `{home}` is the folder of the user, any other name a variable
    of the environment; the first whose variables are set counts. `base` is what a new file of hooks
    holds beside them. `ticks` is the number of units of `timeout` in a second, None where an entry
    has no time limit. `matchers` are patterns of the tools at whose use an event counts.
    """

    name: str
    files: tuple[str, ...]
    project_file: str
    events: tuple[str, ...]
    is_grouped: bool = True
    ticks: int | None = 1
    base: Mapping[str, Any] = field(factory=dict)
    matchers: Mapping[str, str] = field(factory=dict)


# A transcript is noted only where there is a reader of the transcripts of that client.
HOOK_CLIENTS = (
    HookClient(
        name="claude-code",
        files=("{CLAUDE_CONFIG_DIR}/settings.json", "{home}/.claude/settings.json"),
        project_file="{project}/.claude/settings.local.json",
        events=(
            *("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUseFailure"),
            *("PreCompact", "Stop", "SessionEnd"),
        ),
        matchers={
            "PreToolUse": "Edit|Write|MultiEdit|NotebookEdit",
            "PostToolUseFailure": "Bash",
        },
    ),
    HookClient(
        name="codex",
        files=("{CODEX_HOME}/hooks.json", "{home}/.codex/hooks.json"),
        project_file="{project}/.codex/hooks.json",
        events=("SessionStart", "UserPromptSubmit", "PreCompact", "Stop", "SessionEnd"),
    ),
    HookClient(
        name="gemini",
        files=("{GEMINI_CLI_HOME}/.gemini/settings.json", "{home}/.gemini/settings.json"),
        project_file="{project}/.gemini/settings.json",
        events=("SessionStart", "BeforeAgent", "PreCompress", "AfterAgent", "SessionEnd"),
        ticks=1000,
    ),
    HookClient(
        name="cursor",
        files=("{home}/.cursor/hooks.json",),
        project_file="{project}/.cursor/hooks.json",
        events=("sessionStart",),
        is_grouped=False,
        ticks=None,
        base={"version": 1},
    ),
)


def find_hook_client(name: str) -> HookClient | None:
    """Return the client of that name, None if it has no hooks that are known here."""
    return next((client for client in HOOK_CLIENTS if client.name == name), None)


def hook_entries(
    client: HookClient, command: str, options: Sequence[str] = (), *, system: str = sys.platform
) -> dict[str, dict[str, Any]]:
    """Return an entry for every event, as an item of the list of that event in the client's file.

    `command` is the path of the program, and `options` follow the event, such as --home DIR.
    """
    entries = {}
    for event in client.events:
        words = [command, event, "--client", client.name, *options]
        entry: dict[str, Any] = {"type": "command", "command": _join_words(words, system)}
        if client.ticks is not None:
            is_start = event.lower() == "sessionstart"
            entry["timeout"] = (_START_SECONDS if is_start else _SPOOL_SECONDS) * client.ticks
        matcher = {"matcher": client.matchers[event]} if event in client.matchers else {}
        entries[event] = {**matcher, "hooks": [entry]} if client.is_grouped else entry
    return entries


def is_own_entry(entry: object) -> bool:
    """Return whether an item of the list of an event runs our command and nothing else."""
    if not isinstance(entry, Mapping):
        return False
    inner = entry.get("hooks")
    if isinstance(inner, list):
        return bool(inner) and all(map(is_own_entry, inner))
    command = entry.get("command")
    return isinstance(command, str) and HOOK_COMMAND in command


def merge_entries(
    listed: Mapping[str, Any], entries: Mapping[str, Mapping[str, Any]]
) -> dict[str, list[Any]]:
    """Return the new list of every event that changes: ours in place of earlier entries.

    `listed` is the object of hooks in a client's file. All foreign entries stay, in their order.
    With no `entries`, ours are taken out; an event without any entry left has an empty list.
    """
    changed = {}
    for event in dict.fromkeys([*listed, *entries]):
        before = listed.get(event, [])
        if not isinstance(before, list):
            continue  # nothing that we put there; the client reports it
        after = [entry for entry in before if not is_own_entry(entry)]
        if event in entries:
            # In the place of the earlier one, so that a repetition changes nothing.
            own = [index for index, entry in enumerate(before) if is_own_entry(entry)]
            after.insert(own[0] if own else len(after), dict(entries[event]))
        if after != before:
            changed[event] = after
    return changed


def _join_words(words: Sequence[str], system: str) -> str:
    if system == "win32":
        return " ".join(f'"{word}"' if " " in word else word for word in words)
    return shlex.join(words)
