"""The journal: an entry for each change, chained to the previous entry by its digest."""

from __future__ import annotations

import json
import struct
from datetime import datetime
from enum import StrEnum
from hashlib import blake2b
from json.encoder import encode_basestring as _quoted
from typing import Any, TypeAlias

from attrs import field, frozen

from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.codec import iso
from infinite_memory.core.values.link import Link, LinkType
from infinite_memory.core.values.scope import Scope, Sensitivity

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_NUMBER = struct.Struct("<q")
_Fields: TypeAlias = dict[str, Any]


class Operation(StrEnum):
    """The operation that made a change."""

    BEGIN = "begin"
    """The first entry in a store that held memories before it had a journal."""
    REMEMBER = "remember"
    REVISE = "revise"
    SHARE = "share"
    """A move into another scope, or a copy there: the memory that was copied stays as it is."""
    FORGET = "forget"
    ERASE = "erase"
    LINK = "link"
    SCOPE = "scope"
    PROFILE = "profile"
    UNDO = "undo"
    CREATE_KEY = "create key"
    LIMIT_KEY = "limit key"
    REVOKE_KEY = "revoke key"
    MERGE = "merge"
    """The memories of an archive that this store did not have."""
    IMPORT = "import"
    """A part of an import; an undo of a part undoes the whole import."""
    UPKEEP = "upkeep"
    """A run of a job of the upkeep, whose summary is the reason of the entry."""
    DREAM = "dream"
    """A cycle of the dreamer: links and topic summaries of a scope."""
    TRIGGER = "trigger"
    """An approval of the condition of a long-term memory; no import and no merge makes it."""
    MASK = "mask"
    """Masks in the place of secrets, in every revision of the memories; it cannot be undone."""


@frozen(kw_only=True)
class Actor(PlainData):
    """Who made a change: the name of the client, and the process that it ran in.

    `process` is the name of the machine, a space, and an identifier that is unique on that machine:
    the process number with a random part. `key` is the id of the access key that the client showed,
    "" without one.
    """

    client: str = ""
    process: str = ""
    key: str = ""

    @property
    def machine(self) -> str:
        """The name of the machine that the process runs on."""
        return self.process.rpartition(" ")[0]


@frozen(kw_only=True)
class MemoryStep:
    """The change of a memory: its revision before and after; 0 means that it did not exist."""

    id: str
    before: int
    after: int


@frozen(kw_only=True)
class ScopeStep:
    """The change of a scope; None means that it did not exist."""

    before: Scope | None
    after: Scope | None


@frozen(kw_only=True)
class LinkStep:
    """The change of a link; None means that it did not exist."""

    before: Link | None
    after: Link | None


