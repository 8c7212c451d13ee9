"""The doctor starts the server of a client's file, and says what came back."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from infinite_memory.apps.connect.catalog import get_client
from infinite_memory.apps.connect.connecting import apply_change, find_file
from infinite_memory.apps.connect.diagnosis import diagnose_clients
from infinite_memory.apps.connect.entry import ServerEntry
from infinite_memory.apps.connect.installation import find_server_command
from infinite_memory.apps.connect.platform import Platform
from infinite_memory.apps.connect.probe import ProbeFailed, probe_server
from infinite_memory.core.values.verification import Diagnosis, State

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def script(text: str) -> ServerEntry:
    return ServerEntry(command=sys.executable, args=("-c", text))


@pytest.fixture(scope="module")
def command() -> str:
    return str(find_server_command())


@pytest.mark.thorough
def test_the_server_of_this_installation_answers_and_creates_nothing(
    platform: Platform, tmp_path: Path, command: str
) -> None:
    store = tmp_path / "store"
    for args in (("--home", str(store)), ("--store", str(store)), (f"--store={store}",)):
        result = probe_server(ServerEntry(command=command, args=args), platform)
        assert result.name == "infinite-memory"
        names = [name for name, _ in result.tools]
        assert "store_memory" in names
        assert all(sentence.endswith(".") for _, sentence in result.tools)
        assert 0 < result.seconds < 60
    assert not store.exists()
    assert not (platform.user_home / ".infinite-memory").exists()


SLEEP = "import time; time.sleep(60)"
REFUSE = (
    "import json, sys\n"
    "print('not json'); print('[]')\n"
    "for line in sys.stdin:\n"
    "    number = json.loads(line).get('id')\n"
    "    if number == 1:\n"
    "        print(json.dumps({'id': 1, 'result': RESULT}), flush=True)\n"
    "    elif number:\n"
    "        print(json.dumps({'id': number, 'error': {'message': 'no tools'}}), flush=True)\n"
)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        (ServerEntry(command="/not/there"), "/not/there cannot be started"),
        (ServerEntry(command=str(Path(__file__).parent)), "cannot be started"),
        (script("import sys; sys.exit('no module named x')"), "it said: no module named x"),
        (script("print('ready', flush=True)"), "without an answer to `initialize`"),
        (script(SLEEP), "did not answer `initialize` within 1 s"),
        (script(REFUSE.replace("RESULT", "{'serverInfo': {}}")), "refused .*no tools"),
        (
            script(REFUSE.replace("RESULT", "{}").replace("'error'", "'result'")),
            "not as a server",
        ),
    ],
)
def test_a_server_that_does_not_answer_is_explained(
    platform: Platform, entry: ServerEntry, sentence: str
) -> None:
    slow = SLEEP in entry.args
    began = time.monotonic()
    with pytest.raises(ProbeFailed, match=sentence):
        probe_server(entry, platform, timeout_seconds=1.0 if slow else 20.0)
    assert not slow or time.monotonic() - began < 30


@pytest.mark.thorough
def test_a_server_gets_what_the_client_hands_on_and_no_more(
    platform: Platform, tmp_path: Path
) -> None:
    seen = tmp_path / "seen"
    text = f"import os\nwith open({str(seen)!r}, 'w') as f: f.write(repr(sorted(os.environ)))"
    entry = ServerEntry(command=sys.executable, args=("-c", text), env={"KEY": "value"})
    machine = Platform(
        system="linux",
        user_home=platform.user_home,
        folder=platform.folder,
        environment={"PATH": "/bin", "INFINITE_MEMORY_HOME": "/elsewhere", "SECRET": "x"},
    )
    with pytest.raises(ProbeFailed):
        probe_server(entry, machine)
    names = seen.read_text()
    assert "'KEY'" in names
    assert "'PATH'" in names
    assert "INFINITE_MEMORY_HOME" not in names
    assert "SECRET" not in names


def diagnose(platform: Platform, wanted: ServerEntry | None) -> dict[str, Diagnosis]:
    found = diagnose_clients(platform, wanted, timeout_seconds=20.0)
    return {diagnosis.about.removeprefix("client "): diagnosis for diagnosis in found}


@pytest.mark.thorough
def test_each_client_that_is_found_gets_a_sentence(platform: Platform, command: str) -> None:
    good = ServerEntry(command=command)
    assert diagnose(platform, good) == {}
    for name, entry in (
        ("claude-code", good),
        ("codex", ServerEntry(command=command, args=("--toolsets", "all"))),
        ("gemini", ServerEntry(command="/gone/infinite-memory-mcp")),
        ("vscode", ServerEntry(url="http://user:secret@127.0.0.1:1/mcp?key=secret")),
        ("cline", good),
    ):
        apply_change(get_client(name), platform, entry, now=NOW)
    cline = find_file(get_client("cline"), platform)
    cline.write_text(cline.read_text().replace('"type"', '"disabled": true, "type"'))
    (platform.user_home / ".cursor").mkdir()
    zed = find_file(get_client("zed"), platform)
    zed.parent.mkdir(parents=True)
    zed.write_text('{"a" 1}')
    found = diagnose(platform, good)
    assert {name: diagnosis.state for name, diagnosis in found.items()} == {
        "claude-code": State.OK,
        "cursor": State.OK,
        "vscode": State.PROBLEM,
        "codex": State.OK,
        "gemini": State.PROBLEM,
        "zed": State.PROBLEM,
        "cline": State.WARNING,
    }
    sentences = {name: diagnosis.sentence for name, diagnosis in found.items()}
    assert "Claude Code is connected; the server answered in" in sentences["claude-code"]
    assert "infinite-memory " in sentences["claude-code"]
    assert "13 tools" in sentences["claude-code"]
    assert "connected with another command" in sentences["codex"]
    assert "/gone/infinite-memory-mcp cannot be started" in sentences["gemini"]
    assert "`infinite-memory connect gemini`" in sentences["gemini"]
    assert "`infinite-memory connect cursor` does it" in sentences["cursor"]
    assert "line 1, column 6" in sentences["zed"]
    assert "switched off in ~/.cline" in sentences["cline"]
    assert "nothing answers at http://127.0.0.1:1/mcp" in sentences["vscode"]
    assert "secret" not in sentences["vscode"]
