"""Every public method, called by a confined handle with whatever there is outside.

It answers as on a store that never held anything else; the one difference is an id that is taken.
A method without a row fails the test.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from attrs import evolve
from confined_pairs import INSIDE, Pair, markers_in, opened_pair, outside_of
from store_names import public_names

from infinite_memory import Config, IdTaken, InfiniteMemoryError, InvalidInput, MemoryStore
from infinite_memory.storage.paging import encode_position

Call = Callable[[MemoryStore], Any]

IDS = ("zz-id-1", "zz-job", "zz-erased", "zz-forgotten", "zz-waits", "zz-nobody", "in-1", "in-job")
SCOPES = ("zz-vault", "ZZ-Vault", "zz-child", "Global", "zz-nowhere", "team", "Work", "ALL")
CONVERSATIONS = ("talk", "Talk", "zz-talk", "nowhere")
SAID = [{"role": "user", "content": "is the deadline of zzquartz near?"}]
QUESTIONS = (
    "zzquartz deadline",
    "Apollo",
    "zz-vault",
    "who works at zzcorp?",
    "in zz-vault Global",
)
KEY = "im_" + "a" * 8 + "_" + "b" * 52
LONG_AGO = datetime(1987, 7, 7, tzinfo=UTC)
# Of a memory outside, and of a moment outside.
CURSOR = encode_position((-(2**40), "zz-id-1"))
ENTRIES = (*range(1, 40), 10**6)


def _summarise(store: MemoryStore, sources: list[str]) -> Any:
    return store.upkeep.store_summary("Apollo is due in June", sources=sources)


def conditions() -> Iterator[Mapping[str, Any]]:
    yield {}
    yield from ({"scope": scope} for scope in SCOPES)
    yield {"scope": ["work", "zz-vault"]}
    yield from ({"scope": "ALL", "tags": [tag]} for tag in ("zz-tag", "deadline"))
    yield {"conversation_id": "zz-talk", "scope": "ALL"}
    yield {"scope": "ALL", "when": "1987"}
    yield {"scope": "ALL", "until": datetime(1999, 1, 1, tzinfo=UTC)}
    yield {"scope": "ALL", "statuses": []}
    yield {"scope": "ALL", "mode": "history"}
    yield {"scope": "work", "inherited": "none"}
    yield {"scope": "work", "inherited": "last"}
    yield {"scope": "ALL", "as_of": LONG_AGO}


def searches() -> Iterator[Call]:
    for question in QUESTIONS:
        yield from (lambda s, q=question, c=c: s.search(q, explain=True, **c) for c in conditions())
        for depth in ("overview", "exhaustive"):
            yield lambda s, q=question, d=depth: s.search(q, depth=d, scope="ALL", explain=True)
        yield lambda s, q=question: s.search(q, scope="ALL", threshold=0, limit=1, offset=1)


def updates() -> Iterator[Call]:
    for memory_id in IDS:
        yield lambda s, i=memory_id: s.revise(i, revision=1, text="another text")
        yield lambda s, i=memory_id: s.revise(i, revision=9, text="another text")
        yield from (
            lambda s, i=memory_id, n=name: s.revise(i, revision=1, scope=n) for name in SCOPES
        )


def new_memories() -> Iterator[Mapping[str, Any]]:
    same = "The deadline of project Apollo is June 5"
    yield {"text": same}
    yield {"text": f"{same}!", "origin": "assistant"}
    yield {"text": "zzquartz deadline Apollo zz-id-1", "scope": "team"}
    yield {"text": "Alice works at Initech", "key": "job", "kind": "fact"}
    yield {"text": "zz", "key": "zz-key", "kind": "fact", "speaker": "zz-speaker"}
    yield {"text": "a note", "id": "in-1"}
    yield {"text": "a note", "happened_at": LONG_AGO, "conversation_id": "zz-talk"}
    yield from ({"text": "a note", "scope": scope} for scope in SCOPES)
    yield from ({"text": "a note", "supersedes": [memory_id]} for memory_id in IDS)
    yield {"text": "a summary", "kind": "summary", "sources": ["zz-id-1"]}


def scope_calls(method: str) -> Iterator[Call]:
    for name in (*SCOPES, "zz-new"):
        if method == "__getitem__":
            yield lambda s, n=name: s.scopes[n]
        elif method == "delete":
            yield lambda s, n=name: s.scopes.delete(n)
        elif method == "create":
            yield lambda s, n=name: s.scopes.create(n)
            yield lambda s, n=name: s.scopes.create("team", parent=n)
        elif method == "update":
            yield lambda s, n=name: (
                s.scopes.update(n, description="x"),
                s.journal.entries(limit=1),
            )
            yield lambda s, n=name: (s.scopes.update("team", parent=n), list(s.scopes))


def choices() -> Iterator[Mapping[str, Any]]:
    yield from ({"scope": scope} for scope in (*SCOPES, "ALL"))
    yield from ({"tags": [tag], "scope": "ALL"} for tag in ("zz-tag", "deadline"))
    yield from ({"tags": [tag]} for tag in ("zz-tag", "deadline"))
    yield {"conversation_id": "zz-talk"}
    yield {"query": "zzquartz deadline Apollo", "scope": "ALL", "threshold": 0.0}
    yield {"query": "zzquartz deadline Apollo", "threshold": 0.0}


def bulk_calls() -> Iterator[Call]:
    yield from (lambda s, c=c: s.bulk.preview_forget(**c) for c in choices())


def export_calls() -> Iterator[Call]:
    """Export, and read what was written but for its first line, which names the store."""
    for conditions in ({}, *({"scope": scope} for scope in SCOPES), {"tags": ["zz-tag"]}):
        for private in (False, True):
            yield lambda s, c=conditions, p=private: exported(s, private=p, **c)


def exported(store: MemoryStore, **choice: Any) -> Any:
    with TemporaryDirectory() as folder:
        path = Path(folder, "out.jsonl")
        result = store.exchange.export(path, **choice)
        return result.memories, result.left_out_scopes, path.read_bytes().split(b"\n")[1:]


def graph_export_calls() -> Iterator[Call]:
    for choice in (
        *({"ids": i, "depth": 4} for i in IDS),
        {"ids": ["in-1", "in-talk"]},
        {},
        {"private": True, "limit": 2},
        *({"scope": scope} for scope in SCOPES),
        {"statuses": ["archived"]},
    ):
        for form in ("graphml", "json"):
            yield lambda s, c=choice, f=form: exported_graph(s, format=f, **c)
    yield lambda s: exported_graph(s, format="html")
    yield lambda s: exported_graph(s, format="html", ids="in-1")


def exported_graph(store: MemoryStore, **choice: Any) -> Any:
    """Export the graph, and read what was written."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "out.graph")
        result = store.graph.export(path, **choice)
        return result.memories, result.links, result.left_out_scopes, path.read_bytes()


