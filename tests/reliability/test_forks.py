"""A store that is open while a process forks, or while other code touches its files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.soak.forks import run
from infinite_memory.storage.sqlite import SqliteStorage
from tests.harness import copying, forking
from tests.harness.notes import Notes

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")

FRESH = {"multiprocessing spawn", "multiprocessing forkserver", "subprocess"}
HARMLESS = {"cp", "shutil"}


def play(program: str, way: str, folder: Path) -> Notes:
    """Run a program of the harness to its end, and return what was noted."""
    home, notes = folder / "home", folder / "notes"
    arguments = [sys.executable, "-m", f"tests.harness.{program}", way, str(home), str(notes)]
    subprocess.run(arguments, check=True, timeout=300, cwd=Path(__file__).parents[2])
    return Notes(notes)


def missing(home: Path, ids: list[str]) -> list[str]:
    storage = SqliteStorage.open(home)
    assert storage.verify().sound
    found = storage.get(ids)
    storage.close()
    return [memory_id for memory_id in ids if memory_id not in found]


@pytest.mark.process
@pytest.mark.parametrize("way", forking.WAYS)
def test_a_worker_loses_nothing_however_it_was_started(tmp_path: Path, way: str) -> None:
    notes = play("forking", way, tmp_path)
    stored, refused = notes.read("stored"), notes.read("refused")
    assert missing(tmp_path / "home", stored) == []
    assert sum(each.startswith(("parent", "unrelated")) for each in stored) == 30
    if way in FRESH:
        assert refused == []
        assert sum(each.startswith("worker") for each in stored) == 25
    else:
        assert len(refused) == (3 if way == "pre-forking" else 1)
        assert all('start workers with "spawn" or "forkserver", or close' in r for r in refused)


@pytest.mark.thorough
@pytest.mark.parametrize("way", copying.WAYS)
def test_nothing_acknowledged_is_lost_whoever_touches_the_files(tmp_path: Path, way: str) -> None:
    notes = play("copying", way, tmp_path)
    stored, refused = notes.read("stored"), notes.read("refused")
    assert missing(tmp_path / "home", stored) == []
    assert sum(each.startswith("before") for each in stored) == 20
    assert sum(each.startswith("again") for each in stored) == 10, notes.read("closed")
    if way in HARMLESS:
        assert refused == []
        assert len(stored) == 60
    else:
        assert any("was removed or replaced while this process had it open" in r for r in refused)
        assert not [each for each in stored if each.startswith(("at once", "after"))]


_INHERITED = """
import os, sys, threading
from infinite_memory import MemoryStore, StoreClosed
from infinite_memory.testing.embedders import HashingEmbedder
from tests.store_names import public_names

