"""A month of one person's memories: what is found, pushed, briefed, reminded of and replaced.

    python -m benchmarks.life [--model PATH]... [--only PART]... [--save DIR] FOLDER

FOLDER has `memories.jsonl`, `meta.json` and the labels: `questions.jsonl`, `prompts.jsonl`,
`pairs.jsonl`, `reminders.jsonl` and `briefing.json`. The memories are stored one by one, as the
call of an assistant's tool stores them, with the clock at the moment of each. A briefing is made
at its own moment, and everything else is asked at the moment that `meta.json` names.

Questions and prompts are put twice: without a scope, as an assistant asks that names none, and to
all scopes. "asked" counts all hits, "pushed" the first three; where the search has a cut of that
name, it decides instead. The curve cuts ten hits at a score. `--model` is "bundled" or the path of
a model, and `--save` keeps what was shown, as lines of JSON, to be counted by another program.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from random import Random

from attrs import define, field

from benchmarks.cuts import search_cut
from benchmarks.environment import describe_environment
from benchmarks.life_scores import (
    Labels,
    Row,
    asked_lines,
    briefing_lines,
    curve_lines,
    pair_lines,
    pushed_lines,
    questions_lines,
    read_labels,
    reminder_lines,
)
from benchmarks.vector_cache import DEFAULT_CACHE, open_model
from infinite_memory import MemoryStore
from infinite_memory.core.protocols import Embedder
from infinite_memory.features.reminders.states import When
from infinite_memory.search.embedding import BUNDLED

PARTS = ("questions", "pushed", "curve", "pairs", "reminders", "briefings", "sessions")
SCOPES: Mapping[str, str | None] = {"no scope": None, "all scopes": "ALL"}
_LIMIT = 10


@define
class Month:
    """A store that was filled as the labels say, and what was shown while it was filled.

    `ids` has the labels' id of each stored memory, `named` the ids that the receipt of each memory
    says it may replace, and `briefed` the ids and tokens of every briefing.
    """

    store: MemoryStore
    labels: Labels
    now: datetime
    ids: dict[str, str] = field(factory=dict)
    named: dict[str, set[str]] = field(factory=dict)
    briefed: list[tuple[Sequence[str], int]] = field(factory=list)

    def label(self, stored: str) -> str:
        """Return the labels' id of a memory; one that only the store knows keeps its own."""
        return self.ids.get(stored, stored)

    def show(self, asked: Mapping[str, Row], cut: str, scope: str | None) -> dict[str, list[str]]:
        """Return the ids that are shown for each of the questions or prompts."""
        found = {
            key: search_cut(self.store, row["text"], cut, scope=scope) for key, row in asked.items()
        }
        return {key: [self.label(hit.memory.id) for hit in hits] for key, hits in found.items()}

    def list_open(self) -> set[str]:
        """Return the labels' ids of the reminders that are open in the list of what comes."""
        days = self.store.triggers.coming(within=None).days
        return {self.label(day.memory.id) for day in days if day.when is not When.DONE}


def fill(home: str | Path, labels: Labels, model: Embedder) -> Month:
    """Store the memories in order, and brief in between; the clock then stands at the questions."""
    month = Month(
        store=MemoryStore.open(
            home,
            embedder=model,
            counts_usage=False,
            clock=lambda: month.now,
            random_bytes=Random(0).randbytes,
        ),
        labels=labels,
        now=datetime.now(UTC),
    )
    pending = sorted(labels.briefings, key=lambda entry: str(entry["at"]))
    briefed: dict[int, tuple[Sequence[str], int]] = {}
    for row in [*labels.memories, None]:
        while pending and (row is None or pending[0]["at"] <= row["at"]):
            entry = pending.pop(0)
            briefed[id(entry)] = _brief(month, entry)
        if row is not None:
            _remember(month, row)
    month.briefed = [briefed[id(entry)] for entry in labels.briefings]
    month.now = datetime.fromisoformat(labels.asked)
    return month


def _remember(month: Month, row: Row) -> None:
    month.now = datetime.fromisoformat(row["at"])
    due = row["due"] and datetime.fromisoformat(row["due"])
    receipt = month.store.remember(
        row["text"],
        scope=row["scope"],
        kind=row["kind"],
        origin="assistant",
        valid_from=due and due.replace(tzinfo=due.tzinfo or UTC),
    )
    if receipt.id in month.ids:
        raise ValueError(f"{row['id']} was taken for {month.ids[receipt.id]}, which it repeats")
    month.ids[receipt.id] = row["id"]
    named = getattr(receipt, "replaces", receipt.similar)
    month.named[row["id"]] = {month.label(getattr(each, "id", each)) for each in named}


