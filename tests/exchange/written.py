"""Writes a source of each format that holds given texts, under the same names for any texts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

AT = "2026-05-01T12:00:00Z"
Texts = Sequence[str]


def list_graph(texts: Texts) -> list[Any]:
    return [
        {"type": "entity", "name": f"part{n}", "entityType": "part", "observations": [text]}
        for n, text in enumerate(texts)
    ]


def list_chatgpt(texts: Texts) -> list[Any]:
    mapping = {
        f"n{n}": {
            "id": f"n{n}",
            "parent": f"n{n - 1}" if n else None,
            "children": [f"n{n + 1}"] if n + 1 < len(texts) else [],
            "message": {
                "id": f"n{n}",
                "author": {"role": "user"},
                "create_time": 1.7e9 + n,
                "content": {"content_type": "text", "parts": [text]},
            },
        }
        for n, text in enumerate(texts)
    }
    return [{"title": "Talk", "conversation_id": "c1", "mapping": mapping}]


def list_claude(texts: Texts) -> list[Any]:
    said = [{"sender": "human", "text": text, "created_at": AT} for text in texts]
    return [{"uuid": "c1", "name": "talk", "created_at": AT, "chat_messages": said}]


def list_chats(texts: Texts) -> list[Any]:
    messages = {
        f"m{n}": {"id": f"m{n}", "role": "user", "content": text, "timestamp": 1.7e9 + n}
        for n, text in enumerate(texts)
    }
    return [{"id": "c1", "title": "Talk", "chat": {"history": {"messages": messages}}}]


def list_service(texts: Texts) -> list[Any]:
    return [
        {"content": text, "content_hash": f"h{n}", "tags": ["a"]} for n, text in enumerate(texts)
    ]


def list_mem0(texts: Texts) -> list[Any]:
    return [{"id": f"a{n}", "memory": text, "created_at": AT} for n, text in enumerate(texts)]


def list_claude_code(texts: Texts) -> list[Any]:
    return [
        {
            **{"type": "user", "sessionId": "s", "uuid": f"u{n}", "timestamp": AT},
            "message": {"role": "user", "content": text},
        }
        for n, text in enumerate(texts)
    ]


def list_codex(texts: Texts) -> list[Any]:
    said = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        for text in texts
    ]
    items = [{"type": "response_item", "timestamp": AT, "payload": item} for item in said]
    return [{"type": "session_meta", "timestamp": AT, "payload": {"id": "s"}}, *items]


def list_gemini(texts: Texts) -> list[Any]:
    said = [{"id": f"m{n}", "type": "user", "content": text} for n, text in enumerate(texts)]
    return [{"sessionId": "s", "projectHash": "h"}, *said]


def list_drafts(texts: Texts) -> list[Any]:
    return [{"id": f"d{n}", "text": text} for n, text in enumerate(texts)]


RECORDS: Mapping[str, tuple[Callable[[Texts], list[Any]], str]] = {
    "mcp-memory": (list_graph, "memory.jsonl"),
    "chatgpt": (list_chatgpt, "conversations.json"),
    "claude": (list_claude, "conversations.json"),
    "chats": (list_chats, "chat-export.json"),
    "mcp-memory-service": (list_service, "export.json"),
    "mem0": (list_mem0, "memories.json"),
    "claude-code": (list_claude_code, "session.jsonl"),
    "codex": (list_codex, "rollout.jsonl"),
    "gemini-cli": (list_gemini, "session.jsonl"),
    "drafts": (list_drafts, "drafts.jsonl"),
}
"""What lists the records of a format, and how its file is called."""


def write_lines(values: Sequence[Any]) -> str:
    return "".join(f"{json.dumps(value, ensure_ascii=False)}\n" for value in values)


def write_records(form: str, texts: Texts) -> dict[str, str]:
    list_records, name = RECORDS[form]
    values = list_records(texts)
    if form == "mcp-memory-service":
        return {name: json.dumps({"export_metadata": {}, "memories": values})}
    content = write_lines(values) if name.endswith("l") else json.dumps(values)
    return {name: content}


def write_documents(texts: Texts) -> dict[str, str]:
    return {f"note {n}.md": f"{text}\n" for n, text in enumerate(texts)}


def write_basic(texts: Texts) -> dict[str, str]:
    return {
        f"note {n}.md": f"---\ntitle: Note {n}\ntype: note\npermalink: note-{n}\n---\n{text}\n"
        for n, text in enumerate(texts)
    }


def write_table(texts: Texts) -> dict[str, str]:
    rows = "".join(f'{n},"{text}",note\r\n' for n, text in enumerate(texts))
    return {"table.csv": f"id,text,kind\r\n{rows}"}


def write_files(form: str, texts: Texts) -> dict[str, str]:
    """Return the files of a source, by their names."""
    others = {"documents": write_documents, "basic-memory": write_basic, "csv": write_table}
    return others[form](texts) if form in others else write_records(form, texts)


WRITTEN = (*RECORDS, "documents", "basic-memory", "csv")
"""The formats that can be written here."""

RECORDED = ("jsonl", "markdown")
"""The other formats, which are exports of this library."""
