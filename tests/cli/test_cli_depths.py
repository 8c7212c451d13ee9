"""`--depth` of `search` and `why-not`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Ask = Callable[..., Any]
Run = Callable[..., Any]

WEATHER = "The weather report of that day spoke of wind from the west and of clouds. " * 20


@pytest.fixture
def filled(run: Run) -> None:
    run("remember", "The Apollo deadline is June 5", "--id", "deadline",
        "--happened-at", "2026-05-01T10:00")  # fmt: skip
    run("remember", f"{WEATHER}Alice leads Apollo. {WEATHER}", "--id", "diary",
        "--happened-at", "2026-05-02T10:00")  # fmt: skip
    run("remember", "Apollo was due in May", "--id", "old", "--title", "First plan",
        "--happened-at", "2026-04-01T10:00")  # fmt: skip
    run("revise", "old", "--status", "superseded")
    run("remember", "Apollo is led by Alice and its deadline is June 5", "--id", "summary",
        "--kind", "summary", "--source", "deadline",
        "--happened-at", "2026-05-03T10:00")  # fmt: skip


QUESTION = ("what", "about", "apollo", "deadline")


@pytest.mark.usefixtures("filled")
def test_an_overview_shows_summaries_then_highlights_with_ids(run: Run) -> None:
    result = run("search", *QUESTION, "--depth", "overview", "--threshold", "0")
    lines = result.stdout.splitlines()
    first, covers, diary, deadline = lines
    said = "1. Apollo is led by Alice and its deadline is June 5"
    assert first == f"{said}  2026-05-03  summary  summary"
    assert covers == "   covers, below: deadline"
    assert diary.startswith("2. …")
    assert "Alice leads Apollo." in diary
    assert diary.endswith("  diary")
    assert len(diary) < 350
    assert deadline.startswith("3. a source of summary  ")
    assert deadline.endswith("  deadline")


@pytest.mark.usefixtures("filled")
def test_a_summary_that_is_outdated_says_so(run: Run, ask: Ask) -> None:
    run("revise", "deadline", "--text", "The Apollo deadline is July 1")
    result = run("search", *QUESTION, "--depth", "overview")
    assert "   outdated, since its sources were changed or replaced: deadline" in result.stdout
    assert "July 1" in result.stdout
    hits = {hit["id"]: hit for hit in ask("search", *QUESTION, "--depth", "overview")["hits"]}
    assert hits["summary"]["outdated"] == ["deadline"]
    assert hits["summary"]["covers"] == []


@pytest.mark.usefixtures("filled")
def test_an_exhaustive_search_is_a_line_a_title_with_date_scope_status_and_id(run: Run) -> None:
    result = run("search", *QUESTION, "--depth", "exhaustive")
    rows = [line.split("\t") for line in result.stdout.splitlines()]
    assert {len(row) for row in rows} == {8}
    assert [row[0] for row in rows] == ["1", "2", "3", "4"]
    old = next(row for row in rows if row[-1] == "old")
    assert old[2:] == [*("2026-04-01", "superseded", "Global", "note", "First plan", "old")]
    assert {row[-1]: row[3] for row in rows if row[-1] != "old"} == {
        **dict.fromkeys(("deadline", "diary", "summary"), "current")
    }
    diary = next(row for row in rows if row[-1] == "diary")
    assert diary[6].endswith("…")
    assert len(diary[6]) <= 100
    assert "4 matches in all." in result.stderr


@pytest.mark.usefixtures("filled")
def test_an_exhaustive_search_says_how_to_go_on_and_goes_on(run: Run) -> None:
    whole = run("search", *QUESTION, "--depth", "exhaustive").stdout.splitlines()
    first = run("search", *QUESTION, "--depth", "exhaustive", "-n", "3")
    assert "4 matches in all. Go on with --offset 3." in first.stderr
    rest = run("search", *QUESTION, "--depth", "exhaustive", "--offset", "3")
    assert first.stdout.splitlines() + rest.stdout.splitlines() == whole
    beyond = run("search", *QUESTION, "--depth", "exhaustive", "--offset", "4", code=1)
    assert (beyond.stdout, beyond.stderr) == ("", "No memory follows the 4 matches.\n")


@pytest.mark.usefixtures("filled")
def test_an_exhaustive_search_says_from_where_links_lead_to_a_memory(run: Run, ask: Ask) -> None:
    run("remember", "租约", "--id", "lease")
    asked = ("search", *QUESTION, "--depth", "exhaustive", "--explain", "--threshold", "0.02")
    before = ask(*asked)
    assert "lease" not in {hit["id"] for hit in before["hits"]}
    run("graph", "link", "deadline", "lease", "--type", "intent", "--weight", "0.9")
    after = ask(*asked)
    lease = next(hit for hit in after["hits"] if hit["id"] == "lease")
    assert lease["reached"] == {"match": "deadline", "links": ["intent"], "weight": 0.9}
    assert after["matches"] == before["matches"] + 1
    rows = [line.split("\t") for line in run(*asked).stdout.splitlines()]
    row = next(row for row in rows if row[7] == "lease")
    assert row[8] == "by a link (intent) from deadline"
    assert "linked +" in row[9]


@pytest.mark.usefixtures("filled")
def test_the_explanation_goes_with_every_depth(run: Run, ask: Ask) -> None:
    for depth in ("normal", "overview", "exhaustive"):
        said = run("search", *QUESTION, "--depth", depth, "--explain").stdout
        assert "total " in said
        assert ("summary +0." in said) == (depth == "overview")
        hits = ask("search", *QUESTION, "--depth", depth, "--explain")["hits"]
        assert all("explanation" in hit for hit in hits)


@pytest.mark.usefixtures("filled")
def test_the_document_has_whole_memories_at_every_depth_and_what_is_new(ask: Ask) -> None:
    for depth in ("normal", "overview", "exhaustive"):
        answer = ask("search", *QUESTION, "--depth", depth, "--threshold", "0")
        assert answer["depth"] == depth
        assert (answer["offset"], answer["next"]) == (0, None)
        assert answer["matches"] == len(answer["hits"])
        for hit in answer["hits"]:
            memory = ask("show", hit["id"])
            assert {name: hit[name] for name in memory} == memory
            is_long = len(hit["text"]) > 800
            shows_part = depth == "overview" or (depth == "normal" and is_long)
            assert (hit["highlight"] is not None) == shows_part
    overview = ask("search", *QUESTION, "--depth", "overview")["hits"]
    assert overview[0]["covers"] == ["deadline"]
    for hit in overview:
        shown = hit["highlight"]
        assert shown["text"] == hit["text"][shown["start"] : shown["end"]]


@pytest.mark.usefixtures("filled")
def test_a_status_that_is_given_wins(ask: Ask) -> None:
    def found(*options: str) -> set[str]:
        return {hit["id"] for hit in ask("search", "apollo", "--threshold", "0", *options)["hits"]}

    assert found("--status", "superseded") == {"old"}
    assert "old" not in found("--depth", "exhaustive", "--status", "current")
    assert "old" in found("--depth", "exhaustive")
    assert "old" not in found("--depth", "overview")


@pytest.mark.usefixtures("filled")
def test_why_not_names_the_depth_that_finds_it(run: Run, ask: Ask) -> None:
    said = run("why-not", "old", *QUESTION).stdout
    assert said == (
        "mode: it is superseded; the search wants current; the mode history finds it; "
        "the depth exhaustive finds it.\n"
    )
    assert ask("why-not", "old", *QUESTION)["found_at"] == "exhaustive"
    there = ask("why-not", "old", *QUESTION, "--depth", "exhaustive", code=1)
    assert (there["step"], there["found_at"]) == ("found", None)


@pytest.mark.parametrize("command", [("search",), ("why-not", "old")])
def test_a_depth_that_there_is_not_is_refused_with_the_nearest(
    run: Run, command: tuple[str, ...]
) -> None:
    said = run(*command, "apollo", "--depth", "exaustive", code=2).stderr
    assert said.startswith("Error: depth 'exaustive' is unknown: the nearest is 'exhaustive'")
    assert run("search", "apollo", "--offset", "-1", code=2).stderr.startswith("Error: offset -1")
