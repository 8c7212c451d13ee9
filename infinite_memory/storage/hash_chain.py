"""The hash chain of the journal: an entry is valid only if it continues the previous entry."""

from __future__ import annotations

from infinite_memory.core.errors import InvalidInput, StoreDamaged
from infinite_memory.core.values.entry import Action, Entry, JournalEnd, entry_digest


class EntryDamaged(StoreDamaged):
    """The journal entry `number` is damaged."""

    def __init__(self, place: str, number: int, problem: str) -> None:
        super().__init__(
            f"entry {number} of the journal in {place} {problem}, so it is not returned; memories "
            "still work. Keep a copy of the whole store, then restore a backup"
        )
        self.number = number
        self.problem = problem


def action_text(action: Action) -> str:
    """Return the text of an action, as its journal entry keeps it.

    Raises:
        InvalidInput: the text holds a character that no database can keep: a lone surrogate.
    """
    text = action.to_text()
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(f"an entry of the journal cannot be stored: {error}") from error
    return text


def check_entry(
    place: str, number: int, text: bytes, digest: bytes, previous: bytes | None, end: JournalEnd
) -> Entry:
    """Return the entry that was stored as `text` with `digest` in the store at `place`.

    `previous` is the digest of the previous entry, None where that entry is missing; for entry 1 it
    is ignored. `end` is the end of the journal as the store recorded it.

    Raises:
        EntryDamaged: the entry is damaged, or does not belong to this journal.
    """
    if not 1 <= number <= end.number:
        last = f"the last entry is recorded as {end.number}"
        raise EntryDamaged(place, number, f"does not belong to it ({last})")
    if number == 1:
        previous = JournalEnd().digest
    if previous is None:
        raise EntryDamaged(
            place, number, f"cannot be checked, since entry {number - 1} before it is missing"
        )
    action = _decode_action(previous, number, text, digest)
    if action is None or (number == end.number and digest != end.digest):
        raise EntryDamaged(place, number, "is damaged, or does not continue the chain")
    return Entry(number=number, action=action, digest=digest)


def _decode_action(previous: bytes, number: int, text: bytes, digest: bytes) -> Action | None:
    try:
        written = text.decode()
    except UnicodeDecodeError:
        return None
    if entry_digest(previous, number, written) != digest:
        return None
    return Action.of(written)
