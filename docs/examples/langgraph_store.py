"""A LangGraph store over a memory: `graph.compile(store=LangGraphStore(memory))`.

A namespace is a scope below "langgraph/", with "%41" for "A", since scopes ignore
letter case and namespaces do not; a filter compares for equality.
"""

import asyncio
import json
import re
import uuid
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote

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
        memory = self._load(op)[1]
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
            self.memory.remember(id=memory_id, scope=name_scope(op.namespace), **fields)

    def _find(self, op: Any) -> list[base.SearchItem]:
        scopes = [name_scope(n) for n in self._names() if fits(n, "prefix", op.namespace_prefix)]
        where: Any = {"scope": scopes, "inherited": "none", "limit": 1000}
        if op.query and scopes:
            hits = self.memory.search(op.query, threshold=0, **where)
            found = [base.SearchItem(**read(hit.memory), score=hit.score) for hit in hits]
        else:
            memories = self.memory.browse(**where).memories if scopes else ()
            found = [base.SearchItem(**read(memory)) for memory in memories]
        kept = [item for item in found if (op.filter or {}).items() <= item.value.items()]
        return kept[op.offset : op.offset + op.limit]

    def _names(self) -> list[tuple[str, ...]]:
        counts = self.memory.scopes.count_memories()
        scopes = [n.split("/")[1:] for n in counts if counts[n] and n.startswith("langgraph/")]
        return [tuple(map(unquote, labels)) for labels in scopes]

    def _list(self, op: Any) -> list[tuple[str, ...]]:
        tests = op.match_conditions or ()
        names = [n for n in self._names() if all(fits(n, t.match_type, t.path) for t in tests)]
        return sorted({name[: op.max_depth] for name in names})[op.offset : op.offset + op.limit]


def name_scope(namespace: tuple[str, ...]) -> str:
    labels = [re.sub("[^a-z0-9._-]", escape, label) for label in namespace]
    return "/".join(("langgraph", *labels))


def escape(letter: Any) -> str:
    return "".join(f"%{byte:02x}" for byte in letter[0].encode())


def fits(name: tuple[str, ...], side: str, path: tuple[str, ...]) -> bool:
    part = name[: len(path)] if side == "prefix" else name[len(name) - len(path) :]
    return len(part) == len(path) and all(p in ("*", n) for p, n in zip(path, part, strict=True))


def read(memory: Memory) -> Any:
    times = {"created_at": memory.happened_at, "updated_at": memory.stored_at}
    return {**memory.to_dict()["context"]["item"], **times}
