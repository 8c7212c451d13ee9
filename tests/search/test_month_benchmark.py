"""The benchmark of a month of memories, on a month of five that the test writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.life import PARTS, fill, measure
from benchmarks.life_scores import (
    Row,
    is_among,
    is_stale_first,
    questions_lines,
    read_labels,
    share,
)
from benchmarks.plain_fusion import PlainFusion
from infinite_memory.testing.embedders import HashingEmbedder

MEMORIES = [
    ("a", "2026-11-01T08:00:00Z", "Global", "fact", "The boat is called Heron", None),
    ("b", "2026-11-02T08:00:00Z", "boat", "fact", "The mast of the boat is 9 metres", None),
    ("c", "2026-11-03T08:00:00Z", "Global", "reminder", "Pay the boatyard", "2026-11-05"),
    ("d", "2026-11-04T08:00:00Z", "boat", "fact", "The mast of the boat is 10 metres", None),
    ("e", "2026-11-05T08:00:00Z", "Global", "note", "Paid the boatyard", None),
]


def question(name: str, text: str, type_: str, **labels: Any) -> Row:
    return {
        **{"id": name, "text": text, "type": type_, "scope": "Global", "need": "any"},
        **{"gold": [], "stale": [], "acceptable": [], **labels},
    }


QUESTIONS = [
    question("q1", "What is the boat called?", "fact", gold=["a"]),
    question("q2", "How long is the mast?", "update", gold=["d"], stale=["b"]),
    question("q3", "Tell all of the boat and its mast", "list", gold=["a", "d"], need="all"),
    question("q4", "What is the mother of Heron called?", "unanswerable"),
    question("q5", "thanks", "idle"),
]


def write_month(folder: Path) -> None:
    fields = ("id", "at", "scope", "kind", "text", "due")
    memories = [dict(zip(fields, memory, strict=True)) for memory in MEMORIES]
    prompts = [
        {"id": "p1", "text": "measure the mast", "useful": ["d"], "also": ["b"], "useless": False},
        {"id": "p2", "text": "run the tests", "useful": [], "also": [], "useless": True},
    ]
    pairs = [
        {"id": "r1", "earlier": "b", "later": "d", "relation": "replaces", "how": "changed"},
        {"id": "r2", "earlier": "a", "later": "e", "relation": "unrelated-but-near", "how": None},
    ]
    reminders = [{"id": "c", "due": "2026-11-05", "state": "done", "done_by": "e"}]
    for name, lines in {
        **{"memories": memories, "questions": QUESTIONS, "prompts": prompts},
        **{"pairs": pairs, "reminders": reminders},
    }.items():
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    briefing = {"at": "2026-11-02T12:00:00Z", "scope": "boat", "must_not": ["d"]}
    briefings = [{**briefing, "must": [{"any": ["b"], "why": "the mast"}]}]
    (folder / "briefing.json").write_text(json.dumps(briefings), encoding="utf-8")
    (folder / "meta.json").write_text('{"asked": "2026-11-06T08:00:00Z"}', encoding="utf-8")


def test_every_part_is_measured_on_a_folder_of_its_format(tmp_path: Path) -> None:
    write_month(tmp_path)
    labels = read_labels(tmp_path)
    kept: dict[str, list[Row]] = {}

    month = fill("memory://", labels, HashingEmbedder())
    with month.store:
        lines = list(measure(month, PARTS, kept))

    assert [line.strip() for line in lines if line.startswith("\n")] == [
        *("questions, no scope", "pushed, no scope", "curve, no scope"),
        *("questions, all scopes", "pushed, all scopes", "curve, all scopes"),
        *("pairs, by what the receipt of the later one names", "reminders", "briefings"),
        "sessions: not measured here: benchmarks.sessions",
    ]
    assert "must 1 of 1 (100.0 %) | must not 0 of 1 (0.0 %)" in "\n".join(lines)
    of_all = {json.dumps(row) for row in kept["both"]}
    assert '{"pair": "r1", "replaces": false}' in of_all
    assert {next(iter(row)) for row in kept["all scopes"]} == {"question", "pushed", "prompt"}


def test_a_briefing_knows_only_what_was_told_before_its_moment(tmp_path: Path) -> None:
    write_month(tmp_path)

    month = fill("memory://", read_labels(tmp_path), HashingEmbedder())

    with month.store:
        [(ids, tokens)] = month.briefed
        assert set(ids) == {"a", "b"}
        assert tokens > 0


def test_the_first_must_be_a_hit_and_of_a_list_the_first_three_must_hold_all() -> None:
    one, changed, several = QUESTIONS[:3]
    assert is_among(one, ["b", "a"], 3)
    assert not is_among(one, ["b", "a"], 1)
    assert is_among(several, ["a", "b", "c"], 1)
    assert not is_among(several, ["a", "b", "c", "d"], 3)
    assert is_stale_first(changed, ["b", "d"])
    assert is_stale_first(changed, ["b"])
    assert not is_stale_first(changed, ["d", "b"])
    assert not is_stale_first(changed, [])


def test_questions_without_an_answer_count_for_no_rank(tmp_path: Path) -> None:
    write_month(tmp_path)
    shown = {"q1": ["a"], "q2": ["b"], "q3": ["d", "a"], "q4": ["a"], "q5": []}

    lines = list(questions_lines(read_labels(tmp_path), shown))

    assert lines[0] == f"hit@1 {share(2, 3)} | gold alone 2 | hit@3 {share(2, 3)}"
    assert lines[-2:] == [f"stale first {share(1, 1)}", "list recall@10 1.00 of 1"]


def test_plain_fusion_ranks_first_what_both_rankings_do() -> None:
    texts = {memory[0]: memory[4] for memory in MEMORIES}

    ranked = PlainFusion(texts, HashingEmbedder()).rank("paid the boatyard")

    assert ranked[:2] == ["e", "c"]
