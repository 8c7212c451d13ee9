"""A disk whose power can be cut: what was written and not synced survives in part, or not at all.

`FragileDisk` is a virtual file system for SQLite over the usual one. It keeps, for every file of
one folder, what has been synced and each write since; and, for the folder, which names had been
synced. `cut` returns what such a disk may hold when the power goes at that moment:

- of the writes since the last sync of a file: none, all, the first few, any of them, or any
  sectors of them, sectors being of 512 or 4096 bytes; where a file grew past what was written,
  there are zeros, or rubbish;
- of the names created, removed or renamed since the last sync of the folder: any; a rename
  happens as a whole. A rollback journal or log that SQLite creates takes its name along when it
  is first synced, as in SQLite's own file system.

A file that is written without SQLite is seen through `os.fsync`, hence `watching`.
Not simulated: a disk that damages what it had synced, or the sector beside the one it writes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from random import Random

import apsw

Image = Mapping[str, bytes]
"""What a folder holds: the content of each file by its name."""

_NEW_NAMES = apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_SUPER_JOURNAL | apsw.SQLITE_OPEN_WAL
_Step = tuple[int, bytes | None]
"""A write at an offset, or, without bytes, a cut to that length."""


def restore(image: Image, folder: Path) -> None:
    """Make `folder`, which must not exist, with the files of `image` in it."""
    folder.mkdir(parents=True)
    for name, content in image.items():
        (folder / name).write_bytes(content)


class _Content:
    """The content of one file: what is synced, and the steps since."""

    def __init__(self, synced: bytes = b"") -> None:
        self.synced = bytearray(synced)
        self.steps: list[_Step] = []
        self.through_sqlite = False

    def sync(self) -> None:
        for step in self.steps:
            _apply(step, self.synced, None)
        self.steps.clear()

    def survive(self, steps: list[_Step], random: Random) -> bytes:
        """Return what is left of the file after a cut, with `steps` not synced."""
        content = bytearray(self.synced)
        rubbish = random if random.random() < 0.25 else None
        for step in _survivors(steps, random):
            _apply(step, content, rubbish)
        return bytes(content)


def _apply(step: _Step, content: bytearray, rubbish: Random | None) -> None:
    offset, data = step
    end = offset + len(data or b"")
    length = offset if data is None else max(len(content), end)
    grown = length - len(content)
    if grown > 0:
        content += bytes(grown) if rubbish is None else rubbish.randbytes(grown)
    del content[length:]
    if data is not None:
        content[offset:end] = data


def _survivors(steps: list[_Step], random: Random) -> list[_Step]:
    sector = random.choice((512, 4096))
    way = random.randrange(5)
    if not steps or way == 0:
        return []
    if way == 1:
        return steps
    if way == 2:
        count = random.randrange(len(steps))
        return [*steps[:count], *_torn(steps[count], sector, random)]
    keep = 1.0 if way == 4 else random.random()
    survivors: list[_Step] = []
    for step in steps:
        if random.random() <= keep:
            tear = way == 4 or random.random() < 0.25
            survivors += _torn(step, sector, random) if tear else [step]
    return survivors


def _torn(step: _Step, sector: int, random: Random) -> list[_Step]:
    """Return any sectors of one write; a change of the length happens or does not."""
    offset, data = step
    if data is None:
        return [step] if random.random() < 0.5 else []
    first = sector - offset % sector
    cuts = [0, *range(first, len(data), sector), len(data)]
    return [
        (offset + start, data[start:end]) for start, end in pairwise(cuts) if random.random() < 0.5
    ]


class FragileDisk(apsw.VFS):
    """A virtual file system that knows what of `folder` has reached the disk.

    Open the store with `vfs=disk.name`, inside `watching`. Every write still goes to the real
    files; nothing is really synced, which makes it quick. `lying` makes a disk that says it synced
    and did not, as some do: the tests of the tests use it. Call `unregister` at the end.

    Before every write, sync and change of a name `before_step` is called; a cut at that moment is
    a cut in the middle of whatever the store is doing.
    """

    def __init__(self, name: str, folder: Path, *, lying: bool = False) -> None:
        self.name = name
        self._folder = folder
        self._lying = lying
        self._contents: dict[int, _Content] = {}
        self._names: dict[str, _Content] = {}
        super().__init__(name, "")
        if folder.exists():
            self._names = self._listing(synced=True)

    def before_step(self) -> None:
        """Do nothing; replaced by whoever wants to cut in the middle of a call."""

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Learn of every sync that Python makes of the folder and its files, in this process."""
        real = os.fsync

        def fsync(descriptor: int) -> None:
            if not self._note_sync(os.fstat(descriptor).st_ino):
                real(descriptor)

        os.fsync = fsync  # type: ignore[assignment]
        try:
            yield
        finally:
            os.fsync = real

    def cut(self, random: Random) -> Image:
        """Return what the disk may hold if the power goes now; the disk itself goes on."""
        now = self._listing()
        kept = dict(self._names)
        way = random.randrange(3)
        for group in self._changed_names(now):
            if way == 0 or (way == 1 and random.random() < 0.5):
                kept = {name: each for name, each in kept.items() if name not in group}
                kept |= {name: now[name] for name in group if name in now}
        where = {id(content): name for name, content in now.items()}
        image = {
            name: content.survive(self._steps(content, where.get(id(content))), random)
            for name, content in kept.items()
        }
        if random.random() < 0.5:  # the shared memory is never synced, and may be left as anything
            for shared in self._folder.glob("*-shm"):
                image[shared.name] = random.randbytes(shared.stat().st_size)
        return image

    def _steps(self, content: _Content, name: str | None) -> list[_Step]:
        if content.through_sqlite or name is None:
            return content.steps
        written = (self._folder / name).read_bytes()
        return [] if written == content.synced else [(0, None), (0, written)]

    def _changed_names(self, now: dict[str, _Content]) -> list[set[str]]:
        """Return the names that are not as they were synced, those of one rename together."""
        groups: list[set[str]] = []
        for name in sorted(self._names.keys() | now.keys()):
            before, after = self._names.get(name), now.get(name)
            if before is after:
                continue
            linked = {name}
            for group in list(groups):
                if any(
                    (before is not None and now.get(other) is before)
                    or (after is not None and self._names.get(other) is after)
                    for other in group
                ):
                    linked |= group
                    groups.remove(group)
            groups.append(linked)
        return groups

    def _listing(self, *, synced: bool = False) -> dict[str, _Content]:
        found = {}
        for path in self._folder.iterdir():
            if not path.name.endswith("-shm"):
                number = path.stat().st_ino
                if number not in self._contents:
                    self._contents[number] = _Content(path.read_bytes() if synced else b"")
                found[path.name] = self._contents[number]
        return found

    def _note_sync(self, number: int) -> bool:
        """Take note of a sync by Python; tell whether it was of the folder or a file in it."""
        if not self._folder.exists():
            return False
        if number == self._folder.stat().st_ino:
            self.before_step()
            self.sync_names()
            return True
        for path in self._folder.iterdir():
            if path.stat().st_ino == number:
                self.before_step()
                content = self._listing()[path.name]
                if not self._lying:
                    content.synced = bytearray(path.read_bytes())
                return True
        return False

    def sync_names(self) -> None:
        """Make the names in the folder durable, as syncing the folder does."""
        if not self._lying:
            self._names = self._listing()

    def opened(self, path: Path, *, existed: bool) -> _Content:
        """Return the content of a file that SQLite just opened or created."""
        number = path.stat().st_ino
        if not existed:
            self._contents[number] = _Content()
        content = self._contents.setdefault(number, _Content())
        content.through_sqlite = True
        return content

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return _FragileFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        self.before_step()
        number = Path(filename).stat().st_ino
        super().xDelete(filename, False)
        self._contents.pop(number, None)  # the number may be given to another file
        if syncdir:
            self.before_step()
            self.sync_names()

    @property
    def lying(self) -> bool:
        """Whether syncing does nothing."""
        return self._lying


class _FragileFile(apsw.VFSFile):
    def __init__(
        self, disk: FragileDisk, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> None:
        path = Path(name.filename() if isinstance(name, apsw.URIFilename) else str(name))
        existed = path.exists()
        super().__init__("", name, flags)
        self._disk = disk
        self._content = disk.opened(path, existed=existed)
        # SQLite's own file system syncs the folder at the first sync through each such file that
        # was opened with leave to create it, whichever connection did create it.
        self._name_is_new = bool(flags[0] & _NEW_NAMES and flags[0] & apsw.SQLITE_OPEN_CREATE)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._disk.before_step()
        self._content.steps.append((offset, bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._disk.before_step()
        self._content.steps.append((newsize, None))
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802, ARG002 - the kind of sync is no matter here
        self._disk.before_step()
        if self._disk.lying:
            return
        self._content.sync()
        if self._name_is_new:
            self._disk.before_step()
            self._disk.sync_names()
            self._name_is_new = False
