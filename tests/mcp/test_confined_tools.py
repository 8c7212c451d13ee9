"""Every tool of a confined server, called with whatever there is outside of its scopes.

It answers as on a store that never held anything else. A tool without a row fails the test.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from confined_pairs import INSIDE, markers_in, opened_pair, outside_of
from mcp import Client
from mcp.server.mcpserver.exceptions import ToolError
from talking import call, refusal, server, text

from infinite_memory import Config, MemoryStore
from infinite_memory.storage.paging import encode_position
from infinite_memory_mcp.lazy_store import LazyStore
from infinite_memory_mcp.server import INSTRUCTIONS, TOOLSETS

IDS = ("zz-id-1", "zz-erased", "zz-forgotten", "zz-nobody", "in-1")
SCOPES = ("zz-vault", "Global", "zz-child", "zz-nowhere", "team", "ALL")
REPOSITORIES = (
    "zz.example/octo/zzapollo",
    "zzapollo",
    "https://zz.example/octo/zzapollo.git",
    "zz.example/octo/zznew",
    "Global",
    "team",
)
CONVERSATIONS = ("talk", "zz-talk", "nowhere")
SAID = [{"role": "user", "content": "is the deadline of zzquartz near?"}]
CURSOR = encode_position((-(2**40), "zz-id-1"))
SPECS = {spec.name: spec for specs in TOOLSETS.values() for spec in specs}
REMINDERS = ("reminder", "zz-reminder", "in-1")
RULE = {"any_of": ["deadline"]}


def reminder_rows(**fields: Any) -> Iterator[Mapping[str, Any]]:
    for name in REMINDERS:
        yield {"name": name, **fields}
        yield {"name": name, "conversation_id": "zz-talk", **fields}
        yield from ({"name": name, "scope": scope, **fields} for scope in SCOPES)


ROWS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "store_memory": [
        {"text": "a note"},
        *({"text": "a note", "scope": scope} for scope in SCOPES),
        *({"text": "a note", "supersedes": [memory_id]} for memory_id in IDS),
        {"text": "The deadline of project Apollo is June 5"},
        {"text": "Alice works at Initech", "key": "job", "kind": "fact"},
        {"text": "A note on a key", "key": "ZZ.Key more"},
        {"text": "a note", "scope": "zz-vaults", "create": True},
    ],
    "update_memory": [
        *({"id": memory_id, "text": "other"} for memory_id in IDS),
        *({"id": memory_id, "text": "other", "revision": 9} for memory_id in IDS),
        *({"id": "in-1", "scope": scope} for scope in SCOPES),
    ],
    "delete_memory": [
        *({"id": memory_id} for memory_id in IDS),
        *({"id": memory_id, "permanently": True} for memory_id in IDS),
    ],
    "retrieve_memory": [
        *({"query": "zzquartz deadline", "scope": scope, "explain": True} for scope in SCOPES),
        *({"query": "in zz-vault: deadline", "depth": depth} for depth in ("overview", "normal")),
        *({"query": "deadline", "why_not": memory_id, "scope": "ALL"} for memory_id in IDS),
        *({"ids": [memory_id]} for memory_id in IDS),
        {"query": "deadline", "tags": ["zz-tag"], "scope": "ALL"},
        {"query": "deadline", "when": "1987", "scope": "ALL", "mode": "history"},
    ],
    "recall_memory": [
        *({"query": "deadline", "scope": scope} for scope in SCOPES),
        {"query": "deadline", "until": "1999-01-01", "scope": "ALL"},
        *({"id": memory_id} for memory_id in IDS),
    ],
    "recall_memory_by_time": [
        *({"when": "always", "scope": scope} for scope in SCOPES),
        {"when": "1987", "scope": "ALL"},
        {"when": "always", "scope": "ALL", "cursor": CURSOR},
        {"when": "always", "scope": "ALL", "limit": 2, "tags": ["deadline"]},
    ],
    "search_by_tag": [
        {"tags": ["zz-tag"], "scope": "ALL"},
        {"tags": ["deadline"], "query": "zzquartz", "scope": "ALL"},
        {"tags": ["deadline"], "scope": "ALL", "cursor": CURSOR},
    ],
    "search_by_scope": [
        *({"scope": scope} for scope in SCOPES),
        *({"scope": scope, "query": "deadline"} for scope in SCOPES),
        {"scope": "ALL", "cursor": CURSOR},
    ],
    "what_do_i_know": [
        {"topic": "zzquartz deadline"},
        *({"topic": "Apollo", "scope": scope} for scope in SCOPES),
        {"topic": "Apollo", "budget": 200},
    ],
    "build_session_context": [
        {},
        {"recent_days": 100, "budget": 300},
        *({"repository": name} for name in REPOSITORIES),
    ],
    "store_conversation_chunk": [
        {"content": "It failed", "repository": "team"},
        *({"content": "It failed", "repository": name} for name in REPOSITORIES),
        *(
            {"content": "It failed", "repository": "team", "related": [memory_id]}
            for memory_id in (*IDS, "zz-work")
        ),
        {"content": "It failed", "metadata": {"repository": "zzapollo", "type": "problem"}},
        {"content": "It failed"},
    ],
    "store_architecture_decision": [
        {"decision": "Use June 5", "rationale": "It is a Friday", "repository": "team"},
        *(
            {"decision": "Use June 5", "rationale": "It is a Friday", "repository": name}
            for name in REPOSITORIES
        ),
        *(
            {"decision": "a", "rationale": "b", "repository": "team", "supersedes": [memory_id]}
            for memory_id in (*IDS, "zz-work")
        ),
    ],
    "store_lesson_learned": [
        {"problem": "late", "solution": "begin early", "repository": "team"},
        *(
            {"problem": "late", "solution": "begin early", "repository": name}
            for name in REPOSITORIES
        ),
    ],
    "search_similar_problems": [
        {"query": "deadline"},
        {"query": "zzquartz deadline", "repository": "ALL", "file_context": ["zz/app.py"]},
        *({"query": "zzquartz deadline", "repository": name} for name in REPOSITORIES),
    ],
    "find_past_solutions": [
        {"error_message": "deadline failed"},
        *({"error_message": "zzquartz deadline", "repository": name} for name in REPOSITORIES),
    ],
    "get_project_history": [{}, *({"repository": name} for name in REPOSITORIES)],
    "get_architecture_decisions": [
        {},
        {"repository": "ALL", "component": "zzpart"},
        *({"repository": name} for name in REPOSITORIES),
    ],
    "suggest_related_work": [
        *(
            {"current_task": "zzquartz deadline", "repository": name, "files": ["zz/app.py"]}
            for name in REPOSITORIES
        ),
    ],
    "identify_patterns": [
        {},
        {"repository": "ALL", "timeframe": "always"},
        *({"repository": name} for name in REPOSITORIES),
    ],
    "log_conversation": [
        {},
        *({"scope": scope} for scope in SCOPES),
        *({"conversation_id": name} for name in CONVERSATIONS),
        *({"conversation_id": "talk", "scope": scope} for scope in SCOPES),
        *({"conversation_id": "talk", "messages": SAID, "scope": scope} for scope in SCOPES),
    ],
    "add_short_term_memory": [
        *({"conversation_id": "talk", "messages": SAID, "scope": scope} for scope in SCOPES),
        {"conversation_id": "zz-talk", "messages": SAID},
    ],
    "search_short_term_memories": [
        *(
            {"conversation_id": "talk", "recentMessages": SAID, "scope": scope, "seed": 1}
            for scope in SCOPES
        ),
        *({"conversation_id": c, "recentMessages": SAID, "seed": 1} for c in CONVERSATIONS),
    ],
    "delete_short_term_memories": [
        *({"conversation_id": "talk", "pattern": "deadline", "scope": scope} for scope in SCOPES),
    ],
    "cleanup_memories": [
        *({"conversation_id": "talk", "scope": scope} for scope in SCOPES),
        *({"conversation_id": c} for c in CONVERSATIONS),
    ],
    "get_frequent_conversation": [{}, *({"scope": scope} for scope in SCOPES)],
    "analyze_memory_patterns": [
        *({"conversation_id": "talk", "scope": scope} for scope in SCOPES),
        *({"conversation_id": c} for c in CONVERSATIONS),
    ],
    "search_memories": [
        *({"conversation_id": "talk", "scope": scope} for scope in SCOPES),
        *({"conversation_id": c, "keywords": ["deadline"]} for c in CONVERSATIONS),
    ],
    "add_long_term_memory": [
        *(
            {"name": name, "prompt": "text", "trigger": RULE, "scope": scope}
            for name in REMINDERS
            for scope in SCOPES
        ),
        *({"name": "new", "prompt": "text", "trigger": RULE, "scope": "team"} for _ in range(2)),
    ],
    "update_long_term_memory": [*reminder_rows(prompt="another text")],
    "delete_long_term_memory": [*reminder_rows()],
    "list_long_term_memories": [
        {},
        *({"conversation_id": name} for name in CONVERSATIONS),
        *({"scope": scope} for scope in SCOPES),
    ],
    "search_long_term_memories": [
        *({"messages": SAID, "conversation_id": c, "seed": 1} for c in CONVERSATIONS),
        *({"messages": SAID, "scope": scope, "seed": 1} for scope in SCOPES),
    ],
    "get_memory_context": [*reminder_rows()],
    "reminder_done": [*({"id": memory_id} for memory_id in IDS)],
    "related_memories": [
        *({"ids": [memory_id]} for memory_id in (*IDS, "in-sum")),
        {"ids": ["in-1", "in-job-2"], "depth": 4, "limit": 100},
        {"ids": ["in-1", "zz-id-1"]},
    ],
    "link_memories": [
        *({"source": "in-1", "target": memory_id} for memory_id in (*IDS, "in-job-2", "in-talk")),
        *({"source": memory_id, "target": "in-1"} for memory_id in IDS),
    ],
    "not_useful": [
        *({"id": memory_id, "query": "deadline"} for memory_id in (*IDS, "in-1")),
        *({"id": memory_id, "query": "it", "take_back": True} for memory_id in IDS),
    ],
    "unlink_memories": [
        *({"source": "in-sum", "target": memory_id} for memory_id in (*IDS, "in-1")),
    ],
    "dream": [
        {"seed": 1},
        {"seed": 1, "dry_run": True},
        *({"seed": 1, "scope": scope} for scope in SCOPES),
    ],
    "dream_diary": [{}, {"before": 10_000}],
    "optimize_memory": [{"dry_run": True}, {}, {"job": "zz-job"}],
    "summaries_wanted": [{}, {"limit": 5, "max_tokens": 500}],
    "store_summary": [
        *({"text": "Apollo is due in June", "sources": [memory_id]} for memory_id in IDS),
        *({"text": "Apollo is due", "sources": ["in-1", memory_id]} for memory_id in IDS),
    ],
    "mask_secrets": [{"id": memory_id} for memory_id in IDS],
    "inbox": [{}, *({"accept": [each]} for each in IDS), *({"reject": [each]} for each in IDS)],
    "backup_memory": [{}],
    "list_backups": [{}],
    "delete_backup": [{"name": "zz.imarchive"}],
    "restore_memory": [{"name": "zz.imarchive"}, {"name": "../zz", "mode": "overwrite"}],
    "get_memory_stats": [{}, {"conversation_id": "zz-talk"}],
    "reminders": [{}, {"scope": "zz-vault"}, {"days": 366}],
    "more": [{}, {"tool": "zz"}],
    "list_memory_scopes": [{}],
    "get_user_profile": [{}, {"user": "zz-user"}],
    "update_user_profile": [
        {"changes": {"name": "a name"}},
        {"changes": {"name": "a name"}, "user": "zz-user"},
    ],
    "create_memory_scope": [
        *({"name": scope} for scope in (*SCOPES, "zz-new")),
        *({"name": "team", "parent": scope} for scope in SCOPES),
    ],
    "memory_history": [
        *({"id_or_key": name} for name in (*IDS, "zz-key", "zz-key more", "job", "in-sum")),
        *({"id_or_key": "job", "scope": scope} for scope in SCOPES),
    ],
    "memory_log": [
        {},
        {"limit": 100},
        *({"id": memory_id} for memory_id in IDS),
        {"before": 12},
        {"reads": True},
    ],
    "health_check": [{}],
    # How long a call took is not the same twice; tests/mcp/test_health_tools.py reads it.
    "get_metrics": [],
    "verify_memory": [{}],
    "undo": [{}, *({"entry": number} for number in (*range(1, 30), 10**6))],
}


def told(tool: str, store: MemoryStore, arguments: Mapping[str, Any]) -> str:
    """Return all that an assistant gets: text and data, or the error with every cause."""
    # It is the fixture that closes the store.
    memory = LazyStore(lambda: store, quiet_seconds=600)
    try:
        result = SPECS[tool].build_tool(memory).fn(dict(arguments))
    except ToolError as error:
        return f"{error} <- {error.__cause__!r}"
    return json.dumps([result.content[0].text, result.structured_content], ensure_ascii=False)


def test_every_tool_has_rows() -> None:
    assert sorted(ROWS) == sorted(SPECS)


@pytest.mark.parametrize("tool", list(ROWS))
def test_a_tool_of_a_confined_server_answers_as_if_there_were_nothing_else(
    tool: str, tmp_path: Path
) -> None:
    config = Config(home=tmp_path / "home", time_zone="Europe/Berlin")
    for arguments in ROWS[tool]:
        with opened_pair(config) as pair:
            before = outside_of(pair.storage)
            answer = told(tool, pair.full, arguments)
            assert answer == told(tool, pair.twin, arguments), arguments
            if not markers_in(json.dumps(arguments)):
                assert markers_in(answer) <= markers_in(INSTRUCTIONS), arguments
            assert outside_of(pair.storage) == before, arguments


@pytest.mark.process
@pytest.mark.anyio
async def test_a_confined_server_in_a_process_of_its_own(tmp_path: Path) -> None:
    with MemoryStore.open(config=Config(home=tmp_path)) as store:
        store.remember("The blood test was positive", id="test", scope="zz-vault")
        store.remember("The deadline of project Apollo is June 5", id="apollo", scope="work")
    flags = ("--toolsets", "all", "--scopes", ",".join(INSIDE))
    async with Client(server(tmp_path, *flags)) as client:
        found = await call(client, "retrieve_memory", query="blood test deadline", scope="ALL")
        assert [hit["id"] for hit in found["hits"]] == ["apollo"]
        assert (await call(client, "get_memory_stats"))["by_scope"] == {"work": 1}
        assert "zz" not in await text(client, "list_memory_scopes")
        assert "zz" not in await text(client, "memory_log")
        assert "there is no memory 'test'" in await refusal(client, "retrieve_memory", ids=["test"])
        assert "opened for work, team alone" in await refusal(
            client, "store_memory", text="a note", scope="zz-vault"
        )
        assert "id 'test' is taken" in await refusal(
            client, "store_memory", text="a note", id="test"
        )
        assert (await call(client, "get_user_profile"))["profile"] == {}
        assert (await call(client, "store_memory", text="a note"))["scope"] == "work"
