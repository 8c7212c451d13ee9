"""Copy a store into another, of any backend: an export that is imported at once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from typing import TypeAlias

from attrs import evolve

from infinite_memory.core.config import Config, load
from infinite_memory.core.errors import (
    ConfigurationError,
    Conflict,
    InvalidInput,
    StorageUnavailable,
)
from infinite_memory.core.paths import absolute_path
from infinite_memory.core.protocols import Storage, SupportsCopyMark, SupportsReplacement
from infinite_memory.core.values.address import IN_MEMORY, MANAGED, find_problem, is_folder, masked
from infinite_memory.core.values.archive.copying import Copied, CopyMark, CopyProgress, CopyStep
from infinite_memory.features.archive.backup import Ends, exporting, make_head
from infinite_memory.features.archive.container.layout import RecordType
from infinite_memory.features.archive.container.manifest import Head
from infinite_memory.features.archive.container.totals import Totals
from infinite_memory.features.archive.restore import erase_vanished, is_empty, keep_keys
from infinite_memory.features.archive.transfer.export import Encoded, Export, report_step
from infinite_memory.features.archive.transfer.importing import Import
from infinite_memory.storage.open import open_existing, open_storage

Place: TypeAlias = str | os.PathLike[str] | Storage
"""The address of a store, as `MemoryStore.open` takes it, or a storage that is open."""


def copy_store(
    source: Place,
    target: Place,
    *,
    config: Config | None = None,
    with_keys: bool = False,
    progress: CopyProgress | None = None,
) -> Copied:
    """Copy everything that the store `source` holds into `target`, and compare the two.

    The copy has every memory with its history, status and vectors by every model, its links and its
    usage, the scopes, the journal, and the erased ids, as they are at the moment at which the copy
    begins, and the access keys `with_keys`: else those of the target stay as they are. `target` is
    empty, or an earlier copy of the same source that nobody has changed since, which gets the
    present content. It keeps its own identity, and shows the copy only when all of it is there and
    equal. Damaged records of the source are left out, and the result names them. `config` says
    where the managed server is. A storage that the caller passes open stays open.

    Raises:
        ConfigurationError: an address is malformed or not supported.
        InvalidInput: source and target are the same store, or a store ends with the process.
        Conflict: the target holds something else, or was changed since it was copied.
        StorageError: a store cannot be opened, read or written; the target is as it was.
    """
    with ExitStack() as owned:
        source_address, target_address = _find_address(source), _find_address(target)
        if source_address is not None and source_address == target_address:
            raise InvalidInput(
                f"{masked(source_address)} cannot be copied into itself: name another target"
            )
        config = config or load().config
        source_storage = _open_place(source, config, owned, create=False)
        target_storage = _open_place(target, config, owned, create=True)
        if source_storage.identity == target_storage.identity:
            raise InvalidInput(
                f"source and target are the same store, {source_storage.identity}: "
                "name another target"
            )
        return _StoreCopy(source_storage, target_storage, progress, with_keys=with_keys).run()


def _find_address(place: Place) -> str | None:
    """Return the address of a store, None for a storage that is open."""
    if not isinstance(place, str | os.PathLike):
        return None
    address = os.fspath(place)
    if address in ("", IN_MEMORY):
        raise InvalidInput(
            f"the store {address!r} cannot be copied: give a folder, mongodb://HOST/DATABASE, or "
            f"{MANAGED}"
        )
    if problem := find_problem(address):
        raise ConfigurationError(f"the store {problem}")
    return str(absolute_path(address).resolve()) if is_folder(address) else address


def _open_place(place: Place, config: Config, owned: ExitStack, *, create: bool) -> Storage:
    if not isinstance(place, str | os.PathLike):
        return place
    address = _find_address(place) or ""
    open_address = open_storage if create else open_existing
    storage: Storage | None = open_address(address, home=config.home, mongod=config.mongod)
    if storage is None:
        raise StorageUnavailable(
            f"there is no store at {masked(address)}: check the address; nothing was created"
        )
    return owned.enter_context(closing(storage))


class _StoreCopy:
    def __init__(
        self, source: Storage, target: Storage, progress: CopyProgress | None, *, with_keys: bool
    ) -> None:
        self._source = source
        self._target = target
        self._progress = progress
        self._with_keys = with_keys

    def run(self) -> Copied:
        """Copy a moment of the source into the target, which changes when everything is there.

        Raises:
            Conflict: the target may not be replaced.
        """
        ends = Ends.of(self._target)
        is_new = is_empty(self._target)
        if not is_new:
            self._check_mark()
        if not isinstance(self._target, SupportsReplacement):
            if not is_new:
                raise Conflict("the target cannot be replaced as a whole: name an empty target")
            return self._copy_into(self._target)[0]
        with self._target.replacement() as replacement:
            copied, cursor = self._copy_into(replacement.storage)
            # A copy that lacks something is better than none, but not better than an earlier copy.
            if copied.different or not (copied.whole or is_new):
                return evolve(copied, kept=not is_new)
            erase_vanished(self._target, replacement.storage)
            if not self._with_keys:
                keep_keys(self._target, replacement.storage)
            # Before the swap: after it, the ends tell that the copy is there.
            self._mark_copy(cursor, Ends.of(replacement.storage))
            replacement.swap(position=ends.position, entries=ends.entries)
        return copied

    def _copy_into(self, target: Storage) -> tuple[Copied, int]:
        """Copy the source into `target`; return the result, and the cursor of the source.

        Raises:
            StorageUnavailable: the source was written while it was read.
        """
        with exporting(self._source) as source:
            ends = Ends.of(source)
            head = make_head(source, datetime.now(UTC), embeddings=True)
            export = Export(source)
            totals = Totals()
            importer = Import(
                target,
                "the source",
                with_keys=self._with_keys,
                progress=report_step(self._progress, CopyStep.COPYING, head.memories),
            )
            importer.run(_count_records(export, head, totals))
            if Ends.of(source) != ends:
                raise StorageUnavailable(
                    "the source was written while it was read, and the copy is not finished:"
                    " repeat it, into an empty target, when the source is quiet"
                )
        different = importer.compare(
            totals.parts(), report_step(self._progress, CopyStep.VERIFYING, head.memories)
        )
        counts = totals.counts(export.memories)
        keys = 0 if self._with_keys else counts.pop("access_keys", 0)
        copied = Copied(
            copied=importer.memories,
            compared=counts,
            access_keys_left_out=keys,
            left_out=(*export.left_out, *importer.left_out),
            different=different,
        )
        return copied, ends.position

    def _check_mark(self) -> None:
        """Check that the target is a copy of the source that nobody has changed.

        Raises:
            Conflict: it is not.
        """
        target = self._target
        mark = target.copy_mark() if isinstance(target, SupportsCopyMark) else None
        if mark is None:
            raise Conflict(
                "the target holds memories or scopes already, and is not a copy of this source:"
                " name an empty target; nothing was changed"
            )
        if mark.source != self._source.identity:
            raise Conflict(
                f"the target is a copy of the store {mark.source}, and the source is"
                f" {self._source.identity}: name an empty target; nothing was changed"
            )
        if Ends.of(target) != Ends(position=mark.position, entries=mark.entries):
            raise Conflict(
                "the target was a copy of this source and has been changed since, so it is now a"
                " separate store: name an empty target; nothing was changed"
            )
        position = self._source.position()
        if mark.cursor > position:
            raise Conflict(
                f"the target has {mark.cursor} changes of the source, and the source has only"
                f" {position}: is it an older copy of itself? name an empty target; nothing was"
                " changed"
            )

    def _mark_copy(self, cursor: int, ends: Ends) -> None:
        if isinstance(self._target, SupportsCopyMark):
            self._target.mark_copy(
                CopyMark(
                    source=self._source.identity,
                    cursor=cursor,
                    position=ends.position,
                    entries=ends.entries,
                )
            )


def _count_records(export: Export, head: Head, totals: Totals) -> Iterator[Encoded]:
    """Yield the records of an export after its head, and count them."""
    yield RecordType.HEAD, head.to_json()
    for record_type, content in export.records():
        totals.add(record_type, content)
        yield record_type, content
