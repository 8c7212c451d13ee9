"""A LangGraph store over a memory: `graph.compile(store=LangGraphStore(memory))`.

A namespace is a scope below "langgraph/", in any letter case; a filter compares for equality.
"""

import asyncio
import json
import uuid
from collections.abc import Iterable
from typing import Any

from langgraph.store import base

from infinite_memory import Memory, MemoryStore, NotFound


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
        _, memory = self._load(op)
        return base.Item(**read(memory)) if memory and memory.status == "current" else None

    def _put(self, op: Any) -> None:
        memory_id, memory = self._load(op)
        item = {"namespace": [*op.namespace], "key": op.key, "value": op.value}
        fields: Any = {"text": json.dumps(op.value, ensure_ascii=False), "context": {"item": item}}
        if op.value is None and memory:
            self.memory.forget(memory_id)
        elif memory:
            self.memory.revise(memory_id, revision=memory.revision, status="current", **fields)
        elif op.value is not None:
            scope = "/".join(("langgraph", *op.namespace))
            self.memory.remember(id=memory_id, scope=scope, **fields)

    def _find(self, op: Any) -> list[base.SearchItem]:
        names = [name for name in self._names() if fits(name, "prefix", op.namespace_prefix)]
        where: Any = {"scope": ["/".join(("langgraph", *name)) for name in names], "limit": 1000}
        if op.query and names:
            hits = self.memory.search(op.query, threshold=0, inherited="none", **where)
            found = [base.SearchItem(**read(hit.memory), score=hit.score) for hit in hits]
        else:
            memories = self.memory.browse(inherited="none", **where).memories if names else ()
            found = [base.SearchItem(**read(memory)) for memory in memories]
        kept = [item for item in found if (op.filter or {}).items() <= item.value.items()]
        return kept[op.offset : op.offset + op.limit]

    def _names(self) -> list[tuple[str, ...]]:
        scopes = [name for name, count in self.memory.scopes.count_memories().items() if count]
        return [tuple(s.split("/")[1:]) for s in scopes if s.startswith("langgraph/")]

    def _list(self, op: Any) -> list[tuple[str, ...]]:
        tests = op.match_conditions or ()
        names = [n for n in self._names() if all(fits(n, t.match_type, t.path) for t in tests)]
        return sorted({name[: op.max_depth] for name in names})[op.offset : op.offset + op.limit]


def fits(name: tuple[str, ...], side: str, path: tuple[str, ...]) -> bool:
    part = name[: len(path)] if side == "prefix" else name[len(name) - len(path) :]
    return len(part) == len(path) and all(p in ("*", n) for p, n in zip(path, part, strict=True))


def read(memory: Memory) -> Any:
    times = {"created_at": memory.happened_at, "updated_at": memory.stored_at}
    return {**memory.to_dict()["context"]["item"], **times}
