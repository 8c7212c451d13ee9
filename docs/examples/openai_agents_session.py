"""A session of the OpenAI Agents SDK over a memory: `Runner.run(agent, text, session=session)`.

Each item of the conversation is a memory, so it survives the process, and a later conversation
finds what was said in an earlier one.
"""

import json
from contextlib import suppress
from datetime import timedelta
from typing import Any

from infinite_memory import AsyncMemoryStore, Memory, NotFound

MICROSECOND = timedelta(microseconds=1)


class MemorySession:
    session_settings = None

    def __init__(self, session_id: str, memory: AsyncMemoryStore) -> None:
        self.session_id, self.memory = session_id, memory

    async def get_items(self, limit: int | None = None) -> list[Any]:
        newest = await self._list(limit)
        return [read_item(memory) for memory in reversed(newest)]

    async def add_items(self, items: list[Any]) -> None:
        # Items of one moment keep their order by the microsecond.
        now = await self.memory.times.read("now", "as_of")
        last = [memory.happened_at + MICROSECOND for memory in await self._list(1)]
        start = max([now, *last])
        drafts = [
            {
                **write_item(item),
                "kind": "message",
                "speaker": item.get("role") or "tool",
                "origin": "user" if item.get("role") == "user" else "assistant",
                "conversation_id": self.session_id,
                "happened_at": start + number * MICROSECOND,
            }
            for number, item in enumerate(items)
        ]
        if drafts:
            await self.memory.remember_many(drafts)

    async def pop_item(self) -> Any | None:
        newest = await self._list(1)
        if not newest:
            return None
        await self.memory.forget(newest[0].id)
        return read_item(newest[0])

    async def clear_session(self) -> None:
        with suppress(NotFound):
            await self.memory.conversations.delete(self.session_id)

    async def _list(self, limit: int | None) -> list[Memory]:
        found: list[Memory] = []
        where: Any = {"conversation_id": self.session_id, "kinds": ["message"]}
        while limit is None or len(found) < limit:
            most = 1000 if limit is None else min(1000, limit - len(found))
            page = await self.memory.browse(limit=most, **where)
            found += page.memories
            where["after"] = page.next
            if page.next is None:
                break
        return found


def write_item(item: Any) -> dict[str, Any]:
    """Return the words of a message as a text, beside the rest; any other item is JSON as a whole.

    Nothing is kept twice, and a context is bounded by `limits.max_context_bytes`.
    """
    rest = json.loads(json.dumps(item))
    slot, field = find_words(rest)
    words, slot[field] = slot.get(field), None
    if not isinstance(words, str) or not words.strip() or len(json.dumps(rest)) > 10_000:
        return {"text": json.dumps(item)}
    return {"text": words, "context": {"rest": json.dumps(rest)}}


def read_item(memory: Memory) -> Any:
    item = json.loads(str(memory.context.get("rest", memory.text)))
    if "rest" in memory.context:
        slot, field = find_words(item)
        slot[field] = memory.text
    return item


def find_words(item: Any) -> tuple[Any, str]:
    """Return what holds the words of a message, and in which field."""
    content = item.get("content")
    is_part = isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict)
    return (content[0], "text") if is_part else (item, "content")
