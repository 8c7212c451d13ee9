"""From a cold process to the first result of a command-line search, and where the time goes.

    python -m benchmarks.cold_search [--memories 10000] [--runs 15]

Stores real sentences (the words of this project's own documentation, drawn at random into texts of
about 25 words) through the command line, then starts `infinite-memory search` again and again, each
time as a new process. The account of one such process is measured inside it, step by step.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.environment import describe_environment

QUESTION = "how are vectors stored in the database?"
CLI = (sys.executable, "-m", "infinite_memory.apps.cli.main")
STEPS = r"""
import time
marks = [("", time.perf_counter())]
def mark(name): marks.append((name, time.perf_counter()))
import numpy; mark("import numpy")
import pydantic; mark("import pydantic")
import apsw; mark("import apsw")
import infinite_memory.store; mark("import the library")
import infinite_memory.apps.cli.main; mark("import the command line")
import sys
store = infinite_memory.MemoryStore.open(sys.argv[1], counts_usage=False); mark("open the database")
services = store._services
services.index.refresh(); mark("map the index")
services.embedder.embed_query("warm up"); mark("import and load the model, first vector")
hits = store.search(sys.argv[2]); mark("search and fetch the texts")
assert hits
for (_, before), (name, after) in zip(marks, marks[1:]):
    print(f"{1000 * (after - before):8.1f} ms  {name}")
"""


def corpus(folder: Path, count: int) -> Path:
    words = re.findall(
        r"[A-Za-z]{2,}", " ".join(p.read_text("utf-8") for p in folder.rglob("*.md"))
    )
    draw = random.Random(0)
    path = Path(tempfile.mkdtemp()) / "memories.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            text = " ".join(draw.choices(words, k=draw.randint(10, 40)))
            file.write(json.dumps({"id": f"m{number}", "text": text}) + "\n")
    return path


def timed(*command: str) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=15)
    arguments = parser.parse_args()
    print(describe_environment())
    docs = Path(__file__).parents[1] / "docs"
    with tempfile.TemporaryDirectory() as home:
        lines = corpus(docs, arguments.memories)
        stored = timed(*CLI, "--home", home, "remember", "--from", str(lines))
        print(f"{arguments.memories:,} memories stored in {stored:.1f} s")
        runs = [timed(*CLI, "--home", home, "search", QUESTION) for _ in range(arguments.runs)]
        bare = [timed(sys.executable, "-c", "pass") for _ in range(arguments.runs)]
        print(
            f"cold process to result: median {statistics.median(runs):.3f} s,"
            f" worst {max(runs):.3f} s, of {arguments.runs} runs;"
            f" an empty Python process: median {statistics.median(bare):.3f} s"
        )
        print("one process, step by step, after the start of Python:")
        done = subprocess.run(
            [sys.executable, "-c", STEPS, home, QUESTION],
            check=True,
            capture_output=True,
            text=True,
        )
        print(done.stdout, end="")


if __name__ == "__main__":
    main()
