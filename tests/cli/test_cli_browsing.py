from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Ask = Callable[..., Any]
Run = Callable[..., Any]


def test_a_memory_is_shown_with_every_field_that_it_has(run: Run) -> None:
    run("remember", "First line\nsecond line", "--id", "a", "--context", '{"n": [1], "s": "t"}',
        "--valid-from", "2026-01-01", "--source", "b", "--source", "c",
        "--happened-at", "2026-06-05T14:30", "--key", "k")  # fmt: skip
    lines = run("show", "a").stdout.splitlines()
    stored = lines.pop(9)
    assert stored.startswith("stored: ")
    assert stored.endswith(", revision 1")
    assert lines == [
        "2026-06-05",
        "id: a",
        "origin: user",
        "valid_from: 2026-01-01 00:00",
        "key: k",
        "sources: b, c",
        "context.n: 1",
        "context.s: t",
        "happened: 2026-06-05 14:30",
        "",
        "First line",
        "second line",
    ]


def test_the_history_shows_every_revision_oldest_first(run: Run, ask: Ask) -> None:
    run("remember", "one", "--id", "a")
    run("revise", "a", "--text", "two")
    assert [memory["text"] for memory in ask("show", "a", "--history")["history"]] == ["one", "two"]
    assert ask("show", "a")["text"] == "two"
    assert "history" not in ask("show", "a")
    shown = run("show", "a", "--history").stdout
    assert shown.index("one") < shown.index("two")


def test_an_unknown_id_exits_with_5(run: Run) -> None:
    for command in (["show", "x"], ["revise", "x", "--title", "t"], ["forget", "x"]):
        assert "there is no memory 'x'" in run(*command, code=5).stderr


def test_the_list_is_in_pages_newest_first(run: Run, ask: Ask) -> None:
    for day in (1, 2, 3):
        run("remember", f"day {day}", "--id", f"d{day}", "--happened-at", f"2026-06-0{day}")
    first = ask("list", "-n", "2")
    assert [memory["id"] for memory in first["memories"]] == ["d3", "d2"]
    second = ask("list", "-n", "2", "--after", first["next"])
    assert [memory["id"] for memory in second["memories"]] == ["d1"]
    assert second["next"] is None
    assert run("list", "-n", "2").stderr == (
        f"There are more memories: go on with --after {first['next']}\n"
    )
    run("list", "--after", "nonsense", code=2)


def test_into_a_pipe_a_memory_is_a_line_with_tabs(run: Run) -> None:
    run("remember", "one\n\ttwo", "--id", "a", "--happened-at", "2026-06-05")
    assert run("list").stdout == "2026-06-05\tGlobal\tnote\tone two\ta\n"


def test_the_list_says_what_other_scopes_hold(run: Run) -> None:
    for number, scope in enumerate(["a", "b", "b", "c", "d"]):
        run("remember", f"memory {number}", "--scope", scope)
    nothing = run("list", "--scope", "Global")
    assert nothing.stdout == ""
    assert nothing.stderr == (
        "There are no memories to list.\n"
        "Other scopes hold 5 memories (b 2, a 1, c 1, ...): try --scope ALL.\n"
    )
    assert len(run("list").stdout.splitlines()) == 5
    assert run("list", "--scope", "All").stderr == ""
    assert "hold 3 memories" in run("list", "--scope", "B").stderr


def test_a_revision_changes_what_is_named_and_nothing_else(run: Run, ask: Ask) -> None:
    run("remember", "one", "--id", "a", "-t", "x", "--title", "T", "--speaker", "S", "--important")
    before = ask("show", "a")
    receipt = ask("revise", "a", "--text", "-", "-t", "y", "--clear", "title", "--not-important",
                  "--scope", "s", "--happened-at", "2026-01-01", stdin="two\n")  # fmt: skip
    assert (receipt["outcome"], receipt["revision"]) == ("revised", 2)
    after = ask("show", "a")
    assert {name: value for name, value in after.items() if value != before[name]} == {
        "text": "two",
        "tags": ["y"],
        "title": None,
        "important": False,
        "scope": "s",
        "happened_at": "2025-12-31T23:00:00Z",
        "revision": 2,
        "stored_at": receipt["stored_at"],
    }


@pytest.mark.parametrize(
    "name",
    ["title", "tags", "speaker", "conversation", "key", "valid-from", "valid-to", "context",
     "sources", "attachments"],
)  # fmt: skip
def test_what_can_be_cleared_is_as_if_it_had_never_been_given(
    run: Run, ask: Ask, name: str
) -> None:
    run("remember", "plain", "--id", "plain", "--happened-at", "2026-01-01")
    run("remember", "plain", "--id", "a", "--title", "T", "-t", "x", "--speaker", "S",
        "--conversation", "c", "--key", "k", "--valid-from", "2026-01-01",
        "--valid-to", "2026-01-02", "--context", '{"n": 1}', "--source", "b",
        "--attachment", "f", "--happened-at", "2026-01-01")  # fmt: skip
    run("revise", "a", "--clear", name)
    field = {"conversation": "conversation_id"}.get(name, name.replace("-", "_"))
    assert ask("show", "a")[field] == ask("show", "plain")[field]


