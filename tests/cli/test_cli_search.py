from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Ask = Callable[..., Any]
Run = Callable[..., Any]


@pytest.fixture
def filled(run: Run) -> None:
    run("remember", "The deadline of project Apollo is June 5", "--id", "deadline", "--scope",
        "apollo", "-t", "deadline", "--happened-at", "2026-05-01T10:00")  # fmt: skip
    run("remember", "Alice likes green tea", "--id", "tea", "--kind", "fact", "--title", "Drinks",
        "--speaker", "Bob", "--important", "--happened-at", "2026-06-01T10:00")  # fmt: skip


@pytest.mark.usefixtures("filled")
def test_hits_have_the_whole_memory_and_the_numbers_of_the_search(ask: Ask) -> None:
    answer = ask("search", "when", "is", "Apollo", "due")
    assert answer["query"] == "when is Apollo due"
    hit = answer["hits"][0]
    assert list(hit)[:3] == ["id", "text", "score"]
    memory = ask("show", "deadline")
    assert {name: hit[name] for name in memory} == memory
    assert 0 < hit["score"] <= 1
    assert answer["scopes"] is None
    assert answer["named_scopes"] == ["apollo"]
    assert answer["elsewhere"] == {}
    assert answer["eligible"] == 2
    assert {"more", "below", "pending", "note"} <= answer.keys()
    assert hit["explanation"] is None


@pytest.mark.usefixtures("filled")
def test_only_what_may_answer_is_shown_and_the_rest_is_counted(run: Run, ask: Ask) -> None:
    answer = ask("search", "does Alice like tea in June?")
    assert [hit["id"] for hit in answer["hits"]] == ["tea"]
    assert (answer["is_cut"], answer["more"]) == (True, 1)
    said = run("search", "does Alice like tea in June?").stderr
    assert "1 more match less well (--threshold 0 shows them)" in said
    assert len(ask("search", "does Alice like tea in June?", "--threshold", "0")["hits"]) == 2


@pytest.mark.usefixtures("filled")
def test_without_an_answer_the_nearest_are_single_lines(run: Run, ask: Ask) -> None:
    result = run("search", "how tall is the Eiffel tower?", code=1)
    assert all(line.startswith("nearest: ") for line in result.stdout.splitlines())
    assert result.stderr.startswith("Nothing in every scope (2 memories) answers this.")
    answer = ask("search", "how tall is the Eiffel tower?", code=1)
    assert (answer["hits"], answer["likely"]) == ([], False)
    assert 1 <= len(answer["nearest"]) <= 2