store = MemoryStore.open(sys.argv[1], embedder=HashingEmbedder())
store.remember("the deadline is June 5", id="a")
assert store.search("deadline")
calls = {
    "remember": lambda: store.remember("b"), "search": lambda: store.search("deadline"),
    "remember_many": lambda: store.remember_many([{"text": "c"}]),
    "revise": lambda: store.revise("a", revision=1, text="d"), "forget": lambda: store.forget("a"),
    "undo": store.undo, "stats": store.stats, "verify": store.verify,
    "why_not": lambda: store.why_not("deadline", "a"), "browse": store.browse,
    "not_useful": lambda: store.not_useful("a", "deadline"),
    "recall_by_time": lambda: store.recall_by_time(when="today"),
    "usage": lambda: store.usage("a"), "get": lambda: store.get("a"),
    "config": lambda: store.config, "confine": lambda: store.confine(scopes="*"),
    "keys.create": lambda: store.keys.create("laptop", scopes="*"), "keys.list": store.keys.list,
    "keys.find": lambda: store.keys.find("laptop"),
    "share": lambda: store.share("a", to="team"),
    "keys.limit": lambda: store.keys.limit("laptop", calls_a_minute=9),
    "keys.usage": store.keys.usage,
    "keys.remove": lambda: store.keys.remove("laptop", export_to=None),
    "keys.revoke": lambda: store.keys.revoke("laptop"),
    "keys.check": lambda: store.keys.check("im_aaaaaaaa_b"),
    "what_do_i_know": lambda: store.what_do_i_know("a topic"),
    "briefing": store.briefing, "health": store.health, "metrics": store.metrics,
    "journal.reads": store.journal.reads,
    "triggers.add": lambda: store.triggers.add("a", "text", {"any_of": ["x"]}),
    "triggers.update": lambda: store.triggers.update("a", prompt="text"),
    "triggers.delete": lambda: store.triggers.delete("a"),
    "triggers.get": lambda: store.triggers.get("a"), "triggers.list": store.triggers.list,
    "triggers.activate": store.triggers.activate, "triggers.due": store.triggers.due,
    "triggers.coming": store.triggers.coming,
    "triggers.done": lambda: store.triggers.done("zz"),
    "triggers.enable": lambda: store.triggers.enable("a"),
    "triggers.disable": lambda: store.triggers.disable("a"),
    "dream": store.dream, "dreams.diary": store.dreams.diary,
    "dreams.material": store.dreams.material,
    "dreams.accept": lambda: store.dreams.accept(links=[]),
    "graph.links": lambda: store.graph.links("a"),
    "graph.related": lambda: store.graph.related("a"),
    "graph.export": lambda: store.graph.export("x.json"),
    "graph.duplicates": store.graph.duplicates,
    "graph.link": lambda: store.graph.link("a", "b"),
    "graph.unlink": lambda: store.graph.unlink("a", "b"),
    "attachments.attach": lambda: store.attachments.attach("a", uri="https://example.org/a.png"),
    "attachments.list": lambda: store.attachments.list("a"),
    "attachments.read": lambda: store.attachments.read("a"),
    "attachments.find_similar": lambda: store.attachments.find_similar([1.0]),
    "backups.create": store.backups.create, "backups.list": store.backups.list,
    "backups.verify": lambda: store.backups.verify("x.imarchive"),
    "backups.delete": lambda: store.backups.delete("x.imarchive"),
    "backups.restore": lambda: store.backups.restore("x.imarchive"),
    "exchange.export": lambda: store.exchange.export("x.jsonl"),
    "exchange.import_from": lambda: store.exchange.import_from("x.jsonl"),
    "upkeep.optimize": store.upkeep.optimize,
    "upkeep.work": lambda: store.upkeep.work(threading.Event()),
    "upkeep.work_once": store.upkeep.work_once,
    "upkeep.summaries_wanted": store.upkeep.summaries_wanted,
    "upkeep.store_summary": lambda: store.upkeep.store_summary("x", sources=["a"]),
    "projects.store_chunk": lambda: store.projects.store_chunk(
        "x", kind="problem", repository="github.com/octo/apollo"),
    "projects.store_decision": lambda: store.projects.store_decision(
        "x", rationale="y", repository="github.com/octo/apollo"),
    "projects.store_lesson": lambda: store.projects.store_lesson(
        "x", "y", repository="github.com/octo/apollo"),
    "projects.ingest_sessions": lambda: store.projects.ingest_sessions("/"),
    "projects.search_similar_problems": lambda: store.projects.search_similar_problems("x"),
    "projects.find_past_solutions": lambda: store.projects.find_past_solutions("x"),
    "projects.get_history": lambda: store.projects.get_history("github.com/octo/apollo"),
    "projects.get_decisions": store.projects.get_decisions,
    "projects.suggest_related_work":
        lambda: store.projects.suggest_related_work("x", "github.com/octo/apollo"),
    "projects.identify_patterns": store.projects.identify_patterns,
    "projects.insights": store.projects.insights,
    "projects.build_session_context": store.projects.build_session_context,
    "conversations.log": lambda: store.conversations.log([{"role": "user", "content": "x"}], "t"),
    "conversations.read": lambda: store.conversations.read("t"),
    "conversations.list": store.conversations.list,
    "conversations.delete": lambda: store.conversations.delete("t"),
    "conversations.stats": lambda: store.conversations.stats("t"),
    "conversations.add_short_term":
        lambda: store.conversations.add_short_term([{"role": "user", "content": "x"}], "t"),
    "conversations.search_short_term":
        lambda: store.conversations.search_short_term([{"role": "user", "content": "x"}], "t"),
    "conversations.coming_up":
        lambda: store.conversations.coming_up([{"role": "user", "content": "x"}]),
    "conversations.delete_short_term": lambda: store.conversations.delete_short_term("x", "t"),
    "conversations.clean_up": lambda: store.conversations.clean_up("t"),
    "conversations.frequent_conversation": store.conversations.frequent_conversation,
    "conversations.analyze_patterns": lambda: store.conversations.analyze_patterns("t"),
    "conversations.search": lambda: store.conversations.search("t"),
    "conversations.ingest_spool": store.conversations.ingest_spool,
    "conversations.find_new_sessions": lambda: store.conversations.find_new_sessions([]),
    "conversations.project_scope": lambda: store.conversations.project_scope("/"),
    "conversations.begin_session": lambda: store.conversations.begin_session("/"),
    "conversations.recall_for_prompt": lambda: store.conversations.recall_for_prompt("x"),
    "conversations.recall_for_failure": lambda: store.conversations.recall_for_failure("x"),
    "conversations.recall_for_file": lambda: store.conversations.recall_for_file("x"),
    "conversations.undo": lambda: store.conversations.undo("x"),
    "bulk.preview_forget": lambda: store.bulk.preview_forget("deadline"),
    "bulk.forget": lambda: store.bulk.forget("0123456789ab", "deadline"),
    "bulk.mask_secrets": lambda: store.bulk.mask_secrets(),
    "inbox.list": lambda: store.inbox.list(),
    "inbox.accept": lambda: store.inbox.accept(["12345678"]),
    "inbox.reject": lambda: store.inbox.reject(["12345678"]),
    "ids.resolve": lambda: store.ids.resolve("12345678"),
    "ids.shorten": lambda: store.ids.shorten(["12345678"]),
    "scopes.__iter__": lambda: list(store.scopes),
    "scopes.__getitem__": lambda: store.scopes["Global"],
    "scopes.count_memories": store.scopes.count_memories,
    "scopes.count_tags": store.scopes.count_tags,
    "scopes.create": lambda: store.scopes.create("Apollo"),
    "scopes.update": lambda: store.scopes.update("Global", description="x"),
    "scopes.searched": store.scopes.searched,
    "scopes.delete": lambda: store.scopes.delete("Apollo"),
    "journal.__iter__": lambda: list(store.journal),
    "journal.__getitem__": lambda: store.journal[1],
    "journal.entries": store.journal.entries,
    "journal.history": lambda: store.journal.history("a"),
    "journal.conflicts": store.journal.conflicts,
    "profile.get": store.profile.get, "profile.users": store.profile.users,
    "profile.update": lambda: store.profile.update({"name": "x"}),
    "models.configured": lambda: store.models.configured,
    "models.answering": lambda: store.models.answering,
    "models.pending": store.models.pending, "models.catch_up": store.models.catch_up,
    "models.drop_others": store.models.drop_others, "models.warm_up": store.models.warm_up,
}
assert calls.keys() == set(public_names()) - {"open", "close"}