def test_a_revision_of_another_revision_is_refused(run: Run, ask: Ask) -> None:
    run("remember", "one", "--id", "a")
    run("revise", "a", "--text", "two", "--revision", "1")
    assert "has revision 2, not 1" in run(
        "revise", "a", "--text", "three", "--revision", "1", code=5
    ).stderr  # fmt: skip
    assert ask("show", "a")["text"] == "two"
    assert "nothing to revise" in run("revise", "a", code=2).stderr


def test_what_was_forgotten_can_be_brought_back(run: Run, ask: Ask) -> None:
    run("remember", "one", "--id", "a")
    run("remember", "two", "--id", "b")
    result = run("forget", "a", "b", "a")
    assert result.stdout == (
        "Forgotten a in Global, revision 2: not found by a search.\n"
        "Forgotten b in Global, revision 2: not found by a search.\n"
    )
    assert ask("list")["memories"] == []
    assert "forgotten" in run("show", "a").stdout
    run("revise", "a", "--status", "current")
    assert [memory["id"] for memory in ask("list")["memories"]] == ["a"]


def test_a_wrong_id_among_others_forgets_nothing(run: Run, ask: Ask) -> None:
    run("remember", "one", "--id", "a")
    run("forget", "a", "wrong", code=5)
    assert ask("show", "a")["status"] == "current"


def test_a_hard_forget_needs_a_yes_and_says_what_was_erased(run: Run, ask: Ask) -> None:
    run("remember", "one", "--id", "a")
    refused = run("forget", "a", "--hard", code=2)
    assert "--hard erases for good: give --yes" in refused.stderr
    assert ask("show", "a")["status"] == "current"
    assert run("forget", "a", "--hard", "--yes").stdout == (
        "Erased a in Global: memory a, 1 revision and 1 vector.\n"
    )
    run("show", "a", code=5)
    run("remember", "one", "--id", "b")
    erased = ask("forget", "b", "--hard", "--yes")["receipts"][0]
    assert (erased["outcome"], erased["erased"][0]) == ("erased", "memory b")


def test_scopes_are_made_changed_listed_and_deleted(run: Run, ask: Ask) -> None:
    made = ask("scopes", "create", "work", "--description", "Paid", "--keyword", "office")
    assert made == {"name": "work", "description": "Paid", "parent": None, "keywords": ["office"],
                    "active": True, "sensitivity": "normal"}  # fmt: skip
    assert run("scopes", "create", "secret", "--parent", "work", "--private").stdout == (
        "The scope secret exists.\n"
    )
    run("remember", "x", "--scope", "work")
    assert run("scopes").stdout.splitlines() == [
        "Global\t0\t-\t-\t-",
        "secret\t0\twork\t-\t(private)",
        "work\t1\t-\toffice\tPaid",
    ]
    changed = ask("scopes", "update", "secret", "--not-private", "--parent", "", "--inactive",
                  "--keyword", "s", "--description", "D")  # fmt: skip
    assert changed == {"name": "secret", "description": "D", "parent": None, "keywords": ["s"],
                       "active": False, "sensitivity": "normal"}  # fmt: skip
    assert run("scopes", "list").stdout.splitlines()[1] == "secret\t0\t-\ts\t(inactive) D"
    assert ask("scopes", "update", "SECRET", "--active", "--private")["sensitivity"] == "private"
    assert run("scopes", "delete", "secret").stdout == "The scope secret was deleted.\n"
    assert [scope["memories"] for scope in ask("scopes")["scopes"]] == [0, 1]
    assert ask("--json", "scopes", "list") == ask("scopes")
    run("scopes", "delete", "work", code=5)
    run("scopes", "create", "work", code=5)
    assert "nothing to change" in run("scopes", "update", "work", code=2).stderr


def test_the_statistics_count_what_is_stored(run: Run, ask: Ask) -> None:
    assert ask("stats")["oldest"] is None
    assert "oldest" not in run("stats").stdout
    run("remember", "one", "--id", "a", "--happened-at", "2026-06-05", "--kind", "fact")
    run("forget", "a")
    run("remember", "two", "--happened-at", "2026-06-06T00:00Z")
    counted = ask("stats")
    assert (counted["memories"], counted["embedded"], counted["revisions"]) == (1, 1, 1)
    assert counted["by_status"] == {"current": 1, "forgotten": 1}
    assert counted["newest"] == "2026-06-06T00:00:00Z"
    rows = dict(line.split("\t") for line in run("stats").stdout.splitlines())
    assert (rows["memories"], rows["scope Global"], rows["kind note"]) == ("1", "1", "1")
    assert rows["newest"] == "2026-06-06 02:00"
    assert rows["size"].endswith("KB")


def test_a_list_of_a_scope_has_its_own_memories_first(ask: Ask) -> None:
    ask("remember", "Of the scope", "--id", "own", "--scope", "apollo")
    ask("remember", "For everything", "--id", "inherited")
    listed = ask("list", "--scope", "apollo")["memories"]
    assert [memory["id"] for memory in listed] == ["own", "inherited"]
    page = ask("list", "--scope", "apollo", "-n", "1")
    rest = ask("list", "--scope", "apollo", "-n", "1", "--after", page["next"])
    assert [memory["id"] for memory in rest["memories"]] == ["inherited"]
    assert rest["next"] is None


def test_a_list_shows_the_beginning_of_a_long_text(run: Run) -> None:
    run("remember", "tea " * 5000)
    (line,) = run("list").stdout.splitlines()
    text = line.split("\t")[3]
    assert text.endswith("…")
    assert 500 < len(text) <= 600
