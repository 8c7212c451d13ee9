"""What a score means: how often a question has an answer where its best memory has that score.

    python -m benchmarks.calibration [--plot FILE.svg] FOLDER...

Every n-th question of the labelled sets, 300 to 600 of a large one, is put to the scope that
answers it and to one that does not: the next group of its set, or, where a set has one group, the
next set in the same script. Two harder ways to have no answer are reported beside them and fit
nothing: the questions of LoCoMo that ask of one person what another did ("adversarial"), and each
question in its own scope with its labelled answers passed over, which what stands beside them may
answer still.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from benchmarks.asking import Asked, LabelledSet, labelled_set
from benchmarks.environment import describe_environment
from benchmarks.reliability_plot import Curve, Dot, reliability_svg
from infinite_memory.core.values.hits import LIKELY
from infinite_memory.core.values.question import Arm, Candidate
from infinite_memory.engine.retrieval.search_request import DEFAULT_THRESHOLD
from infinite_memory.search.calibration import Calibration

ARMS = {"both arms": tuple(Arm), "words alone": (Arm.WORDS,), "meaning alone": (Arm.MEANING,)}
_LEVELS = (DEFAULT_THRESHOLD, LIKELY, 0.5)
_BINS = np.linspace(0, 1, 11)
_PER_SET = 300
_Z = 1.96


class Case(StrEnum):
    """Whether a question has an answer where it is put."""

    ANSWER = "has an answer"
    ELSEWHERE = "put elsewhere"
    ADVERSARIAL = "about another person"
    LEFT_OUT = "answer passed over"


@frozen(kw_only=True)
class Best:
    """The best memory for a question: its total and score, 0 for none, and if it is a right one."""

    name: str
    arms: str
    case: Case
    total: float
    score: float
    right: bool = False


def asked_of(labelled: LabelledSet, other: LabelledSet) -> Iterator[Best]:
    """Yield the best memory of every question, case and choice of arms."""
    asked = labelled.asked[:: max(1, len(labelled.asked) // _PER_SET)]
    for name, arms in ARMS.items():
        if arms != (Arm.WORDS,) and not labelled.embedder.understands(asked[0].text):
            continue

        def best(case: Case, found: Candidate | None, one: Asked, arms_name: str = name) -> Best:
            explained = found.explanation if found is not None else None
            return Best(
                name=labelled.name,
                arms=arms_name,
                case=case,
                total=explained.total if explained is not None else 0.0,
                score=found.score if found is not None else 0.0,
                right=found is not None and found.id in one.relevant,
            )

        for one in asked:
            own = _found(labelled, one.text, one.scope, arms, limit=1 + len(one.relevant))
            rest = [candidate for candidate in own if candidate.id not in one.relevant]
            yield best(Case.ANSWER, own[0] if own else None, one)
            yield best(Case.LEFT_OUT, rest[0] if rest else None, one)
            yield best(Case.ELSEWHERE, _elsewhere(one, labelled, other, arms), one)
        for one in labelled.unanswerable:
            found = _found(labelled, one.text, one.scope, arms, limit=1)
            yield best(Case.ADVERSARIAL, found[0] if found else None, one)


def _found(
    labelled: LabelledSet, text: str, scope: str, arms: Sequence[Arm], *, limit: int
) -> tuple[Candidate, ...]:
    return labelled.ask(text, scope, arms=arms, limit=limit, explain=True).candidates


def _elsewhere(
    one: Asked, labelled: LabelledSet, other: LabelledSet, arms: Sequence[Arm]
) -> Candidate | None:
    scopes = labelled.scopes
    if len(scopes) > 1:
        following = scopes[(scopes.index(one.scope) + 1) % len(scopes)]
        found = _found(labelled, one.text, following, arms, limit=1)
    else:
        found = _found(other, one.text, other.scopes[0], arms, limit=1)
    return found[0] if found else None


def _other_of(place: int, sets: Sequence[LabelledSet]) -> LabelledSet:
    """Return the next set that is written in the same script, as far as the model can tell."""
    one = sets[place]
    reads = one.embedder.understands(one.asked[0].text)
    for other in (*sets[place + 1 :], *sets[:place]):
        if other.embedder.understands(other.asked[0].text) == reads:
            return other
    return sets[(place + 1) % len(sets)]


def fit(rows: Sequence[Best]) -> Calibration:
    """Return the logistic curve of the totals; every set counts the same, and so do its halves.

    Newton's method on the log-likelihood; a total of 0 has the score 0 whatever the curve is.
    """
    rows = [row for row in rows if row.case in (Case.ANSWER, Case.ELSEWHERE) and row.total > 0]
    total = np.array([row.total for row in rows])
    has = np.array([row.case is Case.ANSWER for row in rows], float)
    keys = [(row.name, row.case) for row in rows]
    weight = np.array([1 / keys.count(key) for key in keys])
    design = np.stack([total, np.ones_like(total)], axis=1)
    slope = np.zeros(2)
    for _ in range(50):
        p = 1 / (1 + np.exp(-np.clip(design @ slope, -30, 30)))
        gradient = design.T @ (weight * (has - p))
        curvature = (design * (weight * p * (1 - p))[:, None]).T @ design
        slope = slope + np.linalg.solve(curvature + 1e-9 * np.eye(2), gradient)
    return Calibration(middle=float(-slope[1] / slope[0]), width=float(1 / slope[0]))


def _share(flags: Iterable[bool]) -> tuple[float, float, float]:
    """Return a share with its 95 % interval (Wilson, 1927)."""
    values = list(flags)
    n, p = len(values), sum(values) / len(values)
    middle = (p + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z / (1 + _Z**2 / n) * (p * (1 - p) / n + _Z**2 / (4 * n * n)) ** 0.5
    return p, max(0.0, middle - half), min(1.0, middle + half)


def _cell(flags: Iterable[bool]) -> str:
    share, low, high = _share(flags)
    return f"{100 * share:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def report(rows: Sequence[Best]) -> None:
    print("\nquestions in percent whose best hit reaches a score, 95 % intervals (Wilson)\n")
    print("| arms | set | | questions | " + " | ".join(f"{level:g}" for level in _LEVELS) + " |")
    print("|---|---|---|---|" + "---|" * len(_LEVELS))
    for arms in ARMS:
        for name in sorted({row.name for row in rows if row.arms == arms}):
            for case in Case:
                scores = [r.score for r in rows if (r.arms, r.name, r.case) == (arms, name, case)]
                if scores:
                    cells = [_cell(score >= level for score in scores) for level in _LEVELS]
                    print(f"| {arms} | {name} | {case} | {len(scores)} | {' | '.join(cells)} |")
    print("\n| arms | score of the best | questions | have an answer | the best is labelled |")
    print("|---|---|---|---|---|")
    for arms in ARMS:
        for chosen in _binned(rows, arms):
            score = np.mean([row.score for row in chosen])
            answered = _cell(row.case is Case.ANSWER for row in chosen)
            right = _cell(row.right for row in chosen)
            print(f"| {arms} | {score:.2f} | {len(chosen)} | {answered} | {right} |")
    for arms in ARMS:
        _report_fit(arms, [row for row in rows if row.arms == arms])


def _report_fit(arms: str, rows: Sequence[Best]) -> None:
    if not rows:
        return
    whole = fit(rows)
    print(f"\n{arms}: middle {whole.middle:.3f}, width {whole.width:.3f}", end="")
    judged = [row for row in rows if row.case in (Case.ANSWER, Case.ELSEWHERE)]
    score = np.array([row.score for row in judged])
    has = np.array([row.case is Case.ANSWER for row in judged], float)
    print(f"; Brier score {np.mean((score - has) ** 2):.3f}", end="")
    print(f", distance of a bin from its share {_distance(score, has):.3f} on average")
    for name in sorted({row.name for row in rows}):
        alone = fit([row for row in rows if row.name == name])
        print(f"    on {name} alone: middle {alone.middle:.3f}, width {alone.width:.3f}")


def _distance(score: NDArray[np.float64], has: NDArray[np.float64]) -> float:
    """Return the expected calibration error over ten bins of equal width."""
    bins = np.clip(np.digitize(score, _BINS) - 1, 0, len(_BINS) - 2)
    return float(
        sum(
            abs(score[bins == b].mean() - has[bins == b].mean()) * np.mean(bins == b)
            for b in np.unique(bins)
        )
    )


def _binned(rows: Sequence[Best], arms: str) -> Iterator[list[Best]]:
    chosen = [r for r in rows if r.arms == arms and r.case in (Case.ANSWER, Case.ELSEWHERE)]
    for low, high in zip(_BINS, [*_BINS[1:-1], 2.0], strict=False):
        if found := [row for row in chosen if low <= row.score < high]:
            yield found


def curves(rows: Sequence[Best]) -> list[Curve]:
    return [
        Curve(
            name=arms,
            dots=tuple(
                Dot(
                    x=float(np.mean([row.score for row in chosen])),
                    share=_share(row.case is Case.ANSWER for row in chosen),
                    count=len(chosen),
                )
                for chosen in _binned(rows, arms)
            ),
        )
        for arms in ARMS
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--plot", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    print(describe_environment())
    with ExitStack() as stack:
        sets = [stack.enter_context(labelled_set(folder)) for folder in arguments.folders]
        rows = [
            row for place, one in enumerate(sets) for row in asked_of(one, _other_of(place, sets))
        ]
    report(rows)
    if arguments.plot is not None:
        arguments.plot.write_text(reliability_svg(curves(rows)), encoding="utf-8")


if __name__ == "__main__":
    main()
