"""Fit what tells that a reminder is done, and count the labelled reminders whose state is right.

    python -m benchmarks.reminders [--write]

`benchmarks/labelled/endings.jsonl` has, for each thing to be done, a text that tells that it is
done, that it is dropped, and that it is still open: the weights of ends are fitted on these. What
tells one thing is fitted on the same sets, and on the pairs of `pairs.jsonl` that are `done`,
against what was said of other things. A sixth of the sets is held out six times. Then the thirty
reminders of `reminders.jsonl`, on which nothing is fitted, and what was said later stand in one
store, and the list of what comes says which of them are closed. `--write` writes the weights.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.environment import describe_environment
from benchmarks.labelled_sets import rows
from benchmarks.vector_cache import DEFAULT_CACHE, open_model
from infinite_memory import MemoryStore
from infinite_memory.core.protocols import Embedder
from infinite_memory.features.reminders.states import When
from infinite_memory.search.completion import WEIGHTS, describe_end, describe_sameness
from infinite_memory.search.embedding import BUNDLED
from infinite_memory.search.judge import Told

LABELLED = Path(__file__).parent / "labelled"
NOW = datetime(2026, 11, 5, 9, tzinfo=UTC)

_FOLDS, _STEPS, _DIGITS = 6, 25, 4
_OTHERS = 15
_SAME_PENALTY, _OVER_PENALTY = 1.0, 0.05
# Of texts about other things, fewer than one in a thousand ends a reminder then.
_SAME_BAR, _OVER_BAR = 3.8, 0.0

Row = Mapping[str, Any]
Columns = np.ndarray[Any, np.dtype[np.float64]]
Tell = Callable[[str], Told]


def fit(columns: Columns, labels: Columns, penalty: float) -> tuple[Columns, float]:
    """Return the weights and the intercept of a logistic regression with a ridge."""
    mean = columns.mean(0)
    scaled = np.column_stack([columns - mean, np.ones(len(columns))])
    ridge = np.append(np.full(columns.shape[1], penalty), 1e-6)
    share = labels.mean()
    balance = np.where(labels > 0, 0.5 / share, 0.5 / (1 - share))
    weights = np.zeros(scaled.shape[1])
    for _ in range(_STEPS):
        guess = 1 / (1 + np.exp(-scaled @ weights))
        slope = scaled.T @ (balance * (guess - labels)) + ridge * weights
        curve = (scaled * (balance * guess * (1 - guess))[:, np.newaxis]).T @ scaled
        weights -= np.linalg.solve(curve + np.diag(ridge), slope)
    return weights[:-1], float(weights[-1] - mean @ weights[:-1])


def fit_ends(sets: Sequence[Row], tell: Tell) -> tuple[Columns, float]:
    """Fit what tells an end on the texts of some sets."""
    labels = {"reminder": 0.0, "open": 0.0, "done": 1.0, "dropped": 1.0}
    told = [(row["reminder"], row[name], label) for row in sets for name, label in labels.items()]
    columns = np.array([describe_end(tell(first), tell(second)) for first, second, _ in told])
    return fit(columns, np.array([label for *_, label in told]), _OVER_PENALTY)


def fit_sameness(sets: Sequence[Row], pairs: Sequence[Row], tell: Tell) -> tuple[Columns, float]:
    """Fit what tells one thing, against texts of the same language about other things."""
    random, told = Random(0), list[tuple[str, str, float]]()
    for row in sets:
        told += [(row["reminder"], row[name], 1.0) for name in ("done", "open", "dropped")]
        others = [each for each in sets if each["language"] == row["language"] and each is not row]
        told += [
            (row["reminder"], each[random.choice(("done", "open", "dropped"))], 0.0)
            for each in others
        ]
    for pair in (pair for pair in pairs if pair.get("how") == "done"):
        told.append((pair["earlier"], pair["later"], 1.0))
        others = [
            each
            for each in pairs
            if each["language"] == pair["language"] and each["topic"] != pair["topic"]
        ]
        told += [(pair["earlier"], each["later"], 0.0) for each in random.sample(others, _OTHERS)]
    columns = np.array([describe_sameness(tell(first), tell(second)) for first, second, _ in told])
    return fit(columns, np.array([label for *_, label in told]), _SAME_PENALTY)


def hold_out(sets: Sequence[Row], tell: Tell) -> dict[str, float]:
    """Return which share of each kind of text is told right where its set was held out."""
    right: dict[str, list[bool]] = {"open": [], "done": [], "dropped": []}
    order = np.random.default_rng(0).permutation(len(sets))
    for number in range(_FOLDS):
        held = {int(n) for n in order[number::_FOLDS]}
        weights, intercept = fit_ends([r for n, r in enumerate(sets) if n not in held], tell)
        for row in (sets[n] for n in held):
            for name, told in right.items():
                column = describe_end(tell(row["reminder"]), tell(row[name]))
                total = column @ weights + intercept
                told.append(bool(total >= _OVER_BAR) == (name != "open"))
    return {name: float(np.mean(told)) for name, told in right.items()}


def digest_labelled() -> str:
    """Return the digest of the files that the weights are fitted on."""
    read = [(LABELLED / name).read_bytes() for name in ("endings.jsonl", "pairs.jsonl")]
    return hashlib.sha256(b"".join(read)).hexdigest()[:16]


def write(model: str, same: tuple[Columns, float], over: tuple[Columns, float]) -> None:
    """Write both regressions."""
    data: dict[str, Any] = {"model": model.partition("@")[0], "labelled": digest_labelled()}
    for name, (weights, intercept), bar in (("same", same, _SAME_BAR), ("over", over, _OVER_BAR)):
        data |= {f"{name}_intercept": round(intercept, _DIGITS), f"{name}_bar": bar}
        data[name] = np.round(weights, _DIGITS).tolist()
    lines = [f" {json.dumps(name)}: {json.dumps(value)}" for name, value in data.items()]
    WEIGHTS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def judge_states(model: Embedder | None, reminders: Sequence[Row]) -> Iterator[tuple[Row, bool]]:
    """Yield each labelled reminder, and whether it counts as closed where all stand together."""
    now = NOW

    def tell_time() -> datetime:
        return now

    with (
        TemporaryDirectory() as home,
        MemoryStore.open(home, embedder=model, clock=tell_time) as store,
    ):
        for row in reminders:
            store.remember(
                row["reminder"], id=row["id"], kind="reminder", valid_from=NOW + timedelta(days=1)
            )
        now += timedelta(hours=2)
        for row in reminders:
            store.remember(row["later"], similar=False)
        closed = {day.memory.id for day in store.triggers.coming(within=None).of(When.DONE)}
    for row in reminders:
        yield row, row["id"] in closed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the weights")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, metavar="FOLDER")
    arguments = parser.parse_args()
    print(describe_environment())
    model = open_model(BUNDLED, arguments.cache)
    known: dict[str, Told] = {}

    def tell(text: str) -> Told:
        if text not in known:
            known[text] = Told(text=text, vector=model.embed([text])[0])
        return known[text]

    sets = list(rows(LABELLED / "endings.jsonl"))
    for name, share in hold_out(sets, tell).items():
        print(f"held out, {name}: {share:.2f} right of {len(sets)}")
    if arguments.write:
        pairs = list(rows(LABELLED / "pairs.jsonl"))
        write(model.model, fit_sameness(sets, pairs, tell), fit_ends(sets, tell))
    judged = list(judge_states(model, list(rows(LABELLED / "reminders.jsonl"))))
    wrong = [(row, closed) for row, closed in judged if closed != (row["state"] != "open")]
    print(f"reminders right: {len(judged) - len(wrong)} of {len(judged)}")
    for row, closed in wrong:
        print(f"  {row['state']}, said {'closed' if closed else 'open'}: {row['later']}")


if __name__ == "__main__":
    main()
