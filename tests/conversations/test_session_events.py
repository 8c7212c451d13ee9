from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from infinite_memory.features.sessions.events.event import Event, EventKind, Todo
from infinite_memory.features.sessions.events.folders import Folders
from infinite_memory.features.sessions.events.reading import find_session_files, read_session
from infinite_memory.features.sessions.events.tools import find_commit, find_folder, find_written


@pytest.mark.parametrize(
    ("command", "folder"),
    [
        ("cd /srv/app && make", "/srv/app"),
        ('cd "/srv/my app"; ls', "/srv/my app"),
        ("git -C ../other status", "../other"),
        ("make && cd /srv", None),
        ("echo cd /srv", None),
        ("", None),
    ],
)
def test_the_folder_of_a_command(command: str, folder: str | None) -> None:
    assert find_folder(command) == folder


@pytest.mark.parametrize(
    ("command", "output", "commit"),
    [
        ("git commit -m 'Fix it'", "[main 70b10f8] Fix it\n 1 file", ("70b10f8", "Fix it")),
        ('git add -A && git commit -qam "A: b" && git log --oneline -1', "70b10f8 A", None),
        ("git -C app commit --message=Done", "", ("", "Done")),
        ("git commit -F - <<'EOF'\nTwo\nlines\nEOF", "[x (root-commit) 1234567] T", None),
        ("git commit --dry-run -m x", "", ()),
        ("git log --grep commit", "", ()),
        ("echo git commit -m x", "", ()),
        ("git commit --amend --no-edit", "[main 1234567] x", ("1234567", "")),
    ],
)
def test_the_commit_of_a_command(command: str, output: str, commit: Any) -> None:
    found = find_commit(command, output)
    if commit == ():
        assert found is None
    elif commit is None:
        assert found is not None
        assert found[0]
        assert found[1]
    else:
        assert found == commit


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("cat > src/a.py <<'E'\nx\nE", ["src/a.py"]),
        ("echo x >> README.md", ["README.md"]),
        ("sed -i 's/a/b/' src/a.py", ["src/a.py"]),
        ("sed -n 1,9p src/a.py", []),
        ("make 2>&1 | tee build.log", ["build.log"]),
        ("printf x > t.json; node a.js t.json; rm t.json", []),
        ("python a.py > /tmp/out.txt 2>/dev/null", []),
        ("node -e 'if (a > b) process.exit(1)'", []),
    ],
)
def test_the_files_that_a_command_writes(command: str, files: list[str]) -> None:
    assert find_written(command) == files


def test_folders_beside_the_folder_of_the_session_are_repositories_of_their_own() -> None:
    folders = Folders()
    assert folders.root_of("/nowhere/ada/apollo") == "/nowhere/ada/apollo"
    assert folders.root_of("/nowhere/ada/apollo/src") == "/nowhere/ada/apollo"
    assert folders.root_of_file("src/a.py", "/nowhere/ada/apollo") == "/nowhere/ada/apollo"
    beside = folders.root_of_file("/nowhere/ada/luna/src/a.py", "/nowhere/ada/apollo")
    assert beside == "/nowhere/ada/luna"
    assert folders.resolve("../luna", "/nowhere/ada/apollo") == "/nowhere/ada/luna"


def read(tmp_path: Path, client: str, lines: list[dict[str, Any]], name: str) -> list[Event]:
    path = tmp_path / name
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (file,) = find_session_files(path)
    assert file.client == client
    return read_session(file)


def test_calls_of_codex_become_edits_commands_and_todos(tmp_path: Path) -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-old\n+new\n*** End Patch\n"

    def item(number: int, **payload: Any) -> dict[str, Any]:
        at = f"2026-03-04T09:00:{number:02}Z"
        return {"timestamp": at, "type": "response_item", "payload": payload}

    def called(number: int, name: str, arguments: str) -> dict[str, Any]:
        return item(number, type="function_call", name=name, call_id=name, arguments=arguments)

    def answered(number: int, name: str, output: str) -> dict[str, Any]:
        return item(number, type="function_call_output", call_id=name, output=output)

    meta = {"id": "c1", "cwd": "/nowhere/apollo", "git": {"branch": "main"}}
    added = [{"type": "input_text", "text": "<environment_context>x</environment_context>"}]
    asked = [{"type": "input_text", "text": "Fix it"}]
    plan = json.dumps({"plan": [{"step": "One", "status": "completed"}]})
    events = read(
        tmp_path,
        "codex",
        [
            {"timestamp": "2026-03-04T09:00:00Z", "type": "session_meta", "payload": meta},
            item(1, type="message", role="user", content=added),
            item(2, type="message", role="user", content=asked),
            called(3, "exec_command", json.dumps({"cmd": "make"})),
            answered(4, "exec_command", "Process exited with code 2\nOutput:\nno rule\n"),
            called(5, "apply_patch", json.dumps({"input": patch, "cmd": patch})),
            answered(6, "apply_patch", "Exit code: 0\nOutput:\nSuccess"),
            called(7, "update_plan", plan),
            {"timestamp": "2026-03-04T09:00:08Z", "type": "event_msg", "payload": {"type": "x"}},
        ],
        "rollout.jsonl",
    )
    shown = [(e.kind, e.text or e.files or e.todos, e.ok, e.output) for e in events]
    assert shown == [
        (EventKind.MESSAGE, "Fix it", True, ""),
        (EventKind.TOOL, "make", False, "no rule\n"),
        (EventKind.EDIT, ("a.py",), True, "Success"),
        (EventKind.TODO, (Todo(text="One", status="completed"),), False, ""),
    ]
    assert (events[2].before, events[2].after) == ("old", "new")
    assert {(e.session, e.folder, e.branch) for e in events} == {("c1", "/nowhere/apollo", "main")}


def test_a_chat_of_gemini_that_was_gone_on_with_has_no_message_twice(tmp_path: Path) -> None:
    calls = [
        {
            "id": "t1",
            "name": "run_shell_command",
            "args": {"command": "make"},
            "status": "success",
            "result": [{"functionResponse": {"response": {"output": "Output: x\nExit Code: 2\n"}}}],
        }
    ]
    first = {"id": "m1", "timestamp": "2026-03-04T09:00:00Z", "type": "user", "content": "Fix it"}
    second = {"id": "m2", "timestamp": "2026-03-04T09:00:05Z", "type": "gemini", "content": ""}
    third = {"id": "m3", "timestamp": "2026-03-04T10:00:00Z", "type": "user", "content": "go on"}
    events = read(
        tmp_path,
        "gemini",
        [
            {"sessionId": "g1", "projectHash": "h", "startTime": "2026-03-04T09:00:00Z"},
            first,
            second,
            {**second, "toolCalls": calls},
            {"$set": {"messages": [first, second]}},
            third,
        ],
        "session.jsonl",
    )
    shown = [(e.kind, e.text, e.ok, e.session) for e in events]
    assert shown == [
        (EventKind.MESSAGE, "Fix it", True, "g1"),
        (EventKind.TOOL, "make", False, "g1"),
        (EventKind.MESSAGE, "go on", True, "g1"),
    ]


def test_an_earlier_chat_of_gemini_is_a_document(tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    messages = [{"id": "m1", "type": "user", "content": "Fix it"}, "no message"]
    path.write_text(json.dumps({"sessionId": "g1", "projectHash": "h", "messages": messages}))
    (file,) = find_session_files(path)
    assert file.client == "gemini"
    (event,) = read_session(file)
    assert (event.text, event.session, event.position) == ("Fix it", "g1", 1)
