"""Call the tools of one server with hostile arguments, and look at every answer.

python -m benchmarks.soak.fuzz --calls 100000
python -m benchmarks.soak.fuzz --calls 2000 --broken alters-texts

The calls are made from the input schemas that the server itself lists; a share of the lines are no
sound requests at all. At the end the store must hold what was acknowledged, and nothing else.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

from attrs import frozen

from benchmarks.raw_server import server_command
from benchmarks.soak.fuzzing import broken as broken_builds
from benchmarks.soak.fuzzing.broken import BUILDS
from benchmarks.soak.fuzzing.conversation import Conversation, Fault
from benchmarks.soak.report import bound, conclude, scratch

_HANG_SECONDS = 60.0


@frozen(kw_only=True)
class Outcome:
    """How many calls and frames were sent, how many calls succeeded, and what went wrong."""

    calls: int
    succeeded: int
    frames: int
    kinds: Mapping[str, int]
    faults: tuple[Fault, ...]

    def count(self, *kinds: str) -> int:
        """Return the number of faults of these kinds."""
        return sum(fault.kind in kinds for fault in self.faults)


def run(
    home: Path,
    *,
    calls: int,
    seed: int = 1,
    frames: float = 0.05,
    broken: str | None = None,
    limit: float = _HANG_SECONDS,
    patience: int = 100,
) -> Outcome:
    """Hold one conversation with a server on the store in `home`, then look into the store.

    An answer that takes longer than `limit` seconds is a hang; after `patience` faults it ends.
    """
    conversation = Conversation(
        _command(home, broken), home.with_suffix(".log"), Random(seed), limit
    )
    conversation.hold(calls, frames=frames, patience=patience)
    differences = [Fault("lost", what) for what in conversation.ledger.differences(home)]
    return Outcome(
        calls=conversation.counts["calls"],
        succeeded=conversation.counts["succeeded"],
        frames=conversation.counts["frames"],
        kinds=conversation.kinds,
        faults=(*conversation.faults, *differences),
    )


def _command(home: Path, broken: str | None) -> Sequence[str]:
    honest = [*server_command(home), "--toolsets", "core,browse,profile"]
    if broken is None:
        return honest
    # By its path, since the benchmarks are not installed; -P keeps its folder from being searched.
    script = str(Path(broken_builds.__file__))
    return [sys.executable, "-P", script, broken, *honest[3:]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--frames", type=float, default=0.05, help="share of lines that are no call"
    )
    parser.add_argument("--broken", choices=BUILDS)
    parser.add_argument("--limit", type=float, default=_HANG_SECONDS, help="seconds for an answer")
    parser.add_argument("--home", help="a folder on the disk to be tested")
    flags = parser.parse_args()
    started = time.perf_counter()
    with scratch(flags.home) as folder:
        outcome = run(
            folder / "store",
            calls=flags.calls,
            seed=flags.seed,
            frames=flags.frames,
            broken=flags.broken,
            limit=flags.limit,
        )
    seconds = time.perf_counter() - started
    return conclude(
        f"{outcome.calls} calls, {outcome.succeeded / outcome.calls:.0%} of them succeeded, and"
        f" {outcome.frames} other lines, build {flags.broken or 'as it is'}, seed {flags.seed}:"
        f" {outcome.count('death')} deaths, {outcome.count('hang')} hangs,"
        f" {outcome.count('invalid')} invalid answers,"
        f" {outcome.count('lost', 'end')} lost, altered or badly ended"
        f"{bound(len(outcome.faults), outcome.calls)};"
        f" {seconds:.0f} s, {outcome.calls / seconds:.0f} calls a second",
        [str(fault) for fault in outcome.faults],
        expected=flags.broken is not None,
    )


if __name__ == "__main__":
    sys.exit(main())
