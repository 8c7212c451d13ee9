"""Calls as the clients of other memory servers make them, with the public source of each.

Every call is carried out: it succeeds, unless it is `refused`. `says` is a text of the answer, such
as the call of ours that was run. The memory "mine:1" exists before the first call.
"""

from __future__ import annotations

from typing import Any

from attrs import field, frozen

OFFICIAL = "github.com/modelcontextprotocol/servers, src/memory/README.md"
MEM0 = "github.com/mem0ai/mem0-mcp, src/mem0_mcp_server/server.py"
SERVICE = "github.com/doobidoo/mcp-memory-service, src/mcp_memory_service/mcp_server.py"
SERVICE_WEB = "github.com/doobidoo/mcp-memory-service, src/mcp_memory_service/web/api/mcp.py"
SERVICE_NEW = "github.com/doobidoo/mcp-memory-service, src/mcp_memory_service/server_impl.py"
BASIC = "github.com/basicmachines-co/basic-memory, src/basic_memory/mcp/tools"
MEMENTO = "github.com/gannonh/memento-mcp, README.md"
GRAPHITI = "github.com/getzep/graphiti, mcp_server/src/graphiti_mcp_server.py"
HINDSIGHT = "github.com/vectorize-io/hindsight, hindsight_api/mcp_tools.py"
COGNEE = "github.com/topoteretes/cognee, cognee-mcp/src/server.py"
BRAIN = "brainmemory-mcp, its page on the package index"
KEYED = "glama.ai/mcp/servers/jl3bcq72io"


@frozen
class ForeignCall:
    """A call, where its form is documented, and a text of its answer."""

    source: str
    tool: str
    arguments: dict[str, Any]
    says: str = ""
    refused: bool = field(default=False, kw_only=True)


_STORE = [
    ForeignCall(SERVICE, "store_memory", {"content": "The user prefers dark mode"}),
    ForeignCall(
        SERVICE,
        "store_memory",
        {"content": "Tea at four", "tags": "preference,drinks", "memory_type": "preference"},
    ),
    ForeignCall(
        SERVICE,
        "store_memory",
        {"content": "Deploy on Friday", "tags": ["ops"], "client_hostname": "laptop"},
    ),
    ForeignCall(
        SERVICE_NEW,
        "store_memory",
        {"content": "Use UTC", "metadata": {"tags": "important,reference", "type": "decision"}},
    ),
    ForeignCall(
        SERVICE_NEW,
        "store_memory",
        {"content": "Vim users", "conversation_id": "c-7", "metadata": {"tags": ["editor"]}},
    ),
    ForeignCall(SERVICE, "store_memory", {"content": "Pay rent", "memory_type": "reminder"}),
    ForeignCall(SERVICE_NEW, "store_memory", {"content": "x y z", "metadata": {"type": "gotcha"}}),
    ForeignCall(MEM0, "store_memory", {"text": "Alice is vegetarian", "user_id": "alice"}),
    ForeignCall(
        MEM0,
        "store_memory",
        {
            "messages": [
                {"role": "user", "content": "I moved to Oslo"},
                {"role": "assistant", "content": "Noted"},
            ],
            "run_id": "run-1",
            "agent_id": "helper",
            "enable_graph": False,
        },
    ),
    ForeignCall(MEM0, "store_memory", {"text": "Flight at 9", "metadata": {"category": "travel"}}),
    ForeignCall(
        BRAIN,
        "store_memory",
        {"content": "Bob owns billing", "category": "work", "tags": ["team"], "importance": 0.9},
    ),
    ForeignCall(BRAIN, "store_memory", {"content": "Coffee is out", "importance": "low"}),
    ForeignCall(BRAIN, "store_memory", {"content": "Rotate keys", "importance": 8}),
    ForeignCall(
        HINDSIGHT,
        "store_memory",
        {"content": "Loves hiking", "context": "hobbies", "timestamp": "2024-01-15T10:30:00Z"},
    ),
    ForeignCall(
        HINDSIGHT,
        "store_memory",
        {"content": "Channel moved", "metadata": {"source": "slack"}, "tags": ["project:alpha"]},
    ),
    ForeignCall(
        GRAPHITI,
        "store_memory",
        {"name": "Standup", "episode_body": "Eve joins on Monday", "source": "text"},
    ),
    ForeignCall(
        GRAPHITI,
        "store_memory",
        {"name": "Call", "episode_body": "Signed", "source_description": "a call", "uuid": "g-1"},
    ),
    ForeignCall(
        BASIC,
        "store_memory",
        {"title": "Brewing", "content": "Grind finer", "tags": "coffee, notes"},
    ),
    ForeignCall(
        BASIC, "store_memory", {"title": "ADR 1", "content": "Use SQLite", "note_type": "decision"}
    ),
    ForeignCall(COGNEE, "store_memory", {"data": "The API limit is 60 calls a minute"}),
    ForeignCall(COGNEE, "store_memory", {"data": "Session text", "session_id": "s-3"}),
    ForeignCall(KEYED, "store_memory", {"key": "user/city", "value": "Oslo", "tags": ["home"]}),
]