def import_calls() -> Iterator[Call]:
    for scope in (None, *SCOPES):
        for dry_run in (True, False):
            yield lambda s, n=scope, d=dry_run: imported(s, {"text": "a"}, scope=n, dry_run=d)
    # Without the dry run, the id is taken.
    yield lambda s: imported(s, {"text": "a note", "id": "zz-id-1"}, dry_run=True)


def imported(store: MemoryStore, fields: Mapping[str, Any], **choice: Any) -> Any:
    with TemporaryDirectory() as folder:
        path = Path(folder, "in.jsonl")
        path.write_text(json.dumps(fields), encoding="utf-8")
        try:
            result = store.exchange.import_from(path, **choice)
        except InvalidInput as error:
            raise InvalidInput(str(error).replace(folder, "")) from error
        return result.added, result.unchanged, result.scopes, store.stats()


REPOSITORIES = (
    "zz.example/octo/zzapollo",
    "repo/zz.example/octo/zzapollo",
    "REPO/ZZ.example/Octo/zzApollo",
    "zzapollo",
    "octo/zzapollo",
    "https://zz.example/octo/zzapollo.git",
    "git@zz.example:octo/zzapollo",
    "zz.example/octo/zznew",
    "zz-vault",
    "Projects",
    "Global",
    "team",
    "/",
)


def work_calls(method: str, **fields: Any) -> Iterator[Call]:
    """Call a method of `projects` for every spelling of what is outside, and of a scope inside."""
    for name in REPOSITORIES:
        yield lambda s, n=name: getattr(s.projects, method)(repository=n, **fields)


def work_of_memories() -> Iterator[Call]:
    for memory_id in (*IDS, "zz-work"):
        for fields in ({"related": [memory_id]}, {"supersedes": [memory_id]}):
            yield lambda s, f=fields: (
                s.projects.store_chunk("it failed", kind="problem", repository="team", **f),
                s.journal.entries(),
            )


def ingested(store: MemoryStore, *, dry_run: bool) -> Any:
    """Take in a session of a repository outside, of which other work is stored."""
    with TemporaryDirectory() as folder:
        checkout = Path(folder, "zzapollo")
        (checkout / ".git").mkdir(parents=True)
        (checkout / ".git" / "config").write_text(
            '[remote "origin"]\n  url = https://zz.example/octo/zzapollo.git\n', encoding="utf-8"
        )
        path = Path(folder, "session.jsonl")
        lines = [
            {"type": "user", "uuid": "1", "message": {"content": "Decide: the deadline is June 5"}},
            {"type": "assistant", "uuid": "2", "message": {"content": "We use June 5."}},
        ]
        with path.open("w", encoding="utf-8") as file:
            for line in lines:
                stamp = {"timestamp": "2026-03-02T09:00:00Z", "sessionId": "s"}
                file.write(json.dumps({**line, **stamp, "cwd": str(checkout)}) + "\n")
        told = outcome(lambda s: s.projects.ingest_sessions(path, dry_run=dry_run), store)
        return told.replace(folder, ""), store.journal.entries()


