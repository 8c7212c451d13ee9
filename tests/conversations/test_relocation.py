"""What earlier versions stored elsewhere comes into the scope of its repository."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infinite_memory import Config, MemoryStore
from infinite_memory.features.sessions.spool import append_line
from infinite_memory.testing.embedders import HashingEmbedder

AUTHOR = ["-c", "user.name=Alice", "-c", "user.email=alice@example.org"]


def git(folder: Path, *arguments: str) -> str:
    command = ["git", *AUTHOR, "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def init(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", str(folder))
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "memory"


@pytest.fixture
def store(home: Path) -> Iterator[MemoryStore]:
    with MemoryStore.open(home, embedder=HashingEmbedder()) as opened:
        yield opened


def say(store: MemoryStore, folder: Path, session: str, *texts: str) -> None:
    """Take in a session in a folder."""
    lines = [
        {
            "type": "user",
            "uuid": f"{session}-{text}",
            "sessionId": session,
            "cwd": str(folder),
            "timestamp": f"2026-11-26T10:00:{number:02}Z",
            "message": {"role": "user", "content": text},
        }
        for number, text in enumerate(texts)
    ]
    path = store.config.home.parent / f"{session}.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    values = {"client": "claude-code", "transcript": str(path), "folder": str(folder)}
    append_line(store.config.home, values)
    assert store.conversations.ingest_spool().finished


def remember(store: MemoryStore, text: str, session: str, **fields: Any) -> str:
    """Store a message of a session as an earlier version did, without its folder."""
    context = {"client": "claude-code", **fields.pop("context", {})}
    fields = {"kind": "message", "speaker": "user", "origin": "user", **fields}
    return store.remember(text, conversation_id=session, context=context, **fields).id


def list_scopes(store: MemoryStore) -> dict[str, str]:
    """Return the scope of every memory by its text."""
    found = store.browse(scope="ALL", limit=100, statuses=[]).memories
    return {memory.text: memory.scope for memory in found}


def test_sessions_that_went_to_global_are_moved_by_the_work_that_is_kept_of_them(
    store: MemoryStore, tmp_path: Path
) -> None:
    folder = init(tmp_path / "ada" / "apollo")
    scope = "repo/local/ada/apollo"
    message = remember(store, "My cat is called Kiki", "s1")
    context = {"inferred": "session", "client": "claude-code"}
    remember(store, "My cat is called Kiki.", "s1", kind="fact", sources=[message], context=context)
    remember(store, "The roses are red", "s2")
    store.remember("Noted on purpose", conversation_id="s1")
    store.projects.store_chunk(
        "It failed", kind="problem", repository=str(folder), session="s1", folder=str(folder)
    )
    before = list_scopes(store)
    assert before["My cat is called Kiki"] == "Global"
    say(store, folder, "s9", "We use tabs here")
    after = list_scopes(store)
    moved = {"My cat is called Kiki": scope, "My cat is called Kiki.": scope}
    assert {text: after[text] for text in before} == {**before, **moved}
    # One entry, which one undo takes back; the next ingest does not fight it.
    entry = store.journal.entries(limit=1)[0]
    assert entry.action.reason == f"moved to {scope}, the scope of their repository"
    assert {step.id for step in entry.action.memories} >= {message}
    store.undo(entry.number)
    assert {text: list_scopes(store)[text] for text in before} == before
    say(store, folder, "s9", "We use tabs here", "And pytest")
    assert {text: list_scopes(store)[text] for text in before} == before
    assert store.verify().sound


def test_a_session_is_taken_back_whole_after_it_was_moved(
    store: MemoryStore, tmp_path: Path
) -> None:
    folder = tmp_path / "ada" / "boat"
    folder.mkdir(parents=True)
    say(store, folder, "s1", "My boat is called Havsvind.")
    assert set(list_scopes(store).values()) == {"Global"}
    init(folder)
    say(store, folder, "s2", "ok")
    assert set(list_scopes(store).values()) == {"repo/local/ada/boat"}
    undone = store.conversations.undo("s1")
    assert (undone.messages, undone.statements) == (1, 1)


def test_a_folder_that_becomes_a_repository_takes_its_sessions_along(
    store: MemoryStore, tmp_path: Path
) -> None:
    boat, garden = tmp_path / "ada" / "boat", tmp_path / "ada" / "garden"
    for folder in (boat, garden):
        folder.mkdir(parents=True)
        say(store, folder, folder.name, f"The {folder.name} is green")
    init(boat)
    say(store, boat, "boat", "The boat is green", "It is wet")
    scopes = list_scopes(store)
    assert scopes["The boat is green"] == scopes["It is wet"] == "repo/local/ada/boat"
    assert scopes["The garden is green"] == "Global"
    assert "The boat is green" in store.briefing(folder=str(boat)).text


@pytest.mark.parametrize("is_private", [False, True])
def test_a_repository_that_gets_a_remote_takes_everything_along(
    home: Path, tmp_path: Path, is_private: bool
) -> None:
    name = "repo/local/ada/apollo"
    rules = {"repositories": {name: {"sensitivity": "private"}}} if is_private else {}
    config = Config(home=home, projects=rules)  # type: ignore[arg-type]
    folder, remote = init(tmp_path / "ada" / "apollo"), "repo/github.com/ada/apollo"
    with MemoryStore.open(config=config, embedder=HashingEmbedder()) as store:
        say(store, folder, "s1", "My boat is called Havsvind.")
        store.remember("Never push on Fridays", scope=name, kind="decision")
        git(folder, "remote", "add", "origin", "git@github.com:ada/apollo.git")
        say(store, folder, "s2", "ok")
        kept = store.browse(scope=[name if is_private else remote], limit=100).memories
        texts = {memory.text for memory in kept if memory.scope != "Global"}
        assert texts >= {"My boat is called Havsvind.", "Never push on Fridays"}
        # What few may see does not go where more can.
        assert (name in {scope.name for scope in store.scopes}) == is_private
        if not is_private:
            store.undo(store.journal.entries(limit=1)[0].number)
            assert list_scopes(store)["Never push on Fridays"] == name


def test_what_two_of_one_name_left_in_one_scope_is_told_apart_by_their_commits(
    store: MemoryStore, tmp_path: Path
) -> None:
    first, second = (init(tmp_path / disk / "ada" / "app") for disk in ("x", "y"))
    shared = "repo/local/ada/app"
    for folder in (first, second):
        disk = folder.parent.parent.name
        commit = git(folder, "rev-parse", "HEAD")
        context = {"commit": commit, "session": disk}
        store.remember(f"Work on {disk}", kind="problem", scope=shared, context=context)
        remember(store, f"Said on {disk}", disk, scope=shared)
    store.remember("Of neither", scope=shared)
    for folder in (first, second, first):
        say(store, folder, f"now-{folder.parent.parent.name}", "ok")
    own = f"{shared}~{git(second, 'rev-parse', 'HEAD')[:7]}"
    scopes = {text: scope for text, scope in list_scopes(store).items() if "ok" not in text}
    assert scopes == {
        "Work on x": shared,
        "Said on x": shared,
        "Of neither": shared,
        "Work on y": own,
        "Said on y": own,
    }


def test_sessions_of_earlier_versions_are_told_apart_by_the_transcripts_of_their_client(
    store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    folders = {disk: init(tmp_path / disk / "ada" / "app") for disk in ("x", "y")}
    for disk, folder in folders.items():
        for number, (place, scope) in enumerate(
            [(".claude/projects/p", "repo/local/ada/app"), (".codex/sessions/26", "Global")]
        ):
            session = f"{disk}{number}" * 18
            remember(store, f"Said {number} on {disk}", session, scope=scope)
            name = f"{'rollout-2026-11-26-' if number else ''}{session}.jsonl"
            (tmp_path / place).mkdir(parents=True, exist_ok=True)
            line = {"text": '"cwd": "/tmp"', "payload": {"cwd": str(folder / "src")}}
            (tmp_path / place / name).write_text(json.dumps(line))
        say(store, folder, f"now-{disk}", "ok")
    scopes = list_scopes(store)
    own = f"repo/local/ada/app~{git(folders['y'], 'rev-parse', 'HEAD')[:7]}"
    assert {scopes[f"Said {number} on x"] for number in range(2)} == {"repo/local/ada/app"}
    assert {scopes[f"Said {number} on y"] for number in range(2)} == {own}


def test_the_scope_of_a_name_goes_to_a_repository_that_has_another_name_now(
    store: MemoryStore, tmp_path: Path
) -> None:
    former, now = "repo/local/ada/app", "repo/git.example.org/ada/app"
    folder = init(tmp_path / "ada" / "app")
    git(folder, "remote", "add", "origin", "git@git.example.org:/ada/app.git")
    commit = git(folder, "rev-parse", "HEAD")
    store.remember("Ours", kind="problem", scope=former, context={"commit": commit})
    other = init(tmp_path / "x" / "ada" / "web")
    store.remember(
        "Not ours", kind="problem", scope="repo/local/ada/web", context={"commit": commit}
    )
    git(other, "remote", "add", "origin", "git@git.example.org:/ada/web.git")
    for place in (folder, other):
        say(store, place, place.name, "ok")
    scopes = list_scopes(store)
    assert scopes["Ours"] == now
    assert scopes["Not ours"] == "repo/local/ada/web"
    assert former not in {scope.name for scope in store.scopes}


def test_nothing_to_move_is_no_change_and_asks_for_nothing(
    store: MemoryStore, tmp_path: Path
) -> None:
    folder = init(tmp_path / "ada" / "apollo")
    say(store, folder, "s1", "We use tabs here")
    number = store.journal.entries(limit=1)[0].number
    say(store, folder, "s1", "We use tabs here")
    assert store.journal.entries(limit=1)[0].number == number
    seen = store.config.home / "repositories.json"
    assert '"waits": false' in seen.read_text()
    # As after a process that ended before it noted that it had moved everything.
    seen.write_text(seen.read_text().replace('"waits": false', '"waits": true'))
    assert store.conversations.ingest_spool().finished
    assert '"waits": false' in seen.read_text()
    assert store.journal.entries(limit=1)[0].number == number


def test_a_scope_that_takes_nothing_in_gets_nothing_moved(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "ada" / "boat"
    folder.mkdir(parents=True)
    rules = {"repositories": {"local/ada/boat": {"enabled": False}}}
    config = Config(home=home, projects=rules)  # type: ignore[arg-type]
    with MemoryStore.open(config=config, embedder=HashingEmbedder()) as store:
        say(store, folder, "s1", "The boat is green")
        init(folder)
        say(store, folder, "s2", "ok")
        assert list_scopes(store)["The boat is green"] == "Global"


def test_two_of_one_name_keep_what_was_said_to_themselves(
    store: MemoryStore, tmp_path: Path
) -> None:
    ports = {"x": 7001, "y": 9002}
    folders = {disk: init(tmp_path / disk / "src" / "app") for disk in ports}
    for disk, port in ports.items():
        say(store, folders[disk], disk, f"The port of the server is {port}.")
    asked = "which port does the server have"
    for disk, port in ports.items():
        other = next(p for d, p in ports.items() if d != disk)
        conversations, folder = store.conversations, str(folders[disk])
        begun = conversations.begin_session(folder, session=f"b-{disk}").text
        told = conversations.recall_for_prompt(asked, folder=folder, session=f"p-{disk}").text
        assert str(port) in begun
        assert str(other) not in begun + told
        assert str(port) in told
    # Nothing is kept of a third one yet, and a plain folder is none.
    for place in (init(tmp_path / "z" / "src" / "app"), tmp_path):
        told = store.conversations.recall_for_prompt(asked, folder=str(place), session="z")
        assert told.ids == ()
        assert store.conversations.begin_session(str(place)).ids == ()
    # The name of the second begins with that of the first, which is not named with it.
    named = f"{asked}, in {store.conversations.project_scope(str(folders['y']))}"
    shown = store.conversations.recall_for_prompt(named, folder=str(folders["y"]), session="n")
    assert "7001" not in shown.text


def test_a_repository_is_looked_at_before_any_hook_has_noted_a_session(
    home: Path, tmp_path: Path
) -> None:
    folder = init(tmp_path / "app")
    with MemoryStore.open(home, embedder=HashingEmbedder(), project=str(folder)) as store:
        store.remember("The deadline is June 5", scope="project", kind="decision")
        assert not (home / "spool").exists()
        assert store.conversations.ingest_spool().finished
