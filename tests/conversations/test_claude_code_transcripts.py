"""The reader of the transcripts of Claude Code."""

from __future__ import annotations

import json
import os
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transcript_lines import FIXTURE, SESSION, record, write_transcript

from infinite_memory.features.sessions.events import reading
from infinite_memory.features.sessions.events.event import Event, EventKind
from infinite_memory.features.sessions.events.reading import SessionFile, read_session


def messages_of(path: Path) -> list[Event]:
    events = read_session(SessionFile(path=path, client="claude-code"))
    return [event for event in events if event.kind is EventKind.MESSAGE]


def texts_of(path: Path) -> list[str]:
    return [message.text for message in messages_of(path)]


def test_a_session_that_the_client_wrote_gives_what_both_said_and_nothing_else() -> None:
    messages = messages_of(FIXTURE)
    assert [(message.speaker, message.text) for message in messages] == [
        ("user", "What is my cat called?"),
        ("assistant", "Hello, your cat is Tom."),
        ("user", "run echo hi please"),
        ("assistant", "Second answer."),
    ]
    assert {message.session for message in messages} == {SESSION}
    assert messages[0].name == "67a00a13-9bb4-4c84-acd2-7c6e3de3589e"
    assert messages[0].at == datetime(2026, 11, 24, 22, 49, 47, 809000, UTC)
    assert messages[0].branch == "master"


def test_text_blocks_are_kept_and_tools_thinking_and_images_are_left_out(tmp_path: Path) -> None:
    path = write_transcript(
        tmp_path / "a.jsonl",
        record(
            "1",
            [
                {"type": "thinking", "thinking": "hm"},
                {"type": "text", "text": "First."},
                {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}},
                {"type": "text", "text": "Second."},
            ],
            kind="assistant",
        ),
        record("2", [{"type": "tool_result", "content": "a file"}]),
        record("3", [{"type": "image", "source": {}}, {"type": "text", "text": "Look at this"}]),
    )
    assert texts_of(path) == ["First.\n\nSecond.", "Look at this"]


@pytest.mark.parametrize(
    "line",
    [
        record("1", "added by the client", isMeta=True),
        record("1", "said to a subagent", isSidechain=True),
        record("1", "a summary after compaction", isCompactSummary=True),
        record("1", "API Error", kind="assistant", isApiErrorMessage=True),
        record("1", "<command-name>/clear</command-name>"),
        record("1", "<local-command-stdout>done</local-command-stdout>"),
        record("1", "<system-reminder>remember</system-reminder>"),
        record("1", "[Request interrupted by user]"),
        record("1", "   "),
        record("", "without a name"),
        record("1", {"type": "text", "text": "no list"}),
        record("1", [1, None, "x", {"type": "text", "text": 7}]),
        record("1", "of another type", kind="progress"),
        b'{"type": "summary", "summary": "a title"}\n',
        b'{"type": "user", "uuid": 5, "message": []}\n',
        b"[]\n",
        b"\n",
        b"no json\n",
        b"[" * 100_000 + b"\n",
    ],
)
def test_what_is_no_message_is_skipped_and_the_next_one_is_read(
    tmp_path: Path, line: bytes
) -> None:
    path = write_transcript(tmp_path / "a.jsonl", line, record("9", "the next one"))
    assert texts_of(path) == ["the next one"]


def test_a_reminder_inside_a_message_is_cut_out(tmp_path: Path) -> None:
    said = "Use tabs.<system-reminder>\nnot from the user\n</system-reminder>"
    assert texts_of(write_transcript(tmp_path / "a.jsonl", record("1", said))) == ["Use tabs."]


def test_a_last_line_that_is_still_being_written_is_read_when_it_is_whole(tmp_path: Path) -> None:
    whole, second = record("1", "one"), record("2", "two")
    path = write_transcript(tmp_path / "a.jsonl", whole, second[:-9])
    assert texts_of(path) == ["one"]
    write_transcript(path, whole, second)
    assert texts_of(path) == ["one", "two"]


