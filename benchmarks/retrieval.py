"""How well memories are found: recall, MRR and nDCG on labelled questions.

    python -m benchmarks.retrieval [--embedder PATH] FOLDER...

Each FOLDER is a labelled set: `corpus.jsonl`, `queries.jsonl` and `qrels.jsonl`. Its documents go
in through `infinite-memory remember --from`, as a user's would, each group into a scope of its own;
a new process then answers every question within its group, by vectors alone, by words alone, and by
the default search. Questions of the category "adversarial" are left out. `--embedder` names another
model than the bundled one, as the setting of that name does.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.environment import describe_environment
from benchmarks.metrics import NAMES, interval, measure
from infinite_memory import MemoryStore
from infinite_memory.config import CONFIG_FILE
from infinite_memory.embedding import BUNDLED

ARMS: dict[str, dict[str, Any]] = {
    "vectors alone": {"arms": ["meaning"], "threshold": 0},
    "words alone": {"arms": ["words"], "threshold": 0},
    "fused": {},
}


def rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def as_draft(document: dict[str, Any]) -> dict[str, Any]:
    """Return a line of a corpus as a line for `remember --from`."""
    draft: dict[str, Any] = {
        "id": document["id"],
        "text": document["text"],
        "scope": document["group"],
        "kind": "message" if "speaker" in document else "note",
    }
    if "speaker" in document:
        draft["speaker"] = document["speaker"]
    if "session" in document:
        draft["conversation_id"] = f"{document['group']}/{document['session']}"
    if moment := document.get("iso") or document.get("date"):
        draft["happened_at"] = moment if "T" not in moment else f"{moment}Z"
    return draft


def ingest(folder: Path, home: Path, embedder: str = BUNDLED) -> float:
    """Store a corpus through the command line; return how many seconds it took."""
    home.mkdir(mode=0o700)
    (home / CONFIG_FILE).write_text(json.dumps({"embedder": embedder}), "utf-8")
    lines = home.with_suffix(".jsonl")
    with lines.open("w", encoding="utf-8") as file:
        for document in rows(folder / "corpus.jsonl"):
            file.write(json.dumps(as_draft(document), ensure_ascii=False) + "\n")
    start = time.perf_counter()
    subprocess.run(
        [
            *(sys.executable, "-m", "infinite_memory.cli.main"),
            *("--home", str(home), "remember", "--from", str(lines)),
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return time.perf_counter() - start


def questions(folder: Path) -> Iterator[tuple[dict[str, Any], frozenset[str]]]:
    relevant: dict[str, set[str]] = defaultdict(set)
    for judgement in rows(folder / "qrels.jsonl"):
        if judgement["score"] > 0:
            relevant[judgement["query_id"]].add(judgement["doc_id"])
    for query in rows(folder / "queries.jsonl"):
        if query.get("category") != "adversarial" and relevant[query["id"]]:
            yield query, frozenset(relevant[query["id"]])


def answer(store: MemoryStore, folder: Path) -> dict[str, list[tuple[float, ...]]]:
    results: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    for query, relevant in questions(folder):
        for arm, settings in ARMS.items():
            hits = store.search(query["text"], scope=query["group"], limit=10, **settings)
            results[arm].append(measure([hit.memory.id for hit in hits], relevant))
    return results


def report(name: str, results: dict[str, list[tuple[float, ...]]]) -> None:
    count = len(next(iter(results.values())))
    print(f"\n{name}: {count} questions, 95 % intervals by bootstrap over questions, 2,000 draws")
    print(f"{'':16}" + "".join(f"{metric:>24}" for metric in NAMES))
    for arm, values in results.items():
        cells = []
        for column in zip(*values, strict=True):
            low, high = interval(column)
            mean = 100 * sum(column) / len(column)
            cells.append(f"{mean:9.1f} [{100 * low:.1f}, {100 * high:.1f}]".rjust(24))
        print(f"{arm:16}" + "".join(cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--embedder", default=BUNDLED, metavar="PATH", help="another model")
    arguments = parser.parse_args()
    print(describe_environment())
    for folder in arguments.folders:
        with tempfile.TemporaryDirectory() as scratch:
            home = Path(scratch) / "home"
            seconds = ingest(folder, home, arguments.embedder)
            with MemoryStore.open(home, counts_usage=False) as store:
                total = store.stats().memories
                results = answer(store, folder)
            print(f"\n{folder.name}: {total} memories in {seconds:.1f} s", end="")
        report(folder.name, results)


if __name__ == "__main__":
    main()