_SEARCH = [
    ForeignCall(SERVICE, "retrieve_memory", {"query": "dark mode", "n_results": 5}),
    ForeignCall(
        SERVICE_WEB,
        "retrieve_memory",
        {"query": "dark mode", "limit": 10, "similarity_threshold": 0.7},
    ),
    ForeignCall(SERVICE, "retrieve_memory", {"query": "x", "n_results": 5, "min_similarity": 0.0}),
    ForeignCall(SERVICE_NEW, "retrieve_memory", {"query": "API endpoint", "mode": "exact"}),
    ForeignCall(
        SERVICE_NEW, "retrieve_memory", {"query": "database config", "time_expr": "yesterday"}
    ),
    ForeignCall(
        SERVICE_NEW,
        "retrieve_memory",
        {"query": "decisions", "tags": ["important"], "quality_boost": 0.3},
    ),
    ForeignCall(
        SERVICE_NEW,
        "retrieve_memory",
        {"query": "limits", "after": "2024-01-01", "before": "2024-06-30", "limit": 50},
    ),
    ForeignCall(SERVICE_WEB, "recall_memory", {"query": "tea", "n_results": 5}),
    ForeignCall(SERVICE, "search_by_tag", {"tags": "drinks"}),
    ForeignCall(SERVICE_WEB, "search_by_tag", {"tags": ["ops"], "operation": "AND"}),
    ForeignCall(SERVICE, "search_by_tag", {"tags": ["ops"], "match_all": False}),
    ForeignCall(
        SERVICE,
        "search_by_tag",
        {"tags": ["ops", "team"], "match_all": False},
        '{"tags": ["ops"]} and {"tags": ["team"]}',
        refused=True,
    ),
    ForeignCall(MEM0, "retrieve_memory", {"query": "diet", "limit": "5", "user_id": "alice"}),
    ForeignCall(
        MEM0,
        "retrieve_memory",
        {"query": "diet", "filters": {"AND": [{"user_id": "alice"}]}, "enable_graph": True},
    ),
    ForeignCall(HINDSIGHT, "retrieve_memory", {"query": "hobbies", "budget": "high"}),
    ForeignCall(
        HINDSIGHT, "retrieve_memory", {"query": "x", "types": ["world", "experience"], "tags": []}
    ),
    ForeignCall(GRAPHITI, "retrieve_memory", {"query": "who joins", "max_nodes": 10}),
    ForeignCall(
        GRAPHITI, "retrieve_memory", {"query": "Eve", "max_facts": 3, "center_node_uuid": "n-1"}
    ),
    ForeignCall(
        BASIC, "retrieve_memory", {"query": "coffee", "page": 1, "page_size": 10, "tags": "coffee"}
    ),
    ForeignCall(BASIC, "retrieve_memory", {"q": "coffee", "search_type": "hybrid", "depth": 1}),
    ForeignCall(BASIC, "recall_memory_by_time", {"timeframe": "7d", "page_size": 10}),
    ForeignCall(
        MEMENTO,
        "retrieve_memory",
        {"query": "databases", "limit": 10, "min_similarity": 0.6, "hybrid_search": True},
    ),
    ForeignCall(COGNEE, "retrieve_memory", {"search_query": "limit", "top_k": 15}),
    ForeignCall(MEM0, "retrieve_memory", {"memory_id": "mine:1"}),
]

