"""Every importer, on a sample in the real format of its source; see `samples/README.md`."""

from __future__ import annotations

import gzip
import json
import shutil
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import frozen

from infinite_memory import MemoryStore
from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import Memory
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.testing.embedders import HashingEmbedder

SAMPLES = Path(__file__).parent / "samples"
RECORDED = Path(__file__).parent.parent / "projects" / "streams" / "recorded"


@frozen
class Expected:
    format: str
    texts: list[str]
    links: int = 0


ROWS = {
    "mcp-memory-2026.8.31.jsonl": Expected(
        "mcp-memory",
        [
            "Ada Winter (person)",
            "Ada Winter leads Project Kestrel",
            "Ada Winter works at Nordlys AS",
            "Ada Winter: Lives in Bergen",
            "Ada Winter: Prefers tea to coffee",
            "Ada Winter: Speaks Norwegian and English",
            "Nordlys AS (organization)",
            "Project Kestrel (project)",
            "Project Kestrel: Deadline is 2026-06-05",
            "Project Kestrel: Written in Rust",
        ],
        links=7,
    ),
    "chatgpt-conversations.json": Expected(
        "chatgpt",
        [
            "Ash, Slate or Misty.",
            "Is this plant healthy?",
            "Never.",
            "Plant them out in early June, after the last frost.",
            "Suggest a name for a grey cat",
            "When should I plant tomatoes in Bergen?",
            "Yes, its leaves look fine.",
        ],
    ),
    "claude-conversations.json": Expected(
        "claude",
        [
            "Kestrel 1.0: freeze May 20, release June 5.",
            "Thanks, remind me of the freeze too",
            "The plan says June 5.",
            "When do we release Kestrel?",
        ],
    ),
    "mem0-2.2.1-get-all.json": Expected(
        "mem0", ["I moved to Bergen in March", "Prefers green tea to coffee"]
    ),
    "mem0-2.2.1-history.db": Expected(
        "mem0", ["I moved to Bergen in March", "Prefers green tea to coffee"]
    ),
    "mcp-memory-service-12.4.0.json": Expected(
        "mcp-memory-service",
        [
            "Ada Winter prefers tea to coffee",
            "Decided to write Kestrel in Rust because of its memory safety",
            "The staging server runs on port 8443",
        ],
    ),
    "mcp-memory-service-12.4.0.db.gz": Expected(
        "mcp-memory-service",
        [
            "Ada Winter prefers tea to coffee",
            "Decided to write Kestrel in Rust because of its memory safety",
            "The staging server runs on port 8443",
        ],
    ),
    "codex": Expected(
        "codex",
        [
            "It reads the first token without a check; an empty file has none.",
            "Why does the parser fail on empty files?",
        ],
    ),
    "gemini": Expected(
        "gemini-cli",
        ["And production?", "Staging uses port 8443.", "Which port does staging use?"],
    ),
    "claude-code": Expected(
        "claude-code",
        ["Add a test for empty files", "I added test_empty_file, which fails as expected."],
    ),
    "documents": Expected(
        "documents",
        [
            "# Tomatoes\n\nPlant them out in early June.",
            "Clean the filter every month.",
            "Milk, bread and apples",
            "The pump runs at 400 watts.",
        ],
    ),
}


@pytest.fixture
def storage() -> InMemoryStorage:
    return InMemoryStorage()


@pytest.fixture
def store(storage: InMemoryStorage) -> Iterator[MemoryStore]:
    with MemoryStore.open(storage=storage, embedder=HashingEmbedder()) as opened:
        yield opened


def list_memories(storage: InMemoryStorage) -> list[Memory]:
    return sorted(storage.find(Criteria(), limit=1000).memories, key=lambda memory: memory.text)


def copy_sample(name: str, folder: Path) -> Path:
    sample = SAMPLES / name
    if name.endswith(".gz"):
        path = folder / name.removesuffix(".gz")
        path.write_bytes(gzip.decompress(sample.read_bytes()))
        return path
    copied = shutil.copytree if sample.is_dir() else shutil.copy2
    return Path(copied(sample, folder / name))


