"""`today`: what is overdue, today, ahead, and what seems done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from click.testing import Result

Run = Callable[..., Result]
Ask = Callable[..., Any]


def test_an_empty_store_has_no_day(run: Run, ask: Ask) -> None:
    nothing = "Nothing comes within 7 days, and nothing is overdue.\n"
    assert run("today").stderr == nothing
    assert run("today").stdout == ""
    document = ask("today")
    assert (document["days"], document["conditions"], document["unchecked"]) == ([], 0, [])


def test_the_days_are_printed_under_what_they_are(run: Run, ask: Ask) -> None:
    run("remember", "Der Elternabend ist morgen um 18:30 Uhr", "--id", "school")
    reminder = ("--kind", "reminder", "--valid-from", "tomorrow", "--id", "invoice")
    run("remember", "Pay the invoice of the plumber", *reminder)
    lines = run("today").stdout.splitlines()
    assert lines[0] == "Ahead"
    assert {line.split()[-1] for line in lines[1:]} == {"invoice", "school"}
    assert any(" 18:30  Der Elternabend" in line for line in lines)
    run("remember", "Paid the invoice of the plumber", "--id", "paid")
    lines = run("today").stdout.splitlines()
    assert lines[-2] == "Done? Then: infinite-memory done ID"
    assert lines[-1].endswith(
        "Pay the invoice of the plumber: Paid the invoice of the plumber  invoice"
    )
    days = {day["id"]: day for day in ask("today")["days"]}
    assert (days["invoice"]["when"], days["invoice"]["told_by"]["id"]) == ("done", "paid")
    assert (days["school"]["when"], days["school"]["is_timed"]) == ("ahead", True)
    assert run("today", "--days", "0").stdout.startswith("Done?")


def test_what_cannot_be_used_is_refused(run: Run) -> None:
    assert "there is no scope 'zz'" in run("today", "--scope", "zz", code=5).stderr
    assert run("today", "--days", "999", code=2).stderr
