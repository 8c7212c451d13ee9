"""How often a changed fact is answered with what held before, after a year without keys.

    python -m benchmarks.year [--leave] [FOLDER_OF_NOTES]

Notes, and facts that change, are told to a real server over stdio in the order of their dates, in
one scope and without keys. The caller reads the receipt of each: where it names the note
that the new one replaces, it calls `update_memory` as the advice says; `--leave` never calls it.
Then every question is asked with `retrieve_memory`.

FOLDER_OF_NOTES is a labelled set with `pairs.jsonl`; its "replaces" pairs are facts. The others are
those of `facts.jsonl`, which were written before any rule was tried.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.environment import describe_environment
from benchmarks.year.telling import OWN_FACTS, Asked, facts_of, facts_of_notes, live_a_year


def print_row(label: str, asked: Sequence[Asked], *, supersedes: bool) -> None:
    """Print the counts of some facts as a row of a table."""
    replaced = [one for one in asked if one.is_named and supersedes]
    stale = [one for one in asked if one.is_stale]
    counts = (
        len(asked),
        sum(one.is_named for one in asked),
        sum(one.is_first for one in asked),
        len(stale),
        sum(one.says_later for one in stale),
        sum(one.has_later for one in stale),
        f"{sum(one.has_history for one in replaced)} of {len(replaced)}",
    )
    print(f"| {label} | {' | '.join(map(str, counts))} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, metavar="FOLDER_OF_NOTES")
    parser.add_argument("--leave", action="store_true", help="supersede nothing")
    arguments = parser.parse_args()
    notes, of_notes = facts_of_notes(arguments.folder) if arguments.folder else ([], [])
    own = list(facts_of(OWN_FACTS))
    print(describe_environment())
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch) / "home"
        asked = live_a_year(home, notes, [*of_notes, *own], supersedes=not arguments.leave)
    print(
        f"\n{len(notes)} notes\n\n| facts | number | the receipt named the right one | the earlier"
        " note first of all | the earlier before the later | of those, the later named beside it |"
        " the later in the answer | history has both, where superseded |\n"
        "|---|---|---|---|---|---|---|---|"
    )
    for label, some in (
        ("pairs of the notes", asked[: len(of_notes)]),
        ("own facts", asked[len(of_notes) :]),
        ("all", asked),
    ):
        if some:
            print_row(label, some, supersedes=not arguments.leave)
    for one in asked:
        if one.is_stale:
            beside = "named beside it" if one.says_later else "not named"
            print(f"\nstale ({beside}): {one.fact.question}\n  {one.fact.earlier.text}")
            print(f"  {one.fact.later.text}")


if __name__ == "__main__":
    main()
