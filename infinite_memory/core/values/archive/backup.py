"""Backups of a store: the content of a file, and the result of a restore."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from attrs import field, frozen

from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.messages import format_count

if TYPE_CHECKING:
    from infinite_memory.core.values.verification import Finding


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
    time in its name, or of the file, and `store`, `counts` and `left_out_count` are None. `store`
    is the identity of the store. `left_out` names records that could not be read when the backup
    was made, the first hundred of `left_out_count`.
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

    `encrypted` says whether the archive was, and `counts` are its records. `access_keys` counts the
    keys that came in, `access_keys_left_out` the keys of the archive that did not. `added` and
    `changed` count the memories that a merge stored and revised, `unchanged` memories that stayed
    as they were, `still_erased` memories left out because they were erased here. `safety_backup` is
    the backup that was made before the store was overwritten, `set_aside` the folder into which
    damaged files were moved. `left_out` names what the store could not keep, or what the archive
    did not have. A dry run changed nothing: its numbers are those that the restore would have, in
    every mode, `removed` counts the memories that an overwriting one would end, and `scopes` has
    these numbers by scope.
    """

    mode: RestoreMode
    archive: str
    counts: Mapping[str, int]
    encrypted: bool
    access_keys: int = 0
    access_keys_left_out: int = 0
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    still_erased: int = 0
    removed: int = 0
    scopes: Mapping[str, Mapping[str, int]] = field(factory=dict)
    dry_run: bool = False
    safety_backup: str | None = None
    set_aside: str | None = None
    left_out: tuple[Finding, ...] = ()
    whole: bool = field()

    @whole.default
    def _has_no_findings(self) -> bool:
        return not self.left_out


def describe_encryption(*, encrypted: bool) -> str:
    """Return whether an archive is encrypted in the words of every receipt."""
    return "encrypted" if encrypted else "not encrypted"


def describe_keys_left_out(number: int, way: str) -> str:
    """Return the sentence on access keys that were left out, and the `way` to take them."""
    keys = format_count(number, "access key was", "access keys were")
    return f"{keys} left out, since a key lets whoever holds it in: {way}."