REMINDERS = ("zz-reminder", "reminder", "in-1", "zz-id-1")
RULE = {"any_of": ["deadline"]}
SAID = [{"role": "user", "content": "the deadline of zzquartz"}]


def reminder_calls(method: str, **fields: Any) -> Iterator[Call]:
    """Call a method of `triggers` for names outside and inside, with and without a place."""
    for name in REMINDERS:
        yield lambda s, n=name: getattr(s.triggers, method)(n, **fields)
        yield lambda s, n=name: getattr(s.triggers, method)(
            n, conversation_id="zz-talk", scope="team", **fields
        )
        yield lambda s, n=name: getattr(s.triggers, method)(n, scope="zz-vault", **fields)
        # With one inside.
        yield lambda s, n=name: (
            s.triggers.add("reminder", "of the team", RULE, scope="team"),
            getattr(s.triggers, method)(n, scope="team", **fields),
            s.journal.entries(limit=2),
        )


def activated(store: MemoryStore) -> Any:
    store.triggers.add("reminder", "of the team", RULE, scope="team", conversation_id="zz-talk")
    return [
        store.triggers.activate(SAID, conversation, scope=scope, seed=7)
        for conversation in ("default", "zz-talk")
        for scope in (None, "team", "ALL")
    ]


def attaching_calls() -> Iterator[Call]:
    """Attach to what is outside, and embeddings unlike those outside."""
    picture = {"uri": "https://example.org/a.png", "embedding": [1, 0, 0], "model": "zz-clip"}
    for memory_id in (None, *IDS):
        yield lambda s, i=memory_id: (s.attachments.attach(i, **picture), s.journal.entries())
    data = {"uri": "data:image/zzpng;base64,AAAA", "description": "the deadline"}
    for scope in (None, *SCOPES):
        yield lambda s, n=scope: (s.attachments.attach(scope=n, **data), s.stats())


def attached_then(
    store: MemoryStore, then: Callable[[MemoryStore, str], Any], **fields: Any
) -> Any:
    """Attach something inside, and return what `then` gives of it."""
    picture = {"description": "a picture", "embedding": [1, 0], "model": "clip", **fields}
    receipt = store.attachments.attach("in-1", uri="data:image/x;base64,AAAA", **picture)
    return then(store, receipt.id), store.journal.entries()


def made_of(store: MemoryStore, choice: Mapping[str, Any]) -> str:
    return store.bulk.preview_forget(**choice).token


def emptied_and_deleted(store: MemoryStore) -> Any:
    """Delete a scope that has a child outside."""
    for memory_id in ("in-talk", "in-gone"):
        store.forget(memory_id, hard=True)
    store.scopes.delete("team")
    return list(store.scopes), store.journal.entries(), store.verify()


