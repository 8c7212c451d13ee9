"""Checks the records of a source against the store, and gives every memory its scope."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve, field, frozen

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.draft import Draft
from infinite_memory.core.values.exchange import ImportProblem
from infinite_memory.core.values.ids import check_id
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.scope import Scope, fold_name
from infinite_memory.engine.services import Services
from infinite_memory.engine.writes.validation import (
    build_memory,
    check_fields,
    check_validity,
    resolve_scope,
)
from infinite_memory.features.archive.exchange.records import (
    DraftRecord,
    LinkRecord,
    MemoryRecord,
    Naming,
    ScopeRecord,
)

_CHECKED = (
    *("text", "kind", "title", "tags", "context", "conversation_id", "speaker", "origin"),
    *("happened_at", "valid_from", "valid_to", "key", "status", "important", "sources"),
    "attachments",
)
# What a memory can do without; where it belongs is not among it.
_OPTIONAL = (
    *("happened_at", "kind", "title", "tags", "context", "speaker", "origin", "valid_from"),
    *("valid_to", "key", "important", "conversation_id", "sources", "attachments"),
)
_DEFAULTS = {name: getattr(Draft(text=""), name) for name in _OPTIONAL}


@frozen(kw_only=True)
class Candidate:
    """A checked memory of a source, which the store may have already.

    `revisions` are oldest first; a memory of another product has one, and may be stored under one
    of its `earlier_ids`. `naming` says what its id is made of. `is_own` says that this library
    exported it, with its status and its times. `timed` says that the source gave a time.
    """

    file: str
    where: str
    revisions: tuple[Memory, ...]
    naming: Naming = Naming.SOURCE
    earlier_ids: tuple[str, ...] = ()
    is_own: bool = False
    has_history: bool = False
    timed: bool = True
    is_final: bool = False

    @property
    def memory(self) -> Memory:
        """The current revision."""
        return self.revisions[-1]

    @property
    def chars(self) -> int:
        """The length of the texts of all revisions."""
        return sum(len(memory.text) for memory in self.revisions)


@frozen(kw_only=True)
class Checker:
    """Checks records one by one; `scope` takes the place of every scope of the source."""

    services: Services
    scope: str | None = None
    scopes: dict[str, Scope] = field()
    _spelling: dict[str, str] = field(factory=dict)

    @scopes.default
    def _read_scopes(self) -> dict[str, Scope]:
        return dict(self.services.storage.scopes())

    def check(
        self, record: DraftRecord | MemoryRecord | LinkRecord | ScopeRecord
    ) -> Iterator[Candidate | LinkRecord | ScopeRecord | ImportProblem]:
        """Yield the checked record, if it can be used, and what cannot be used of it.

        Raises:
            UnknownScope: the scope that the caller gave cannot be used.
        """
        try:
            match record:
                case DraftRecord():
                    yield from self._check_draft(record)
                case MemoryRecord():
                    yield self._check_memory(record)
                case LinkRecord():
                    yield self._check_link(record)
                case _:
                    yield from self._check_scope(record)
        except InvalidInput as error:
            yield ImportProblem(file=record.file, where=record.where, what=str(error))

    def _check_draft(self, record: DraftRecord) -> Iterator[Candidate | ImportProblem]:
        """Yield a memory, if need be without a field that cannot be used, which costs only itself.

        Raises:
            InvalidInput: it cannot be used without its optional fields either.
        """
        draft: Draft = record.draft
        if self.scope is not None:
            draft = evolve(draft, scope=self.scope)
        try:
            yield self._build_candidate(record, draft)
            return
        except InvalidInput as error:
            refusal = error
        given = [name for name in _OPTIONAL if getattr(draft, name) != _DEFAULTS[name]]
        for names in [*([name] for name in given), given]:
            try:
                yield self._build_candidate(
                    record, evolve(draft, **{n: _DEFAULTS[n] for n in names})
                )
            except InvalidInput:
                continue
            what = f"{', '.join(names)} left out: {refusal}"
            yield ImportProblem(file=record.file, where=record.where, what=what)
            return
        raise refusal

    def _build_candidate(self, record: DraftRecord, draft: Draft) -> Candidate:
        memory = build_memory(draft, self.services, self.scopes, self.services.clock())
        scope = self._spell_scope(memory.scope)
        return Candidate(
            file=record.file,
            where=record.where,
            revisions=(memory if scope == memory.scope else evolve(memory, scope=scope),),
            naming=record.naming,
            earlier_ids=record.earlier_ids,
            timed=draft.happened_at is not None and not record.guesses_time,
            is_final=record.is_final,
        )

    def _check_memory(self, record: MemoryRecord) -> Candidate:
        revisions = tuple([self._check_revision(memory) for memory in record.revisions])
        return Candidate(
            file=record.file,
            where=record.where,
            revisions=revisions,
            is_own=True,
            has_history=record.has_history,
        )

    def _check_revision(self, memory: Memory) -> Memory:
        check_id(memory.id)
        values = check_fields({name: getattr(memory, name) for name in _CHECKED}, self.services)
        check_validity(memory.valid_from, memory.valid_to)
        wanted = memory.scope if self.scope is None else self.scope
        scope = resolve_scope(wanted, self.scopes, self.services, create=True)
        return evolve(memory, **values, scope=self._spell_scope(scope))

    def _check_link(self, record: LinkRecord) -> LinkRecord:
        check_id(record.source)
        check_id(record.target)
        return record

    def _check_scope(self, record: ScopeRecord) -> Iterator[ScopeRecord]:
        if self.scope is not None:
            return  # its memories go elsewhere
        name = resolve_scope(record.scope.name, self.scopes, self.services, create=True)
        name = self._spell_scope(name)
        yield evolve(record, scope=evolve(record.scope, name=name))

    def _spell_scope(self, scope: str) -> str:
        """Return the first spelling of a scope that does not exist yet."""
        return self._spelling.setdefault(fold_name(scope), scope)
