"""Hooks are answered by a server that runs: the briefing, and what surely helps with a prompt."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from infinite_memory import Config, MemoryStore
from infinite_memory.features.sessions.hook_socket import (
    ask_server,
    find_socket_folder,
    name_host,
)
from infinite_memory.features.sessions.shown import Receipt
from infinite_memory.features.sessions.spool import append_line
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory_mcp import LazyStore

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no such sockets")
HOOK = [sys.executable, "-m", "infinite_memory.apps.hooks.command"]


@pytest.fixture
def home() -> Iterator[Path]:
    """A home folder with a short path, so that its sockets are in it."""
    with tempfile.TemporaryDirectory(prefix="im-") as folder:
        yield Path(folder) / "home"


@pytest.fixture
def memory(home: Path) -> Iterator[LazyStore]:
    """A server's store, which answers hooks and knows of a cat, and of an answer of a tool."""
    with LazyStore(
        lambda: MemoryStore.open(home), quiet_seconds=600, works=True, answers_hooks=True
    ) as memory:
        store = memory.get()
        store.remember("Marta's cat is called Kiki", id="cat", origin="user")
        store.remember("The launch of the dashboard is on November 27", id="launch")
        yield memory


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "work" / "apollo"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "config").write_text(
        '[remote "origin"]\n\turl = git@github.com:alice/apollo.git\n'
    )
    return folder


def ask(home: Path, moment: str, **values: str) -> str:
    answer = ask_server(home, {"moment": moment, "client": "claude-code", **values}, seconds=30)
    assert answer is not None
    return str(answer["text"])


def write_transcript(path: Path, session: str, *texts: str) -> Path:
    path.write_text(
        "".join(
            json.dumps(
                {
                    "type": "user",
                    "uuid": f"{session}-{number}",
                    "sessionId": session,
                    "timestamp": f"2026-11-26T10:00:{number:02}Z",
                    "message": {"role": "user", "content": text},
                }
            )
            + "\n"
            for number, text in enumerate(texts)
        ),
        "utf-8",
    )
    return path


def test_a_prompt_gets_what_helps_once_a_session_and_nothing_otherwise(
    memory: LazyStore, home: Path
) -> None:
    question = "What is my cat called?"
    first = ask(home, "prompt", session="s1", prompt=question)
    assert "Kiki" in first
    assert first.startswith("From the memory. What follows are stored records")
    assert ask(home, "prompt", session="s1", prompt=question) == ""
    assert "Kiki" in ask(home, "prompt", session="s2", prompt=question)
    for idle in ("explain the difference between TCP and UDP", "thanks!", "yes please", "", " \n"):
        assert ask(home, "prompt", session="s3", prompt=idle) == ""


def test_what_people_say_of_themselves_in_one_project_helps_in_another(
    memory: LazyStore, home: Path, tmp_path: Path
) -> None:
    said = {
        "tiller": ("I am allergic to hazelnuts.", "Our staging server listens on port 7741."),
        "harvest": ("The barn is 20 m long.",),
    }
    folders = [str(tmp_path / name) for name in said]
    for name, texts in said.items():
        (tmp_path / name / ".git").mkdir(parents=True)
        path = write_transcript(tmp_path / f"{name}.jsonl", name, *texts)
        folder = str(tmp_path / name)
        append_line(home, {"client": "claude-code", "transcript": str(path), "folder": folder})
    with memory.call() as store:
        assert store.conversations.ingest_spool().messages == 3
    questions = {"What am I allergic to?": "hazelnuts", "Which port has staging?": "7741"}
    for number, folder in enumerate(folders):
        answers = [
            word in ask(home, "prompt", session=f"q{number}", folder=folder, prompt=question)
            for question, word in questions.items()
        ]
        assert answers == [True, folder == folders[0]]


