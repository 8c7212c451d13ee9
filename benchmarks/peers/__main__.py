"""Let other memories that run offline, and this one, do the same work, and print one table.

    python -m benchmarks.peers [--cache FOLDER] [--eval FOLDER] [--only NAME]...

Each is installed into an environment of its own under the cache folder, a temporary one unless it
is given, at the version that was tried; that needs the package registries, and npm for one of them.
Each has its minutes, ten by default. One that cannot be run is listed with the reason.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.environment import describe_environment
from benchmarks.peers.installing import fetch_model
from benchmarks.peers.subjects import SUBJECTS, Subject
from benchmarks.peers.work import Labels, Rows, measure, read_labels

_DEFAULT = Path(__file__).parents[1] / "labelled" / "people" / "en"
_NOTES = """
¹ The public all-MiniLM-L6-v2 in 32 bits, laid where the product looks for its download.
² Its search by meaning needs a download and a Python whose sqlite3 loads extensions; unless both
are here, it searches by words, and says nothing of it.
³ Asked as it is, then for each word of more than three letters, the most found words first."""


class TimeIsUp(Exception):
    """A product took longer than it may."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cache", type=Path, help="where to install, and to find it again")
    parser.add_argument("--eval", type=Path, default=_DEFAULT, help="memories and questions")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--minutes", type=int, default=10, help="for each of them")
    names = [subject.name for subject in SUBJECTS]
    parser.add_argument("--only", action="append", choices=names, metavar="NAME")
    given = parser.parse_args()
    labels = read_labels(given.eval)
    with tempfile.TemporaryDirectory() as temporary:
        cache = (given.cache or Path(temporary)).absolute()
        model = fetch_model(cache)
        signal.signal(signal.SIGALRM, _stop)
        columns, failed = {}, []
        for kind in SUBJECTS:
            if not given.only or kind.name in given.only:
                subject = kind(cache, model)
                columns[subject] = rows = {"version": _version(subject)}
                print(f"{subject.name} ...", file=sys.stderr, flush=True)
                signal.alarm(60 * given.minutes)
                failed += _run(subject, cache / "homes", rows, labels, given.kills)
    asked = len(labels.answerable) + len(labels.unanswerable)
    print(f"{len(labels.memories)} memories and {asked} questions of {given.eval.name}.")
    print(f"{describe_environment()}\n")
    print_table(columns)
    print(_NOTES)
    for line in failed:
        print(f"not run to its end: {line}")


def _run(subject: Subject, homes: Path, rows: Rows, labels: Labels, kills: int) -> list[str]:
    """Fill `rows` as far as the product comes in its time; return why it came no further."""
    folder = homes / subject.name
    shutil.rmtree(folder, ignore_errors=True)
    try:
        for some in measure(subject, folder, labels, kills):
            rows.update(some)
            print(some, file=sys.stderr, flush=True)
    except Exception as error:  # noqa: BLE001, one may fail in any way, and the others go on
        print(repr(error), file=sys.stderr)
        return [f"{subject.name}: {type(error).__name__}: {error}"]
    finally:
        signal.alarm(0)
        subject.kill()
    return []


def print_table(columns: Mapping[Subject, Rows]) -> None:
    """Print the products as columns and what was measured as rows, in Markdown."""
    print("| |", " | ".join(subject.name for subject in columns), "|")
    print("|---" * (len(columns) + 1), end="|\n")
    for row in dict.fromkeys(name for rows in columns.values() for name in rows):
        print(f"| {row} |", " | ".join(rows.get(row, "") for rows in columns.values()), "|")


def _version(subject: Subject) -> str:
    name, _, version = subject.package.rpartition("@" if "/server" in subject.package else "==")
    return version if name else "this checkout"


def _stop(_signal: int, _frame: object) -> None:
    raise TimeIsUp("it had no minute left")


if __name__ == "__main__":
    main()
