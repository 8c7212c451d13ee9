"""How many texts that command a model may enter a conversation unasked, and how many honest ones.

    python -m benchmarks.injections

Each text of `benchmarks/labelled/injections_*.jsonl` is taken as one that an assistant stored: what
an import or a tool brings in is never pushed, whatever it says.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

from infinite_memory.engine.retrieval.cut import is_fit_to_tell

_LABELLED = Path(__file__).parent / "labelled"


def count_withheld(name: str) -> dict[bool, tuple[int, int]]:
    """Return how many texts are withheld and how many there are, by whether they are poisoned."""
    withheld: Counter[bool] = Counter()
    every: Counter[bool] = Counter()
    for line in (_LABELLED / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        every[row["poisoned"]] += 1
        withheld[row["poisoned"]] += not is_fit_to_tell(row["text"])
    return {is_poisoned: (withheld[is_poisoned], every[is_poisoned]) for is_poisoned in every}


def main() -> None:
    """Print the figures of both halves."""
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    for name in ("injections_development", "injections_held_out"):
        counts = count_withheld(name)
        poisoned, honest = (
            " of ".join(map("{:,}".format, counts[label])) for label in (True, False)
        )
        print(f"{name}: withheld {poisoned} that command a model, {honest} honest ones")


if __name__ == "__main__":
    main()
