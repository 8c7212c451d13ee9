"""How often the solution of an error is found again when another project meets the error.

    python -m benchmarks.projects_errors [--misses] [--log-lines N] [CASES]

CASES is a file of JSON lines, by default that of the tests: an error with what solved it, and the
same error as it was met again, with other paths, numbers and names. All solutions are stored in one
repository, so that each is a distractor for the others. Then the error that was met again is given
to a plain search of that repository, and to `find_past_solutions`. The rules were settled on the
half "tuning" alone. With `--log-lines`, N lines of a log that went well stand before
and after the error, as a person pastes them who does not know which line matters.

At the end the errors are those of failed commands, and what a hook shows unasked is counted
(`conversations.recall_for_failure`): the right solution, and one for the eighty errors of
`benchmarks/labelled/errors.jsonl`, which none solves. Then every error is stored unsolved.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.environment import describe_environment
from benchmarks.labelled_sets import rows
from infinite_memory import Config, MemoryStore

OTHERS = Path(__file__).parent / "labelled" / "errors.jsonl"
CASES = Path(__file__).parent.parent / "tests" / "projects" / "errors" / "cases.jsonl"
REPOSITORY = "github.com/octo/apollo"
_LOG = (
    "2025-03-01 09:{minute:02}:11,482 INFO [{name}-{number}] GET /{other}/{number} 200 in 12 ms",
    "09:{minute:02}:12 DEBUG {name}: loaded {number} rows for {other} from the cache",
    "[{name}] step {minute}/60: copying {other}/{name}.json",
    "   Compiling {name} v0.{minute}.1 ({other})",
    "ok  {other}/{name}  0.{number}s",
    "{name}_1  | {other} is ready to accept connections on port {number}",
    "    at async {name}.{other} (/srv/{name}/{other}.js:{number}:{minute})",
    '  File "/srv/{name}/{other}.py", line {number}, in {name}_{other}',
    "Warning: option --{name} is deprecated, use --{other} instead",
    "{other}.py:{number}: DeprecationWarning: {name}() will be removed in version {minute}",
    "{minute} passed, 0 failed, 0 errors in {number} ms",
    "INFO PROJ-{number}: {name} deployed with NODE_ENV=production and HTTP_PORT={number}",
    "DEBUG no changes in {name}, not writing {other}.json",
    "INFO {name}: error handler of {other} registered",
)
_NAMES = (
    "orders",
    "users",
    "mail",
    "index",
    "report",
    "session",
    "worker",
    "cart",
    "search",
    "api",
)


def store_solutions(store: MemoryStore, cases: Sequence[Mapping[str, Any]]) -> None:
    """Store the error of each case with its solution, under the id of the case."""
    for case in cases:
        problem = case["stored"]["problem"]
        store.projects.store_chunk(
            f"{problem}\n\n{case['stored']['solution']}",
            kind="solution",
            repository=REPOSITORY,
            error=problem,
            id=case["id"],
        )


def search_plainly(store: MemoryStore, asked: str) -> list[tuple[str, float]]:
    """Return the ids that the search finds with their scores, best first."""
    hits = store.search(asked, scope=f"repo/{REPOSITORY}")
    return [(hit.memory.id, hit.score) for hit in hits]


def find_solutions(store: MemoryStore, asked: str) -> list[tuple[str, float]]:
    """Return the ids of past solutions with their scores, best first."""
    matches = store.projects.find_past_solutions(asked, limit=10)
    return [(match.chunk.id, match.score) for match in matches]


METHODS = {"search": search_plainly, "find_past_solutions": find_solutions}


def surround(asked: str, number: int, random: Random) -> str:
    """Return the error between as many lines of a log."""
    lines = [
        random.choice(_LOG).format(
            minute=random.randrange(60),
            name=random.choice(_NAMES),
            other=random.choice(_NAMES),
            number=random.randrange(10_000),
        )
        for _ in range(2 * number)
    ]
    return "\n".join([*lines[:number], asked, *lines[number:]])


def offer_solution(store: MemoryStore, output: str) -> str | None:
    """Return the id of the solution that a failed command brings up unasked, None for nothing."""
    ids = store.conversations.recall_for_failure(output).ids
    return ids[0] if ids else None


def print_offers(cases: Sequence[Mapping[str, Any]]) -> None:
    """Print how often a failed command brings up a solution, by the halves."""
    others = list(rows(OTHERS))
    print("\n| half | failed commands | number | right solution | another |\n|---|---|---|---|---|")
    with MemoryStore.open("memory://", config=Config(default_scope=f"repo/{REPOSITORY}")) as store:
        store_solutions(store, cases)
        for split in ("tuning", "held-out"):
            groups = {"met again": [case for case in cases if case["split"] == split]}
            for kind in ("look-alike", "unknown"):
                groups[kind] = [
                    row for row in others if (row["split"], row["kind"]) == (split, kind)
                ]
            for name, group in groups.items():
                offers = [(row["id"], offer_solution(store, row["asked"])) for row in group]
                right = sum(own == offered for own, offered in offers)
                wrong = sum(offered not in (None, own) for own, offered in offers)
                total = len(group)
                print(f"| {split} | {name} | {total} | {right / total:.1%} | {wrong / total:.1%} |")
    outcomes = (None, "failed", "in_progress", "abandoned")
    with MemoryStore.open("memory://", config=Config(default_scope=f"repo/{REPOSITORY}")) as store:
        for number, case in enumerate(cases):
            problem, outcome = case["stored"]["problem"], outcomes[number % len(outcomes)]
            store.projects.store_chunk(
                problem, kind="problem", repository=REPOSITORY, error=problem, outcome=outcome
            )
        offered = sum(offer_solution(store, case["asked"]) is not None for case in cases)
    print(f"\nunsolved errors: {len(cases)} stored and met again, {offered} of them brought up")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("cases", type=Path, nargs="?", default=CASES, metavar="CASES")
    parser.add_argument(
        "--misses", action="store_true", help="name what was not found, and instead"
    )
    parser.add_argument("--log-lines", type=int, default=0, metavar="N", help="around each error")
    arguments = parser.parse_args()
    random = Random(5)
    cases = list(rows(arguments.cases))
    print(describe_environment())
    ranks: dict[tuple[str, str], list[int]] = defaultdict(list)
    scores: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    with MemoryStore.open("memory://") as store:
        store_solutions(store, cases)
        for case in cases:
            asked = surround(case["asked"], arguments.log_lines, random)
            for method, search in METHODS.items():
                scored = search(store, asked)
                found = [memory_id for memory_id, _ in scored]
                own = [score for memory_id, score in scored if memory_id == case["id"]]
                others = [score for memory_id, score in scored if memory_id != case["id"]]
                scores[case["split"], method].append((max(own, default=0), max(others, default=0)))
                rank = found.index(case["id"]) + 1 if case["id"] in found else 0
                ranks[case["split"], method].append(rank)
                if arguments.misses and rank != 1:
                    print(f"{case['split']}, {method}: {case['id']} at {rank}, first {found[:3]}")
    print("\n| half | method | errors | first | in the first 3 |\n|---|---|---|---|---|")
    for (split, method), found_at in sorted(ranks.items(), reverse=True):
        first = sum(rank == 1 for rank in found_at)
        third = sum(1 <= rank <= 3 for rank in found_at)
        shares = f"{first / len(found_at):.1%} | {third / len(found_at):.1%}"
        print(f"| {split} | {method} | {len(found_at)} | {shares} |")
    for split in ("tuning", "held-out"):
        own, others = map(sorted, zip(*scores[split, "find_past_solutions"], strict=True))
        print(
            f"\n{split}: the right solution scores {own[0]:.2f} and more; the best wrong one"
            f" {others[len(others) // 2]:.2f} in the median, {others[-1]:.2f} at most"
        )
    print_offers(cases)


if __name__ == "__main__":
    main()