ROWS: Mapping[str, list[Call]] = {
    "browse": [
        *(lambda s, c=c: s.browse(**c) for c in conditions()),
        lambda s: s.browse(scope="ALL", after=CURSOR),
        lambda s: s.browse(scope="ALL", limit=2),
    ],
    "models.answering": [lambda s: s.models.answering],
    "models.configured": [lambda s: s.models.configured],
    "models.pending": [lambda s: s.models.pending(), lambda s: s.models.pending(limit=1)],
    "models.catch_up": [
        lambda s: s.models.catch_up(),
        lambda s: (s.models.catch_up(limit=1), s.stats()),
    ],
    "backups.create": [lambda s: s.backups.create(), lambda s: s.backups.create("zz-file")],
    "backups.list": [lambda s: s.backups.list()],
    "backups.verify": [lambda s: s.backups.verify("zz.imarchive")],
    "backups.delete": [lambda s: s.backups.delete("zz.imarchive")],
    "backups.restore": [lambda s: s.backups.restore("zz.imarchive", mode="overwrite")],
    "exchange.export": [*export_calls()],
    "exchange.import_from": [*import_calls()],
    "projects.store_chunk": [
        *work_calls("store_chunk", content="the deadline is missed", kind="problem"),
        *work_of_memories(),
    ],
    "projects.store_decision": [
        *work_calls("store_decision", decision="use June 5", rationale="it is a Friday")
    ],
    "projects.store_lesson": [*work_calls("store_lesson", problem="late", solution="begin early")],
    "projects.ingest_sessions": [
        lambda s: s.projects.ingest_sessions("/zz-nowhere/zz.jsonl"),
        *(lambda s, d=dry_run: ingested(s, dry_run=d) for dry_run in (True, False)),
    ],
    "projects.search_similar_problems": [
        *work_calls("search_similar_problems", query="zzquartz deadline"),
        *(lambda s, q=q: s.projects.search_similar_problems(q) for q in QUESTIONS),
        lambda s: s.projects.search_similar_problems("deadline", timeframe="always", files=["zz"]),
    ],
    "projects.find_past_solutions": [
        *work_calls("find_past_solutions", error_message="zzquartz deadline of Apollo failed"),
        lambda s: s.projects.find_past_solutions("deadline", context="zzquartz"),
    ],
    "projects.get_history": [*work_calls("get_history")],
    "projects.get_decisions": [
        *work_calls("get_decisions"),
        lambda s: s.projects.get_decisions(),
        lambda s: s.projects.get_decisions(component="zzpart"),
    ],
    "projects.suggest_related_work": [
        *work_calls("suggest_related_work", task="zzquartz deadline", files=["zz/app.py"])
    ],
    "projects.identify_patterns": [
        *work_calls("identify_patterns"),
        lambda s: s.projects.identify_patterns(),
        lambda s: s.projects.identify_patterns(timeframe="always"),
    ],
    "projects.insights": [
        *work_calls("insights"),
        lambda s: s.projects.insights(),
        lambda s: s.projects.insights(timeframe="always"),
    ],
    "projects.build_session_context": [
        *work_calls("build_session_context"),
        lambda s: s.projects.build_session_context(),
    ],
    "triggers.add": [
        *reminder_calls("add", prompt="text", trigger=RULE),
        *(lambda s, n=n: s.triggers.add("new", "x", RULE, scope=n) for n in SCOPES),
    ],
    "triggers.update": [*reminder_calls("update", prompt="another text", trigger=RULE)],
    "triggers.delete": [*reminder_calls("delete")],
    "triggers.get": [*reminder_calls("get")],
    "triggers.enable": [*reminder_calls("enable")],
    "triggers.disable": [*reminder_calls("disable")],
    "triggers.list": [
        lambda s: s.triggers.list(),
        lambda s: s.triggers.list("zz-talk"),
        *(lambda s, n=n: s.triggers.list(scope=n) for n in SCOPES),
    ],
    "triggers.activate": [
        activated,
        *(lambda s, n=n: s.triggers.activate(SAID, scope=n, seed=1) for n in SCOPES),
    ],
    "triggers.due": [
        lambda s: s.triggers.due(),
        *(lambda s, n=n: s.triggers.due(scope=n, conversation_id="zz-talk") for n in SCOPES),
    ],
    "triggers.coming": [
        lambda s: s.triggers.coming(),
        *(lambda s, n=n: s.triggers.coming(scope=n) for n in SCOPES),
    ],
    "triggers.done": [
        lambda s: s.triggers.done(),
        *(lambda s, i=i: s.triggers.done(i) for i in IDS),
    ],
    "upkeep.optimize": [
        lambda s: s.upkeep.optimize(dry_run=True),
        lambda s: (s.upkeep.optimize(), s.journal.entries()),
        lambda s: s.upkeep.optimize(jobs=["zz-job"]),
    ],
    "upkeep.summaries_wanted": [
        lambda s: s.upkeep.summaries_wanted(),
        lambda s: s.upkeep.summaries_wanted(limit=20, max_chars=500),
    ],
    "upkeep.store_summary": [
        *(partial(_summarise, sources=[memory_id]) for memory_id in IDS),
        *(partial(_summarise, sources=["in-1", memory_id]) for memory_id in IDS),
    ],
    "upkeep.work": [lambda s: s.upkeep.work(threading.Event())],
    "upkeep.work_once": [lambda s: s.upkeep.work_once()],
    "attachments.attach": [*attaching_calls()],
    "attachments.list": [
        *(lambda s, i=i: s.attachments.list(i) for i in IDS),
        lambda s: attached_then(s, lambda s, _: s.attachments.list("in-1")),
    ],
    "attachments.read": [
        *(lambda s, i=i: s.attachments.read(i) for i in IDS),
        lambda s: attached_then(s, lambda s, i: s.attachments.read(i)),
        lambda s: attached_then(s, lambda s, _: s.forget("in-1", hard=True)),
        lambda s: attached_then(s, lambda s, _: (s.forget("in-1"), s.undo())),
    ],
    "attachments.find_similar": [
        lambda s: s.attachments.find_similar([1, 0], model="zz-clip"),
        lambda s: s.attachments.find_similar([1, 0, 0], model="zz-clip", scope="ALL"),
        lambda s: attached_then(s, lambda s, _: s.attachments.find_similar([1, 0], model="zz-c")),
        *(
            lambda s, n=n: attached_then(
                s, lambda s, _, n=n: s.attachments.find_similar([1, 0], model="clip", scope=n)
            )
            for n in SCOPES
        ),
    ],
    "bulk.preview_forget": [*bulk_calls()],
    "bulk.mask_secrets": [lambda s: s.bulk.mask_secrets(), lambda s: s.bulk.mask_secrets(IDS[:2])],
    "inbox.list": [
        lambda s: s.inbox.list(),
        *(lambda s, n=n: s.inbox.list(scope=n) for n in SCOPES),
    ],
    "inbox.accept": [lambda s: s.inbox.accept(IDS[:2]), lambda s: s.inbox.accept(["none"])],
    "inbox.reject": [lambda s: s.inbox.reject(IDS[:2]), lambda s: s.inbox.reject(["none"])],
    "bulk.forget": [
        *(
            lambda s, c=c: (s.bulk.forget(made_of(s, c), **c), s.journal.entries())
            for c in choices()
        )
    ],
    "what_do_i_know": [
        *(lambda s, q=q: s.what_do_i_know(q) for q in QUESTIONS),
        *(lambda s, q=q, n=n: s.what_do_i_know(q, scope=n) for q in QUESTIONS for n in SCOPES),
        lambda s: s.what_do_i_know("Apollo", scope=["work", "zz-vault"], budget=200),
    ],
    "briefing": [
        *(lambda s, n=n: s.briefing(n) for n in (None, *SCOPES)),
        lambda s: s.briefing("team", budget=200),
    ],
    "close": [lambda s: s.close()],
    "conversations.log": [
        *(lambda s, n=n: s.conversations.log(SAID, "talk", scope=n) for n in (None, *SCOPES)),
        *(lambda s, c=c: s.conversations.log(SAID, c, scope="team") for c in CONVERSATIONS),
    ],
    "conversations.read": [
        *(lambda s, c=c: s.conversations.read(c) for c in CONVERSATIONS),
        *(lambda s, n=n: s.conversations.read("talk", scope=n) for n in (None, *SCOPES)),
    ],
    "conversations.list": [
        *(lambda s, n=n: s.conversations.list(scope=n) for n in (None, *SCOPES))
    ],
    "conversations.delete": [
        *(lambda s, c=c: s.conversations.delete(c) for c in CONVERSATIONS),
        *(lambda s, n=n: s.conversations.delete("talk", scope=n) for n in (None, *SCOPES)),
    ],
    "conversations.stats": [
        *(lambda s, c=c: s.conversations.stats(c) for c in CONVERSATIONS),
        *(lambda s, n=n: s.conversations.stats("talk", scope=n) for n in (None, *SCOPES)),
    ],
    "conversations.add_short_term": [
        *(
            lambda s, n=n: s.conversations.add_short_term(SAID, "talk", scope=n)
            for n in (None, *SCOPES)
        )
    ],
    "conversations.search_short_term": [
        *(
            lambda s, n=n: s.conversations.search_short_term(SAID, "talk", scope=n, seed=1)
            for n in (None, *SCOPES)
        ),
        *(lambda s, c=c: s.conversations.search_short_term(SAID, c, seed=1) for c in CONVERSATIONS),
    ],
    "conversations.coming_up": [
        *(lambda s, n=n: s.conversations.coming_up(SAID, "talk", scope=n) for n in (None, *SCOPES)),
        *(lambda s, c=c: s.conversations.coming_up(SAID, c) for c in CONVERSATIONS),
    ],
    "conversations.delete_short_term": [
        *(
            lambda s, n=n: s.conversations.delete_short_term("deadline", "talk", scope=n)
            for n in (None, *SCOPES)
        )
    ],
    "conversations.clean_up": [
        *(lambda s, n=n: s.conversations.clean_up("talk", scope=n) for n in (None, *SCOPES))
    ],
    "conversations.frequent_conversation": [
        *(lambda s, n=n: s.conversations.frequent_conversation(scope=n) for n in (None, *SCOPES))
    ],
    "conversations.analyze_patterns": [
        *(lambda s, n=n: s.conversations.analyze_patterns("talk", scope=n) for n in (None, *SCOPES))
    ],
    "conversations.search": [
        *(
            lambda s, n=n: s.conversations.search("talk", scope=n, keywords=["deadline"])
            for n in (None, *SCOPES)
        ),
        *(lambda s, c=c: s.conversations.search(c) for c in CONVERSATIONS),
    ],
    "conversations.begin_session": [lambda s: s.conversations.begin_session("/nowhere")],
    "conversations.recall_for_prompt": [
        *(lambda s, q=q: s.conversations.recall_for_prompt(q) for q in QUESTIONS),
    ],
    "conversations.recall_for_failure": [
        *(lambda s, q=q: s.conversations.recall_for_failure(q) for q in QUESTIONS),
    ],
    "conversations.recall_for_file": [lambda s: s.conversations.recall_for_file("a.py")],
    "conversations.ingest_spool": [lambda s: s.conversations.ingest_spool()],
    "conversations.find_new_sessions": [lambda s: s.conversations.find_new_sessions([])],
    "conversations.undo": [
        *(lambda s, c=c: s.conversations.undo(c) for c in CONVERSATIONS),
        lambda s: s.conversations.undo("talk", dry_run=True),
    ],
    "conversations.project_scope": [lambda s: s.conversations.project_scope("/")],
    "config": [lambda s: s.config],
    "confine": [
        *(lambda s, n=n: looked(s.confine(scopes=n)) for n in ("*", "t*", "zz*", *SCOPES)),
        lambda s: looked(s.confine(scopes=["work", "zz-vault"], read_only=True, client="other")),
        lambda s: s.confine(scopes="team", read_only=True).remember("a note"),
        lambda s: (s.confine(scopes="team").remember("a note", id="new"), s.get("new")),
    ],
    "keys.create": [
        lambda s: s.keys.create("laptop", scopes="*"),
        lambda s: s.keys.create("zz-key", scopes="*"),
    ],
    "keys.list": [lambda s: s.keys.list()],
    "keys.find": [lambda s: s.keys.find("zz-key"), lambda s: s.keys.find("nobody")],
    "keys.limit": [lambda s: s.keys.limit("zz-key", max_bytes=1)],
    "keys.usage": [lambda s: s.keys.usage()],
    "keys.remove": [lambda s: s.keys.remove("zz-key", export_to=None)],
    "keys.revoke": [lambda s: s.keys.revoke("zz-key"), lambda s: s.keys.revoke("nobody")],
    "keys.check": [lambda s: s.keys.check(KEY), lambda s: s.keys.check("nothing")],
    "journal.__getitem__": [*(lambda s, n=n: s.journal[n] for n in ENTRIES)],
    "journal.__iter__": [lambda s: list(s.journal)],
    "journal.conflicts": [
        *(lambda s, n=name: s.journal.conflicts(scope=n) for name in (None, *SCOPES))
    ],
    "models.drop_others": [lambda s: s.models.drop_others()],
    "share": [
        lambda s: s.share("in-1", to="team"),
        lambda s: s.share("in-1", to="team", copy=True),
        lambda s: s.share("in-1", to="zz-vault"),
        lambda s: s.share("zz-id-1", to="work", copy=True),
    ],
    "forget": [
        *(lambda s, i=i: s.forget(i) for i in IDS),
        *(lambda s, i=i: s.forget(i, hard=True) for i in IDS),
        lambda s: [
            s.forget("in-1", hard=True),
            s.forget("in-1", hard=True),
            s.journal.entries(),
            s.verify(),
        ],
    ],
    "get": [*(lambda s, i=i: s.get(i) for i in IDS)],
    "profile.get": [lambda s: s.profile.get(), lambda s: s.profile.get("zz-user")],
    "journal.history": [
        *(lambda s, i=i: s.journal.history(i) for i in (*IDS, "zz-key", "job", "in-sum")),
        *(lambda s, n=n: s.journal.history("job", scope=n) for n in SCOPES),
    ],
    "journal.entries": [
        lambda s: s.journal.entries(),
        *(lambda s, i=i: s.journal.entries(memory_id=i) for i in IDS),
        *(lambda s, n=n: s.journal.entries(before=n, limit=2) for n in ENTRIES),
    ],
    "dream": [
        *(lambda s, n=n: s.dream(n) for n in range(3)),
        *(lambda s, c=c: s.dream(1, scope=c) for c in SCOPES),
        lambda s: s.dream(1, dry_run=True),
    ],
    "dreams.diary": [
        lambda s: s.dreams.diary(),
        lambda s: (s.dream(1), s.dreams.diary()),
        lambda s: s.dreams.diary(before=10_000, limit=100),
    ],
    "dreams.material": [
        lambda s: s.dreams.material(),
        *(lambda s, c=c: s.dreams.material(scope=c, pairs=100, groups=20) for c in SCOPES),
    ],
    "dreams.accept": [
        *(
            lambda s, i=i: s.dreams.accept(links=[{"source": "in-1", "target": i, "weight": 0.5}])
            for i in (*IDS, "in-job")
        ),
        *(
            lambda s, i=i: s.dreams.accept(
                topics=[{"sources": ["in-1", "in-job", i], "text": "a summary"}]
            )
            for i in (*IDS, "in-twin")
        ),
    ],
    "graph.links": [*(lambda s, i=i: s.graph.links(i) for i in (*IDS, "in-sum", "in-twin"))],
    "graph.related": [
        *(lambda s, i=i: s.graph.related(i) for i in (*IDS, "in-sum", "in-talk", "in-short")),
        lambda s: s.graph.related(["in-1", "in-talk"], depth=4, limit=100),
        lambda s: s.graph.related(["in-1", "zz-id-1"]),
        lambda s: (s.graph.link("in-1", "in-job"), s.graph.related("in-1", types=["semantic"])),
    ],
    "graph.duplicates": [lambda s: s.graph.duplicates()],
    "graph.export": [*graph_export_calls()],
    "graph.link": [
        *(lambda s, i=i: s.graph.link("in-1", i) for i in (*IDS, "in-sum")),
        *(lambda s, i=i: s.graph.link(i, "in-1") for i in IDS),
        lambda s: (s.graph.link("in-1", "in-job"), s.graph.links("in-1"), s.journal.entries()),
        lambda s: (s.graph.link("in-1", "in-job"), s.undo(), s.graph.links("in-1")),
    ],
    "graph.unlink": [
        *(lambda s, i=i: s.graph.unlink("in-1", i) for i in IDS),
        *(lambda s, i=i: s.graph.unlink(i, "in-sum") for i in IDS),
        lambda s: (s.graph.link("in-1", "in-job"), s.graph.unlink("in-1", "in-job")),
    ],
    "ids.resolve": [*(lambda s, i=i: s.ids.resolve(i) for i in (*IDS, *(i[-8:] for i in IDS)))],
    "ids.shorten": [lambda s: s.ids.shorten(IDS), lambda s: s.ids.shorten([i[-8:] for i in IDS])],
    "open": [],  # how it is opened is the test itself
    "recall_by_time": [
        *(lambda s, c=c: s.recall_by_time(**{"when": "always", **c}) for c in conditions()),
        lambda s: s.recall_by_time(when="1987", scope="ALL"),
        lambda s: s.recall_by_time(when="2030", scope="ALL"),
        lambda s: s.recall_by_time(when="always", scope="ALL", after=CURSOR, newest_first=True),
        lambda s: s.recall_by_time(when="always", scope="ALL", limit=2),
    ],
    "remember": [*(lambda s, f=fields: s.remember(**f) for fields in new_memories())],
    "remember_many": [
        *(lambda s, f=fields: s.remember_many([{"text": "first"}, f]) for fields in new_memories())
    ],
    "revise": [*updates()],
    "search": [*searches()],
    "stats": [lambda s: s.stats()],
    # When it was looked at is not the same twice.
    "health": [lambda s: evolve(s.health(), checked_at=LONG_AGO)],
    # Neither is how long a call took.
    "metrics": [
        lambda s: (s.metrics().operations, s.metrics().arms),
        lambda s: (looked(s.confine(scopes="*")), *called(s)),
    ],
    "journal.reads": [lambda s: s.journal.reads()],
    "undo": [
        *(lambda s, n=n: (s.undo(n), s.journal.entries()) for n in ENTRIES),
        lambda s: [s.undo(), s.undo(), s.undo(), s.journal.entries()],
    ],
    "profile.update": [
        lambda s: s.profile.update({"name": "a name"}),
        lambda s: s.profile.update({"name": "a name"}, user="zz-user"),
    ],
    "usage": [*(lambda s, i=i: s.usage(i) for i in IDS)],
    "profile.users": [lambda s: s.profile.users()],
    "verify": [lambda s: s.verify(), lambda s: s.verify(mend=True)],
    "models.warm_up": [lambda s: s.models.warm_up()],
    "not_useful": [
        *(lambda s, i=i: s.not_useful(i, "when is it due") for i in IDS),
        *(lambda s, i=i: s.not_useful(i, "when is it due", take_back=True) for i in IDS),
        lambda s: (s.not_useful("in-1", "Apollo"), s.search("Apollo"), s.journal.entries()),
        lambda s: (s.not_useful("in-1", "Apollo"), s.why_not("Apollo", "in-1"), s.undo()),
    ],
    "why_not": [
        *(lambda s, i=i: s.why_not("Apollo deadline", i, scope="ALL") for i in IDS),
        *(lambda s, n=n: s.why_not("Apollo", "in-1", scope=n) for n in SCOPES),
    ],
    "scopes.__iter__": [lambda s: list(iter(s.scopes))],
    "scopes.__getitem__": [*scope_calls("__getitem__")],
    "scopes.count_memories": [lambda s: s.scopes.count_memories()],
    "scopes.count_tags": [*(lambda s, n=n: s.scopes.count_tags(n) for n in (None, "ALL", *SCOPES))],
    "scopes.searched": [*(lambda s, n=n: s.scopes.searched(n) for n in (None, "ALL", *SCOPES))],
    "scopes.create": [*scope_calls("create")],
    "scopes.update": [*scope_calls("update"), lambda s: s.scopes.update("work", parent="")],
    "scopes.delete": [*scope_calls("delete"), emptied_and_deleted],
}


