"""The names of arguments of other memory servers, by ours."""

from __future__ import annotations

from collections.abc import Mapping

NAMES: Mapping[str, tuple[str, ...]] = {
    "text": (
        *("content", "contents", "memory", "fact", "facts", "note", "data", "observation"),
        *("value", "body", "statement", "information", "episode_body", "thing_to_remember"),
        "summary",
    ),
    "query": (
        *("q", "question", "search", "search_query", "search_term", "keywords", "topic"),
        *("text", "content", "information_to_get", "prompt", "problem", "error_message"),
    ),
    "topic": (
        *("query", "q", "subject", "about", "question", "search", "text", "name", "person"),
        *("entity", "keywords"),
    ),
    "id": ("memory_id", "content_hash", "hash", "uuid", "identifier", "data_id", "document_id"),
    "ids": (
        *("id", "memory_id", "memory_ids", "content_hash", "hash", "uuid", "identifier", "uuids"),
        "permalink",
    ),
    "id_or_key": ("id", "memory_id", "key", "content_hash", "uuid", "identifier"),
    "kind": ("type", "memory_type", "note_type", "category", "source_type", "entity_type"),
    "kinds": (
        *("kind", "type", "types", "memory_type", "memory_types", "note_type", "note_types"),
        *("category", "categories"),
    ),
    "important": ("importance", "priority", "salience", "importance_score", "is_important"),
    "tags": ("tag", "labels", "label", "keywords", "topics", "categories"),
    "scope": (
        *("scopes", "project", "project_name", "project_id", "namespace", "group_id", "group_ids"),
        *("bank_id", "dataset_name", "datasets", "container_tag", "collection", "workspace"),
        *("directory", "folder", "app_id"),
    ),
    "create": ("create_scope", "create_project"),
    "context": ("metadata", "meta", "properties", "attributes", "extra"),
    "conversation_id": ("session_id", "run_id", "thread_id", "chat_id", "conversation", "saga"),
    "speaker": ("author", "speaker_name", "role"),
    "title": ("name", "subject", "heading"),
    "happened_at": (
        *("timestamp", "created_at", "date", "time", "reference_time", "event_time"),
        *("occurred_at", "valid_at"),
    ),
    "when": (
        *("time_expr", "timeframe", "time_range", "time_period", "period", "date_range"),
        *("lookback", "time", "time_expression"),
    ),
    "since": (
        *("after", "after_date", "start_date", "date_from", "from_date", "start_time", "start"),
        "created_after",
    ),
    "until": (
        *("before", "before_date", "end_date", "date_to", "to_date", "end_time", "end"),
        "created_before",
    ),
    "limit": (
        *("n_results", "max_results", "num_results", "top_k", "k", "n", "count", "page_size"),
        *("per_page", "max_nodes", "max_facts", "max_episodes", "size", "num"),
    ),
    "offset": ("skip",),
    "cursor": ("next", "page_token"),
    "sources": ("source_ids", "ids", "memory_ids"),
    "job": ("job_name", "task"),
    "changes": ("updates", "profile", "data"),
    "user": ("user_id", "user_name", "username"),
    "repository": (
        *("repo", "repo_name", "repository_name", "project", "project_name", "scope", "folder"),
        *("directory", "cwd", "path"),
    ),
    "content": ("text", "body", "description", "details", "notes", "message"),
    "type": ("kind", "chunk_type", "category", "memory_type"),
    "files": ("file_context", "file_paths", "paths", "files_modified", "files_changed", "file"),
    "file_context": ("files", "file_paths", "paths", "current_files", "file"),
    "session": ("session_id", "conversation_id"),
    "commit": ("commit_hash", "git_commit", "sha"),
    "minutes": ("time_spent", "time_spent_minutes", "duration", "duration_minutes"),
    "tools": ("tools_used", "tool"),
    "error": ("error_message", "exception"),
    "error_message": ("error", "message", "exception", "traceback", "stack_trace", "query"),
    "related": ("related_ids", "related_chunks", "related_memories"),
    "decision": ("title", "text", "content", "summary"),
    "rationale": ("reason", "reasoning", "why", "justification"),
    "timeframe": ("when", "time_range", "time_period", "period", "time_expr"),
    "min_relevance_score": ("min_score", "min_relevance", "threshold", "min_similarity"),
    "current_task": ("task", "task_description", "query", "description", "text"),
    "recent_days": ("days", "days_back"),
    "budget": ("max_tokens", "token_budget"),
    "messages": ("recentMessages", "recent_messages", "conversation", "turns"),
    "recentMessages": ("recent_messages", "messages", "conversation", "turns"),
    "roleWeights": ("role_weights", "weights"),
    "createdContext": ("created_context", "context"),
    "updatedContext": ("updated_context", "context"),
    "trigger": ("condition", "trigger_condition"),
    "prompt": ("content", "text", "memory"),
    "pattern": ("query", "keyword", "text", "regex"),
    "date_from": ("since", "start_date", "after"),
    "date_to": ("until", "end_date", "before"),
    "attachments": ("modalities", "images"),
}
"""The aliases of every argument, in the order in which they are tried."""

UNUSED = frozenset(
    {
        *("user_id", "agent_id", "client_hostname", "source", "source_description", "confidence"),
        *("enable_graph", "infer", "async_mode", "output_format", "include_debug", "version"),
        *("quality_boost", "search_type", "hybrid_search", "semantic_weight", "rerank", "budget"),
        *("similarity_threshold", "min_similarity", "min_score", "min_relevance", "strategy"),
        *("entity_types", "edge_types", "center_node_uuid", "excluded_entity_types", "fallback"),
        *("max_response_chars", "include_superseded", "search_all_projects", "update_mode"),
        *("prefer_observations", "query_timestamp", "update_communities", "custom_prompt"),
        *("search_mode", "overwrite", "entity", "max_related"),
    }
)
"""Options without a counterpart here: kept in `context`, or left out with a note."""