@pytest.mark.parametrize("name", ROWS)
def test_a_sample_is_recognised_imported_once_and_undone_at_once(
    name: str, store: MemoryStore, storage: InMemoryStorage, tmp_path: Path
) -> None:
    path, expected = copy_sample(name, tmp_path), ROWS[name]
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    planned = store.exchange.import_from(path, dry_run=True)
    assert (planned.added, planned.links, planned.entries) == (
        len(expected.texts),
        expected.links,
        (),
    )
    assert sorted(memory.text for memory in planned.samples) == expected.texts
    assert not list_memories(storage)
    imported = store.exchange.import_from(path)
    assert (imported.format, imported.added) == (expected.format, len(expected.texts))
    assert [memory.text for memory in list_memories(storage)] == expected.texts
    assert len(storage.links([memory.id for memory in list_memories(storage)])) == expected.links
    again = store.exchange.import_from(path)
    assert (again.added, again.changed, again.unchanged) == (0, 0, len(expected.texts))
    store.undo()
    assert not store.browse(scope="ALL").memories
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before


def test_messages_keep_their_times_speakers_and_conversations(
    store: MemoryStore, storage: InMemoryStorage
) -> None:
    store.exchange.import_from(SAMPLES / "chatgpt-conversations.json", scope="chats")
    memories = {memory.text: memory for memory in list_memories(storage)}
    question = memories["When should I plant tomatoes in Bergen?"]
    assert (question.speaker, question.origin, question.scope) == ("user", "user", "chats")
    assert question.happened_at.isoformat() == "2026-01-05T08:00:00.250000+00:00"
    assert question.conversation_id == "6790aaaa-0000-8000-9000-000000000001"
    assert question.context["topic"] == "Planting tomatoes"
    answer = memories["Yes, its leaves look fine."]
    assert (answer.speaker, answer.origin) == ("assistant", "assistant")
    # It has no time of its own, and follows the message before it.
    assert answer.happened_at > memories["Is this plant healthy?"].happened_at
    assert memories["Never."].context["branch"] == "other"


@pytest.mark.parametrize("product", ["chatgpt", "claude"])
def test_the_zip_file_of_an_account_is_read_as_it_is(
    product: str, store: MemoryStore, tmp_path: Path
) -> None:
    path = tmp_path / "account.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(SAMPLES / f"{product}-conversations.json", "data/conversations.json")
        archive.writestr("data/user.json", "{}")
    imported = store.exchange.import_from(path)
    assert imported.format == product
    assert imported.added == len(ROWS[f"{product}-conversations.json"].texts)
    (tmp_path / "data").mkdir()
    shutil.copy(SAMPLES / f"{product}-conversations.json", tmp_path / "data/conversations.json")
    assert not store.exchange.import_from(tmp_path / "data").added


def test_the_notes_of_basic_memory_are_linked(
    store: MemoryStore, storage: InMemoryStorage, tmp_path: Path
) -> None:
    imported = store.exchange.import_from(copy_sample("basic-memory", tmp_path))
    assert (imported.format, imported.added, imported.links) == ("basic-memory", 2, 2)
    assert imported.loose_links == 1  # to a note that nobody wrote
    ada, kestrel = list_memories(storage)
    assert (ada.title, kestrel.title) == ("Ada Winter", "Project Kestrel")
    assert ada.tags == ("team", "norway", "food")
    assert ada.context["email"] == "ada@example.org"
    assert ada.happened_at.isoformat() == "2026-01-05T08:00:00+00:00"
    reasons = {(link.source, link.target): link.reason for link in storage.links([ada.id])}
    assert reasons == {(ada.id, kestrel.id): "leads", (kestrel.id, ada.id): "relates_to"}


def test_a_changed_record_is_a_new_revision_and_a_copy_with_another_time_is_none(
    store: MemoryStore, tmp_path: Path
) -> None:
    path = copy_sample("documents", tmp_path)
    store.exchange.import_from(path)
    (path / "shopping.txt").write_text("Milk, bread and pears\n")
    (path / "manual.pdf").touch()
    changed = store.exchange.import_from(path)
    assert (changed.added, changed.changed, changed.unchanged) == (0, 1, 3)
    (memory,) = [m for m in store.browse().memories if "pears" in m.text]
    assert memory.revision == 2
    store.undo()
    assert store.get(memory.id).text == "Milk, bread and apples"


def test_what_a_person_changed_here_stays_until_the_source_changes(
    store: MemoryStore, tmp_path: Path
) -> None:
    path = copy_sample("mem0-2.2.1-get-all.json", tmp_path)
    store.exchange.import_from(path)
    memory = store.browse().memories[0]
    store.revise(memory.id, revision=1, text="Prefers no coffee at all")
    assert store.exchange.import_from(path).changed == 0
    assert store.get(memory.id).text == "Prefers no coffee at all"


