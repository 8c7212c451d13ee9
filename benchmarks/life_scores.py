"""The figures of `benchmarks.life`: what a memory showed, beside the labels of a month.

What was shown for a question is a list of ids, best first. Every function yields lines to print.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from statistics import mean
from typing import Any

from attrs import frozen

from benchmarks.labelled_sets import rows

THRESHOLDS = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7)
_RECALLS = (0.5, 0.7, 0.9)
_LIST = 10

Row = Mapping[str, Any]
Shown = Mapping[str, Sequence[str]]
Scored = Mapping[str, Sequence[tuple[str, float]]]
"""The ids with their scores, best first, by the id of the question."""


@frozen(kw_only=True)
class Labels:
    """The labels of a folder, by id, and its memories in the order in which they are stored."""

    asked: str
    memories: Sequence[Row]
    questions: Mapping[str, Row]
    prompts: Mapping[str, Row]
    reminders: Mapping[str, Row]
    pairs: Mapping[str, Row]
    briefings: Sequence[Row]

    @property
    def answerable(self) -> Sequence[Row]:
        """The questions with an answer."""
        return [row for row in self.questions.values() if row["gold"]]

    @property
    def useful(self) -> Sequence[Row]:
        """The prompts for which something stored helps."""
        return [row for row in self.prompts.values() if row["useful"]]


def read_labels(folder: Path) -> Labels:
    """Read the labels in `folder`; a file that is missing counts as empty."""

    def by_id(name: str) -> dict[str, Row]:
        path = folder / f"{name}.jsonl"
        return {row["id"]: row for row in rows(path)} if path.exists() else {}

    briefings = folder / "briefing.json"
    return Labels(
        asked=json.loads((folder / "meta.json").read_text(encoding="utf-8"))["asked"],
        memories=list(rows(folder / "memories.jsonl")),
        questions=by_id("questions"),
        prompts=by_id("prompts"),
        reminders=by_id("reminders"),
        pairs=by_id("pairs"),
        briefings=json.loads(briefings.read_text("utf-8")) if briefings.exists() else [],
    )


def share(part: int, whole: int) -> str:
    """Return "3 of 12 (25.0 %)"."""
    return f"{part} of {whole}" + (f" ({100 * part / whole:.1f} %)" if whole else "")


def right_ids(question: Row) -> frozenset[str]:
    """Return the ids that count as a hit: those needed, and those that are fine too."""
    return frozenset(question["gold"]) | frozenset(question["acceptable"])


def is_among(question: Row, ids: Sequence[str], k: int) -> bool:
    """Return whether the first `k` hold a hit, or, where all are needed, every one of them.

    Of one that needs all, the first must be any hit, and of more places as many count as it needs.
    """
    if k == 1 or question["need"] == "any":
        return not right_ids(question).isdisjoint(ids[:k])
    return set(question["gold"]) <= set(ids[: max(k, len(question["gold"]))])


def is_stale_first(question: Row, ids: Sequence[str]) -> bool:
    """Return whether a stale memory stands before the first hit, or without one."""
    stale = [ids.index(each) for each in question["stale"] if each in ids]
    right = [ids.index(each) for each in right_ids(question) if each in ids]
    return bool(stale) and min(stale) < min(right, default=len(ids))


def questions_lines(labels: Labels, shown: Shown) -> Iterator[str]:
    """Yield what holds of the ranking: the first, the first three, by type, stale, lists."""
    asked = labels.answerable

    def count(questions: Sequence[Row], k: int) -> int:
        return sum(is_among(each, shown[each["id"]], k) for each in questions)

    alone = sum(shown[each["id"]][:1] == [gold] for each in asked for gold in each["gold"])
    yield (
        f"hit@1 {share(count(asked, 1), len(asked))} | gold alone {alone}"
        f" | hit@3 {share(count(asked, 3), len(asked))}"
    )
    in_order = sorted(asked, key=lambda each: str(each["type"]))
    for name, group in groupby(in_order, key=lambda each: str(each["type"])):
        of = list(group)
        yield f"  {name:13} hit@1 {count(of, 1):2} hit@3 {count(of, 3):2} of {len(of)}"
    dated = [each for each in asked if each["stale"]]
    stale = sum(is_stale_first(each, shown[each["id"]]) for each in dated)
    yield f"stale first {share(stale, len(dated))}"
    if lists := [each for each in asked if each["need"] == "all"]:
        recall = mean(_recall(each["gold"], shown[each["id"]][:_LIST]) for each in lists)
        yield f"list recall@{_LIST} {recall:.2f} of {len(lists)}"


def asked_lines(labels: Labels, shown: Shown) -> Iterator[str]:
    """Yield what holds of all that is shown for a question, however long."""
    asked = labels.answerable
    among = sum(not right_ids(each).isdisjoint(shown[each["id"]]) for each in asked)
    yield f"a hit among the shown {share(among, len(asked))}"
    if asked:
        yield f"shown for one with an answer: {mean(len(shown[each['id']]) for each in asked):.1f}"
    yield from _unasked_lines(labels, shown)


def _unasked_lines(labels: Labels, shown: Shown) -> Iterator[str]:
    for name in ("unanswerable", "idle"):
        if of := [each for each in labels.questions.values() if each["type"] == name]:
            noisy = sum(bool(_noise(each, shown[each["id"]])) for each in of)
            number = mean(len(shown[each["id"]]) for each in of)
            yield f"something shown: {name} {share(noisy, len(of))}, {number:.1f} each"


def pushed_lines(labels: Labels, shown: Shown) -> Iterator[str]:
    """Yield what holds of what is shown unasked, for prompts and for questions without answer."""
    yield from _unasked_lines(labels, shown)
    if useless := [shown[each["id"]] for each in labels.prompts.values() if each["useless"]]:
        yield f"something shown: useless prompts {share(sum(map(bool, useless)), len(useless))}"
    if labels.useful:
        recall, number, noise = _means_of_useful(labels, shown)
        yield (
            f"useful prompts: recall {recall:.2f}, {number:.1f} shown each,"
            f" {noise:.1f} of them noise"
        )


def _means_of_useful(labels: Labels, shown: Shown) -> tuple[float, float, float]:
    """Return the mean recall of the useful, how many are shown, and how many of them are noise."""
    pairs = [(each, shown[each["id"]]) for each in labels.useful]
    return (
        mean(_recall(each["useful"], ids) for each, ids in pairs),
        mean(len(ids) for _, ids in pairs),
        mean(len(_noise(each, ids)) for each, ids in pairs),
    )


def _recall(wanted: Collection[str], ids: Collection[str]) -> float:
    return len(set(wanted) & set(ids)) / len(wanted)


def _noise(row: Row, ids: Collection[str]) -> set[str]:
    """Return what is neither needed for a question or prompt nor fine beside it."""
    fine = ("useful", "also") if "useful" in row else ("gold", "acceptable")
    return set(ids).difference(*(row[name] for name in fine))


def curve_lines(labels: Labels, scored: Scored) -> Iterator[str]:
    """Yield a row for each threshold, and the number shown for prompts at some recalls."""
    yield (
        "score >= | questions: a hit, recall, shown, noise | unanswerable, idle"
        " | useful prompts: recall, shown, noise | useless"
    )
    for threshold in THRESHOLDS:
        yield _curve_row(labels, threshold, cut_at(scored, threshold))
    # From the highest score down: the recall only grows.
    prompts = {key: found for key, found in scored.items() if key in labels.prompts}
    scores = sorted({score for found in prompts.values() for _, score in found}, reverse=True)
    for wanted in _RECALLS if labels.useful else ():
        for score in scores:
            recall, number, noise = _means_of_useful(labels, cut_at(prompts, score))
            if recall >= wanted:
                yield (
                    f"useful prompts, recall {wanted}: score >= {score:.3f},"
                    f" {number:.1f} shown each, {noise:.1f} of them noise"
                )
                break
        else:
            yield f"useful prompts, recall {wanted}: not reached"


def cut_at(scored: Scored, threshold: float) -> Shown:
    """Return the ids whose score is `threshold` or more."""
    return {
        key: [each for each, score in found if score >= threshold] for key, found in scored.items()
    }


def _curve_row(labels: Labels, threshold: float, shown: Shown) -> str:
    asked = [(each, shown[each["id"]]) for each in labels.answerable]
    among = sum(not right_ids(each).isdisjoint(ids) for each, ids in asked)
    cells = [f"{threshold:8.2f}"]
    if asked:
        cells.append(
            f"{100 * among / len(asked):5.1f} %"
            f" {mean(_recall(each['gold'], ids) for each, ids in asked):.2f}"
            f" {mean(len(ids) for _, ids in asked):4.1f}"
            f" {mean(len(_noise(each, ids)) for each, ids in asked):4.1f}"
        )
    counts = []
    for name in ("unanswerable", "idle"):
        of = [each for each in labels.questions.values() if each["type"] == name]
        counts.append(f"{sum(bool(_noise(q, shown[q['id']])) for q in of):2} of {len(of)}")
    cells.append(", ".join(counts))
    if labels.useful:
        recall, number, noise = _means_of_useful(labels, shown)
        cells.append(f"{recall:.2f} {number:4.1f} {noise:4.1f}")
    useless = [shown[each["id"]] for each in labels.prompts.values() if each["useless"]]
    cells.append(f"{sum(map(bool, useless)):2} of {len(useless)}")
    return " | ".join(cells)


def briefing_lines(labels: Labels, shown: Sequence[tuple[Sequence[str], int]]) -> Iterator[str]:
    """Yield the figures of each briefing and of all; `shown` has their ids and tokens."""
    totals = [0, 0, 0, 0]
    for entry, (ids, tokens) in zip(labels.briefings, shown, strict=True):
        told = sum(not set(group["any"]).isdisjoint(ids) for group in entry["must"])
        wrong = len(set(entry["must_not"]) & set(ids))
        counts = [told, len(entry["must"]), wrong, len(entry["must_not"])]
        totals = [sum(pair) for pair in zip(totals, counts, strict=True)]
        yield (
            f"  {entry['at']} {entry['scope']:10} must {told} of {counts[1]},"
            f" must not {wrong} of {counts[3]}, {len(ids)} memories, {tokens} tokens"
        )
    if shown:
        length = mean(tokens for _, tokens in shown)
        yield (
            f"must {share(*totals[:2])} | must not {share(*totals[2:])} | {length:.0f} tokens each"
        )


def reminder_lines(labels: Labels, is_open: Mapping[str, bool]) -> Iterator[str]:
    """Yield how many reminders are open or closed as the labels say."""
    clear = [each for each in labels.reminders.values() if each["state"] != "unclear"]
    for state in ("open", "done", "cancelled"):
        if of := [each for each in clear if each["state"] == state]:
            number = sum(is_open[each["id"]] for each in of)
            yield f"  {state}: {number} of {len(of)} open"
    right = sum(is_open[each["id"]] == (each["state"] == "open") for each in clear)
    yield f"right {share(right, len(clear))}"


def pair_lines(labels: Labels, replaces: Mapping[str, bool]) -> Iterator[str]:
    """Yield precision and recall of the earlier memories that a receipt names."""
    clear = [each for each in labels.pairs.values() if each["how"] != "part"]
    counts = {
        name: (sum(replaces[each["id"]] for each in of), len(of))
        for name in ("replaces", "adds", "unrelated-but-near")
        if (of := [each for each in clear if each["relation"] == name])
    }
    right, real = counts.get("replaces", (0, 0))
    said = sum(number for number, _ in counts.values())
    yield f"precision {share(right, said)} | recall {share(right, real)}"
    for name, (number, of) in counts.items():
        if name != "replaces":
            yield f"  falsely replaced: {name} {share(number, of)}"
