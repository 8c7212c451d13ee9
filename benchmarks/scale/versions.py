"""Processor time of a search by two versions of the project, in turns, so that no load favours one.

    python -m benchmarks.scale.versions --before FOLDER [--memories 1000 10000 100000]

FOLDER is the work tree of the other version. Both read the stores of `corpus`, made with vectors
around random ones; the vector of a question is given as well, so that no model takes a part.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import NDArray

from benchmarks.scale.corpus import DEFAULT_FOLDER, RARE, build, questions, store_folder
from infinite_memory import MemoryStore
from infinite_memory.search.embedding import ENGLISH, open_embedder
from infinite_memory.testing.embedders import HashingEmbedder

_HERE = Path(__file__).parents[2]
_SCOPES = {"all": "ALL", "1 %": RARE}
_ROUNDS, _ASKED = 12, 20


class _Given(HashingEmbedder):
    """Gives each question a random vector, in the name of the English model."""

    model = open_embedder(ENGLISH).model

    def embed_query(self, text: str) -> NDArray[np.float32]:
        vector = np.random.default_rng(len(text)).standard_normal(self.dimensions, np.float32)
        return vector / np.linalg.norm(vector)


def serve(home: str, scope: str) -> None:
    """For each line of the standard input, print the milliseconds of a search: the median of 20."""
    with MemoryStore.open(home, embedder=_Given(384), counts_usage=False) as store:
        asked = questions(_ASKED)
        store.search(asked[0], scope=scope)
        for _ in sys.stdin:
            taken = []
            for question in asked:
                start = time.process_time()
                store.search(question, scope=scope)
                taken.append(1000 * (time.process_time() - start))
            print(median(taken), flush=True)


def compare(trees: list[Path], home: Path, scope: str) -> list[float]:
    """Return the median milliseconds of a search by each tree, asked in turns."""
    code = "import runpy, sys; runpy.run_path(sys.argv[1])['serve'](*sys.argv[2:])"
    servers = [
        subprocess.Popen(
            [sys.executable, "-P", "-c", code, __file__, str(home), scope],
            env={**os.environ, "PYTHONPATH": str(tree)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for tree in trees
    ]
    found: list[list[float]] = [[] for _ in trees]
    for _ in range(_ROUNDS):
        for server, figures in zip(servers, found, strict=True):
            assert server.stdin is not None
            assert server.stdout is not None
            print(file=server.stdin, flush=True)
            figures.append(float(server.stdout.readline()))
    for server in servers:
        server.communicate()
    return [median(figures) for figures in found]


def main() -> None:
    """Print a row for each size and scope."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--before", type=Path, required=True)
    parser.add_argument("--memories", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--folder", type=Path, default=DEFAULT_FOLDER / "given")
    arguments = parser.parse_args()
    print("| memories | scope | before, ms | now, ms | ratio |\n|---|---|---|---|---|")
    for memories in arguments.memories:
        build(arguments.folder, memories, model=ENGLISH, embeds=False)
        home = store_folder(arguments.folder, memories, model=ENGLISH)
        for name, scope in _SCOPES.items():
            before, now = compare([arguments.before, _HERE], home, scope)
            print(f"| {memories:,} | {name} | {before:.2f} | {now:.2f} | {now / before:.2f} |")


if __name__ == "__main__":
    main()
