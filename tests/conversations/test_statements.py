"""What the user stated in a session becomes facts, word for word, and is taken back as a whole."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transcript_lines import SESSION, record, write_transcript

from infinite_memory import Config, Conflict, InvalidInput, MemoryStore, NotFound
from infinite_memory.features.sessions.spool import append_line
from infinite_memory.features.sessions.statements import find_statements
from infinite_memory.testing.embedders import HashingEmbedder

LABELLED = Path(__file__).parents[2] / "benchmarks" / "labelled" / "statements.jsonl"
TALK = "Hi, what is new? My cat is called Kiki. Fix the test, please."


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    config = Config(home=tmp_path / "home")
    with MemoryStore.open(tmp_path / "home", config=config, embedder=HashingEmbedder()) as store:
        yield store


def note(store: MemoryStore, tmp_path: Path, *lines: bytes, folder: str = "") -> None:
    """Write a transcript and note it as a hook does."""
    path = write_transcript(tmp_path / "session.jsonl", *lines)
    fields = {"client": "claude-code", "event": "Stop", "session": SESSION, "at": ""}
    append_line(store.config.home, {**fields, "transcript": str(path), "folder": folder})


def statements_of(store: MemoryStore) -> set[str]:
    page = store.browse(scope="ALL", kinds=["fact"], limit=100)
    return {memory.text for memory in page.memories if memory.is_inferred}


@pytest.mark.parametrize("half", [1, 0], ids=["development", "held out"])
def test_nine_of_ten_statements_that_are_found_are_statements(half: int) -> None:
    found = right = wanted = 0
    for line in LABELLED.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["id"] % 2 == half:
            sentences, labels = set(find_statements(row["text"])), set(row["statements"])
            found, wanted = found + len(sentences), wanted + len(labels)
            right += len(sentences & labels)
    print(f"precision {right / found:.3f}, recall {right / wanted:.3f} of {wanted}")
    assert right >= 0.9 * found
    assert right >= 0.8 * wanted


@pytest.mark.parametrize(
    "text",
    [
        "My cat is called Kiki, isn't she?",
        "what is my cat called",
        "so is our parser of dates still worth its 300 lines",
        "you can drop the table Orders, nobody of ours reads it",
        "seems like our queue has 40 jobs too many",
        "> My cat is called Kiki.",
        "    My cat is called Kiki.",
        "```\nMy cat is called Kiki.\n```",
        "```\nMy cat is called Kiki.",
        'Translate: "My cat is called Kiki. We live in Kiel."',
        "Übersetze: „Meine Katze heißt Kiki. Sie ist alt.“",
        "翻译：“我的猫叫琪琪。”",
        "ok",
        "",
        "?",
        "\ud800",
    ],
)
def test_questions_code_and_quotations_are_no_statements(text: str) -> None:
    assert find_statements(text) == []


def test_the_name_behind_a_greeting_is_a_statement() -> None:
    assert find_statements("Hi, I am Marta. How are you?") == ["Hi, I am Marta."]


@pytest.mark.parametrize(
    "text",
    [
        "Remind me on Saturday to pay the boatyard.",
        "Erinnere mich am Samstag an die Rechnung.",
        "Recuérdame el sábado pagar la factura.",
        "Rappelle-moi demain d'appeler Paul.",
        "星期六提醒我付账单。",
    ],
)
def test_what_somebody_wants_to_be_reminded_of_is_kept(text: str) -> None:
    assert find_statements(text) == [text]


@pytest.mark.parametrize(
    ("wish", "rest"),
    [
        ("Remember that ", "I am allergic to penicillin"),
        ("Please remember: ", "I am allergic to penicillin."),
        ("remember this: ", "my daughter's name is Mia"),
        ("Ok, remember ", "my daughter's name is Mia"),
        ("Don't forget that ", "the build fails without Node 20."),
        ("Merk dir bitte: ", "Ich vertrage kein Penicillin."),
        ("Bitte vergiss nicht, dass ", "Mia gegen Nüsse allergisch ist."),
        ("Por favor, recuerda que ", "soy alérgico a la penicilina."),
        ("Retiens qu'", "elle s'appelle Mia."),
        ("S'il te plaît, n'oublie pas que ", "je suis allergique."),
        ("请记住：", "我对青霉素过敏。"),
        ("记住", "我对青霉素过敏。"),
    ],
)
def test_after_a_wish_to_remember_the_rest_is_the_statement(wish: str, rest: str) -> None:
    assert find_statements(wish + rest) == [rest]


@pytest.mark.parametrize(
    "text",
    [
        "Remember that bug in the parser, it is back.",
        "Remember that?",
        "Please remember:",
        "Remember to run the tests.",
        "Remember when we met?",
        "I cannot remember that name.",
    ],
)
def test_what_only_speaks_of_remembering_is_no_statement(text: str) -> None:
    assert find_statements(text) == []


def test_a_wish_to_be_told_again_is_no_reminder() -> None:
    assert find_statements("Remind me how the cache works. Remind me what a monad is.") == []


def test_an_ordinal_number_of_german_ends_no_sentence() -> None:
    text = "Danke. Der Start ist am 27. November. Mach weiter."
    assert find_statements(text) == ["Der Start ist am 27. November."]


@given(st.text(alphabet='aI my.\n"“„`>? 3我的是。', max_size=80))
def test_statements_are_parts_of_the_text(text: str) -> None:
    assert all(sentence in text and "?" not in sentence for sentence in find_statements(text))


@pytest.mark.parametrize("part", ['"a ', "„", "am 1. ", "; ", "my a. ", "```", "never ", "我的"])
def test_a_message_of_a_megabyte_is_read_at_once(part: str) -> None:
    started = time.perf_counter()
    find_statements(part * (1_000_000 // len(part)))
    assert time.perf_counter() - started < 2


def test_a_statement_becomes_a_fact_with_its_message_as_source(
    store: MemoryStore, tmp_path: Path
) -> None:
    answer = record("2", "My pleasure. Our cat is called Tom.", kind="assistant")
    note(store, tmp_path, record("1", TALK), answer)
    assert store.conversations.ingest_spool().messages == 2
    (fact,) = store.browse(kinds=["fact"]).memories
    (message,) = (m for m in store.browse(kinds=["message"]).memories if m.speaker == "user")
    assert (fact.text, fact.sources) == ("My cat is called Kiki.", (message.id,))
    assert fact.happened_at == message.happened_at
    assert (fact.origin, fact.speaker, fact.conversation_id) == ("user", "user", SESSION)
    assert fact.context == {**message.context, "inferred": "session"}
    assert store.conversations.read(SESSION).total == 2
    assert "(said): My cat is called Kiki." in store.briefing().text
    # One entry of the journal, so that one undo takes back both.
    assert {fact.id, message.id} <= {s.id for s in store.journal.entries()[0].action.memories}


def test_what_was_revised_forgotten_or_erased_is_not_found_again(
    store: MemoryStore, tmp_path: Path
) -> None:
    said = ["My cat is called Kiki.", "My dog is called Rex.", "My car is a Volvo."]
    lines = [record(str(number), text) for number, text in enumerate(said)]
    note(store, tmp_path, *lines)
    store.conversations.ingest_spool()
    facts = {memory.text: memory.id for memory in store.browse(kinds=["fact"]).memories}
    assert set(facts) == set(said)
    store.revise(facts[said[0]], revision=1, text="My cat is called Kimi.")
    store.forget(facts[said[1]])
    store.forget(facts[said[2]], hard=True)
    note(store, tmp_path, *lines, record("4", "ok"))
    assert store.conversations.ingest_spool().messages == 1
    assert statements_of(store) == {"My cat is called Kimi."}


def test_an_erased_message_takes_its_statements_with_it(store: MemoryStore, tmp_path: Path) -> None:
    note(store, tmp_path, record("1", TALK), record("2", "My dog is called Rex."))
    store.conversations.ingest_spool()
    (message,) = (m for m in store.browse(kinds=["message"]).memories if "Kiki" in m.text)
    receipt = store.forget(message.id, hard=True)
    assert any("statement" in part for part in receipt.erased)
    assert statements_of(store) == {"My dog is called Rex."}


def test_nothing_is_found_where_the_configuration_leaves_sessions_out(tmp_path: Path) -> None:
    config = Config(home=tmp_path / "home", projects={"sessions": False})
    with MemoryStore.open(tmp_path / "home", config=config, embedder=HashingEmbedder()) as store:
        note(store, tmp_path, record("1", TALK))
        assert store.conversations.ingest_spool().messages == 1
        assert statements_of(store) == set()


def test_what_was_stored_comes_before_what_was_said(store: MemoryStore, tmp_path: Path) -> None:
    stored = store.remember("My cat is called Kimi.", kind="fact")
    note(store, tmp_path, record("1", "My cat is called Kiki.", timestamp="2036-05-01T10:00:00Z"))
    store.conversations.ingest_spool()
    hits = store.search("what is my cat called", explain=True, kinds=["fact"])
    assert [hit.memory.id == stored.id for hit in hits] == [True, False]
    explanation = hits[1].explanation
    assert explanation is not None
    assert explanation.important < 0
    # Who marks it as important has confirmed it.
    store.revise(hits[1].memory.id, revision=1, important=True)
    confirmed = store.search("what is my cat called", kinds=["fact"])[0].memory
    assert (confirmed.id, confirmed.is_inferred) == (hits[1].memory.id, False)


def test_a_statement_is_no_turn_of_its_conversation(store: MemoryStore, tmp_path: Path) -> None:
    question = record("1", "Which colour?", kind="assistant")
    answer = record("3", "Then I paint it green.", kind="assistant")
    note(store, tmp_path, question, record("2", "My boat is red."), answer)
    store.conversations.ingest_spool()
    kinds = {"kinds": ["message"], "explain": True}
    before = [hit.explanation for hit in store.search("colour of the boat", **kinds)]
    store.forget(store.browse(kinds=["fact"]).memories[0].id)
    assert [hit.explanation for hit in store.search("colour of the boat", **kinds)] == before


def test_one_undo_takes_back_all_that_a_session_left(store: MemoryStore, tmp_path: Path) -> None:
    lines = [record("1", TALK), record("2", "Kiki it is.", kind="assistant")]
    other = [record("9", "My dog is called Rex.", sessionId="other")]
    note(store, tmp_path, *lines, *other)
    store.conversations.ingest_spool()
    kept = store.remember("Kiki eats fish.", conversation_id=SESSION)
    planned = store.conversations.undo(SESSION, dry_run=True)
    assert (planned.messages, planned.statements, planned.entry) == (2, 1, None)
    assert statements_of(store) == {"My dog is called Rex.", "My cat is called Kiki."}
    # What the hook noted by now is taken in first, so that it does not come later.
    note(store, tmp_path, *lines, record("3", "My boat is red."), *other)
    done = store.conversations.undo(SESSION)
    assert (done.messages, done.statements, len(done.memories)) == (3, 2, 5)
    assert done.entry == store.journal.entries()[0].number
    assert statements_of(store) == {"My dog is called Rex."}
    assert store.get(kept.id).status == "current"
    # The session goes on: what was taken back does not return.
    note(store, tmp_path, *lines, record("3", "My boat is red."), record("4", "My car is a Volvo."))
    assert store.conversations.ingest_spool().messages == 1
    assert statements_of(store) == {"My car is a Volvo.", "My dog is called Rex."}
    store.undo(done.entry)
    assert statements_of(store) >= {"My boat is red.", "My cat is called Kiki."}


def test_a_session_that_left_nothing_is_said(store: MemoryStore, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="nothing is stored of the session 'unknown'"):
        store.conversations.undo("unknown")
    with pytest.raises(InvalidInput):
        store.conversations.undo("")
    note(store, tmp_path, record("1", TALK))
    done = store.conversations.undo(SESSION)
    with pytest.raises(Conflict, match=f"forgotten by entry {done.entry}: undo that"):
        store.conversations.undo(SESSION)
