"""Every method of the page with keys of some scopes: it answers as if there were nothing else.

The stores are those of `test_key_matrix`: one holds much outside of the scopes, its twin never did.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
from confined_pairs import outside_of
from test_confined_tools import CONVERSATIONS, IDS, REPOSITORIES, SCOPES
from test_key_matrix import PATTERNS, RIGHTS, Served, make_key, marks, serve_pair, untouchable

from infinite_memory_mcp.web.api import KEYS, METHODS

pytestmark = pytest.mark.anyio
Rows = Sequence[Mapping[str, Any]]


def each(name: str, values: Sequence[Any], **further: Any) -> Rows:
    return [{name: value, **further} for value in values]


NOTHING: Rows = [{}]
OF_ID = each("memory_id", IDS)
OF_SCOPE = [{}, *each("scope", SCOPES)]
OF_REPOSITORY = [{}, *each("repository", REPOSITORIES)]
ROWS: Mapping[str, Rows] = {
    "session": NOTHING,
    "position": NOTHING,
    "scopes": NOTHING,
    "search": [
        *each("scope", SCOPES, query="zzquartz deadline", explain=True),
        {"query": "in zz-vault: deadline", "depth": "exhaustive"},
        {"query": "deadline", "mode": "history", "scope": "ALL", "cut": "asked"},
    ],
    "why_not": each("memory_id", IDS, query="deadline", scope="ALL"),
    "browse": [*OF_SCOPE, {"tags": ["zz-tag"]}, {"statuses": ["forgotten"], "scope": "ALL"}],
    "recall_by_time": [{"when": "1987"}, {"when": "March 2026", "scope": "ALL"}],
    "what_do_i_know": [{"topic": "zzquartz"}, {"topic": "deadline", "scope": "ALL"}],
    "get": OF_ID,
    "briefing": OF_SCOPE,
    "usage": OF_ID,
    "stats": NOTHING,
    "scopes.count_memories": NOTHING,
    "scopes.count_tags": OF_SCOPE,
    "times.read": [
        {"time": "yesterday", "argument": "happened_at"},
        {"time": "yesterday", "argument": "expires_at"},
        {"time": "zzz", "argument": "since"},
    ],
    "ids.shorten": [{"ids": IDS}],
    "ids.resolve": each("id_or_ending", IDS),
    "journal.entries": [{}, {"limit": 1000}, *OF_ID],
    "journal.history": each("id_or_key", [*IDS, "job", "ZZ.Key"]),
    "journal.conflicts": OF_SCOPE,
    "journal.reads": [{}, *OF_ID, {"client": "somebody"}],
    "profile.get": [{}, {"user": "zzname"}],
    "profile.users": NOTHING,
    "profile.update": [{"changes": {"name": "Ann"}}],
    "attachments.list": OF_ID,
    "attachments.read": each("attachment_id", IDS),
    "triggers.get": each("name", ("reminder", "zz-reminder"), scope="ALL"),
    "triggers.list": OF_SCOPE,
    "triggers.coming": [*OF_SCOPE, {"within": None}],
    "triggers.due": OF_SCOPE,
    "conversations.list": OF_SCOPE,
    "conversations.read": each("conversation_id", CONVERSATIONS),
    "conversations.stats": each("conversation_id", CONVERSATIONS, scope="ALL"),
    "graph.links": OF_ID,
    "graph.duplicates": OF_SCOPE,
    "graph.related": each("ids", [*IDS, ["in-1", "zz-id-1"]]),
    "graph.export": [*OF_SCOPE, {"ids": ["in-1"]}, {"ids": ["zz-id-1"]}],
    "projects.get_history": OF_REPOSITORY,
    "projects.get_decisions": OF_REPOSITORY,
    "projects.identify_patterns": OF_REPOSITORY,
    "projects.insights": OF_REPOSITORY,
    "projects.build_session_context": OF_REPOSITORY,
    "dreams.diary": NOTHING,
    "bulk.preview_forget": [{"scope": "ALL", "tags": ["zz-tag"]}, {"query": "zzquartz"}],
    "inbox.list": OF_SCOPE,
    "inbox.accept": each("ids", [[memory_id] for memory_id in IDS]),
    "inbox.reject": each("ids", [[memory_id] for memory_id in IDS]),
    "remember": each("scope", SCOPES, text="a note"),
    "revise": each("memory_id", IDS, revision=9, text="other"),
    "forget": [*OF_ID, *each("memory_id", IDS, hard=True)],
    "undo": each("entry", (*range(1, 30, 3), 10**6), dry_run=True),
    "not_useful": each("memory_id", IDS, query="deadline"),
    "dream": [{"seed": 1, "dry_run": True}, *each("scope", SCOPES, seed=1, dry_run=True)],
    "bulk.forget": [{"token": "zz-token", "scope": "ALL"}],
    "triggers.add": [
        {"name": "n", "prompt": "p", "trigger": {"any_of": ["x"]}, "scope": "zz-vault"}
    ],
    "triggers.update": [{"name": "zz-reminder", "prompt": "p"}],
    "triggers.delete": [{"name": "zz-reminder"}],
    "triggers.done": OF_ID,
    "triggers.enable": [{"names": "zz-reminder"}, {"names": ["zz-id-1"]}],
    "triggers.disable": [{"names": "zz-reminder"}],
    "conversations.undo": each("session", CONVERSATIONS, dry_run=True),
    "graph.link": [{"source": "in-1", "target": target} for target in IDS],
    "graph.unlink": [{"source": "in-1", "target": target} for target in IDS],
    "scopes.create": [{"name": "zz-vault"}, {"name": "work/new", "parent": "zz-vault"}],
    "scopes.update": each("name", ("zz-vault", "zz-nowhere", "work"), description="x"),
    "scopes.delete": each("name", ("zz-vault", "zz-nowhere")),
    "backups.create": NOTHING,
    "backups.list": NOTHING,
    "backups.verify": [{"file": "zz"}],
    "backups.restore": [{"file": "zz"}],
    "backups.delete": [{"name": "zz"}],
    "upkeep.optimize": [{"dry_run": True}, {"jobs": ["archive"], "dry_run": True}],
    "bulk.mask_secrets": [{"ids": ["zz-id-1"]}, {"dry_run": True}],
    "health": NOTHING,
    "metrics": NOTHING,
    "verify": NOTHING,
    "keys.list": NOTHING,
    "keys.create": [{"name": "new"}],
    "keys.usage": NOTHING,
    "keys.limit": [{"name_or_id": "zz", "max_memories": 1}],
    "keys.revoke": [{"name_or_id": "zz"}],
    "import": NOTHING,
    "work": [{}, {"id": "zz"}],
}
DIFFERS = {"health", "metrics"}
"""Their answers have durations and sizes of files, and are not the same twice."""


def list_calls() -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the calls of every method, those that read before those that change."""
    for name in sorted(METHODS, key=lambda name: [*RIGHTS, KEYS].index(METHODS[name])):
        yield from ((name, row) for row in ROWS[name])


