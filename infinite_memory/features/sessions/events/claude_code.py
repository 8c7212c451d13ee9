"""Events of the transcripts of Claude Code: `~/.claude/projects/<folder>/<session>.jsonl`.

A record of type "assistant" may hold texts and calls of tools, one of type "user" what the person
wrote or the answers to calls. What subagents did among themselves is left out, what the client
added, and what the person took back: each record names the one before it, and a person who goes
back begins another branch.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import define, field

from infinite_memory.features.sessions.events.builder import EventBuilder, text_in

_EXIT = re.compile(r"\AExit code -?\d+\n?")
# Records that neither the person nor the assistant wrote.
_ADDED = ("isMeta", "isSidechain", "isCompactSummary", "isApiErrorMessage")
_SYNTHETIC = "<synthetic>"


def read_claude_code(builder: EventBuilder, records: Iterable[tuple[int, Any]]) -> None:
    """Give the builder the events of a transcript, in the order in which they began."""
    branches = _Branches()
    for number, record in records:
        branches.add(number, record)
        if record.get("type") not in ("user", "assistant") or _is_added(record):
            continue
        builder.enter(
            number,
            at=record.get("timestamp"),
            session=record.get("sessionId"),
            folder=record.get("cwd"),
            branch=record.get("gitBranch"),
        )
        speaker, name = record["type"], record.get("uuid")
        blocks = list(_list_blocks(record))
        texts = [text_in(block) for block in blocks if block.get("type") == "text"]
        is_said = isinstance(name, str) and name and builder.say(speaker, texts, name=name)
        if is_said and speaker == "user":
            branches.requests.append(name)
        for block in blocks:
            if block.get("type") == "tool_use":
                builder.call(block.get("id"), block.get("name"), block.get("input"))
            elif block.get("type") == "tool_result":
                output = text_in(block.get("content"))
                printed = _EXIT.sub("", output, count=1)
                is_error = block.get("is_error") is True or printed != output
                builder.answer(block.get("tool_use_id"), printed, ok=not is_error)
    builder.leave_out(branches.find_taken_back())


def _is_added(record: Mapping[str, Any]) -> bool:
    message = record.get("message")
    model = message.get("model") if isinstance(message, Mapping) else None
    is_flagged = any(record.get(flag) is True for flag in _ADDED)
    return is_flagged or _SYNTHETIC in (model, record.get("model"))


def _list_blocks(record: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    message = record.get("message")
    content = message.get("content") if isinstance(message, Mapping) else None
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    for block in content if isinstance(content, list) else ():
        if isinstance(block, Mapping):
            yield block


@define
class _Branches:
    """The tree of the records by their names, and the requests of the person in their order."""

    requests: list[str] = field(factory=list)
    _positions: dict[str, int] = field(factory=dict)
    _parents: dict[str, str] = field(factory=dict)

    def add(self, number: int, record: Mapping[str, Any]) -> None:
        name = record.get("uuid")
        parent = record.get("parentUuid") or record.get("logicalParentUuid")
        if isinstance(name, str) and name not in self._positions:
            # A parent stands before its child, or else a record could be behind itself.
            if isinstance(parent, str) and parent in self._positions:
                self._parents[name] = parent
            self._positions[name] = number

    def find_taken_back(self) -> set[int]:
        """Return the positions of the branches that the last request does not follow.

        A branch that went on after the other had begun is not among them: two programs work on
        such a session at once. Nor is one without a request, such as one of several answers.
        """
        path = self._find_path()
        branches: dict[str, list[str]] = {}
        heads: dict[str, str] = {}
        for name in self._positions:  # each behind its parent
            parent = self._parents.get(name, "")
            head = name if parent in path else heads.get(parent)
            if head is not None and name not in path:
                heads[name] = head
                branches.setdefault(head, []).append(name)
        left = {heads[request] for request in self.requests if request in heads}
        return {
            self._positions[name]
            for head in left
            if self._positions[branches[head][-1]] < path[self._parents[head]]
            for name in branches[head]
        }

    def _find_path(self) -> dict[str, int]:
        """Return the records that the last request follows, each with the next request's place."""
        requests, path, following = set(self.requests), {}, 0
        name = self.requests[-1] if self.requests else None
        while name is not None:
            path[name] = following
            following = self._positions[name] if name in requests else following
            name = self._parents.get(name)
        return path
