"""Mask the secrets in what is stored: each revision is written anew, and its bytes are removed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve, field, frozen

from infinite_memory.core.config import SecretPolicy
from infinite_memory.core.errors import AccessDenied, StoreDamaged
from infinite_memory.core.protocols import Storage
from infinite_memory.core.secrets import MASK, Masker
from infinite_memory.core.values.checks import check_labels
from infinite_memory.core.values.commit import Commit, Erase, Expect, Put
from infinite_memory.core.values.entry import Operation
from infinite_memory.core.values.memory import Memory, Status, is_content
from infinite_memory.core.values.messages import format_count
from infinite_memory.core.values.receipt import MaskedSecrets
from infinite_memory.core.values.record import Record
from infinite_memory.engine.after_commit import AfterCommit
from infinite_memory.engine.change_feed import every_change
from infinite_memory.engine.embed import embed_new
from infinite_memory.engine.journal import with_entry
from infinite_memory.engine.load_memories import get_memory
from infinite_memory.engine.retry import attempts
from infinite_memory.engine.services import Services
from infinite_memory.engine.writes.bulk_erase import finish_erasing
from infinite_memory.engine.writes.validation import GUARDED, choose_policy
from infinite_memory.search.text.segmenter import WordSegmenter

# A value that was found once is masked wherever it stands, unless it may be a word.
_LEAST_REPEATED = 8
# A commit holds the lock of the writers.
_MOST_AT_ONCE = 200


def mask_stored(services: Services, ids: Sequence[str], *, dry_run: bool) -> MaskedSecrets:
    """Mask the secrets in memories, all without `ids`; see `Bulk.mask_secrets`."""
    if services.confinement is not None:
        raise AccessDenied(
            "secrets are masked in the whole store, and this handle shows a part of it: run"
            " `infinite-memory doctor --secrets` where the store is"
        )
    named = [get_memory(services, memory_id) for memory_id in check_labels(ids, "ids")]
    search = _Search(services)
    found = [memory.id for memory in named or search.iterate() if search.has_secret(memory)]
    if not named and search.values:  # a memory may repeat a value that another one names
        again = [memory.id for memory in search.iterate() if search.has_secret(memory)]
        found = list(dict.fromkeys([*found, *again]))
    for start in range(0, 0 if dry_run else len(found), _MOST_AT_ONCE):
        _mask_batch(services, search, found[start : start + _MOST_AT_ONCE])
    return MaskedSecrets(
        ids=tuple(found),
        secrets=dict(sorted(Counter(search.values.values()).items())),
        dry_run=dry_run,
        unreadable=tuple(dict.fromkeys(search.unreadable)),
        pending=() if dry_run or not found else finish_erasing(services, ()),
    )


@frozen
class _Search:
    """Looks for secrets in stored memories.

    `values` has the kind of each, and `words` their words, which keywords may be.
    """

    services: Services
    values: dict[str, str] = field(factory=dict)
    words: set[str] = field(factory=set)
    unreadable: list[str] = field(factory=list)

    def iterate(self) -> Iterator[Memory]:
        """Yield every memory, except where secrets are allowed."""
        for change in every_change(self.services.storage, 0, ()):
            if (record := change.record) is not None:
                policy = choose_policy(self.services, record.memory.scope)
                yield from () if policy is SecretPolicy.ALLOW else (record.memory,)

    def has_secret(self, memory: Memory) -> bool:
        """Return whether any revision of a memory has a secret, whose value is noted."""
        try:
            revisions = _read_revisions(self.services.storage, memory)
        except StoreDamaged as error:
            self.unreadable.append(str(error))
            return False
        return [self.mask(each) for each in revisions] != list(revisions)

    def mask(self, memory: Memory) -> Memory:
        """Return a revision with masks, itself if it has no secret."""
        if is_content(memory):
            return memory
        masker = Masker()
        changed = {name: masker.mask(getattr(memory, name), name) for name in GUARDED}
        for kind, _, value in masker.found:
            if value not in self.values:
                self.values[value] = kind
                self.words.update((self.services.segmenter or WordSegmenter()).segment(value))
        return evolve(memory, **{name: self._mask_again(value) for name, value in changed.items()})

    def _mask_again(self, value: Any) -> Any:
        """Mask the values that were found elsewhere, and leave out keywords of them."""
        if isinstance(value, str):
            for secret, kind in self.values.items():
                if len(secret) >= _LEAST_REPEATED and secret in value:
                    value = value.replace(secret, f"{MASK}{kind}]")
            return value
        if isinstance(value, Mapping):
            return {
                name: self._mask_again(item)
                for name, item in value.items()
                if not (isinstance(item, float) and name in self.words)  # a word with its weight
            }
        if isinstance(value, list | tuple):
            return type(value)(map(self._mask_again, value))
        return value


def _mask_batch(services: Services, search: _Search, ids: Sequence[str]) -> None:
    reason = f"secrets in {format_count(len(ids), 'memory', 'memories')}"
    rewrite_revisions(services, ids, search.mask, reason=reason)


def rewrite_revisions(
    services: Services, ids: Sequence[str], change: Callable[[Memory], Memory], *, reason: str
) -> None:
    """Put another value in the place of each revision of some memories, for good.

    Raises:
        Conflict: other clients kept changing the store.
    """
    storage = services.storage
    for attempt in attempts():
        # Read first: a link that is made before the commit would go with what it joins.
        expect = Expect(entry_number=storage.journal_end().number + 1)
        records = storage.get(ids)
        puts = [put for each in records.values() for put in _plan_puts(storage, each, change)]
        erases = [Erase(id=i, expected=each.memory.revision) for i, each in records.items()]
        usage, links = storage.usage(ids), storage.links(ids)
        commit = Commit(expect=expect, erases=erases, puts=puts)
        commit = with_entry(services, Operation.MASK, commit, reason=reason)
        with attempt:
            # The links stay as they were, so the entry says nothing of them.
            storage.commit(evolve(commit, links=links))
            break
    with AfterCommit("the usage of the memories that were written again"):
        storage.count_usage(usage)
    current = {put.memory.id: put for put in puts}.values()
    waiting = [put.memory for put in current if not put.embeddings and put.memory.is_indexed]
    embed_new(services, [each for each in waiting if each.status is not Status.FORGOTTEN])


def _read_revisions(storage: Storage, memory: Memory) -> Sequence[Memory]:
    """Return the revisions of a memory, oldest first."""
    return [memory] if memory.revision == 1 else storage.history(memory.id)


def _plan_puts(
    storage: Storage, record: Record, change: Callable[[Memory], Memory]
) -> Iterator[Put]:
    """Yield the revisions of a memory after a change, each under the number that it had."""
    expected = 0
    for memory in _read_revisions(storage, record.memory):
        masked = change(memory)
        is_same = memory.revision == record.memory.revision and masked.text == memory.text
        embeddings = record.embeddings if is_same else ()
        yield Put(memory=masked, expected=expected, embeddings=embeddings)
        expected = memory.revision
