"""Share: move a memory into another scope, or store a copy of it there."""

from __future__ import annotations

from attrs import asdict, evolve, fields

from infinite_memory.core.errors import InvalidInput, ScopeNotCreated
from infinite_memory.core.values.checks import check_flag
from infinite_memory.core.values.commit import Commit, merge_commits
from infinite_memory.core.values.draft import Draft
from infinite_memory.core.values.entry import MemoryStep, Operation
from infinite_memory.core.values.memory import Memory, Status, is_content, without_feedback
from infinite_memory.core.values.receipt import Outcome, Receipt, Searchable
from infinite_memory.engine.conversation_scopes import create_missing_scopes
from infinite_memory.engine.embed import embed_new
from infinite_memory.engine.journal import with_entry
from infinite_memory.engine.load_memories import get_record
from infinite_memory.engine.retry import attempts
from infinite_memory.engine.services import Services
from infinite_memory.engine.writes.receipts import receipt_of
from infinite_memory.engine.writes.revise import revise
from infinite_memory.engine.writes.supersession import Supersession
from infinite_memory.engine.writes.validation import build_memory, resolve_scope

# A copy is a memory of its own: nothing leads from it to what others may not see.
_LEFT_OUT = frozenset({"id", "sources", "attachments", "supersedes"})


def share(services: Services, memory_id: str, *, to: str, copy: bool) -> Receipt:
    """Move a memory into the scope `to`, or copy it; see `MemoryStore.share`.

    Raises:
        NotFound: there is no such memory.
        InvalidInput: it is in that scope, or cannot be copied.
        UnknownScope: there is no such scope.
        Conflict: other clients kept changing it.
    """
    step = _copy if check_flag(copy, "copy") else _move
    for attempt in attempts():
        memory = get_record(services, memory_id).memory
        try:
            scope = resolve_scope(to, services.storage.scopes(), services, create=False)
        except ScopeNotCreated as error:
            create = f"scopes.create({error.name!r:.160}) before it"
            raise ScopeNotCreated.of(
                error.name, error.nearest, scope=f"to={error.nearest!r}", create=create
            ) from error
        if scope == memory.scope:
            raise InvalidInput(f"{memory_id} is in {scope!r} already: name another scope")
        with attempt:
            return step(services, memory, scope)
    raise AssertionError


def _move(services: Services, memory: Memory, scope: str) -> Receipt:
    if memory.status is Status.FORGOTTEN:
        raise InvalidInput(f"{memory.id} is forgotten: bring it back first, with status current")
    changes = {"scope": scope, "create_scope": False}
    return revise(
        services,
        memory.id,
        revision=memory.revision,
        changes=changes,
        operation=Operation.SHARE,
    )


def _copy(services: Services, memory: Memory, scope: str) -> Receipt:
    now, scopes = services.clock(), services.storage.scopes()
    supersession = Supersession(services, now)
    copied = build_memory(_make_copy(memory, scope), services, scopes, now)
    supersession.place(copied, timed=False)
    placement = supersession.placement()
    made = create_missing_scopes([scope], scopes, services) if scope not in scopes else Commit()
    commit = with_entry(services, Operation.SHARE, merge_commits(made, placement.commit))
    assert commit.entry is not None
    # The entry is one about the memory that stays as well, for those who see that memory.
    stays = MemoryStep(id=memory.id, before=memory.revision, after=memory.revision)
    entry = evolve(commit.entry, memories=(*commit.entry.memories, stays))
    services.storage.commit(evolve(commit, entry=entry))
    new = placement.memories[copied.id]
    embedded = new.id in embed_new(services, [new])
    return receipt_of(new, Outcome.STORED, Searchable.MEANING if embedded else Searchable.WORDS)


def _make_copy(memory: Memory, scope: str) -> Draft:
    if memory.status in (Status.FORGOTTEN, Status.SUPERSEDED):
        raise InvalidInput(
            f"{memory.id} is {memory.status}, and a copy would be current again: copy what is"
            " current, or bring it back first"
        )
    if memory.attachments or is_content(memory):
        raise InvalidInput(
            f"{memory.id} has attachments, which a copy would not have: move it instead"
        )
    known = {each.name for each in fields(Draft)} - _LEFT_OUT
    values = {name: value for name, value in asdict(memory, recurse=False).items() if name in known}
    context = dict(without_feedback(memory.context))
    return Draft(**{**values, "scope": scope, "context": context, "origin": str(memory.origin)})