def refused():
    names = []
    for name, call in calls.items():
        try:
            call()
        except StoreClosed as error:
            if 'start workers with "spawn" or "forkserver", or close' in str(error):
                names.append(name)
    return names

held = threading.Event()
def hold():  # a thread that is gone in the child, with all of the locks of the store
    with store._services.usage._lock, store._services.usage._storing:
        with store._services.storage._database._lock.hold():
            held.set()
            done.wait()
done = threading.Event()
thread = threading.Thread(target=hold)
thread.start()
held.wait()
child = os.fork()
if child == 0:
    answer = refused() == list(calls)
    store.close()
    store.close()
    os._exit(0 if answer else 1)
done.set()
thread.join()
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
store.remember("the parent goes on", id="b")
store.close()
"""


@pytest.mark.process
def test_an_inherited_store_refuses_every_call_and_closes_without_doing_anything(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    subprocess.run([sys.executable, "-c", _INHERITED, str(home)], check=True, timeout=300)
    assert missing(home, ["a", "b"]) == []


_CLOSED_BEFORE = """
import os, sys
from pathlib import Path
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.core.values.commit import Commit
from infinite_memory.testing.storage_contract import put

storage = SqliteStorage.open(Path(sys.argv[1]))
storage.commit(Commit(puts=[put("parent")]))
storage.close()
child = os.fork()
if child == 0:
    storage = SqliteStorage.open(Path(sys.argv[1]))
    storage.commit(Commit(puts=[put("child")]))
    storage.close()
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


@pytest.mark.thorough
def test_a_store_that_was_closed_before_the_fork_is_opened_in_the_child(tmp_path: Path) -> None:
    home = tmp_path / "home"
    subprocess.run([sys.executable, "-c", _CLOSED_BEFORE, str(home)], check=True, timeout=300)
    assert missing(home, ["parent", "child"]) == []


@pytest.mark.parametrize(
    "minutes", [0.05, pytest.param(0.5, marks=pytest.mark.slow("sqlite-endurance"))]
)
def test_processes_that_fork_while_they_write_lose_nothing(tmp_path: Path, minutes: float) -> None:
    outcome = run(tmp_path, minutes=minutes, processes=4)
    assert outcome.faults == ()
    assert outcome.acknowledged
    assert outcome.refused


@pytest.mark.slow("broken-storage")
def test_forks_lose_memories_without_the_protection(tmp_path: Path) -> None:
    broken = run(tmp_path / "broken", minutes=2, processes=4, broken=True)
    # So much may be lost that the store does not even open; a call that merely failed is no loss.
    losses = ("lost: ", "verify: ", "the database is not sound", "the store does not open")
    assert any(fault.startswith(losses) for fault in broken.faults)
