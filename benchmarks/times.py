"""Print how phrases of time are read: `python -m benchmarks.times`.

The table holds phrases with the smallest range that holds every sensible meaning. A reading is
wrong if it does not hold that range, and a refusal is needless if the table has a range.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from attrs import frozen

from infinite_memory import InvalidInput, TimeRange, read_range

TABLE = Path(__file__).parent.parent / "tests" / "times" / "phrases.txt"
ZONE = "Europe/Berlin"
NOW = datetime(2026, 11, 22, 12, tzinfo=ZoneInfo(ZONE))


@frozen
class Phrase:
    """Words of time; `expected` is the range to hold, None if the words are to be refused."""

    words: str
    expected: TimeRange | None


def read_phrases(path: Path = TABLE) -> Iterator[Phrase]:
    """Yield the phrases of the table."""
    for line in path.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            words, start, end = (part.strip() for part in line.split("|"))
            expected = None if start == "!" else TimeRange(_to_moment(start), _to_moment(end))
            yield Phrase(words, expected)


def _to_moment(text: str) -> datetime | None:
    if text == "*":
        return None
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(ZONE)).astimezone(UTC)


def holds(outer: TimeRange, inner: TimeRange) -> bool:
    """Return whether `outer` contains all of `inner`."""
    starts = outer.start is None or (inner.start is not None and outer.start <= inner.start)
    ends = outer.end is None or (inner.end is not None and inner.end <= outer.end)
    return starts and ends


def main() -> None:
    """Print each reading or refusal, and the shares."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    phrases = list(read_phrases())
    refused = needless = wrong = unrefused = 0
    for phrase in phrases:
        try:
            reading = read_range(phrase.words, now=NOW, zone=ZONE)
        except InvalidInput as error:
            refused += 1
            needless += phrase.expected is not None
            print("refused" if phrase.expected is None else "REFUSED", error)
            continue
        if phrase.expected is None:
            unrefused += 1
        elif not holds(reading.range, phrase.expected):
            wrong += 1
        else:
            print("read   ", reading.said)
            continue
        print("WRONG  ", reading.said)
    print(f"{len(phrases)} phrases, {refused} refused ({100 * refused / len(phrases):.1f} %),")
    print(f"{needless} of them needlessly; {wrong} read as a range that does not hold the meaning,")
    print(f"{unrefused} read that have no sensible range")


if __name__ == "__main__":
    main()