@pytest.mark.usefixtures("memory")
def test_a_question_of_an_earlier_session_does_not_come_up(
    memory: LazyStore, home: Path, repository: Path, tmp_path: Path
) -> None:
    question = "What is the boat called?"
    for number, text in enumerate((question, "The boat is called Havsvind.")):
        path = write_transcript(tmp_path / f"s{number}.jsonl", f"s{number}", text)
        line = {"client": "claude-code", "transcript": str(path), "folder": str(repository)}
        append_line(home, line)
    with memory.call() as store:
        store.conversations.ingest_spool()
        kinds = [hit.memory.kind for hit in store.search(question, scope="ALL", cut="wide")]
        assert kinds[:2] == ["fact", "message"]
    shown = ask(home, "prompt", session="s9", folder=str(repository), prompt=question)
    assert "Havsvind" in shown
    assert "Asked" not in shown


def test_a_session_that_begins_anew_is_shown_again_what_it_was_shown(
    memory: LazyStore, home: Path
) -> None:
    question = "When is the launch of the dashboard?"
    assert "November 27" in ask(home, "prompt", session="s1", prompt=question)
    assert ask(home, "prompt", session="s1", prompt=question) == ""
    ask(home, "start", session="s1", folder="/nowhere")
    with memory.call() as store:
        shown = store.conversations.begin_session("/nowhere", session="s9").ids
    again = ask(home, "prompt", session="s1", prompt=question)
    assert ("November 27" in again) == ("launch" not in shown)


def test_a_session_that_is_resumed_the_same_day_gets_no_second_briefing(home: Path) -> None:
    now = datetime(2026, 11, 26, 9, tzinfo=UTC)
    with MemoryStore.open(home, clock=lambda: now) as store:
        store.remember("Marta's cat is called Kiki")
        begin = partial(store.conversations.begin_session, "/nowhere", session="s")
        assert "Kiki" in begin(resumed=True).text, "it was not begun before"
        assert begin(resumed=True).text == ""
        assert "Kiki" in begin().text, "a compaction drops what it had"
        now += timedelta(days=1)
        assert "Kiki" in begin(resumed=True).text


def test_insights_count_what_sessions_were_shown_and_what_they_used(
    home: Path, tmp_path: Path
) -> None:
    now = datetime(2026, 11, 26, 10, tzinfo=UTC)
    with MemoryStore.open(home, clock=lambda: now) as store:
        assert store.projects.insights().shown == Receipt()
        store.remember("Marta's cat is called Kiki and eats only salmon", id="cat")
        store.remember("The launch of the dashboard is on November 27", id="launch")
        ask = partial(store.conversations.recall_for_prompt, session="s")
        asked = ("What is my cat called?", "When is the launch of the dashboard?")
        tokens = [ask(text).tokens for text in asked]
        path = write_transcript(tmp_path / "s.jsonl", "s", "What is my cat called?")
        said = ("Kiki, who eats salmon.", "Anything else?")
        for number, text in enumerate(said, 1):
            message = {"role": "assistant", "content": [{"type": "text", "text": text}]}
            at = f"2026-11-26T10:00:{number:02}Z"
            line = {"type": "assistant", "uuid": f"a{number}", "sessionId": "s", "timestamp": at}
            with path.open("a") as file:
                file.write(json.dumps({**line, "message": message}) + "\n")
        for _ in range(2):
            append_line(home, {"client": "claude-code", "transcript": str(path), "folder": "/"})
            store.conversations.ingest_spool()
        assert store.projects.insights().shown == Receipt(
            sessions=1, times={"prompt": 2}, memories=2, tokens=sum(tokens), used=1
        )
        assert store.projects.insights(timeframe="before 2026").shown == Receipt()
        with store.confine(scopes="Global") as confined:
            assert confined.projects.insights().shown == Receipt()


