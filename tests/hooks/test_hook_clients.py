"""What is put into the files of the clients so that they run the hooks."""

from __future__ import annotations

import shlex

from infinite_memory.apps.hooks.clients import (
    find_hook_client,
    hook_entries,
    is_own_entry,
    merge_entries,
)

COMMAND = "/opt/my venv/bin/infinite-memory-hook"


def entries(name: str, **options: str) -> dict[str, object]:
    client = find_hook_client(name)
    assert client is not None
    return hook_entries(client, COMMAND, ["--home", "/a b"], system=options.get("system", "linux"))


def test_claude_code_briefs_at_the_start_and_notes_every_turn() -> None:
    listed = entries("claude-code")
    assert list(listed) == [
        *("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUseFailure"),
        *("PreCompact", "Stop", "SessionEnd"),
    ]
    matchers = {event: entry["matcher"] for event, entry in listed.items() if "matcher" in entry}  # type: ignore[operator,index]
    assert matchers == {
        "PreToolUse": "Edit|Write|MultiEdit|NotebookEdit",
        "PostToolUseFailure": "Bash",
    }
    assert listed["Stop"] == {
        "hooks": [
            {
                "type": "command",
                "command": f"'{COMMAND}' Stop --client claude-code --home '/a b'",
                "timeout": 5,
            }
        ]
    }


def test_codex_and_gemini_are_noted_too_and_cursor_is_only_briefed() -> None:
    only_there = ("PreToolUse", "PostToolUseFailure")
    assert list(entries("codex")) == [e for e in entries("claude-code") if e not in only_there]
    assert list(entries("gemini")) == [
        "SessionStart",
        "BeforeAgent",
        "PreCompress",
        "AfterAgent",
        "SessionEnd",
    ]
    assert list(entries("cursor")) == ["sessionStart"]


def test_time_limits_have_the_unit_of_the_client() -> None:
    gemini, codex = entries("gemini")["SessionStart"], entries("codex")["SessionStart"]
    assert isinstance(gemini, dict)
    assert isinstance(codex, dict)
    assert gemini["hooks"][0]["timeout"] == 1000 * codex["hooks"][0]["timeout"]
    (cursor,) = entries("cursor").values()
    assert isinstance(cursor, dict)
    assert shlex.split(cursor["command"])[:2] == [COMMAND, "sessionStart"]
    assert "timeout" not in cursor


def test_a_command_for_windows_is_quoted_as_it_reads_it() -> None:
    (entry,) = entries("cursor", system="win32").values()
    assert isinstance(entry, dict)
    assert entry["command"] == f'"{COMMAND}" sessionStart --client cursor --home "/a b"'


def test_a_client_without_hooks_has_none() -> None:
    assert find_hook_client("zed") is None


def test_our_entries_are_known_from_those_of_others() -> None:
    for name in ("claude-code", "codex", "gemini", "cursor"):
        assert all(map(is_own_entry, entries(name).values()))
    ours = {"type": "command", "command": COMMAND}
    other = {"type": "command", "command": "afplay done.wav"}
    for entry in (other, {"hooks": [ours, other]}, {"hooks": []}, {}, None, "x", {"command": 3}):
        assert not is_own_entry(entry)


SOUND = {"hooks": [{"type": "command", "command": "afplay done.wav"}]}


def test_entries_are_added_beside_those_of_others_and_a_repetition_changes_nothing() -> None:
    ours = entries("claude-code")
    listed = {"Stop": [SOUND], "PreToolUse": [SOUND]}
    changed = merge_entries(listed, ours)  # type: ignore[arg-type]
    others = {event: [entry] for event, entry in ours.items() if event not in listed}
    both = {event: [SOUND, ours[event]] for event in listed}
    assert changed == {**both, **others}
    assert merge_entries({**listed, **changed}, ours) == {}  # type: ignore[arg-type]


def test_an_entry_of_an_earlier_installation_is_replaced_in_its_place() -> None:
    ours = entries("cursor")
    old = {"type": "command", "command": "/old/infinite-memory-hook sessionStart"}
    changed = merge_entries({"sessionStart": [old, SOUND]}, ours)  # type: ignore[arg-type]
    assert changed == {"sessionStart": [ours["sessionStart"], SOUND]}


def test_removing_takes_out_ours_alone() -> None:
    ours = entries("claude-code")
    listed = {"Stop": [SOUND, ours["Stop"]], "SessionEnd": [ours["SessionEnd"]], "Other": [SOUND]}
    assert merge_entries(listed, {}) == {"Stop": [SOUND], "SessionEnd": []}
    assert merge_entries({"Stop": "no list", "Other": [SOUND]}, {}) == {}
