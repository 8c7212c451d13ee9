"""The groups of a store: `store.scopes`, `store.journal`, `store.profile` and `store.models`."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator

import pytest
from store_names import GROUPS, public_names

from infinite_memory import (
    ConfigurationError,
    Conflict,
    InvalidInput,
    MemoryStore,
    NotFound,
    StoreClosed,
)
from infinite_memory.store.lifetime import Group
from infinite_memory.testing.embedders import HashingEmbedder


def stopped() -> threading.Event:
    """Return a stop that is asked for already."""
    stop = threading.Event()
    stop.set()
    return stop


APOLLO = "github.com/octo/apollo"
SAID = [{"role": "user", "content": "the harbour opens at nine"}]
OLD, NEW = HashingEmbedder(32), HashingEmbedder(64)

CALLS: dict[str, Callable[[MemoryStore], object]] = {
    "attachments.attach": lambda store: store.attachments.attach("a", uri="https://e.org/a.png"),
    "attachments.list": lambda store: store.attachments.list("a"),
    "attachments.read": lambda store: store.attachments.read("a"),
    "attachments.find_similar": lambda store: store.attachments.find_similar([1.0]),
    "backups.create": lambda store: store.backups.create(),
    "backups.list": lambda store: store.backups.list(),
    "backups.verify": lambda store: store.backups.verify("x.imarchive"),
    "backups.delete": lambda store: store.backups.delete("x.imarchive"),
    "backups.restore": lambda store: store.backups.restore("x.imarchive"),
    "exchange.export": lambda store: store.exchange.export("x.jsonl"),
    "exchange.import_from": lambda store: store.exchange.import_from("x.jsonl"),
    "bulk.preview_forget": lambda store: store.bulk.preview_forget(tags=["a"]),
    "bulk.mask_secrets": lambda store: store.bulk.mask_secrets(dry_run=True),
    "inbox.list": lambda store: store.inbox.list(),
    "inbox.accept": lambda store: store.inbox.accept(()),
    "inbox.reject": lambda store: store.inbox.reject(()),
    "bulk.forget": lambda store: store.bulk.forget("token", tags=["a"]),
    "conversations.log": lambda store: store.conversations.log(SAID, "talk"),
    "conversations.read": lambda store: store.conversations.read("talk"),
    "conversations.list": lambda store: store.conversations.list(),
    "conversations.delete": lambda store: store.conversations.delete("talk"),
    "conversations.stats": lambda store: store.conversations.stats("talk"),
    "conversations.add_short_term": lambda store: store.conversations.add_short_term(SAID, "talk"),
    "conversations.search_short_term": lambda store: store.conversations.search_short_term(
        SAID, "talk"
    ),
    "conversations.coming_up": lambda store: store.conversations.coming_up(SAID, "talk"),
    "conversations.delete_short_term": lambda store: store.conversations.delete_short_term(
        "x", "talk"
    ),
    "conversations.clean_up": lambda store: store.conversations.clean_up("talk"),
    "conversations.frequent_conversation": lambda store: (
        store.conversations.frequent_conversation()
    ),
    "conversations.analyze_patterns": lambda store: store.conversations.analyze_patterns("talk"),
    "conversations.search": lambda store: store.conversations.search("talk"),
    "conversations.begin_session": lambda store: store.conversations.begin_session("/nowhere"),
    "conversations.recall_for_prompt": lambda store: store.conversations.recall_for_prompt("a b"),
    "conversations.recall_for_failure": lambda store: store.conversations.recall_for_failure("a b"),
    "conversations.recall_for_file": lambda store: store.conversations.recall_for_file("a b"),
    "conversations.ingest_spool": lambda store: store.conversations.ingest_spool(),
    "conversations.find_new_sessions": lambda store: store.conversations.find_new_sessions([]),
    "conversations.undo": lambda store: store.conversations.undo("talk"),
    "conversations.project_scope": lambda store: store.conversations.project_scope("/"),
    "scopes.__iter__": lambda store: list(store.scopes),
    "scopes.__getitem__": lambda store: store.scopes["Global"],
    "scopes.count_memories": lambda store: store.scopes.count_memories(),
    "scopes.count_tags": lambda store: store.scopes.count_tags(),
    "scopes.create": lambda store: store.scopes.create("Apollo"),
    "scopes.update": lambda store: store.scopes.update("Global", description="everything"),
    "scopes.searched": lambda store: store.scopes.searched(),
    "scopes.delete": lambda store: store.scopes.delete("Apollo"),
    "upkeep.optimize": lambda store: store.upkeep.optimize(),
    "upkeep.summaries_wanted": lambda store: store.upkeep.summaries_wanted(),
    "upkeep.store_summary": lambda store: store.upkeep.store_summary("all of it", sources=["a"]),
    "upkeep.work": lambda store: store.upkeep.work(stopped()),
    "upkeep.work_once": lambda store: store.upkeep.work_once(),
    "projects.store_chunk": lambda store: store.projects.store_chunk(
        "broken", kind="problem", repository=APOLLO
    ),
    "projects.store_decision": lambda store: store.projects.store_decision(
        "use tabs", rationale="they are short", repository=APOLLO
    ),
    "projects.store_lesson": lambda store: store.projects.store_lesson(
        "broken", "mend it", repository=APOLLO
    ),
    "projects.ingest_sessions": lambda store: store.projects.ingest_sessions("/"),
    "projects.search_similar_problems": lambda store: store.projects.search_similar_problems("x"),
    "projects.find_past_solutions": lambda store: store.projects.find_past_solutions("x"),
    "projects.get_history": lambda store: store.projects.get_history(APOLLO),
    "projects.get_decisions": lambda store: store.projects.get_decisions(),
    "projects.suggest_related_work": lambda store: store.projects.suggest_related_work("x", APOLLO),
    "projects.identify_patterns": lambda store: store.projects.identify_patterns(),
    "projects.insights": lambda store: store.projects.insights(),
    "projects.build_session_context": lambda store: store.projects.build_session_context(),
    "triggers.add": lambda store: store.triggers.add("a", "text", {"any_of": ["x"]}),
    "triggers.update": lambda store: store.triggers.update("a", prompt="text"),
    "triggers.delete": lambda store: store.triggers.delete("a"),
    "triggers.get": lambda store: store.triggers.get("a"),
    "triggers.list": lambda store: store.triggers.list(),
    "triggers.activate": lambda store: store.triggers.activate([]),
    "triggers.done": lambda store: store.triggers.done("a"),
    "triggers.due": lambda store: store.triggers.due(),
    "triggers.coming": lambda store: store.triggers.coming(),
    "triggers.enable": lambda store: store.triggers.enable("a"),
    "triggers.disable": lambda store: store.triggers.disable("a"),
    "dreams.diary": lambda store: store.dreams.diary(),
    "dreams.material": lambda store: store.dreams.material(),
    "dreams.accept": lambda store: store.dreams.accept(
        links=[{"source": "a", "target": "b", "weight": 0.5}]
    ),
    "graph.links": lambda store: store.graph.links("a"),
    "graph.related": lambda store: store.graph.related("a"),
    "graph.duplicates": lambda store: store.graph.duplicates(),
    "graph.export": lambda store: store.graph.export("x.json"),
    "graph.link": lambda store: store.graph.link("a", "b"),
    "graph.unlink": lambda store: store.graph.unlink("a", "b"),
    "ids.resolve": lambda store: store.ids.resolve("12345678"),
    "ids.shorten": lambda store: store.ids.shorten(["12345678"]),
    "journal.__iter__": lambda store: list(store.journal),
    "journal.__getitem__": lambda store: store.journal[1],
    "journal.entries": lambda store: store.journal.entries(),
    "journal.history": lambda store: store.journal.history("a"),
    "journal.reads": lambda store: store.journal.reads(),
    "journal.conflicts": lambda store: store.journal.conflicts(),
    "profile.get": lambda store: store.profile.get(),
    "profile.update": lambda store: store.profile.update({"name": "Ann"}),
    "profile.users": lambda store: store.profile.users(),
    "keys.create": lambda store: store.keys.create("laptop", scopes="*"),
    "keys.list": lambda store: store.keys.list(),
    "keys.find": lambda store: store.keys.find("laptop"),
    "keys.limit": lambda store: store.keys.limit("laptop", calls_a_minute=9),
    "keys.usage": lambda store: store.keys.usage(),
    "keys.remove": lambda store: store.keys.remove("laptop", export_to=None),
    "keys.revoke": lambda store: store.keys.revoke("laptop"),
    "keys.check": lambda store: store.keys.check("im_aaaaaaaa_b"),
    "models.configured": lambda store: store.models.configured,
    "models.answering": lambda store: store.models.answering,
    "models.pending": lambda store: store.models.pending(),
    "models.catch_up": lambda store: store.models.catch_up(),
    "models.drop_others": lambda store: store.models.drop_others(),
    "models.warm_up": lambda store: store.models.warm_up(),
}


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open("memory://", embedder=HashingEmbedder()) as opened:
        yield opened


def test_every_public_name_of_a_group_is_called_here() -> None:
    assert sorted(CALLS) == sorted(name for name in public_names() if "." in name)


@pytest.mark.parametrize("name", CALLS)
def test_a_group_of_a_closed_store_refuses_every_call(store: MemoryStore, name: str) -> None:
    store.remember("the harbour opens at nine", id="a")
    store.close()
    with pytest.raises(StoreClosed, match=r"this store is closed"):
        CALLS[name](store)


def test_each_group_of_a_store_is_one_object_that_can_be_kept(store: MemoryStore) -> None:
    for name, kind in GROUPS.items():
        group = getattr(store, name)
        assert isinstance(group, kind)
        assert isinstance(group, Group)
        assert getattr(store, name) is group
    scopes = store.scopes
    scopes.create("Apollo")
    assert [scope.name for scope in scopes] == ["Global", "Apollo"]


def test_an_entry_is_found_by_its_number(store: MemoryStore) -> None:
    store.remember("the harbour opens at nine", id="a")
    store.remember("the ferry leaves at ten", id="b")
    newest = store.journal.entries(limit=1)[0]
    assert store.journal[newest.number] == newest
    assert [step.id for step in store.journal[newest.number - 1].action.memories] == ["a"]


def test_a_number_without_an_entry_is_refused(store: MemoryStore) -> None:
    store.remember("the harbour opens at nine")
    newest = store.journal.entries(limit=1)[0].number
    with pytest.raises(NotFound, match=f"the journal has no entry {newest + 1}"):
        store.journal[newest + 1]
    for number in (0, -1, "1", 1.0, True, 2**63):
        with pytest.raises(InvalidInput, match="number"):
            store.journal[number]  # type: ignore[index]


def test_the_journal_yields_every_entry_newest_first(store: MemoryStore) -> None:
    for number in range(600):
        store.remember(f"fact {number}", kind="message")
    entries = list(store.journal)
    assert entries == store.journal.entries(limit=1000)
    assert len(entries) == 600


def test_pending_counts_what_the_configured_model_has_yet_to_embed() -> None:
    with MemoryStore.open("memory://", embedder=OLD) as store:
        for number in range(3):
            store.remember(f"the fact about {number}", kind="message")
        assert (store.models.pending(), store.models.configured) == (0, OLD.model)
        storage = store._services.storage
        with MemoryStore.open(storage=storage, embedder=NEW, former_embedder=OLD) as changed:
            assert (changed.models.configured, changed.models.answering) == (NEW.model, OLD.model)
            assert (changed.models.pending(), changed.models.pending(limit=2)) == (3, 2)
            with pytest.raises(Conflict):
                changed.models.drop_others()
            assert changed.models.catch_up() == 3
            assert changed.models.catch_up() == 0
            assert (changed.models.pending(), changed.models.answering) == (0, NEW.model)
            assert changed.models.drop_others() == {OLD.model: 3}
            with pytest.raises(InvalidInput, match="limit"):
                changed.models.pending(limit=0)


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_that_cannot_be_loaded_says_so_at_the_call_and_leaves_the_rest_usable(
    group: str, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.remember("a note", id="note")
    fresh = store.confine(scopes="*")
    with monkeypatch.context() as broken:
        # The import system takes None for a module that is not there.
        broken.setitem(sys.modules, type(getattr(store, group)).__module__, None)
        with pytest.raises(ConfigurationError, match=f"store.{group} cannot be loaded"):
            getattr(fresh, group)
        assert fresh.get("note").text == "a note"
    assert getattr(fresh, group) is getattr(fresh, group)
