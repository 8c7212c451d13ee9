"""Every labelled set at a glance: a line for each set and model.

    python -m benchmarks.all_sets [--model NAME]... [--most NUMBER] [--before SESSIONS] FOLDER...

Each FOLDER is a labelled set as in `benchmarks.retrieval`, a person as in `benchmarks.life`, or
holds such folders. A person is asked without a scope, and every other question is put to its group.
The columns are hit@1 and hit@3, recall@10 and nDCG@10, in percent; how many questions that nothing
answers are called likely, by language; and of a person how often a stale memory is first, what is
shown of an answer that is asked for, and what is pushed. `--model` is "bundled", "english" or the
path of a model, by default the first two. With `--most`, only so many questions of a set are put,
evenly spaced. With `--before`, each of them was already put in so many sessions with an assistant
that knew no answer.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import mean

from attrs import frozen

from benchmarks.categories import evenly
from benchmarks.environment import describe_environment
from benchmarks.labelled_sets import find_sets, ingest, open_store, questions, unanswerable
from benchmarks.life import Month, fill
from benchmarks.life_scores import (
    Row,
    asked_lines,
    is_among,
    pushed_lines,
    questions_lines,
    read_labels,
)
from benchmarks.metrics import measure
from benchmarks.ranking_digest import digest_ranking
from benchmarks.vector_cache import open_model
from infinite_memory import MemoryStore
from infinite_memory.core.protocols import Embedder
from infinite_memory.core.values.hits import Hits
from infinite_memory.search.embedding import BUNDLED, ENGLISH

_LIMIT = 10
_PERSON = "memories.jsonl"
_REPLIES = (
    "I do not know that yet.",
    "Nobody has told me that, so I cannot say.",
    "Let me look into it: I found nothing about it.",
    "I have no note of that.",
)


@frozen(kw_only=True)
class Asked:
    """A question, and a row with its `gold`, what is `acceptable` too, and the `need`."""

    text: str
    scope: str | None
    row: Row


@frozen(kw_only=True)
class OpenSet:
    """A labelled set in a store of its own. `unanswered` has questions by their language."""

    name: str
    asked: Sequence[Asked]
    unanswered: Mapping[str, Sequence[Asked]]
    store: MemoryStore
    label: Callable[[str], str] = str
    month: Month | None = None

    def search(self, asked: Asked) -> Hits:
        """Return the first ten hits."""
        return self.store.search(asked.text, scope=asked.scope, limit=_LIMIT)

    def measure(self, asked: Asked) -> tuple[float, float, float, float]:
        """Return hit@1, hit@3, recall@10 and nDCG@10 of a question, in percent."""
        found = [self.label(hit.memory.id) for hit in self.search(asked)]
        first, three = (100.0 * is_among(asked.row, found, number) for number in (1, 3))
        _, recall, _, ndcg = measure(found, frozenset(asked.row["gold"]))
        return first, three, 100 * recall, 100 * ndcg


def find_folders(folders: Sequence[Path]) -> list[Path]:
    """Return the persons and the labelled sets among `folders` and directly in them."""
    people = [
        path.parent
        for folder in folders
        for path in (folder / _PERSON, *sorted(folder.glob(f"*/{_PERSON}")))
        if path.exists()
    ]
    return people + find_sets([folder for folder in folders if folder not in people])


@contextmanager
def open_set(folder: Path, model: Embedder, most: int | None = None) -> Iterator[OpenSet]:
    """Store the set in `folder`, and give it to be asked, at most `most` questions."""
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch) / "home"
        opened = _open_person if (folder / _PERSON).exists() else _open_groups
        labelled = opened(folder, home, model, most)
        with labelled.store:
            yield labelled


def _open_person(folder: Path, home: Path, model: Embedder, most: int | None) -> OpenSet:
    labels = read_labels(folder)
    month = fill(home, labels, model)

    def read(rows: Iterable[Row]) -> list[Asked]:
        return [Asked(text=row["text"], scope=None, row=row) for row in rows]

    silent = read(row for row in labels.questions.values() if row["type"] == "unanswerable")
    return OpenSet(
        name=folder.name,
        asked=_take(read(labels.answerable), most),
        unanswered={"": silent} if silent else {},
        store=month.store,
        label=month.label,
        month=month,
    )


def _open_groups(folder: Path, home: Path, model: Embedder, most: int | None) -> OpenSet:
    ingest(folder, home, model)

    def read(query: Row, relevant: frozenset[str]) -> Asked:
        row = {"gold": relevant, "acceptable": (), "need": "any"}
        return Asked(text=query["text"], scope=query["group"], row=row)

    asked = [read(query, relevant) for query, relevant in questions(folder)]
    silent: dict[str, list[Asked]] = defaultdict(list)
    for query in unanswerable(folder):
        silent[query.get("lang", "")].append(read(query, frozenset()))
    store = open_store(home, model)
    return OpenSet(name=folder.name, asked=_take(asked, most), unanswered=silent, store=store)


def _take(asked: Sequence[Asked], most: int | None) -> Sequence[Asked]:
    return asked if most is None else evenly(asked, most)


def ask_before(labelled: OpenSet, sessions: int) -> None:
    """Log that each question was put in so many sessions of its own, in which nobody answered."""
    for number in range(sessions):
        for place, asked in enumerate(labelled.asked):
            reply = _REPLIES[(number + place) % len(_REPLIES)]
            labelled.store.conversations.log(
                [{"role": "user", "content": asked.text}, {"role": "assistant", "content": reply}],
                conversation_id=f"{number}-{place}",
                scope=asked.scope,
            )


def describe_set(labelled: OpenSet) -> str:
    """Return the columns of a set."""
    measured = [labelled.measure(asked) for asked in labelled.asked]
    cells = [
        f"{len(measured):5}",
        *(f"{mean(column):6.1f}" for column in zip(*measured, strict=True)),
    ]
    likely = [
        f"{language} {sum(labelled.search(each).likely for each in of)} of {len(of)}".strip()
        for language, of in labelled.unanswered.items()
    ]
    parts = [f"likely without an answer: {', '.join(likely)}"] if likely else []
    return "  ".join(["".join(cells), "; ".join(parts + list(_describe_person(labelled)))])


def _describe_person(labelled: OpenSet) -> Iterator[str]:
    month = labelled.month
    if month is None:
        return
    questions_and_prompts = {**month.labels.questions, **month.labels.prompts}
    shown = {cut: month.show(questions_and_prompts, cut, None) for cut in ("asked", "pushed")}
    ranked = questions_lines(month.labels, shown["asked"])
    yield from (line for line in ranked if line.startswith(("stale", "list")))
    for cut, lines in (("asked", asked_lines), ("pushed", pushed_lines)):
        yield f"{cut}: " + ", ".join(lines(month.labels, shown[cut]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--model", action="append", metavar="NAME", help='"bundled", or a path')
    parser.add_argument("--most", type=int, metavar="NUMBER", help="questions of a set")
    parser.add_argument("--before", type=int, default=0, metavar="SESSIONS")
    arguments = parser.parse_args()
    print(f"{describe_environment()}; ranking {digest_ranking()}")
    print(f"{'':24}{'n':>5}{'h@1':>6}{'h@3':>6}{'R@10':>6}{'nDCG':>6}")
    for folder in find_folders(arguments.folders):
        for name in arguments.model or [BUNDLED, ENGLISH]:
            with open_set(folder, open_model(name), arguments.most) as labelled:
                ask_before(labelled, arguments.before)
                print(f"{f'{folder.name} {name}':24}{describe_set(labelled)}", flush=True)


if __name__ == "__main__":
    main()
