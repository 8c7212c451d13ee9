"""The pairs that the dreamer leaves alone, because somebody removed or refused their link.

They are read from the journal: whoever undoes a cycle, or unlinks what the dreamer linked, says
that two memories do not belong together. A note keeps the pairs as hashes, so that it names nothing
that is erased later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from itertools import islice

from attrs import frozen

from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.entry import Entry, LinkStep, Operation
from infinite_memory.core.values.link import Link, LinkType
from infinite_memory.engine.journal import iter_sound_entries
from infinite_memory.features.background.dreamer.view import DREAMER

_NOTE = "dream/rejected"
_MOST_PAIRS = 5000
_MOST_ENTRIES = 5000
_HASH_BYTES = 6
_SAYING = frozenset({Operation.DREAM, Operation.LINK, Operation.UNDO})


@frozen(kw_only=True)
class Rejected:
    """Pairs that are not linked again, read up to the entry `number` of the journal.

    `hashes` are those of the pairs, in the order in which they were rejected.
    """

    number: int = 0
    hashes: tuple[str, ...] = ()

    def __contains__(self, pair: object) -> bool:
        """Return whether a pair, a frozenset of two ids, was rejected."""
        return isinstance(pair, frozenset) and hash_pair(pair) in self.hashes

    def plus(self, pairs: Iterable[frozenset[str]]) -> Rejected:
        """Return the rejected pairs with further ones; of very many the newest are kept."""
        hashes = dict.fromkeys([*self.hashes, *map(hash_pair, pairs)])
        return Rejected(number=self.number, hashes=tuple(hashes)[-_MOST_PAIRS:])

    @property
    def notes(self) -> Mapping[str, str]:
        """The note for the next cycle."""
        return {_NOTE: " ".join([str(self.number), *self.hashes])}


def hash_pair(pair: frozenset[str]) -> str:
    """Return the hash of the ids of a pair, 12 hexadecimal digits, in whatever order they are."""
    joined = "\0".join(sorted(pair)).encode(errors="surrogatepass")
    return blake2b(joined, digest_size=_HASH_BYTES, person=b"pair").hexdigest()


def read_rejected(storage: Storage, notes: Mapping[str, str]) -> Rejected:
    """Return the rejected pairs of the note, and those of the entries of the journal since.

    At most 5,000 entries are read, the newest.
    """
    known = _parse_note(notes.get(_NOTE, ""))
    end = storage.journal_end().number
    # A store that was replaced may have a shorter journal.
    begin = known.number if known.number <= end else 0
    hashes = dict.fromkeys(known.hashes)
    for entry in reversed(list(_read_entries_since(storage, begin))):
        for pair, is_rejected in _list_changes(entry):
            if is_rejected:
                hashes[hash_pair(pair)] = None
            else:
                hashes.pop(hash_pair(pair), None)
    return Rejected(number=end, hashes=tuple(hashes)[-_MOST_PAIRS:])


def _parse_note(note: str) -> Rejected:
    number, *hashes = note.split() or ["0"]
    if not number.isdecimal() or len(number) > 18:
        return Rejected()
    return Rejected(number=int(number), hashes=tuple(hashes))


def _read_entries_since(storage: Storage, number: int) -> Iterator[Entry]:
    """Yield the entries after `number`, newest first."""
    for entry in islice(iter_sound_entries(storage), _MOST_ENTRIES):
        if entry.number <= number:
            return
        yield entry


def _list_changes(entry: Entry) -> Iterator[tuple[frozenset[str], bool]]:
    """Yield the pairs that an entry rejects, with True, and those that it brings back."""
    # A memory that moves leaves its links behind, and nobody has said that they were wrong.
    if entry.action.operation not in _SAYING:
        return
    is_dream = entry.action.operation is Operation.DREAM
    for step in entry.action.links:
        link = _find_dreamed(step)
        # What a cycle links was not refused before; what it removes, an assistant has refused.
        is_said = (step.before is None) != (step.after is None)
        if link is not None and is_said and not (is_dream and step.before is None):
            yield frozenset({link.source, link.target}), step.after is None


def _find_dreamed(step: LinkStep) -> Link | None:
    link = step.after or step.before
    is_dreamed = link is not None and link.made_by == DREAMER and link.type is LinkType.SEMANTIC
    return link if is_dreamed else None
