from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from infinite_memory.core.config import Chunking
from infinite_memory.features.projects.chunking.cutting import cut_session
from infinite_memory.features.projects.chunking.describing import describe_piece, exclude_files
from infinite_memory.features.projects.chunking.rules import CutReason
from infinite_memory.features.projects.exclusion import EXCLUDED, Exclusion
from infinite_memory.features.sessions.events.event import Event, EventKind, Todo
from tests.harness.streams import load_streams

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
SETTINGS = Chunking()


class Session:
    """Writes the events of a session, a few seconds apart."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._now = NOON

    def _add(self, kind: EventKind, **fields: Any) -> Session:
        self._now += timedelta(seconds=5)
        number = len(self.events) + 1
        values = {"folder": "/home/ada/apollo", "session": "s", "name": str(number), **fields}
        self.events.append(Event(kind=kind, at=self._now, position=number, **values))
        return self

    def wait(self, minutes: float) -> Session:
        self._now += timedelta(minutes=minutes)
        return self

    def ask(self, text: str) -> Session:
        return self._add(EventKind.MESSAGE, speaker="user", text=text)

    def answer(self, text: str) -> Session:
        return self._add(EventKind.MESSAGE, speaker="assistant", text=text)

    def run(self, text: str, *, ok: bool = True, output: str = "", **fields: Any) -> Session:
        return self._add(EventKind.TOOL, tool="Bash", text=text, ok=ok, output=output, **fields)

    def read(self, file: str, **fields: Any) -> Session:
        return self._add(EventKind.TOOL, tool="Read", text=file, files=(file,), **fields)

    def edit(self, file: str, **fields: Any) -> Session:
        values = {"before": "a", "after": "b", **fields}
        return self._add(EventKind.EDIT, tool="Edit", files=(file,), **values)

    def commit(self, text: str, digest: str = "") -> Session:
        return self._add(EventKind.COMMIT, tool="Bash", text=text, commit=digest)

    def plan(self, **statuses: str) -> Session:
        todos = tuple(Todo(text=text, status=status) for text, status in statuses.items())
        return self._add(EventKind.TODO, tool="TodoWrite", todos=todos)

    def reasons(self, settings: Chunking = SETTINGS) -> list[tuple[int, CutReason]]:
        cuts = cut_session(self.events, settings)
        return [(len(cut.piece.events), cut.reason) for cut in cuts]


def test_a_session_that_goes_on_with_its_files_is_a_single_piece() -> None:
    session = Session().ask("Fix the parser").edit("src/parse.py").run("pytest")
    session.wait(3).ask("also empty lines").edit("src/parse.py").run("pytest")
    assert session.reasons() == [(6, CutReason.END)]


def test_a_request_about_other_files_begins_a_piece_once_files_were_changed() -> None:
    session = Session().ask("Fix the parser").edit("src/parse.py").run("pytest")
    session.wait(2).ask("Now the docs").edit("docs/use.md")
    assert session.reasons() == [(3, CutReason.COMPONENT), (2, CutReason.END)]


def test_a_question_in_between_does_not_end_a_piece() -> None:
    session = Session().ask("Fix the parser").edit("src/parse.py").run("pytest")
    session.wait(2).ask("Does this cost time?").answer("No.")
    session.wait(2).ask("Good, and empty lines").edit("src/parse.py")
    assert session.reasons() == [(7, CutReason.END)]


def test_a_commit_ends_a_piece_at_the_next_request_with_other_files() -> None:
    session = Session().ask("Fix it").edit("a.py").commit("Fix it").answer("Done.")
    session.wait(4).ask("Next: the report").read("b.py")
    assert session.reasons() == [(4, CutReason.COMMIT), (2, CutReason.END)]


def test_a_commit_in_the_middle_of_the_work_on_a_file_ends_nothing() -> None:
    session = Session().ask("Upgrade").edit("a.py").commit("wip").edit("a.py").run("make")
    session.wait(3).ask("go on").edit("a.py").commit("Upgrade")
    assert session.reasons() == [(8, CutReason.END)]


def test_an_error_that_was_fixed_and_verified_ends_a_piece() -> None:
    session = Session().ask("make fails").run("make", ok=False).edit("a.c").run("make")
    session.wait(1).ask("Now the header").edit("b.h")
    assert session.reasons() == [(4, CutReason.SOLVED), (2, CutReason.END)]


def test_a_todo_that_was_completed_with_verified_work_ends_a_piece() -> None:
    session = Session().ask("Both please").plan(one="in_progress", two="pending")
    session.edit("a.py").run("pytest").plan(one="completed", two="in_progress")
    session.edit("b.py").run("pytest").plan(one="completed", two="completed").answer("Done.")
    assert session.reasons() == [(5, CutReason.TODO), (4, CutReason.END)]


def test_a_todo_without_verified_work_ends_nothing() -> None:
    session = Session().ask("Both please").plan(one="in_progress", two="pending")
    session.edit("a.py").plan(one="completed", two="in_progress").edit("b.py").run("pytest")
    assert session.reasons() == [(6, CutReason.END)]


def test_another_repository_begins_a_piece_at_the_request() -> None:
    session = Session().ask("Fix it").edit("a.py")
    session.wait(1).ask("And in the client").edit("a.py", folder="/home/ada/client")
    assert session.reasons() == [(2, CutReason.REPOSITORY), (2, CutReason.END)]


def test_another_repository_begins_a_piece_within_a_request() -> None:
    session = Session().ask("Rename it everywhere").edit("a.py").answer("Now the client.")
    session.edit("a.py", folder="/home/ada/client").run("make", folder="/home/ada/client")
    reasons = session.reasons()
    assert [reason for _, reason in reasons] == [CutReason.REPOSITORY, CutReason.END]
    assert sum(count for count, _ in reasons) == 5


def test_a_glance_at_another_repository_ends_nothing() -> None:
    session = Session().ask("Fix it").edit("a.py")
    session.run("ls", folder="/home/ada/client").edit("a.py").run("make")
    assert session.reasons() == [(5, CutReason.END)]


def test_a_long_pause_ends_a_piece() -> None:
    session = Session().ask("Fix it").edit("a.py").wait(60).ask("go on").edit("a.py")
    assert session.reasons() == [(2, CutReason.PAUSE), (2, CutReason.END)]


def test_changes_that_were_taken_back_end_a_piece() -> None:
    session = Session().ask("Try grid").edit("a.css").run("git checkout .")
    session.wait(1).ask("Sticky header then").edit("a.css")
    assert session.reasons() == [(3, CutReason.UNDONE), (2, CutReason.END)]


def test_a_discussion_ends_where_something_is_built() -> None:
    session = Session().ask("Cents or decimals?").answer("Cents.").ask("Rates?").answer("No.")
    session.ask("Then build it").edit("a.py")
    assert session.reasons() == [(4, CutReason.DECISION), (2, CutReason.END)]


def test_the_settings_move_the_cuts() -> None:
    session = Session().ask("Fix it").edit("a.py").wait(20).ask("go on").edit("a.py")
    assert session.reasons(Chunking(minutes=30)) == [(4, CutReason.END)]
    assert session.reasons(Chunking(pause_minutes=15))[0] == (2, CutReason.PAUSE)


def test_a_request_on_the_same_topic_goes_on_by_its_embedding() -> None:
    session = Session().ask("Rename note to page").edit("a.py").wait(1)
    session.ask("Rename note to page in the README").edit("README.md")

    def embed(texts: Any) -> NDArray[np.float32]:
        return np.ones((len(texts), 1), dtype=np.float32)

    assert len(cut_session(session.events, SETTINGS)) == 2
    assert len(cut_session(session.events, SETTINGS, embed)) == 1


@pytest.mark.parametrize(
    ("session", "kind", "outcome"),
    [
        (Session().ask("x").run("make", ok=False).edit("a.c").run("make"), "solution", "success"),
        (Session().ask("x").edit("a.c").run("make", ok=False), "problem", "in_progress"),
        (Session().ask("x").run("make", ok=False).answer("?"), "problem", "failed"),
        (Session().ask("x").edit("a.c").run("make"), "code_change", "success"),
        (Session().ask("x").edit("a.c"), "code_change", "in_progress"),
        (Session().ask("x").edit("a.c").run("git restore a.c"), "code_change", "abandoned"),
        (Session().ask("x").read("a.c").answer("It is so."), "discussion", None),
        (
            Session().ask("KeyError: 'id' in load()").edit("a.py").run("pytest"),
            "solution",
            "success",
        ),
    ],
)
def test_kind_and_outcome_come_from_the_structure(
    session: Session, kind: str, outcome: str | None
) -> None:
    (cut,) = cut_session(session.events, SETTINGS)
    described = describe_piece(cut)
    assert (described.kind, described.details.get("outcome")) == (kind, outcome)


def test_a_chunk_says_what_was_asked_changed_committed_and_answered() -> None:
    session = (
        Session()
        .ask("The import stops at empty rows")
        .run("pytest", ok=False, output="E   ValueError: empty row in line 3")
    )
    session.edit("src/read.py", before="old", after="new").run("pytest")
    session.commit("Skip empty rows", "abc1234").answer("Empty rows are skipped.")
    (cut,) = cut_session(session.events, SETTINGS)
    described = describe_piece(cut)
    assert described.content.splitlines() == [
        "Asked: The import stops at empty rows",
        "Failed: pytest: E ValueError: empty row in line 3",
        "Changed: src/read.py",
        "Committed abc1234: Skip empty rows",
        "Result: Empty rows are skipped.",
    ]
    details = described.details
    assert details["summary"] == "Skip empty rows"
    assert details["files"] == ["src/read.py"]
    assert details["component"] == "src"
    assert details["commit"] == "abc1234"
    assert "ValueError" in details["error"]
    assert details["tools"] == ["Bash", "Edit"]


def test_a_part_of_a_longer_order_tells_what_was_asked() -> None:
    session = Session().ask("Both please").plan(one="in_progress", two="pending")
    session.edit("a.py").run("pytest").plan(one="completed", two="in_progress").edit("b.py")
    first, second = cut_session(session.events, SETTINGS)
    described = describe_piece(second, first.piece.events)
    assert described.content == "Asked before: Both please\nChanged: b.py"


def test_excluded_files_leave_neither_name_nor_content() -> None:
    session = Session().ask("Why does prod.env not load?").run("cat prod.env", output="KEY=s3cret")
    session.read("prod.env", output="KEY=s3cret").edit("prod.env", after="KEY=s3cret")
    kept = exclude_files(session.events, Exclusion(("*.env",)))
    assert len(kept) == len(session.events)
    for event in kept:
        assert "s3cret" not in repr(event)
        assert "prod.env" not in repr(event)
    assert kept[0].text == f"Why does {EXCLUDED} not load?"


FILES = st.sampled_from(["a.py", "b/c.py", ".env"])


@st.composite
def sessions(draw: st.DrawFn) -> list[Event]:
    events = []
    now = NOON
    for number in range(draw(st.integers(1, 40))):
        now += timedelta(seconds=draw(st.integers(0, 4000)))
        kind = draw(st.sampled_from(EventKind))
        events.append(
            Event(
                kind=kind,
                at=now,
                position=number + 1,
                name=str(number),
                folder=draw(st.sampled_from(["", "/a", "/a/b", "/c"])),
                speaker=draw(st.sampled_from(["user", "assistant"])),
                text=draw(st.sampled_from(["", "go on", "git checkout .", "KeyError: 'x'"])),
                files=tuple(
                    draw(st.lists(st.sampled_from(["a.py", "b/c.py", ".env"]), max_size=2))
                ),
                ok=draw(st.booleans()),
                output=draw(st.sampled_from(["", "E ValueError: no"])),
                todos=(Todo(text="t", status=draw(st.sampled_from(["pending", "completed"]))),),
            )
        )
    return events


@pytest.mark.thorough
@given(sessions())
def test_no_event_is_in_two_pieces_none_is_lost_and_the_order_stays(events: list[Event]) -> None:
    pieces = cut_session(events, SETTINGS)
    assert [event for cut in pieces for event in cut.piece.events] == events
    assert pieces[-1].reason is CutReason.END
    for cut in pieces:
        assert describe_piece(cut).content


def test_a_session_without_events_has_no_pieces() -> None:
    assert cut_session([], SETTINGS) == []


@pytest.mark.parametrize("stream", load_streams(), ids=lambda stream: stream.name)
def test_the_labelled_streams_are_partitioned_in_order(stream: Any) -> None:
    pieces = cut_session(stream.events, SETTINGS)
    assert [event for cut in pieces for event in cut.piece.events] == list(stream.events)
    assert stream.cuts <= set(range(1, len(stream.events)))
