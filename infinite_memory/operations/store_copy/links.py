"""Copy the links and the usage of memories, which are in both stores by now, and compare them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import TypeAlias

from infinite_memory.errors import InvalidInput
from infinite_memory.model.commit import Commit, Erase, Put
from infinite_memory.model.findings import Finding, RecordKind
from infinite_memory.model.link import Link, LinkKey
from infinite_memory.model.usage import Usage
from infinite_memory.operations.store_copy.comparison import Stretches
from infinite_memory.protocols import Storage, SupportsDamage

__all__ = ["LinkCopy"]

_Key: TypeAlias = tuple[str, str, str]

# So often what differs is brought again where the source is being written.
_LOOKS = 5
_COMMIT_WRITES = 2048
_ANEW = "run the copy again; if that does not help, copy anew, into an empty target"
_LATER = "run the copy again when the memory is there"


class LinkCopy:
    """Makes the links and the usage in a target those of the source, as far as they differ.

    So it can be done again after an interruption. `counts` are of what is equal, by part.
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
        """What the target could not take."""
        return (*self._refused.values(), *self._left_out.values())

    def run(self) -> None:
        """Bring what differs, and compare; what was found by an earlier run is forgotten."""
        self.counts.clear()
        self.different.clear()
        self._left_out.clear()
        for changes in Stretches(self._source, 0, models=()):
            ids = [each.id for each in changes.items if each.record is not None]
            self._links(ids)
            self._usage(ids)

    def _links(self, ids: Sequence[str]) -> None:
        mine: dict[LinkKey, Link] = {}
        other: dict[LinkKey, Link] = {}
        missing: list[Link] = []
        surplus: list[LinkKey] = []
        for look in range(_LOOKS):
            mine = {link.key: link for link in self._source.links(ids)}
            other = {link.key: link for link in self._target.links(ids)}
            missing = [
                link
                for key, link in mine.items()
                if other.get(key) != link and key not in self._refused
            ]
            # A link that is damaged in the source by now is kept.
            is_damaged = bool(self._damaged(RecordKind.LINK))
            surplus = [] if is_damaged else [key for key in other if key not in mine]
            if look == _LOOKS - 1 or not (missing or surplus):
                break
            for start in range(0, len(missing), _COMMIT_WRITES):
                self._put_links(missing[start : start + _COMMIT_WRITES])
            for start in range(0, len(surplus), _COMMIT_WRITES):
                self._target.commit(Commit(erased_links=surplus[start : start + _COMMIT_WRITES]))
        # Each is met from both of its ends, and counted from where it begins.
        beginnings = set(ids)
        equal = [key for key, link in mine.items() if other.get(key) == link]
        self.counts["links"] += sum(key.source in beginnings for key in equal)
        for link in missing:
            self._note_missing(link)
        for key in surplus:
            what = f"the link from {key.source!r} to {key.target!r} is only in the target"
            self.different.append(Finding(part=RecordKind.LINK, what=what, way_out=_ANEW))

    def _put_links(self, links: Sequence[Link]) -> None:
        """Write; where the target refuses a link, write the others and note that one."""
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
                what=f"the target cannot keep {_named(link)}: {error}",
                way_out="link the two anew in the source, then run the copy again",
            )

    def _note_missing(self, link: Link) -> None:
        ends = {link.source, link.target}
        if len(self._target.get(ends, models=())) < len(ends):
            what = f"{_named(link)} is left out, since one end of it is not in the target"
            self._left_out[link.key] = Finding(part=RecordKind.LINK, what=what, way_out=_LATER)
        else:
            what = f"{_named(link)} is not the same in both"
            self.different.append(Finding(part=RecordKind.LINK, what=what, way_out=_ANEW))

    def _usage(self, ids: Sequence[str]) -> None:
        wrong: Collection[str] = ()
        for _ in range(_LOOKS):
            mine, other = self._source.usage(ids), self._target.usage(ids)
            kept = self._damaged(RecordKind.USAGE)
            wrong = [
                each
                for each in {**mine, **other}
                if mine.get(each) != other.get(each) and each not in kept
            ]
            self.counts["usage"] += 0 if wrong else len(mine)
            if not wrong:
                return
            more = {each: _more(mine.get(each), other.get(each)) for each in wrong}
            # What was counted too often can only be counted anew.
            for each in (each for each, usage in more.items() if usage is None):
                self._store_anew(each)
            self._target.count_usage({k: usage for k, usage in more.items() if usage is not None})
        for each in wrong:
            what = f"the usage of memory {each!r} is not the same in both"
            self.different.append(Finding(part=RecordKind.USAGE, id=each, what=what, way_out=_ANEW))

    def _store_anew(self, memory_id: str) -> None:
        """Erase a memory of the target and store it as it was, without its usage."""
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

    def _damaged(self, part: RecordKind) -> set[str | None]:
        found = self._source.damage() if isinstance(self._source, SupportsDamage) else ()
        return {each.id for each in found if each.part is part}


def _named(link: Link) -> str:
    return f"the link from {link.source!r} to {link.target!r}"


def _more(mine: Usage | None, other: Usage | None) -> Usage | None:
    """Return what `other` lacks of `mine`, None where it has more."""
    if other is None or mine is None:
        return mine
    if other.count > mine.count or other.last > mine.last:
        return None
    return Usage(count=mine.count - other.count, last=mine.last)
