"""The checks of a commit that every backend makes before it writes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from infinite_memory.core.errors import Conflict, InvalidInput
from infinite_memory.core.values.access.key import AccessKey
from infinite_memory.core.values.commit import Commit, ExpectContent, ExpectKey, Put
from infinite_memory.core.values.entry import JournalEnd
from infinite_memory.core.values.memory import Status
from infinite_memory.core.values.record import Embedding
from infinite_memory.core.values.scope import Scope, ScopeTable, find_spelling, names_within


class Present(Protocol):
    """The content of a storage before a commit."""

    @property
    def journal_end(self) -> JournalEnd:
        """The end of the journal."""

    def lease_number(self) -> int:
        """Return the number of the latest lease, 0 if nobody ever held it."""

    def revision(self, memory_id: str) -> int:
        """Return the current revision of a memory, 0 if no memory has the id."""

    def scopes(self) -> Mapping[str, Scope]:
        """Return every scope by name."""

    def access_keys(self) -> Mapping[str, AccessKey]:
        """Return every undamaged access key by id."""

    def holds(self, scope: str, besides: Collection[str]) -> bool:
        """Return whether a memory of the scope is not forgotten and its id is not in `besides`."""

    def holders(self, expected: ExpectKey) -> Collection[str]:
        """Return the ids of the memories with the key, the scope and a status of `expected`."""

    def with_content(self, expected: ExpectContent) -> Collection[str]:
        """Return the ids that meet the criteria of `expected`, at most 1 more than expected."""


def check_commit(commit: Commit) -> None:
    """Refuse a commit that no storage could carry out, regardless of its content.

    Raises:
        InvalidInput: a revision does not go forward, an embedding could not be read back, a weight
            is out of its range, the same id, link, scope or access key is written twice, or the
            active model is no line of text.
    """
    if commit.active_model is not None and not _is_line(commit.active_model):
        raise InvalidInput(f"the active model is {commit.active_model!r}: give a name of one line")
    for put in commit.puts:
        _check_revision(put)
        for embedding in put.embeddings:
            check_embedding(put.memory.id, embedding)
        if put.embeddings:
            _check_models(put)
    for attach in commit.attaches:
        check_embedding(attach.id, attach.embedding)
    for link in commit.links:
        if not 0 < link.weight <= 1:
            raise InvalidInput(
                f"the link from {link.source!r} to {link.target!r} cannot have the "
                f"weight {link.weight!r}: give one over 0 and at most 1"
            )
    _check_repeats("erase the memory", [erase.id for erase in commit.erases])
    _check_repeats("write the scope", [*commit.erased_scopes, *(s.name for s in commit.scopes)])
    _check_repeats("write the access key", [key.id for key in commit.access_keys])
    _check_repeats("write the link", [*commit.erased_links, *(link.key for link in commit.links)])


def _check_repeats(action: str, names: Sequence[object]) -> None:
    """Refuse a name that occurs twice: only the last of its two writes would have an effect."""
    if len(set(names)) < len(names):
        repeated = next(name for name, count in Counter(names).items() if count > 1)
        raise InvalidInput(f"a commit cannot {action} {repeated!r} twice: leave one out")


def _check_models(put: Put) -> None:
    models = [embedding.model for embedding in put.embeddings]
    if len(set(models)) < len(models):
        raise InvalidInput(
            f"memory {put.memory.id!r} cannot have two embeddings by one model: {sorted(models)}"
        )


def _check_revision(put: Put) -> None:
    if put.expected < 0 or put.memory.revision <= put.expected:
        raise InvalidInput(
            f"memory {put.memory.id!r}: revision {put.memory.revision} cannot replace "
            f"{put.expected}: a new revision is higher than the revision it expects"
        )


def _is_line(name: str) -> bool:
    return bool(name) and "\n" not in name


def check_embedding(memory_id: str, embedding: Embedding) -> None:
    """Refuse an embedding that is not finite, or whose shape or dtype is not as documented.

    Raises:
        InvalidInput: with the id of the memory and the problem.
    """
    import numpy as np  # noqa: PLC0415

    spans, vectors = embedding.spans, embedding.vectors
    problem = None
    if not _is_line(embedding.model):
        problem = f"its model is {embedding.model!r}: give a name of one line"
    elif spans.dtype != "int32" or vectors.dtype != "float32":
        problem = f"spans are {spans.dtype} and vectors {vectors.dtype}: give int32 and float32"
    elif spans.ndim != 2 or spans.shape[1] != 2 or vectors.ndim != 2 or not vectors.shape[1]:
        problem = f"shapes {spans.shape} and {vectors.shape}: give (n, 2) and (n, dimensions)"
    elif len(spans) != len(vectors):
        problem = f"{len(spans)} spans and {len(vectors)} vectors: give one vector a span"
    elif not np.isfinite(vectors).all():
        problem = "a vector is not finite"
    if problem is not None:
        raise InvalidInput(f"embedding of memory {memory_id!r} cannot be stored: {problem}")


def refuse_changes(commit: Commit, present: Present) -> None:
    """Refuse a commit whose expectations do not match the storage as it is `present`.

    Raises:
        Conflict: with the expectations that do not hold.
    """
    refuse_conflicts(commit, present.revision)
    expect = commit.expect
    if expect.scopes:
        _refuse_changed_scopes(expect.scopes, present.scopes())
    if expect.unused:
        _refuse_used_scopes(commit, present)
    for key in expect.keys:
        if key.ids != frozenset(present.holders(key)):
            raise _make_conflict([f"who holds the key {key.key!r} in the scope {key.scope!r}"])
    for content in expect.contents:
        if content.ids != frozenset(present.with_content(content)):
            names = ", ".join(sorted(content.scopes))
            raise _make_conflict([f"which memories in {names} have the same content"])
    if expect.access_keys is not None and expect.access_keys != present.access_keys():
        raise _make_conflict(["the access keys"])
    if expect.entry_number is not None:
        _refuse_other_number(expect.entry_number, present.journal_end)
    if expect.lease is not None and expect.lease != present.lease_number():
        raise Conflict(
            f"the lease {expect.lease} of the worker was lost, and nothing was stored: another"
            " process does the upkeep"
        )


def refuse_conflicts(commit: Commit, revision_of: Callable[[str], int]) -> None:
    """Refuse a commit if an erase or a put would not find the revision that it expects.

    `revision_of` returns the current revision of an id, 0 where no memory has it. `refuse_changes`
    checks the remaining expectations.

    Raises:
        Conflict: with every such id, and its first expected and its current revision.
    """
    revisions: dict[str, int] = {}
    conflicts: dict[str, str] = {}
    for memory_id, expected, revision in commit.revisions():
        if expected is not None:
            current = revisions[memory_id] if memory_id in revisions else revision_of(memory_id)
            if current != expected:
                conflicts.setdefault(
                    memory_id,
                    f"{memory_id!r} (expected revision {expected}, found {current or 'none'})",
                )
        revisions[memory_id] = revision
    if conflicts:
        raise _make_conflict(list(conflicts.values()))


def refuse_replacement(position: int, entries: int, present: int, end: JournalEnd) -> None:
    """Refuse to replace the content of a store that was written meanwhile.

    `position` and `entries` are expected; `present` is the cursor after the last change, and `end`
    the end of the journal.

    Raises:
        Conflict: one of them differs.
    """
    if (position, entries) != (present, end.number):
        raise Conflict(
            "the store was written while its new content was prepared, and nothing was replaced:"
            " stop the programs that write to it, then repeat this"
        )


def _refuse_changed_scopes(
    expected: Mapping[str, Scope | None], scopes: Mapping[str, Scope]
) -> None:
    for name, scope in expected.items():
        known = find_spelling(name, scopes) if scope is None else scopes.get(name)
        changed = known != scope
        if changed:
            raise _make_conflict([f"the scope {name!r}"])


def _refuse_used_scopes(commit: Commit, present: Present) -> None:
    """Refuse a scope that must be unused but holds a memory or a scope after the commit."""
    scopes = ScopeTable.of(present.scopes()).change(commit.scopes, commit.erased_scopes)
    memories = {put.memory.id: put.memory for put in commit.puts}
    used = {memory.scope for memory in memories.values() if memory.status is not Status.FORGOTTEN}
    written = memories.keys() | {erase.id for erase in commit.erases}
    for name in sorted(commit.expect.unused):
        if name in used or names_within(name, scopes) or present.holds(name, written):
            raise _make_conflict([f"the scope {name!r}, which is now in use"])


def _refuse_other_number(number: int, end: JournalEnd) -> None:
    if number != end.number + 1:
        raise _make_conflict(
            [f"the journal, in which entry {end.number + 1} is next, not {number}"]
        )


def _make_conflict(conflicts: list[str]) -> Conflict:
    more = f" and {len(conflicts) - 20} more" if len(conflicts) > 20 else ""
    return Conflict(
        f"nothing was stored, since others changed {', '.join(conflicts[:20])}{more}: "
        "read again what is there and repeat the change on it"
    )
