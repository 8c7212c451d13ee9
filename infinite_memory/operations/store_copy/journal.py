"""Copy the journal entry by entry, so that every entry keeps its digest."""

from __future__ import annotations

from collections.abc import Sequence

from infinite_memory.errors import Conflict, InvalidInput, StoreDamaged
from infinite_memory.model.commit import Commit, Expect
from infinite_memory.model.entry import Entry, JournalEnd
from infinite_memory.model.verification import Finding, RecordKind
from infinite_memory.protocols import Storage

__all__ = ["JournalCopy"]

_PAGE_SIZE = 256
_COPY_AGAIN = "copy into an empty target; if that does not help, verify both stores"


class JournalCopy:
    """Continues the journal of a target, which is the beginning of the journal of the source.

    `compared` counts the equal entries.
    """

    def __init__(self, source: Storage, target: Storage) -> None:
        self._source = source
        self._target = target
        self.compared = 0
        self.left_out: list[Finding] = []
        self.different: list[Finding] = []

    def check(self) -> None:
        """Check that the source has every entry of the target.

        Raises:
            Conflict: it lacks an entry, so another program has written the target.
        """
        end = self._target.journal_end()
        if end.number == 0:
            return
        try:
            page = self._source.journal(before=end.number + 1, limit=1)
        except StoreDamaged:
            return  # `copy` reads the entry again and names it.
        if not page or (page[0].number, page[0].digest) != (end.number, end.digest):
            raise Conflict(
                f"the target has a journal of its own: its entry {end.number} is not that of the "
                "source; name an empty target; nothing was changed"
            )

    def copy(self, last: int) -> None:
        """Copy the entries up to the number `last`, and compare the two journals."""
        number = self._target.journal_end().number
        while number < last:
            entries = self._read_entries(number, last)
            if not entries:
                break
            for entry in entries:
                if not self._add(entry):
                    self._compare()
                    return
            number = entries[-1].number
        self._compare()

    def _read_entries(self, after: int, last: int) -> Sequence[Entry]:
        """Return the next entries in order, up to the first damaged entry."""
        upto = min(after + _PAGE_SIZE, last)
        try:
            return self._source.journal(before=upto + 1, limit=upto - after)[::-1]
        except StoreDamaged:
            return self._read_until_damage(after, upto, last)

    def _read_until_damage(self, after: int, upto: int, last: int) -> Sequence[Entry]:
        entries: list[Entry] = []
        for number in range(after + 1, upto + 1):
            try:
                entries += self._source.journal(before=number + 1, limit=1)
            except StoreDamaged as error:
                if not entries:
                    self._leave_out(number, last, str(error))
                break
        return entries

    def _leave_out(self, number: int, last: int, why: str) -> None:
        later = f", nor are the later entries, up to {last}" if last > number else ""
        self.left_out.append(
            Finding(
                part=RecordKind.JOURNAL,
                what=f"entry {number} of the journal is not copied{later}: {why}",
                way_out="keep the source, which has the later entries, or restore it from a backup",
            )
        )

    def _add(self, entry: Entry) -> bool:
        """Add an entry unless another copy has added it; return whether the target has it now."""
        try:
            expect = Expect(entry_number=entry.number)
            self._target.commit(Commit(expect=expect, entry=entry.action))
        except InvalidInput as error:
            self._leave_out(entry.number, entry.number, f"the target cannot store it: {error}")
            return False
        except Conflict:
            return self._target.journal_end().number >= entry.number
        return True

    def _compare(self) -> None:
        """Compare every entry of the target with the entry of the same number in the source."""
        end = self._target.journal_end()
        self.compared = 0
        digest = JournalEnd().digest
        while self.compared < end.number:
            upto = min(self.compared + _PAGE_SIZE, end.number)
            limit = upto - self.compared
            try:
                original = self._source.journal(before=upto + 1, limit=limit)
            except StoreDamaged as error:
                what = f"the journal from entry {self.compared + 1} on is not compared: {error}"
                way_out = "keep what was copied, or restore the source from a backup"
                self.left_out.append(Finding(part=RecordKind.JOURNAL, what=what, way_out=way_out))
                return
            try:
                copied = self._target.journal(before=upto + 1, limit=limit)
            except StoreDamaged as error:
                self._add_difference(str(error))
                return
            if original != copied:
                self._add_difference("the entries differ")
                return
            self.compared, digest = upto, copied[0].digest
        if digest != end.digest:
            self._add_difference("the last entry is not the recorded last entry")

    def _add_difference(self, what: str) -> None:
        self.different.append(
            Finding(
                part=RecordKind.JOURNAL, what=f"the journal differs: {what}", way_out=_COPY_AGAIN
            )
        )
