"""Calls of tools, sound and hostile, made from the tools' own input schemas."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from random import Random
from typing import Any, Protocol

from attrs import frozen

from infinite_memory.core.errors import InfiniteMemoryError
from infinite_memory.core.plain import is_placeholder
from infinite_memory_mcp.foreign.arguments import understand_arguments
from tests.harness.hostile import (
    MOMENTS,
    encode,
    hostile_text,
    hostile_value,
    huge_text,
)

_SUBJECTS = (
    "Alice",
    "the deadline of Apollo",
    "Bob's phone",
    "the release",
    "日本 project",
    "Straße 5",
)
_VERBS = ("is", "moved to", "depends on", "was decided by", "costs", "replaces")
_OBJECTS = (
    "June 5",
    "the new parser",
    "42 euros",
    "PostgreSQL",
    "nobody",
    "src/main.py:17",
    "café",
)
_EDGES = ("", " ", "\n", "\t\r\n", "\u200b", "\ufeff", "\u2028", "e\u0301", '"', "\u3000", "\x1f")
_SCOPES = ("apollo", "Global", "garden", "Straße", "work.2026", "taxes")
_TAGS = ("deadline", "Person", "ünï", "c++", "a/b", "2026")
_KINDS = ("note", "fact", "message", "decision", "lesson", "problem", "solution", "reminder")
_WEIGHTS = {
    # It takes back what the ledger of acknowledged texts has noted.
    "undo": 0,
    "store_memory": 30,
    "update_memory": 14,
    "delete_memory": 14,
    "retrieve_memory": 12,
}
_USUAL_WEIGHT = 5
_MANY_MEMORIES = 300
_HUGE_CHARS = (60_000, 1_000_000, 1_000_000, 1_000_000, 1_048_577, 10_000_000)
_HUGE_SHARE = 1 / 400

_MIX = {
    "valid": 54,
    "one hostile value": 25,
    "missing": 4,
    "unknown name": 4,
    "misspelt name": 3,
    "all hostile": 5,
    "no object": 2,
    "unknown tool": 3,
}


class Seen(Protocol):
    """What earlier answers gave, for later calls to use."""

    @property
    def ids(self) -> Sequence[str]:
        """The ids of memories that exist and that no call in flight may change."""

    @property
    def cursors(self) -> Sequence[str]:
        """The latest cursors."""


@frozen(kw_only=True)
class Call:
    """A call to be sent.

    `tool` and `arguments` are JSON values that may have `Raw` pieces; `kind` is how it was made;
    `named` is the argument that a refusal has to name.
    """

    tool: object
    arguments: object
    kind: str
    named: str | None = None

    def params(self, *, ascii_only: bool) -> str:
        """Return the parameters of the request as JSON."""
        return encode({"name": self.tool, "arguments": self.arguments}, ascii_only=ascii_only)


class CallMaker:
    """Makes calls of `tools`, which are as `tools/list` returns them."""

    def __init__(self, tools: Sequence[Mapping[str, Any]], random: Random, seen: Seen) -> None:
        self._schemas: dict[str, dict[str, Any]] = {t["name"]: t["inputSchema"] for t in tools}
        self._random = random
        self._seen = seen
        self._number = 0

    def make(self) -> Call:
        """Return the next call."""
        kind = self._random.choices(list(_MIX), list(_MIX.values()))[0]
        tool = self._tool()
        if kind == "unknown tool":
            return Call(tool=self._wrong_tool(tool), arguments={}, kind=kind)
        if kind == "no object":
            return Call(tool=tool, arguments=hostile_value(self._random), kind=kind)
        if kind == "all hostile":
            return Call(tool=tool, arguments=self._hostile_arguments(tool), kind=kind)
        arguments = self._valid_arguments(tool)
        if kind == "valid":
            return Call(tool=tool, arguments=arguments, kind=kind)
        return self._spoilt(tool, arguments, kind)

    def _tool(self) -> str:
        weights = [_WEIGHTS.get(name, _USUAL_WEIGHT) for name in self._schemas]
        if len(self._seen.ids) > _MANY_MEMORIES:
            weights = [
                w * 4 if n == "delete_memory" else w
                for n, w in zip(self._schemas, weights, strict=True)
            ]
        return self._random.choices(list(self._schemas), weights)[0]

    def _wrong_tool(self, near: str) -> object:
        return self._random.choice((near.upper(), near[:-1], hostile_value(self._random)))

    def _spoilt(self, tool: str, arguments: dict[str, object], kind: str) -> Call:
        schema, random = self._schemas[tool], self._random
        properties = schema.get("properties", {})
        if kind == "missing" and schema.get("required"):
            named = random.choice(schema["required"])
            del arguments[named]
            return Call(tool=tool, arguments=arguments, kind=kind, named=named)
        if kind == "misspelt name" and arguments:
            right = random.choice(list(arguments))
            wrong = random.choice((right.upper(), right[:-1], f"{right} ", f"{right}s"))
            if wrong not in properties:
                arguments[wrong] = arguments.pop(right)
                return Call(
                    tool=tool,
                    arguments=arguments,
                    kind=kind,
                    named=wrong if _is_unknown(wrong, arguments[wrong], properties) else None,
                )
        if kind == "one hostile value" and properties:
            arguments[random.choice(list(properties))] = self._hostile()
            return Call(tool=tool, arguments=arguments, kind=kind)
        name = hostile_text(random)
        arguments[name] = self._hostile()
        named = name if _is_unknown(name, arguments[name], properties) else None
        return Call(tool=tool, arguments=arguments, kind="unknown name", named=named)

    def _hostile(self) -> object:
        if self._random.random() < _HUGE_SHARE * 3:
            return huge_text(self._random, self._random.choice(_HUGE_CHARS))
        return hostile_value(self._random)

    def _hostile_arguments(self, tool: str) -> dict[str, object]:
        known = list(self._schemas[tool].get("properties", {}))
        if self._random.random() < 0.7:
            return {name: self._hostile() for name in known if self._random.random() < 0.6}
        return {hostile_text(self._random): self._hostile() for _ in range(3)}

    def _valid_arguments(self, tool: str) -> dict[str, object]:
        schema = self._schemas[tool]
        required = schema.get("required", ())
        return {
            name: self._value(tool, name, inner)
            for name, inner in schema.get("properties", {}).items()
            if name in required
            or (tool, name) in _NEEDED
            or self._random.random() < self._share(name)
        }

    def _share(self, name: str) -> float:
        if name == "permanently" and len(self._seen.ids) > _MANY_MEMORIES:
            return 0.9
        return 0.08 if name in ("cursor", "revision", "key", "id", "ids") else 0.25

    def _value(self, tool: str, name: str, schema: Mapping[str, Any]) -> object:
        if (tool, name) == ("store_memory", "id"):
            self._number += 1
            return f"own-{self._number}"
        meant = _MEANT.get(name)
        if meant is not None:
            return meant(self._random, self._seen)
        return self._typed(schema)

    def _typed(self, schema: Mapping[str, Any]) -> object:
        random = self._random
        match random.choice(schema.get("anyOf", [schema])):
            case {"type": "integer"}:
                return random.randint(schema.get("minimum", 0), schema.get("maximum", 20))
            case {"type": "number"}:
                return random.random()
            case {"type": "boolean"}:
                return random.random() < 0.5
            case {"type": "array"}:
                return random.sample(_TAGS, random.randint(1, 2))
            case {"type": "object"}:
                return {
                    random.choice(_TAGS): random.choice((1, 2.5, None, True, ["x"], {"y": "ü"}))
                }
        return sentence(random)


def sentence(random: Random) -> str:
    return f"{random.choice(_SUBJECTS)} {random.choice(_VERBS)} {random.choice(_OBJECTS)}"


def _text(random: Random, _seen: Seen) -> str:
    said = f"{sentence(random)}, note {random.randrange(10**6)}"
    if random.random() < 0.1:
        return f"{said}\n{hostile_text(random)}"
    if random.random() < 0.2:
        return f"{random.choice(_EDGES)}{said}{random.choice(_EDGES)}"
    return said


def _id(random: Random, seen: Seen) -> str:
    return random.choice(seen.ids) if seen.ids else "none"


def _cursor(random: Random, seen: Seen) -> str | None:
    return random.choice(seen.cursors) if seen.cursors else None


def _scope(random: Random, _seen: Seen) -> object:
    return random.choice(_SCOPES)


def _moment(random: Random, _seen: Seen) -> str:
    if random.random() < 0.2:
        return random.choice(MOMENTS)
    return f"{random.randint(1990, 2030)}-{random.randint(1, 12):02}-{random.randint(1, 28):02}"


def _kind(random: Random, _seen: Seen) -> str:
    return random.choice(_KINDS)


_NEEDED = frozenset({("recall_memory", "query")})
"""Arguments that stand for one of several of which a tool needs one."""

_MEANT: Mapping[str, Callable[[Random, Seen], object]] = {
    "text": _text,
    "query": lambda random, _seen: sentence(random),
    "id": _id,
    "max_tokens": lambda random, _seen: random.randint(500, 20_000),
    "scope": _scope,
    "name": _scope,
    "parent": lambda _random, _seen: "Global",
    "cursor": _cursor,
    "kind": _kind,
    "kinds": lambda random, seen: [_kind(random, seen)],
    "since": lambda random, _seen: f"{random.randint(1980, 2000)}-01-01",
    "until": lambda random, _seen: f"{random.randint(2010, 2030)}-01-01T00:00:00Z",
    "happened_at": _moment,
    "revision": lambda random, _seen: random.randint(1, 3),
    "status": lambda random, _seen: random.choice(("current", "archived", "superseded")),
    "title": lambda random, _seen: random.choice(("A title", "Ünï · title", "x" * 500)),
    "keywords": lambda random, _seen: random.choice((["moon"], "launch", '["a", "b"]')),
}
"""What an argument of that name means; the others get a value by their type alone."""


def _is_unknown(name: str, value: object, properties: Collection[str]) -> bool:
    """Tell whether a server must refuse a name: neither an argument of the tool nor an alias.

    A name with a value that stands for none counts as not given.
    """
    if is_placeholder(value):
        return False
    try:
        return name in understand_arguments({name: value}, properties)[0] and name not in properties
    except InfiniteMemoryError:
        return False
