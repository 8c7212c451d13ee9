"""Account exports of ChatGPT: conversations, in one file, in numbered files, or in one file each.

A conversation is a tree of messages. Those of the person and of the assistant are imported, with
their times; instructions, calls of tools, their results and thoughts are left out. A message that
is not on the branch that was shown last has the context `branch: other`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from infinite_memory.features.archive.exchange.opening import Value
from infinite_memory.features.archive.exchange.reading import Faults, Options, read_seconds
from infinite_memory.features.archive.exchange.records import DraftRecord, Item
from infinite_memory.features.sessions.conversation import Conversation

_CLIENT = "chatgpt"
_SPEAKERS = ("user", "assistant")
_WRITTEN = ("text", "multimodal_text", "code")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def is_chatgpt(value: Any) -> bool:
    """Return whether a value is a conversation with the key that only ChatGPT has."""
    return isinstance(value, dict) and isinstance(value.get("mapping"), dict)


def read_chatgpt(found: Value, options: Options) -> Iterator[Item]:
    """Yield the messages of a conversation.

    Raises:
        ValueError: it is no conversation.
    """
    faults = Faults(found.file, found.where)
    nodes, conversation, shown = _open_conversation(found.value, options, faults)
    yield from faults.problems
    for name in _walk_nodes(nodes):
        faults = Faults(found.file, f"{found.where}.mapping.{name}".lstrip("."))
        details = {} if name in shown else {"branch": "other"}
        yield from _read_message(name, nodes[name], conversation, faults, details)
        yield from faults.problems


def _open_conversation(
    value: object, options: Options, faults: Faults
) -> tuple[dict[str, Mapping[str, Any]], Conversation, set[str]]:
    """Return the nodes of a conversation, the maker of its drafts, and the nodes that are shown."""
    if not isinstance(value, dict):
        raise ValueError(f"a conversation is {value!r:.60}, and no object")
    mapping = value.get("mapping")
    if not isinstance(mapping, dict):
        raise ValueError("the conversation has no mapping of messages")
    nodes: dict[str, Mapping[str, Any]] = {
        name: node for name, node in mapping.items() if isinstance(node, dict)
    }
    if len(nodes) < len(mapping):
        faults.add("the mapping holds a value that is no node")
    identity = value.get("conversation_id") or value.get("id") or min(nodes, default="")
    title = value.get("title")
    conversation = Conversation(
        client=_CLIENT,
        id=str(identity),
        limits=options.limits,
        last=faults.try_read(read_seconds, value.get("create_time")) or _EPOCH,
        topic=title if isinstance(title, str) else None,
    )
    shown: set[str] = set()
    step = value.get("current_node")
    while isinstance(step, str) and step in nodes and step not in shown:
        shown.add(step)
        step = nodes[step].get("parent")
    return nodes, conversation, shown or set(nodes)


def _walk_nodes(nodes: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the names of the nodes, each behind its parent; a circle ends where it closes."""
    seen: set[str] = set()
    # Newer exports name the parent of a node alone.
    behind: dict[str, list[str]] = {}
    for name, node in nodes.items():
        if isinstance(node.get("parent"), str):
            behind.setdefault(node["parent"], []).append(name)
    roots = [name for name, node in nodes.items() if node.get("parent") not in nodes]
    waiting = [*reversed(roots or list(nodes))]
    while waiting:
        name = waiting.pop()
        if name in seen or name not in nodes:
            continue
        seen.add(name)
        yield name
        listed = nodes[name].get("children")
        children = [*(listed if isinstance(listed, list) else ()), *behind.get(name, ())]
        waiting += [child for child in reversed(children) if isinstance(child, str)]


def _read_message(
    name: str,
    node: Mapping[str, Any],
    conversation: Conversation,
    faults: Faults,
    details: Mapping[str, str],
) -> Iterator[DraftRecord]:
    message = node.get("message")
    if message is None:
        return
    if not isinstance(message, dict):
        faults.add(f"the message is {message!r:.60}, and no object")
        return
    author, metadata = message.get("author"), message.get("metadata")
    role = author.get("role") if isinstance(author, dict) else None
    is_hidden = isinstance(metadata, dict) and metadata.get("is_visually_hidden_from_conversation")
    # A message to a tool is a call of that tool.
    if role not in _SPEAKERS or is_hidden or (message.get("recipient") or "all") != "all":
        return
    text = _join_text(message.get("content"))
    if text:
        drafts = conversation.drafts(
            *(_CLIENT, conversation.id, str(message.get("id") or name)),
            speaker=str(role),
            text=text,
            said_at=faults.try_read(read_seconds, message.get("create_time")),
            details=details,
        )
        for draft in drafts:
            yield DraftRecord(file=faults.file, where=faults.where, draft=draft, is_final=True)


def _join_text(content: object) -> str:
    if not isinstance(content, dict) or content.get("content_type", "text") not in _WRITTEN:
        return ""
    parts = content.get("parts")
    if not isinstance(parts, list):
        parts = [content.get("text")]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return "\n\n".join(text for text in texts if isinstance(text, str) and text.strip())
