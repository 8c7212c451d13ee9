"""The chain of the journal: an entry is believed only if it continues the one before it."""

from __future__ import annotations

from infinite_memory.errors import InvalidInput, StoreDamaged
from infinite_memory.model.entry import Action, Entry, JournalEnd, entry_digest

__all__ = ["EntryDamaged", "action_text", "chained"]


class EntryDamaged(StoreDamaged):
    """An entry of the journal is not as it was written; `number` says which."""

    def __init__(self, place: str, number: int, found: str) -> None:
        super().__init__(
            f"entry {number} of the journal in {place} {found}, so it is not returned; memories "
            "still work. Keep a copy of the whole store, then restore a backup"
        )
        self.number = number
        self.found = found


def action_text(action: Action) -> str:
    """Return the text of an action, as an entry keeps it.

    Raises:
        InvalidInput: it holds what no database can keep, such as a lone surrogate.
    """
    text = action.to_text()
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(f"an entry of the journal cannot be stored: {error}") from error
    return text


def chained(
    place: str, number: int, text: bytes, digest: bytes, previous: bytes | None, end: JournalEnd
) -> Entry:
    """Return the entry that was stored as `text` with `digest` in the store at `place`.

    `previous` is the digest of the entry before it, None where that is missing; for the first one
    it does not matter. `end` is the end of the journal as it was noted.

    Raises:
        EntryDamaged: it is not as it was written, or does not belong to this journal.
    """
    if not 1 <= number <= end.number:
        last = f"the last one is noted as {end.number}"
        raise EntryDamaged(place, number, f"does not belong to it ({last})")
    if number == 1:
        previous = JournalEnd().digest
    if previous is None:
        raise EntryDamaged(
            place, number, f"cannot be checked, since entry {number - 1} before it is missing"
        )
    action = _decoded(previous, number, text, digest)
    if action is None or (number == end.number and digest != end.digest):
        raise EntryDamaged(place, number, "is not as it was written, or does not continue it")
    return Entry(number=number, action=action, digest=digest)


def _decoded(previous: bytes, number: int, text: bytes, digest: bytes) -> Action | None:
    try:
        written = text.decode()
    except UnicodeDecodeError:
        return None
    if entry_digest(previous, number, written) != digest:
        return None
    return Action.of(written)
