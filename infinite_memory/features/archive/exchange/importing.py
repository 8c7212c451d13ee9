"""Import: check every record of a source, then store the missing records, in parts."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from attrs import define, evolve, field, frozen

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.entry import Operation
from infinite_memory.core.values.exchange import (
    ExchangeProgress,
    ExchangeStep,
    Imported,
    ImportProblem,
    OnError,
)
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.messages import format_count
from infinite_memory.core.values.scope import Scope
from infinite_memory.engine.services import Services
from infinite_memory.engine.undo.groups import Part, part_of
from infinite_memory.engine.writes.validation import resolve_scope
from infinite_memory.features.archive.adding import Plan, commit_planned, is_commit_full
from infinite_memory.features.archive.exchange.checking import Candidate, Checker
from infinite_memory.features.archive.exchange.identity import Identities, Place
from infinite_memory.features.archive.exchange.planning import plan_part
from infinite_memory.features.archive.exchange.records import Item, LinkRecord, ScopeRecord

_MOST_PROBLEMS = 100
_SHOWN_PROBLEMS = 10
_SAMPLES = 10
_STEP = 500
_LATEST = 200
_NAME_CHARS = 100
_DIGEST_DIGITS = 16

_Checked = Candidate | LinkRecord | ScopeRecord


def begin_run(services: Services, place: Place, total: int) -> Part:
    """Return the part before the first part of an import.

    An import of the same source that was interrupted goes on, so that an undo takes back the parts
    before the interruption too.
    """
    name = place.name
    undone: set[int] = set()
    for entry in services.storage.journal(limit=_LATEST):
        action = entry.action
        if entry.number in undone:
            continue
        if action.undoes is not None:
            undone.add(action.undoes)
        part = part_of(action)
        if action.operation is Operation.IMPORT and part is not None and part.name == name:
            if part.place in ("", place.digest) and part.done < part.total == total:
                return evolve(part, place=place.digest, done=0, total=total)
            break
    group = services.random_bytes(4).hex()
    return Part(group=group, name=name, place=place.digest, number=0, done=0, total=total)


def next_part(part: Part, count: int) -> Part:
    """Return the part after `part`, which reads `count` memories."""
    done = min(part.done + count, part.total)
    return evolve(part, number=part.number + 1, done=done)


@frozen(kw_only=True)
class ImportRequest:
    """A source, whose whole path is `whole`, and how to import it.

    `read` yields its records anew at each call.
    """

    path: Path
    whole: str
    format: str
    read: Callable[[], Iterator[Item]]
    scope: str | None = None
    on_error: OnError = OnError.SKIP
    dry_run: bool = False
    progress: ExchangeProgress | None = None

    @property
    def place(self) -> Place:
        """Where the source is."""
        digest = sha256(os.fsencode(self.whole)).hexdigest()[:_DIGEST_DIGITS]
        return Place(name=self.path.name[:_NAME_CHARS], digest=digest)

    def report(self, step: ExchangeStep, done: int, total: int | None = None) -> None:
        """Call the progress callback now and then."""
        if self.progress is not None and (done == total or not done % _STEP):
            self.progress(step, done, total)


def run_import(services: Services, request: ImportRequest) -> Imported:
    """Import a source; see `Exchange.import_from`.

    Raises:
        InvalidInput: a record cannot be used, and the import stops at errors; nothing was stored.
        StorageError: the store cannot be written; earlier parts stay, and a repeat goes on.
    """
    scope = request.scope
    if scope is not None:
        scope = resolve_scope(scope, services.storage.scopes(), services)
    # What a source says of its scopes has nothing to do with the repository at work here.
    checker = Checker(services=evolve(services, find_project_scope=lambda: None), scope=scope)
    outline, kept = _check_all(request, checker)
    if outline.problem_count and request.on_error is OnError.STOP and not request.dry_run:
        raise _make_refusal(request, outline)
    store = _Store(services, request, outline)
    # What is larger than a commit is read again, and its problems are known by now.
    for checked in kept or _read_checked(request, checker):
        if not isinstance(checked, ImportProblem):
            store.add(checked)
    store.flush()
    return store.result()


@define
class _Outline:
    """The result of the first reading of a source."""

    records: int = 0
    problem_count: int = 0
    problems: list[ImportProblem] = field(factory=list)
    scopes: Counter[str] = field(factory=Counter)
    kinds: Counter[str] = field(factory=Counter)
    first: Memory | None = None
    last: Memory | None = None

    def add_memory(self, memory: Memory) -> None:
        self.records += 1
        self.scopes[memory.scope] += 1
        self.kinds[str(memory.kind)] += 1
        if self.first is None or memory.happened_at < self.first.happened_at:
            self.first = memory
        if self.last is None or memory.happened_at > self.last.happened_at:
            self.last = memory

    def add_problem(self, problem: ImportProblem) -> None:
        self.problem_count += 1
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(problem)


def _check_all(request: ImportRequest, checker: Checker) -> tuple[_Outline, list[_Checked]]:
    """Return the outline of a source, and its records if they fit in one commit, or else none."""
    outline, kept, chars = _Outline(), list[_Checked](), 0
    for checked in _read_checked(request, checker):
        if isinstance(checked, ImportProblem):
            outline.add_problem(checked)
            continue
        if not is_commit_full(len(kept), chars):
            kept.append(checked)
        if isinstance(checked, Candidate):
            chars += checked.chars
            outline.add_memory(checked.memory)
            request.report(ExchangeStep.CHECKING, outline.records)
    request.report(ExchangeStep.CHECKING, outline.records, outline.records)
    return outline, [] if is_commit_full(len(kept), chars) else kept


def _read_checked(request: ImportRequest, checker: Checker) -> Iterator[_Checked | ImportProblem]:
    for item in request.read():
        yield from [item] if isinstance(item, ImportProblem) else checker.check(item)


def _make_refusal(request: ImportRequest, outline: _Outline) -> InvalidInput:
    listed = "".join(f"\n  {problem}" for problem in outline.problems[:_SHOWN_PROBLEMS])
    hidden = outline.problem_count - _SHOWN_PROBLEMS
    more = f"\n  and {hidden:,} more" if hidden > 0 else ""
    number = format_count(outline.problem_count, "record")
    return InvalidInput(
        f"{number} of {request.path} cannot be used, so nothing was imported: mend them, or leave"
        f" them out, without --strict:{listed}{more}"
    )


class _Store:
    """Collects checked records, and stores them in parts of a bounded size."""

    def __init__(self, services: Services, request: ImportRequest, outline: _Outline) -> None:
        self._services = services
        self._request = request
        self._outline = outline
        self._part: Part | None = None
        self._candidates: list[Candidate] = []
        self._chars = 0
        self._links: list[LinkRecord] = []
        self._renamed: dict[str, str] = {}
        self._scopes: dict[str, Scope] = {}
        self._read = 0
        self._counts: Counter[str] = Counter()
        self._entries: list[int] = []
        self._samples: list[Memory] = []

    def add(self, record: _Checked) -> None:
        """Add a record, in the order of the source."""
        match record:
            case Candidate():
                self._add_candidate(record)
            case LinkRecord():
                self._links.append(record)
                if is_commit_full(len(self._links)):
                    self.flush()
            case ScopeRecord():
                self._scopes[record.scope.name] = record.scope

    def _add_candidate(self, candidate: Candidate) -> None:
        self._read += 1
        every = max(1, self._outline.records // _SAMPLES)
        if self._request.dry_run and not (self._read - 1) % every:
            self._samples.append(candidate.memory)
        self._candidates.append(candidate)
        self._chars += candidate.chars
        if is_commit_full(len(self._candidates), self._chars):
            self._flush_memories()
        self._request.report(ExchangeStep.STORING, self._read, self._outline.records)

    def flush(self) -> None:
        """Store the rest; links come with the last memories, in the same commit."""
        links, self._links = self._links, []
        self._flush_memories(links)

    def _flush_memories(self, links: Sequence[LinkRecord] = ()) -> None:
        if not self._candidates and not self._scopes and not links:
            return
        self._services.calls.check()

        def plan() -> Plan:
            # What is in the store may have changed meanwhile, if the first try met a conflict.
            identities = Identities(self._services, self._request.place, self._renamed)
            return plan_part(self._services, self._candidates, self._scopes, links, identities)

        planned = plan() if self._request.dry_run else self._commit_records(plan)
        self._counts.update(planned.counts)
        self._candidates, self._chars, self._scopes = [], 0, {}

    def _commit_records(self, plan: Callable[[], Plan]) -> Plan:
        """Commit the collected records as the next part, and return their plan."""
        services = self._services
        before = self._part or begin_run(services, self._request.place, self._outline.records)
        self._part = part = next_part(before, len(self._candidates))
        planned = commit_planned(services, plan, Operation.IMPORT, reason=part.reason)
        if planned.commit.changes:
            self._entries += [
                entry.number
                for entry in services.storage.journal(limit=1)
                if entry.action.reason == part.reason
            ]
        return planned

    def result(self) -> Imported:
        """Return the result of the import."""
        outline, services = self._outline, self._services
        pending: list[str] = []
        if not self._request.dry_run:
            pending = services.storage.pending(services.models.configured.name, limit=1_000_000)
        return Imported(
            path=str(self._request.path),
            format=self._request.format,
            dry_run=self._request.dry_run,
            records=outline.records,
            problem_count=outline.problem_count,
            problems=tuple(outline.problems),
            scopes=dict(sorted(outline.scopes.items())),
            kinds=dict(sorted(outline.kinds.items())),
            since=None if outline.first is None else outline.first.happened_at,
            until=None if outline.last is None else outline.last.happened_at,
            samples=tuple(self._samples[:_SAMPLES]),
            pending=len(pending),
            entries=tuple(self._entries),
            masked={},
            **dict[str, Any](self._counts),
        )