def looked(store: MemoryStore) -> Any:
    """Return what a handle tells of itself, and what it finds."""
    with store:
        found = [store.search(question, scope="ALL") for question in QUESTIONS]
        return store.stats(), list(store.scopes), store.journal.entries(), found


def called(store: MemoryStore) -> Any:
    """Return how often a handle was called, without how long it took."""
    metrics = store.metrics()
    return {
        name: (timing.calls, timing.errors)
        for series in (metrics.operations, metrics.arms)
        for name, timing in series.items()
    }, metrics.caches


def outcome(call: Call, store: MemoryStore) -> str:
    """Return all that a call gives: what it returns, or its error with every cause."""
    try:
        return repr(call(store))
    except InfiniteMemoryError as error:
        chain: BaseException | None = error
        told = []
        while chain is not None:
            told.append(f"{type(chain).__name__}: {chain}")
            chain = chain.__cause__ or chain.__context__
        return " <- ".join(told)


def test_every_method_has_rows() -> None:
    assert sorted(ROWS) == sorted(public_names())


@pytest.mark.parametrize("by_patterns", [False, True], ids=["names", "patterns"])
@pytest.mark.parametrize("name", list(ROWS))
def test_a_confined_handle_answers_as_if_there_were_nothing_else(
    name: str, by_patterns: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    config = Config(home=tmp_path / "home", time_zone="Europe/Berlin")
    for number, call in enumerate(ROWS[name]):
        with opened_pair(config, by_patterns=by_patterns) as pair:
            caplog.clear()
            before = outside_of(pair.storage)
            told = outcome(call, pair.full)
            assert told == outcome(call, pair.twin), f"row {number} of {name}"
            assert not markers_in(caplog.text)
            assert outside_of(pair.storage) == before, f"row {number} of {name} wrote outside"


@pytest.fixture(params=[False, True], ids=["names", "patterns"])
def pair(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Pair]:
    with opened_pair(Config(home=tmp_path / "home"), by_patterns=request.param) as both:
        yield both


def test_without_a_name_from_outside_nothing_from_outside_is_told(pair: Pair) -> None:
    for call in (
        lambda s: [
            s.search(q, scope="ALL", threshold=0, explain=True) for q in ("deadline", "work")
        ],
        lambda s: [s.search("deadline June", depth=d) for d in ("overview", "exhaustive")],
        lambda s: [
            s.stats(),
            s.verify(),
            s.journal.conflicts(scope="ALL"),
            list(s.scopes),
            s.config.limits,
        ],
        lambda s: [
            s.browse(scope="ALL", statuses=[]),
            s.recall_by_time(when="always", scope="ALL"),
        ],
        lambda s: [
            s.journal.entries(limit=100),
            s.journal.history("in-1"),
            s.journal.history("in-sum"),
            s.journal.history("job"),
        ],
        lambda s: [s.undo(), s.undo(), s.undo()],
    ):
        assert not markers_in(outcome(call, pair.full))


def test_only_that_an_id_is_taken_is_seen(pair: Pair) -> None:
    for memory_id in ("zz-id-1", "zz-job", "zz-forgotten", "zz-waits", "zz-global"):
        message = f"id '{memory_id}' is taken: choose another id"
        for call in (
            lambda i=memory_id: pair.full.remember("a note", id=i),
            lambda i=memory_id: pair.full.remember_many([{"text": "a"}, {"text": "b", "id": i}]),
        ):
            before = outside_of(pair.storage)
            with pytest.raises(IdTaken) as caught:
                call()
            assert str(caught.value) == message
            assert (caught.value.__cause__, caught.value.__context__) == (None, None)
            assert outside_of(pair.storage) == before
    # One that was erased is free, wherever it was.
    assert pair.full.remember("a note", id="zz-erased").id == "zz-erased"


def test_an_entry_outside_is_no_entry(pair: Pair) -> None:
    visible = {entry.number for entry in pair.full.journal.entries(limit=1000)}
    hidden = set(range(1, max(visible))) - visible
    assert len(hidden) > 10
    unknown = outcome(lambda s: s.undo(10**6), pair.full)
    for number in hidden:
        told = outcome(lambda s, n=number: s.undo(n), pair.full)
        assert told == unknown.replace(str(10**6), str(number))


def test_the_store_has_much_outside(pair: Pair) -> None:
    assert len(outside_of(pair.storage)) > 20
    assert {*INSIDE} < {*pair.storage.scopes()}
