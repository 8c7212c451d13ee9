"""Tells facts to a server in the order of their dates, and asks for them at the end of the year."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from attrs import field, frozen

from benchmarks.labelled_sets import questions, rows
from benchmarks.raw_server import RawServer, server_command

OWN_FACTS = Path(__file__).with_name("facts.jsonl")
"""Twenty facts that change within a year, in six languages."""


@frozen(kw_only=True)
class Note:
    """A text to tell, and the day on which it is told."""

    name: str
    text: str
    date: str


@frozen(kw_only=True)
class Fact:
    """What was told first, what was told when it had changed, and the question for it."""

    earlier: Note
    later: Note
    question: str


@frozen(kw_only=True)
class Asked:
    """What became of a fact.

    - `is_named`: the receipt of the later note named the earlier one.
    - `is_stale`: in the answer the earlier note stands before the later one, or without it.
    - `is_first`: the earlier note is the first of the answer.
    - `has_later`: the later note is in the answer.
    - `says_later`: the earlier note of the answer says that the later one was told later.
    - `has_history`: the history of the later note has both.
    """

    fact: Fact
    is_named: bool
    is_stale: bool
    is_first: bool
    has_later: bool
    says_later: bool
    has_history: bool


@frozen(kw_only=True)
class _Caller:
    """An assistant that stores notes and reads the receipts; `ids` are those of the notes."""

    server: RawServer
    ids: dict[str, str] = field(factory=dict)
    named: set[str] = field(factory=set)

    def tell(self, note: Note, replaced: Note | None, *, supersedes: bool) -> None:
        """Store `note`; where its receipt names `replaced`, call what the advice says."""
        receipt = self.server.call("store_memory", text=note.text, happened_at=note.date)
        self.ids[note.name] = receipt["id"]
        named = [*receipt.get("replaces", ()), *receipt.get("similar", ())]
        if replaced is None or self.ids[replaced.name] not in {near["id"] for near in named}:
            return
        self.named.add(note.name)
        if supersedes:
            assert "update_memory(id=" in receipt["advice"], receipt
            self.server.call(
                "update_memory", id=receipt["id"], supersedes=[self.ids[replaced.name]]
            )

    def ask(self, fact: Fact) -> Asked:
        """Put the question of a fact, and ask for the history of what holds now."""
        earlier, later = self.ids[fact.earlier.name], self.ids[fact.later.name]
        hits = self.server.call("retrieve_memory", query=fact.question)["hits"]
        ids = [hit["id"] for hit in hits]
        place = {memory_id: number for number, memory_id in enumerate(ids)}
        told = {hit["id"]: [near["id"] for near in hit.get("told_later", ())] for hit in hits}
        history = self.server.call("memory_history", id=later)["hits"]
        return Asked(
            fact=fact,
            is_named=fact.later.name in self.named,
            is_stale=earlier in place and place[earlier] < place.get(later, len(ids)),
            is_first=ids[:1] == [earlier],
            has_later=later in place,
            says_later=later in told.get(earlier, ()),
            has_history={earlier, later} <= {revision["id"] for revision in history},
        )


def facts_of(path: Path) -> Iterator[Fact]:
    """Yield the facts of a file such as `facts.jsonl`."""
    for row in rows(path):
        earlier, later = (
            Note(name=f"{row['id']}/{which}", text=row[which], date=row[f"{which}_date"])
            for which in ("earlier", "later")
        )
        yield Fact(earlier=earlier, later=later, question=row["question"])


def facts_of_notes(folder: Path) -> tuple[list[Note], list[Fact]]:
    """Return the notes of a labelled set, and as facts its pairs that replace each other."""
    notes = {
        row["id"]: Note(name=row["id"], text=row["text"], date=row["date"])
        for row in rows(folder / "corpus.jsonl")
    }
    asked = {
        memory_id: query["text"]
        for query, relevant in questions(folder)
        if query["category"] == "update"
        for memory_id in relevant
    }
    facts = [
        Fact(
            earlier=notes[pair["earlier_id"]],
            later=notes[pair["later_id"]],
            question=asked[pair["later_id"]],
        )
        for pair in rows(folder / "pairs.jsonl")
        if pair["relation"] == "replaces"
    ]
    return list(notes.values()), facts


def live_a_year(
    home: Path, notes: Iterable[Note], facts: Sequence[Fact], *, supersedes: bool = True
) -> list[Asked]:
    """Tell `notes` and `facts` to a server on the store in `home`; return what became of `facts`.

    The caller gives no keys. If `supersedes`, it says that the later note of a fact replaces the
    earlier one wherever the receipt names that.
    """
    replaced = {fact.later.name: fact.earlier for fact in facts}
    told = {note.name: note for note in notes}
    for fact in facts:
        told |= {fact.earlier.name: fact.earlier, fact.later.name: fact.later}
    with RawServer(server_command(home, "--toolsets", "core,admin"), errors=None) as server:
        server.handshake()
        caller = _Caller(server=server)
        for note in sorted(told.values(), key=lambda note: (note.date, note.name)):
            caller.tell(note, replaced.get(note.name), supersedes=supersedes)
        return [caller.ask(fact) for fact in facts]