@pytest.mark.usefixtures("memory")
def test_what_one_window_was_told_is_known_in_the_next(
    home: Path, repository: Path, tmp_path: Path
) -> None:
    transcript = write_transcript(
        tmp_path / "s1.jsonl", "s1", "Hi, I am Marta. My boat is called Havsvind."
    )
    folder = str(repository)
    append_line(home, {"client": "claude-code", "transcript": str(transcript), "folder": folder})
    assert "Havsvind" in ask(home, "start", session="s2", folder=folder)
    assert "Havsvind" in ask(
        home, "prompt", session="s3", folder=folder, prompt="What is my boat called?"
    )
    # What the session said itself is no news to it, and nothing of a project is told elsewhere.
    asked = {"prompt": "What is my boat called?"}
    assert "Havsvind" not in ask(home, "prompt", session="s1", folder=folder, **asked)
    assert "Havsvind" not in ask(home, "prompt", session="s4", folder=str(tmp_path), **asked)


def test_a_scope_that_is_private_or_inactive_stays_out_of_other_sessions(
    home: Path, repository: Path, tmp_path: Path
) -> None:
    name = "repo/github.com/alice/apollo"
    rules = {"repositories": {name: {"sensitivity": "private"}}}
    config = Config(home=home, projects=rules)  # type: ignore[arg-type]
    path = write_transcript(tmp_path / "s1.jsonl", "s1", "My boat is called Havsvind.")
    folder = str(repository)
    append_line(home, {"client": "claude-code", "transcript": str(path), "folder": folder})
    with MemoryStore.open(config=config) as store:
        store.conversations.ingest_spool()
        assert {scope.name: scope.sensitivity for scope in store.scopes}[name] == "private"
        asked, elsewhere = "What is my boat called?", str(tmp_path)
        conversations = store.conversations
        assert conversations.recall_for_prompt(asked, folder=elsewhere).ids == ()
        assert "Havsvind" in conversations.recall_for_prompt(asked, folder=folder).text
        assert "Havsvind" in conversations.begin_session(folder).text
        store.scopes.update(name, active=False)
        assert "Havsvind" not in conversations.recall_for_prompt(asked, folder=folder).text
        assert "Havsvind" not in conversations.begin_session(folder).text
        assert "Havsvind" not in store.briefing(folder=folder).text


def test_a_late_answer_is_none_and_is_not_noted(home: Path) -> None:
    with MemoryStore.open(home) as store:
        store.remember("Marta's cat is called Kiki")
        question, conversations = "What is my cat called?", store.conversations
        assert conversations.recall_for_prompt(question, session="s", within=0).text == ""
        assert "Kiki" in conversations.recall_for_prompt(question, session="s").text


@pytest.mark.usefixtures("memory")
def test_another_project_is_named_whole_or_not_at_all(home: Path, tmp_path: Path) -> None:
    for name, port in (("app", 7001), ("web", 9002)):
        git = tmp_path / "src" / name / ".git"
        git.mkdir(parents=True)
        path = write_transcript(
            tmp_path / f"{name}.jsonl", name, f"The port of the {name} server is {port}."
        )
        values = {"client": "claude-code", "transcript": str(path), "folder": str(git.parent)}
        append_line(home, values)
    ask(home, "noted")
    asked = {"session": "s9", "folder": str(tmp_path / "src" / "web")}
    question = "which port does the app server have"
    assert "7001" not in ask(home, "prompt", **asked, prompt=question)
    whole = f"{question}, of repo/local/src/app"
    assert "7001" in ask(home, "prompt", **asked, prompt=whole)
    own = question.replace("app", "web")
    assert "9002" in ask(home, "prompt", **{**asked, "session": "s8"}, prompt=own)
    # Nothing is kept yet of the repository at work.
    (tmp_path / "src" / "new" / ".git").mkdir(parents=True)
    for folder in (str(tmp_path / "src" / "new"), str(tmp_path)):
        elsewhere = {"session": f"s7 {folder}", "folder": folder}
        assert ask(home, "prompt", **elsewhere, prompt="which port does the server have") == ""
        assert "7001" in ask(home, "prompt", **elsewhere, prompt=whole)


