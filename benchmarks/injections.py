"""How many texts that command a model are known as such, and how many honest ones seem to.

    python -m benchmarks.injections [--fit]

Each text of `benchmarks/labelled/injections_*.jsonl` is taken as one that an assistant stored. Then
those of the held-out half that command a model are stored by each way, and asked for in their own
words: how many stand first without a mark, and how many are pushed. `--fit` fits the weights
of `commands_model` on the development half: logistic regression with a penalty of 0.1 on the square
of the weights, by Newton's method over the texts. Its bar lets three of the honest texts through in
a cross-validation of ten parts.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from infinite_memory import Draft, MemoryStore, Origin
from infinite_memory.engine.retrieval.trust import is_command, is_waiting
from infinite_memory.search.text.injection import WEIGHTS, Injection, list_features

_LABELLED = Path(__file__).parent / "labelled"
_PENALTY = 0.1
_PARTS = 10
_MISTAKES = 3
_STEPS = 30

Rows = list[tuple[str, bool]]


def read_rows(name: str) -> Rows:
    """Return the texts of a labelled set, each with whether it commands a model."""
    lines = (_LABELLED / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [(row["text"], row["poisoned"]) for row in map(json.loads, lines)]


def fit_weights(rows: Rows) -> tuple[float, dict[str, float]]:
    """Return the intercept and the weight of each feature that two texts have."""
    every = [set().union(*list_features(text)) for text, _ in rows]
    counts = Counter(name for features in every for name in features)
    names = sorted(name for name, count in counts.items() if count > 1)
    columns = {name: number for number, name in enumerate(names)}
    table = np.zeros((len(rows), len(names)))
    for line, features in zip(table, every, strict=True):
        known = [columns[name] for name in features if name in columns]
        line[known] = 1 / np.sqrt(max(len(known), 1))
    parts = _solve(table @ table.T + 1, np.array([label for _, label in rows], float))
    return float(parts.sum()), dict(zip(names, map(float, table.T @ parts), strict=True))


def _solve(products: NDArray[np.float64], labels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the part of each text in the weights, shape (texts,), by Newton's method."""
    parts = np.zeros(len(labels))
    for _ in range(_STEPS):
        odds = products @ parts
        shares = 1 / (1 + np.exp(-odds))
        spread = np.maximum(shares * (1 - shares), 1e-6)
        wanted = odds + (labels - shares) / spread
        parts = np.linalg.solve(products + np.diag(_PENALTY / spread), wanted)
    return parts


def choose_bar(rows: Rows) -> float:
    """Return the bar that takes so many honest texts for one that commands, unseen."""
    order = np.random.default_rng(0).permutation(len(rows)) % _PARTS
    honest: list[float] = []
    for part in range(_PARTS):
        seen = [row for row, number in zip(rows, order, strict=True) if number != part]
        intercept, weights = fit_weights(seen)
        injection = Injection(intercept=intercept, bar=0.0, weights=weights)
        honest += [
            max(map(injection.measure_odds, list_features(text)))
            for (text, label), number in zip(rows, order, strict=True)
            if number == part and not label
        ]
    return sorted(honest, reverse=True)[_MISTAKES]


def write_weights() -> None:
    """Fit the weights on the development half, and write them."""
    rows = read_rows("injections_development")
    intercept, weights = fit_weights(rows)
    data = {
        "labelled": sha256(json.dumps(rows).encode()).hexdigest(),
        "intercept": round(intercept, 4),
        "bar": round(choose_bar(rows), 4),
        "weights": {name: round(weight, 3) for name, weight in weights.items()},
    }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace(',"', ',\n"')
    WEIGHTS.write_text(f"{text}\n", encoding="utf-8")


def count_withheld(name: str) -> dict[bool, tuple[int, int]]:
    """Return how many texts are withheld and how many there are, by whether they are poisoned."""
    withheld: Counter[bool] = Counter()
    every: Counter[bool] = Counter()
    for text, label in read_rows(name):
        every[label] += 1
        withheld[label] += is_command(text)
    return {label: (withheld[label], every[label]) for label in every}


def count_plain(origin: Origin) -> tuple[int, int]:
    """Return how many texts of an origin are the first hit without a mark, and are pushed."""
    texts = [text for text, label in read_rows("injections_held_out") if label]
    plain = pushed = 0
    with MemoryStore.open("memory://") as store:
        store.remember_many([Draft(text=text, origin=origin) for text in texts])
        for text in texts:
            first = store.search(text, limit=1)[0].memory
            plain += not first.is_brought_in and not is_waiting(first)
            pushed += len(store.search(text, cut="pushed", limit=1)) > 0
    return plain, pushed


def main() -> None:
    """Print the figures of both halves."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--fit", action="store_true", help="Fit the weights first.")
    if parser.parse_args().fit:
        write_weights()
    for name in ("injections_development", "injections_held_out"):
        counts = count_withheld(name)
        poisoned, honest = (
            " of ".join(map("{:,}".format, counts[label])) for label in (True, False)
        )
        print(f"{name}: withheld {poisoned} that command a model, {honest} honest ones")
    for origin in (Origin.IMPORT, Origin.TOOL, Origin.ASSISTANT):
        plain, pushed = count_plain(origin)
        print(f"held out, by {origin}: {plain} are a plain first hit, {pushed} are pushed")


if __name__ == "__main__":
    main()
