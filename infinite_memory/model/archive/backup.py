"""Backups of a store: the content of a file, and the result of a restore."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum

from attrs import field, frozen

from infinite_memory.model.verification import Finding
from infinite_memory.plain import PlainData

__all__ = ["Backup", "BackupProgress", "BackupStep", "RestoreMode", "Restored"]


class BackupStep(StrEnum):
    """A phase of a backup or a restore."""

    READING = "reading"
    CHECKING = "checking"
    BACKING_UP = "backing up"
    WRITING = "writing"
    COMPARING = "comparing"


BackupProgress = Callable[[BackupStep, int, int], None]
"""A callback that receives the phase, the number of finished memories and their total."""


class RestoreMode(StrEnum):
    """What a restore does with the memories that a store holds already."""

    EMPTY = "empty"
    """Nothing: a store that is not empty is refused."""
    MERGE = "merge"
    """Keep them, and add those of the archive; of two states of a memory, the newer one counts."""
    OVERWRITE = "overwrite"
    """Replace them, after a backup of them."""


@frozen(kw_only=True)
class Backup(PlainData):
    """A file that holds a whole store.

    What an encrypted file holds is known only after a verification: until then `created_at` is the
    time of the file, and `store`, `counts` and `left_out_count` are None. `store` is the identity
    of the store. `left_out` names records that could not be read when the backup was made, the
    first hundred of `left_out_count`.
    """

    name: str
    path: str
    created_at: datetime
    size_bytes: int
    encrypted: bool
    store: str | None = None
    counts: Mapping[str, int] | None = None
    left_out: tuple[Finding, ...] = ()
    left_out_count: int | None = None
    whole: bool | None = field()

    @whole.default
    def _has_everything(self) -> bool | None:
        return None if self.left_out_count is None else not self.left_out_count


@frozen(kw_only=True)
class Restored(PlainData):
    """The result of a restore.

    `counts` are the records of the archive. `added` and `changed` count the memories that a merge
    stored and revised, `unchanged` memories that stayed as they were, `still_erased` memories
    left out because they were erased here. `safety_backup` is the backup that was made before the
    store was overwritten, `set_aside` the folder into which damaged files were moved. `left_out`
    names what the store could not keep, or what the archive did not have.
    """

    mode: RestoreMode
    archive: str
    counts: Mapping[str, int]
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    still_erased: int = 0
    safety_backup: str | None = None
    set_aside: str | None = None
    left_out: tuple[Finding, ...] = ()
    whole: bool = field()

    @whole.default
    def _has_no_findings(self) -> bool:
        return not self.left_out
