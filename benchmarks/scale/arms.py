"""The arm of meaning beside FAISS, question by question in turns, and how well the two agree.

    python -m benchmarks.scale.arms [--memories 10000 100000 1000000] [--questions 200]

Both compare a question with every vector and choose the ten best; ours by bytes, and those that may
be among the best again by both planes, FAISS `IndexFlatIP` in single precision on the same vectors.
Each question is asked of one and then of the other, so that both meet the same machine. Needs
`pip install faiss-cpu`.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.environment import describe_environment
from benchmarks.scale import corpus
from infinite_memory import MemoryStore
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.search.cosine import (
    QueryVector,
    approximate_cosines,
    cosines,
)
from infinite_memory.search.embedding import OnnxEmbedder, model_directory
from infinite_memory.search.reader import Reader

_TEN = 10
_RESCORED = 1_000
Vector = NDArray[np.float32]


def our_arm(reader: Reader, criteria: Criteria) -> Callable[[Vector], list[tuple[int, int]]]:
    """Return what finds the ten best documents by exact cosines: (part, document), best first.

    These are the steps of a search without those that no comparison with FAISS has: words, and
    everything that makes a total of a cosine.
    """
    parts = [(part.segment, part.eligible(criteria)) for part in reader.segment_readers]

    def search(vector: Vector) -> list[tuple[int, int]]:
        found: list[tuple[float, int, int]] = []
        query = QueryVector.of(vector)
        for number, (segment, doc_filter) in enumerate(parts):
            scores = approximate_cosines(query, segment, doc_filter)
            if not len(scores):
                continue
            nth = min(_RESCORED, len(scores))
            docs = doc_filter.docs_at(np.argpartition(scores, -nth)[-nth:])
            exact = cosines(query, segment, docs)
            best = np.argsort(-exact)[:_TEN]
            found += zip(exact[best].tolist(), [number] * _TEN, docs[best].tolist(), strict=False)
        return [(number, doc) for _, number, doc in sorted(found, reverse=True)[:_TEN]]

    return search


def measure(folder: Path, memories: int, questions: int) -> None:
    corpus.build(folder, memories)
    with closing(OnnxEmbedder(model_directory("english"))) as embedder:
        asked = [embedder.embed_query(q) for q in corpus.questions(questions)]
        middle = corpus.centres(folder, embedder)
    import faiss  # so that the others can use what is here without it

    exact = faiss.IndexFlatIP(corpus.DIMENSIONS)
    ids: list[str] = []
    for batch in corpus.batches(memories, middle):
        exact.add(batch.vectors)
        ids += [memory.id for memory in batch.memories]
    with MemoryStore.open(corpus.store_folder(folder, memories), counts_usage=False) as store:
        store.models.warm_up()
        reader = store._services.index.refresh()
        search = our_arm(reader, Criteria())
        times: list[tuple[float, float]] = []
        same = 0
        for vector in asked:
            start = time.perf_counter()
            mine = search(vector)
            between = time.perf_counter()
            _, theirs = exact.search(vector[None], _TEN)
            times.append((between - start, time.perf_counter() - between))
            named = {reader.segment_readers[number].segment.id_of(place) for number, place in mine}
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