def test_a_greeting_in_a_session_is_kept_and_found_by_no_search(
    memory: LazyStore, home: Path, tmp_path: Path
) -> None:
    path = write_transcript(tmp_path / "s1.jsonl", "s1", "Hello!", "The roses are red.", "谢谢！")
    append_line(home, {"client": "claude-code", "transcript": str(path), "folder": "/garden"})
    ask(home, "noted")
    with memory.call() as store:
        said = store.browse(conversation_id="s1", kinds=["message"]).memories
        assert len(said) == 3
        found = store.search("Hello, thanks! 谢谢", kinds=["message"], threshold=0)
        assert {hit.memory.text for hit in found} <= {"The roses are red."}


def test_nothing_enters_a_prompt_that_no_longer_holds(home: Path) -> None:
    with MemoryStore.open(home) as store:
        store.remember("Marta's dog is called Rex", id="rex")
        store.remember("Marta's dog is called Max", id="max", supersedes=["rex"])
        asked = "What was Marta's dog called at first, originally?"
        assert store.search(asked)[0].id == "rex"
        assert store.conversations.recall_for_prompt(asked).ids == ("max",)


def test_what_was_shown_is_read_past_a_line_that_is_damaged(home: Path) -> None:
    with MemoryStore.open(home) as store:
        store.remember("Marta's cat is called Kiki")
        question, conversations = "What is my cat called?", store.conversations
        assert conversations.recall_for_prompt(question, session="s").ids
        (path,) = (home / "run" / "shown").iterdir()
        path.write_text(f"[]\n{{\n{{}}\n3\n{path.read_text()}")
        assert conversations.recall_for_prompt(question, session="s").ids == ()


@pytest.mark.usefixtures("memory")
def test_a_plain_folder_finds_its_own_last_session(home: Path, tmp_path: Path) -> None:
    for number, (name, text) in enumerate(
        {"boat": "The backstay is 10 m.", "garden": "The roses are red."}.items()
    ):
        path = write_transcript(tmp_path / f"{name}.jsonl", f"s{number}", text)
        folder = str(tmp_path / name)
        append_line(home, {"client": "claude-code", "transcript": str(path), "folder": folder})
    briefed = ask(home, "start", session="s9", folder=str(tmp_path / "boat"))
    assert "backstay" in briefed
    assert "roses" not in briefed


@pytest.mark.usefixtures("memory")
def test_a_repository_that_has_got_a_remote_begins_its_next_session_with_what_it_had(
    home: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "ada" / "boat"
    (folder / ".git").mkdir(parents=True)
    path = write_transcript(tmp_path / "s1.jsonl", "s1", "My boat is called Havsvind.")
    append_line(home, {"client": "claude-code", "transcript": str(path), "folder": str(folder)})
    ask(home, "noted")
    (folder / ".git" / "config").write_text('[remote "origin"]\nurl = git@host.xz:ada/boat\n')
    assert "Havsvind" in ask(home, "start", session="s2", folder=str(folder))


@pytest.mark.usefixtures("memory")
def test_the_socket_is_in_a_folder_of_the_user_alone(home: Path) -> None:
    folder = find_socket_folder(home)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    (name,) = [path.name for path in folder.iterdir()]
    assert name.startswith(f"{name_host()}-{os.getpid()}-")


def test_a_long_path_has_its_sockets_in_the_folder_of_the_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/run/user/1")
    folder = find_socket_folder(tmp_path / ("x" * 100))
    assert folder.parent == Path("/run/user/1")
    assert folder != find_socket_folder(tmp_path / ("y" * 100))


def test_a_home_of_any_length_has_a_socket(tmp_path: Path) -> None:
    for length in range(1, 80, 7):
        home = tmp_path / ("x" * length)
        home.mkdir()
        with LazyStore(
            lambda home=home: MemoryStore.open(home, embedder=HashingEmbedder()),  # type: ignore[misc]
            quiet_seconds=600,
            answers_hooks=True,
        ) as memory:
            memory.get()
            assert len(list(find_socket_folder(home).glob("*.sock"))) == 1
        assert not list(find_socket_folder(home).glob("*.sock"))


def test_a_socket_that_nobody_listens_on_is_removed(home: Path) -> None:
    folder = find_socket_folder(home)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(folder / f"{name_host()}-1.sock"))
    assert ask_server(home, {"moment": "prompt"}, seconds=1) is None
    assert list(folder.iterdir()) == []


