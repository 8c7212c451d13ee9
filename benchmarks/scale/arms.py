"""The arm of meaning beside FAISS, question by question in turns, and how well the two agree.

    python -m benchmarks.scale.arms [--memories 10000 100000 1000000] [--questions 200]

Both compare a question with every vector and choose the ten best; ours in half precision, FAISS
`IndexFlatIP` in single precision on the same vectors. Each question is asked of one and then of the
other, so that both meet the same machine. Needs `pip install faiss-cpu`.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import faiss
import numpy as np
from numpy.typing import NDArray

from benchmarks.environment import describe_environment
from benchmarks.scale import corpus
from infinite_memory import MemoryStore
from infinite_memory.embedding import OnnxEmbedder, model_directory
from infinite_memory.model.criteria import Criteria
from infinite_memory.search.choosing import _candidates
from infinite_memory.search.vectors import cosines
from infinite_memory.search.view import View

_TEN = 10
Vector = NDArray[np.float32]


def our_arm(view: View) -> Callable[[Vector], list[tuple[int, int]]]:
    selections = [part.eligible(Criteria()) for part in view.parts]

    def search(vector: Vector) -> list[tuple[int, int]]:
        found: list[tuple[float, int, int]] = []
        for number, (part, selection) in enumerate(zip(view.parts, selections, strict=True)):
            scores = cosines(vector, part.segment, selection)
            places = _candidates(scores, _TEN, 0.0)
            found += [(float(scores[place]), number, int(place)) for place in places]
        return [(number, place) for _, number, place in sorted(found, reverse=True)[:_TEN]]

    return search


def measure(folder: Path, memories: int, questions: int) -> None:
    corpus.build(folder, memories)
    with closing(OnnxEmbedder(model_directory("bundled"))) as embedder:
        asked = [embedder.embed_query(q) for q in corpus.questions(questions)]
        middle = corpus.centres(folder, embedder)
    exact = faiss.IndexFlatIP(corpus.DIMENSIONS)
    ids: list[str] = []
    for batch in corpus.batches(memories, middle):
        exact.add(batch.vectors)
        ids += [memory.id for memory in batch.memories]
    with MemoryStore.open(corpus.store_folder(folder, memories), counts_usage=False) as store:
        store.warm_up()
        view = store._services.index.refresh()
        search = our_arm(view)
        times: list[tuple[float, float]] = []
        same = 0
        for vector in asked:
            start = time.perf_counter()
            mine = search(vector)
            between = time.perf_counter()
            _, theirs = exact.search(vector[None], _TEN)
            times.append((between - start, time.perf_counter() - between))
            named = {view.parts[number].segment.id_of(place) for number, place in mine}
            same += len(named & {ids[place] for place in theirs[0]})
    ours, faiss_flat = (statistics.median(column) for column in zip(*times, strict=True))
    print(
        f"{memories:,} memories: ours {ours * 1e3:.2f} ms, FAISS flat {faiss_flat * 1e3:.2f} ms, "
        f"ratio of the medians {ours / faiss_flat:.2f}; median ratio "
        f"{statistics.median(a / b for a, b in times):.2f}; "
        f"{100 * same / (_TEN * len(times)):.2f} % of its ten best are ours as well",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--folder", type=Path, default=corpus.DEFAULT_FOLDER)
    parser.add_argument("--memories", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--questions", type=int, default=200)
    arguments = parser.parse_args()
    print(describe_environment())
    for memories in arguments.memories:
        measure(arguments.folder, memories, arguments.questions)


if __name__ == "__main__":
    main()