@pytest.mark.parametrize("hard", [False, True])
def test_what_was_forgotten_here_stays_so(hard: bool, store: MemoryStore) -> None:
    path = SAMPLES / "mem0-2.2.1-get-all.json"
    store.exchange.import_from(path)
    store.forget(store.browse().memories[0].id, hard=hard)
    again = store.exchange.import_from(path)
    assert (again.still_forgotten, again.still_erased) == ((0, 1) if hard else (1, 0))
    assert (again.added, again.unchanged) == (0, 1)


def test_an_import_that_was_undone_is_imported_again_into_another_scope(
    store: MemoryStore,
) -> None:
    path = SAMPLES / "mem0-2.2.1-get-all.json"
    store.exchange.import_from(path, scope="wrong")
    store.undo()
    again = store.exchange.import_from(path, scope="right")
    assert again.added == 2
    assert {memory.scope for memory in store.browse(scope="ALL").memories} == {"right"}


@pytest.mark.parametrize(
    ("name", "content", "place"),
    [
        ("a.jsonl", '{"type":"entity","name":"A","observations":[],"entityType":"x"}\n{', "line 2"),
        ("conversations.json", '[{"mapping": {}}, {"mapping": {"a": {"message": 7}}}]', "[1].map"),
        ("conversations.json", '[{"mapping": {}}, {"mapp', "behind [0]"),
        ("conversations.json", '[{"uuid":"a","chat_messages":[{"sender":"x"}]}]', "chat_messages["),
        ("all.json", '{"results":[{"memory": "tea", "id": "1"}, {"id": "2"}]}', "results[1]"),
        (
            "x.json",
            '{"export_metadata":{},"memories":[{"content":"a","content_hash":7}]}',
            "memories[0]",
        ),
        ("s.jsonl", '{"type":"session_meta","payload":7}\n', "line 1"),
        ("t.csv", "text,happened_at\na,b\n", "line 2"),
        ("t.csv", "text,kind\na,note,b\n", "line 2"),
        ("n.md", "---\nx: [\n---\ntext\n", "n.md"),
        ("p.pdf", "%PDF-1.4\nnothing", "p.pdf"),
        ("d.jsonl", '{"text": "a", "kind": "nothing"}\n', "line 1"),
    ],
)
def test_a_malformed_record_is_named_with_its_place(
    name: str, content: str, place: str, store: MemoryStore, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(InvalidInput, match="nothing was imported") as caught:
        store.exchange.import_from(path, on_error="stop")
    assert f"{path}" in str(caught.value)
    assert place in str(caught.value)
    assert store.journal.entries() == []
    skipped = store.exchange.import_from(path)
    assert skipped.problem_count == 1
    assert place in str(skipped.problems[0])


def test_without_its_reader_a_pdf_is_left_out_with_the_extra_to_install(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pypdf", None)
    with pytest.raises(InvalidInput, match=r"manual\.pdf: to read a PDF, install the extra import"):
        store.exchange.import_from(SAMPLES / "documents", on_error="stop")
    assert store.exchange.import_from(SAMPLES / "documents").added == 2


def test_a_long_message_is_stored_in_parts(store: MemoryStore, tmp_path: Path) -> None:
    chats = json.loads((SAMPLES / "chatgpt-conversations.json").read_text())
    text = "ä" * 300_000
    chats[1]["mapping"]["b1"]["message"]["content"]["parts"] = [text]
    (tmp_path / "conversations.json").write_text(json.dumps(chats))
    store.exchange.import_from(tmp_path)
    parts = store.browse(conversation_id=chats[1]["id"], limit=1000).memories
    joined = "".join(m.text for m in sorted(parts, key=lambda m: m.happened_at))
    assert joined == text + "Ash, Slate or Misty."


def test_a_chat_of_gemini_with_a_line_for_each_message_is_imported_once() -> None:
    path = RECORDED / "gemini-slug-dash.jsonl"
    with MemoryStore.open("memory://", embedder=HashingEmbedder()) as store:
        first = store.exchange.import_from(path)
        again = store.exchange.import_from(path)
        texts = [memory.text for memory in store.browse().memories]
    assert (first.format, first.added, again.added) == ("gemini-cli", 7, 0)
    assert texts[-1] == "python -m unittest fails in test_slug. Please fix it."
    assert "<session_context>" not in "".join(texts)


def test_a_conversation_of_chatgpt_whose_nodes_name_their_parents_alone_is_whole(
    store: MemoryStore, storage: InMemoryStorage, tmp_path: Path
) -> None:
    def say(role: str, text: str) -> dict[str, object]:
        return {"author": {"role": role}, "content": {"parts": [text]}, "recipient": None}

    # The last message stands first, as in the exports that give no children.
    mapping = {
        "c": {"parent": "b", "message": say("assistant", "At nine.")},
        "root": {"parent": None, "message": None},
        "b": {"parent": "root", "message": say("user", "When does the mill open?")},
        "d": {"parent": "root", "message": say("user", "When does it close?")},
    }
    path = tmp_path / "conversations-001.json"
    path.write_text(json.dumps([{"id": "t", "mapping": mapping, "current_node": "c"}]))
    assert store.exchange.import_from(path).added == 3
    found = {memory.text: memory for memory in list_memories(storage)}
    assert found["At nine."].speaker == "assistant"
    assert found["When does it close?"].context["branch"] == "other"
    assert store.exchange.import_from(path).added == 0


def test_a_project_of_claude_gives_its_instructions_description_and_documents(
    store: MemoryStore, storage: InMemoryStorage, tmp_path: Path
) -> None:
    project = {
        **{"uuid": "5b0c2f6e-3d1a-4a52-9d55-0c1f7f3c9a10", "name": "Kiln"},
        **{"description": "All of the studio", "prompt_template": "Answer in short words."},
        "docs": [{"uuid": "d1", "filename": "log.md", "content": "Cone six."}, {"uuid": "d2"}],
    }
    path = tmp_path / "projects.json"
    path.write_text(json.dumps([project]))
    assert store.exchange.import_from(path).added == 3
    assert {memory.text: memory.title for memory in list_memories(storage)} == {
        **{"All of the studio": "Kiln", "Answer in short words.": "Kiln"},
        "Cone six.": "log.md",
    }
    assert store.exchange.import_from(path).added == 0


def test_a_chat_of_open_webui_alone_is_one_conversation(
    store: MemoryStore, storage: InMemoryStorage, tmp_path: Path
) -> None:
    for name in ("q", "r"):
        said = {
            f"{name}1": {"id": f"{name}1", "role": "user", "content": f"Which pump, {name}?"},
            f"{name}2": {"id": f"{name}2", "role": "assistant", "content": "Pump P2."},
        }
        chat = {"id": "", "title": "Pumps", "history": {"messages": said, "currentId": "a"}}
        (tmp_path / f"{name}.json").write_text(json.dumps(chat))
    imported = store.exchange.import_from(tmp_path)
    assert (imported.format, imported.added) == ("chats", 4)
    assert len({memory.conversation_id for memory in list_memories(storage)}) == 2


def test_chats_of_open_webui_and_librechat_have_their_speakers_and_times(
    store: MemoryStore, storage: InMemoryStorage, tmp_path: Path
) -> None:
    thought = '<details type="reasoning" done="true">\nhm\n</details>\nPump P2.'
    said = {
        "q": {"id": "q", "role": "user", "content": "Which pump?", "timestamp": 1772442000},
        "a": {"id": "a", "role": "assistant", "content": thought, "timestamp": 1772442009},
    }
    web = [{"id": "c1", "title": "Pumps", "chat": {"history": {"messages": said}}}, {"chat": 7}]
    answer = {"messageId": "y", "isCreatedByUser": False, "content": [{"text": "At nine."}]}
    asked = {"messageId": "x", "isCreatedByUser": True, "text": "When?", "children": [answer, 7]}
    libre = {"conversationId": "c2", "title": "Mill", "messages": [asked]}
    (tmp_path / "web.json").write_text(json.dumps(web))
    (tmp_path / "libre.json").write_text(json.dumps(libre))
    imported = store.exchange.import_from(tmp_path)
    assert (imported.format, imported.added, imported.problem_count) == ("chats", 4, 2)
    found = {memory.text: memory for memory in list_memories(storage)}
    speakers = {text: memory.speaker for text, memory in found.items()}
    assert speakers == {
        **{"Which pump?": "user", "Pump P2.": "assistant"},
        **{"When?": "user", "At nine.": "assistant"},
    }
    assert found["Pump P2."].happened_at.isoformat() == "2026-03-02T09:00:09+00:00"
