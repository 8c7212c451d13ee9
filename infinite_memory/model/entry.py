"""The journal: one entry for every change, chained to the one before it."""

from __future__ import annotations

import json
import struct
from datetime import datetime
from enum import StrEnum
from hashlib import blake2b
from json.encoder import encode_basestring as _quoted
from typing import Any, TypeAlias

from attrs import field, frozen

from infinite_memory.model.codec import iso
from infinite_memory.model.link import Link, LinkType
from infinite_memory.model.scope import Scope, Sensitivity

__all__ = [
    "Action",
    "Actor",
    "Entry",
    "JournalEnd",
    "LinkStep",
    "MemoryStep",
    "Operation",
    "ScopeStep",
    "entry_digest",
]

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_NUMBER = struct.Struct("<q")
_Fields: TypeAlias = dict[str, Any]


class Operation(StrEnum):
    """What somebody did."""

    BEGIN = "begin"
    """The journal of a store that held memories before it had one."""
    REMEMBER = "remember"
    REVISE = "revise"
    FORGET = "forget"
    ERASE = "erase"
    LINK = "link"
    SCOPE = "scope"
    PROFILE = "profile"
    UNDO = "undo"


@frozen(kw_only=True)
class Actor:
    """Who changes something: the name of the client, and the process that it runs in.

    `process` is the name of the machine, a space, and what no other process there ever has: the
    number of the process with a random part. Journals of earlier versions have the number alone.
    """

    client: str = ""
    process: str = ""

    @property
    def machine(self) -> str:
        """The name of the machine that the process runs on."""
        return self.process.rpartition(" ")[0]


@frozen(kw_only=True)
class MemoryStep:
    """What became of a memory: its revision before and after, 0 where there is none."""

    id: str
    before: int
    after: int


@frozen(kw_only=True)
class ScopeStep:
    """What became of a scope, None where there is none."""

    before: Scope | None
    after: Scope | None


@frozen(kw_only=True)
class LinkStep:
    """What became of a link, None where there is none."""

    before: Link | None
    after: Link | None


@frozen(kw_only=True)
class Action:
    """What one commit did, by whom and when, and what is needed to reverse it.

    The texts are not in it: they are in the revisions that `memories` names, and go with them when
    a memory is erased for good. `undoes` is the number of the entry that it reverses.
    """

    at: datetime
    actor: Actor = field(factory=Actor)
    operation: Operation
    memories: tuple[MemoryStep, ...] = ()
    scopes: tuple[ScopeStep, ...] = ()
    links: tuple[LinkStep, ...] = ()
    undoes: int | None = None
    reason: str = ""

    def to_text(self) -> str:
        """Return it as one line of JSON, the same for equal actions."""
        memories = [f"[{_quoted(s.id)},{s.before},{s.after}]" for s in self.memories]
        scopes = [[_scope_fields(s.before), _scope_fields(s.after)] for s in self.scopes]
        links = [[_link_fields(s.before), _link_fields(s.after)] for s in self.links]
        # Put together here, since a call of the encoder takes longer than all of this.
        return (
            f'{{"at":"{iso(self.at)}","client":{_quoted(self.actor.client)}'
            f',"process":{_quoted(self.actor.process)},"operation":"{self.operation}"'
            f',"memories":[{",".join(memories)}]'
            f',"scopes":{_ENCODER.encode(scopes) if scopes else "[]"}'
            f',"links":{_ENCODER.encode(links) if links else "[]"}'
            f',"undoes":{"null" if self.undoes is None else self.undoes}'
            f',"reason":{_quoted(self.reason)}}}'
        )

    @classmethod
    def of(cls, text: str) -> Action | None:
        """Return what `to_text` wrote, None where it is something else."""
        try:
            fields = json.loads(text)
            return cls(
                at=datetime.fromisoformat(fields["at"]),
                actor=Actor(client=fields["client"], process=fields["process"]),
                operation=Operation(fields["operation"]),
                memories=tuple(
                    MemoryStep(id=each, before=before, after=after)
                    for each, before, after in fields["memories"]
                ),
                scopes=tuple(
                    ScopeStep(before=_scope_of(before), after=_scope_of(after))
                    for before, after in fields["scopes"]
                ),
                links=tuple(
                    LinkStep(before=_link_of(before), after=_link_of(after))
                    for before, after in fields["links"]
                ),
                undoes=fields["undoes"],
                reason=fields["reason"],
            )
        except (ValueError, TypeError, KeyError, RecursionError):
            return None


@frozen(kw_only=True)
class Entry:
    """An action with its number in the journal, from 1, and the digest that chains it."""

    number: int
    action: Action
    digest: bytes


@frozen(kw_only=True)
class JournalEnd:
    """The number and the digest of the last entry; 0 and 32 zero bytes of an empty journal."""

    number: int = 0
    digest: bytes = bytes(32)


def entry_digest(previous: bytes, number: int, text: str) -> bytes:
    """Return the 32 bytes of BLAKE2b over the digest before, the number and the action as text."""
    content = b"".join([previous, _NUMBER.pack(number), text.encode()])
    return blake2b(content, digest_size=32, person=b"journal").digest()


def _scope_fields(scope: Scope | None) -> _Fields | None:
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


def _scope_of(fields: _Fields | None) -> Scope | None:
    if fields is None:
        return None
    sensitivity = Sensitivity(fields["sensitivity"])
    return Scope(**{**fields, "keywords": tuple(fields["keywords"]), "sensitivity": sensitivity})


def _link_fields(link: Link | None) -> _Fields | None:
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


def _link_of(fields: _Fields | None) -> Link | None:
    if fields is None:
        return None
    made_at = datetime.fromisoformat(fields["made_at"])
    return Link(**{**fields, "type": LinkType(fields["type"]), "made_at": made_at})