_CHANGE = [
    ForeignCall(MEM0, "update_memory", {"memory_id": "mine:1", "text": "Alice likes green tea"}),
    ForeignCall(
        SERVICE_NEW,
        "update_memory",
        {"content_hash": "mine:1", "updates": {"tags": ["important", "new-tag"]}},
    ),
    ForeignCall(
        SERVICE_NEW,
        "update_memory",
        {
            "content_hash": "mine:1",
            "updates": {"memory_type": "reminder", "metadata": {"priority": "high"}},
        },
    ),
    ForeignCall(MEM0, "delete_memory", {"memory_id": "mine:1"}),
    ForeignCall(SERVICE, "delete_memory", {"content_hash": "g-1"}),
]

_OTHER_TOOLS = [
    ForeignCall(
        OFFICIAL,
        "create_entities",
        {
            "entities": [
                {
                    "name": "John_Smith",
                    "entityType": "person",
                    "observations": ["Speaks fluent Spanish"],
                }
            ]
        },
        'store_memory with {"text": "John_Smith: Speaks fluent Spanish", "tags": ["person"]}',
    ),
    ForeignCall(
        OFFICIAL,
        "create_relations",
        {"relations": [{"from": "John", "to": "Anthropic", "relationType": "works_at"}]},
        'store_memory with {"text": "John works at Anthropic"}',
    ),
    ForeignCall(
        OFFICIAL,
        "add_observations",
        {"observations": [{"entityName": "John", "contents": ["Prefers mornings"]}]},
        'store_memory with {"text": "John: Prefers mornings"}',
    ),
    ForeignCall(
        OFFICIAL, "search_nodes", {"query": "Spanish"}, 'retrieve_memory with {"query": "Spanish"}'
    ),
    ForeignCall(
        OFFICIAL, "open_nodes", {"names": ["John"]}, 'retrieve_memory with {"query": "John"}'
    ),
    ForeignCall(OFFICIAL, "read_graph", {}, 'recall_memory_by_time with {"when": "always"'),
    ForeignCall(
        MEM0,
        "add_memory",
        {"text": "Alice is vegetarian"},
        'store_memory with {"text": "Alice is vegetarian"}',
    ),
    ForeignCall(
        MEM0, "search_memories", {"query": "diet"}, 'retrieve_memory with {"query": "diet"}'
    ),
    ForeignCall(MEM0, "get_memory", {"memory_id": "mine:2"}, 'with {"memory_id": "mine:2"}'),
    ForeignCall(
        SERVICE_NEW, "memory_search", {"query": "x"}, 'retrieve_memory with {"query": "x"}'
    ),
    ForeignCall(
        SERVICE_NEW, "memory_store", {"content": "x"}, 'store_memory with {"content": "x"}'
    ),
    ForeignCall(
        SERVICE_NEW,
        "memory_delete",
        {"content_hash": "mine:3"},
        'delete_memory with {"content_hash": "mine:3"}',
    ),
    ForeignCall(
        BASIC,
        "write_note",
        {"title": "T", "content": "C"},
        'store_memory with {"title": "T", "content": "C"}',
    ),
    ForeignCall(
        BASIC,
        "recent_activity",
        {"timeframe": "7d"},
        'recall_memory_by_time with {"timeframe": "7d", "newest_first": true}',
    ),
    ForeignCall(
        GRAPHITI,
        "add_memory",
        {"name": "N", "episode_body": "B"},
        'store_memory with {"name": "N", "episode_body": "B"}',
    ),
    ForeignCall(GRAPHITI, "get_status", {}, "get_memory_stats with {}"),
    ForeignCall(HINDSIGHT, "retain", {"content": "x"}, 'store_memory with {"content": "x"}'),
    ForeignCall(HINDSIGHT, "recall", {"query": "x"}, 'retrieve_memory with {"query": "x"}'),
]

CALLS = (*_STORE, *_SEARCH, *_CHANGE, *_OTHER_TOOLS)
