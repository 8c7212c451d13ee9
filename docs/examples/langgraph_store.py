"""A LangGraph store over a memory: `graph.compile(store=LangGraphStore(memory))`.

A namespace is a scope below "langgraph/", and a value the text of a memory, as JSON.
"""

import asyncio
import json
import uuid
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote

from langgraph.store import base

from infinite_memory import Memory, MemoryStore, NotFound, scope_part


class LangGraphStore(base.BaseStore):
    def __init__(self, memory: MemoryStore) -> None:
        self.memory = memory

    def batch(self, ops: Iterable[Any]) -> list[Any]:
        run: Any = {base.GetOp: self._get, base.PutOp: self._put, base.SearchOp: self._find}
        return [run.get(type(op), self._list)(op) for op in ops]

    async def abatch(self, ops: Iterable[Any]) -> list[Any]:
        return await asyncio.to_thread(self.batch, list(ops))

    def _load(self, op: Any) -> tuple[str, Memory | None]:
        memory_id = str(uuid.uuid5(uuid.NAMESPACE_OID, json.dumps([*op.namespace, op.key])))
        try:
            return memory_id, self.memory.get(memory_id)
        except NotFound:
            return memory_id, None

    def _get(self, op: Any) -> base.Item | None:
        memory = self._load(op)[1]
        return base.Item(**read(memory)) if memory and memory.status == "current" else None

    def _put(self, op: Any) -> None:
        memory_id, memory = self._load(op)
        fields: Any = {"text": json.dumps(op.value, ensure_ascii=False), "context": {"key": op.key}}
        if op.value is None and memory:
            self.memory.forget(memory_id)
        elif memory:
            self.memory.revise(memory_id, revision=memory.revision, status="current", **fields)
        elif op.value is not None:
            self.memory.remember(id=memory_id, scope=name_scope(op.namespace), **fields)

    def _find(self, op: Any) -> list[base.SearchItem]:
        wanted = op.filter or {}
        if any(isinstance(v, dict) and any(k[:1] == "$" for k in v) for v in wanted.values()):
            raise NotImplementedError(f"a filter compares for equality alone, not by {wanted}")
        scopes = [name_scope(n) for n in self._names() if fits(n, "prefix", op.namespace_prefix)]
        where: Any = {"scope": scopes, "inherited": "none", "limit": 1000}
        if op.query and scopes:
            hits = self.memory.search(op.query, threshold=0, **where)
            found = [base.SearchItem(**read(hit.memory), score=hit.score) for hit in hits]
        else:
            memories = self.memory.browse(**where).memories if scopes else ()
            found = [base.SearchItem(**read(memory)) for memory in memories]
        kept = [item for item in found if wanted.items() <= item.value.items()]
        return kept[op.offset : op.offset + op.limit]

    def _names(self) -> list[tuple[str, ...]]:
        counts = self.memory.scopes.count_memories()
        return [read_scope(n) for n in counts if counts[n] and n.startswith("langgraph/")]

    def _list(self, op: Any) -> list[tuple[str, ...]]:
        tests = op.match_conditions or ()
        names = [n for n in self._names() if all(fits(n, t.match_type, t.path) for t in tests)]
        return sorted({name[: op.max_depth] for name in names})[op.offset : op.offset + op.limit]


def name_scope(namespace: tuple[str, ...]) -> str:
    return "/".join(("langgraph", *map(scope_part, namespace)))


def read_scope(name: str) -> tuple[str, ...]:
    return tuple(map(unquote, name.split("/")[1:]))


def fits(name: tuple[str, ...], side: str, path: tuple[str, ...]) -> bool:
    part = name[: len(path)] if side == "prefix" else name[len(name) - len(path) :]
    return len(part) == len(path) and all(p in ("*", n) for p, n in zip(path, part, strict=True))


def read(memory: Memory) -> Any:
    times = {"created_at": memory.happened_at, "updated_at": memory.stored_at}
    named = {"namespace": read_scope(memory.scope), "key": memory.context["key"]}
    return {**named, "value": json.loads(memory.text), **times}
