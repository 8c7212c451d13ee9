"""A warm search of 10,000, 100,000 and a million memories, beside others on the same vectors.

    python -m benchmarks.scale.latency [--memories 100000] [--questions 200] [--peers [NAME ...]]

Every call is whole: it embeds a question that was not asked before, looks at all that is stored,
and fetches the texts of the ten best. `vector arm` is the exact comparison of vectors and the
choice of ten alone, without a question and without texts. The others get the same vectors, and a
question embedded by the same model within the time; what they answer with, by vectors alone. That
model is the English one, and our call with both models stands beside.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from contextlib import closing
from pathlib import Path

from benchmarks.environment import describe_environment
from benchmarks.scale import corpus
from benchmarks.scale.arms import our_arm
from benchmarks.scale.peers import PEERS, Search
from benchmarks.scale.timing import Percentiles, timed
from infinite_memory import Config, MemoryStore
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.search.embedding import BUNDLED, ENGLISH, OnnxEmbedder, model_directory

_TEN = 10
_HEAD = f"{'':44} {'p50':>9} {'p95':>9} {'p99':>9} {'least':>9}   (ms)"


def report(name: str, figures: Percentiles) -> None:
    print(f"{name:44} {figures}", flush=True)


def measure_store(home: Path, model: str, count: int) -> None:
    config = Config(home=home, embedder=model)
    with MemoryStore.open(home, config=config, counts_usage=False) as store:
        start = time.perf_counter()
        store.models.warm_up()
        print(f"{model}: index ready after {time.perf_counter() - start:.2f} s")
        for number, (name, scope) in enumerate(
            [("no filter", "ALL"), ("scope of 1 %", corpus.RARE)]
        ):
            asked = corpus.questions(count, skip=number * count)
            report(
                f"whole call, {name}",
                timed(lambda q, s=scope: store.search(q, scope=s, limit=_TEN), asked),
            )
        view = store._services.index.refresh()
        vectors = [store._services.embedder.embed_query(q) for q in corpus.questions(50)]
        for name, criteria in (
            ("no filter", Criteria()),
            ("scope of 1 %", Criteria(scopes=frozenset({corpus.RARE}))),
        ):
            report(f"vector arm, {name}", timed(our_arm(view, criteria), vectors))


def measure_peer(name: str, search: Search, embedder: OnnxEmbedder, count: int) -> None:
    for filtered, what in ((False, "no filter"), (True, "scope of 1 %")):
        asked = corpus.questions(count, skip=int(filtered) * count)
        report(
            f"{name}: whole call, {what}",
            timed(lambda q, f=filtered: search(embedder.embed_query(q), f), asked),
        )
        vectors = [embedder.embed_query(q) for q in asked[:50]]
        report(
            f"{name}: without embedding, {what}",
            timed(lambda v, f=filtered: search(v, f), vectors),
        )


def measure_peers(folder: Path, memories: int, count: int, wanted: list[str]) -> None:
    with closing(OnnxEmbedder(model_directory("english"))) as embedder:
        middle = corpus.centres(folder, embedder)
        for name, prepare in PEERS.items():
            if wanted and not any(part in name for part in wanted):
                continue
            home = Path(tempfile.mkdtemp(dir=folder, prefix="peer-"))
            try:
                start = time.perf_counter()
                search = prepare(home / "store", corpus.batches(memories, middle))
                print(f"{name}: filled in {time.perf_counter() - start:.0f} s", flush=True)
                measure_peer(name, search, embedder, count)
            except ImportError as error:
                print(f"{name}: left out, {error}")
            finally:
                shutil.rmtree(home)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--folder", type=Path, default=corpus.DEFAULT_FOLDER)
    parser.add_argument("--memories", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--peers", nargs="*", help="names, or parts of them; none of them: all")
    arguments = parser.parse_args()
    print(describe_environment())
    for memories in arguments.memories:
        print(f"\n{memories:,} memories\n{_HEAD}")
        with closing(OnnxEmbedder(model_directory("english"))) as embedder:
            asked = corpus.questions(100, skip=10_000)
            report("embedding the question", timed(embedder.embed_query, asked))
        for model in (BUNDLED, ENGLISH):
            corpus.build(arguments.folder, memories, model=model)
            home = corpus.store_folder(arguments.folder, memories, model=model)
            measure_store(home, model, arguments.questions)
        if arguments.peers is not None:
            measure_peers(arguments.folder, memories, arguments.questions, arguments.peers)


if __name__ == "__main__":
    main()