@pytest.mark.usefixtures("filled")
def test_with_an_active_scope_the_last_line_says_what_others_hold(
    run: Run, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INFINITE_MEMORY_DEFAULT_SCOPE", "kitchen")
    run("remember", "The tea is in the cupboard", "--scope", "kitchen")
    said = run("search", "when is the deadline of the project?", code=1).stderr
    assert said.rstrip().endswith(
        "Not searched, and may answer: 1 in apollo; give --scope, or --scope ALL."
    )


@pytest.mark.usefixtures("filled")
def test_explain_says_how_each_came_to_its_score(ask: Ask, run: Run) -> None:
    explanation = ask("search", "green tea", "--explain")["hits"][0]["explanation"]
    assert explanation["words_rank"] == explanation["meaning_rank"] == 1
    assert explanation["passage"] == [0, len("Alice likes green tea")]
    line = run("search", "green tea", "--explain").stdout.splitlines()[1]
    for name in ("total", "cosine", "bm25", "meaning", "words", "(rank 1"):
        assert name in line
    assert "0.000" not in line


@pytest.mark.usefixtures("filled")
def test_a_hit_shows_its_date_scope_speaker_title_tags_text_and_id(run: Run) -> None:
    result = run("search", "green tea", "-n", "1")
    (line,) = result.stdout.splitlines()
    assert line == "1. Alice likes green tea  2026-06-01  fact  important  Bob:  Drinks  tea"
    assert result.stderr.startswith("Searched every scope (2 memories)")
    assert "#deadline" in run("search", "deadline", "--scope", "apollo").stdout


@pytest.mark.usefixtures("filled")
def test_finding_nothing_says_where_to_look_and_exits_with_1(run: Run, ask: Ask) -> None:
    result = run("search", "deadline", "--tag", "nope", "--scope", "Global", code=1)
    assert result.stdout == ""
    assert result.stderr == (
        "Nothing found in Global (0 memories). Other scopes hold 1 memory (apollo 1):"
        " try --scope ALL.\n"
    )
    everywhere = run("search", "zebra", "--scope", "ALL", "--threshold", "1", code=1).stderr
    assert everywhere.startswith("Nothing found in every scope (2 memories).")
    assert ask("search", "deadline", "--tag", "nope", code=1)["hits"] == []


@pytest.mark.usefixtures("filled")
def test_what_scored_too_low_is_counted(run: Run) -> None:
    result = run("search", "tea", "--threshold", "1", code=1)
    assert "2 scored too low; try --threshold 0." in result.stderr


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["--scope", "ALL"], {"deadline", "tea"}),
        (["--scope", "apollo", "--scope", "Global"], {"deadline", "tea"}),
        (["--scope", "ALL", "-t", "DEADLINE"], {"deadline"}),
        (["--scope", "ALL", "--kind", "fact", "--kind", "message"], {"tea"}),
        (["--scope", "ALL", "--status", "forgotten"], set()),
        (["--scope", "ALL", "--status", "any"], {"deadline", "tea"}),
        (["--scope", "ALL", "--since", "2026-06-01"], {"tea"}),
        (["--scope", "ALL", "--until", "2026-06-01"], {"deadline"}),
        (["--scope", "ALL", "--conversation", "c"], set()),
        (["--scope", "ALL", "--limit", "1"], {"tea"}),
    ],
)
def test_conditions_mean_the_same_for_list_and_search(
    ask: Ask, options: list[str], found: set[str]
) -> None:
    listed = {memory["id"] for memory in ask("list", *options)["memories"]}
    answer = ask("search", "green tea", "--threshold", "0", *options, code=0 if found else 1)
    assert listed == found
    assert {hit["id"] for hit in answer["hits"]} == found


def test_of_a_long_text_the_best_passage_is_shown(run: Run) -> None:
    filler = "The weather report of that day spoke of wind from the west and of clouds. " * 60
    run("remember", filler + "The treasure lies under the old oak. " + filler, "--id", "long")
    lines = run("search", "where is the treasure under the oak", "-n", "1").stdout.splitlines()
    assert "The treasure lies" in lines[0]
    assert lines[0].startswith("1. …")
    assert len(lines[0]) < 1000
    assert lines[1].endswith("  long  `show` has the whole text")


def test_a_text_that_was_found_by_words_alone_shows_its_beginning(run: Run) -> None:
    run("remember", "记忆 " * 400, "--id", "zh")
    lines = run("search", "记忆").stdout.splitlines()
    assert lines[0].startswith("1. 记忆")
    assert lines[0].endswith("…")


@pytest.mark.usefixtures("filled")
def test_more_than_the_limit_is_counted(run: Run) -> None:
    for number in range(4):
        run("remember", f"green tea number {number}")
    assert "further matches" in run("search", "green tea", "-n", "1").stderr


@pytest.mark.parametrize(
    "options",
    [["--limit", "0"], ["--limit", "-1"], ["--threshold", "2"], ["--threshold", "nan"],
     ["--since", "2026-02-01", "--until", "2026-01-01"], ["--since", "tea"]],
)  # fmt: skip
def test_a_condition_that_cannot_be_used_is_refused(run: Run, options: list[str]) -> None:
    assert run("search", "x", *options, code=2).stderr.startswith("Error: ")


def test_nothing_is_found_in_a_scope_that_does_not_exist_and_the_nearest_is_named(
    run: Run, ask: Ask
) -> None:
    said = run("search", "x", "--scope", "global1", code=1).stderr
    assert "There is no scope 'global1' yet: the nearest is 'Global'." in said
    assert ask("search", "x", "--scope", "global1", code=1)["scopes"] == []
    assert "the nearest is 'Global'" in run("list", "--scope", "global1", code=5).stderr