@frozen(kw_only=True)
class Action(PlainData):
    """The change made by a commit, with its time, its actor and all that is needed to undo it.

    It contains no texts: they are in the revisions that `memories` names, and are erased with them.
    `undoes` is the number of the entry that this action reverses. `access_key` is the id of the
    access key that it created or revoked.
    """

    at: datetime
    actor: Actor = field(factory=Actor)
    operation: Operation
    memories: tuple[MemoryStep, ...] = ()
    scopes: tuple[ScopeStep, ...] = ()
    links: tuple[LinkStep, ...] = ()
    undoes: int | None = None
    reason: str = ""
    access_key: str | None = None

    @property
    def scope_names(self) -> tuple[str, ...]:
        """The names of the scopes that it changed."""
        scopes = (step.after or step.before for step in self.scopes)
        return tuple(scope.name for scope in scopes if scope is not None)

    def to_text(self) -> str:
        """Return the action as a line of JSON; equal actions give equal lines."""
        memories = [f"[{_quoted(s.id)},{s.before},{s.after}]" for s in self.memories]
        scopes = [[_encode_scope(s.before), _encode_scope(s.after)] for s in self.scopes]
        links = [[_encode_link(s.before), _encode_link(s.after)] for s in self.links]
        # Left out where there is none, so that the entries of schema 1 keep their digests.
        key = "" if self.access_key is None else f',"access_key":{_quoted(self.access_key)}'
        shown = f',"key":{_quoted(self.actor.key)}' if self.actor.key else ""
        # Formatted by hand: a call of the JSON encoder takes longer than all of this.
        return (
            f'{{"at":"{iso(self.at)}","client":{_quoted(self.actor.client)}'
            f',"process":{_quoted(self.actor.process)},"operation":"{self.operation}"'
            f',"memories":[{",".join(memories)}]'
            f',"scopes":{_ENCODER.encode(scopes) if scopes else "[]"}'
            f',"links":{_ENCODER.encode(links) if links else "[]"}'
            f',"undoes":{"null" if self.undoes is None else self.undoes}'
            f',"reason":{_quoted(self.reason)}{key}{shown}}}'
        )

    @classmethod
    def of(cls, text: str) -> Action | None:
        """Return the action that `to_text` wrote, None for a text that is not an action."""
        try:
            fields = json.loads(text)
            return cls(
                at=datetime.fromisoformat(fields["at"]),
                actor=Actor(
                    client=fields["client"],
                    process=fields["process"],
                    key=fields.get("key", ""),
                ),
                operation=Operation(fields["operation"]),
                memories=tuple(
                    MemoryStep(id=memory_id, before=before, after=after)
                    for memory_id, before, after in fields["memories"]
                ),
                scopes=tuple(
                    ScopeStep(before=_decode_scope(before), after=_decode_scope(after))
                    for before, after in fields["scopes"]
                ),
                links=tuple(
                    LinkStep(before=_decode_link(before), after=_decode_link(after))
                    for before, after in fields["links"]
                ),
                undoes=fields["undoes"],
                reason=fields["reason"],
                access_key=fields.get("access_key"),
            )
        except (ValueError, TypeError, KeyError, RecursionError):
            return None


@frozen(kw_only=True)
class Entry(PlainData):
    """An action with its number in the journal, counted from 1, and the digest of the chain."""

    number: int
    action: Action
    digest: bytes

    def to_dict(self) -> dict[str, Any]:
        """Return number, action and digest as one object, for `json.dumps`.

        `client`, `process` and `key` are those of the actor, `scopes` names the scopes, and `links`
        is the number of links.
        """
        own = PlainData.to_dict(self)
        action = own.pop("action")
        counts = {"scopes": list(self.action.scope_names), "links": len(self.action.links)}
        return {**own, **action.pop("actor"), **action, **counts}


@frozen(kw_only=True)
class JournalEnd:
    """The number and digest of the last entry; 0 and 32 zero bytes for an empty journal."""

    number: int = 0
    digest: bytes = bytes(32)


def entry_digest(previous: bytes, number: int, text: str) -> bytes:
    """Return BLAKE2b, 32 bytes, over the previous digest, the number and the action as text."""
    content = b"".join([previous, _NUMBER.pack(number), text.encode()])
    return blake2b(content, digest_size=32, person=b"journal").digest()


def _encode_scope(scope: Scope | None) -> _Fields | None:
    if scope is None:
        return None
    return {
        "name": scope.name,
        "description": scope.description,
        "parent": scope.parent,
        "keywords": list(scope.keywords),
        "active": scope.active,
        "sensitivity": str(scope.sensitivity),
    }


def _decode_scope(fields: _Fields | None) -> Scope | None:
    if fields is None:
        return None
    sensitivity = Sensitivity(fields["sensitivity"])
    return Scope(**{**fields, "keywords": tuple(fields["keywords"]), "sensitivity": sensitivity})


def _encode_link(link: Link | None) -> _Fields | None:
    if link is None:
        return None
    return {
        "source": link.source,
        "target": link.target,
        "type": str(link.type),
        "weight": link.weight,
        "made_by": link.made_by,
        "reason": link.reason,
        "made_at": iso(link.made_at),
    }


def _decode_link(fields: _Fields | None) -> Link | None:
    if fields is None:
        return None
    made_at = datetime.fromisoformat(fields["made_at"])
    return Link(**{**fields, "type": LinkType(fields["type"]), "made_at": made_at})
