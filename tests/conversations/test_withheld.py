"""Secrets, private stretches, and what was off the record or paused never leave a session."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from transcript_lines import SESSION, record, write_transcript

from infinite_memory import Config, MemoryStore
from infinite_memory.apps.hooks.command import run_hook
from infinite_memory.features.sessions.diagnosis import diagnose_hooks
from infinite_memory.features.sessions.events.event import Event, EventKind
from infinite_memory.features.sessions.spool import append_line, note_pause
from infinite_memory.features.sessions.spool_reader import load_pauses
from infinite_memory.features.sessions.withheld import NO_PAUSES, Pauses, withhold
from infinite_memory.testing.embedders import HashingEmbedder

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
TOKEN = "5f0c1b9ad27e4c3388b1e6a04d7f2c19"
GATEWAY = f"My token for the gateway is {TOKEN}, use it, and do not save it anywhere."
Take = Callable[..., list[str]]


def events_of(*said: str) -> list[Event]:
    """Return events, a second apart: "user: ...", "assistant: ...", or a command."""
    events = []
    for number, line in enumerate(said):
        speaker, colon, text = line.partition(": ")
        is_said = bool(colon) and speaker in ("user", "assistant")
        events.append(
            Event(
                kind=EventKind.MESSAGE if is_said else EventKind.TOOL,
                at=NOON + timedelta(seconds=number),
                position=number,
                session="s",
                speaker=speaker if is_said else "",
                text=text if is_said else line,
                output="" if is_said else f"{line} printed {TOKEN}",
            )
        )
    return events


def texts_of(*said: str, pauses: Pauses = NO_PAUSES) -> list[str]:
    return [event.text for event in withhold(events_of(*said), pauses)]


def test_a_secret_is_masked_wherever_the_session_repeats_it() -> None:
    kept = withhold(events_of(f"user: {GATEWAY}", f"run {TOKEN}", f"assistant: {TOKEN}"), NO_PAUSES)
    mask = "[secret: token]"
    assert [event.text for event in kept] == [GATEWAY.replace(TOKEN, mask), f"run {mask}", mask]
    assert kept[1].output == f"run {mask} printed {mask}"


def test_a_private_stretch_is_left_out() -> None:
    assert texts_of(
        "user: I am Marta. <private>My boss is a fool.</private> Call me.",
        "user: <PRIVATE>\nall of it\n</private>",
        "user: so far <private> and no further",
        "assistant: a <private>tag</private>",
    ) == [
        "I am Marta. [private] Call me.",
        "so far [private]",
        "a <private>tag</private>",
    ]


@pytest.mark.parametrize(
    "said",
    [
        "Off the record: we will lay off two people.",
        "We will lay off two people. Don't keep this.",
        "Please do not remember that, we will lay off two people (never save this anywhere)",
        "Wir entlassen zwei Leute, merk dir das nicht.",
        "Das bleibt unter uns: wir entlassen zwei Leute.",
        "Vamos a despedir a dos. No guardes esto, por favor.",
        "Vamos a despedir a dos, que quede entre nosotros.",
        "On va licencier deux personnes. N'enregistre pas ça.",
        "On va licencier deux personnes, que ça reste entre nous.",
        "我们要裁两个人，别记住这个。",
        "我们要裁两个人。不要保存",
    ],
)
def test_what_is_off_the_record_takes_its_answer_and_its_work_along(said: str) -> None:
    before, after = ("user: hello", "assistant: hi"), ("user: and the weather?", "assistant: rain")
    answer = (f"user: {said}", "cat staff.txt", "assistant: Who are they?")
    assert texts_of(*before, *answer, *after) == ["hello", "hi", "and the weather?", "rain"]


@pytest.mark.parametrize(
    "said",
    [
        "Don't save it to disk, return the bytes",
        "Do not store this in the database",
        "don't keep that import around",
        "Never record it twice",
        "Speichere das nicht im Cache",
        "No guardes esto en la base de datos",
        "N'enregistre pas ça dans le cache",
        "不要保存这个文件到磁盘",
        "Remember this, and keep it.",
    ],
)
def test_an_order_about_code_is_kept(said: str) -> None:
    assert texts_of(f"user: {said}", "assistant: done") == [said, "done"]


def test_the_assistant_cannot_put_anything_off_the_record() -> None:
    assert texts_of("user: hello", "assistant: Don't keep this.") == ["hello", "Don't keep this."]


def test_a_request_of_a_pause_takes_its_answer_along() -> None:
    second = timedelta(seconds=1)
    pauses = Pauses({"": ((NOON + second, NOON + 3 * second),), "other": ((NOON, None),)})
    said = ("user: a", "ls", "user: b", "assistant: c", "user: d")
    assert texts_of(*said, pauses=pauses) == ["a", "d"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def take(home: Path, tmp_path: Path) -> Iterator[Take]:
    store = MemoryStore.open(home, config=Config(home=home), embedder=HashingEmbedder())

    def take_in(*lines: bytes) -> list[str]:
        path = write_transcript(tmp_path / "session.jsonl", *lines)
        append_line(home, {"client": "claude-code", "transcript": str(path), "folder": ""})
        store.conversations.ingest_spool()
        page = store.browse(scope="ALL", kinds=["message"], limit=100)
        return [memory.text for memory in reversed(page.memories)]

    yield take_in
    store.close()


def now(name: str, text: str) -> bytes:
    return record(name, text, timestamp=datetime.now(UTC).isoformat())


def test_a_paused_session_is_kept_again_from_its_resumption_on(
    take: Take, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [now("1", "before")]
    assert run_hook(["pause", f"--home={home}"]) == 0
    lines.append(now("2", "between"))
    assert take(*lines) == ["before"]
    assert run_hook(["resume", "--home", str(home)]) == 0
    lines.append(now("3", "after"))
    assert take(*lines) == ["before", "after"]
    assert capsys.readouterr().out.splitlines() == [
        "From now on nothing of sessions is kept until you resume.",
        "From now on what is said of sessions is kept again.",
    ]


def test_a_pause_of_one_session_leaves_the_others(take: Take, home: Path) -> None:
    note_pause(home, SESSION, paused=True)
    other = now("2", "elsewhere").replace(SESSION.encode(), b"another")
    assert take(now("1", "here"), other) == ["elsewhere"]
    assert "paused since" in "".join(each.sentence for each in diagnose_hooks(home))
    note_pause(home, "", paused=False)
    assert "paused since" not in "".join(each.sentence for each in diagnose_hooks(home))


def test_torn_lines_of_pauses_are_passed_over(home: Path) -> None:
    note_pause(home, "", paused=True)
    path = home / "spool" / "pauses.jsonl"
    rest = [{"at": "yesterday", "paused": False}, {"at": 7}, [], {"paused": False}]
    torn = "".join(json.dumps(each) + "\n" for each in rest) + '{"at": "20'
    path.write_bytes(path.read_bytes() + torn.encode())
    assert load_pauses(home).hold("s", datetime.now(UTC))


def test_what_was_masked_in_the_sessions_that_hooks_noted_is_counted(
    home: Path, tmp_path: Path
) -> None:
    path = write_transcript(tmp_path / "s.jsonl", now("1", GATEWAY), now("2", f"again {TOKEN}"))
    with MemoryStore.open(home, config=Config(home=home), embedder=HashingEmbedder()) as store:
        append_line(home, {"client": "claude-code", "transcript": str(path), "folder": ""})
        assert store.conversations.ingest_spool().masked == {"token": 1}


def test_a_pause_that_cannot_be_noted_is_said(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home.write_text("no folder")
    assert run_hook(["pause", f"--home={home}"]) == 1
    assert "nothing changed" in capsys.readouterr().err


def test_the_work_of_a_session_has_masks_and_nothing_off_the_record(
    home: Path, tmp_path: Path
) -> None:
    call = {"type": "tool_use", "id": "c", "name": "Bash"}
    run = {**call, "input": {"command": f"GATEWAY_TOKEN={TOKEN} pytest tests/gateway"}}
    result = {"type": "tool_result", "tool_use_id": "c", "is_error": True}
    failed = {**result, "content": f"Exit code 1\nError: the gateway refused {TOKEN}"}
    said = [
        (GATEWAY, "user"),
        ([run], "assistant"),
        ([failed], "user"),
        ("The gateway refused it.", "assistant"),
        ("Off the record, the gateway costs 900 a month", "user"),
        ("That is a lot.", "assistant"),
    ]
    lines = [
        record(str(number), content, kind=kind, cwd="/srv/windwatch")
        for number, (content, kind) in enumerate(said)
    ]
    path = write_transcript(tmp_path / "s.jsonl", *lines)
    with MemoryStore.open(home, config=Config(home=home), embedder=HashingEmbedder()) as store:
        report = store.projects.ingest_sessions(path)
        assert (report.count("stored"), report.masked) == (1, {"token": 1})
        assert store.exchange.import_from(path).masked == {"token": 1}
        stored = json.dumps([each.to_dict() for each in store.browse(scope="ALL").memories])
    assert TOKEN not in stored
    assert "[secret: token]" in stored
    assert "900" not in stored
    assert "a lot" not in stored