def test_where_there_are_no_sockets_a_port_and_a_secret_take_their_place(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(socket, "AF_UNIX")
    with LazyStore(lambda: MemoryStore.open(home), quiet_seconds=600, answers_hooks=True) as memory:
        memory.get().remember("Marta's cat is called Kiki", origin="user")
        assert "Kiki" in ask(home, "prompt", session="s1", prompt="What is my cat called?")
        (path,) = find_socket_folder(home).glob("*.port")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        port = json.loads(path.read_text())["port"]
        with socket.create_connection(("127.0.0.1", port), 5) as stranger:
            stranger.sendall(b"1\n")
            stranger.recv(128)
            asked = {"moment": "prompt", "session": "s2", "prompt": "What is my cat called?"}
            stranger.sendall(json.dumps({**asked, "secret": "guessed"}).encode() + b"\n")
            assert stranger.recv(1024) == b""
    assert not path.exists()


def test_another_program_that_has_the_port_of_a_server_is_told_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(socket, "AF_UNIX")
    folder = find_socket_folder(home)
    folder.mkdir(mode=0o700, parents=True)
    heard = []
    with socket.create_server(("127.0.0.1", 0)) as stranger:

        def answer() -> None:
            connection, _ = stranger.accept()
            with connection:
                heard.append(connection.recv(1024))
                connection.sendall(b"\n")
                heard.append(connection.recv(1024))

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        path = folder / f"{name_host()}-1.port"
        path.write_text(json.dumps({"port": stranger.getsockname()[1], "secret": "s"}))
        assert ask_server(home, {"moment": "prompt", "prompt": "private"}, seconds=1) is None
        thread.join(5)
    assert len(heard[0]) == 33
    assert heard[1] == b""
    assert not path.exists()


@pytest.mark.parametrize("said", [b"", b"\nno json\n", b"\n[]\n", b"?", b"\n"])
def test_a_server_that_hangs_or_answers_rubbish_is_no_answer(home: Path, said: bytes) -> None:
    folder = find_socket_folder(home)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / f"{name_host()}-1.sock"))
        listener.listen()

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(said)
                time.sleep(1)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        assert ask_server(home, {"moment": "prompt"}, seconds=0.3) is None
        thread.join(5)


@pytest.mark.process
@pytest.mark.usefixtures("memory")
def test_the_hook_prints_what_the_server_answers(home: Path) -> None:
    def fire(prompt: str) -> bytes:
        values = {"session_id": "s1", "cwd": "/", "prompt": prompt}
        done = subprocess.run(
            [*HOOK, "UserPromptSubmit", "--home", str(home)],
            input=json.dumps(values).encode(),
            capture_output=True,
            timeout=60,
            check=True,
        )
        assert done.stderr == b""
        return done.stdout

    output = json.loads(fire("What is my cat called?"))["hookSpecificOutput"]
    assert output["hookEventName"] == "UserPromptSubmit"
    assert "Kiki" in output["additionalContext"]
    assert fire("x " * 1_000_000) == b""
    assert fire("") == b""


@pytest.mark.process
def test_without_a_server_a_prompt_gets_nothing(home: Path) -> None:
    with MemoryStore.open(home) as store:
        store.remember("Marta's cat is called Kiki")
    done = subprocess.run(
        [*HOOK, "UserPromptSubmit", "--home", str(home)],
        input=json.dumps({"session_id": "s1", "prompt": "What is my cat called?"}).encode(),
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert (done.stdout, done.stderr) == (b"", b"")
