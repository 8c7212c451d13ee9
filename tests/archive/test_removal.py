"""The removal of a person: exported, erased with all that is theirs, and proven by a scan."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from infinite_memory import AccessDenied, Config, Conflict, InvalidInput, MemoryStore, NotFound
from infinite_memory.core.values.access.key import AccessKey
from infinite_memory.features.archive import removal
from infinite_memory.testing.embedders import HashingEmbedder

WORDS = ("xylograph", "quokka", "mbira", "zeugma", "tardigrade", "fandango")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def opened(home: Path) -> MemoryStore:
    return MemoryStore.open(home, config=Config(home=home), embedder=HashingEmbedder())


@pytest.fixture
def store(home: Path) -> Iterator[MemoryStore]:
    with opened(home) as store:
        yield store


def hold(store: MemoryStore, key: AccessKey) -> MemoryStore:
    return store.confine(scopes=key.scopes, client=key.name, key=key.id)


def fill(store: MemoryStore, name: str) -> MemoryStore:
    """Make a person who has something of everything."""
    person = hold(store, store.keys.create(name, shared=["team"], max_memories=900).key)
    for number, word in enumerate(WORDS):
        person.remember(f"{name} keeps a {word} in box {number}", id=f"{name}-{number}")
    person.revise(f"{name}-0", revision=1, text=f'{name} has lost the "größte" xylograph of all')
    person.forget(f"{name}-1")
    person.profile.update({"name": f"{name} the collector of cembalos"})
    person.triggers.add("greet", f"greet {name} with a saraband", {"any_of": ["hello"]})
    person.conversations.add_short_term(
        [{"role": "user", "content": f"{name} likes gamelans"}], "c"
    )
    uri = "data:text/plain;base64,c2FyYWJhbmRzIGFuZCBnYW1lbGFucyBhbmQgY2VtYmFsb3M="
    person.attachments.attach(
        f"{name}-2", uri=uri, description=f"the sheet of {name}, a villanella"
    )
    person.search("box")
    return person


def files_with(home: Path, text: str) -> list[str]:
    """Return which files hold a text; only done while no store is open."""
    return [
        path.name
        for path in sorted(home.rglob("*"))
        if path.is_file() and text.encode() in path.read_bytes()
    ]


def test_nothing_of_a_person_is_left_and_everything_of_the_others(home: Path) -> None:
    export = home.parent / "anna.jsonl"
    with opened(home) as store:
        anna, bob = fill(store, "anna"), fill(store, "bob")
        further = store.keys.create("phone", rights="write", scopes=["people/anna"])
        kept = anna.share("anna-3", to="team", copy=True).id
        anna.remember("anna drafts a ricercar in secret", id="draft")
        anna.revise("draft", revision=1, text="anna has written a toccata")
        anna.share("draft", to="team")
        removed = store.keys.remove("anna", export_to=export)
        assert removed.leftovers == removed.pending == removed.backups == ()
        assert removed.scanned_files >= 2
        assert removed.looked_for > 20
        assert (removed.name, removed.scope, removed.blanked) == ("anna", "people/anna", 1)
        assert "people/anna" not in {scope.name for scope in store.scopes}
        assert bob.get(kept).text == "anna keeps a zeugma in box 3"
        assert bob.get("draft").text == "anna has written a toccata"
        assert bob.profile.get().fields == {"name": "bob the collector of cembalos"}
        assert len(bob.triggers.list()) == 1
        with pytest.raises(AccessDenied):
            store.keys.check(further.secret)
        assert [key.name for key in store.keys.list() if key.revoked_at is None] == ["bob"]
        assert {each.name for each in store.keys.usage()} == {"bob"}
        assert list(store.verify().findings) == []
        with pytest.raises(Conflict, match="for good"):
            store.undo(next(e.number for e in store.journal if e.action.operation == "erase"))
    for text in (
        *("anna keeps a quokka", "anna has lost", "anna keeps a xylograph", "ricercar"),
        *("anna the collector", "greet anna", "anna likes", "sheet of anna"),
    ):
        assert files_with(home, text) == [], text
    assert files_with(home, "bob keeps a quokka") != []
    lines = [json.loads(line) for line in export.read_text(encoding="utf-8").splitlines()]
    told = str(lines)
    for text in ("anna keeps a mbira", "anna the collector", "greet anna", "c2FyYWJhbmRz"):
        assert text in told
    assert "bob" not in told
    assert export.stat().st_mode & 0o77 == 0
    with opened(home) as store:
        again = store.keys.create("anna", shared=["team"]).key
        found = [hit.memory.text for hit in hold(store, again).search("box")]
        assert found == ["anna keeps a zeugma in box 3"]  # the copy of the team


def test_a_file_that_still_holds_a_text_is_named(home: Path, store: MemoryStore) -> None:
    fill(store, "anna")
    (home / "logs").mkdir(exist_ok=True)
    note = home / "logs" / "copied.txt"
    note.write_text("x" * 5_000_001 + "anna keeps a fandango in box 5" + "y" * 99, encoding="utf-8")
    removed = store.keys.remove("anna", export_to=None)
    assert removed.leftovers == (str(note),)
    assert removed.export is None


def test_backups_of_that_time_are_named(home: Path, store: MemoryStore) -> None:
    store.backups.create()
    fill(store, "anna")
    later = store.backups.create()
    removed = store.keys.remove("anna", export_to=None)
    assert Path(later.path).name in removed.backups
    assert removed.leftovers == ()


def test_what_cannot_be_removed_is_refused_and_stays(home: Path, store: MemoryStore) -> None:
    anna = fill(store, "anna")
    store.keys.create("laptop", scopes=["team"])
    taken = home.parent / "taken.jsonl"
    taken.write_text("mine")
    store.scopes.create("people/anna/diary", parent="people/anna")
    for name, path, error, sentence in (
        ("laptop", None, InvalidInput, "is that of no person"),
        ("nobody", None, NotFound, "no access key has the name"),
        ("anna", None, Conflict, "is the parent of 1 others"),
    ):
        with pytest.raises(error, match=sentence):
            store.keys.remove(name, export_to=path)
    store.scopes.update("people/anna/diary", parent="")
    with pytest.raises(Conflict):
        store.keys.remove("anna", export_to=taken)
    assert taken.read_text() == "mine"
    assert [key.name for key in store.keys.list() if key.revoked_at is not None] == []
    assert anna.get("anna-0").scope == "people/anna"
    with pytest.raises(AccessDenied):
        anna.keys.remove("anna", export_to=None)


def test_an_empty_self_is_removed_too(store: MemoryStore, tmp_path: Path) -> None:
    store.keys.create("anna", shared=(), expires_at=datetime.now(UTC) + timedelta(days=1))
    removed = store.keys.remove("anna", export_to=tmp_path / "anna.jsonl")
    assert (removed.erased, removed.looked_for, removed.leftovers) == (0, 0, ())
    assert "people/anna" not in {scope.name for scope in store.scopes}


def test_a_former_persons_key_removes_nobody_and_no_key_may_write_there_again(
    store: MemoryStore,
) -> None:
    first = store.keys.create("anna", shared=[]).key
    store.keys.remove(first.id, export_to=None)
    second = store.keys.create("anna", shared=[]).key
    hold(store, second).remember("of the second anna", id="hers")
    with pytest.raises(Conflict, match="nothing was removed"):
        store.keys.remove(first.id, export_to=None)
    store.keys.create("robot", scopes=["team", "people/anna"], rights=["read", "write"])
    with pytest.raises(Conflict, match="revoke it first"):
        store.keys.remove(second.id, export_to=None)
    assert hold(store, second).get("hers").text == "of the second anna"


def test_what_is_stored_during_the_export_is_in_it(
    store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = store.keys.create("anna", shared=[]).key
    anna = hold(store, key)
    anna.remember("the first", id="first")
    export = removal._export

    def write_meanwhile(*given: object, **options: object) -> None:
        export(*given, **options)  # type: ignore[arg-type]
        if not options:
            anna.remember("the second", id="second")

    monkeypatch.setattr(removal, "_export", write_meanwhile)
    path = tmp_path / "anna.jsonl"
    assert store.keys.remove("anna", export_to=path).erased == 2
    lines = map(json.loads, path.read_text().splitlines())
    assert {line["text"] for line in lines if "text" in line} == {"the first", "the second"}
