"""Copy and compare the links and the usage of memories that both stores hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import TypeAlias

from infinite_memory.errors import InvalidInput
from infinite_memory.model.commit import Commit, Erase, Put
from infinite_memory.model.link import Link, LinkKey
from infinite_memory.model.record import Usage
from infinite_memory.model.verification import Finding, RecordKind
from infinite_memory.operations.store_copy.comparison import ChangeBatches
from infinite_memory.protocols import Storage, SupportsDamage

__all__ = ["LinkCopy"]

_Key: TypeAlias = tuple[str, str, str]

# The number of copies of a record that differs, since the source may be written meanwhile.
_ATTEMPTS = 5
_COMMIT_WRITES = 2048
_COPY_AGAIN = "run the copy again; if that does not help, copy into an empty target"
_LATER = "run the copy again when both memories are in the target"


class LinkCopy:
    """Makes the links and the usage of a target equal to the source; writes only differences.

    It can run again after an interruption. `counts` are of equal records, by kind.
    """

    def __init__(self, source: Storage, target: Storage) -> None:
        self._source = source
        self._target = target
        self._refused: dict[LinkKey, Finding] = {}
        self._left_out: dict[LinkKey, Finding] = {}
        self.counts: Counter[str] = Counter()
        self.different: list[Finding] = []

    @property
    def left_out(self) -> tuple[Finding, ...]:
        """The links that the target could not keep."""
        return (*self._refused.values(), *self._left_out.values())

    def run(self) -> None:
        """Copy the differences, and compare; forget the results of an earlier run."""
        self.counts.clear()
        self.different.clear()
        self._left_out.clear()
        for changes in ChangeBatches(self._source, 0, models=()):
            ids = [change.id for change in changes.items if change.record is not None]
            self._copy_links(ids)
            self._copy_usage(ids)

    def _copy_links(self, ids: Sequence[str]) -> None:
        originals: dict[LinkKey, Link] = {}
        copies: dict[LinkKey, Link] = {}
        missing: list[Link] = []
        surplus: list[LinkKey] = []
        for attempt in range(_ATTEMPTS):
            originals = {link.key: link for link in self._source.links(ids)}
            copies = {link.key: link for link in self._target.links(ids)}
            missing = [
                link
                for key, link in originals.items()
                if copies.get(key) != link and key not in self._refused
            ]
            # A link whose original has been damaged meanwhile is kept.
            is_damaged = bool(self._damaged_ids(RecordKind.LINK))
            surplus = [] if is_damaged else [key for key in copies if key not in originals]
            if attempt == _ATTEMPTS - 1 or not (missing or surplus):
                break
            for start in range(0, len(missing), _COMMIT_WRITES):
                self._put_links(missing[start : start + _COMMIT_WRITES])
            for start in range(0, len(surplus), _COMMIT_WRITES):
                self._target.commit(Commit(erased_links=surplus[start : start + _COMMIT_WRITES]))
        # The feed leads to a link from both of its ends; it counts at its source.
        link_sources = set(ids)
        equal = [key for key, link in originals.items() if copies.get(key) == link]
        self.counts["links"] += sum(key.source in link_sources for key in equal)
        for link in missing:
            self._add_missing(link)
        for key in surplus:
            what = f"the link from {key.source!r} to {key.target!r} is only in the target"
            self.different.append(Finding(part=RecordKind.LINK, what=what, way_out=_COPY_AGAIN))

    def _put_links(self, links: Sequence[Link]) -> None:
        """Commit the links, except for links that the target refuses; record the refusals."""
        try:
            self._target.commit(Commit(links=links))
        except InvalidInput as error:
            if len(links) > 1:
                half = len(links) // 2
                self._put_links(links[:half])
                self._put_links(links[half:])
                return
            (link,) = links
            self._refused[link.key] = Finding(
                part=RecordKind.LINK,
                what=f"the target cannot store {_describe_link(link)}: {error}",
                way_out="link the two memories again in the source, then run the copy again",
            )

    def _add_missing(self, link: Link) -> None:
        ends = {link.source, link.target}
        if len(self._target.get(ends, models=())) < len(ends):
            what = f"{_describe_link(link)} is left out, since the target lacks one of its memories"
            self._left_out[link.key] = Finding(part=RecordKind.LINK, what=what, way_out=_LATER)
        else:
            what = f"{_describe_link(link)} differs between the two stores"
            self.different.append(Finding(part=RecordKind.LINK, what=what, way_out=_COPY_AGAIN))

    def _copy_usage(self, ids: Sequence[str]) -> None:
        wrong: Collection[str] = ()
        for _ in range(_ATTEMPTS):
            originals, copies = self._source.usage(ids), self._target.usage(ids)
            kept = self._damaged_ids(RecordKind.USAGE)
            wrong = [
                memory_id
                for memory_id in {**originals, **copies}
                if originals.get(memory_id) != copies.get(memory_id) and memory_id not in kept
            ]
            self.counts["usage"] += 0 if wrong else len(originals)
            if not wrong:
                return
            lacking = {
                memory_id: _subtract_usage(originals.get(memory_id), copies.get(memory_id))
                for memory_id in wrong
            }
            # A count that is too high cannot be lowered: only a new record starts from 0.
            for memory_id, usage in lacking.items():
                if usage is None:
                    self._reset_usage(memory_id)
            self._target.count_usage(
                {memory_id: usage for memory_id, usage in lacking.items() if usage is not None}
            )
        for memory_id in wrong:
            what = f"the usage of memory {memory_id!r} differs between the two stores"
            self.different.append(
                Finding(part=RecordKind.USAGE, id=memory_id, what=what, way_out=_COPY_AGAIN)
            )

    def _reset_usage(self, memory_id: str) -> None:
        """Erase a memory of the target and store it again without its usage."""
        record = self._target.get([memory_id]).get(memory_id)
        if record is None:
            return
        revisions = self._target.history(memory_id)
        puts = []
        expected = 0
        for memory in revisions:
            is_last = memory.revision == record.memory.revision
            embeddings = record.embeddings if is_last else ()
            puts.append(Put(memory=memory, expected=expected, embeddings=embeddings))
            expected = memory.revision
        erase = Erase(id=memory_id, expected=record.memory.revision)
        links = self._target.links([memory_id])
        self._target.commit(Commit(erases=(erase,), puts=puts, links=links))

    def _damaged_ids(self, part: RecordKind) -> set[str | None]:
        damage = self._source.damage() if isinstance(self._source, SupportsDamage) else ()
        return {finding.id for finding in damage if finding.part is part}


def _describe_link(link: Link) -> str:
    return f"the link from {link.source!r} to {link.target!r}"


def _subtract_usage(original: Usage | None, copied: Usage | None) -> Usage | None:
    """Return the usage that `copied` lacks of `original`, None if it has more."""
    if copied is None or original is None:
        return original
    if copied.count > original.count or copied.last > original.last:
        return None
    return Usage(count=original.count - copied.count, last=original.last)