def _brief(month: Month, entry: Row) -> tuple[Sequence[str], int]:
    month.now = datetime.fromisoformat(entry["at"])
    briefing = month.store.briefing(entry["scope"])
    items = [item for section in briefing.sections for item in section.items]
    return [month.label(item.id) for item in items], briefing.tokens


def measure(month: Month, parts: Sequence[str], kept: dict[str, list[Row]]) -> Iterator[str]:
    """Yield the lines of the chosen parts; what was shown is added to `kept`, by scope."""
    labels = month.labels
    for name, scope in SCOPES.items():
        for part in ("questions", "pushed", "curve"):
            if part in parts:
                yield f"\n{part}, {name}"
                yield from _MEASURED[part](month, scope, kept.setdefault(name, []))
    of_all = kept.setdefault("both", [])
    if "pairs" in parts:
        pairs = {
            key: row["earlier"] in month.named[row["later"]] for key, row in labels.pairs.items()
        }
        of_all += [{"pair": key, "replaces": said} for key, said in pairs.items()]
        yield "\npairs, by what the receipt of the later one names"
        yield from pair_lines(labels, pairs)
    if "reminders" in parts:
        listed = month.list_open()
        states = {key: key in listed for key in labels.reminders}
        of_all += [
            {"reminder": key, "state": "open" if open_ else "closed"}
            for key, open_ in states.items()
        ]
        yield "\nreminders"
        yield from reminder_lines(labels, states)
    if "briefings" in parts:
        for entry, (ids, _) in zip(labels.briefings, month.briefed, strict=True):
            of_all.append({"briefing": [entry["at"], entry["scope"]], "shown": ids})
        yield "\nbriefings"
        yield from briefing_lines(labels, month.briefed)
    if "sessions" in parts:
        yield "\nsessions: not measured here: benchmarks.sessions"


def _ask(month: Month, scope: str | None, kept: list[Row]) -> Iterator[str]:
    shown = month.show(month.labels.questions, "asked", scope)
    kept += [{"question": key, "shown": ids} for key, ids in shown.items()]
    yield from questions_lines(month.labels, shown)
    yield from asked_lines(month.labels, shown)


def _push(month: Month, scope: str | None, kept: list[Row]) -> Iterator[str]:
    prompts = month.labels.prompts
    shown = month.show({**month.labels.questions, **prompts}, "pushed", scope)
    for key, ids in shown.items():
        kept.append({"prompt" if key in prompts else "pushed": key, "shown": ids})
    yield from pushed_lines(month.labels, shown)


def _draw_curve(month: Month, scope: str | None, kept: list[Row]) -> Iterator[str]:  # noqa: ARG001
    found = {}
    for key, row in {**month.labels.questions, **month.labels.prompts}.items():
        hits = month.store.search(row["text"], scope=scope, limit=_LIMIT, threshold=0)
        found[key] = [(month.label(hit.memory.id), hit.score) for hit in hits]
    yield from curve_lines(month.labels, found)


_MEASURED = {"questions": _ask, "pushed": _push, "curve": _draw_curve}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--model", action="append", metavar="PATH", help='"bundled", or a path')
    parser.add_argument("--only", action="append", choices=PARTS, help="a part alone")
    parser.add_argument("--save", type=Path, metavar="DIR", help="keep what was shown there")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, metavar="FOLDER")
    arguments = parser.parse_args()
    labels = read_labels(arguments.folder)
    print(describe_environment())
    for name in arguments.model or [BUNDLED]:
        model = open_model(name, arguments.cache)
        short = model.model.partition("@")[0]
        print(f"\n{short}: {len(labels.memories)} memories, asked at {labels.asked}")
        kept: dict[str, list[Row]] = {}
        with tempfile.TemporaryDirectory() as scratch:
            month = fill(Path(scratch) / "home", labels, model)
            with month.store:
                for line in measure(month, arguments.only or PARTS, kept):
                    print(line, flush=True)
        if arguments.save is not None:
            _save(arguments.save, short, kept)


def _save(folder: Path, model: str, kept: Mapping[str, Sequence[Row]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, shown in kept.items():
        path = folder / f"{model} {name}.jsonl".replace(" ", "-").replace("/", "-")
        path.write_text("".join(f"{json.dumps(row)}\n" for row in shown), encoding="utf-8")


if __name__ == "__main__":
    main()
