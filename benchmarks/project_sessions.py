"""Where sessions are cut, beside two simple rules, on labelled streams of events.

    python -m benchmarks.project_sessions

Precision and recall of the boundaries of pieces of work, exactly at the labelled event. The half
"tuning" was used to find the rules, the half "held-out" was not.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from datetime import timedelta
from itertools import pairwise

from benchmarks.environment import describe_environment
from infinite_memory import MemoryStore
from infinite_memory.core.config import Chunking
from infinite_memory.features.projects.chunking.cutting import cut_session
from infinite_memory.features.projects.chunking.describing import describe_piece
from infinite_memory.features.projects.chunking.rules import Embed
from infinite_memory.features.sessions.events.event import EventKind
from tests.harness.streams import Stream, load_streams

Rule = Callable[[Stream], set[int]]
_TEN_MINUTES = timedelta(minutes=10)


def cut_at_commits(stream: Stream) -> set[int]:
    """Return a cut after every commit: before the next message, or else the next event."""
    cuts = set()
    for number, event in enumerate(stream.events[:-1]):
        if event.kind is EventKind.COMMIT:
            rest = stream.events[number + 1 :]
            to_request = next((i for i, other in enumerate(rest) if other.is_request), None)
            to_commit = next(
                (i for i, other in enumerate(rest) if other.kind is EventKind.COMMIT), len(rest)
            )
            is_near = to_request is not None and to_request < to_commit
            cuts.add(number + 1 + (to_request if is_near and to_request is not None else 0))
    return cuts


def cut_every_ten_minutes(stream: Stream) -> set[int]:
    """Return a cut before the first event that is ten minutes after the beginning of a piece."""
    cuts, begun = set(), stream.events[0].at
    for number, event in enumerate(stream.events):
        if event.at - begun >= _TEN_MINUTES:
            cuts.add(number)
            begun = event.at
    return cuts


def cut_by_rules(stream: Stream, embed: Embed | None) -> set[int]:
    """Return the cuts of the library."""
    cuts, done = set(), 0
    for cut in cut_session(stream.events, Chunking(), embed)[:-1]:
        done += len(cut.piece.events)
        cuts.add(done)
    return cuts


def score(streams: Iterable[Stream], rule: Rule) -> tuple[float, float, float]:
    """Return precision, recall and F1 of the cuts in all streams together."""
    right = wrong = missed = 0
    for stream in streams:
        cuts = rule(stream)
        right += len(cuts & stream.cuts)
        wrong += len(cuts - stream.cuts)
        missed += len(stream.cuts - cuts)
    precision = right / max(1, right + wrong)
    recall = right / max(1, right + missed)
    return precision, recall, 2 * right / max(1, 2 * right + wrong + missed)


def judge_kinds(streams: Iterable[Stream], embed: Embed | None) -> tuple[int, int, int]:
    """Return how many pieces are cut as labelled, and of how many kind and outcome are too."""
    pieces = kinds = outcomes = 0
    for stream in streams:
        bounds = [0, *sorted(stream.cuts), len(stream.events)]
        labels = dict(zip(pairwise(bounds), stream.pieces, strict=False))
        done = 0
        for cut in cut_session(stream.events, Chunking(), embed):
            span = (done, done + len(cut.piece.events))
            described = describe_piece(cut, stream.events[:done])
            done = span[1]
            if span in labels:
                pieces += 1
                kinds += described.kind == labels[span]["kind"]
                outcome = described.details.get("outcome", "success")
                outcomes += outcome == labels[span]["outcome"]
    return pieces, kinds, outcomes


def main() -> None:
    """Print precision and recall of both halves."""
    argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0]).parse_args()
    print(describe_environment(), end="\n\n")
    with MemoryStore.open("memory://") as store:
        embed = store._services.embedder.embed
        rules: dict[str, Rule] = {
            "the rules": lambda stream: cut_by_rules(stream, embed),
            "the rules, without embeddings": lambda stream: cut_by_rules(stream, None),
            "every commit": cut_at_commits,
            "every ten minutes": cut_every_ten_minutes,
        }
        print("| half | source | streams | cut by | precision | recall | F1 |")
        print("|---|---|---|---|---|---|---|")
        for half in ("tuning", "held-out"):
            for source in ("recorded", "written", "both"):
                streams = [s for s in load_streams(half) if source in (s.source, "both")]
                for name, rule in rules.items():
                    figures = " | ".join(f"{100 * figure:.1f}" for figure in score(streams, rule))
                    print(f"| {half} | {source} | {len(streams)} | {name} | {figures} |")
        for half in ("tuning", "held-out"):
            pieces, kinds, outcomes = judge_kinds(load_streams(half), embed)
            print(
                f"\n{half}: of {pieces} pieces with the labelled bounds, {kinds} have the labelled"
                f" kind and {outcomes} the labelled outcome"
            )


if __name__ == "__main__":
    main()