async def ask(server: Served, secret: str, name: str, row: Mapping[str, Any]) -> httpx2.Response:
    server.clock.now += timedelta(seconds=1)
    return await server.client.post(f"/api/{name}", json=row, headers={"x-memory-key": secret})


async def test_every_method_has_rows() -> None:
    assert ROWS.keys() == METHODS.keys()


@pytest.mark.thorough
@pytest.mark.parametrize("right", RIGHTS)
@pytest.mark.parametrize("scopes", PATTERNS)
async def test_the_page_shows_a_key_nothing_of_what_is_outside_of_its_scopes(
    scopes: str, right: str, tmp_path: Path
) -> None:
    async with serve_pair(tmp_path, inside=scopes != "nothing") as (full, twin):
        before = untouchable(full.storage, scopes)
        asked = marks(str(ROWS))
        unsaid = marks(" ".join(outside_of(full.storage))) - asked
        assert len(unsaid) > 10
        secrets = make_key(right, [right], PATTERNS[scopes], full, twin)
        held = (*RIGHTS[: RIGHTS.index(right) + 1],)
        for name, row in list_calls():
            answer = await ask(full, secrets[0], name, row)
            same = await ask(twin, secrets[1], name, row)
            assert answer.status_code == same.status_code, (name, row, answer.text, same.text)
            if name not in DIFFERS:
                assert answer.text == same.text, (name, row)
            assert not marks(answer.text) & unsaid, (name, row)
            is_refused = METHODS[name] not in held and name != "import"
            assert not is_refused or answer.status_code == 403, (name, row)
            assert answer.status_code < 500, (name, row, answer.text)
        assert untouchable(full.storage, scopes) == before
