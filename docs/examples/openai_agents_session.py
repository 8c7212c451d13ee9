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
                "text": say(item),
                "kind": "message",
                "speaker": item.get("role") or "tool",
                "origin": "user" if item.get("role") == "user" else "assistant",
                "conversation_id": self.session_id,
                "happened_at": start + number * MICROSECOND,
                "context": {"item": json.dumps(item)},
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


def read_item(memory: Memory) -> Any:
    return json.loads(str(memory.context["item"]))


def say(item: Any) -> str:
    """Return the words of a message; an item that is none, such as a call of a tool, as JSON."""
    content = item.get("content")
    if isinstance(content, list):
        content = "\n".join(part.get("text", "") for part in content)
    return content if isinstance(content, str) and content.strip() else json.dumps(item)