def test_a_huge_line_is_skipped_without_reading_it_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_MAX_LINE_BYTES", 400)
    path = write_transcript(
        tmp_path / "a.jsonl", record("1", "x" * 5000), record("2", "short"), record("3", "y" * 900)
    )
    assert texts_of(path) == ["short"]
    path.write_bytes(path.read_bytes()[:-1])
    assert texts_of(path) == ["short"]


def test_bytes_that_are_no_utf_8_do_not_stop_the_reader(tmp_path: Path) -> None:
    line = record("1", "a caf? here").replace(b"caf?", b"caf\xe9")
    path = write_transcript(tmp_path / "a.jsonl", line, b"\xff\xfe\x00\n", record("2", "next"))
    assert texts_of(path) == ["a caf\ufffd here", "next"]


def test_a_time_that_cannot_be_read_is_that_of_the_file_and_a_session_is_named_by_it(
    tmp_path: Path,
) -> None:
    line = record("1", "hello", timestamp="yesterday", sessionId=None)
    path = write_transcript(tmp_path / "abc.jsonl", line)
    os.utime(path, (1_800_000_000, 1_800_000_000))
    (message,) = messages_of(path)
    assert (message.session, message.at.timestamp()) == ("abc", 1_800_000_000)


def answer(name: str, parent: str) -> bytes:
    return record(name, f"answer {name}", kind="assistant", parentUuid=parent)


def test_what_the_person_took_back_is_left_out_with_all_that_followed_it(tmp_path: Path) -> None:
    path = write_transcript(
        tmp_path / "a.jsonl",
        record("q1", "Paint the door"),
        answer("a1", "q1"),
        record("q2", "Make it red", parentUuid="a1"),
        answer("a2", "q2"),
        record("q3", "And glossy", parentUuid="a2"),
        # The new branch does not begin at the very record that the old one began at.
        record("n1", "", parentUuid="a1", type="system"),
        record("q4", "Make it blue", parentUuid="n1"),
        answer("a4", "q4"),
    )
    assert texts_of(path) == ["Paint the door", "answer a1", "Make it blue", "answer a4"]


def test_branches_of_tools_of_two_programs_and_behind_a_compaction_are_kept(
    tmp_path: Path,
) -> None:
    lines = [
        record("q1", "Look at both files"),
        answer("a1", "q1"),
        answer("a2", "a1"),
        # Several calls are answered side by side, and one of the answers is followed by nothing.
        answer("r1", "a1"),
        answer("r2", "a2"),
        record("q2", "One program asks", parentUuid="r2"),
        record("q3", "another one does", parentUuid="r2"),
        answer("a3", "q2"),
        record("q4", "After the compaction", parentUuid=None, logicalParentUuid="a9"),
    ]
    assert len(texts_of(write_transcript(tmp_path / "a.jsonl", *lines))) == len(lines)


def test_a_record_that_follows_itself_or_one_behind_it_ends(tmp_path: Path) -> None:
    path = write_transcript(
        tmp_path / "a.jsonl",
        record("q1", "Paint the door", parentUuid="q1"),
        record("q2", "Make it red", parentUuid="q3"),
        record("q3", "And glossy", parentUuid="q2"),
    )
    assert texts_of(path) == ["Paint the door", "Make it red", "And glossy"]


def test_a_message_that_is_written_twice_is_read_once(tmp_path: Path) -> None:
    twice = record("1", "one")
    path = write_transcript(tmp_path / "a.jsonl", twice, twice, record("1", "another one"))
    assert texts_of(path) == ["one", "another one"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "uuid", "message", "content", "text", "timestamp"]), inner
        )
    ),
    max_leaves=12,
)
LINE = st.one_of(
    st.binary(max_size=40),
    JSON.map(lambda value: json.dumps(value).encode()),
    st.text(min_size=1, max_size=12).map(lambda text: record(text, text).rstrip()),
    st.builds(lambda name, content: record(name, content).rstrip(), st.text(max_size=4), JSON),
)


@given(written=st.lists(LINE, max_size=8))
def test_any_file_is_read_and_each_reading_gives_the_same(written: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.jsonl"
        path.write_bytes(b"".join(line + b"\n" for line in written))
        events = messages_of(path)
        assert messages_of(path) == events
    assert len({event.act for event in events}) == len(events)
